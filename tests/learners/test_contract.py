"""One contract, every learner of the registry: a new learner joins by its line there and by what it accepts."""

import copy
import inspect
import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from made_rows_and_examples import odd_csr
from model_files import parts
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import lookalike
from lookalike.learners import LEARNERS, Euclidean, PairSampler, TripletProducts, TripletSampler, base
from lookalike.learners.classifiers import ClassMap
from lookalike.learners.euclidean import Baseline
from lookalike.learners.online import held_out_rows
from lookalike.ranking.rankings import rank_scores

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ONLINE = [{"n_steps": 400}, {"n_steps": 400, "early_stopping": True, "trace_points": 5}]
STOPPING = {"early_stopping": True}
PSD = [{"n_steps": 400, "projection": "psd"}]
PRECISE = {"n_steps": 400, "dtype": "float64"}
SYMMETRIC = PRECISE | {"projection": "symmetric"}
# Parameters that keep a fit of the little sets below short, and those that change the way of working.
VARIANTS = {
    "LEGO": [*ONLINE, {"n_steps": 400, "relative": False, "dtype": "float32", "percentiles": (10, 80)}],
    "MMC": [{"max_iter": 5}],
    "LMNN": [{"max_iter": 30, "solver": solver} for solver in ("factor", "naive", "active_set")],
    "MCML": [{"max_iter": 10}, {"max_iter": 10, "solver": "factor"}],
    "OASIS": [*ONLINE, {"n_steps": 400, "solver": "rows"}, PSD[0] | {"projection_interval": 100}, SYMMETRIC],
    "OnlineProjOASIS": [*ONLINE, PRECISE | {"projection": "psd"}],
    "DissimOASIS": [*ONLINE, PRECISE | {"projection": "psd"}],
    "AveragedOASIS": [{"n_rankers": 2} | parameters for parameters in ONLINE + PSD],
    "SOMLTG": ONLINE + PSD,
    "SOMLDA": [*ONLINE, *PSD, {"n_steps": 400, "gamma": 0.01, "average_every_step": True}],
    "DiagonalOASIS": ONLINE + PSD,
    "LogisticRegression": [{}, {"compare": "scores"}],
    "QPAO": [{"n_triplets": 50, "n_blocks": 3}, {"n_triplets": 100, "n_blocks": 1, "C": 0.1}],
}


def with_seed(learner):
    return learner.set_params(random_state=0) if "random_state" in learner.get_params() else learner


def learners(**wanted):
    every = (with_seed(learner(**given)) for name, learner in LEARNERS.items() for given in VARIANTS.get(name, [{}]))
    return [learner for learner in every if wanted.items() <= learner.get_params().items()]


def over(chosen):
    return pytest.mark.parametrize("learner", chosen, ids=repr)


first = [with_seed(learner(**VARIANTS.get(name, [{}])[0])) for name, learner in LEARNERS.items()]
every = over(learners())
each = over(first)
supervised = over([learner for learner in first if learner.needs_labels])
tracing = over([learner for learner in learners() if "trace" in inspect.signature(learner.fit).parameters])


def rows_of_four_classes():
    """60 sparse rows of 24 features in 4 classes, two of them equal."""
    random = np.random.default_rng(3)
    y = np.repeat(np.arange(4), 15)
    X = random.random((60, 24)) * (random.random((60, 24)) < 0.3) + 0.5 * np.eye(4)[y].repeat(6, axis=1)
    X[7] = X[3]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


X, Y = rows_of_four_classes()
FITTED = {}


def fitted(learner):
    """Return the learner fitted to the rows: one fit for all tests, which must not change it."""
    name = repr(learner)
    if name not in FITTED:
        FITTED[name] = clone(learner).fit(X, Y)
    return FITTED[name]


def tolerance(learner):
    if isinstance(learner, LEARNERS["LogisticRegression"]):  # it ends at a gradient that is not 0
        return 1e-4
    return 1e-5 if learner.get_params().get("dtype", "float64") == "float32" else 1e-9


def of_matrix(model, A, B):
    """Return the similarity that W_, M_, w_ or a classifier's map says, or minus the squared Euclidean distance."""
    if isinstance(model, ClassMap):
        scores = [(rows - model.mean_) @ model.components_ + model.intercept_ for rows in (A, B)]
        if getattr(model, "compare", "") == "probabilities":
            scores = [np.sqrt(np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)) for rows in scores]
        return np.inner(*(rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in scores))
    if hasattr(model, "w_") or hasattr(model, "W_"):
        return A @ (model.W_ if hasattr(model, "W_") else np.diag(model.w_)) @ B.T
    Z = A[:, None] - B[None]
    return -np.einsum("abi,ij,abj->ab", Z, getattr(model, "M_", np.eye(A.shape[1])), Z)


def assert_same(model, other, rows=X):
    np.testing.assert_array_equal(model.similarity(rows, rows), other.similarity(rows, rows))


def drawn(learner, n, seed=0):
    """Return pairs with whether they are of one class, or triplets, whichever the learner takes."""
    return (PairSampler if "pairs" in learner.accepts else TripletSampler)(Y, seed).sample(n)


def plain(model, A, B):
    """Return inner products of rows, or minus their squared distances, whichever the learner's metric is."""
    return A @ B.T if model.metric_ == "inner_product" else -((A[:, None] - B[None]) ** 2).sum(axis=2)


def learn(learner, examples, how="fit", rows=X):
    """Learn from what `drawn` gives, or go on with ``how="partial_fit"``."""
    if "pairs" in learner.accepts:
        return getattr(learner, f"{how}_pairs")(rows, [row[:2] for row in examples], [row[2] for row in examples])
    return getattr(learner, f"{how}_triplets")(rows, examples)


@each
def test_it_works_where_estimators_of_scikit_learn_do(learner):
    pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), clone(learner))
    assert pipeline.fit(X, Y).score(X, Y) == fitted(learner).score(X, Y)
    scores = cross_val_score(learner, X, Y, cv=2, error_score="raise")
    assert np.all((scores > 0.25) & (scores <= 1))
    name, value = next(iter(learner.get_params().items()), (None, None))
    search = GridSearchCV(learner, {name: [value]} if name else {}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ == scores.mean()
    assert_same(search.best_estimator_, fitted(learner))


@every
def test_score_is_average_precision_of_labels_and_the_share_of_triplets_in_order(learner):
    model, scores = fitted(learner), fitted(learner).similarity(X, X)
    ranked = rank_scores(scores, Y)
    assert model.score(sp.csr_array(X), Y) == pytest.approx(ranked.mean_average_precision(), abs=1e-4)
    triplets = TripletSampler(Y, 5).sample(200)
    margin = np.subtract(*scores[triplets[:, [0]], triplets[:, 1:]].T)
    np.testing.assert_allclose(model.score(X, triplets=triplets), np.mean((np.sign(margin) + 1) / 2), atol=0.01)
    for wrong in ({}, {"y": Y, "triplets": triplets}):
        with pytest.raises(ValueError, match="give one of the two"):
            model.score(X, **wrong)
    with pytest.raises(ValueError, match=r"any order is right: .*StratifiedKFold"):
        model.score(X[Y == 0], Y[Y == 0])
    for wrong in ([[0, 0, 1]], [[0, 1, 1]], [[1, 0, 1]], np.empty((0, 3), int)):
        with pytest.raises(ValueError, match="triplets of three different rows"):
            model.score(X, triplets=wrong)


NAMES = np.array([f"image {i:02}" for i in range(60)])
CLASSES = np.array(["apple", "bear", "cat", "dog"])[Y]
TABLE = pd.DataFrame(X, index=NAMES, columns=[f"f{j}" for j in range(24)])
LABELS = {
    "list": CLASSES.tolist(),
    "dict": dict(zip(NAMES[::-1].tolist(), CLASSES[::-1].tolist(), strict=True)),
    "pandas": pd.Series(CLASSES, index=NAMES),
    "categorical": pd.Series(CLASSES, dtype="category"),
}


@pytest.mark.parametrize("form", LABELS)
@supervised
def test_labels_come_as_lists_dicts_and_columns(learner, form):
    y = LABELS[form]
    model = clone(learner).fit(TABLE, y)
    assert_same(model, clone(learner).fit(TABLE, Y), TABLE)
    assert model.score(TABLE, y) == model.score(TABLE, Y)
    if form == "pandas":
        with pytest.raises(ValueError, match=r"another order: give y.loc\[X.index\]"):
            clone(learner).fit(TABLE, y[::-1])
        with pytest.raises(ValueError, match="no label for row 'image 00' of X"):
            clone(learner).fit(TABLE, {"image 01": "apple"})


@pytest.mark.parametrize("form", ["array", "list", "dict", "pandas"])
@over([learner for learner in first if learner.accepts & {"triplets", "pairs"}])
def test_examples_come_by_ids_of_the_index(learner, form):
    examples, pairs = drawn(learner, 50), "pairs" in learner.accepts
    numbers = examples[:, :2] if pairs else examples
    columns = dict(zip("ij" if pairs else ("query", "positive", "negative"), NAMES[numbers].T.tolist(), strict=True))
    swapped = dict(reversed(columns.items()))
    ids = {"array": NAMES[numbers], "list": NAMES[numbers].tolist(), "dict": swapped, "pandas": pd.DataFrame(swapped)}
    ids["pandas"].index += 7
    how, rest = ("fit_pairs", (examples[:, 2],)) if pairs else ("fit_triplets", ())
    model = getattr(clone(learner), how)(TABLE, ids[form], *rest)
    assert_same(model, getattr(clone(learner), how)(TABLE, numbers, *rest), TABLE)
    if not pairs:
        assert model.score(TABLE, triplets=ids[form]) == model.score(TABLE, triplets=numbers)
    wrong = ids["array"].copy()
    wrong[3, 1] = "image 99"
    twice = TABLE.rename(index={"image 01": "image 00"})
    for rows, named, message in (
        (TABLE, wrong, "row 3 of .* names 'image 99', which the index of X does not have, as 1 of 50 rows do"),
        (X, ids["array"], "whole numbers, not ids such as .* give X as a DataFrame"),
        (twice, ids["array"], "the index of X has 'image 00' twice"),
        (TABLE, {"query": [1]}, "have the columns query: name them"),
    ):
        with pytest.raises(ValueError, match=message):
            getattr(clone(learner), how)(rows, named, *rest)


# with projection="psd" there is a transform, of a matrix or of a diagonal
@parametrize_with_checks([*first, *map(with_seed, (LEARNERS[name](**PSD[0]) for name in ("OASIS", "SOMLTG")))])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@every
def test_fitted_attributes_say_the_similarity(learner, monkeypatch):
    model = fitted(learner)
    assert frozenset() < learner.accepts <= {"labels", "pairs", "triplets", "online"}
    assert model.metric_ in {"inner_product", "sqeuclidean"}
    if hasattr(model, "n_steps_"):
        assert 0 < getattr(model, "n_updates_", 1) <= model.n_steps_ * learner.get_params().get("n_rankers", 1)
        assert model.curve_["step"][-1] == model.n_steps_
    assert len({len(column) for column in getattr(model, "curve_", {}).values()}) <= 1
    expected = of_matrix(model, X[:9], X)
    for form, queries in ((np.asarray, 1024), (sp.csr_array, 4), (sp.csr_matrix, 1024)):
        monkeypatch.setattr("lookalike.learners.base.QUERY_BLOCK", queries)
        for A, B in ((form(X[:9]), form(X)), (form(X[:9]), X), (X[:9], form(X))):
            scores = model.similarity(A, B)
            assert isinstance(scores, np.ndarray)
            np.testing.assert_allclose(scores, expected, atol=tolerance(learner) * max(1.0, np.abs(expected).max()))


@every
def test_csr_rows_of_any_form_learn_the_same(learner):
    odd = odd_csr(X)
    before = odd.copy()
    model = clone(learner).fit(odd, Y)
    np.testing.assert_allclose(model.similarity(odd, X), fitted(learner).similarity(X, X), atol=10 * tolerance(learner))
    np.testing.assert_array_equal([odd.indices, odd.data], [before.indices, before.data])


@every
def test_transform_gives_the_similarity_in_columns_with_names(learner):
    model = clone(learner)
    assert hasattr(model, "set_output") == hasattr(model, "fit_transform")
    if hasattr(model, "fit_transform"):
        found = list(model.set_output(transform="pandas").fit_transform(TABLE, Y))
        own = [f"{type(learner).__name__.lower()}{j}" for j in range(len(found))]
        assert found == (own if learner.learns_matrix or isinstance(learner, ClassMap) else list(TABLE))
    model = fitted(learner)
    if not hasattr(model, "transform"):
        with pytest.raises(AttributeError, match="projection='psd'"):
            model.transform(X)
        # a Pipeline says so, too, where it is in the middle, and where it is the last step
        with pytest.raises(TypeError, match="projection='psd'"):
            make_pipeline(clone(learner), clone(learner)).fit(X, Y)
        pipeline = make_pipeline(clone(learner)).fit(X, Y)
        assert not hasattr(pipeline, "transform")
        with pytest.raises(AttributeError) as missing:
            _ = pipeline.transform
        assert "projection='psd'" in str(missing.value.__cause__)
        return
    for form in (np.asarray, sp.csr_array):
        Z = model.transform(form(X))
        assert sp.issparse(Z) == (form is sp.csr_array and learner.keeps_features)
        Z = sp.csr_array(Z).toarray()
        np.testing.assert_allclose(plain(model, Z, Z), model.similarity(X, X), atol=10 * tolerance(learner))


@every
def test_a_blend_with_no_learning_adds_their_similarities(learner):
    model = fitted(learner)
    if isinstance(learner, Euclidean | ClassMap):
        with pytest.raises(TypeError, match="has no matrix to blend"):
            model.blended(0.5)
        return
    alone, learned = plain(model, X, X), model.similarity(X, X)
    for share in (0.0, 0.3, 1.0):
        blend = model.blended(share)
        expected = (1 - share) * alone + share * learned
        atol = 10 * tolerance(learner) * np.abs(expected).max()
        np.testing.assert_allclose(blend.similarity(X, X), expected, atol=atol)
        if hasattr(model, "transform"):
            Z = blend.transform(X)
            np.testing.assert_allclose(plain(model, Z, Z), expected, atol=10 * atol)
    np.testing.assert_array_equal(model.similarity(X, X), learned)
    for wrong in (-0.1, 1.1, np.nan, True):
        with pytest.raises(ValueError, match="share must be a number from 0 to 1"):
            model.blended(wrong)


@every
def test_metric_learns_names_say_the_same(learner):
    model, pairs = fitted(learner), np.stack([X[:9], X[9:18]], axis=1)
    expected = np.diag(model.similarity(X[:9], X[9:18])).astype(np.float64)
    atol = tolerance(learner) * max(1.0, abs(expected).max())
    np.testing.assert_allclose(model.pair_score(pairs), expected, atol=atol)
    with pytest.raises(ValueError, match=r"shape \(m, 2, d\)"):
        model.pair_score(X)
    if model.metric_ == "inner_product":
        with pytest.raises(AttributeError, match="learns an inner product"):
            model.get_metric()
        return
    M, distance = model.get_mahalanobis_matrix(), model.get_metric()
    difference = X[0] - X[9]
    assert distance(X[0], X[9], squared=True) == pytest.approx(max(difference @ M @ difference, 0))
    assert distance(X[0], X[9]) ** 2 == pytest.approx(max(-expected[0], 0), rel=1e-4)


def in_an_index(model, rows, rank=None):
    """Return the distances below 0, or inner products, of rows as queries with rows as a gallery: as an engine does."""
    Q, G = (sp.csr_array(side(rows, rank)).toarray() for side in (model.transform_queries, model.transform_gallery))
    return plain(model, Q, G)


@every
def test_an_index_of_the_transformed_rows_ranks_as_the_learner(learner):
    model = fitted(learner)
    if isinstance(model, LEARNERS["DissimOASIS"]) and learner.projection is None:
        with pytest.raises(ValueError, match=r"has no map to an index, .* learn with projection='psd'"):
            model.transform_gallery(X)
        return
    expected = model.similarity(X, X)
    for form in (np.asarray, sp.csr_array):
        atol = 10 * tolerance(learner) * np.abs(expected).max()
        np.testing.assert_allclose(in_an_index(model, form(X)), expected, atol=atol)
    assert model.metric_ == "sqeuclidean" or isinstance(model, ClassMap) or model.transform_gallery(X) is X
    if isinstance(learner, Baseline | ClassMap):
        with pytest.raises(ValueError, match=r"has learned no directions|maps rows to few numbers already"):
            model.transform_queries(X, rank=3)
        return
    np.testing.assert_allclose(in_an_index(model, sp.csr_array(X), 24), expected, atol=atol)
    for wrong in (0, 25, 2.5):
        with pytest.raises(ValueError, match="rank must be a whole number from 1 to 24"):
            model.transform_gallery(X, rank=wrong)
    # of a distance there are no more columns than L has
    most = 24 if model.metric_ == "inner_product" or not learner.learns_matrix else model._factor().shape[1]
    assert model.transform_queries(X, 24).shape == (60, most)
    # of a lower rank it is the nearest matrix
    identity = np.eye(24)
    matrix = of_matrix(model, identity, identity) if model.metric_ == "inner_product" else model.M_
    values = np.linalg.svd(matrix, compute_uv=False)
    found = model.transform_queries(identity, 5) @ model.transform_gallery(identity, 5).T
    error = np.sqrt(np.sum((matrix - found) ** 2))
    np.testing.assert_allclose(error, np.sqrt(np.sum(values[5:] ** 2)), rtol=1e-4, atol=1e-4)


def test_few_dimensions_of_a_large_matrix_are_found_without_all_of_them(monkeypatch):
    monkeypatch.setattr(base, "LARGEST_DECOMPOSED", 20)
    W = np.diag([5.0, 3.0, *np.full(22, 0.01)])[::-1]
    left, right = base.truncated_svd(W, 2)
    np.testing.assert_allclose(left @ right.T, np.where(W > 1, W, 0), atol=1e-8)


@each
def test_rank_is_the_first_of_a_stable_sort(learner, monkeypatch):
    model, rows = fitted(learner), sp.csr_array(X)
    # sparse products give equal rows equal scores to the bit, so ties (rows 3 and 7) are decided by row number
    full = model.similarity(rows, rows)
    for gallery_block, batch_size in ((16_384, 1_024), (7, 4)):
        monkeypatch.setattr("lookalike.learners.base.GALLERY_BLOCK", gallery_block)
        for k in (1, 9, 60, 500):
            expected = np.argsort(-full, axis=1, kind="stable")[:, :k]
            indices, scores = model.rank(rows, rows, k=k, batch_size=batch_size)
            np.testing.assert_array_equal(indices, expected)
            np.testing.assert_array_equal(scores, np.take_along_axis(full, expected, 1))


@each
def test_csr_rows_are_never_made_dense(learner, monkeypatch):
    model, original = fitted(learner), sp.csr_array.toarray
    wide = sp.random_array((12, 300), density=0.2, format="csr", random_state=0)

    def refuse(self, *args, **options):
        assert self.shape not in (X.shape, wide.shape), "rows were made dense"
        return original(self, *args, **options)

    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    monkeypatch.setattr(sp.csr_array, "todense", refuse)
    model.similarity(sp.csr_array(X), sp.csr_array(X))
    model.rank(sp.csr_array(X), sp.csr_array(X), k=3)
    if not isinstance(learner, LEARNERS["LDA"]):  # which works with dense rows
        clone(learner).fit(wide, np.arange(12) % 3)


@every
def test_a_saved_model_is_the_same_and_goes_on(learner, tmp_path):
    model, path = fitted(learner), tmp_path / "model.lookalike"
    model.save(path, made_by={"fold": 3})
    loaded = lookalike.load(path)
    for what in (type, type(model).get_params, lambda model: set(vars(model))):
        assert what(loaded) == what(model)
    assert parts(path)[0]["made_by"]["fold"] == 3
    written = path.read_bytes()
    loaded.save(path, made_by={"fold": 3})
    assert written == path.read_bytes()
    pickled = pickle.loads(pickle.dumps(model))
    assert_same(loaded, model)
    assert_same(pickled, model)
    if "online" in learner.accepts:
        more = drawn(learner, 20, seed=5)
        assert_same(learn(loaded, more, "partial_fit"), learn(pickled, more, "partial_fit"))
    with pytest.raises(ValueError, match="not fitted"):
        clone(learner).save(path)


@every
def test_the_same_seed_gives_the_same_bits_whatever_was_learned_before(learner):
    assert_same(clone(learner).fit(X[::-1], Y).fit(X, CLASSES), fitted(learner))


@over([*(learner for learner in learners(early_stopping=False) if learner.accepts - {"labels"}), *learners(n_blocks=3)])
def test_fit_takes_what_the_sampler_draws_at_once_or_in_parts(learner, monkeypatch):
    examples, model = drawn(learner, learner.get_params().get("n_steps") or learner.n_triplets), fitted(learner)
    projected = learner.get_params().get("projection")
    if not projected:  # in parts of any size; a projection of LEGO's span rounds again
        monkeypatch.setattr(type(learner), "chunk", 37, raising=False)
    assert_same(learn(clone(learner), examples), model)
    if "online" in learner.accepts and not projected:
        rest = 59 - examples[100:]  # rows may move to another matrix
        if "pairs" in learner.accepts:
            rest[:, 2] = examples[100:, 2]
        parts = learn(learn(clone(learner), examples[:100], "partial_fit"), rest, "partial_fit", X[::-1])
        for name in ("n_steps_", "n_updates_", "u_", "l_"):
            assert getattr(parts, name, None) == getattr(model, name, None)
        # to go on may be with other arithmetic, and LEGO leaves the span of the rows
        is_same = learner.get_params().get("solver") != "auto" and "pairs" not in learner.accepts
        atol = 0 if is_same else 10 * tolerance(learner)
        np.testing.assert_allclose(parts.similarity(X, X), model.similarity(X, X), rtol=0, atol=atol)


@over([*learners(**STOPPING), *(learner.set_params(**PSD[0]) for learner in learners(**STOPPING, projection=None))])
def test_early_stopping_scores_fits_of_so_many_steps_and_refits_on_all_rows_for_the_best(learner):
    model = fitted(learner)
    steps, scores = model.validation_curve_["step"], model.validation_curve_["map"]
    stopped = clone(learner).set_params(early_stopping=False)
    held_out = held_out_rows(Y, 0.2, np.random.default_rng([0, 1]))
    for step, score in zip(steps, scores, strict=True):
        found = stopped.set_params(n_steps=step).fit(X[~held_out], Y[~held_out]).similarity(X[held_out], X[held_out])
        assert rank_scores(found, Y[held_out]).mean_average_precision() == pytest.approx(score, abs=1e-6)
    assert model.n_steps_ == min(steps[scores == scores.max()])
    assert_same(stopped.set_params(n_steps=model.n_steps_).fit(X, Y), model)
    again = [lambda model: model.set_params(early_stopping=False).fit(X, Y)]
    if learner.accepts - {"labels"}:
        again.append(lambda model: learn(model, drawn(learner, 20)))
    if hasattr(learner, "fit_products"):
        again.append(lambda model: model.fit_products(TripletProducts(X, drawn(learner, 20))))
    for fit in again:
        assert not hasattr(fit(copy.deepcopy(model)), "validation_curve_")
    with pytest.raises(ValueError, match="early_stopping needs two classes with at least four rows"):
        clone(learner).fit(X[:24], np.where(np.arange(24) < 18, 0, np.arange(24) // 2))


@over([learner for learner in first if "n_steps" in learner.get_params()])
def test_an_interrupted_fit_keeps_what_it_learned(learner):
    model = clone(learner)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, Y, trace=lambda _, step: {"x": 1 / (step - 200)}, trace_steps=[200])
    assert_same(model, clone(learner).set_params(n_steps=200).fit(X, Y))


@tracing
def test_a_trace_sees_the_model_of_its_step_and_changes_nothing(learner):
    seen = {}

    def trace(model, step):
        assert model.n_steps_ == step
        seen[step] = model.similarity(X, X)
        return {"mean": float(seen[step].mean())}

    if learner.get_params().get("early_stopping"):
        learner = clone(learner).set_params(early_stopping=False)
    model = clone(learner).fit(X, Y, trace=trace, trace_steps=[3, 150, 400] if hasattr(learner, "n_steps") else [3])
    assert model.curve_["step"].tolist() == sorted(seen)
    np.testing.assert_array_equal(model.curve_["mean"], [seen[step].mean() for step in sorted(seen)])
    # SOML learns from w = 0, all others from the Euclidean metric
    start = plain(model, X, X)
    np.testing.assert_allclose(seen[0], 0 * start if type(model).__name__.startswith("SOML") else start, atol=1e-6)
    assert_same(model, fitted(learner))
    if not learner.get_params().get("projection"):
        np.testing.assert_array_equal(seen[model.n_steps_], model.similarity(X, X))
        three = {"max_iter": 3} if "max_iter" in learner.get_params() else {"n_steps": 3}
        short = clone(learner).set_params(**three).fit(X, Y).similarity(X, X)
        is_auto = learner.get_params().get("solver") == "auto"  # three steps may be taken with other arithmetic
        np.testing.assert_allclose(seen[3], short, rtol=0, atol=tolerance(learner) if is_auto else 0)


@tracing
def test_trace_steps_that_are_not_reached(learner):
    n_steps = learner.get_params().get("n_steps")
    for wrong in [-1, n_steps + 1] if n_steps else [-1]:
        with pytest.raises(ValueError, match="trace_steps"):
            clone(learner).fit(X, Y, trace_steps=[2, wrong])
    # an online learner takes as many steps as it is told to; a batch learner may stop by itself
    model = clone(learner).fit(X, Y, trace_steps=[2, n_steps or 10**6])
    expected = [0, 2, n_steps or model.n_steps_]
    assert model.curve_["step"].tolist() == [step for step in expected if step <= model.n_steps_]


@over([learner for learner in first if "verbose" in learner.get_params()])
def test_a_bar_shows_what_is_learned_when_asked_for(learner, capsys):
    clone(learner).fit(X, Y)
    assert not capsys.readouterr().err
    clone(learner).set_params(verbose=1).fit(X, Y)
    assert re.search(type(learner).__name__ + "(.|\n)*(objective|loss_rate)=", capsys.readouterr().err)


@supervised
def test_learning_beats_the_euclidean_baseline(learner):
    random = np.random.default_rng(0)
    y = np.arange(240) % 4
    rows = random.exponential(size=(240, 12)) * (random.random((240, 12)) < 0.4)
    rows[:, :4] = 0.3 * rows[:, :4] + np.eye(4)[y]
    rows[:, 6:] *= 2
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if "n_steps" in learner.get_params():
        learner = clone(learner).set_params(n_steps=4000)
    model = clone(learner).fit(rows[:120], y[:120])
    unseen = rows[120:]
    euclidean = rank_scores(unseen @ unseen.T, y[120:]).mean_average_precision()
    assert rank_scores(model.similarity(unseen, unseen), y[120:]).mean_average_precision() > 1.15 * euclidean


@each
def test_rows_that_cannot_be_used_are_refused(learner):
    model = fitted(learner)  # dense rows are refused by scikit-learn's own checks
    calls = (lambda bad: clone(learner).fit(bad, Y), model.transform_queries)
    for call, value in itertools.product(calls, (np.nan, np.inf)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(sp.csr_array(np.where(np.arange(60)[:, None] == 2, value, X)))
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.rank(X[:1], np.where(np.arange(60)[:, None] == 59, value, X))
    for compare in (model.similarity, model.rank):
        with pytest.raises(ValueError, match="5 features"):
            compare(X, sp.csr_array(X[:, :5]))
        for scale in (1e200, 1e-200):
            with pytest.raises(ValueError, match=r"X has values .* scale its rows"):
                compare(X[:4], X[:4] * scale)
    with pytest.raises(ValueError, match="2D array"):
        model.rank(5, X)
    with pytest.raises(NotFittedError):
        clone(learner).rank(X[:1], X)
    for k in (0, 2.5):
        with pytest.raises(ValueError, match=f"k and batch_size must be whole numbers from 1 on, not k={k}"):
            model.rank(X, X, k=k)


@supervised
def test_rows_and_labels_that_nothing_can_be_learned_from_are_refused(learner):
    few = [(X, 0 * Y, "at least two classes"), (X[:6], np.arange(6), "at least two rows of some class")]
    few += [(X, [*map(str, Y[1:]), gap], "row 59 has no label") for gap in (None, np.nan)]
    for rows, y, message in [*few, (1e200 * X, Y, "scale"), (sp.csr_array(1e200 * X), Y, "scale")]:
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
            clone(learner).fit(rows, y)


WHOLE = {"n_steps": 40, "trace_points": 5, "n_components": 4, "n_neighbors": 2, "refresh": 5, "max_iter": 4}
WHOLE |= {"n_rankers": 2, "n_triplets": 40, "n_blocks": 2, "max_sweeps": 3}


@over([learner for learner in first if WHOLE.keys() & learner.get_params().keys()])
def test_whole_numbers_may_be_written_with_a_point(learner):
    given = {name: value for name, value in WHOLE.items() if name in learner.get_params()}
    models = [clone(learner).set_params(**given), clone(learner).set_params(**{n: float(v) for n, v in given.items()})]
    assert_same(*(model.fit(X, Y) for model in models))
    if "trace" in inspect.signature(learner.fit).parameters:
        assert_same(*(model.fit(X, Y, trace=lambda *_: {}, trace_steps=[0, 3]) for model in models))


PERCENTILES = [(95, 5), (5, 101), (5,), 5, None, "ab", ("5", 95), (5, None)]
WRONG = [
    ("OASIS", {"aggressiveness": [0.0, np.nan], "n_steps": [-1, 2.5, np.inf, 1e20], "validation_fraction": [0.0, 1.0]}),
    ("OASIS", {"trace_points": [0], "dtype": ["float16"], "projection": ["no"], "projection_interval": [0, 1.5]}),
    ("DissimOASIS", {"solver": ["fast"], "projection": ["symmetric"]}),
    ("OnlineProjOASIS", {"projection": ["symmetric"]}),
    ("AveragedOASIS", {"n_rankers": [0, 1.5]}),
    ("LEGO", {"regularization": [0.0, np.inf, np.nan], "percentiles": PERCENTILES}),
    ("LMNN", {"omega": [1.1, np.nan], "n_neighbors": [0], "solver": ["fast"], "refresh": [0]}),
    ("LMNN", {"max_iter": [-1, 1.5], "tol": [-0.1, np.nan]}),
    ("MCML", {"max_iter": [-1, 1.5], "tol": [-0.1, np.nan], "solver": ["fast"]}),
    ("RCA", {"n_components": [0, 1.5]}),
    ("SOMLTG", {"learning_rate": [0.0, np.inf], "regularization": [-1e-9, np.nan], "projection": ["symmetric"]}),
    ("SOMLDA", {"gamma": [0.0, np.inf], "rho": [-1.0, np.inf], "regularization": [-1e-9, np.nan]}),
    ("DiagonalOASIS", {"aggressiveness": [0.0]}),
    ("QPAO", {"C": [0.0, np.nan], "lower": [np.inf], "upper": [-1.0], "n_blocks": [0, 1.5], "tol": [-1.0]}),
    ("QPAO", {"max_sweeps": [0], "n_triplets": [-1]}),
]
NO_NUMBERS, OPTIONAL = ("1", None, [1], True), ("upper", "projection_interval", "n_components")


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_parameters_out_of_range_are_named(name, wrong):
    defaults = LEARNERS[name]().get_params()
    for parameter, values in wrong.items():
        is_number = isinstance(defaults[parameter], int | float) or parameter in OPTIONAL
        no_numbers = [value for value in NO_NUMBERS if is_number and (value or parameter not in OPTIONAL)]
        for value in [*values, *no_numbers]:
            with pytest.raises(ValueError, match=rf"^{parameter} must .*, not {re.escape(repr(value))}"):
                LEARNERS[name](**{parameter: value}).fit(X, Y)


@over([learner for learner in first if learner.accepts & {"triplets", "pairs"}])
def test_examples_that_are_not_rows_are_refused(learner):
    for example, message in (([60, 1, 1], "0 to 59"), ([0, -1, 1], "0 to 59"), ([0, 0.5, 1], "whole numbers")):
        with pytest.raises(ValueError, match=message):
            learn(learner, [example])


@every
def test_odd_rows_are_learned_from(learner):
    random = np.random.default_rng(5)
    wide, y = random.random((12, 50)), np.repeat([0, 1, 2], 4)
    assert np.isfinite(clone(learner).fit(wide, y).similarity(wide, wide)).all()
    nothing = np.zeros((12, 5))
    scores = clone(learner).fit(nothing, y).similarity(nothing, nothing)
    np.testing.assert_allclose(scores, float(getattr(learner, "compare", "") == "probabilities"), atol=1e-12)
    odd = X.copy()
    odd[:20], odd[20:24] = odd[0], 0
    for rows in (odd, sp.csr_array(odd)):
        scores = clone(learner).fit(rows, Y).similarity(rows, rows)
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores[0], scores[19], atol=10 * tolerance(learner))


@pytest.mark.parametrize("method", ["fit_triplets", "partial_fit_triplets", "fit_pairs", "partial_fit_pairs"])
def test_what_a_learner_does_not_accept_is_said(method):
    with pytest.raises(TypeError, match=r"RCA (cannot learn|is not an online learner).*; it accepts labels"):
        getattr(LEARNERS["RCA"](), method)(X, *[[]] * (1 + method.endswith("pairs")))


@pytest.mark.parametrize("scale", [1e25, 1e-30])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_beyond_float32_are_ranked_right_and_no_distance_is_below_0_whatever_rounding_says(scale, kind):
    A = np.random.default_rng(2).random((30, 40))
    assert Euclidean().fit(A).similarity(A, A).max() <= 0
    ranked = [Euclidean().fit(X).rank(*[kind((X * by).astype(np.float32))] * 2)[0] for by in (1, scale)]
    np.testing.assert_array_equal(*ranked)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@each
def test_a_matrix_that_memory_cannot_hold_is_refused_before_it_is_made(learner, kind, monkeypatch):
    monkeypatch.setattr(base.os, "sysconf", lambda name: 30)
    too_large = r"24 x 24 numbers, which takes .* GB .*: use DiagonalOASIS, SOMLTG"
    if hasattr(type(learner), "dual_coef_"):  # no matrix is made before somebody asks for it
        model = clone(learner).set_params(solver="gram").fit(kind(X), Y)
        with pytest.raises(ValueError, match=too_large):
            getattr(model, model.matrix_name)
        learner = clone(learner).set_params(solver="rows")
    if learner.learns_matrix:
        with pytest.raises(ValueError, match=too_large):
            clone(learner).fit(kind(X), Y)
    else:
        assert clone(learner).fit(kind(X), Y).n_features_in_ == 24
