"""The learners need NumPy, SciPy, scikit-learn and numba, and nothing else that the package uses elsewhere."""

import subprocess
import sys

OTHERS = ("pandas", "matplotlib", "cv2", "pydantic", "pyarrow", "tqdm", "requests", "yaml", "PIL", "torch", "typer")

SCRIPT = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {others!r}:
            raise ModuleNotFoundError(name + " is not there", name=name)

sys.meta_path.insert(0, Missing())
import lookalike, lookalike.core.errors
from lookalike.learners.registry import MODULES, learner_class
assert not {{"numba", "scipy", "sklearn"}} & set(sys.modules), "importing the package imports no learner"
import numpy as np
import scipy.sparse as sp
from lookalike.learners import curve
from lookalike.deep import relevance_triplets
from lookalike.learners import OASIS
X, y = np.eye(6) + 0.1, np.arange(6) % 2
for form in (np.asarray, sp.csr_array):
    model = OASIS(n_steps=50, random_state=0).fit(form(X), y)
    assert model.rank(form(X), form(X), k=2)[0].shape == (6, 2)
    assert lookalike.evaluate(model, form(X), labels=y)["map"].n_queries == 6
    model.save("model.lookalike")
    assert lookalike.load("model.lookalike").rank(form(X), form(X), k=2)[0].shape == (6, 2)
assert all(learner_class(name) for name in MODULES)
curve.SECONDS = 0.0
OASIS(n_steps=50, random_state=0, verbose=1).fit(X, y)
print("learned")
"""


def test_learners_work_without_the_other_libraries(tmp_path):
    script = SCRIPT.format(others=OTHERS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "learned\n", done.stderr
    assert "OASIS: 50 of 50" in done.stderr, "lines stand in for tqdm's bar"
