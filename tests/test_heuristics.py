"""Every constant behind three estimators is on the page of rules of thumb, in its table or among the limits, and every
row of its tables rests on three data sets and ten draws of each, or says why not.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from test_quoted_figures import MARK, values_along  # noqa: E402

PAGE = ROOT / "docs" / "explanation" / "heuristics.md"
MODULES = {
    "ecological": (
        *("em", "calibration", "correction", "pooling", "identification"),
        *("kernels/entropic_em", "kernels/newton_em", "kernels/covariate_em", "kernels/measurement_error"),
        *("kernels/raking", "kernels/batched_raking", "kernels/unit_likelihood", "kernels/pooling"),
    ),
    "proportions": (
        *("cardinality", "penalty", "linear", "likelihood", "em", "identification", "information", "uncertainty"),
        *("kernels/poisson_binomial", "kernels/poisson_binomial_intercept", "kernels/poisson_binomial_saddlepoint"),
        *("kernels/poisson_multinomial", "kernels/poisson_multinomial_fourier"),
    ),
    "maxent": (
        *("training", "trainers", "penalties", "penalty_search", "engines", "noisy_label_fit", "noisy_count_fit"),
        *("bootstrap", "effect_sizes", "calibration", "linear_response", "fitted_model", "options", "queries"),
        *("sufficient_statistics", "device_training", "kernels/contrastive", "kernels/gibbs", "kernels/gibbs_moves"),
        *("kernels/level_counts", "kernels/noisy_sums", "kernels/loglinear", "kernels/loglinear_tree"),
    ),
}


def constants(family: str, module: str) -> list[str]:
    """Names of a module's constants that hold a number, or numbers."""
    tree = ast.parse((ROOT / "src" / "sumwise" / family / f"{module}.py").read_text(encoding="utf-8"))
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(n, ast.Constant) for n in ast.walk(node.value)):
            numbers = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            names = [t.id for t in targets if isinstance(t, ast.Name) and re.fullmatch(r"[A-Z][A-Z_0-9]*", t.id)]
            if any(isinstance(v, (int, float)) and not isinstance(v, bool) for v in numbers):
                found += names
    return found


@pytest.mark.parametrize(("family", "module"), [(f, m) for f, modules in MODULES.items() for m in modules])
def test_every_constant_is_on_the_page(family, module):
    said = set(re.findall(r"`([\w.]+)", PAGE.read_text(encoding="utf-8")))
    short = module.split("/")[-1]
    missing = [name for name in constants(family, module) if f"{short}.{name}" not in said]
    assert not missing, f"add these to {PAGE.name}: {missing}"


def test_no_constant_of_the_page_is_gone():
    known = {f"{m.split('/')[-1]}.{c}" for f, modules in MODULES.items() for m in modules for c in constants(f, m)}
    said = set(re.findall(r"`(\w+\.[A-Z][A-Z_0-9]*)[` ]", PAGE.read_text(encoding="utf-8")))
    assert said, "the page names constants as `module.NAME`"
    assert not sorted(said - known)


# Figures over several sets at once, whose record doesn't say how many: three elections, or six.
POOLED = {"ecological_determinant.json not used": 3, "ecological_few_units.json coverage/others": 3}
POOLED |= {"contest_correction.json": 6, "ecological_intervals.json simulated": 3}
COUNTED = ("draws", "tables", "splits", "simulations")
SAME_SET = re.compile(r", (noisy|mostly noise|stopped|long steps|auto|calibrated)$")
MEASURES = {"nllh", "auc", "variation", "time saved", "steps saved", "steps", "predictions", "coefficients"}
WHY = re.compile(r"\b(fewer sets|fewer draws|not left out alone): \w")


def rows() -> list[str]:
    """The rows of rules: those that name where a rule is in the code."""
    tables = PAGE.read_text(encoding="utf-8").split("## Decisions")[0]
    return [row for row in re.findall(r"^\| (?!rule \|).*\|$", tables, re.M) if "`" in row.split(" | ")[1]]


def evidence(row: str) -> tuple[int, int]:
    """How many data sets the figures of a row come from, and the fewest draws of one of them."""
    sets: dict[str, int] = {}
    fewest = []
    for match in MARK.finditer(row):
        cited = f"{match['file']} {match['path']}"
        keys = re.split(r"(?<! )/(?! )", match["path"])
        along = values_along(match["file"], match["path"])
        pooled = [n for start, n in POOLED.items() if cited.startswith(start)]
        at = [k for k, held in enumerate(along) if isinstance(held, dict) and any(name in held for name in COUNTED)]
        if pooled:
            sets[cited] = pooled[0]
        elif at:
            held, above = along[at[-1]], [key for key in keys[: at[-1]] if key not in MEASURES]
            sets[SAME_SET.sub("", above[-1])] = held.get("sets", 1)
            count = next(held[name] for name in COUNTED if name in held)
            fewest.append(count if isinstance(count, int) else len(count))
    return sum(sets.values()), min(fewest, default=0 if not sets else 10)


def name_of(row: str) -> str:
    return re.sub(r"[^\w ]", "", row.split(" | ", maxsplit=1)[0])[:60].strip()


@pytest.mark.parametrize("row", rows(), ids=name_of)
def test_every_row_rests_on_three_sets_and_ten_draws_or_says_why_not(row):
    n_sets, n_draws = evidence(row)
    assert (n_sets >= 3 and n_draws >= 10) or WHY.search(row), f"{n_sets} sets, {n_draws} draws at least"


def test_a_row_without_evidence_is_found():
    row = next(row for row in rows() if "PER_OTHER" in row)
    assert evidence(row) == (4, 10)
    bare = re.sub(r"<!--.*?-->", "", row)
    assert evidence(bare)[0] == 0
    assert not WHY.search(bare)
