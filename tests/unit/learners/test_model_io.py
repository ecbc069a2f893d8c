"""Saved learners: what comes back, what is refused, and how little room they take."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from model_files import parts, write_parts

import lookalike
from lookalike.core.errors import LookalikeError
from lookalike.learners import LEGO, MMC, OASIS, SOMLDA

X = np.array([[1.0, 0.0, 0.5], [0.9, 0.1, 0.5], [0.0, 1.0, 0.0], [0.1, 0.9, 0.0]])
Y = [0, 0, 1, 1]


@pytest.fixture
def saved(tmp_path):
    OASIS(n_steps=50, random_state=0).fit(X, Y).save(tmp_path / "model.lookalike")
    return tmp_path / "model.lookalike"


REFUSED = [
    ({"format_version": 99}, {}, "version 99, and this lookalike reads 3: install the version that wrote it"),
    ({"learner": "Popen"}, {}, "does not know"),
    ({"parameters": {"hardness": 1}}, {}, "parameters that OASIS does not take"),
    ({"format": "lookalike network"}, {}, "is not a lookalike model but a 'lookalike network'"),
    ({"reason": "its time ran out"}, {}, "holds no model: its time ran out"),
    ({"fitted": {"rows_": {"csr": [4, 3]}}}, None, "lacks a part of a lookalike model"),
    ({}, {"dual_coef_/indices": [0, 3, 0, 1, 4, 1, 2]}, "indices must be < 4"),
    ({}, {"dual_coef_/indptr": [0, 0, 5, 2, 7]}, "non-decreasing"),
    ({}, {"dual_coef_/data": [1.0, np.nan, 0, 0, 0, 0, 0]}, "NaN or infinity"),
    ({}, {"rows_": np.eye(3)}, "3 rows of float64 have no coefficients"),
]


@pytest.mark.parametrize(("values", "changed", "message"), REFUSED)
def test_what_is_no_whole_known_model_is_refused(saved, values, changed, message):
    OASIS(n_steps=50, random_state=0, solver="gram").fit(X, Y).save(saved)
    about, arrays = parts(saved)
    arrays = {} if changed is None else arrays | {name: np.asarray(value) for name, value in changed.items()}
    write_parts(saved, about | values, arrays)
    with pytest.raises(LookalikeError, match=message):
        lookalike.load(saved)
    with pytest.raises(LookalikeError, match=r"must end in \.lookalike: name it .*model\.lookalike"):
        OASIS(n_steps=9).fit(X, Y).save(saved.with_suffix(".npz"))


@pytest.mark.parametrize("percentiles", [(10, 80.0), [10, 80], (np.int64(10), 80)])
def test_pairs_of_numbers_stay_what_they_are(saved, percentiles):
    LEGO(n_steps=20, percentiles=percentiles, random_state=0).fit(X, Y).save(saved)
    loaded = lookalike.load(saved).percentiles
    assert (loaded, type(loaded), type(loaded[0])) == (percentiles, type(percentiles), int)


def test_special_numbers_names_and_what_json_cannot_hold(saved):
    frame = pd.DataFrame(X, columns=["sky", "sea", "sand"])
    model = OASIS(n_steps=np.int64(50), random_state=np.random.default_rng(0)).fit(frame, Y)
    W = model.W_.copy()
    W[0, 0], W[0, 1] = np.float32(-0.0), np.nextafter(np.float32(0), np.float32(1))
    model.W_ = W
    model.save(saved)
    assert parts(saved)[0]["parameters_not_kept"] == ["random_state"]
    loaded = lookalike.load(saved)
    assert loaded.W_.tobytes() == W.tobytes()
    assert not hasattr(loaded, "dual_coef_")  # they were those of another W
    assert (loaded.random_state, loaded.n_steps, loaded.feature_names_in_.tolist()) == (None, 50, list(frame))
    assert np.isnan(loaded.curve_["loss_rate"][0])
    with pytest.raises(ValueError, match="feature names"):
        loaded.similarity(frame[["sea", "sky", "sand"]], frame)


OTHERS = [
    (OASIS(n_steps=50, projection="psd", random_state=0, solver="rows"), lambda parameters: parameters.pop("solver")),
    (MMC(5), lambda parameters: parameters.update(solver="projected")),
]


@pytest.mark.parametrize(("learner", "change"), OTHERS)
def test_a_parameter_that_is_new_has_its_default_and_one_that_is_gone_is_passed_over(saved, learner, change):
    model = learner.fit(X, Y)
    model.save(saved)
    about, arrays = parts(saved)
    change(about["parameters"])
    write_parts(saved, about, arrays)
    loaded = lookalike.load(saved)
    np.testing.assert_array_equal(loaded.similarity(X, X), model.similarity(X, X))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_a_model_of_few_rows_or_of_nearly_equal_weights_takes_little_room_and_gives_the_same_bits(saved):
    random = np.random.default_rng(0)
    rows = sp.random_array((400, 10_000), density=0.0073, format="csr", random_state=random)
    model = OASIS(n_steps=35_000, random_state=0).fit(rows, np.arange(400) % 10)
    model.save(saved)
    assert saved.stat().st_size < 1.2e6
    before, loaded = model.similarity(rows, rows), lookalike.load(saved)
    np.testing.assert_allclose(before[:9], (rows[:9] @ loaded.W_) @ rows.T, atol=1e-3)  # whoever asked for the matrix
    np.testing.assert_array_equal(loaded.similarity(rows, rows), before)
    wide = sp.csr_array((np.ones(3), ([0, 1, 2], [5, 5, 9])), shape=(3, 100_000))
    model = SOMLDA().fit_triplets(wide, [[0, 1, 2]])
    model.w_[7] = -model.w_[8]
    model.save(saved)
    assert saved.stat().st_size < 20_000
    assert lookalike.load(saved).w_.tobytes() == model.w_.tobytes()
