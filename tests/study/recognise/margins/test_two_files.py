"""Groups and outcomes in two files."""

from study_cases import votes
from sumwise.study.initialise import suggest_problem
from sumwise.study.profile_file import profile_file
from sumwise.study.recognise.margins.two_files import guess_two


def written(tmp_path, *frames):
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
    return [tmp_path / f"{k}.csv" for k in range(len(frames))]


def test_sums_are_compared_unit_by_unit_whatever_the_order(tmp_path):
    frame = votes(20)
    paths = written(tmp_path, frame[["precinct", "yes", "no"]], frame[["precinct", "young", "old"]].iloc[::-1])
    found = guess_two(*map(profile_file, paths))
    assert "mismatch" not in found.data
    assert found.data["groups_file"] == str(tmp_path / "1.csv")


def test_fewer_votes_than_people_offer_abstention(tmp_path):
    frame = votes(20)
    half = (frame[["yes", "no"]] * 0.5).round()
    paths = written(tmp_path, frame[["precinct", "young", "old"]], half.assign(precinct=frame["precinct"], total=5))
    found = suggest_problem(paths, tmp_path / "p.toml")
    assert found.guess.data["mismatch"] == "no_vote"
    assert found.guess.unused == {"total": "a total that isn't needed"}
    assert list(found.read[0]["outcomes"]) == ["yes", "no", "no vote"]


def test_contests_of_the_second_file_are_found(tmp_path):
    frame = votes(20)
    other = frame[["precinct"]].assign(dem_16=frame["yes"], rep_16=frame["no"], dem_20=frame["no"], rep_20=frame["yes"])
    found = suggest_problem(written(tmp_path, frame[["precinct", "young", "old"]], other), tmp_path / "p.toml")
    assert [c["name"] for c in found.guess.contests] == ["16", "20"]
    assert found.read[1]["outcomes"]["dem 20"] == frame["no"].sum()
