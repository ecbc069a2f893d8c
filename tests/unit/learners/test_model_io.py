"""Saved models: what is refused, and that nothing of a file is executed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lookalike
from lookalike.core.errors import LookalikeError
from lookalike.learners import LEGO, OASIS, SOMLDA

X = np.array([[1.0, 0.0, 0.5], [0.9, 0.1, 0.5], [0.0, 1.0, 0.0], [0.1, 0.9, 0.0]])
Y = [0, 0, 1, 1]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    OASIS(n_steps=50, random_state=0).fit(X, Y).save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def change(path: Path, **values: object) -> None:
    sidecar = path.with_suffix(".json")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format_version": 2}, "format version 2"),
        ({"format_version": None}, "format version None"),
        ({"learner": "Popen"}, "does not know"),
        ({"parameters": {"hardness": 1}}, "parameters that OASIS does not take"),
        ({"format": "other"}, "not the sidecar"),
        ({"arrays": {}}, "does not hold the arrays"),
        ({"fitted": {"__class__": "dict"}}, "no learner saves"),
        ({"fitted": {"similarity": 1}}, "no learner saves"),
    ],
)
def test_what_is_not_known_is_refused(saved: Path, values: dict[str, object], message: str) -> None:
    change(saved, **values)
    with pytest.raises(LookalikeError, match=message):
        lookalike.load(saved)


@pytest.mark.parametrize("percentiles", [(10, 80.0), [10, 80], (np.int64(10), 80)])
def test_pairs_of_numbers_stay_what_they_are(tmp_path: Path, percentiles: object) -> None:
    model = LEGO(n_steps=20, percentiles=percentiles, random_state=0).fit(X, Y)
    model.save(tmp_path / "model.npz")
    loaded = lookalike.load(tmp_path / "model.npz").percentiles
    assert loaded == percentiles
    assert type(loaded) is type(percentiles)
    assert all(type(number) in (int, float) for number in loaded)


def test_missing_and_damaged_files_are_named(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match=r"ends in \.npz"):
        lookalike.load(tmp_path / "model.json")
    with pytest.raises(LookalikeError, match="no model file"):
        lookalike.load(tmp_path / "none.npz")
    whole = saved.read_bytes()
    saved.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LookalikeError, match="not a whole"):
        lookalike.load(saved)
    saved.write_bytes(whole)
    saved.with_suffix(".json").write_text("{")
    with pytest.raises(LookalikeError, match="not JSON"):
        lookalike.load(saved)
    saved.with_suffix(".json").write_text('{"format": "lookalike model", "format_version": 1}')
    with pytest.raises(LookalikeError, match="lacks arrays, fitted"):
        lookalike.load(saved)
    saved.with_suffix(".json").unlink()
    with pytest.raises(LookalikeError, match=r"no model file .*model\.json"):
        lookalike.load(saved)


def test_pickled_arrays_are_refused(saved: Path) -> None:
    with saved.open("wb") as stream:
        np.savez(stream, W_=np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(LookalikeError, match="not a whole"):
        lookalike.load(saved)


def test_what_json_cannot_hold_is_named_and_left_out(tmp_path: Path) -> None:
    model = OASIS(n_steps=np.int64(50), random_state=np.random.default_rng(0)).fit(X, Y)
    model.save(tmp_path / "model.npz")
    assert json.loads((tmp_path / "model.json").read_text())["parameters_not_kept"] == ["random_state"]
    loaded = lookalike.load(tmp_path / "model.npz")
    assert loaded.random_state is None
    assert loaded.n_steps == 50


def test_special_numbers_and_names_of_features_are_kept(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["sky", "sea", "sand"])
    model = OASIS(n_steps=50, random_state=0).fit(frame, Y)
    model.W_[0, 0], model.W_[0, 1] = np.float32(-0.0), np.nextafter(np.float32(0), np.float32(1))
    model.save(tmp_path / "model.npz")
    loaded = lookalike.load(tmp_path / "model.npz")
    assert loaded.W_.tobytes() == model.W_.tobytes()
    assert loaded.feature_names_in_.tolist() == ["sky", "sea", "sand"]
    assert np.isnan(loaded.curve_["loss_rate"][0])
    with pytest.raises(ValueError, match="feature names"):
        loaded.similarity(frame[["sea", "sky", "sand"]], frame)


def test_a_loaded_model_goes_on(saved: Path) -> None:
    triplets = [[0, 1, 2], [2, 3, 1]]
    going_on = OASIS(n_steps=50, random_state=0).fit(X, Y).partial_fit_triplets(X, triplets)
    loaded = lookalike.load(saved).partial_fit_triplets(X, triplets)
    np.testing.assert_array_equal(loaded.W_, going_on.W_)
    assert loaded.n_steps_ == 52


def test_weights_that_are_nearly_all_equal_take_little_room(tmp_path: Path) -> None:
    wide = sp.csr_array((np.ones(3), ([0, 1, 2], [5, 5, 9])), shape=(3, 100_000))
    model = SOMLDA().fit_triplets(wide, [[0, 1, 2]])
    model.save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 20_000
    first = (tmp_path / "model.npz").read_bytes()
    model.save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").read_bytes() == first
    assert lookalike.load(tmp_path / "model.npz").w_.tobytes() == model.w_.tobytes()


def test_files_that_are_not_deflated_load(saved: Path) -> None:
    expected = lookalike.load(saved).W_
    with np.load(saved) as stored:
        arrays = dict(stored)
    np.savez(saved, **arrays)
    np.testing.assert_array_equal(lookalike.load(saved).W_, expected)


def test_importing_the_package_imports_no_learner() -> None:
    code = (
        "import sys, lookalike, lookalike.learners.registry, lookalike.core.errors;"
        "print([name for name in ('sklearn', 'numba', 'scipy', 'pandas') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
