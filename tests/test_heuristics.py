"""Every constant behind three estimators is on the page of rules of thumb, in its table or among the limits."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
