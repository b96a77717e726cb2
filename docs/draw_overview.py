"""Draw the figure at the top of the README and of the landing page: ``python docs/draw_overview.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import pandas as pd

from sumwise import Margins, datasets
from sumwise.ecological import EcologicalEM

STATIC = Path(__file__).parent / "_static"


def main() -> None:
    """Fit the example, and draw its estimate."""
    (county,) = datasets.example("ecological")
    sides = {"rows": ["white", "Black", "Latino"], "cols": ["Abrams", "Kemp", "no vote"]}
    axes = EcologicalEM().fit(Margins.from_frame(pd.read_csv(county), **sides)).estimate().plot()
    axes.figure.savefig(STATIC / "county.png", dpi=110)


if __name__ == "__main__":
    main()
