"""The people of `election`: attributes, covariates and survey weights, region by region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sumwise.synthetic.draws import softmax

N_FACTORS = 4
CHUNK = 2**16  # individuals drawn at once

# Levels and their share in an average region.
ATTRIBUTES: dict[str, dict[str, float]] = {
    "sex": {"male": 0.49, "female": 0.51},
    "race": {"white": 0.62, "black": 0.12, "asian": 0.06, "hispanic": 0.16, "other": 0.04},
    "education": {"high school": 0.40, "some college": 0.30, "college": 0.19, "postgraduate": 0.11},
    "employment": {"working": 0.60, "looking": 0.05, "not working": 0.35},
    "marriage": {"married": 0.50, "divorced": 0.15, "widowed": 0.06, "never": 0.29},
}
COVARIATES = ("age", "income", "hours", "commute", "household")
MORE_LEVELS = (3, 6, 4, 8, 5)  # sizes of further attributes, in turn


@dataclass(frozen=True, eq=False)
class Population:
    """A meta-distribution of regions: draws individuals of any region.

    Each individual has N_FACTORS latent factors z = m_region + u with unit variance in all; covariates are linear in
    z, attributes have P(level k) proportional to share_k exp(a_k . z), log weights lean on the first factor.
    """

    centres: np.ndarray  # (n_regions, N_FACTORS) means of the factors
    within: float  # standard deviation of the factors inside a region
    centroids: np.ndarray  # (n_regions, 2) standardised map coordinates
    loadings: np.ndarray  # (N_FACTORS, n_continuous)
    attributes: dict  # name -> tuple of levels
    attribute_logits: dict  # name -> ((K,) log shares, (N_FACTORS, K) slopes)

    @classmethod
    def draw(
        cls, n_regions: int, n_continuous: int, n_categorical: int, separation: float, rng: np.random.Generator
    ) -> Population:
        """Draw a population; `separation` is the share of the factors' variance that lies between regions."""
        centroids = rng.random((n_regions, 2))
        frequencies = rng.normal(0, 2.0, size=(2, 32, N_FACTORS))
        phases = rng.uniform(0, 2 * np.pi, size=(32, N_FACTORS))
        smooth = np.cos(np.einsum("rd,dwf->rwf", centroids * np.pi, frequencies) + phases).sum(axis=1) / 4.0
        centres = np.sqrt(separation / 2) * (smooth + rng.standard_normal((n_regions, N_FACTORS)))
        loadings = rng.standard_normal((N_FACTORS, n_continuous))
        loadings *= np.sqrt(0.6) / np.sqrt((loadings**2).sum(axis=0))
        attributes, logits = {}, {}
        out = dict(list(ATTRIBUTES.items())[:n_categorical])
        for j in range(len(out), n_categorical):
            size = MORE_LEVELS[(j - len(ATTRIBUTES)) % len(MORE_LEVELS)]
            total = size * (size + 1) / 2
            out[f"attribute{j + 1}"] = {f"level{k}": (size - k) / total for k in range(size)}
        for name, shares in out.items():
            attributes[name] = tuple(shares)
            slopes = rng.normal(0, 0.5, size=(N_FACTORS, len(shares)))
            logits[name] = (np.log(np.array(list(shares.values()))), slopes - slopes.mean(axis=1, keepdims=True))
        mapped = (centroids - 0.5) * np.sqrt(12.0)  # a uniform variable has variance 1 / 12
        return cls(centres, np.sqrt(1 - separation), mapped, loadings, attributes, logits)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of `individuals`."""
        n = self.loadings.shape[1]
        covariates = [COVARIATES[j] if j < len(COVARIATES) else f"covariate{j + 1}" for j in range(n)]
        levels = [f"{name}={level}" for name, all_levels in self.attributes.items() for level in all_levels]
        return (*covariates, *levels, "centroid_x", "centroid_y")

    def individuals(
        self, regions: np.ndarray, dtype: np.dtype, mean_weight: float, weight_spread: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
        """Draw one individual for each entry of `regions`.

        Returns the design matrix (n, d), the attribute codes {name: (n,)} and integer survey weights (n,).
        """
        n = len(regions)
        values = np.zeros((n, len(self.features)), dtype=dtype)
        codes = {name: np.empty(n, dtype=np.int8) for name in self.attributes}
        weights = np.empty(n, dtype=np.int64)
        for first in range(0, n, CHUNK):
            part = slice(first, min(n, first + CHUNK))
            where = regions[part]
            z = self.centres[where] + self.within * rng.standard_normal((len(where), N_FACTORS))
            column = self.loadings.shape[1]
            values[part, :column] = z @ self.loadings + np.sqrt(0.4) * rng.standard_normal((len(where), column))
            for name, (log_share, slopes) in self.attribute_logits.items():
                cumulative = np.cumsum(softmax(log_share + z @ slopes), axis=1)
                code = (rng.random(len(where))[:, None] > cumulative[:, :-1]).sum(axis=1)
                codes[name][part] = code
                values[np.arange(part.start, part.stop), column + code] = 1.0
                column += len(log_share)
            values[part, column:] = self.centroids[where]
            lean = 0.6 * z[:, 0] + 0.8 * rng.standard_normal(len(where))
            weights[part] = np.maximum(1, np.rint(mean_weight * np.exp(weight_spread * lean - weight_spread**2 / 2)))
        return values, codes, weights
