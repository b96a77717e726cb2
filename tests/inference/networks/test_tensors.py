import os

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.inference.networks.tensors import as_arrays, find_device, threads

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def test_threads_are_put_back_even_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), threads(1):
        assert torch.get_num_threads() == 1
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == before


def test_more_threads_than_a_machine_can_start_are_not_asked_for():
    """A million of them ended the process."""
    with threads(10**6):
        assert torch.get_num_threads() <= max(64, os.cpu_count())


def test_arrays_are_copies():
    tensor = torch.ones(2, requires_grad=True)
    (array,) = as_arrays([tensor], np.float32)
    array[0] = 5
    assert array.dtype == np.float32
    assert tensor.tolist() == [1.0, 1.0]


def test_devices_that_are_not_there_are_refused(monkeypatch):
    with raises(DataError, "device-cpu-cuda", "gpu!"):
        find_device("gpu!")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with raises(DataError, "device-torch-sees"):
        find_device("cuda")
