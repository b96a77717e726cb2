"""What answers without a model reach, for the first column of the README's table.

    python benchmarks/trivial.py

Contests: every group votes as its precinct does. Adult: nobody earns more than 50,000 dollars.
Writes benchmarks/results/trivial.json.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise import datasets
from sumwise.ecological import error_index

RESULTS = Path(__file__).parent / "results" / "trivial.json"


def index_of_precincts() -> float:
    """Mean percent of people in a wrong cell, over 386 contests."""
    errors = []
    for contest in datasets.contests():
        margins = contest.margins
        shares = margins.cols / np.maximum(margins.totals, 1)[:, None]
        errors.append(error_index(margins.rows.T @ shares, contest.total))
    return float(np.mean(errors))


def accuracy_of_the_largest_class() -> float:
    """Share of the people of Adult who earn at most 50,000 dollars."""
    adult = datasets.adult()
    return 1 - float(np.concatenate([adult.y_train, adult.y_test]).mean())


def main() -> None:
    """Compute both, and write them."""
    scores = {"contests": {"index": index_of_precincts()}, "adult": {"accuracy": accuracy_of_the_largest_class()}}
    record = run_record() | {"command": "python benchmarks/trivial.py", "seeds": []}
    RESULTS.write_text(json.dumps(record | scores, indent=1) + "\n", "utf-8")
    print(json.dumps(scores))


if __name__ == "__main__":
    main()
