"""The category study: its plan, verdicts on claims, tables and figures by hand, and galleries."""

import math
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path

import made_category as made
import numpy as np
import pandas as pd
import pytest
from contract import FAILS, HOLDS, NOT_RUN, OPEN, asked_of, changed_study, grid, printed, verdict_on
from contract import drawn as drawn_of
from made_category import DRAFT, IDS, JMLR, LABELS, PSD, UNFINISHED, VAR10, VAR20, fits, rows, study, study_with_all
from plotted import named, ruled, words_on

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.model import plain
from lookalike.exhibits import words
from lookalike.exhibits.claims import claim_records, decide
from lookalike.exhibits.image_grid import RIGHT
from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.style import LOOKS, new_figure
from lookalike.features import lbp
from lookalike.learners import OASIS, Euclidean
from lookalike.ranking.comparison import class_jackknife, corrected_t_test
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.studies.category import contrasts, pictures, protocol
from lookalike.studies.category.folds import symmetry_index
from lookalike.studies.category.results import kept_after_the_end
from lookalike.studies.category.settings import Halves

study_of = partial(changed_study, "category")


def test_classes_are_those_of_print_settings_are_as_many_where_they_are_equal_and_examples_of_a_rated_fold():
    learned = ["oasis", "mcml", "lego", "lmnn"]
    # the demo has no such run of LMNN, whose three settings are no match for 21
    for dataset, n_settings, methods in (("caltech256", 183, learned), ("caltech20", 21, learned[:-1])):
        study = study_of(dataset)
        counts = {method: study.n_settings(run) for method, run in study.equal_choices.items()}
        assert counts == dict.fromkeys(methods, n_settings) | {"euclidean": 1}
        # the paper's protocol: OASIS its stop alone, LEGO and LMNN three values each, MCML its own stop
        assert not study.spec("oasis").select
        assert {method: study.n_settings(method) for method in ("mcml", "lmnn")} == {"mcml": 1, "lmnn": 3}
    with pytest.raises(LookalikeError, match=r"caltech20 has no subset 'var10' in config\.yaml; there are: "):
        study.params("split_images", subset="var10")
    # a file laid over it may run fewer methods
    assert study_of("caltech256", methods=["oasis", "euclidean"]).equal_runs == {"oasis": "oasis-equal"}
    demo, papers = study_of("demo"), study_of("caltech256")
    assert demo.example_fold() == (demo.ratings.subset, demo.ratings.fold)
    assert not [file for file in papers.inputs()["rankings"] if "lmnn-naive" in file or "-equal" in file]
    fits = papers.params("run_side_study", side="few_images", subset="var20")["side"]["fits"]
    assert list(fits) == ["oasis", "oasis-psd", "mcml", "lego", "euclidean"]


def test_a_subset_has_methods_and_changes_of_its_own():
    small = {"classes": "first 3", "methods": ["oasis", "euclidean"], "overrides": {"oasis": {"trace": {"steps": 9}}}}
    subsets = {"demo10": {"classes": "first 10"}, "three": small}
    study = study_of("demo", "exhibits", "ratings", subsets=subsets)
    run = {tuple(file.split("/")[4:6]) for file in study.runs("fit.json")}
    assert run == {*product(("demo10", "three"), ("oasis", "euclidean")), ("demo10", "lego")}
    specs = [study.params("run", ["oasis"], subset=subset)["specs"]["oasis"] for subset in subsets]
    assert [spec["trace"]["steps"] for spec in specs] == [60_000, 9]
    assert not {"title", "note", "batch"} & set(specs[0]), "what is shown decides no fit"
    small["methods"].append("lmnn")
    with pytest.raises(LookalikeError, match=r"subsets.three"):
        study_of("demo", "exhibits", "ratings", subsets=subsets)


CLAIMS = asked_of("category")


def finding(claim, toys):
    """Return what a claim's predicate answers, without gates, and what decided it."""
    return verdict_on(replace(CLAIMS[claim], limits=()), toys)


def given(*numbers, **more):
    return {"numbers": [row for part in numbers for row in part], **more}


def top_k():
    k = np.arange(1, 31)
    curves = {method: level * np.exp(-k / 40) for method, level in {"oasis": 0.3, "mcml": 0.25, "lego": 0.24}.items()}
    fitted = fits(not_converged={"lmnn": UNFINISHED, "euclidean": UNFINISHED})
    return given(rows("p@k", steps=k.tolist(), **curves), fits=fitted)


def psd(stopped=(), **peaks):
    """Curves that rise to a peak and lose a tenth of it, or what a pair says; OASIS stops at step 1,000."""
    curves = {name: (0.2, *(peak if isinstance(peak, tuple) else (peak, 0.9 * peak))) for name, peak in peaks.items()}
    stops = {"aggressiveness": 0.1, "n_steps": 1000.0, "at_last_step": False} | dict(stopped)
    curves = rows("traced_map", subset="var20", **curves)
    return given(curves, fits=fits("var20", **stops), subsets={"var20": VAR20})


def ranked(average, single, spread=0.001):
    levels = {f"ranker {ranker}": np.add(single, ranker * spread) for ranker in range(4)} | {"average of 5": average}
    return given(rows("ranker_map", steps=(100, 1000, 10_000), **levels))


def ahead(**differences):
    """Numbers of OASIS, and of methods that it is so much above."""
    return rows(oasis=0.4, **{method: 0.4 - difference for method, difference in differences.items()})


FOUR = {"mcml": 0.04, "lego": 0.06, "lmnn": 0.09, "euclidean": 0.1}
THREE = {"oasis_proj": 0.0, "oasis_online_proj": 0.005, "oasis_dissim": 0.02}
FIVE = {"oasis": 0.33, "mcml": 0.29, "lego": 0.27, "lmnn": 0.24, "euclidean": 0.23}
EARLY, LATE = (0.2, 0.3, 0.31, 0.31, 0.3), (0.2, 0.22, 0.24, 0.26, 0.3)


# curves with a peak at a step that the other has not, and one past the common end
OFTEN = rows("traced_map", psd_100=(0.2, 0.35, 0.3, 0.9), subset="var20", steps=(0, 400, 1000, 9000))
PEAK_BETWEEN = given(OFTEN, rows("traced_map", psd_1000=(0.2, 0.34, 0.3), subset="var20"), subsets={"var20": VAR20})
# a way of projecting that is better than OASIS, and variants that are not
PROJECTED = psd(oasis=(0.3, 0.3), psd_100=(0.35, 0.35))
CONSTRAINED = PROJECTED | given(PROJECTED["numbers"], ({**row, "setting": "var20"} for row in ahead(**THREE)))
FEW = given(rows("map of few images", oasis=(0.2, 0.2), oasis_psd=(0.23, 0.23), steps=(5, 20)))
ENDS = {"psd_100": 0.3, "psd_1000": 0.3, "psd_end": 0.33}
LATE_PROJECTION = {"trace": {}, "parameters": {"projection_interval": 1001}}
ONLY_OASIS = {"var10": VAR10, "var20": VAR20 | {"methods": ["oasis"]}}


@pytest.mark.parametrize(
    ("claim", "numbers", "verdict", "words"),
    [
        # of any subset: which ones NIPS had is not in our copy
        ("nips-psd", given(rows(**FIVE, oasis_psd=0.28)), FAILS, "1.0 points lower than MCML"),
        ("jmlr-declines", given(rows("traced_map", oasis=(0.2, 0.3, 0.29))), HOLDS, "of OASIS: 3.3%"),
        ("jmlr-averages", ranked((0.3, 0.31, 0.32), (0.27,) * 3), HOLDS, "higher than"),
        ("jmlr-runs-agree", ranked((0.3,) * 3, (0.3,) * 3, 0.02), FAILS, ": 2.6"),
        ("jmlr-transfer", given(rows("map of new classes", oasis=0.25, euclidean=0.23)), HOLDS, "2.0 points"),
        ("jmlr-almost-symmetric", {"fits": fits(learned_symmetry=0.85)}, FAILS, "0.85"),
        ("jmlr-very-few-images", FEW, HOLDS, "3.0 points"),
        ("jmlr-psd-decline", psd(oasis=(0.3, 0.25), psd_100=(0.3, 0.29)), HOLDS, "13.3 points"),
        ("jmlr-psd-end", psd(psd_100=0.3, psd_1000=0.31, psd_end=0.33), HOLDS, "3.0 points"),
        ("jmlr-early-stop", given(rows("traced_map", oasis=EARLY), rows(oasis=0.305)), HOLDS, "0.5 points"),
        # a subset that does not run the variants says nothing against them
        ("jmlr-variants", given(ahead(**THREE), subsets=ONLY_OASIS), HOLDS,
         "2.0 points higher than Dissim-OASIS in mAP, p < 0.001; Var20: Proj-OASIS not run"),
        # a curve that still rises decides nothing
        ("jmlr-declines", given(rows("traced_map", oasis=LATE)), OPEN, "of OASIS: 0.0% so far"),
        ("jmlr-declines", given(rows("traced_map", oasis=(0.2, 0.22, 0.3, 0.29))), OPEN, "of OASIS: 3.3% so far"),
        ("jmlr-early-stop", given(rows("traced_map", oasis=LATE), rows(oasis=0.3)), OPEN,
         "OASIS and best stop differ by 0.0 points in mAP so far"),
        ("jmlr-psd-rarely", psd(psd_100=0.3, psd_1000=(0.3, 0.33)), OPEN, "3.0 points higher than"),
        ("jmlr-psd-end", psd(**ENDS | {"psd_end": (0.2, 0.33)}), OPEN,
         "10.0 points lower than psd-1000 in mAP at stop so far"),
        ("jmlr-psd-end", psd({"at_last_step": True}, **ENDS), OPEN,
         "3.0 points higher than psd-1000 in mAP at stop so far"),
        ("jmlr-psd-end", psd({"n_steps": 4000.0}, **ENDS), OPEN,
         "2.7 points higher than psd-1000 in mAP at stop so far"),
        # before its first projection on the way a scheme is the one at the end
        ("jmlr-psd-end", psd(**ENDS | {"psd_1000": 0.33}) | {"specs": {"psd-1000": LATE_PROJECTION}}, OPEN,
         "no map at stop here"),
        ("jmlr-psd-decline", psd(oasis=(0.3, 0.299), psd_100=(0.3, 0.299)), OPEN,
         "differ by 0.0 points in decline after the peak so far"),
        # schemes are scored at the validation stop and not at their peaks, which are read on their own steps
        ("jmlr-psd-end", psd(psd_100=(0.3, 0.31, 0.3), psd_1000=(0.3, 0.31, 0.3), psd_end=(0.28, 0.4, 0.3)), FAILS,
         "psd-end is 2.0 points lower than psd-1000 in mAP at stop"),
        ("jmlr-psd-rarely", PEAK_BETWEEN, FAILS, "1.0 points lower than psd-100 in mAP at the peak, p < 0.001"),
        ("jmlr-constraints", CONSTRAINED, FAILS, "OASIS is 5.0 points lower than psd-100"),
        # at the size of the gallery all rankings have the same images
        ("jmlr-every-k", top_k(), HOLDS, "at 29 of 29 values of k"),
    ],
)  # fmt: skip
def test_a_verdict_and_what_it_is_told_by(claim, numbers, verdict, words):
    found, evidence = finding(claim, study(**numbers))
    assert found == verdict, evidence
    assert words in evidence


def overridden(method, **changes):
    return {"subsets": {"var10": VAR10 | {"overrides": {method: changes}}}}


def at_the_edge(n_folds):
    """LEGO chose an end of its grid in so many folds of five."""
    return {"fits": fits(at_grid_edge={"lego": True}).assign(at_grid_edge=lambda rows: rows["fold"] < n_folds)}


SLOW = {"fits": fits(not_converged={"lmnn": UNFINISHED})}


@pytest.mark.parametrize(
    ("numbers", "gate"),
    [
        ({}, ""),
        ({"methods": ["oasis", "mcml", "lego", "euclidean"]}, "not run"),
        ({"fits": fits(converged={"lmnn": False})}, "limit"),
        (at_the_edge(1) | overridden("lego", select={"regularization": [0.02, 0.08]}), ""),
        (at_the_edge(2) | overridden("lego", select={"regularization": [0.02, 0.08]}), "limit"),
        # the grid of the papers, and one more
        (at_the_edge(5), ""),
        (at_the_edge(5) | overridden("lego", select={"regularization": [0.005, 0.02, 0.08, 0.32]}), ""),
        ({"fits": fits(at_last_step={"lego": True, "lmnn": False})}, "limit"),
        ({"fits": fits(at_last_step={"oasis": True})}, ""),
        (SLOW | overridden("lmnn", time_limit=600), "limit"),
        # the papers gave up after as many seconds
        (SLOW, ""),
    ],
)
def test_gates_are_met_by_what_the_study_recorded(numbers, gate):
    assert decide(CLAIMS["jmlr-lego-above-lmnn"], study(rows(**FIVE), **numbers)).reason == gate


def test_claims_without_numbers_are_open_and_one_about_every_set_fails_by_a_single_one():
    nothing = study()
    assert {finding(claim, nothing)[0] for claim in CLAIMS} <= {OPEN, NOT_RUN}
    found = decide(CLAIMS["jmlr-lego-below-euclidean"], study(rows(oasis=0.33), splits={"train": 24, "test": 16}))
    assert (found.reason, found.why) == ("not run", "None of its parts was run.")

    def row_of(**on_var20):
        numbers = ahead(**FOUR) + [{**row, "setting": "var20"} for row in ahead(**on_var20) if on_var20]
        toys = study(numbers, subsets={"var10": VAR10} | ({"var20": VAR20} if on_var20 else {}))
        return claim_records(toys).set_index("id").loc["draft-never-worse"]

    alone, broken = row_of(), row_of(**FOUR | {"lego": -0.05})
    assert (alone["verdict"], alone["tried"], alone["untried"]) == (HOLDS, "Var10", "Easy10 and Var20")
    assert (broken["verdict"], broken["evidence"][:6], broken["untried"]) == (FAILS, "Var20:", "Easy10")


@pytest.mark.parametrize("order", [["oasis", "mcml", "euclidean"], ["euclidean", "mcml", "oasis"]])
def test_every_pair_with_rankings_has_both_tests_and_oasis_comes_first(tmp_path, order):
    files, random, numbers = [], np.random.default_rng(0), grid(method=order, repeat="01234")
    for run in numbers.itertuples():
        X = random.random((12, 3)) + 0.1 * len(run.method) * (LABELS[:, None] == np.unique(LABELS))
        ranks = rank_leave_one_out(Euclidean().fit(X), X, LABELS, query_ids=IDS)
        files.append(tmp_path / "var10" / run.method / run.repeat / "ranks.npz")
        files[-1].parent.mkdir(parents=True)
        ranks.save(files[-1])
        numbers.loc[run.Index, "value"] = ranks.mean_average_precision()
    means = 100 * numbers.pivot(index="repeat", columns="method", values="value")
    numbers = numbers.assign(setting="var10", metric="map").to_dict("records")
    toys = study(numbers, methods=order, files={"rankings": [*map(str, files)]})
    found = [row for row in contrasts.contrasts(toys) if row.metric == "map" and row.setting == "var10"]
    found = {(row.first, row.second, row.interval): row for row in found if {row.first, row.second} <= {*order}}
    others = [method for method in order if method != "oasis"]
    pairs = [("oasis", others[0]), ("oasis", others[1]), tuple(others)]
    assert list(found) == [(*pair, interval) for pair in pairs for interval in ("folds", "images")]
    in_print = {"oasis": 33, "mcml": 29, "euclidean": 23}
    for first, second in pairs:
        by_folds, by_images = (found[first, second, interval] for interval in ("folds", "images"))
        test = corrected_t_test(means[first] - means[second], 40, 25)
        assert (by_folds.mean, by_folds.low, by_folds.p) == pytest.approx((test.mean, test.low, test.p))
        assert by_folds.printed == in_print[first] - in_print[second]
        assert by_images.mean == pytest.approx(by_folds.mean)
        assert by_images.low < by_images.mean < by_images.high


def test_claims_are_about_printed_subsets_and_those_of_figure_9_fall_back_on_what_was_traced():
    settings = {(row["paper"], row["setting"]) for row in printed("category")}
    for claim in CLAIMS.values():
        # for NIPS all of them
        assert bool(claim.settings) != claim.id.startswith("nips")
        assert {(claim.paper, setting) for setting in claim.settings} <= settings
    ids = dict(zip(PSD, ("oasis-psd-end", "oasis-psd-20000", "oasis-psd-2000"), strict=True))
    numbers = psd(psd_100=0.3, psd_1000=0.33)["numbers"]
    numbers = [{**row, "method": ids[row["method"]], "setting": "var10"} for row in numbers]
    specs = {ids[method]: made.METHODS[method] for method in PSD}
    toys = study(numbers, projected=list(specs), specs=specs)
    verdict = decide(CLAIMS["jmlr-psd-rarely"], toys)
    assert verdict.outcome == HOLDS
    assert words.evidence(verdict, toys)[0].endswith("in mAP at the peak, p < 0.001")
    assert words.tried_on(verdict, toys) == ("Var10", "20 classes"), "the claim is about other classes"


@pytest.mark.parametrize("solver", ["rows", "gram"])
def test_what_was_learned_is_as_symmetric_as_w_minus_the_identity(solver):
    X, y = np.random.default_rng(3).random((24, 5)), np.repeat(["a", "b", "c"], 8)
    model = OASIS(0.1, n_steps=40, solver=solver, random_state=0).fit(X, y)
    for learned, W in ((False, model.W_), (True, model.W_ - np.eye(5))):
        expected = np.linalg.norm(W + W.T) / 2 / np.linalg.norm(W)
        assert symmetry_index(model, learned=learned) == pytest.approx(expected, rel=1e-4)
    assert symmetry_index(OASIS(0.1, n_steps=0, random_state=0).fit(X, y), learned=True) is None


usual_study = cache(study_with_all)


def drawn(id):
    return drawn_of(usual_study(), id)[0]


SEM = 0.001 * math.sqrt(2.5 / 5)
"""Standard error of the folds of made-up numbers."""


def at_k(k, level=0.33):
    """Precision at k of a method of this mAP."""
    return 1.5 * level * np.exp(-k / 80)


def cell(frame, **keys):
    rows = frame[np.logical_and.reduce([frame[name] == value for name, value in keys.items()])]
    assert len(rows) == 1, keys
    return rows.iloc[0]


def test_halves_are_pooled_to_one_set_whose_interval_leaves_out_classes():
    halves = Halves.model_validate({"count": 4, "printed": {JMLR: "classes=10"}})
    levels = {"oasis": 0.30, "mcml": 0.28, "mcml-factor": 0.24, "euclidean": 0.22}
    rows = grid(setting=halves.numbers(), method=levels, x=[np.nan, 1, 10, 50], repeat=range(2))
    number = rows["setting"].map(halves.numbers()) * np.where(rows["method"] == "oasis", 2, 1)  # which gains more
    rows["value"] = rows["method"].map(levels) + 0.01 * number + 0.1 * rows["repeat"]
    rows = rows.assign(metric=np.where(rows["x"].isna(), "map", "p@k"), repeat=rows["repeat"].astype(str))
    manifest = pd.DataFrame({"image_id": range(20), "label": made.CLASSES, "status": "ok"})
    section = {"methods": ["oasis", "mcml", "euclidean"], "minima": ["mcml-factor"], "halves": plain(halves)}
    without = {"variants": [], "set_aside": [], "timed": [], "equal": {}, "projected": []}
    given = {"tables": {"manifest": manifest}, "specs": {"mcml-factor": {}}, "subsets": None}
    toys = study(rows.to_dict("records"), **given, **section, **without)
    assert [exhibit.id for exhibit in toys.own_exhibits()] == ["learning/tens"]
    (row,) = toys.contrasts.intervals("classes=10", "map", "oasis", "mcml")
    expected = class_jackknife([3, 4, 5, 6], list(toys.classes_of_half.values()))
    assert (row.mean, row.low, row.high, row.p) == pytest.approx((4.5, expected.low, expected.high, expected.p))
    assert (row.n, row.interval, row.printed) == (20, "jackknife over classes", 4)
    table, _ = drawn_of(toys, "learning/tens")
    # 0.325, 0.335, ... of four halves, each the mean of its two folds
    expected = {("oasis", "map"): ["40.0 ± 2.6", "33", 4], ("mcml-factor", "p@10"): ["31.5 ± 1.3", "", 4]}
    for (method, metric), cells in expected.items():
        row = cell(table.frame, method=method, metric=metric)
        assert row[["ours_cell", "printed_cell", "n"]].tolist() == cells
    _, below = table.sheets
    assert below.heads[1:] == ("mAP [95%, jackknife over classes]", "p", "the paper")
    (gap, _, in_print) = next(row for row in below.rows if row[0] == "MCML (early stop)")[1:]
    assert (gap[:6], in_print) == ("+4.5 [", "+4")
    assert toys.scope_of(asked_of("category")["jmlr-better-map"]).settings == ["classes=10"]


@pytest.mark.parametrize(
    ("id", "keys", "expected"),
    [
        # the folds differ by 0.1 point, 33 +- 1.6 is printed
        (f"{JMLR}/table4", {"method": "oasis", "metric": "map"},
         {"ours": 33, "ours_std": 0.1 * math.sqrt(2.5), "ours_cell": "33 ± 0.2", "printed_cell": "33 ± 1.6"}),
        (f"{JMLR}/table4", {"method": "lego", "metric": "p@10"}, {"ours": 100 * at_k(10, 0.27)}),
        (f"{DRAFT}/table1", {"method": "oasis", "metric": "map"},
         {"ours_cell": "0.33 ± 0.002", "printed_cell": "0.33 ± 0.016"}),
        # 24 of 249 other test images share the class of a query
        (f"{JMLR}/fig6", {"method": "chance"}, {"mean": 24 / 249}),
        (f"{JMLR}/fig6", {"method": "oasis", "x": 1}, {"mean": at_k(1), "sem": SEM, "high": at_k(1) + SEM}),
        # 0.43 ± 0.04 and 0.33 ± 0.016 are printed, standard deviations over five folds
        (f"{JMLR}/fig6", {"method": "oasis, printed", "x": 1}, {"mean": 0.43, "sem": 0.04 / math.sqrt(5)}),
        (f"{JMLR}/table5", {"method": "lego"}, {"ours": 1, "printed": 143}),
        (f"{JMLR}/table5", {"method": "mcml"}, {"ours_cell": "*"}),
        (f"{JMLR}/table5", {"method": "oasis"}, {"ours": 0.1, "printed": 0.12}),
        (f"{JMLR}/table5", {"method": "oasis-matlab"}, {"ours_cell": "", "printed_cell": "42 ± 15"}),
        (f"{DRAFT}/table2", {"method": "oasis"}, {"printed_cell": "42 ± 15"}),
        (f"{JMLR}/fig5", {"method": "oasis", "metric": "traced_map", "x": 1000}, {"mean": 0.3, "low": 0.3 - SEM}),
        (f"{JMLR}/fig5", {"method": "euclidean"}, {"mean": 0.23, "metric": "traced_map"}),
        (f"{JMLR}/fig5", {"method": "oasis, upright", "metric": "traced_map"}, {"x": 1000}),
        (f"{JMLR}/fig5", {"method": "oasis, printed"},
         {"mean": 0.33, "low": 0.33 - 0.016 / math.sqrt(5), "sem": 0.016 / math.sqrt(5), "x": 1000}),
        ("learning/transfer", {"metric": "map of new classes", "method": "oasis, minus"}, {"ours": -1}),
        ("learning/few_images", {"method": "oasis", "x": 5}, {"mean": 0.2, "n": 5}),
        ("learning/few_images", {"method": "oasis", "x": 40}, {"mean": 0.33}),
        # 6 seconds for 1,000 steps
        ("learning/budget", {"method": "oasis"}, {"x": 0.6, "mean": 0.25}),
        ("learning/mcml", {"method": "mcml", "metric": "traced_train_map", "x": 2000}, {"mean": 0.9}),
        (f"{JMLR}/fig8", {"method": "oasis-proj", "x": 1}, {"mean": at_k(1, 0.32) - at_k(1)}),
        (f"{JMLR}/fig9", {"method": "psd-100", "x": 1000}, {"mean": 0.3}),
        (f"{JMLR}/text", {"metric": "images_kept"}, {"ours": 2}),
        (f"{JMLR}/text", {"metric": "nonzeros_per_image"}, {"ours": 50}),
        (f"{JMLR}/text", {"metric": "symmetry_index"}, {"ours_cell": "0.950 ± 0.000"}),
    ],
)  # fmt: skip
def test_numbers_by_hand(id, keys, expected):
    row = cell(drawn(id).frame, **keys)
    assert {name: row[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_tables_have_the_papers_form():
    table = drawn(f"{JMLR}/table4")
    first, below = table.sheets
    assert first.heads[:4] == ("10 classes", "", "OASIS", "MCML (early stop)")
    assert below.heading.startswith("Differences: OASIS minus method")
    equal = "mAP, equal settings [95%, over folds]"
    assert below.heads[1:] == ("mAP [95%, over folds]", "p", "mAP [95%, over images]", equal, "p", "the paper")
    assert below.title == "10 classes"
    gaps = {row[0]: row[1:] for row in below.rows}
    assert (*gaps["LEGO"][:2], gaps["LEGO"][-1]) == ("+6.0", "< 0.001", "+6")
    assert (gaps["LEGO"][2][:6], gaps["LEGO"][3]) == ("+6.0 [", "+7.0")
    assert "MCML" not in gaps, "a fit that did not end has no difference"
    assert "The order is OASIS, LEGO, Euclidean: that of the paper." in table.notes
    assert drawn(f"{DRAFT}/table1").sheets[0].title == "Var10"
    _, ratios = drawn(f"{JMLR}/table5").sheets
    of_lego = [(row[0], row[ratios.heads.index("LEGO")]) for row in ratios.rows]
    assert of_lego == [("Over OASIS, ours", "10x"), ("Over OASIS, paper", "1,200x"), ("Paper / ours", "140x")]


def test_numbers_of_other_data_say_so_and_those_of_steps_are_as_many_as_validation_gives():
    table, toys = drawn_of(study_with_all(kind="synthetic"), f"{JMLR}/table4")
    assert "Synthetic images." in toys.differences(table)
    # no hollow markers
    assert not drawn_of(toys, f"{JMLR}/fig6")[0].frame["method"].str.contains("printed").any()
    recorded = {"n_updates": (900.0, 900.0), "n_steps": (500.0, 1000.0), "cpu_seconds_fit": (6.0, 60.0)}
    both = {name: dict(zip(("oasis", "oasis-rows"), values, strict=True)) for name, values in recorded.items()}
    table, _ = drawn_of(study(fits=fits(**both)), f"{JMLR}/table5")
    assert cell(table.frame, method="oasis-rows")["ours"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "subset", "n_classes", "why"),
    [
        # of the archive's kind, but a stand-in
        ({"stand_in": True}, {}, 10, "synthetic images"),
        ({}, {"classes": ["cats", "dogs"]}, 10, "other classes than the paper's"),
        ({}, {}, 9, "9 of the paper's 10 classes"),
        ({"splits": {"test": 10}}, {}, 10, "other splits than the paper's (test 10, the paper 25)"),
        ({"representation": {"words": 500}}, {}, 10, "another representation (500 words)"),
    ],
)
def test_why_a_subset_may_not_be_held_against_print(changed, subset, n_classes, why):
    toys = study(fits=fits(n_classes=n_classes), subsets={"var10": VAR10 | subset}, **changed)
    assert [subset.why_not_comparable for subset in toys.all_subsets] == [why]


def test_figures_show_what_was_run_and_printed():
    frame = drawn(f"{JMLR}/fig6").frame
    assert frame["x"].max() == 60
    assert set(frame.loc[frame["method"] == "oasis, printed", "x"]) == {1, 10, 50}
    assert "mcml" not in set(frame["method"])
    assert set(drawn(f"{JMLR}/fig8").frame["method"]) == {"oasis-proj"}
    test, training = drawn(f"{JMLR}/fig5").canvas.axes
    assert sorted(ruled(test)) == pytest.approx([0.23, 1000])
    assert ruled(training) == [1000], "the level is one of test images"
    hollow = {line.get_label(): line.get_color() for line in test.lines if line.get_markerfacecolor() == "none"}
    assert hollow.items() >= {f"{name}, printed": LOOKS[name.lower()].colour for name in ("OASIS", "Euclidean")}.items()
    (panel,) = drawn(f"{JMLR}/fig7").canvas.axes
    assert named(panel) == ["single rankers"] * 2 + ["average of 2 rankers"]
    # a fold that ended keeps its last value; the second has no number at step 1 and goes on
    rows, columns = [(0, 0, 0.2), (0, 1, 0.3), (1, 0, 0.2), (1, 2, 0.5)], ["repeat", "x", "value"]
    curves = pd.DataFrame(rows, columns=columns).assign(setting="a", method="mcml", metric="traced_map")
    kept = kept_after_the_end(curves)[columns]
    assert sorted(kept.itertuples(index=False, name=None)) == sorted([*rows, (0, 2, 0.3)])


def test_notes_tell_ends_of_grids_and_limits_of_iterations():
    overrides = {"lego": {"note": "at most 10 steps"}, "rca": {"note": "not shown"}}
    subsets = {"var10": VAR10 | {"overrides": overrides}, "var20": VAR20}
    table, toys = drawn_of(study_with_all(subsets=subsets), f"{JMLR}/table4")
    notes, differences = toys.notes(table), toys.differences(table)
    assert "* marks a fit that did not end within its time limit: MCML (early stop) in 5 of 5 fits (Var10)." in notes
    assert "LEGO on Var10: at most 10 steps." in differences
    assert "Fits were stopped at the limit of iterations: LEGO in 5 of 5 fits (Var10)." in notes
    assert "Chosen at the edge of what was tried: OASIS at an end of its grid in 5 of 5 fits (Var10)." in notes
    assert not any("not shown" in note for note in differences)
    assert "The paper also shows 50 classes." in differences


def test_settings_choose_subsets_and_notes_name_classes_left_out(tmp_path):
    asked = {f"{JMLR}/{name}": ["var20"] for name in ("table4", "fig6")}
    both = study_with_all(subsets={"var10": VAR10, "var20": VAR20}, exhibits=asked)
    for id, expected in {f"{JMLR}/table4": {"var20"}, f"{DRAFT}/table1": {"var10", "var20"}}.items():
        assert set(drawn_of(both, id)[0].frame["setting"]) == expected
    with pytest.raises(NothingToShowError, match="OASIS was not run here"):  # var10 is of another figure
        drawn_of(both, f"{JMLR}/fig6")
    toys = study_with_all()
    dropped = tmp_path / "var10-dropped.csv"
    dropped.write_text('label,usable,reason\ncat,12,"12 usable images, 65 are needed"\n')
    toys._files["dropped"] = [str(dropped)]
    first, *_ = toys.notes(drawn_of(toys, f"{JMLR}/table4")[0])
    assert first == "Classes left out of var10: cat (12 usable: 65 are needed)."


ROWS = "90 120 140 150 160", "80 100 130 155 170", "70 85 125 140 165", "60 75 95 120 150", "50 60 80 110 130"
PATCH = np.array([row.split() for row in ROWS]).astype(np.uint8)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    tables, files = made.images(tmp_path_factory.mktemp("described"))
    return study(tables=tables, files=files)


def test_the_example_shows_what_the_code_makes_of_its_pixels_and_is_uniform_with_an_edge(described):
    for patch in np.random.default_rng(0).integers(0, 256, (50, 5, 5), dtype=np.uint8):
        bits, (pattern, ones) = pictures.circle_values(patch) >= patch[2, 2], pictures.pattern_of(patch)
        assert ones == bits.astype(int).tolist()
        assert pattern == lbp.lbp_patterns(patch)[2, 2] == sum(1 << i for i in range(8) if bits[i])
    canvas = new_figure(6, 3)
    pictures.paint(canvas, PATCH)
    texts = {text.get_text() for axis in canvas.axes for text in axis.texts}
    assert {"pattern 11100001", "2 changes around the circle: uniform, bin 26 of 0 to 58", "158.28"} <= texts
    assert {str(value) for value in PATCH.ravel()} <= texts
    grey = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    pattern, bits = pictures.pattern_of(pictures.example_patch(grey))
    assert (lbp.pattern_bins()[pattern] < 58, 3 <= sum(bits) <= 5) == (True, True)
    assert pictures.example_patch(np.full((9, 9), 7, np.uint8)).tolist() == [[7] * 5] * 5
    # examples are of the pool, which is never in a split
    assert pictures.example_path(described).name == f"{IDS[1]}.png"


def test_neighbours_are_those_of_the_rankings_and_all_queries_are_counted(described, monkeypatch, tmp_path):
    gallery = pictures.neighbours(described)
    assert len(gallery.entries) == 12
    rankings, name_of = [Rankings.load(file) for file in described._files["ranks"]], dict(zip(IDS, LABELS, strict=True))
    for entry in gallery.entries:
        query = int(Path(entry.image).stem)
        assert entry.words == name_of[query][4:]
        for side, ranked in zip(entry.rankings, rankings, strict=True):
            row = ranked.query_ids.tolist().index(query)
            nearest = ranked.query_ids[ranked.neighbours[row, :10]].tolist()
            assert [int(Path(found.image).stem) for found in side.found] == nearest
            right = [found.words == entry.words for found in side.found]
            assert [found.mark.sign == RIGHT.sign for found in side.found] == right
            share, precision = 100 * sum(right) / len(right), 100 * ranked.average_precision()[row]
            summary = f"{sum(right)} of {len(right)} of its class ({share:.0f} %); average precision {precision:.1f} %"
            assert side.summary == summary
    # the picture has the extremes, and before them a query of each class up to four; its CSV has all
    drawn_queries = [word.split("\n") for word in words_on(gallery.canvas) if word.endswith(("random", " gain"))]
    by_chance, extremes = ([name, "picked at random"] for name in ("dog", "fern")), ("largest gain", "smallest gain")
    assert drawn_queries == [*by_chance, *(["mug", extreme] for extreme in extremes)]
    assert (len(gallery.canvas.axes[0].images), len(gallery.frame)) == (4 * (1 + 6 + 6), 12 * (10 + 10))
    first = ["dog", "Before learning: Euclidean", 1, "100.png", "mug", "other class", "0.513"]
    assert gallery.frame.iloc[0].to_list() == ["112.png", *first]
    where, how, _, rule = gallery.notes
    assert where.startswith("Queries are among the 12 test images of Var10, partition 1.")
    assert ("(seed 2010)" in how, rule[:51]) == (True, "The picture shows the queries that gain and lose most"[:51])
    # a learner without a result is said, and rankings without neighbours are refused
    monkeypatch.setitem(described._files, "ranks", [described._files["ranks"][0], str(tmp_path / "after.npz")])
    replace(rankings[1], neighbours=None).save(tmp_path / "after.npz")
    with pytest.raises(LookalikeError, match="these rankings have no neighbours"):
        pictures.neighbours(described)
    protocol.NO_RANKINGS.save(tmp_path / "after.npz")
    with pytest.raises(NothingToShowError, match=r"Not made: OASIS has no result here\."):
        pictures.neighbours(described)
