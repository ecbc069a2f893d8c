"""Folds, traces and rankers: which rows are seen, that seeds are named, that nothing leaks, and what is written."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from test_time_limit import burn

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.core.settings.methods import Fit
from lookalike.exhibits.results import COLUMN_TYPES, select
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners import OASIS, AveragedOASIS, Euclidean, load
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies import selection
from lookalike.studies.category import few_images, protocol, rankers, traces, transfer
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import run_fold
from lookalike.studies.category.settings import FewImagesOfMethods, Rankers, Transfer
from lookalike.studies.category.study import MAKERS
from lookalike.studies.category.traces import trace_fold

NAMES = {"dataset": "toys", "representation": "words40", "subset": "toy", "method": "oasis", "fold": 0}
TRACE = {"steps": 2000, "points": 5, "aggressiveness": 0.3}
CHOSEN = {"select": {"aggressiveness": [0.03, 0.3]}, "trace": TRACE}
ENDLESS = 2_000_000_000
RANKERS = Rankers(count=3, steps=600, points=4, aggressiveness=0.2, averages=[2, 3])


@pytest.fixture
def fold(study):
    return Fold(*study, 0, 5, "toy")


def spec(learner="OASIS", **more):
    return Fit(learner=learner, **more)


def fixed(fold, **parameters):
    return run_fold(fold, spec(parameters=parameters))


def rows_of(split, number, *, role="train", validation=(False, True)):
    rows = split[(split["fold"] == number) & (split["role"] == role)].sort_values("image_id")
    rows = rows[rows["validation"].isin(validation)]
    return rows["image_id"].to_numpy(), rows["label"].to_numpy(dtype=str)


def weighted(counts):
    return tfidf_rows(counts, inverse_document_frequencies(counts))


def traced(curve, metric="traced_map"):
    return select(curve, metric=metric).set_index("x")["value"]


def test_euclidean_ranks_the_test_images_with_the_idf_of_the_training_images(study):
    counts, split = study
    result = run_fold(Fold(counts, split, 1, 5, "toy"), spec("Euclidean"))
    (train, of_train), (test, of_test) = rows_of(split, 1), rows_of(split, 1, role="test")
    queries = result.rankings.query_ids
    np.testing.assert_array_equal(np.sort(queries), test)
    labels = of_test[np.searchsorted(test, queries)].tolist()
    assert labels != sorted(labels), "ties keep the order of the rows, which must not know the classes"
    idf = inverse_document_frequencies(counts[train])
    X, X_train = (tfidf_rows(counts[part], idf) for part in (queries, train))
    expected = rank_leave_one_out(Euclidean().fit(X), X, np.array(labels))
    np.testing.assert_array_equal(result.rankings.ranks, expected.ranks)
    # another order of the rows decides ties otherwise
    train_map = rank_leave_one_out(Euclidean().fit(X), X_train, of_train).mean_average_precision()
    assert result.metrics["train_map"] == pytest.approx(train_map, abs=0.01)
    assert result.selection.empty
    assert [result.fit[f"n_{name}"] for name in ("train", "test", "classes", "words")] == [40, 20, 4, 40]
    assert set(result.fit["seconds"]) == set(result.fit["cpu_seconds"]) == {"features", "selection", "fit", "rank"}


def test_oasis_is_chosen_on_the_cut_and_refitted_on_all(study, fold):
    counts, split = study
    result = run_fold(fold, spec(**CHOSEN, parameters={"dtype": "float32"}))
    chosen, table = result.fit["aggressiveness"], result.selection
    assert list(table.columns) == ["aggressiveness", "step", "map", "loss_rate"]
    of_choice = table[(table["aggressiveness"] == chosen) & (table["step"] == result.fit["n_steps"])]
    assert of_choice["map"].tolist() == [table["map"].max()]
    # the cut learns idf and model from its own share alone
    learn, labels = rows_of(split, 0, validation=[False])
    seeds = {purpose: integer_seed(5, "category", "toy", "fold", 0, purpose) for purpose in ("selection", "fit")}
    model = OASIS(0.03, 2000, dtype="float32", random_state=seeds["selection"])
    model.fit(weighted(counts[learn]), labels, trace_steps=table["step"].unique().tolist())
    losses = table.loc[table["aggressiveness"] == 0.03, "loss_rate"]
    np.testing.assert_array_equal(losses, model.curve_["loss_rate"])
    train, labels = rows_of(split, 0)
    expected = OASIS(chosen, result.fit["n_steps"], dtype="float32", random_state=seeds["fit"])
    expected.fit(weighted(counts[train]), labels)
    np.testing.assert_array_equal(result.model.W_, expected.W_)
    assert (result.fit["n_updates"], result.fit["seeds"]) == (expected.n_updates_, seeds)


def test_neither_test_images_nor_the_order_of_the_table_change_what_is_learned(study, fold):
    counts, split = study
    changed, (test, _) = counts.toarray(), rows_of(split, 0, role="test")
    changed[test] = changed[test][:, ::-1]
    folds = (fold, Fold(sp.csr_array(changed), split, 0, 5, "toy"), Fold(counts, split.iloc[::-1], 0, 5, "toy"))
    first, other, turned = (run_fold(changed, spec(**CHOSEN)) for changed in folds)
    for again in (other, turned):
        pd.testing.assert_frame_equal(first.selection, again.selection)
        np.testing.assert_array_equal(first.model.W_, again.model.W_)
    np.testing.assert_array_equal(first.rankings.ranks, turned.rankings.ranks)
    assert not np.array_equal(first.rankings.ranks, other.rankings.ranks)
    assert run_fold(Fold(counts, split, 0, 6, "toy"), spec(**CHOSEN)).fit["seeds"] != first.fit["seeds"]


# a trace that does not stop leaves the learner to its own end
@pytest.mark.parametrize("changes", [{}, {"select": {"aggressiveness": [0.2]}}, {"trace": TRACE | {"stop": False}}])
def test_where_nothing_is_to_be_chosen_parameters_are_used_as_they_are(fold, changes):
    result = run_fold(fold, spec(parameters={"aggressiveness": 0.2, "n_steps": 300}, **changes))
    assert result.selection.empty
    named = ("n_steps", "aggressiveness", "at_last_step", "at_grid_edge")
    assert [result.fit[name] for name in named] == [300, 0.2, False, False]


def test_ends_of_grids_and_traces_are_recorded(fold):
    grid = {"select": {"regularization": [0.01, 0.02, 0.32]}, "trace": {"steps": 40, "points": 4, "first": 10}}
    fit = run_fold(fold, spec("LEGO", **grid)).fit
    ends = (fit["n_steps"] == 40, fit["selected"]["regularization"] != 0.02)
    assert (fit["at_last_step"], fit["at_grid_edge"]) == ends != (False, False), "40 pairs are too few"


def test_mistakes_say_what_to_do(study, fold):
    with pytest.raises(LookalikeError, match=r"fold 7 is not in the split table, which has folds \[0, 1\]"):
        run_fold(Fold(*study, 7, 5, "toy"), spec())
    with pytest.raises(LookalikeError, match="OASIS has no parameter 'agressiveness'"):
        fixed(fold, agressiveness=1)


def test_what_takes_too_long_leaves_every_file_and_says_why(fold, tmp_path):
    line = protocol.make(fold, spec(select={"n_steps": [300, ENDLESS]}, time_limit=0.3), tmp_path, NAMES)
    why = "choosing and fitting took more than 0.3 s of processor time, in the selection"
    assert line.startswith(why)
    assert {path.name for path in tmp_path.iterdir()} == set(MAKERS["protocol"])
    rows = pd.read_parquet(tmp_path / "results.parquet")
    assert (len(rows), list(rows)) == (0, list(COLUMN_TYPES))
    assert pd.read_parquet(tmp_path / "selection.parquet").empty
    assert Rankings.load(tmp_path / "ranks.npz").n_queries == 0
    assert json.loads((tmp_path / "fit.json").read_text())["not_converged"] == why
    with pytest.raises(LookalikeError, match=f"holds no model: {why}"):
        load(tmp_path / "model.lookalike")
    assert trace_fold(fold, spec(trace={"steps": ENDLESS, "points": 3}, time_limit=0.2)).empty


TOGETHER, ENDLESS_FIT, QUICK = [0.6] * 4, [0, 0, 0, 60], [0] * 4


@pytest.mark.parametrize(("seconds", "stage"), [(TOGETHER, "selection"), (ENDLESS_FIT, "final fit"), (QUICK, "")])
def test_candidates_and_the_final_fit_share_one_limit(fold, monkeypatch, seconds, stage):
    seconds = iter(seconds)
    slow = SimpleNamespace(fit=lambda X, y: burn(next(seconds)) or Euclidean().fit(X, y))
    for module in (protocol, selection):
        monkeypatch.setattr(module, "make_learner", lambda *_: slow)
    why = run_fold(fold, spec("Euclidean", select={"any": [1, 2, 3]}, time_limit=1)).fit["not_converged"]
    assert (why.endswith(stage), bool(why)) == (True, bool(stage))


def test_a_curve_starts_at_euclidean_and_follows_the_final_fit(fold, tmp_path):
    traces.make(fold, spec(trace=TRACE), tmp_path, NAMES)
    curve = pd.read_parquet(tmp_path / "curve.parquet")
    keys = curve[["study", "setting", "method", "repeat"]].drop_duplicates()
    assert keys.to_numpy().tolist() == [["category", "toy", "oasis", "0"]]
    assert set(curve["metric"]) == {"traced_map", "traced_train_map", "loss_rate"}
    test = traced(curve)
    assert (test.index[0], test.index[-1]) == (0, 2000)
    # no step before the first has a loss
    assert traced(curve, "loss_rate").index.equals(test.index[1:])
    start, end = fixed(fold, n_steps=0), fixed(fold, aggressiveness=0.3, n_steps=2000)
    assert test[0] == pytest.approx(start.rankings.mean_average_precision(), abs=1e-12)
    assert test[2000] == pytest.approx(end.rankings.mean_average_precision(), abs=1e-12)
    assert traced(curve, "traced_train_map")[[0, 2000]].tolist() == [
        start.metrics["train_map"],
        end.metrics["train_map"],
    ]
    curve = trace_fold(fold, spec(trace=TRACE, parameters={"projection": "psd"}))
    step = int(traced(curve).index[2])
    expected = fixed(fold, aggressiveness=0.3, n_steps=step, projection="psd").rankings.mean_average_precision()
    assert traced(curve)[step] == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_learner_that_stops_by_itself_is_traced_past_its_stop(study):
    fold = Fold(*study, 1, 5, "toy")
    few = spec("MCML", parameters={"max_iter": 4}, trace={"steps": 30, "points": 9, "first": 1, "stop": False})
    curve, own = trace_fold(fold, few), run_fold(fold, few)
    assert (traced(curve).index[0], traced(curve).index[-1]) == (0, 30)
    assert (np.diff(traced(curve, "objective")) <= 0).all()
    assert own.fit["n_steps"] == 4
    assert traced(curve)[4] == pytest.approx(own.rankings.mean_average_precision(), abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_learner_of_a_batch_stops_where_validation_says(study):
    fold = Fold(*study, 1, 5, "toy")
    result = run_fold(fold, spec("MCML", parameters={"tol": 0.0}, trace={"steps": 6, "points": 50, "first": 1}))
    table = result.selection
    assert table["step"].tolist() == [*range(7)]
    # validation images, as if they were the test images of a fold that learns from the cut's others
    cut = fold.split[fold.split["role"] == "train"]
    cut = cut.assign(role=np.where(cut["validation"], "test", "train"), validation=False)
    other = run_fold(replace(fold, split=cut), spec("MCML", parameters={"tol": 0.0, "max_iter": 4}))
    assert table["map"][4] == pytest.approx(other.rankings.mean_average_precision(), abs=1e-12)
    chosen = int(table["map"].argmax())
    fixed = run_fold(fold, spec("MCML", parameters={"tol": 0.0, "max_iter": chosen}))
    assert (result.fit["n_steps"], result.fit["converged"]) == (chosen, None), "a chosen stop is no limit"
    np.testing.assert_array_equal(result.rankings.ranks, fixed.rankings.ranks)


def test_fewer_images_are_parts_of_more_and_choose_by_at_least_two(fold):
    smaller, larger = (few_images.with_images(fold, n) for n in (3, 6))
    parts = [part.images for part in (smaller, larger, fold)]
    for few, more in pairwise(parts):
        assert set(few["train"].rows) < set(more["train"].rows)
        assert set(few["test"].rows) == set(more["test"].rows)
    assert {name: len(parts[0][name].rows) for name in ("learn", "validation")} == {"learn": 4, "validation": 8}
    settings = FewImagesOfMethods(images=[6], fits={"oasis": spec(**CHOSEN)})
    table = few_images.numbers_of(fold, settings)
    expected = run_fold(larger, spec(**CHOSEN)).rankings.mean_average_precision()
    assert table[["method", "metric", "x", "value"]].to_numpy().tolist() == [
        ["oasis", "map of few images", 6, expected]
    ]


def test_scores_before_a_projection_choose_the_stop_of_oasis(fold):
    projected = {"parameters": {"projection": "psd", "aggressiveness": 0.3}, "trace": TRACE | {"as_learned": True}}
    plain = spec(parameters={"aggressiveness": 0.3}, trace=TRACE)
    first, second = run_fold(fold, spec(**projected)), run_fold(fold, plain)
    pd.testing.assert_frame_equal(first.selection, second.selection)
    assert first.fit["n_steps"] == second.fit["n_steps"]
    assert first.fit["symmetry_index"] == pytest.approx(1) != second.fit["symmetry_index"]


def test_new_classes_are_ranked_by_what_the_other_half_taught(fold):
    settings, scores = {"steps": 400, "points": 3, "aggressiveness": 0.3}, []
    classes = np.unique(fold.split["label"])[generator(5, "category", "toy", "fold", 0, "transfer").permutation(4)]
    for names in (classes[:2], classes[2:]):
        learned = fold.split["label"].isin(names)
        half, (test, labels) = replace(fold, split=fold.split[learned]), rows_of(fold.split[~learned], 0, role="test")
        taught = run_fold(half, spec(select={"aggressiveness": [0.3]}, trace=settings))
        X = tfidf_rows(fold.counts[test], inverse_document_frequencies(fold.counts[half.images["train"].rows]))
        ranked = (taught.rankings, rank_leave_one_out(taught.model, X, labels))
        scores.append([rankings.mean_average_precision() for rankings in ranked])
    table = select(transfer.numbers_of(fold, Transfer(**settings)), method="oasis").set_index("metric")["value"]
    assert table[["map of learned classes", "map of new classes"]].tolist() == pytest.approx(
        np.mean(scores, axis=0), abs=1e-3
    )


def test_rankers_have_streams_of_their_own_and_their_average_is_that_of_the_estimator(fold):
    table = rankers.numbers_of(fold, RANKERS)
    assert set(table["method"]) == {"ranker 0", "ranker 1", "ranker 2", "average of 2", "average of 3"}
    last = table[table["x"] == 600].set_index("method")["value"]
    assert table.groupby("x")["value"].nunique()[[0, 600]].tolist() == [1, 5]
    (X_train, X_test), labels = fold.rows("train", "test"), fold.images["test"].labels
    model = AveragedOASIS(aggressiveness=0.2, n_steps=600, n_rankers=2, random_state=fold.seed("rankers"))
    ranked = rank_leave_one_out(model.fit(X_train, fold.images["train"].labels), X_test, labels)
    assert last["average of 2"] == pytest.approx(ranked.mean_average_precision(), abs=1e-12)
