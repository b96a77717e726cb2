"""DeepSets: a network that reads whole bags (Zaheer et al. 2017; Qi et al. 2017), needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import Columns, check_bags
from sumwise.distribution.regressor import BagRegressor, are_counts, weighted_bags
from sumwise.distribution.set_explanation import attention, critical_rows, unchanged_by
from sumwise.distribution.set_network import Plan, fresh_weights, make_plan
from sumwise.distribution.set_presets import NETWORK, PRESETS, TRAINING, arranged, completed
from sumwise.distribution.set_response import TASKS, Response
from sumwise.distribution.set_training import (
    Network,
    OwnNetwork,
    RowSource,
    Settings,
    Training,
    batch_size,
    fresh_network,
    unseen_outputs,
)
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.features import centre_and_scale, name_columns
from sumwise.fit import Fit, warn_not_converged
from sumwise.inference.canonical import content_sorted
from sumwise.inference.networks.optimiser import SCHEDULES
from sumwise.inference.networks.tensors import find_device, threads
from sumwise.io.checkpoint import Checkpoint, fingerprint
from sumwise.learned import check_part
from sumwise.progress import Progress

SECONDS = 3.0  # at least, between two saves of a checkpoint
STEPS, EPOCHS = 1500, (10, 200)  # of a fit without a given number of epochs


@dataclass(eq=False, repr=False)
class DeepSets(BagRegressor):
    """Predict a response of bags by rho(pool(phi(x))), with phi and rho learned together.

    phi reads each row, the pool is a mean, a sum or a maximum over the rows of a bag, or a mean with learned weights
    (attention); rho turns it into the answer; no row of any bag is padded. Part of the bags is held out to choose the
    epoch.

    Parameters
    ----------
    network : tuple of int, dict or torch.nn.Module, default (64,)
        A module of your own is called with the rows of some bags, bag after bag, and with `bags`, which pools them:
        ``bags.pool(rows, "mean")`` and ``bags.spread(pooled)``; it returns (n_bags, n_outputs), of responses that are
        standardised. Otherwise widths of the layers that read a row, or options of the network:

        - ``phi`` (64,): widths of the layers that read a row; ``rho`` (64,): of the hidden layers that read the pool.
        - ``pool`` "mean", "sum", "max" or "attention": weights count in means, sums and attention; a maximum only
          needs them above zero. Attention (Ilse et al. 2018) is for bags in which few rows matter: `instance_weights`
          says which.
        - ``embedding`` None: width of a last layer of phi without activation.
        - ``equivariant`` False: whether each layer of phi also sees the pool of the layer before:
          act(x A + b - pool(x) C).
        - ``local`` (): widths of layers between phi and the last pool; they see each row's phi together with the
          pooled phi.
        - ``activation`` "silu", "elu", "relu" or "tanh".
        - ``normalise`` True: batch normalisation of the pool. Means over large bags differ little from bag to bag:
          without it, rho sees almost the same numbers for every bag, and training takes many times longer.
        - ``dropout`` 0.0: share of the inputs of each layer of rho that a training step leaves out.
    task : {"regression", "classification", "share"}, default "regression"
        Responses are numbers; labels of any kind; or numbers in [0, 1] (cross-entropy; predictions stay within).
    training : dict, optional
        How it is trained:

        - ``learning_rate`` None: of AdamW; by default 0.03 for one layer of phi and 0.01 for more, a tenth of that
          when the pool is a maximum.
        - ``weight_decay`` None: of matrices, times the learning rate. By default each member is trained with 0.01 and
          with 0.2, and the held-out bags choose; 0.05 where none are held out. Much is right where responses are
          uncertain given the bag, little where they are exact: a wrong one can cost a factor of ten.
        - ``schedule`` "cosine", "plateau" or "constant": the learning rate falls to zero over `max_epochs`, which are
          all run; is halved when the held-out loss stands still for a quarter of ``patience``; stays.
        - ``patience`` 20: passes without a lower held-out loss after which "plateau" and "constant" stop.
        - ``batch_bags`` None: bags per step; by default as many as hold about 20,000 rows, 4 to 64.
        - ``max_rows`` None: rows of a bag that a step sees at most, drawn anew each time; predictions see all.
        - ``validation`` 0.1: share of the bags that is held out; 0 trains for `max_epochs` on all.
        - ``checkpoint`` None: file in which the state is kept after each epoch, at most every 3 seconds. A fit that was
          killed goes on from it to the same result, bit for bit; the file is removed at the end.
        - ``n_jobs`` 1: threads. The same number gives the same result to the last bit.
    max_epochs : int or None, default None
        Passes over the bags; by default those that make about 1,500 steps, 10 to 200.
    n_members : int, default 1
        Networks that are trained, each from another beginning with other bags held out, and averaged.
    device : str, default "cpu"
        "cuda" trains and predicts on a GPU.
    verbose : int, default 0
    random_state : int, Generator or None, default 0

    Attributes
    ----------
    members_ : list of dict
        Weights and pool statistics of each network, float32.
    classes_ : array, classification only
    best_epochs_, weight_decays_ : lists, one entry per member
    residuals_ : array of shape (n_held_out, n_outputs), of a regression
        Errors on bags that were held out, sorted by size; behind `predict_interval`.
    fit_ : Fit
        Its history has the loss of each epoch on training and on held-out bags, of the first member.

    See Also
    --------
    BagRidge : Ridge regression on an embedding: from bags of samples to one response per bag.
    BagLogistic : Logistic regression on an embedding: a class per bag, or shares that stay between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import DeepSets
    >>> data = synthetic.gamma(80, 50, noise=0.0, random_state=0)
    >>> net = DeepSets(max_epochs=20).fit(data.bags[:60], data.response[:60])
    >>> net.predict(data.bags[60:]).shape
    (20,)
    """

    _learned = (
        "columns_: is Columns; columns_.given: len g; response_: is Response; residuals_??: real * K; members_: len +"
    )

    network: Any = (64,)
    task: str = "regression"
    _: KW_ONLY
    training: Any = None
    max_epochs: int | None = None
    n_members: int = 1
    device: str = "cpu"
    verbose: int = 0
    random_state: Any = 0

    @classmethod
    def preset(cls, name: str, **changes: Any) -> DeepSets:
        """Return an estimator with a network of the papers: "statistics", "points", "pointnet" or "gamma".

        Options of the network and of training are changed by name, as are parameters.

        Examples
        --------
        >>> from sumwise.distribution import DeepSets
        >>> DeepSets.preset("points", max_epochs=10).network["pool"]
        'max'
        """
        checks.choice(name, "name", tuple(PRESETS))
        return cls(**arranged({**PRESETS[name], **changes}))

    @property
    def _network(self) -> dict[str, Any]:
        """Options of the network, with their defaults."""
        if self._own is not None:
            return {"phi": (), "pool": "that of a module"}
        given = self.network if isinstance(self.network, Mapping) else {"phi": self.network}
        return completed(given, NETWORK, "option of the network")

    @property
    def _own(self) -> Any:
        """The module that was given, or None."""
        return self.network if hasattr(self.network, "named_parameters") else None

    def _fresh(self, rng: np.random.Generator, device: Any) -> Network:
        """Return a network that hasn't learned anything yet."""
        if self._own is not None:
            return OwnNetwork.fresh(self._own, rng, device)
        return fresh_network(self._plan(), rng, device)

    def _restored(self, arrays: dict, device: Any) -> Network:
        """Return a network with these weights."""
        return Network(self._plan(), arrays, device) if self._own is None else OwnNetwork(self._own, arrays, device)

    @property
    def _option(self) -> SimpleNamespace:
        """Options of training, with their defaults."""
        return SimpleNamespace(**completed(self.training, TRAINING, "option of training"))

    def fit(self, bags: Bags, y: Any, *, validation: tuple | None = None, sample_weight: Any = None) -> DeepSets:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fit to bags and one response each.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,), or (n_bags, n_outputs) for several responses at once
        validation : (Bags, responses), optional
            Bags to hold out, in place of a share of `bags`.
        sample_weight : array of shape (n_bags,), optional
            How much each bag's loss counts, in training and where bags are held out; 0 leaves it out.
        """
        torch, bags = require("torch", extra="torch"), usable(bags)
        if sample_weight is not None:
            y = bags.align(y, "y")
        bags, (y,), weights = weighted_bags(bags, (y,), sample_weight, least=1)
        settings = self._settings(bags)
        target = self._learn_scales(bags, y)
        bags, order = content_sorted(self.columns_.check(bags), list(target.reshape(len(bags), -1).T))
        target, weights = target[order], None if weights is None else weights[order]
        split = None if validation is None else self._judges(*validation)
        seeds = [int(s) for s in checks.generator(self.random_state).integers(2**62, size=self.n_members)]
        key = self._key(bags, target, (split, weights), seeds)
        checkpoint = Checkpoint(self._option.checkpoint, key=key, seconds=SECONDS)
        done: dict[str, Any] = checkpoint.load() or {"runs": []}
        decays = self._decays(split is not None or self._option.validation > 0)
        plan = [(seed, decay) for seed in seeds for decay in decays]
        with (
            Progress("DeepSets", settings.max_epochs * len(plan), verbose=self.verbose) as progress,
            threads(self._option.n_jobs),
            torch.random.fork_rng(devices=[]),
        ):
            for seed, decay in plan[len(done["runs"]) :]:
                run = self._training(bags, (target, weights), split, replace(settings, weight_decay=decay), seed)
                if "running" in done:
                    run.resume(done.pop("running"))
                trained = run.run(checkpoint, done, progress)
                judged = run.judged()
                done["runs"].append({**vars(trained), "weight_decay": decay, "judged": judged})
        checkpoint.clear()
        of_member = [done["runs"][k : k + len(decays)] for k in range(0, len(plan), len(decays))]
        self.residuals_ = np.concatenate([self._residuals(runs) for runs in of_member])
        return self._keep([min(runs, key=lambda r: r["loss"]) for runs in of_member], settings)

    def partial_fit(self, bags: Bags, y: Any, classes: Any = None) -> DeepSets:
        """Take one pass over bags that have arrived, at the constant learning rate; call it again for more.

        The first call fixes how features and responses are scaled; for a classification it must name all classes.
        `fit` begins anew.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,), or (n_bags, n_outputs)
        classes : sequence, classification only
            All labels that may come.
        """
        bags = usable(bags)
        settings = replace(self._settings(bags), schedule="constant", max_epochs=1)
        device, begun = find_device(self.device), hasattr(self, "passes_")
        if not begun:
            target = self._learn_scales(bags, y, classes)
            bags = self.columns_.check(bags)
            self.passes_ = 0
            seed = int(checks.generator(self.random_state).integers(2**62))
            network = self._fresh(np.random.default_rng(seed), device)
            self._course = {"seed": seed}
        else:
            bags = self.columns_.check(bags)
            target = self.response_.encode(bags, y)
            seed, network = self._course["seed"], self._restored(self.members_[0], device)
        source = RowSource(bags, self.columns_, device)
        run = Training(network, source, self._tensor(target, device), settings, [seed])
        with threads(self._option.n_jobs):
            if begun:
                run.resume({"network": self.members_[0], "moments": self._course["moments"], "course": run.course})
            else:
                run.begin()
            run.one_pass(np.random.default_rng([seed, self.passes_]), 0)
        self.passes_ += 1
        self.members_, self._course = [network.arrays()], {"seed": seed, "moments": run.state()["moments"]}
        self.fit_ = Fit(None, run.course["loss"][0], None, self.passes_, True, {"loss": np.array(run.course["loss"])})
        return self

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the response of each bag, in the shape that `fit` was given; for classes, the class."""
        if self.task == "classification":
            return self.classes_[np.argmax(self._predict(bags), axis=1)]
        return super().predict(bags)

    @available_if(lambda self: self.task == "classification")
    def predict_proba(self, bags: Bags) -> np.ndarray:
        """Return class probabilities, (n_bags, n_classes), of a classifier."""
        return self._predict(bags)

    def _bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.task == "share" else super()._bounds()

    def critical_set(self, bags: Bags) -> np.ndarray:
        """Return rows that alone decide the answer when the pool is a maximum (Qi et al. 2017).

        ``bags.subset(net.critical_set(bags))`` has the same predictions, from few rows of each bag.

        Returns
        -------
        array of shape (n_rows,) of bool
        """
        self._refuse_other_pool("max", "critical sets", "every row counts")
        out = np.zeros(bags.n_rows, dtype=bool)
        out[bags.weights > 0] = np.any(self._explained(bags, critical_rows), axis=0)
        return out

    def upper_set(self, bags: Bags, rows: Any) -> np.ndarray:
        """Return which of other rows each bag could hold as well without a change of its answer (Qi et al. 2017).

        The critical set is the smallest bag with the same pool when the pool is a maximum; with all rows of the upper
        set added it is the largest. Give a grid of rows to see the shape of that set.

        Parameters
        ----------
        bags : Bags
        rows : array of shape (n_candidates, n_features), or Bags
            Rows to try, each with every bag.

        Returns
        -------
        array of shape (n_bags, n_candidates) of bool
        """
        self._refuse_other_pool("max", "upper sets", "every further row changes it")
        if not isinstance(rows, Bags):
            rows = Bags.from_arrays([rows], features=bags.features)
        source = self._source(rows)
        candidates = source.take(np.arange(len(rows)))[0]
        return np.all(self._explained(bags, unchanged_by, candidates), axis=0)

    def instance_weights(self, bags: Bags) -> np.ndarray:
        """Return how much each row counts in the answer of its bag, by attention: which instance is responsible.

        Returns
        -------
        array of shape (n_rows,)
            They sum to one over each bag; rows of weight zero have none. Means over the members.
        """
        self._refuse_other_pool("attention", "instance weights", "rows have no weights of their own")
        out = np.zeros(bags.n_rows)
        out[bags.weights > 0] = np.mean(self._explained(bags, attention), axis=0)
        return out

    def _refuse_other_pool(self, pool: str, what: str, why: str) -> None:
        self._fitted()
        if self._network["pool"] != pool:
            raise DataError(f"pool is {self._network['pool']!r}: {why}.", hint=f"pool={pool!r} has {what}.")

    def _explained(self, bags: Bags, function: Any, *given: Any) -> list:
        """Return what a function of a network and rows says, one answer per member."""
        source = self._source(bags)
        with threads(self._option.n_jobs):
            return [function(self._restored(arrays, source.device), source, *given) for arrays in self.members_]

    def _settings(self, bags: Bags) -> Settings:
        option = self._option
        checks.choice(self.task, "task", TASKS)
        checks.choice(option.schedule, "schedule", SCHEDULES)
        for name, value in (("patience", option.patience), ("n_members", self.n_members), ("n_jobs", option.n_jobs)):
            checks.at_least(value, name, 1)
        for name in ("batch_bags", "max_rows"):
            if getattr(option, name) is not None:
                checks.at_least(getattr(option, name), name, 1)
        if self.max_epochs is not None:
            checks.at_least(self.max_epochs, "max_epochs", 1)
        if not 0 <= checks.at_least(option.validation, "validation", 0, whole_number=False) < 1:
            raise DataError(f"validation is {option.validation!r}.", hint="give a share below 1; 0 holds nothing out.")
        batch_bags = batch_size(bags.sizes, option.batch_bags, option.max_rows)
        return Settings(
            self.task,
            self._rate(),
            self._decays(False)[0],
            option.schedule,
            batch_bags,
            option.max_rows,
            self.max_epochs or int(np.clip(round(STEPS * batch_bags / len(bags)), *EPOCHS)),
            option.patience,
        )

    def _decays(self, judged: bool) -> tuple[float, ...]:
        """Weight decays to try; there is a choice where held-out bags can make it."""
        given = self._option.weight_decay
        if given is not None:
            return (float(checks.at_least(given, "weight_decay", 0, whole_number=False)),)
        return (0.01, 0.2) if judged else (0.05,)

    def _rate(self) -> float:
        given, network = self._option.learning_rate, self._network
        if given is not None:
            return float(checks.at_least(given, "learning_rate", 0, whole_number=False))
        rate = 0.03 if len(checks.listing(network["phi"], "phi")) == 1 else 0.01
        return rate / 10 if network["pool"] == "max" else rate

    def _check_rebuilt(self) -> None:
        super()._check_rebuilt()
        if hasattr(self, "response_") and self.response_.task == "regression":
            check_part("response_range_", self.response_range_, "real 2 *", {})
        for member in getattr(self, "members_", ()):
            plan = self._plan()
            pool = np.zeros(plan.pool_width)
            begin = {
                "weights": fresh_weights(plan, np.random.default_rng(0)),
                "statistics": {"mean": pool, "variance": pool},
            }
            for part, arrays in begin.items():
                for name, array in arrays.items():
                    check_part(
                        f"members_ {name}", member[part].get(name), f"float {' '.join(map(str, array.shape))}", {}
                    )

    def _plan(self) -> Plan:
        n_features = self.columns_.dimension + sum(len(levels) for levels in self.columns_.levels.values())
        return make_plan(n_features, self.n_outputs_, self._network)

    def _learn_scales(self, bags: Bags, y: Any, classes: Any = None) -> np.ndarray:
        """Learn the scales of features and responses; return the responses as the network sees them."""
        name_columns(self, bags)
        learned = Columns.learn(bags, by_content=True)
        bags = learned.check(bags)
        centre, scale = centre_and_scale(bags.values, bags.given_weights)
        self.columns_ = replace(learned, centre=centre[learned.numeric], scale=scale[learned.numeric])
        self.response_ = Response.learn(self.task, bags, y, classes)
        self.n_outputs_, self.flat_ = self.response_.n_outputs, self.response_.flat
        self.counts_ = self.task == "regression" and are_counts(np.asarray(y, float))
        if self.task == "regression":
            response = np.asarray(y, float).reshape(len(bags), -1)
            self.response_range_ = np.stack([response.min(axis=0), response.max(axis=0)])
        if self.task == "classification":
            self.classes_ = np.array(self.response_.classes)
        if self._own is None:
            self._plan()
        return self.response_.encode(bags, y)

    def _judges(self, bags: Bags, y: Any) -> tuple[Bags, np.ndarray]:
        bags = self.columns_.check(usable(bags))
        return bags, self.response_.encode(bags, y)

    def _key(self, bags: Bags, target: np.ndarray, split: Any, seeds: list[int]) -> str | None:
        option = vars(self._option)
        if option.pop("checkpoint") is None:
            return None
        parameters = {"task": self.task, "max_epochs": self.max_epochs, "n_members": self.n_members}
        network = self._network if self._own is None else {"module": repr(self._own)}
        return fingerprint(bags, target, split, {**parameters, **network, **option}, seeds)

    def _tensor(self, target: np.ndarray, device: Any = "cpu", single: bool = True) -> Any:
        torch = require("torch")
        kind = np.int64 if self.task == "classification" else (np.float32 if single else np.float64)
        return torch.from_numpy(np.array(target, dtype=kind)).to(device)

    def _training(self, bags: Bags, given: tuple, split: Any, settings: Settings, seed: int) -> Training:
        """Return a fresh network with its training bags and those held out; given are responses and weights."""
        (target, weights), held_weights = given, None
        device, rng = find_device(self.device), np.random.default_rng(seed)
        share = self._option.validation
        n_held = 0 if split is not None or not share else max(1, round(share * len(bags)))
        if n_held:
            order = rng.permutation(len(bags))
            kept, out = np.sort(order[n_held:]), np.sort(order[:n_held])
            if not len(kept):
                raise DataError("There is only one bag.", hint="give at least two, or training={'validation': 0}.")
            split, bags, target = (bags[out], target[out]), bags[kept], target[kept]
            if weights is not None:
                held_weights, weights = weights[out], weights[kept]
        judges = None
        if split is not None:
            truth = self._tensor(split[1], "cpu", False)
            judges = RowSource(split[0], self.columns_, device), truth, _as_tensor(held_weights, "float64", "cpu")
        source = RowSource(bags, self.columns_, device)
        network = self._fresh(rng, device)
        counted = _as_tensor(weights, "float32", device)
        return Training(network, source, self._tensor(target, device), settings, [seed], judges, counted)

    def _residuals(self, runs: list[dict]) -> np.ndarray:
        """Errors of one member on the bags that were held out of it, at settings that these had no part in."""
        target, weights = runs[0]["judged"]
        if target is None or self.task == "classification":
            return np.zeros((0, self.n_outputs_))
        said = unseen_outputs(self.task, np.concatenate([run["said"] for run in runs]), target, weights)
        return self.response_.restore(target) - self.response_.decode(said)

    def _keep(self, members: list[dict], settings: Settings) -> DeepSets:
        self.members_ = [{name: m[name] for name in ("weights", "statistics")} for m in members]
        self.best_epochs_, self.weight_decays_ = [m["best"] for m in members], [m["weight_decay"] for m in members]
        history = members[0]["history"]
        judged = history.get("held_out", history["loss"])
        converged = all(m["converged"] for m in members)
        objective = float(judged[members[0]["best"] - 1])
        self.fit_ = Fit(None, objective, None, len(judged), converged, history)
        if not converged:
            late = float(abs(judged[-1] - judged[-2])) if len(judged) > 1 else float("nan")
            hint = "raise max_epochs, or training={'schedule': 'cosine'}."
            warn_not_converged(settings.max_epochs, late, 0.0, hint=hint, stacklevel=3)
        return self

    def _source(self, bags: Bags) -> RowSource:
        return RowSource(self.columns_.check(usable(bags)), self.columns_, find_device(self.device))

    def _predict(self, bags: Bags) -> np.ndarray:
        """Return the mean answer of the members, (n_bags, n_outputs)."""
        self._fitted("members_")
        source = self._source(bags)
        with threads(self._option.n_jobs):
            said = [self._restored(arrays, source.device).outputs(source) for arrays in self.members_]
        return np.mean([self.response_.decode(outputs) for outputs in said], axis=0)


def usable(bags: Any) -> Bags:
    """Return bags without rows of weight zero; no bag may be empty then."""
    if isinstance(bags, Bags) and bags.weighted and (bags.weights == 0).any():
        bags = bags.subset(bags.weights > 0)
    return check_bags(bags)


def _as_tensor(weights: np.ndarray | None, kind: str, device: Any) -> Any:
    return None if weights is None else require("torch").from_numpy(weights.astype(kind)).to(device)
