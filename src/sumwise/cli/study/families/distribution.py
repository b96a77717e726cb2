"""Problems on bags with a response: one number or class per bag, from the samples in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.cli.study.families.base import Study
from sumwise.errors import DataError
from sumwise.schema.opened import open_source
from sumwise.schema.reading.distribution import ResponsesReading
from sumwise.schema.sheet_columns import other_bags


class Distribution(ResponsesReading, Study):
    """A response per bag, from the samples in it."""

    methods = ("stacking", "means", "moments", "quantiles", "fourier", "wasserstein", "DeepSets")
    classes_of = {  # noqa: RUF012
        "stacking": "BagStacking",
        "means": "LinearEmbedding",
        "moments": "MomentEmbedding",
        "quantiles": "QuantileEmbedding",
        "fourier": "FourierEmbedding",
        "wasserstein": "BagKernelRidge",
    }

    half_width: float | None = None

    # --- in

    # --- fit

    def choose(self) -> str:
        """The average of several methods; of fewer than four bags, which can't be left out, the means."""
        return "means" if len(self.bags) < 4 else "stacking"

    def make(self, method: str) -> Any:
        """A regressor or classifier of bags."""
        from sumwise import distribution as d

        task = "regression" if self.classes is None else "classification"
        if method == "stacking":
            return d.BagStacking(task=task)
        if method == "DeepSets":
            return d.DeepSets(task=task)
        if method == "wasserstein":  # a Gaussian kernel of sliced Wasserstein distances
            return d.BagKernelRidge() if self.classes is None else d.BagLogistic(d.WassersteinKernel())
        embedding = getattr(d, self.classes_of[method])()
        return d.BagRidge(embedding) if self.classes is None else d.BagLogistic(embedding, target="classes")

    # --- out

    def report(self) -> Any:
        """The report, and the width of intervals for predictions of other bags."""
        made = super().report()
        self.half_width = made.summary["record"].get("half width")
        return made

    def kept(self) -> dict[str, Any]:
        """What prediction needs beside the model."""
        return {"columns": self.columns, "classes": self.classes, "half_width": self.half_width}

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Responses of other bags."""
        kept = self.kept_by_the_fit()
        if "columns" not in kept:
            raise DataError(
                f"{self.folder} was written by an earlier version, which kept its columns in another way.",
                hint="fit the problem file again.",
            )
        columns, classes = kept["columns"], kept["classes"]
        bag = str(self.problem.column("bag", needed=True))
        with self.problem.blamed():
            sheet = open_source(self.problem, source, None, [bag])
            sheet.known(bag)
            bags = other_bags(sheet, bag, columns["names"], columns["levels"], self.problem.column("weight"))
            found = model.predict(bags) if classes is None else model.predict_proba(bags)
        frame = pd.DataFrame({"bag": [str(b) for b in bags.ids], "samples": bags.sizes})
        if classes is None:
            wide = kept["half_width"]
            return frame.assign(predicted=found, low=found - wide, high=found + wide)
        frame["predicted"] = [classes[c] for c in found.argmax(axis=1)]
        return frame.assign(**{f"probability({name})": found[:, c] for c, name in enumerate(classes)})


STUDY = Distribution
