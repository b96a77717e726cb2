"""Bags by one method of llp-learn: python llp_learn_bags.py METHOD IN.npz. Prints its accuracy on the test rows.

IN has `train` (rows), `bag` (of each row), `shares` (of each bag), `test` and `truth`. Networks have one layer of 100
units and 50 epochs; llp-learn gives no probabilities. Its image networks aren't used, so that torchvision isn't needed.
"""

import contextlib
import io
import json
import sys
import types
import warnings

import numpy as np

NETWORK = {"lr": 1e-3, "n_epochs": 50, "model_type": "simple-mlp", "device": "cpu", "n_jobs": 0, "random_state": 0}


def method(name: str):
    """The estimator."""
    if name == "EM":
        from llp_learn.em import EM
        from sklearn.linear_model import LogisticRegression

        return EM(LogisticRegression(max_iter=200), random_state=0)
    if name == "DLLP":
        from llp_learn.dllp import DLLP

        return DLLP(**NETWORK)
    from llp_learn.mixbag import MixBag

    return MixBag(consistency="none", choice="uniform", confidence_interval=0.005, **NETWORK)


def main() -> None:
    warnings.simplefilter("ignore")
    sys.modules["torchvision"] = sys.modules["torchvision.models"] = types.ModuleType("torchvision.models")
    sys.modules["torchvision.models"].resnet18 = None  # type: ignore[attr-defined]
    model = method(sys.argv[1])
    if len(sys.argv) > 2:
        given = np.load(sys.argv[2])
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            model.fit(given["train"].astype(np.float32), given["bag"], given["shares"].astype(np.float32))
            predicted = np.asarray(model.predict(given["test"].astype(np.float32))).ravel()
        print(json.dumps({"accuracy": round(float(((predicted > 0) == given["truth"]).mean()), 4)}))


if __name__ == "__main__":
    main()
