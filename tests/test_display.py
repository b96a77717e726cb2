"""How objects show themselves: facts as text, findings in a notebook."""

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import sumwise
from sumwise import Bags, Contests, Domain, Margins, Table, Tables, synthetic
from sumwise.display import facts_html, facts_text, finding_html, shortened
from sumwise.errors import DataError


def test_shortened_counts_what_it_hides():
    assert shortened([1, 2]) == "1, 2"
    assert shortened(range(100), 2) == "0, 1, ... (100 in all)"


def test_facts_are_readable():
    assert (
        facts_text("Fit", {"gap": None, "n": 1234567, "x": 0.25, "ok": True})
        == "Fit(gap=None, n=1,234,567, x=0.25, ok=True)"
    )


def test_html_escapes_names_from_files():
    facts = facts_html("<script>", {"<script>": ["<b>", "'\""]})
    for page in (facts, finding_html("<script>", pd.DataFrame({"<b>": [1]}))):
        assert "<script>" not in page
        assert "<b>[" not in page
        assert "&lt;script&gt;" in page


def test_long_frames_are_cut_and_counted():
    page = finding_html("Many.", pd.DataFrame({"a": range(1000)}), most=10)
    assert page.count("<tr") == 11
    assert "1,000 in all" in page


def margins():
    return synthetic.precincts(40, random_state=0).margins


def labelled():
    rows = {"a": [0, 1, 1, 0], "b": [0, 0, 1, 1], "y": [1, 0, 1, 0]}
    return Tables.from_frame(rows, ["a", "b"], label="y", order=1, domain=Domain({"a": 2, "b": 2}))


def results():
    """A result of each kind, and words that its finding has."""
    from sumwise.aggregate import CountPlan
    from sumwise.collective import Counts
    from sumwise.datasets import Election
    from sumwise.ecological import EcologicalEM
    from sumwise.flows import CountsOverTime, Places, Tracks
    from sumwise.noise import Laplace, Poisson
    from sumwise.privacy import Budget, plan_release
    from sumwise.proportions import MeanMap, identifiability, subgroups
    from sumwise.report import Summary
    from sumwise.splitters import BagKFold
    from sumwise.voting import turnout, voting_patterns

    m = margins()
    est = EcologicalEM().fit(m)
    bags = Bags.from_arrays([np.full((3, 1), k) + np.arange(3.0)[:, None] for k in range(6)])
    model = MeanMap().fit(bags, np.array([0, 1, 1, 2, 2, 3]))
    votes = Margins([[3, 2], [4, 4]], [[2, 1, 2], [3, 3, 2]], col_names=["A", "B", "NoVote"])
    return {
        "margins": (m, "40 units, "),
        "contests": (Contests({"one": m, "two": m}), "2 contests, 80 units in all."),
        "bags": (bags, "18 rows in 6 bags of 3 to 3, 1 features each."),
        "tables": (
            labelled(),
            "each over 1 of 2 attributes. The label &#x27;y&#x27; is 1 for 50.0% of them.",
        ),
        "table": (Table("a", [1, 2]), "total"),
        "estimate": (est.estimate(), "4 estimates of share with 95% intervals"),
        "patterns": (voting_patterns(est), "The candidate of choice of "),
        "turnout": (turnout(EcologicalEM().fit(votes)), "Turnout by group: row0 "),
        "plan": (
            plan_release(labelled()),
            "will spend epsilon 1: geometric noise of scale 2 on every count.",
        ),
        "budget": (Budget(2.0), "Epsilon 0 of 2 is spent, by 0 releases; 2 is left."),
        "identifiability": (identifiability(bags, warn=False), "6 bags are"),
        "subgroups": (
            subgroups(model, bags, by={"s": ["a", "b", "b"] * 6}),
            "Shares of 2 classes in 2 subgroups.",
        ),
        "counts": (CountsOverTime(np.ones((3, 2))), "Counts at 3 times and 2 places."),
        "flows": (Counts({"t0": np.array([2.0, 1.0])}, {}, 3), "Counts of 3 individuals at 1 nodes of 2 to 2 levels"),
        "places": (Places(x=[0, 3], y=[0, 4]), "2 places, 3 by x and 4 by y across. A typical neighbour is 5 away."),
        "tracks": (Tracks(["a", "b"], [0, 0], ["a", "c"], [1, 1]), "1 were seen again at the same place, 1 elsewhere."),
        "count plan": (CountPlan("r.csv", ("a", "b", "<c>"), "y"), "3 tables over a, b, &lt;c&gt;, with sums of y."),
        "noise": (Laplace(2.0), "The standard deviation of an observation is 2.83 at a true count of 10, 2.83 at 100"),
        "more noise": (Poisson(np.array([0.5, 1.0])), "is 2.24 to 3.16 at a true count of 10"),
        "splitter": (BagKFold(4), "BagKFold, 4 folds of whole bags."),
        "data set": (Election("<toy>", Margins([[3, 1]], [[2, 2]])), "&lt;toy&gt;"),
        "summary": (Summary("Votes", "ecological", "King", ["All <is> known."]), "All &lt;is&gt; known."),
        "generated": (synthetic.xor(100, random_state=0), "Generated data (Xor) with the truth behind them."),
    }


@pytest.mark.filterwarnings("ignore")
def test_results_show_their_finding_in_a_notebook():
    for name, (value, words) in results().items():
        assert words in value._repr_html_(), (name, value._repr_html_())


@pytest.mark.filterwarnings("ignore:Counts of the bags vary:sumwise.errors.ModelWarning")
def test_fitted_models_show_what_they_found_above_their_parameters():
    from sumwise.distribution import BagRidge, LinearEmbedding
    from sumwise.ecological import Bounds, Goodman
    from sumwise.flows import CountsOverTime, FlowModel, Movement
    from sumwise.maxent import NaiveBayesTables
    from sumwise.proportions import MeanMap

    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(k, 1.0, (8, 2)) for k in np.linspace(-1, 1, 12)])
    counts = np.array([(b[:, 0] > 0).sum() for b in bags])
    seen = CountsOverTime(np.array([[60.0, 40.0], [30.0, 70.0]]))
    models = {
        "with 95% intervals": Goodman().fit(margins()),
        "the range that the totals imply": Bounds().fit(margins()),
        "log-odds of a class per unit of each feature": MeanMap(penalty=1.0).fit(bags, counts),
        "left out one at a time": BagRidge(embedding=LinearEmbedding()).fit(bags, counts),
        "stay where they are from one time to the next": FlowModel(movement=Movement(1.0, 1.0)).fit(seen),
        "individuals were counted": NaiveBayesTables().fit(labelled()),
    }
    for words, model in models.items():
        page = model._repr_mimebundle_()["text/html"]
        assert 0 <= page.find(words) < page.find("sk-"), type(model).__name__
        assert words not in type(model)()._repr_html_()


def test_models_that_have_nothing_to_show_say_why_in_a_notebook():
    from sumwise.ecological import Goodman
    from sumwise.flows import FlowModel

    class Unmixed(Goodman):
        def interval(self, level=0.95):
            raise DataError("The chains have not mixed.", hint="raise max_draws.")

    page = Unmixed().fit(margins())._repr_html_()
    assert "The chains have not mixed. Hint: raise max_draws." in page
    interrupted = FlowModel()
    interrupted.times_ = [0, 1]
    assert "The fit was not finished." in interrupted._repr_html_()


def test_every_public_class_shows_itself_in_a_notebook():
    """Containers, results, noise models, records: all but estimators, which scikit-learn shows, and errors."""
    names = ["noise", "splitters", "encoding", "io.formats", "aggregate", "privacy", "metrics", "datasets"]
    names += ["report", "synthetic", "ecological", "proportions", "distribution", "collective", "maxent"]
    without = set()
    for module in [sumwise, *(importlib.import_module(f"sumwise.{name}") for name in names)]:
        for value in (getattr(module, name) for name in module.__all__):
            if isinstance(value, type) and not issubclass(value, (Exception, BaseEstimator)):
                without |= set() if hasattr(value, "_repr_html_") else {value.__name__}
    assert without - {"CountLoss"} == set()  # a loss of torch is a function


def test_shares_are_percentages_and_other_numbers_are_not():
    frame = pd.DataFrame({"table": [("age", "sex")], "share": [0.25], "low": [float("nan")], "count": [12.5]})
    page = finding_html("Found.", frame)
    for words in ("<td>age, sex</td>", "<td>25.0%</td>", "<td></td>", "<td>12.5</td>"):
        assert words in page
    assert "<td>0.25</td>" in finding_html("Found.", frame.drop(columns="share").assign(low=0.25))
