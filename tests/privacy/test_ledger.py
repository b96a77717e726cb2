"""The ledger: one file for one set of tables, whatever it is called, and attacks on it."""

import json
import os
import shutil
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest

import sumwise
from messages import raises, warns
from sumwise import Domain, Table, Tables
from sumwise.aggregate import aggregate
from sumwise.errors import DataError
from sumwise.privacy import Budget, ledger, release

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


@pytest.fixture
def tables():
    return Tables([Table("a", [30, 70]), Table("b", [40, 60])], Domain({"a": 2, "b": 2}))


def spend(tables, path, epsilon=0.95):
    return release(tables, epsilon, bounds=1, budget=Budget(1.0, path=path))


def test_a_linked_folder_is_that_folder(tables, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "other").symlink_to(tmp_path / "real")
    spend(tables, tmp_path / "real" / "budget.json")
    with raises(DataError, "budget-epsilon-left", "0.05"):
        spend(tables, tmp_path / "other" / "budget.json")


def test_a_hard_link_is_refused(tables, tmp_path):
    spend(tables, tmp_path / "budget.json")
    os.link(tmp_path / "budget.json", tmp_path / "second.json")
    with raises(DataError, "budget-file-second"):
        Budget(1.0, path=tmp_path / "second.json")


def test_another_ledger_is_refused(tables, tmp_path):
    spend(tables, tmp_path / "budget.json")
    with raises(DataError, "ledger-data-other"):
        spend(tables, tmp_path / "second.json")
    assert not (tmp_path / "second.json").exists()


def test_a_copied_folder_is_refused(tables, tmp_path):
    (tmp_path / "tables").mkdir()
    spend(tables, tmp_path / "tables" / "budget.json", 0.1)
    shutil.copytree(tmp_path / "tables", tmp_path / "copy")
    spend(tables, tmp_path / "tables" / "budget.json", 0.1)
    with raises(DataError, "ledger-data-other"):
        spend(tables, tmp_path / "copy" / "budget.json", 0.1)


def test_a_moved_folder_goes_on(tables, tmp_path):
    (tmp_path / "tables").mkdir()
    spend(tables, tmp_path / "tables" / "budget.json", 0.5)
    (tmp_path / "tables").rename(tmp_path / "moved")
    spend(tables, tmp_path / "moved" / "budget.json", 0.5)
    with raises(DataError, "budget-epsilon-left", 0):
        spend(tables, tmp_path / "moved" / "budget.json", 0.5)


def test_a_lost_ledger_is_not_begun_anew(tables, tmp_path):
    spend(tables, tmp_path / "budget.json")
    (tmp_path / "budget.json").unlink()
    with raises(DataError, "ledger-data-other-tables"):
        spend(tables, tmp_path / "budget.json")


def test_other_tables_have_their_own_ledger(tables, tmp_path):
    spend(tables, tmp_path / "budget.json")
    other = Tables([Table("a", [31, 70])], Domain({"a": 2}))
    spend(other, tmp_path / "second.json")
    assert not set(ledger.fingerprints(tables)) & set(ledger.fingerprints(other))
    assert set(ledger.fingerprints(tables)) == set(ledger.fingerprints(tables.with_tables(tables.tables[::-1])))


def test_some_of_the_tables_or_more_are_the_same_data(tables, tmp_path):
    whole = tables.with_tables([*tables, Table(["a", "b"], [[10, 20], [30, 40]])])
    turned = tables.with_tables([Table(["b", "a"], [[10, 30], [20, 40]])])
    spend(whole, tmp_path / "budget.json")
    for some in (tables.with_tables([tables["b"]]), turned, whole):
        with raises(DataError, "ledger-data-other"):
            spend(some, tmp_path / "second.json")
    assert not (tmp_path / "second.json").exists()


def test_mode_is_kept(tables, tmp_path):
    path = tmp_path / "budget.json"
    spend(tables, path, 0.1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    spend(tables, path, 0.1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_state_that_cannot_be_written_is_a_warning(tables, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "file" / "state"))
    with warns(UserWarning, "ledger-data-released"):
        spend(tables, tmp_path / "budget.json")


def test_notes_that_can_only_be_read_are_kept_to(tables, tmp_path, monkeypatch):
    spend(tables, tmp_path / "budget.json")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK and allowed(place, mode))
    with warns(UserWarning, "ledger-data-released"), raises(DataError, "ledger-data-other"):
        spend(tables, tmp_path / "other.json")


@pytest.mark.parametrize("closed", ["state", "state/ledgers.json"])
def test_notes_that_cannot_be_read_stop_a_release(closed, tables, tmp_path, monkeypatch):
    """A folder, or file, without permissions, as a user who isn't root sees it."""
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "state"))
    spend(tables, tmp_path / "budget.json", 0.1)
    (tmp_path / "budget.json").rename(tmp_path / "away.json")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path / closed and allowed(place, mode))
    with warnings.catch_warnings(), raises(DataError, "notes-ledgers-cant"):
        warnings.filterwarnings("ignore", ".*can't be noted")
        spend(tables, tmp_path / "budget.json", 0.1)


HALF = '[{"what": "\\ud800", "epsilon": 1, "when": ""}]'  # it was spent from, and could not be written after


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"epsilon": 1' + "0" * 400 + ', "delta": 0, "entries": []}',
        f'{{"epsilon": 9, "delta": 0, "entries": {HALF}}}',
    ],
    ids=["deep", "large", "half"],
)
def test_a_ledger_that_no_program_wrote_is_an_error(tables, tmp_path, content):
    (tmp_path / "budget.json").write_text(content)
    with raises(DataError, "budget-file-cant"):
        spend(tables, tmp_path / "budget.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are Unix's")
def test_a_pipe_is_no_ledger(tables, tmp_path):
    os.mkfifo(tmp_path / "budget.json")
    with raises(DataError, "budget-file-pipe"):
        spend(tables, tmp_path / "budget.json")


@pytest.mark.parametrize("target", ["budget.json", "gone/real.json", "real.json"])
def test_a_link_is_no_ledger(tables, tmp_path, target):
    spend(tables, tmp_path / "real.json", 0.1)
    (tmp_path / "budget.json").symlink_to(tmp_path / target)
    with raises(DataError, "budget-file-link"):
        spend(tables, tmp_path / "budget.json", 0.1)
    assert len(json.loads((tmp_path / "real.json").read_text())["entries"]) == 1


def test_a_name_with_a_nul_is_an_error(tables):
    with raises(DataError, "cant-name-budget"):
        spend(tables, "a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are Unix's")
def test_notes_in_a_pipe_are_an_error_at_once(tables, tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path))
    os.mkfifo(tmp_path / "ledgers.json")
    with raises(DataError, "notes-ledgers-damaged"):
        spend(tables, tmp_path / "budget.json")
    assert not (tmp_path / "budget.json").exists()


def test_damaged_notes_are_an_error(tables, tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path))
    (tmp_path / "ledgers.json").write_text("[]")
    with raises(DataError, "notes-ledgers-damaged"):
        spend(tables, tmp_path / "budget.json")
    assert not (tmp_path / "budget.json").exists()


def test_a_release_does_not_carry_the_fingerprint(tables, tmp_path):
    noisy = spend(tables, tmp_path / "budget.json")
    assert ledger.fingerprints(tables)[0] not in json.dumps(noisy.describe(), default=str)
    assert np.any(noisy["a"].counts != tables["a"].counts) or np.any(noisy["b"].counts != tables["b"].counts)


def test_a_folder_is_no_ledger(tmp_path):
    with raises(DataError, "budget-file-folder"):
        Budget(1.0, path=tmp_path)


@pytest.mark.parametrize("attack", ["older copy", "entries removed", "entry made smaller", "more allowed"])
def test_a_ledger_that_forgets_is_refused(tables, tmp_path, attack):
    path = tmp_path / "budget.json"
    spend(tables, path, 0.3)
    older = path.read_text()
    spend(tables, path, 0.3)
    kept = json.loads(path.read_text())
    if attack == "older copy":
        kept = json.loads(older)
    elif attack == "entries removed":
        kept["entries"] = []
    elif attack == "entry made smaller":
        kept["entries"][1]["epsilon"] = 1e-3
    else:
        kept["epsilon"] = 5.0
    path.write_text(json.dumps(kept))
    with raises(DataError, "ledger-changed-older", 2):
        release(tables, 0.3, bounds=1, budget=Budget(kept["epsilon"], path=path))
    assert json.loads(path.read_text()) == kept


def test_entries_of_other_data_may_follow(tables, tmp_path):
    other = Tables([Table("a", [31, 70])], Domain({"a": 2}))
    for now in (tables, other, tables):
        spend(now, tmp_path / "budget.json", 0.3)
    assert len(Budget.from_file(tmp_path / "budget.json").entries) == 3


def test_a_ledger_that_is_mounted_twice_is_one(tmp_path):
    """A second mount of a folder has another path, and the same files: as a link has."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "budget.json").write_text("{}")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    noted = {"ledger": str(tmp_path / "one" / "budget.json"), "id": "x"}
    ledger._refuse_second(noted, tmp_path / "two" / "budget.json", "x")
    with raises(DataError, "ledger-data-other"):
        ledger._refuse_second(noted, tmp_path / "three.json", "x")
    with raises(DataError, "ledger-data-other"):
        ledger._refuse_second(noted, tmp_path / "two" / "budget.json", "y")


def test_other_tables_of_the_same_rows_spend_from_the_same_ledger(tmp_path):
    """Attributes that two releases don't share: no table of one is in the other."""
    rng = np.random.default_rng(1)
    (tmp_path / "rows.csv").write_text(
        "a,b,c,d\n" + "\n".join(",".join(map(str, r)) for r in rng.integers(0, 2, (50, 4)))
    )
    shutil.copy(tmp_path / "rows.csv", tmp_path / "copy.csv")
    domain = Domain(dict.fromkeys("abcd", 2))
    first = aggregate(tmp_path / "rows.csv", ["a", "b"], domain=domain.project(["a", "b"]))
    second = aggregate(str(tmp_path / "copy.csv"), ["c", "d"], domain=domain.project(["c", "d"]))
    sumwise.save(second, tmp_path / "second.sumwise")
    noisy = release(first, 0.6, budget=Budget(1.0, path=tmp_path / "first.json"))
    assert noisy.provenance.sources == () != first.provenance.sources
    with raises(DataError, "ledger-data-other"):
        release(sumwise.load(tmp_path / "second.sumwise"), 0.6, budget=Budget(1.0, path=tmp_path / "second.json"))
    with raises(DataError, "budget-epsilon-left", "0.4"):
        release(second, 0.6, budget=Budget(1.0, path=tmp_path / "first.json"))
    release(second, 0.4, budget=Budget(1.0, path=tmp_path / "first.json"))


def test_tables_of_a_query_have_the_digest_of_the_one_file_that_it_reads(tmp_path):
    """As a table of scores, which is counted from the SELECT that scores the file."""
    (tmp_path / "rows.csv").write_text("a,b\n" + "0,0\n1,1\n0,1\n" * 20)
    (tmp_path / "places.csv").write_text("a,place\n0,x\n1,y\n")
    rows, places, domain = f"'{tmp_path}/rows.csv'", f"'{tmp_path}/places.csv'", Domain({"b": 2})
    plain = aggregate(tmp_path / "rows.csv", ["b"], order=1, domain=domain)
    asked = aggregate(f"SELECT b FROM {rows} WHERE a = 0", ["b"], order=1, domain=domain)
    joined = aggregate(f"SELECT b FROM {rows} JOIN {places} USING (a)", ["b"], order=1, domain=domain)
    pattern = aggregate(f"SELECT b FROM '{tmp_path}/r*.csv'", ["b"], order=1, domain=domain)
    assert asked.provenance.sources == pattern.provenance.sources == plain.provenance.sources != ()
    assert joined.provenance.sources == ()


def test_tables_that_may_be_published_have_no_digest_of_the_rows(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "0,0\n1,1\n0,1\n" * 20)
    plain, withheld = (aggregate(tmp_path / "rows.csv", ["a", "b"], suppress_below=k) for k in (None, 5))
    assert plain.provenance.sources
    assert not withheld.provenance.sources
    assert Tables.combine([plain, plain]).provenance.sources == plain.provenance.sources
    assert not Tables.combine([plain, withheld]).provenance.sources
