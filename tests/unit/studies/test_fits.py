"""What studies that fit learners share: kernels are compiled before a clock starts."""

import json
import subprocess
import sys

from lookalike.learners.registry import MODULES

FITS = """
import json, os, sys
import numpy as np
import scipy.sparse as sp
from lookalike.learners.registry import MODULES, learner_class
from lookalike.studies.fits import warm_up

def compiled():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("lookalike.")]
    values = [value for module in modules for value in vars(module).values()]
    kernels = [value for value in values if type(value).__name__ == "CPUDispatcher"]
    return {(kernel.__name__, str(types)) for kernel in kernels for types in kernel.signatures}

def compiled_by_a_fit(name):
    warm_up(name)
    before, learner = compiled(), learner_class(name)()
    few = {"n_steps": 20, "max_iter": 2, "n_blocks": 1}
    learner.set_params(**{key: value for key, value in few.items() if key in learner.get_params()})
    learner.fit(rows, ["a"] * 10 + ["b"] * 10)
    return sorted(compiled() - before)

random = np.random.default_rng(0)
rows = sp.csr_matrix(random.random((20, 12)) * (random.random((20, 12)) > 0.5))
for name in MODULES:
    learner_class(name)
for name in MODULES:
    # a child of its own: what one learner compiles, another must not find
    if not os.fork():
        print(json.dumps([name, compiled_by_a_fit(name)]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_after_the_warm_up_a_fit_compiles_nothing():
    done = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=False)
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert found == {learner: [] for learner in MODULES}, done.stderr
