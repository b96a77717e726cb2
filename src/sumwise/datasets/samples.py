"""Samples in bags with one response per bag: point clouds, molecules, images."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.datasets.records import Split
from sumwise.datasets.store import read_csv, verified
from sumwise.errors import DataError

_CLOUDS = {
    "X_train": (3991, 1024, 3),
    "y_train": (3991,),
    "X_test": (908, 1024, 3),
    "y_test": (908,),
    "classes": (10,),
    "id_train": (3991,),
    "id_test": (908,),
}


def modelnet10() -> Split:
    """ModelNet10 point clouds: 1,024 points on each of 4,899 shapes of 10 classes (research use only).

    Returns
    -------
    Split
        ``bags`` (3,991), ``y``, ``test_bags`` (908), ``test_y``, ``classes``; values are float32.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.modelnet10().bags
    Bags(bags=3,991, rows=4,086,784, features=[x, y, z], sizes=1024 to 1024)
    """
    _, path = verified("modelnet10")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, shape in _CLOUDS.items():
        if name not in arrays or arrays[name].shape != shape:
            actual_shape = arrays[name].shape if name in arrays else "nothing"
            raise DataError(f"The file {str(path)!r} has {actual_shape} as {name!r}; expected an array {shape}.")
    parts = {}
    for part in ("train", "test"):
        clouds = arrays[f"X_{part}"].astype(np.float32)
        offsets = np.arange(len(clouds) + 1, dtype=np.int64) * clouds.shape[1]
        parts[part] = Bags(clouds.reshape(-1, 3), offsets, ids=arrays[f"id_{part}"].tolist(), features=("x", "y", "z"))
    classes = tuple(arrays["classes"].tolist())
    y, test_y = arrays["y_train"].astype(np.int64), arrays["y_test"].astype(np.int64)
    return Split(parts["train"], y, parts["test"], test_y, classes)


def musk1() -> tuple[Bags, np.ndarray]:
    """Musk (Version 1): 92 molecules as bags of their shapes; is the molecule a musk?

    The public copy that this checksum belongs to breaks off within its last line (one of three shapes of
    the last molecule): that line is left out, 470 remain.

    Returns
    -------
    bags : Bags
        92 bags, 470 rows x 166 features.
    labels : ndarray of shape (92,)
        1 for a musk.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.musk1()[0].shape
    (92, 166)
    """
    frame = read_csv("musk1", header=None)
    cut = frame.isna().any(axis=1).to_numpy()
    if cut.sum() != 1 or not cut[-1]:
        raise DataError(f"musk1 has {int(cut.sum())} lines that break off; expected the last one only.")
    return _labelled(frame[~cut])


def elephant() -> tuple[Bags, np.ndarray]:
    """Elephant: 200 images as bags of their segments; does the image show an elephant?

    Returns
    -------
    bags : Bags
        200 bags, 1,391 rows x 230 features.
    labels : ndarray of shape (200,)
        1 for an elephant.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.elephant()[0].shape
    (200, 230)
    """
    return _labelled(read_csv("elephant", header=None))


def _labelled(frame: Any) -> tuple[Bags, np.ndarray]:
    features = [f"x{i}" for i in range(1, frame.shape[1] - 1)]
    frame = frame.set_axis(["label", "bag", *features], axis=1)
    labels = frame.groupby("bag")["label"].agg(["min", "max"])
    if (labels["min"] != labels["max"]).any():
        raise DataError("Some bag has two labels.", hint="get a fresh copy of the public original.")
    bags = Bags.from_frame(frame.sort_values("bag", kind="stable"), bag="bag", features=features)
    return bags, labels["min"].to_numpy(dtype=np.int64)
