"""What studies that fit learners share: kernels are compiled before a clock starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners.registry import MODULES

FIT = """
import sys
import scipy.sparse as sp
from lookalike.learners.registry import learner_class
from lookalike.studies.fits import warm_up

def compiled():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("lookalike.")]
    values = [value for module in modules for value in vars(module).values()]
    kernels = [value for value in values if type(value).__name__ == "CPUDispatcher"]
    return {(kernel.__name__, str(types)) for kernel in kernels for types in kernel.signatures}

rows, labels = sp.load_npz(sys.argv[2]), ["a"] * 10 + ["b"] * 10
warm_up(sys.argv[1])
before = compiled()
learner = learner_class(sys.argv[1])()
few = {"n_steps": 20, "max_iter": 2, "n_blocks": 1}
learner.set_params(**{name: value for name, value in few.items() if name in learner.get_params()}).fit(rows, labels)
print(sorted(compiled() - before))
"""


@pytest.mark.parametrize("learner", sorted(MODULES))
def test_after_the_warm_up_a_fit_compiles_nothing(learner: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sp.save_npz(tmp_path / "rows.npz", sp.csr_matrix(random.random((20, 12)) * (random.random((20, 12)) > 0.5)))
    done = subprocess.run(
        [sys.executable, "-c", FIT, learner, str(tmp_path / "rows.npz")], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
