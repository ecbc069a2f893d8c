"""Saved models: what is refused, and that nothing of a file is executed."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lookalike
from lookalike.core.errors import LookalikeError
from lookalike.learners import LEGO, LMNN, OASIS, SOMLDA

X = np.array([[1.0, 0.0, 0.5], [0.9, 0.1, 0.5], [0.0, 1.0, 0.0], [0.1, 0.9, 0.0]])
Y = [0, 0, 1, 1]


@pytest.fixture
def saved(tmp_path):
    OASIS(n_steps=50, random_state=0).fit(X, Y).save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def told(**values):
    return lambda path: path.with_suffix(".json").write_text(
        json.dumps(json.loads(path.with_suffix(".json").read_text()) | values)
    )


REFUSED = [
    (told(format_version=3), "format version 3 and this lookalike reads versions 1 and 2"),
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
    W = model.W_.copy()
    W[0, 0], W[0, 1] = np.float32(-0.0), np.nextafter(np.float32(0), np.float32(1))
    model.W_ = W
    model.save(tmp_path / "model.npz")
    assert json.loads((tmp_path / "model.json").read_text())["parameters_not_kept"] == ["random_state"]
    loaded = lookalike.load(tmp_path / "model.npz")
    assert loaded.W_.tobytes() == W.tobytes()
    assert not hasattr(loaded, "strengths_")  # they were those of another W
    assert (loaded.random_state, loaded.n_steps, loaded.feature_names_in_.tolist()) == (None, 50, list(frame))
    assert np.isnan(loaded.curve_["loss_rate"][0])
    with pytest.raises(ValueError, match="feature names"):
        loaded.similarity(frame[["sea", "sky", "sand"]], frame)


def test_a_file_of_format_version_1_is_read_and_goes_on(tmp_path):
    model = OASIS(n_steps=50, projection="psd", random_state=0, solver="rows").fit(X, Y)
    model.save(tmp_path / "model.npz")
    parameters = json.loads((tmp_path / "model.json").read_text())["parameters"]
    told(format_version=1, parameters={name: parameters[name] for name in parameters.keys() - {"solver"}})(
        tmp_path / "model.npz"
    )
    loaded = lookalike.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.similarity(X, X), model.similarity(X, X))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    again = loaded.partial_fit_triplets(X, [[0, 1, 2]] * 9)
    np.testing.assert_array_equal(again.W_, model.partial_fit_triplets(X, [[0, 1, 2]] * 9).W_)
    lmnn = LMNN(n_neighbors=1).fit(X, Y)
    lmnn.save(tmp_path / "lmnn.npz")
    told(format_version=1, parameters={"solver": "active_set", "accelerated": False})(tmp_path / "lmnn.npz")
    np.testing.assert_array_equal(lookalike.load(tmp_path / "lmnn.npz").M_, lmnn.M_)


NO_ROWS = [
    ("strengths_/indices", [0, 3, 0, 1, 4, 1, 2], "no column beyond 4"),
    ("strengths_/indices", [0, 3, 0, 1, -1, 1, 2], "no column beyond 4"),
    ("strengths_/indices", [0, 3, 0, 1, 3.0, 1, 2], "not of one size"),
    ("strengths_/indptr", [0, 0, 5, 2, 7], "do not follow each other"),
    ("strengths_/indptr", [0, 2, 7], "not of one size"),
    ("strengths_/data", [1.0, np.nan, 0, 0, 0, 0, 0], "NaN or infinity"),
    ("rows_", np.eye(4), "do not have 3 features"),
    ("rows_", np.eye(3), "3 rows of float64 have no strengths"),
    ("rows_", np.eye(4, 3, dtype=int), "4 rows of int64 have no strengths"),
]


@pytest.mark.parametrize(("name", "changed", "message"), NO_ROWS)
def test_rows_and_strengths_that_are_not_of_one_model_are_refused(tmp_path, name, changed, message):
    path = tmp_path / "model.npz"
    OASIS(n_steps=50, random_state=0, solver="gram").fit(X, Y).save(path)
    with np.load(path) as stored:
        arrays = dict(stored) | {name: np.asarray(changed)}
    np.savez(path, **arrays)
    told(arrays={key: {"dtype": str(array.dtype), "shape": list(array.shape)} for key, array in arrays.items()})(path)
    with pytest.raises(LookalikeError, match=message):
        lookalike.load(path)


def test_a_model_of_few_rows_takes_a_megabyte_and_gives_the_same_bits_whoever_asked_for_its_matrix(tmp_path):
    random = np.random.default_rng(0)
    rows = sp.random_array((400, 10_000), density=0.0073, format="csr", random_state=random)
    model = OASIS(n_steps=35_000, random_state=0).fit(rows, np.arange(400) % 10)
    model.save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 1.2e6
    before, loaded = model.similarity(rows, rows), lookalike.load(tmp_path / "model.npz")
    np.testing.assert_allclose(before[:9], (rows[:9] @ loaded.W_) @ rows.T, atol=1e-3)
    np.testing.assert_array_equal(loaded.similarity(rows, rows), before)
    assert np.abs(before - (rows @ rows.T).toarray()).max() > 1


def test_weights_that_are_nearly_all_equal_take_little_room(tmp_path):
    wide = sp.csr_array((np.ones(3), ([0, 1, 2], [5, 5, 9])), shape=(3, 100_000))
    SOMLDA().fit_triplets(wide, [[0, 1, 2]]).save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 20_000
