"""Models with forged arrays, signed anew: whatever a file holds, no compiled code follows it out of its arrays.

Some forgeries of every estimator; `python tests/fuzz/forged_models.py` tries all of them.
"""

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from contract import estimators
from saving.test_scikit import PUBLIC

sys.path[:0] = [str(Path(__file__).parent)]
from forged_models import HARMLESS, OF_OTHERS, examples, forgeries, run, variants  # noqa: E402

SOME = 30  # files of an estimator


@pytest.mark.parametrize("name", [kind.__name__ for kind in estimators()] + PUBLIC)
def test_forged_models_are_refused_or_answer(name):
    ((_, data, use),) = examples((name,))
    made = list(variants(data))
    made = random.Random(name).sample(made, min(SOME, len(made)))
    said = run([file for _, file in made], use)
    fine = OF_OTHERS if name in PUBLIC else HARMLESS
    assert not [(what, words) for (what, _), words in zip(made, said, strict=True) if not words.startswith(fine)]


def test_whatever_happens_to_the_process_is_seen(tmp_path):
    import os
    import signal

    def use(path):
        word = path.read_text()
        if word == "ends":
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == "memory":
            return np.ones(2**31)
        if word == "raises":
            raise KeyError(word)
        return word

    said = run([b"a", b"ends", b"raises", b"memory", b"b"], use)
    assert said == [
        "fine",
        "ended the process with code -11",
        "raised KeyError: 'raises'",
        "took too much memory",
        "fine",
    ]


def test_arrays_are_forged_in_size_type_and_value():
    made = forgeries(np.arange(6).reshape(2, 3))
    assert made["half"].shape == (1, 3)
    assert made["transposed"].shape == (3, 2)
    assert made["last -1"].tolist() == [[0, 1, 2], [3, 4, -1]]
    assert made["text"].dtype.kind == "U"
    assert "reversed" in made
    assert "small integers" in made
    assert "all nan" in forgeries(np.ones(2))
