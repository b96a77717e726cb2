"""Problems on bags with class counts: what individuals would choose, from results per region."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise.cli.study.families.base import Study
from sumwise.schema.opened import open_source
from sumwise.schema.reading.proportions import CountsReading
from sumwise.schema.sheet_columns import typed_frame


class Proportions(CountsReading, Study):
    """Which individuals have which class, from class counts per bag."""

    methods = ("CardinalityClassifier", "MeanMap", "AlternatingMeanMap", "MeanEmbeddingClassifier")

    def report(self) -> Any:
        """The report; individuals are in the order of the file."""
        made = super().report()
        frame = made.frames["individuals"]
        frame.insert(0, "row", self.order + 1)
        made.frames["individuals"] = frame.sort_values("row", ignore_index=True)
        return made

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Class probabilities of other individuals."""
        kept = self.kept_by_the_fit("classes")
        known = model.features_
        bag = self.problem.column("bag")
        with self.problem.blamed():
            sheet = open_source(self.problem, source, None, [c for c in (bag,) if c])
            chance = model.predict_proba(typed_frame(sheet, list(known.columns), list(known.levels)))
        frame = pd.DataFrame({"row": np.arange(len(sheet)) + 1})
        if bag in sheet.columns:
            frame["bag"] = sheet.frame[bag].astype(str)
        for c, name in enumerate(kept["classes"]):
            frame[f"p({name})"] = chance[:, c]
        frame["class"] = [kept["classes"][c] for c in chance.argmax(axis=1)]
        return frame


STUDY = Proportions
