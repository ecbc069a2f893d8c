"""Saved models: what is refused, and that nothing of a file is executed."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lookalike
from lookalike.core.errors import LookalikeError
from lookalike.learners import LEGO, OASIS, SOMLDA

X = np.array([[1.0, 0.0, 0.5], [0.9, 0.1, 0.5], [0.0, 1.0, 0.0], [0.1, 0.9, 0.0]])
Y = [0, 0, 1, 1]


@pytest.fixture
def saved(tmp_path):
    OASIS(n_steps=50, random_state=0).fit(X, Y).save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def told(**values):
    """Return what changes the sidecar of a model."""
    return lambda path: path.with_suffix(".json").write_text(
        json.dumps(json.loads(path.with_suffix(".json").read_text()) | values)
    )


REFUSED = [
    (told(format_version=2), "format version 2"),
    (told(learner="Popen"), "does not know"),
    (told(parameters={"hardness": 1}), "parameters that OASIS does not take"),
    (told(format="other"), "not the sidecar"),
    (told(format="no model", reason="its time ran out"), "holds no model: its time ran out"),
    (told(arrays={}), "does not hold the arrays"),
    (
        lambda path: path.with_suffix(".json").write_text('{"format": "lookalike model", "format_version": 1}'),
        "lacks ar",
    ),
    (told(fitted={"__class__": "dict"}), "no learner saves"),
    (lambda path: np.savez(path, W_=np.array([object()]), allow_pickle=True), "cannot be read"),
    (lambda path: path.write_bytes(path.read_bytes()[:400]), "cannot be read"),
    (lambda path: path.unlink(), r"no file .*model\.npz: name another model"),
    (lambda path: path.with_suffix(".json").unlink(), r"no model file .*model\.json: it belongs beside .*model\.npz"),
    (lambda path: path.with_suffix(".json").write_text("{"), "not JSON"),
]


@pytest.mark.parametrize(("damage", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_no_whole_known_model_is_refused(saved, damage, message):
    damage(saved)
    with pytest.raises(LookalikeError, match=message):
        lookalike.load(saved)
    with pytest.raises(LookalikeError, match=r"must end in \.npz"):
        lookalike.load(saved.with_suffix(".json"))


@pytest.mark.parametrize("percentiles", [(10, 80.0), [10, 80], (np.int64(10), 80)])
def test_pairs_of_numbers_stay_what_they_are(tmp_path, percentiles):
    LEGO(n_steps=20, percentiles=percentiles, random_state=0).fit(X, Y).save(tmp_path / "model.npz")
    loaded = lookalike.load(tmp_path / "model.npz").percentiles
    assert (loaded, type(loaded), type(loaded[0])) == (percentiles, type(percentiles), int)


def test_special_numbers_names_and_what_json_cannot_hold(tmp_path):
    frame = pd.DataFrame(X, columns=["sky", "sea", "sand"])
    model = OASIS(n_steps=np.int64(50), random_state=np.random.default_rng(0)).fit(frame, Y)
    model.W_[0, 0], model.W_[0, 1] = np.float32(-0.0), np.nextafter(np.float32(0), np.float32(1))
    model.save(tmp_path / "model.npz")
    assert json.loads((tmp_path / "model.json").read_text())["parameters_not_kept"] == ["random_state"]
    loaded = lookalike.load(tmp_path / "model.npz")
    assert loaded.W_.tobytes() == model.W_.tobytes()
    assert (loaded.random_state, loaded.n_steps, loaded.feature_names_in_.tolist()) == (None, 50, list(frame))
    assert np.isnan(loaded.curve_["loss_rate"][0])
    with pytest.raises(ValueError, match="feature names"):
        loaded.similarity(frame[["sea", "sky", "sand"]], frame)


def test_weights_that_are_nearly_all_equal_take_little_room(tmp_path):
    wide = sp.csr_array((np.ones(3), ([0, 1, 2], [5, 5, 9])), shape=(3, 100_000))
    SOMLDA().fit_triplets(wide, [[0, 1, 2]]).save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 20_000
