"""Small generated files that come with the package: one or two for every family."""

from __future__ import annotations

from pathlib import Path

from sumwise.errors import UnknownName

FOLDER = Path(__file__).parent / "examples"
FILES = {  # what belongs together, by family
    "ecological": ("county.csv",),
    "proportions": ("people.csv", "districts.csv"),
    "distribution": ("samples.csv", "sites.csv"),
    "flows": ("weeks.csv",),
    "maxent": ("cells.csv",),
}


def example(family: str) -> tuple[Path, ...]:
    """Example files of a family: generated, of the form that ``sumwise init`` reads.

    Parameters
    ----------
    family : {"ecological", "proportions", "distribution", "flows", "maxent"}
        Adults by race and votes in 150 precincts; people in 40 districts and the districts' results; samples from 40
        sites and a number per site; counts at 25 places in 12 weeks; cells of a table with sums of a label.

    Examples
    --------
    >>> from sumwise import datasets
    >>> [path.name for path in datasets.example("ecological")]
    ['county.csv']
    """
    if family not in FILES:
        raise UnknownName(f"There is no example of {family!r}.", hint=f"there are {', '.join(FILES)}.")
    return tuple(FOLDER / name for name in FILES[family])
