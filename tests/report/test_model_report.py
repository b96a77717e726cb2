"""report(model, data): one page for Python and for the command line, for all families; and how short the way is."""

from __future__ import annotations

import functools
import json
import warnings
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import clicks, doses, flocks, people, votes
from sumwise import Bags, Domain, Margins, Table, Tables
from sumwise.aggregate import aggregate
from sumwise.cli.study.fitting import fit_problem, read_result
from sumwise.distribution import BagRidge, LinearEmbedding
from sumwise.ecological import Bounds, Goodman
from sumwise.errors import DataError, UnknownName
from sumwise.flows import FlowModel, Movement, Places
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables
from sumwise.noise import Gaussian
from sumwise.plots.font_cache import prepare_font_cache
from sumwise.proportions import CardinalityClassifier, MeanMap
from sumwise.report import Report, report
from sumwise.report.model_report import plot_model, warned

WALK = np.array([[90, 10, 0], [88, 12, 0], [20, 50, 30]])


def written(folder, family, frame, columns, method="auto", data="", options=""):
    """Write a problem file and its data; return its path."""
    frame.to_csv(folder / "data.csv", index=False)
    top = f'family = "{family}"\nmethod = "{method}"\nsensitivity = false\ntitle = "T"\n'
    (folder / "p.toml").write_text(
        f'{top}[data]\nfile = "data.csv"\n{data}[columns]\n{columns}\n[options]\n{options}\n'
    )
    return folder / "p.toml"


def problem(folder, *asked):
    """Fit a problem by the command line's function; return its summary and provenance."""
    fit_problem(written(folder, *asked), folder / "r")
    return read_result(folder / "r")


def in_python(family):
    """A model fitted in Python, its data, and the options of its report."""
    if family == "ecological":
        frame = votes()
        m = Margins.from_frame(frame, rows=["young", "old"], cols=["yes", "no"], unit="precinct")
        return Goodman(), m, {}
    if family == "proportions":
        frame = people()
        bags = Bags.from_frame(frame, bag="area", features=["age", "sex"])
        labels = (frame["vote"] == "yes").to_numpy(dtype=int)
        counts = np.add.reduceat(labels, bags.offsets[:-1])
        options = {"classes": ["no", "yes"], "groups": {"sex": frame["sex"].to_numpy(dtype=object)}, "truth": labels}
        return CardinalityClassifier(penalty=1.0), (bags, counts), options
    if family == "distribution":
        frame = doses()
        bags = Bags.from_frame(frame, bag="sample", features=["x"])
        y = frame.groupby("sample", sort=False)["dose"].first().to_numpy()
        return BagRidge(LinearEmbedding()), (bags, y), {"response": "dose"}
    if family == "collective":
        frame = flocks(3)
        where = frame.groupby("site", sort=False)[["x", "y"]].first().to_numpy()
        at = Places(x=where[:, 0], y=where[:, 1], names=frame["site"].unique())
        counts = frame.rename(columns={"week": "time", "site": "place", "birds": "count"})
        return FlowModel(at, Movement(1.0, 0.8)), counts, {"time_name": "week"}
    frame = clicks()
    names = [c for c in frame if c != "click"]
    return MaxEntClassifier(engine="exact"), aggregate(frame.astype(str), names, "click", 2), {}


PROBLEMS = {
    "ecological": (votes, 'unit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]', "Goodman", "", ""),
    "proportions": (people, 'bag = "area"\nlabel = "vote"', "auto", "", "penalty = 1.0"),
    "distribution": (doses, 'bag = "sample"\nresponse = "dose"', "means", "", ""),
    "collective": (
        lambda: flocks(3),
        'time = "week"\nplace = "site"\ncount = "birds"\nx = "x"\ny = "y"',
        "auto",
        "",
        "stay = 1.0\nscale = 0.8",
    ),
    "maxent": (clicks, 'label = "click"', "auto", 'kind = "rows"\nholdout = 0\n', 'engine = "exact"'),
}


def without_provenance(summary):
    """All but the sections and facts that say where the data came from and how the method was computed."""
    parts = [dict(s) for s in summary["sections"] if s["key"] != "provenance"]
    for part in parts:
        part["blocks"] = [b for b in part["blocks"] if b.get("title") != "Computation"]
    return {**summary, "sections": parts}


@functools.cache
def reported(family):
    """The report of a model fitted in Python, its page made once; and what was passed through from the fit to it."""
    model, held, details = in_python(family)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    found = []

    def run():
        found.append(report(model, held, title="T", **details))
        found[0].html()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cast(Any, model).fit(*held if isinstance(held, tuple) else (held,))
        prepare_font_cache()  # the first figure of a process does; which test that is depends on their order
        run()
    return found[0]


@pytest.mark.parametrize("family", list(PROBLEMS))
def test_python_and_a_problem_file_give_the_same_page(family, tmp_path):
    make, columns, method, data, options = PROBLEMS[family]
    by_file, provenance = problem(tmp_path, family, make(), columns, method, data, options)
    in_code = warned(json.loads(json.dumps(reported(family).summary)), provenance["warnings"])  # warned of in Python
    one, two = (without_provenance(s) for s in (by_file, in_code))
    assert one["lead"] == two["lead"]
    assert one["findings"] == two["findings"]
    assert one == two


def test_the_method_of_every_estimator_is_the_same():
    m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]])
    est = Bounds().fit(m)
    assert est.report(m, title="T").summary == report(est, m, title="T").summary


def test_report_saves_pages_summaries_and_folders(tmp_path):
    m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]], row_names=["<b>", "b"])
    found = Bounds().fit(m).report(m)
    assert found.save(tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert json.loads(found.save(tmp_path / "a.json").read_text()) == found.summary
    folder = found.save(tmp_path / "folder")
    assert sorted(p.name for p in folder.iterdir()) == [
        "estimates.csv",
        "estimates.parquet",
        "report.html",
        "summary.json",
        "units.csv",
        "units.parquet",
    ]
    assert "<b>" not in found._repr_html_()
    assert "srcdoc" in found._repr_html_()
    assert found.title in str(found)


def test_a_saved_table_has_no_formula(tmp_path):
    m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]], row_names=["=1+1", "b"], units=["@SUM(A1)", "u"])
    folder = Bounds().fit(m).report(m).save(tmp_path / "folder")
    for file in folder.glob("*.csv"):
        cells = [cell for line in file.read_text().splitlines()[1:] for cell in line.split(",")]
        assert not any(cell.startswith(("=", "@")) for cell in cells), file
    assert "'=1+1" in (folder / "estimates.csv").read_text()


def test_figures_can_be_drawn_on_given_axes():
    import matplotlib.pyplot as plt

    m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]])
    figures = Bounds().fit(m).report(m).figures
    ax = plt.subplots()[1]
    assert figures[0].draw(ax=ax) is ax
    assert figures[0].svg().startswith("<svg")
    assert "<figcaption>" in figures[0]._repr_html_()


def test_wrong_calls_are_answered():
    m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]])
    est = Bounds().fit(m)
    with raises(UnknownName, "no-did-you", "titel"):
        est.report(m, titel="x")
    with raises(DataError, "compare-contains-something"):
        est.report(m, compare=["King"])
    with raises(DataError, "is-takes", "compare"):
        est.report(m, compare="all")
    with pytest.raises(Exception, match="not fitted"):
        report(Goodman(), m)


def test_warnings_of_a_run_stand_in_the_section_on_certainty():
    m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]])
    summary = Bounds().fit(m).report(m).summary
    assert warned(summary, []) is summary
    told = warned(summary, ["fit King: stopped early"])
    section = next(s for s in told["sections"] if s["key"] == "certainty")
    assert section["blocks"][-1]["text"] == "fit King: stopped early"
    assert isinstance(Report(told).figures, list)


def bags(n=8):
    rng = np.random.default_rng(0)
    return Bags.from_arrays([rng.normal(k / n, 1.0, size=(6, 2)) for k in range(n)])


def test_shares_flows_and_coefficients_are_drawn_without_data():
    margins = Margins([[60, 40], [10, 90], [50, 50]], [[80, 20], [30, 70], [60, 40]])
    assert Bounds().fit(margins).plot().get_xlabel() == "share of the group"
    few = MeanMap().fit(bags(), [0, 1, 2, 3, 3, 4, 5, 6])
    assert few.plot().get_xlabel() == "coefficient of class 1 (log-odds)"
    frame = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "y": [0, 1, 1, 0] * 10}
    tables = Tables.from_frame(frame, ["a", "b"], label="y", order=1)
    assert "coefficient" in MaxEntClassifier().fit(tables).plot().get_xlabel()


def test_flows_are_a_map_or_a_matrix_of_the_step_with_most_moves():
    on_map = FlowModel(Places(lon=[0, 1, 2], lat=[50, 50, 50]), Movement(1.0)).fit(WALK)
    assert on_map.plot().get_xlabel() == "longitude"
    apart = FlowModel(Places(distances=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]), Movement(1.0)).fit(WALK)
    ax = apart.plot()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("to", "from", "1 to 2")


def test_a_model_that_has_nothing_to_draw_asks_for_its_data():
    y = np.arange(8.0)
    model = BagRidge().fit(bags(), y)
    with raises(DataError, "figure-needs-data", "BagRidge"):
        plot_model(model)


def test_a_model_whose_report_has_no_figure_shows_its_data():
    noisy = Table(("a",), [40.0, 30.0], [20.0, 10.0], noise=Gaussian(500.0))  # no share can be read
    tables = Tables([noisy], Domain({"a": ["x", "y"]}), label="y")
    ax = tables.plot()
    assert NaiveBayesTables().fit(tables).plot(tables).get_xlabel() == ax.get_xlabel()


def test_a_frame_that_can_draw_itself_is_not_taken_for_the_data_of_the_fit():
    other = pd.DataFrame({"a": [1.0, 2.0]})
    frame = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "y": [0, 1, 1, 0] * 10}
    model = NaiveBayesTables().fit(Tables.from_frame(frame, ["a", "b"], label="y", order=1))
    with raises(DataError, "report-method-tables"):
        plot_model(model, other)
    with raises(DataError, "report-method-margins"):
        plot_model(Bounds().fit(Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]])), other)
