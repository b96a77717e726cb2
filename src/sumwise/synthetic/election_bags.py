"""The election testbed: regions with individuals, survey weights, a hidden attribute and region counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.synthetic.draws import float_dtype, multinomial, softmax
from sumwise.synthetic.population import Population
from sumwise.synthetic.record import Record

if TYPE_CHECKING:
    import pandas as pd

CLASSES = {2: ("R", "D"), 3: ("R", "D", "no vote")}


@dataclass(frozen=True, eq=False, repr=False)
class Election(Record):
    """Regions of individuals with a hidden vote, and the votes themselves; made by `election`.

    B regions, n individuals (rows) in all, d columns, C classes.

    Attributes
    ----------
    bags : Bags
        Individuals by region: covariates (variance about 1), one column per level of each attribute, the region's
        map coordinates; ``bags.weights`` are survey weights (how many people a row stands for).
    counts : (B, C) int array
        How many of the *rows* of each region are in each class. ``counts[:, 1]`` is the binary count.
    totals : (B, C) int array
        How many *people* of each region are in each class: the official result. Rows sum to the region's weights.
    labels : (n,) int8 array
        The hidden class of each row.
    probabilities : (n, C) array
        True P(class | x, region) of each row.
    votes : (n, C) int array
        The people behind each row by class; they sum to its weight, and over a region to `totals`.
    codes : dict
        ``{"sex": (n,), "race": (n,), ...}``: level codes of each row.
    levels : dict
        ``{"sex": ("male", "female"), ...}``.
    classes : tuple of str
        ``("R", "D")``, ``("R", "D", "no vote")``, or that and ``"class3"``, ...
    states : (B,) int array
        State of each region, 0 to 27: a 7 x 4 raster of the map.
    coefficients, intercepts : (d, C) and (C,) arrays
        The true softmax regression; class 0 is zero.
    region_effects : (B, C) array
        What regions add to the logits beyond their members' covariates.
    test_values, test_labels, test_probabilities, test_regions : arrays (n_test, ...)
        Individuals drawn by survey weight from all regions, none of them in `bags`.
    test_codes : dict
        Level codes of the test individuals.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.election(30, 100, random_state=0)
    >>> data.margins("race").row_names
    ('white', 'black', 'asian', 'hispanic', 'other')
    >>> data.shares("sex").columns.tolist()
    ['sex', 'people', 'R', 'D']
    """

    bags: Bags
    counts: np.ndarray
    totals: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    votes: np.ndarray
    codes: dict
    levels: dict
    classes: tuple
    states: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    region_effects: np.ndarray
    test_values: np.ndarray
    test_labels: np.ndarray
    test_probabilities: np.ndarray
    test_regions: np.ndarray
    test_codes: dict

    @property
    def bayes_accuracy(self) -> float:
        """Expected accuracy, on the test individuals, of predicting each one's likeliest class."""
        return float(self.test_probabilities.max(axis=1).mean())

    def cells(self, attribute: str) -> np.ndarray:
        """Return the people by region, level and class, (B, R, C): the truth behind ``margins(attribute)``."""
        checks.known(attribute, self.levels, "attribute")
        n_levels = len(self.levels[attribute])
        key = self.bags.bag_index * n_levels + self.codes[attribute]
        size = len(self.bags) * n_levels
        out = [np.bincount(key, weights=self.votes[:, c], minlength=size) for c in range(len(self.classes))]
        return np.stack(out, axis=1).reshape(len(self.bags), n_levels, -1).astype(np.int64)

    def margins(self, attribute: str) -> Margins:
        """Return the ecological view: people by level and people by class in each region."""
        cells = self.cells(attribute)
        return Margins(
            cells.sum(axis=2),
            cells.sum(axis=1),
            units=self.bags.ids,
            row_names=self.levels[attribute],
            col_names=self.classes,
            denominator="people (survey weights)",
        )

    def shares(self, *by: str) -> pd.DataFrame:
        """Return the true class shares of subgroups of the people, by attributes and ``"state"`` or ``"region"``.

        One row per subgroup that has members: its people and the share of each class among them.
        """
        import pandas as pd

        region = self.bags.bag_index
        known = {"state": self.states[region], "region": self.bags.ids[region]}
        known |= {a: pd.Categorical.from_codes(self.codes[a], list(levels)) for a, levels in self.levels.items()}
        keys = pd.DataFrame({name: known[name] for name in self._known(by)})
        votes = pd.DataFrame(self.votes, columns=pd.Index(self.classes))
        sums = pd.DataFrame(votes.groupby([keys[name] for name in by], observed=True, sort=True).sum())
        people = sums.to_numpy().sum(axis=1)
        out = sums / people[:, None]
        out.insert(0, "people", people)
        return out.reset_index()

    def frame(self) -> pd.DataFrame:
        """Return the rows as microdata: region, state, weight, covariates, attributes as categories, and the vote."""
        return self._microdata(self.bags.bag_index, self.bags.values, self.codes, self.labels, self.bags.weights)

    def test_frame(self) -> pd.DataFrame:
        """Return the test individuals as microdata, with weight 1."""
        ones = np.ones(len(self.test_labels))
        return self._microdata(self.test_regions, self.test_values, self.test_codes, self.test_labels, ones)

    def _known(self, by: tuple[str, ...]) -> tuple[str, ...]:
        if not by:
            raise DataError("There is nothing to group by.", hint='name attributes, as in shares("sex", "state").')
        for name in by:
            checks.known(name, [*self.levels, "state", "region"], "grouping")
        return by

    def _microdata(self, region: Any, values: Any, codes: dict, labels: Any, weights: Any) -> pd.DataFrame:
        import pandas as pd

        n_covariates = len(self.bags.features) - 2 - sum(len(v) for v in self.levels.values())
        columns = {"region": self.bags.ids[region], "state": self.states[region], "weight": weights}
        columns |= {name: values[:, j] for j, name in enumerate(self.bags.features[:n_covariates])}
        columns |= {a: pd.Categorical.from_codes(codes[a], list(levels)) for a, levels in self.levels.items()}
        columns["vote"] = pd.Categorical.from_codes(labels, list(self.classes))
        return pd.DataFrame(columns)


def election(
    n_regions: int = 979,
    n_individuals: Any = 1000,
    *,
    n_classes: int = 2,
    n_continuous: int = 5,
    n_categorical: int = 5,
    separation: float = 0.2,
    signal: float = 1.5,
    region_effect: float = 0.0,
    mean_weight: float = 24.0,
    weight_spread: float = 0.5,
    n_test: int = 10_000,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Election:
    """Draw an election by region in which individuals' covariates are known and their votes are hidden.

    This is the testbed of Sun et al. 2017 (section V) with every vote known: `Bags` with region counts for label
    proportions, a share per bag for distribution regression, and ``margins(attribute)`` for ecological inference.
    For plain precinct margins of any R x C with tunable aggregation bias, see `synthetic.precincts`.

    Parameters
    ----------
    n_regions : int >= 1, default 979
    n_individuals : int or (n_regions,) array, default 1000
        Rows per region.
    n_classes : int, default 2
        2: R and D; 3: R, D and no vote; more are allowed.
    n_continuous, n_categorical : int, default 5, 5
        Covariates (age, income, ...) and attributes (sex, race, education, employment, marriage, then further ones).
    separation : float in [0, 1), default 0.2
        Share of the latent factors' variance that lies between regions; with 0 all regions are alike and the votes
        of individuals can't be estimated from counts.
    signal : float >= 0, default 1.5
        Standard deviation of each class's logit over individuals.
    region_effect : float >= 0, default 0.0
        Standard deviation of the regions' own shift of each logit (overdispersion of counts).
    mean_weight, weight_spread : float, default 24.0, 0.5
        Mean survey weight and standard deviation of its log. ``1, 0`` gives unweighted bags, with totals = counts.
    n_test : int, default 10,000
        Held-out individuals.
    dtype : float64 or float32, default float64
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Election

    Notes
    -----
    Region b has a place on the unit square and a mean m_b of four latent factors, half smooth over the map and half
    its own, with variance `separation`; an individual's factors are z = m_b + u, Var(z) about 1::

        covariate  = l . z + e                      Var about 1, 60% of it from the factors
        P(level k) = share_k exp(a_k . z) / sum     for each attribute
        weight     = max(1, round(mean_weight exp(s (0.6 z_1 + 0.8 e) - s^2 / 2)))    s = weight_spread
        P(class c) = softmax(x . coefficients_c + intercept_c + region_effects_bc)

    Coefficients are normal and scaled to `signal`; intercepts centre the logits, so classes are about equally
    common. A row's label is one draw; the other people it stands for draw theirs from the same probabilities.
    Weights lean on a factor, so unweighted shares are biased for the people.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.election(50, 100, n_classes=3, random_state=0)
    >>> data.counts.shape, bool((data.counts.sum(axis=1) == 100).all())
    ((50, 3), True)
    >>> bool((data.margins("sex").cols == data.totals).all())
    True
    """
    rng = checks.generator(random_state)
    sizes = _sizes(n_regions, n_individuals)
    for name, value, low in (
        ("n_classes", n_classes, 2), ("n_continuous", n_continuous, 0), ("n_categorical", n_categorical, 0),
        ("n_test", n_test, 1), ("mean_weight", mean_weight, 1), ("separation", separation, 0), ("signal", signal, 0),
        ("region_effect", region_effect, 0), ("weight_spread", weight_spread, 0),
    ):  # fmt: skip
        checks.at_least(value, name, low, whole_number=name.startswith("n_"))
    if separation >= 1:
        raise DataError(f"separation is {separation!r}; it must be below 1.")
    dtype = float_dtype(dtype)

    people = Population.draw(n_regions, n_continuous, n_categorical, separation, rng)
    region = np.repeat(np.arange(n_regions), sizes)
    values, codes, weights = people.individuals(region, dtype, mean_weight, weight_spread, rng)
    coefficients, intercepts = _softmax_regression(values, n_classes, signal, rng)
    effects = np.zeros((n_regions, n_classes))
    effects[:, 1:] = region_effect * rng.standard_normal((n_regions, n_classes - 1))
    probabilities = softmax(values @ coefficients + intercepts + effects[region])
    labels = _choose(probabilities, rng)
    votes = multinomial(weights - 1, probabilities, rng)
    votes[np.arange(len(labels)), labels] += 1

    offsets = np.concatenate([[0], np.cumsum(sizes)])
    population = np.add.reduceat(weights, offsets[:-1])
    test = _test_set(people, population, n_test, dtype, (mean_weight, weight_spread), rng)
    test_probabilities = softmax(test[1] @ coefficients + intercepts + effects[test[0]])
    own_weights = None if (weights == 1).all() else weights.astype(float)
    return Election(
        bags=Bags(values, offsets, weights=own_weights, features=people.features),
        counts=np.add.reduceat(np.eye(n_classes, dtype=np.int64)[labels], offsets[:-1], axis=0),
        totals=np.add.reduceat(votes, offsets[:-1], axis=0),
        labels=labels,
        probabilities=probabilities,
        votes=votes,
        codes=codes,
        levels=people.attributes,
        classes=CLASSES.get(n_classes) or (*CLASSES[3], *(f"class{c}" for c in range(3, n_classes))),
        states=_states(people.centroids),
        coefficients=coefficients,
        intercepts=intercepts,
        region_effects=effects,
        test_values=test[1],
        test_labels=_choose(test_probabilities, rng),
        test_probabilities=test_probabilities,
        test_regions=test[0],
        test_codes=test[2],
    )


def _sizes(n_regions: Any, n_individuals: Any) -> np.ndarray:
    checks.at_least(n_regions, "n_regions", 1)
    if np.ndim(n_individuals) == 0:
        return np.full(n_regions, checks.at_least(n_individuals, "n_individuals", 1))
    sizes = checks.whole(n_individuals, "n_individuals", ndim=1).astype(np.int64)
    if len(sizes) != n_regions or sizes.min() < 1:
        smallest = f", the smallest {sizes.min()}," if len(sizes) else ""
        raise DataError(
            f"n_individuals has {len(sizes)} sizes{smallest} for {n_regions} regions.",
            hint="give one size of at least 1 per region.",
        )
    return sizes


def _softmax_regression(
    values: np.ndarray, n_classes: int, signal: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    coefficients = np.zeros((values.shape[1], n_classes))
    coefficients[:, 1:] = rng.standard_normal((values.shape[1], n_classes - 1))
    sample = values[:: max(1, len(values) // 50_000)]
    spread = (sample @ coefficients).std(axis=0)
    coefficients *= np.divide(signal, spread, out=np.zeros(n_classes), where=spread > 1e-12)
    return coefficients, -(values.mean(axis=0, dtype=float) @ coefficients)


def _choose(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draw = rng.random(len(probabilities))[:, None]
    return (draw > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1).astype(np.int8)


def _test_set(
    people: Population,
    population: np.ndarray,
    n: int,
    dtype: np.dtype,
    weighting: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, dict]:
    """Draw n individuals by survey weight: regions by their people, then one of eight candidates by its weight."""
    regions = rng.choice(len(population), size=n, p=population / population.sum())
    values, codes, weights = people.individuals(np.repeat(regions, 8), dtype, *weighting, rng)
    cumulative = np.cumsum(weights.reshape(n, 8), axis=1)
    chosen = (rng.random(n)[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1) + 8 * np.arange(n)
    return regions, values[chosen], {name: code[chosen] for name, code in codes.items()}


def _states(centroids: np.ndarray) -> np.ndarray:
    """Return the cell of a raster of 7 columns and 4 rows that each (standardised) centroid lies in."""
    place = np.clip(centroids / np.sqrt(12.0) + 0.5, 0, 1 - 1e-12)
    return (place[:, 1] * 4).astype(int) * 7 + (place[:, 0] * 7).astype(int)
