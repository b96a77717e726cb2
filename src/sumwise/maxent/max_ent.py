"""MaxEntClassifier: the most even distribution that agrees with all tables, and P(label | features) under it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from sumwise import checks
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.io.checkpoint import fingerprint
from sumwise.io.writer import new_file
from sumwise.maxent import bootstrap, engines, queries
from sumwise.maxent.calibration import fit_calibration
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import coefficient_frame, logistic_weights
from sumwise.maxent.fitted_model import DRAWS, LogLinearModel, Schema, check_terms, layout_of
from sumwise.maxent.hashed_crosses import arranged_domain
from sumwise.maxent.kernels.loglinear import log_sum
from sumwise.maxent.options import SolverOptions, changed_options, options_of
from sumwise.maxent.penalties import usual_penalties
from sumwise.maxent.score_sql import score_statement
from sumwise.maxent.score_table import calibration_of, score_encoding, score_table
from sumwise.maxent.sparse_terms import sparse_terms_of
from sumwise.maxent.sufficient_statistics import SufficientStatistics, added, parts_of, read_parts
from sumwise.maxent.synthetic_rows import privacy_statement, write_rows
from sumwise.maxent.tables_classifier import TablesClassifier, promises
from sumwise.maxent.trainers import SAMPLING, Settings, Start, train, train_on_rows
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

    from sumwise.encoding import Encoding


class MaxEntClassifier(TablesClassifier):
    """Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy model.

    The model is p(x, y) proportional to exp(phi(x) . (mu + y theta)), where phi marks the cells that x falls in, over
    all tables; its prediction is that of a logistic regression with the tables as cross features. Trained by
    persistent contrastive divergence [1], or exactly where the domain allows it.

    Parameters
    ----------
    penalty_theta : float or sequence of float, optional
        L2 penalty on theta; a sequence gives one for tables of one attribute, of two, and so on, the last also for
        larger ones. Default: 1, and 3 for every other attribute that one can be paired with (39 for 14 attributes),
        raised where scores would otherwise vary more than the tables say (`TablesFit.effect_scale`); where tables have
        noise, each table's own, estimated from its label sums.
    engine : {"auto", "gibbs", "spark", "exact", "tree", "trw", "loopy"}, default "auto"
        Where expectations come from: sampling, here or on Spark (extra ``spark``) with the same result; enumeration; a
        junction tree; tree-reweighted or loopy belief propagation. "auto" takes an exact one where it is quick, else
        sampling.
    device : str, default "cpu"
        "cuda", or another device of torch (extra ``torch``), to sample and step there: in single precision, with rows
        of the tables in half precision. "cpu" samples with Numba in double precision.
    options : SolverOptions, optional
        How the model is trained: steps, chains, tolerance. The defaults suit nearly everybody.
    n_jobs : int, default 1
        Threads; -1 for all cores. The result doesn't depend on it.
    warm_start : bool, default False
        Start from the last fit's parameters and chains.
    verbose : int, default 0
    random_state : int, Generator or None, default None
        Chains are drawn in the order of attributes and levels; another order gives another sample of the same size.

    Attributes
    ----------
    theta_, mu_ : ndarray
        Parameters, (1 or K, P) and (P,); `coefficients` names them.
    offsets_ : ndarray of shape (K,)
        Log-weights of the classes.
    engine_ : str
    penalty_theta_ : float or tuple
        The penalties used.
    fit_ : TablesFit
        How far the returned model is from its tables, with calibration slope and rate, and the history of ``misfit``,
        ``moment_error`` and ``held_out``.

    References
    ----------
    .. [1] Gilotte, Ben Yahmed, Rohde (2022), Learning from aggregated data with a maximum entropy model.

    See Also
    --------
    NaiveBayesTables : Naive Bayes from tables: features are taken as independent given the class.
    BestPair : Logistic regression with two features and their interaction, from the table of the two (B2f).

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import MaxEntClassifier
    >>> example = synthetic.xor(10_000, random_state=0)
    >>> model = MaxEntClassifier(penalty_theta=1e-3).fit(example.expected_tables)
    >>> model.predict_proba({"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]})[:, 1].round(2)  # section 4.2 of [1]
    array([0.1, 0.9])
    """

    _learned = (
        "theta_: float k p; mu_: float p; listed_, terms_, blocks_: is list; engine_: is str; chains_?: is dict; "
        "fit_: is Fit"
    )

    calibration_: np.ndarray

    def __init__(
        self,
        penalty_theta: Any = None,
        *,
        engine: str = "auto",
        device: str = "cpu",
        options: SolverOptions | None = None,
        n_jobs: int = 1,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.penalty_theta = penalty_theta
        self.engine = engine
        self.device = device
        self.options = options
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def set_params(self, **params: Any) -> MaxEntClassifier:
        """Set parameters; ``options__max_iter=100`` changes one of the options.

        Parameters
        ----------
        **params
            By name.
        """
        nested = {k.removeprefix("options__"): params.pop(k) for k in list(params) if k.startswith("options__")}
        super().set_params(**params)
        if nested:
            self.options = changed_options(self.options, nested)
        return self

    # --- fit

    def fit(
        self,
        tables: Any,
        y: Any = None,
        *,
        held_out: Any = None,
        rows: Any = None,
        checkpoint: str | os.PathLike | None = None,
    ) -> MaxEntClassifier:
        """Learn from tables with label sums.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Of any orders; pairs of features are the common case. Several are parts of the data (days, regions) over the
            same attributes: their counts are added up.
        y : None
            Labels are in the tables, as label sums.
        held_out : (frame, labels), optional
            Individuals to score while training, for the record in ``fit_.history["held_out"]``, which no release
            covers (``releases_`` is empty); they change nothing else.
        rows : data frame, optional
            Individuals without labels, from the same population: they take the place of the model of x, which is then
            not learned. With tens of thousands of rows that is better, with hundreds worse. No release of the tables
            covers them, so ``releases_`` is empty.
        checkpoint : path, optional
            Where training keeps its state; a fit that was interrupted resumes from there, to the same result.
        """
        if y is not None:
            raise DataError(
                f"fit takes tables, whose label sums contain the labels; a {type(y).__name__} was given too.",
                hint="give held_out=(frame, labels) to score individuals while training.",
            )
        settings = self._settings()
        parts = parts_of(tables)
        # Whether tables that are held sparse are used so: the sampler here and on Spark can
        sampled = self.engine in ("auto", *SAMPLING) and self.device == "cpu"
        sparse = sampled and all(isinstance(t, Tables) for t in parts)
        by_part = read_parts(parts, settings.options, sparse_terms_of if sparse else None)
        stats, schema = added(by_part), Schema.of(parts[0])
        settings.engine_for(stats)  # refuses what can't be before anything is learned
        begin = self._last_fit(stats, schema) if self.warm_start else None
        penalty = usual_penalties(len(stats.layout.sizes)) if self.penalty_theta is None else self.penalty_theta
        if checkpoint:
            settings = replace(settings, checkpoint=checkpoint, key=self._key(parts[0]))
        if rows is not None:
            model = train_on_rows(stats, schema, settings, penalty, rows)
        else:
            model = train(stats, schema, settings, penalty, begin, held_out)
        before = self._releases()
        self._remember(parts[0], stats.n, parts)
        if begin is not None:  # it began from what other tables had shown
            now = [r for r in self.releases_ if r not in before]
            self.releases_ = [*before, *now] if before and self.releases_ else []
        if rows is not None or held_out is not None:
            self.releases_ = []  # individuals were used as they are: no release covers what is kept of them
        self._keep(model)
        scale = getattr(model.fit, "effect_scale", 1.0)
        self.penalty_theta_ = penalty if scale == 1.0 else tuple(p / scale for p in penalty)
        for name in ("replicates_", "calibration_"):  # they are of another fit
            self.__dict__.pop(name, None)
        return self

    def statistics(self, tables: Any, shared: bool = False) -> SufficientStatistics:
        """Return the counts and label sums of tables, reconciled, in the order of the fitted parameters.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Those that the model was fitted to.
        shared : bool, default False
            Whether the noise of label sums is part of that of the counts, where the tables don't show it.
        """
        listed = self.model_.layout.sparse_terms()
        return added(read_parts(parts_of(tables), self._settings().options, lambda *_: listed, joint=shared))

    def _settings(self) -> Settings:
        """What the parameters say, checked."""
        engines.check_name(self.engine)
        return Settings(
            self.engine,
            self.device,
            options_of(self.options),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
            own_penalties=self.penalty_theta is None,
        )

    def _last_fit(self, stats: SufficientStatistics, schema: Schema) -> Start | None:
        """Where the last fit ended, if there is one of the same shape."""
        last = self.model_ if hasattr(self, "theta_") else None
        if last is None or last.schema.domain != schema.domain:
            return None
        mine, theirs = last.layout.sparse_terms(), stats.layout.sparse_terms()
        same = last.parameters.theta.shape == stats.data.sums.shape and len(last.schema.classes) == len(stats.shares)
        same = same and mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        return Start.of(last) if same else None

    def _keep(self, model: LogLinearModel) -> None:
        self.mu_, self.theta_, self.offsets_ = model.parameters.mu, model.parameters.theta, model.parameters.offsets
        lay = model.layout
        self.listed_ = [kept for c, kept in enumerate(lay.listed) if c not in lay.bare]
        self.terms_ = [model.schema.names(term) for t, term in enumerate(lay.terms) if t not in lay.bare]
        self.engine_, self.chains_, self.fit_ = model.engine, model.chains, model.fit
        self.blocks_ = list(model.blocks)

    def _key(self, tables: Tables) -> str:
        free = ("verbose", "n_jobs", "options")
        params = {k: v for k, v in self.get_params().items() if k not in free}
        return fingerprint(tables, {**params, **vars(replace(options_of(self.options), master=None))})

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if hasattr(self, "theta_"):
            check_terms(self._schema(), self.terms_, getattr(self, "listed_", None), self.theta_.shape[1])

    def _schema(self) -> Schema:
        domain = arranged_domain(self.domain_, self.encoding_)
        return Schema(domain, self.encoding_, self.label_, self.classes_)

    @property
    def model_(self) -> LogLinearModel:
        """The fitted model by itself: parameters, where they are, and what they are about."""
        self._fitted("theta_")
        schema = self._schema()
        return LogLinearModel(
            schema,
            layout_of(schema, self.terms_, getattr(self, "listed_", None)),
            Parameters(self.mu_, self.theta_, self.offsets_),
            self.n_,
            self.engine_,
            self.chains_,
            tuple(tuple(b) for b in getattr(self, "blocks_", ())),
            self.fit_,
        )

    def _distribution(self) -> LogLinearModel:
        """The fitted model, if it has a distribution of features."""
        model = self.model_
        if model.engine == "calibrated":
            raise DataError(
                "A calibrated classifier has no distribution of features.", hint="ask the one that was calibrated."
            )
        if model.engine == "rows":
            raise DataError(
                "The model was trained with rows in place of a distribution of features.", hint="fit without rows."
            )
        return model

    def _rng(self, random_state: Any) -> np.random.Generator:
        return checks.generator(self.random_state if random_state is None else random_state)

    def _frame_scores(self, frame: Any) -> np.ndarray:
        model = self.model_
        return model.scores(model.schema.codes(frame))

    # --- what the model says

    def coefficients(self) -> pd.DataFrame:
        """Return theta as a pandas frame: table, levels, class, coefficient."""
        return coefficient_frame(self.model_)

    def to_logistic(self, path: str | os.PathLike | None = None) -> dict[str, Any]:
        """Return the model as plain weights, for a bidder or any program that adds up; written to `path` as JSON too.

        Returns
        -------
        dict
            ``intercept`` and ``weights``: a list of features, their levels, and the weight that is added where an
            individual has all of them; levels that aren't listed add 0. P(class 1) is 1 / (1 + exp(-sum)). With more
            than two classes there is one number per class, and P is their softmax. ``encoding`` says how raw columns
            become levels.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> plain = MaxEntClassifier().fit(synthetic.xor(1000, random_state=0).tables).to_logistic()
        >>> plain["weights"][0]["features"], plain["weights"][0]["levels"]
        (['x1', 'x2'], [0, 0])
        """
        weights = logistic_weights(self.model_)
        if path is not None:
            with new_file(path) as file:
                file.write(json.dumps(weights, ensure_ascii=False, indent=1, default=str).encode())
        return weights

    def calibrate(self, frame: Any, labels: Any = None) -> MaxEntClassifier:
        """Return a classifier whose probabilities are corrected by labelled individuals, or by a table of scores.

        Log-odds z become a + b z (a per class; Platt 1999), by logistic regression on the rows with a and b drawn to 0
        and 1 (standard deviations 1 and 0.5), so that ten rows change little. For people who differ from those that
        were counted in how common the label is, or where noise has shrunk the predictions.

        Parameters
        ----------
        frame : data frame of individuals, or Tables
            Who were not counted; or their number by predicted probability, as `score_table` counts it, exactly or
            released with noise (two classes only). The table may count the same individuals as all others. By a table
            b is at most 1, since a fit is too steep for those that it was made of.
        labels : sequence of classes
            Of individuals; None where `frame` is a table.

        Returns
        -------
        MaxEntClassifier
            With ``calibration_`` (b, then a of every class). It predicts and exports; it has no distribution of
            features, so that it neither samples nor bootstraps, and has no report.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> example = synthetic.xor(2000, random_state=0)
        >>> model = MaxEntClassifier().fit(example.tables)
        >>> better = model.calibrate(example.frame().head(200), example.labels[:200])
        >>> better.calibration_.shape
        (3,)
        """
        from copy import copy

        made, releases = copy(self), self._releases()
        if isinstance(frame, Tables):
            if labels is not None:
                raise DataError("A table of scores has its labels.", hint="leave labels out.")
            slope, shifts = calibration_of(self._distribution(), frame)
            now = promises([frame])
            made.releases_ = [*releases, *now] if releases and now else []
        elif labels is None:
            raise DataError("Individuals have no labels.", hint="give labels, one for each row, or a table of scores.")
        else:
            model = self.model_
            codes = model.schema.codes(frame)
            slope, shifts = fit_calibration(model.scores(codes), model.schema.label_codes(labels, len(codes)))
            made.releases_ = []  # individuals were used as they are
        made.theta_, made.offsets_ = slope * self.theta_, slope * self.offsets_ + shifts
        made.calibration_ = np.concatenate([[slope], shifts])
        made.engine_, made.chains_ = "calibrated", None
        made.__dict__.pop("replicates_", None)
        return made

    def score_encoding(self) -> Encoding:
        """Return the ranges of predicted probability that `score_table` counts by, as an encoding of the column
        ``probability_1`` that `to_sql` selects.

        To count individuals where they are: ``aggregate(model.to_sql("people.parquet", keep=["y"]), ["probability"],
        "y", order=1, encoding=model.score_encoding())``.
        """
        return score_encoding(self._distribution(), self._releases())

    def score_table(self, frame: Any, labels: Any) -> Tables:
        """Count individuals by predicted probability and class: a table that `calibrate` takes, exact or released.

        Tables of pairs don't show how features combine three or more at a time. Where that matters, log-odds of the
        model vary too much or too little over individuals, and one more table shows it. Its ranges depend on the model
        alone, so for a model of released tables they cost nothing, and the table's own release has to be paid for:
        ``release(table, epsilon=0.1, budget=budget)`` after the rest of the budget went to the other tables.

        Parameters
        ----------
        frame : data frame of individuals
            Those that the other tables counted, or others of the same population.
        labels : sequence of classes

        Returns
        -------
        Tables
            One table, over ``probability``.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> from sumwise.privacy import Budget, release
        >>> example, budget = synthetic.xor(5000, random_state=0), Budget(1.0)
        >>> noisy = release(example.tables, 0.9, bounds=1, budget=budget, public_levels=True)
        >>> model = MaxEntClassifier(random_state=0).fit(noisy)
        >>> counted = model.score_table(example.frame(), example.labels)
        >>> better = model.calibrate(release(counted, 0.1, budget=budget))
        >>> len(better.releases_), bool(0.5 < better.calibration_[0] < 1.5)
        (2, True)
        """
        return score_table(self._distribution(), frame, labels, self._releases())

    def _releases(self) -> list[dict[str, Any]]:
        return getattr(self, "releases_", [])

    def to_sql(self, table: str | Sequence[str], dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
        """Return one SELECT that scores raw columns where they are, with the probabilities of `predict_proba`.

        Names are quoted as identifiers and levels as literals of the dialect, whatever they hold.

        Parameters
        ----------
        table : str or sequence of str
            The table to score; a sequence is a qualified name, as ``("project", "data", "people")``.
        dialect : {"duckdb", "spark", "bigquery"}
        keep : sequence of str
            Columns of the table that the result has besides, such as a key.

        Returns
        -------
        str
            The statement; its columns are those of `keep` and ``probability_0``, ``probability_1``, ... in the order of
            ``classes_``. Hashed crosses are computed; hashed columns are refused.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> model = MaxEntClassifier().fit(synthetic.xor(1000, random_state=0).tables)
        >>> from sumwise.io.formats.connection import connect  # DuckDB
        >>> with connect() as database:
        ...     _ = database.execute("CREATE TEMP TABLE people AS SELECT 0 AS x1, 1 AS x2, 1 AS x3").fetchall()
        ...     found = database.execute(model.to_sql("people")).fetchall()[0]
        >>> bool(abs(found[1] - model.predict_proba({"x1": [0], "x2": [1], "x3": [1]})[0, 1]) < 1e-9)
        True
        """
        return score_statement(self.model_, table, dialect, keep)

    def sample(self, n: int = 1000, random_state: Any = None) -> pd.DataFrame:
        """Draw synthetic individuals from the fitted distribution: a frame of levels, and the label.

        Parameters
        ----------
        n : int, default 1000
        random_state : int, Generator or None
            None continues from the fit's own ``random_state``.
        """
        return queries.sample_rows(self._distribution(), n, self._rng(random_state))

    def write_sample(
        self,
        path: str | os.PathLike,
        n: int | None = None,
        tables: Tables | None = None,
        chunk: int = 100_000,
        random_state: Any = None,
    ) -> pd.DataFrame:
        """Write synthetic individuals to a Parquet file, a chunk at a time, and report how well they agree.

        The file's metadata (key ``sumwise``) has the number of rows and a statement of privacy: the guarantee under
        which the tables behind the model were released, which also covers rows drawn from it, or that there is none.
        The result has the statement in ``attrs["privacy"]``.

        Parameters
        ----------
        path : path
            Written under another name first, and renamed when it is whole.
        n : int, optional
            Rows; default: as many as were counted.
        tables : Tables, optional
            Tables to compare with: those that the model was fitted to, and others, such as held-out triples.
        chunk : int >= 1, default 100_000
            Rows drawn and written at a time.
        random_state : int, Generator or None

        Returns
        -------
        pandas.DataFrame
            One line per table: ``table``, ``order``, whether the model was ``fitted`` to it, and ``variation``, the
            total variation distance between its shares (label included) and those of the rows, 0 to 1. Empty without
            tables.

        Examples
        --------
        >>> import os, tempfile
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> tables = synthetic.xor(1000, random_state=0).tables
        >>> model = MaxEntClassifier(random_state=0).fit(tables)
        >>> found = model.write_sample(os.path.join(tempfile.mkdtemp(), "rows.parquet"), 5000, tables)
        >>> len(found), bool((found["variation"] < 0.1).all())
        (3, True)
        """
        rows = round(self.n_) if n is None else int(checks.at_least(n, "n", 1))
        each = int(checks.at_least(chunk, "chunk", 1))
        privacy = privacy_statement(self._releases())
        return write_rows(self._distribution(), path, rows, tables, each, self._rng(random_state), privacy)

    def log_density(self, frame: Any, labels: Any = None) -> np.ndarray:
        """Return log p(x), or log p(x, y) with labels, up to a constant that is the same for all rows.

        No sampling is involved, so differences between rows are exact. A level that no table has drops its terms.

        Parameters
        ----------
        frame : data frame of individuals
        labels : sequence of classes, optional
        """
        model = self._distribution()
        logs = model.log_density(model.schema.codes(frame))
        if labels is None:
            return log_sum(logs, axis=1)
        return logs[np.arange(len(logs)), model.schema.label_codes(labels, len(logs))]

    def expected(self, attributes: Any, level: float = 0.95, n: int = DRAWS, random_state: Any = None) -> Estimate:
        """Expected counts of any table over features and the label; with intervals after `bootstrap`.

        Intervals account for the sampling of individuals, the noise of tables, shrinkage, and the error of the rows
        drawn here. Without `bootstrap` there are none: the error of drawing alone says nothing of the others.

        Parameters
        ----------
        attributes : str or sequence of str
            Features, whether or not they shared a table.
        level : float in (0, 1), default 0.95
        n : int, default 20_000
            Rows drawn; none are where the joint table can be enumerated.
        random_state : int, Generator or None

        Returns
        -------
        Estimate
            Of shape (levels of each attribute, classes); it sums to the population.
        """
        return self.expected_tables([attributes], level, n, random_state)[0]

    def expected_tables(
        self, attributes: Any, level: float = 0.95, n: int = DRAWS, random_state: Any = None
    ) -> list[Estimate]:
        """Expected counts of several tables, all from the same draws; see `expected`.

        Parameters
        ----------
        attributes : sequence of str or of sequences of str
            The features of each table.
        level : float in (0, 1), default 0.95
        n : int, default 20_000
            Rows drawn.
        random_state : int, Generator or None

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> model = MaxEntClassifier().fit(synthetic.xor(1000, random_state=0).tables)
        >>> [t.shape for t in model.expected_tables(["x1", ("x2", "x3")])]
        [(2, 2), (2, 2, 2)]
        """
        replicates = getattr(self, "replicates_", None)
        if replicates is not None and "mu" not in replicates:
            raise DataError(
                "The refits of this model are of an earlier version, without what tables need.", hint="bootstrap again."
            )
        wanted = checks.listing(attributes, "attributes")
        return queries.expected_tables(self._distribution(), wanted, level, n, self._rng(random_state), replicates)

    def held_out_score(self, tables: Tables, n: int = DRAWS, level: float = 0.95, random_state: Any = None) -> Estimate:
        """NLLH on other tables of the same population, without rows.

        The label's part of the log-likelihood is linear in the tables and exact. The normaliser is the mean of
        log(sum over classes of exp(score)) over individuals, which tables don't determine: it is taken over the model's
        own draws, so the score is an estimate. The interval is that of the draws; where the model's distribution of x
        is off, the score is too.

        Parameters
        ----------
        tables : Tables
            Tables over the attribute sets that the model was trained on, with label sums.
        n : int, default 20_000
            Rows drawn.
        level : float in (0, 1), default 0.95
        random_state : int, Generator or None
        """
        margins = not options_of(self.options).paper
        return queries.held_out_score(self._distribution(), tables, margins, n, level, self._rng(random_state))

    # --- how far it may be off

    def bootstrap(self, tables: Any, n: int = 30, random_state: Any = None) -> MaxEntClassifier:
        """Find how parameters answer to n tables as other samples and noise might have given them, and to penalties.

        For the latter, n penalties pull to drawn parameters in place of zero, which shows how much penalties shrink;
        how large the drawn ones are, of levels and of larger tables, is estimated from the fitted ones
        (``replicates_["scale"]``, in units of what the default penalties imply). An answer is one Newton step from the
        fitted parameters, by conjugate gradients. Keeps parameters with both errors in ``replicates_``, for
        `predict_interval`, `expected`, `effect_intervals` and `coefficient_intervals`. Twenty cost about as much as
        five fits.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Those that the model was fitted to.
        n : int, default 30
            Number of answers of each kind; the error of an interval's width is about 1 / sqrt(2 n).
        random_state : int, Generator or None

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> example = synthetic.xor(1000, random_state=0)
        >>> model = MaxEntClassifier().fit(example.tables).bootstrap(example.tables, n=10, random_state=0)
        >>> low, high = model.predict_interval({"x1": [0], "x2": [1], "x3": [1]})
        >>> bool(low[0, 1] < model.predict_proba({"x1": [0], "x2": [1], "x3": [1]})[0, 1] < high[0, 1])
        True
        """
        model, settings = self._distribution(), self._settings()
        n = checks.at_least(n, "n", 2)
        parts = parts_of(tables, "bootstrap")
        stats = added(read_parts(parts, settings.options, lambda *_: model.layout.sparse_terms()))
        if parts[0].domain != self.domain_ or stats.data.sums.shape != self.theta_.shape:
            raise DataError("The tables aren't those that the model was fitted to.")
        if abs(stats.n - self.n_) > 1e-6 * self.n_:
            raise DataError(
                f"The tables count {stats.n:g}, those that the model was fitted to {self.n_:g}.", hint="give all parts."
            )
        rng = self._rng(random_state)
        self.replicates_ = bootstrap.bootstrap(model, stats, settings, self.penalty_theta_, n, rng)
        return self

    def _bootstrapped(self) -> LogLinearModel:
        model = self.model_
        if model.engine == "calibrated":
            raise DataError("A calibrated classifier has no intervals.", hint="ask the one that was calibrated.")
        if not hasattr(self, "replicates_"):
            raise NotFittedError("Intervals need refits: call bootstrap(tables) after fit.")
        return model

    def predict_interval(self, frame: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the low and high ends of P(class | features), each (n_rows, n_classes); needs `bootstrap`.

        They account for the sampling of individuals, the noise of tables and shrinkage, on the scale of log-odds, with
        Student's t for the number of refits. They don't cover interactions that pairwise tables can't show.

        Parameters
        ----------
        frame : data frame of individuals
        level : float in (0, 1), default 0.95
        """
        return bootstrap.probability_intervals(self._bootstrapped(), self.replicates_, frame, level)

    def coefficient_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Return `coefficients` with columns ``low``, ``high`` and ``contraction``; needs `bootstrap`.

        How much of a level's effect is in which table is decided by the penalties, and the intervals are for
        coefficients split like that; `effect_intervals` has what doesn't depend on it. ``contraction`` is the share of
        a coefficient's prior variance that the tables removed: near 0, its interval is mostly the prior's.
        """
        return bootstrap.coefficient_intervals(self._bootstrapped(), self.replicates_, level)

    def effect_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Return the effects of levels and of their crosses on log-odds, with intervals; needs `bootstrap`.

        The effect of a level is against the average individual, that of a pair against what its two levels do on their
        own; averages are over the levels' shares. So written, coefficients are identified by the predictions alone.

        Returns
        -------
        pandas.DataFrame
            Columns ``table``, ``levels``, ``class``, ``effect``, ``low``, ``high``, ``contraction``: the share of the
            effect's prior variance that the tables removed. It is small for rare levels, whose intervals are
            mostly the prior's. With more than two classes an effect is against the mean over classes.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> tables = synthetic.xor(5000, random_state=0).tables
        >>> found = MaxEntClassifier().fit(tables).bootstrap(tables, n=5, random_state=0).effect_intervals()
        >>> found.sort_values("effect").iloc[-1][["table", "levels"]].tolist()
        [('x3',), (1,)]
        """
        return bootstrap.effect_intervals(self._bootstrapped(), self.replicates_, level)
