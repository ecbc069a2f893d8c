"""One fold of one method, by a naive reference: nothing leaks, what is written, choices of candidates, time limits."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.core.settings.methods import Fit
from lookalike.core.settings.model import plain
from lookalike.exhibits.results import COLUMN_TYPES, select
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners import AveragedOASIS, Euclidean, load
from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.registry import MODULES, learner_class
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies import selection
from lookalike.studies.category import protocol, side_studies, traces
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import run_fold
from lookalike.studies.category.study import MAKERS
from lookalike.studies.category.traces import trace_fold
from lookalike.studies.fits import TimeLimitReachedError, cpu_time_limit
from lookalike.studies.selection import best_candidate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = {"dataset": "toys", "representation": "words40", "subset": "toy", "method": "oasis", "fold": 0}
TRACE = {"steps": 2000, "points": 5, "aggressiveness": 0.3}
CHOSEN = {"select": {"aggressiveness": [0.03, 0.3]}, "trace": TRACE}
GIVEN = {"parameters": {"aggressiveness": 0.2, "n_steps": 300}}
ENDLESS = 2_000_000_000


@pytest.fixture(scope="module")
def study():
    """Counts of 4 classes x 20 images, in which words tell classes apart a little, and two folds of 10 + 5 images."""
    rng = np.random.default_rng(0)
    labels = np.repeat([f"{c:03d}.class" for c in range(4)], 20)
    topics = rng.dirichlet(np.full(40, 0.5), size=4)
    counts = np.stack([rng.multinomial(40, 0.5 * topics[i // 20] + 0.5 / 40) for i in range(80)])
    images = np.array([[20 * c + rng.permutation(20)[:15] for c in range(4)] for _ in range(2)])
    folds, _, places = (part.ravel() for part in np.indices(images.shape))
    split = pd.DataFrame({"fold": folds, "image_id": images.ravel(), "label": labels[images.ravel()]})
    split = split.assign(role=np.where(places < 10, "train", "test"), validation=places < 2)
    split = split.sample(frac=1, random_state=1).astype({"fold": np.int8, "image_id": np.int32})
    return sp.csr_array(counts.astype(np.int32)), split


@pytest.fixture
def fold(study):
    return Fold(*study, 0, 5, "toy")


def spec(learner="OASIS", **more):
    return Fit(learner=learner, **more)


def fixed(fold, **parameters):
    return run_fold(fold, spec(parameters=parameters))


def images_of(split, role, number=0, validation=(False, True)):
    """Images of a role, ascending, and their classes."""
    rows = split[(split["fold"] == number) & (split["role"] == role) & split["validation"].isin(validation)]
    rows = rows.sort_values("image_id")
    return rows["image_id"].to_numpy(), rows["label"].to_numpy(dtype=str)


def naive(counts, learner, learned, *ranked):
    """A learner fitted to images with the idf of those alone, and how each of other sets of images ranks itself."""
    idf = inverse_document_frequencies(counts[learned[0]])
    model = learner.fit(tfidf_rows(counts[learned[0]], idf), learned[1])
    return model, *(rank_leave_one_out(model, tfidf_rows(counts[ids], idf), labels) for ids, labels in ranked)


def precision(rankings, ties=2e-3):
    """Their mean average precision; another order of the images may decide ties otherwise."""
    return pytest.approx(rankings.mean_average_precision(), abs=ties)


def traced(curve, metric="traced_map"):
    return select(curve, metric=metric).set_index("x")["value"]


@pytest.mark.parametrize(
    ("learner", "more", "limit", "among"),
    [
        ("Euclidean", {}, "", ""),
        ("OASIS", GIVEN, "", ""),
        ("OASIS", GIVEN | {"select": {"aggressiveness": [0.2]}}, "", ""),
        # a trace that does not stop leaves the learner to its own end
        ("OASIS", GIVEN | {"trace": TRACE | {"stop": False}}, "", ""),
        ("OASIS", {**CHOSEN, "parameters": {"dtype": "float32"}}, "n_steps", "aggressiveness"),
        ("MCML", {"parameters": {"tol": 0.0}, "trace": {"steps": 6, "points": 50, "first": 1}}, "max_iter", ""),
    ],
)
def test_a_fold_is_chosen_on_the_cut_refitted_on_all_and_ranks_the_test_images(study, learner, more, limit, among):
    counts, split = study
    result = run_fold(Fold(counts, split, 1, 5, "toy"), spec(learner, **more))
    seeds = {purpose: integer_seed(5, "category", "toy", "fold", 1, purpose) for purpose in ("selection", "fit")}

    def learner_of(purpose, **chosen):
        own = learner_class(learner)(**more.get("parameters", {}) | chosen)
        return own.set_params(**{key: seeds[purpose] for key in own.get_params() if key == "random_state"})

    train, test = images_of(split, "train", 1), images_of(split, "test", 1)
    learn, validation = (images_of(split, "train", 1, [is_held_out]) for is_held_out in (False, True))
    chosen, table = {}, result.selection
    for row in table.to_dict("records"):
        own = {limit: row["step"]} | ({among: row[among]} if among else {})
        assert row["map"] == precision(naive(counts, learner_of("selection", **own), learn, validation)[1])
        if row["map"] == table["map"].max() and not chosen:
            chosen = own
    assert bool(chosen) == bool(limit) != table.empty
    assert list(table)[-3:] == ["step", "map", "loss_rate"]
    queries = result.rankings.query_ids
    labels = dict(zip(*test, strict=True))
    assert sorted(queries) == test[0].tolist()
    in_order = np.array([labels[image] for image in queries])
    assert in_order.tolist() != sorted(in_order), "ties keep the order of the rows, which must not know the classes"
    model, expected, of_training = naive(counts, learner_of("fit", **chosen), train, (queries, in_order), train)
    np.testing.assert_array_equal(result.rankings.ranks, expected.ranks)
    assert result.metrics == {"map": precision(expected), "train_map": precision(of_training, 0.01)}
    fit = result.fit
    assert fit["n_updates"] == getattr(model, "n_updates_", None)
    assert (fit["seeds"], fit["selected"]) == (seeds, {name: getattr(model, name) for name in more.get("select", {})})
    assert [fit[f"n_{name}"] for name in ("train", "test", "classes", "words")] == [40, 20, 4, 40]
    assert set(fit["seconds"]) == set(fit["cpu_seconds"]) == {"features", "selection", "fit", "rank"}
    if learner == "OASIS":
        assert (fit["n_steps"], fit["aggressiveness"]) == (model.n_steps_, model.aggressiveness)
    assert chosen == {} or (fit["n_steps"], fit["converged"]) == (chosen[limit], None), "a chosen stop is no limit"


def test_neither_test_images_nor_the_order_of_the_table_change_what_is_learned(study, fold):
    counts, split = study
    changed, (test, _) = counts.toarray(), images_of(split, "test")
    changed[test] = changed[test][:, ::-1]
    folds = (fold, Fold(sp.csr_array(changed), split, 0, 5, "toy"), Fold(counts, split.iloc[::-1], 0, 5, "toy"))
    first, other, turned = (run_fold(changed, spec(**CHOSEN)) for changed in folds)
    for again in (other, turned):
        pd.testing.assert_frame_equal(first.selection, again.selection)
        np.testing.assert_array_equal(first.model.W_, again.model.W_)
    np.testing.assert_array_equal(first.rankings.ranks, turned.rankings.ranks)
    assert not np.array_equal(first.rankings.ranks, other.rankings.ranks)
    assert fixed(Fold(counts, split, 0, 6, "toy")).fit["seeds"] != first.fit["seeds"]


def test_ends_of_grids_and_traces_are_recorded_and_a_mistake_says_what_to_do(fold):
    grid = {"select": {"regularization": [0.01, 0.02, 0.32]}, "trace": {"steps": 40, "points": 4, "first": 10}}
    fit = run_fold(fold, spec("LEGO", **grid)).fit
    ends = (fit["n_steps"] == 40, fit["selected"]["regularization"] != 0.02)
    assert (fit["at_last_step"], fit["at_grid_edge"]) == ends != (False, False), "40 pairs are too few"
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


@pytest.mark.parametrize(("seconds", "stage"), [([0.6] * 4, "selection"), ([0, 0, 0, 60], "final fit"), ([0] * 4, "")])
def test_candidates_and_the_final_fit_share_one_limit(fold, monkeypatch, seconds, stage):
    seconds = iter(seconds)
    slow = SimpleNamespace(fit=lambda X, y: burn(next(seconds)) or Euclidean().fit(X, y))
    for module in (protocol, selection):
        monkeypatch.setattr(module, "make_learner", lambda *_: slow)
    why = run_fold(fold, spec("Euclidean", select={"any": [1, 2, 3]}, time_limit=1)).fit["not_converged"]
    assert (why.endswith(stage), bool(why)) == (True, bool(stage))


def test_a_curve_starts_at_euclidean_follows_the_final_fit_and_goes_past_a_stop_of_its_own(fold, tmp_path, study):
    traces.make(fold, spec(trace=TRACE), tmp_path, NAMES)
    curve = pd.read_parquet(tmp_path / "curve.parquet")
    keys = curve[["study", "setting", "method", "repeat"]].drop_duplicates()
    assert keys.to_numpy().tolist() == [["category", "toy", "oasis", "0"]]
    # no step before the first has a loss
    assert traced(curve, "loss_rate").index.equals(traced(curve).index[1:])
    assert set(curve["metric"]) == {"traced_map", "traced_train_map", "loss_rate"}
    for step in (0, 2000):
        expected = fixed(fold, aggressiveness=0.3, n_steps=step).metrics
        found = {"map": traced(curve)[step], "train_map": traced(curve, "traced_train_map")[step]}
        assert found == pytest.approx(expected, abs=1e-12)
    curve = traced(trace_fold(fold, spec(trace=TRACE, parameters={"projection": "psd"})))
    step = int(curve.index[2])
    expected = fixed(fold, aggressiveness=0.3, n_steps=step, projection="psd").metrics["map"]
    assert (curve.index[-1], curve[step]) == (2000, pytest.approx(expected, abs=1e-12))
    fold = Fold(*study, 1, 5, "toy")
    few = spec("MCML", parameters={"max_iter": 4}, trace={"steps": 30, "points": 9, "first": 1, "stop": False})
    curve, own = trace_fold(fold, few), run_fold(fold, few)
    assert (traced(curve).index[0], traced(curve).index[-1], own.fit["n_steps"]) == (0, 30, 4)
    assert (np.diff(traced(curve, "objective")) <= 0).all()
    assert traced(curve)[4] == pytest.approx(own.metrics["map"], abs=1e-12)


def test_fewer_images_are_parts_of_more_and_choose_by_at_least_two(fold):
    smaller, larger = (side_studies.with_images(fold, n) for n in (3, 6))
    parts = [part.images for part in (smaller, larger, fold)]
    for few, more in pairwise(parts):
        assert set(few["train"].rows) < set(more["train"].rows)
        assert set(few["test"].rows) == set(more["test"].rows)
    assert {name: len(parts[0][name].rows) for name in ("learn", "validation")} == {"learn": 4, "validation": 8}
    table = side_studies.numbers_of("few_images", fold, {"images": [6], "fits": {"oasis": plain(spec(**CHOSEN))}})
    (found,) = table[["method", "metric", "x", "value"]].to_numpy().tolist()
    assert found == ["oasis", "map of few images", 6, run_fold(larger, spec(**CHOSEN)).metrics["map"]]


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
        half = fold.split["label"].isin(names)
        taught = run_fold(replace(fold, split=fold.split[half]), spec(select={"aggressiveness": [0.3]}, trace=settings))
        (train, _), (test, labels) = images_of(fold.split[half], "train"), images_of(fold.split[~half], "test")
        X = tfidf_rows(fold.counts[test], inverse_document_frequencies(fold.counts[train]))
        ranked = rank_leave_one_out(taught.model, X, labels).mean_average_precision()
        scores.append([taught.metrics["map"], ranked])
    table = select(side_studies.numbers_of("transfer", fold, settings), method="oasis").set_index("metric")["value"]
    found = table[["map of learned classes", "map of new classes"]].tolist()
    assert found == pytest.approx(np.mean(scores, axis=0), abs=1e-3)


def test_rankers_have_streams_of_their_own_and_their_average_is_that_of_the_estimator(fold):
    settings = {"count": 3, "steps": 600, "points": 4, "aggressiveness": 0.2, "averages": [2, 3]}
    table = side_studies.numbers_of("rankers", fold, settings)
    assert set(table["method"]) == {"ranker 0", "ranker 1", "ranker 2", "average of 2", "average of 3"}
    assert table.groupby("x")["value"].nunique()[[0, 600]].tolist() == [1, 5]
    model = AveragedOASIS(aggressiveness=0.2, n_steps=600, n_rankers=2, random_state=fold.seed("rankers"))
    test = fold.images["test"]
    _, ranked = naive(fold.counts, model, images_of(fold.split, "train"), (test.rows, test.labels))
    found = select(table, x=600, method="average of 2")["value"].item()
    assert found == pytest.approx(ranked.mean_average_precision(), abs=1e-12)


FITS = """
import json, os, sys
import numpy as np
import scipy.sparse as sp
from lookalike.learners.registry import MODULES, learner_class
from lookalike.core.settings.methods import Fit
from lookalike.studies.fits import warm_up

def compiled():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("lookalike.")]
    values = [value for module in modules for value in vars(module).values()]
    kernels = [value for value in values if type(value).__name__ == "CPUDispatcher"]
    return {(kernel.__name__, str(types)) for kernel in kernels for types in kernel.signatures}

def compiled_by_a_fit(name):
    warm_up(Fit(learner=name))
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


COLUMNS = ["aggressiveness", "step", "map", "loss_rate"]


@pytest.mark.parametrize(("n_max", "n_points", "first"), [(250_000, 60, 100), (7, 80, 1), (50, 3, 5000), (9, 1, 1)])
def test_steps_ascend_evenly_in_the_logarithm_and_end_at_the_last(n_max, n_points, first):
    steps = log_spaced_steps(n_max, n_points, first)
    assert (steps.dtype, steps[-1]) == (np.int64, n_max)
    assert 1 <= len(steps) <= n_points
    assert np.all(np.diff(steps) > 0)
    # every point of the scale is there, rounded to a whole step
    exact = np.geomspace(min(first, n_max), n_max, n_points) if n_points > 1 else np.array([n_max])
    assert np.abs(steps - exact[:, None]).min(axis=1).max() <= 0.501
    for bad in ((0, 5, 1), (10, 0, 1), (10, 5, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            log_spaced_steps(*bad)


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        ([(0.1, 10, 0.2), (0.3, 20, 0.4), (0.1, 30, 0.3)], (0.3, 20)),
        # ties go to fewer steps, then to the smaller aggressiveness
        ([(0.01, 30, 0.4), (1.0, 20, 0.4), (0.3, 20, 0.4), (0.1, 5, 0.3)], (0.3, 20)),
        # several validation cuts are averaged
        ([(0.1, 10, 0.9), (0.1, 10, 0.1), (0.3, 10, 0.6), (0.3, 10, 0.6)], (0.3, 10)),
    ],
)
def test_the_best_mean_map_wins_in_any_order(rows, chosen):
    for order in (rows, rows[::-1], sorted(rows)):
        table = pd.DataFrame([(*row, 0.5) for row in order], columns=COLUMNS)
        assert best_candidate(table) == ({"aggressiveness": chosen[0]}, chosen[1])
    assert best_candidate(table.drop(columns="aggressiveness"))[0] == {}


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def swallow_once(seconds):
    try:
        burn(seconds)
    except TimeLimitReachedError:
        burn(seconds)


@pytest.mark.parametrize("work", [burn, swallow_once])
def test_work_that_takes_too_long_is_broken_off_and_nothing_is_left_behind(work):
    before, start = signal.getsignal(signal.SIGPROF), time.process_time()
    with (
        pytest.raises(TimeLimitReachedError, match=r"^the fit took more than 0.3 s of processor time$"),
        cpu_time_limit(0.3, "the fit"),
    ):
        work(5)
    # the timer counts ticks of the kernel, of which some come early on a loaded machine
    assert 0.2 < time.process_time() - start < 3
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    with cpu_time_limit(0.05, "the fit"):
        time.sleep(0.1)  # waiting is not work
    with cpu_time_limit(None, "the fit"):
        burn(0.05)
