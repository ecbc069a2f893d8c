"""The fine-grained study: its plan, contrasts and claims, tables, figures and galleries."""

from functools import partial
from pathlib import Path

import made_finegrained as made
import numpy as np
import pandas as pd
import pytest
from contract import FAILS, HOLDS, NOT_RUN, OPEN, asked_of, changed_study, contrasted, finished, verdict_on
from contract import drawn as drawn_of
from made_finegrained import FITS, LEVELS, REAL, UNIFORM, given, study
from plotted import named, ruled, words_on

from lookalike.core.settings.model import plain
from lookalike.exhibits.claims import claim_records
from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.registry import exhibits_of
from lookalike.ranking import triplet_metrics
from lookalike.ranking.triplet_metrics import intervals
from lookalike.studies.finegrained import pictures
from lookalike.studies.finegrained import study as planning
from lookalike.studies.finegrained.contrasts import contrasts
from lookalike.studies.finegrained.results import results_of
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, FEATURES, TABLE1, TABLE2, ordered_systems

DEMO, RATED = "demo_triplets", "triplets"
SAMPLED = [f"multiscale-weighted-{share:03d}" for share in (0, 60, 100)]
study_of = partial(changed_study, "finegrained")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty work folder, in which torch is at hand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "find_spec", lambda name: object())


@pytest.fixture
def demo():
    return study_of(DEMO, sampling_study={"out_of_class": [0.0, 0.2, 0.6, 1.0]})


def test_systems_are_those_of_both_tables_and_figure_6_and_networks_have_a_job_each_or_one_for_every_seed(demo):
    assert set(study_of(DEMO).systems()) == {*TABLE1, *TABLE2}
    assert set(demo.systems()) == {*TABLE1, *TABLE2, *SAMPLED, UNIFORM}
    assert demo.ranking_networks() == ["single-scale-ranking", "deep-ranking", *SAMPLED, UNIFORM]
    assert ordered_systems([UNIFORM, *reversed(SAMPLED), *TABLE2]) == (*TABLE2, *SAMPLED, UNIFORM)
    by_seed = demo.network_batches()
    (alone,) = study_of(DEMO, batch="method", sampling_study=plain(demo.sampling_study)).network_batches()
    assert [name for batch in by_seed for name in batch.fitted] == alone.fitted == alone.allowed["system"]
    assert [batch.fitted[0] for batch in by_seed] == demo.trainings("single-scale-ranking")
    assert len(demo.files_of(file="curve.parquet")) == 3 * 8


def test_without_torch_there_are_no_networks(monkeypatch):
    monkeypatch.setattr(planning, "find_spec", lambda name: None)
    demo = study_of(DEMO)
    assert "install torch" in demo.why_not_run("convnet")
    assert demo.systems() == [*FEATURES, "l1hashkpca", "oasis", "golden-features"]
    assert demo.files_of(file="curve.parquet") == []
    assert "filters" not in demo.planned_files()
    # in conda environments torch is at hand, and what was measured stays
    demo.deployed(conda=True)
    assert demo.why_not_run("convnet") == ""
    measured = Path(f"results/{DEMO}/systems/deep-ranking/distances.npy")
    measured.parent.mkdir(parents=True)
    measured.touch()
    assert study_of(DEMO).has_torch


def test_what_a_release_holds_decides_what_is_learned_from_it():
    rated = study_of(RATED)
    assert "into data/triplets/training, in folders by category" in rated.why_not_run("oasis")
    assert rated.systems() == [*FEATURES, "l1hashkpca", "golden-features"]
    assert study_of(RATED, golden={}).systems() == list(FEATURES)
    assert {path.split("/")[-2] for path in rated.learned_files()} == {"l1hashkpca", "golden-features"}
    assert "examples/rated-networks.yaml" in rated.why_not_run("convnet")
    # with images to learn from there may be networks; without grades, or ratings, they have no shares to vary
    image = Path("data/triplets/training/cat/1.jpg")
    image.parent.mkdir(parents=True)
    image.touch()
    assert study_of(RATED).systems() == [*FEATURES, "l1hashkpca", "oasis", "golden-features"]
    assert study_of(RATED).sampling.out_of_class == 0.2
    networks = {"golden": {}, "network": {}, "sampling_study": {"out_of_class": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}}
    rated = study_of(RATED, **networks)
    assert (rated.ranking_networks(), rated.sampling.out_of_class) == (rated.systems()[-4:-2], 1.0)
    (image.parents[1] / "relevance.csv").touch()
    rated = study_of(RATED, **networks)
    # two of the tables, six of Figure 6
    assert (len(rated.ranking_networks()), rated.sampling.out_of_class) == (2 + 6, 0.2)


def test_a_network_depends_on_its_own_sampling_and_training_alone(demo):
    params = demo.params("train_networks", demo.network_batches()[1].fitted)
    samplings, own = params["samplings"], plain(demo.sampling)
    assert samplings["multiscale-weighted-060-seed2"] == own | {"out_of_class": 0.6}
    assert samplings["multiscale-uniform-000-seed2"]["weighted"] is False
    assert samplings["deep-ranking-seed2"] == own
    read = {"size", "shift", "device", "validation", "ranking", "gap", "checkpoint_seconds"}
    assert set(params["network"]) == read
    alone = demo.params("train_networks", ["deep-ranking"], system="deep-ranking")
    assert alone == params | {"samplings": {"deep-ranking": own}}


CLAIMS = asked_of("finegrained")


def verdict(claim, changes=(), **more):
    """Outcome of one claim with the levels of print but for some, and what it is told by."""
    return verdict_on(CLAIMS[claim], study(LEVELS | dict(changes), **more))


@pytest.mark.parametrize(("n", "outcome"), [(3, HOLDS), (1, OPEN)])
def test_filters_gain_colour_over_a_classifiers_and_over_a_random_start_that_they_left(tmp_path, n, outcome):
    def colour(*filters):
        """Mean share of energy that is no grey."""
        return np.mean([1 - 3 * (own.mean(axis=2) ** 2).sum() / (own**2).sum() for own in np.concatenate(filters)])

    random, files, gaps = np.random.default_rng(1), [str(tmp_path / f"{seed}.npz") for seed in range(n)], []
    for file in files:
        deep, classifier, start, kept = random.normal(size=(4, 20, 4, 4, 3))
        left = random.normal(size=start.shape)
        left -= left.mean(axis=3, keepdims=True)  # has colour alone
        paths = {"every-4th-pixel": left, "start/every-4th-pixel": start, "start/convnet": classifier}
        np.savez(file, convnet=deep, **paths, **{"every-8th-pixel": kept, "start/every-8th-pixel": kept})
        gaps.append([colour(deep, left) - colour(classifier), colour(left) - colour(start)])
    found = contrasted(finished(given(), {"results": study().table("results")}, {"filters": files}))
    rows = [row for row in found.contrasts.rows if row.metric.startswith("colour")]
    assert [row.mean for row in rows] == pytest.approx(100 * np.mean(gaps, axis=0), rel=1e-6)
    assert verdict_on(CLAIMS["filters-have-colour"], found)[0] == outcome


def test_one_seed_or_a_training_cut_short_decides_nothing_about_networks():
    about_networks = [claim for claim in CLAIMS.values() if claim.limits and claim.id != "filters-have-colour"]
    assert len(about_networks) == 16

    def found(seeds=3, **ended):
        fits = {name: {"finished": has_ended} for name, has_ended in ended.items()}
        own = study(seeds=seeds, fits=fits, golden={"ratings": 0.4})
        return {claim.id: verdict_on(claim, own)[0] for claim in about_networks}

    whole, cut = found(), found(**{"deep-ranking": True, "deep-ranking-seed2": False})
    assert whole["multiscale-helps"] == whole["ranking-beats-classes"] == HOLDS
    # that ranking beats classes is not about DeepRanking
    assert (cut["multiscale-helps"], cut["ranking-beats-classes"]) == (OPEN, HOLDS)
    assert set(found(seeds=2).values()) == {OPEN}


GOLDEN = {"golden": {"ratings": 0.4}}


@pytest.mark.parametrize(
    ("claim", "options", "outcome", "evidence"),
    [
        # by both metrics, and by levels of the network of the largest share beside the smallest
        ("deep-beats-features", {"changes": {"oasis": (79.2, 7.2)}}, FAILS, "196 triplets lower"),
        ("score-falls", {"changes": {"multiscale-weighted-100": (85.5, 7.8)}}, FAILS, ""),
        # the golden feature that makes no relevance decides nothing, and one that does decides its claims
        ("deep-beats-golden", {}, OPEN, ""),
        ("deep-beats-golden", GOLDEN, HOLDS, ""),
        ("golden-at-the-top", GOLDEN | {"changes": {"golden-features": (80.3, 7.6)}}, FAILS, "4.3% of triplets lower"),
        # both metrics, each with its unit and p
        ("oasis-beats-embedding", {}, HOLDS, "2.7 to 3.3; the paper: 3), p 0.001; OASIS is 457 triplets higher"),
    ],
)
def test_what_else_decides_a_claim_or_leaves_it_open(claim, options, outcome, evidence):
    found, words = verdict(claim, **options)
    assert found == outcome
    assert evidence in words


def test_the_table_has_a_verdict_for_every_claim_and_none_where_it_was_not_run():
    counts = claim_records(study(**REAL))["verdict"].value_counts()
    assert (counts[HOLDS], counts[FAILS], counts[OPEN]) == (16, 2, 2)
    assert claim_records(finished(given(**REAL), not_run="not run: put triplets there")).empty
    kinds = [{row.data for row in own.contrasts.rows} for own in (study(), study(**REAL))]
    assert kinds == [{"synthetic"}, {"real"}], "numbers say whether images are made by code"
    some = {system: LEVELS[system] for system in TABLE1[:7]}
    frame = claim_records(study(some, **REAL, surroundings={"has_torch": False, "has_training": False}))
    verdicts = frame.set_index("id")["verdict"]
    assert verdicts.pop("embedding-beats-features") == HOLDS
    assert set(verdicts) == {NOT_RUN}
    assert frame.set_index("id").loc["oasis-beats-embedding", "evidence"] == "OASIS not run."


TRAININGS = {"hog": ["hog"], "deep-ranking": ["deep-ranking", "deep-ranking-seed2"]}


@pytest.fixture
def measured():
    """Outcomes of a feature and of two trainings of a network, and the tables beside them; two images are one."""
    random, triplets = np.random.default_rng(0), made.toy_triplets()
    names = [name for own in TRAININGS.values() for name in own]
    frame = pd.DataFrame([(name, triplet) for name in names for triplet in triplets["triplet"]])
    frame.columns = ["system", "triplet"]
    outcomes = frame.assign(outcome=random.choice([0, 0.5, 1], len(frame)), in_top=random.random(len(frame)) < 0.7)
    checksums = ["same" if image in (0, 10) else str(image) for image in range(made.N_MADE)]
    manifest = pd.DataFrame({"image_id": range(made.N_MADE), "sha256": checksums})
    return {"outcomes": outcomes, "triplets": triplets, "pairs": made.toy_pairs(), "manifest": manifest}


def test_contrasts_are_those_of_the_paired_bootstrap_of_which_results_over_seeds_are_the_levels(measured, monkeypatch):
    rows = results_of(*measured.values(), FITS, {"deep-ranking-seed2": made.toy_curves()["deep-ranking"]})
    bootstrap = triplet_metrics.Bootstrap(0, 5, manifest=measured["manifest"], trainings=TRAININGS)
    levels = intervals(*list(measured.values())[:3], bootstrap)
    means = rows.groupby(["setting", "method", "metric"])["value"].mean()
    for level in levels.to_dict("records"):
        setting, metric = f"triplets={level['subset']}", level["metric"].replace("@5", "@30")
        assert means[setting, level["system"], metric] == pytest.approx(level["value"])
        assert means[setting, "", "queries"] == level["n_queries"] < 4
        counts = {"triplets": "n_triplets", "pool": "median_pool"}
        assert all(means[setting, "", metric] == level[count] for metric, count in counts.items())
    curve = rows[rows["x"].notna()]
    assert (set(curve["repeat"]), set(curve["setting"])) == ({"2"}, {"images=training", "images=validation"})
    ends = rows[rows["method"].eq("deep-ranking") & rows["setting"].eq("")].set_index("metric")["value"]
    assert ends.to_dict() == {"finished": 1, "kept": 9_600}
    monkeypatch.setattr(FinegrainedStudy, "systems", lambda study: list(TRAININGS))
    tables = measured | {"results": results_of(*measured.values(), FITS, {})}
    own = finished(given(score={"k": 5, "resamples": 200}, network={"seeds": 2}, seed=3), tables)
    rows, pairs = {row.key: row for row in contrasts(own)}, [("deep-ranking", "hog")]
    bootstrap = triplet_metrics.Bootstrap(3, 5, 200, measured["manifest"], TRAININGS)
    expected = triplet_metrics.contrasts(measured["outcomes"], measured["triplets"], pairs, bootstrap)
    expected = expected.set_index(["subset", "metric"])
    for kind, name in (("all", ""), ("in-class", ", in-class negatives")):
        row, found = rows[ALL, f"score@30{name}", *pairs[0]], expected.loc[(kind, "score@5")]
        assert (row.mean, row.low, row.high, row.p) == tuple(found[["difference", "low", "high", "p_value"]])
        assert (row.n, row.interval, row.unit) == (found["n_queries"], "seeds and query images", "triplets")
    level, gap = (rows[ALL, "similarity_precision", *pair] for pair in (("hog", ""), *pairs))
    assert level.low <= level.mean <= level.high
    assert (level.interval, level.printed, level.limits) == ("query images", 68.4, "")
    assert (gap.printed, gap.limits) == (pytest.approx(85.7 - 68.4), "deep-ranking:seeds")


IDS = {exhibit.name: id for id, exhibit in exhibits_of("finegrained").items()}


def drawn(name, study):
    return drawn_of(study, IDS[name])[0]


def titles_of(figure):
    return [axis.get_title(loc="left") for axis in figure.canvas.axes]


def row(table, name):
    """Cells of one row of a table as it is read."""
    return next(row for row in table.sheets[0].rows if row[0] == name)


def test_systems_stand_in_the_papers_order_and_scores_of_another_k_are_read_alike():
    study = made.study(**made.REAL)
    for table, systems in ((drawn("table1", study), TABLE1), (drawn("table2", study), TABLE2)):
        assert tuple(dict.fromkeys(table.frame["method"])) == systems
        assert row(table, "DeepRanking")[2:4] == ("85.7 [85.4, 86.0]", "7,004 [6,920, 7,088]")
        assert "brackets: 95% bootstrap intervals" in study.data_sentence(table)
    for kind in ("synthetic_triplets", "class_triplets"):
        table = drawn("table1", study := made.study(kind=kind, score={"k": 5}))
        assert table.frame["unit"].unique().tolist() == ["percent", "triplets"]
        assert ("Score-5" in table.sheets[0].heads, row(table, "HOG")[3][:5]) == (True, "3,099")
        pool = "Scores rank 1,000 images (median), so the top 5 are 0% of them. The paper ranks 1,000."
        assert pool in study.differences(table)


def test_figure_6_shows_both_metrics_over_the_share():
    figure = drawn("fig6", made.study(sampler={"out_of_class": 0.4}))
    names = ("multiscale-weighted-000", "deep-ranking", "multiscale-weighted-050", "multiscale-weighted-100")
    for metric, place, scale in (("similarity_precision", 0, 1), ("score@30", 1, 1000)):
        own = figure.frame[figure.frame["metric"].eq(metric) & figure.frame["series"].eq("weighted")]
        assert own["percent"].tolist() == [0, 40, 50, 100]
        np.testing.assert_allclose(own["value"], [scale * made.LEVELS[name][place] for name in names])
        assert ((own["low"] < own["value"]) & (own["value"] < own["high"])).all()
    for panel in figure.canvas.axes:
        assert ruled(panel) == [40]
        assert {"weighted sampling", "uniform sampling"} < {*named(panel)}


CUT_SHORT = {"deep-ranking": {"finished": True}, "deep-ranking-seed2": {"finished": False}}
UNDECIDED = "That does not decide how they compare with other systems."
SMALLER = "takes 64 x 64 pixels and returns 64 numbers; the paper's, 225 x 225"


@pytest.mark.parametrize(
    ("settings", "said", "unsaid"),
    [
        ({"fits": {"deep-ranking": {"finished": True}}}, "ImageNet", "That does not decide"),
        ({"fits": CUT_SHORT}, "DeepRanking still learned when training ended. That does not decide", "fewer"),
        ({"seeds": 2}, f"All networks had fewer than three seeds. {UNDECIDED}", SMALLER),
        ({"network": {"size": "small"}}, SMALLER, "fewer"),
        ({"network": {"pretraining": {"weights": "net.lookalike"}}}, "", "ImageNet"),
    ],
)
def test_networks_of_few_seeds_or_cut_short_decide_nothing_and_differ_from_the_papers(settings, said, unsaid):
    study = made.study(**settings)
    table = drawn("table2", study)
    found = " ".join([*study.notes(table), *study.differences(table)])
    assert (said in found, unsaid in found) == (True, False)


def test_curves_of_several_seeds_share_a_panel_that_marks_the_look_whose_weights_are_kept():
    curve = made.toy_curves()["deep-ranking"]
    several = {"deep-ranking": curve, "deep-ranking-seed2": curve}
    figure = drawn("curves", made.study(curves=several, fits=CUT_SHORT))
    assert [title.split() for title in titles_of(figure)] == [["DeepRanking", "(unfinished)"], []]
    handles, names = figure.canvas.axes[0].get_legend_handles_labels()
    assert names == ["training", "training", "held out, seed 1", "held out, seed 2"]
    assert handles[2].get_color() != handles[3].get_color()
    curves = {"deep-ranking": made.toy_curves()["deep-ranking"]}
    study = made.study(curves=curves, fits=made.FITS, golden={"ratings": 0.25})
    figure = drawn("curves", study)
    kept = figure.frame[figure.frame["kept"]]
    assert kept[["seen", "part"]].drop_duplicates().to_numpy().tolist() == [[9_600, "validation"]]
    assert [named(axis)[-1] for axis in figure.canvas.axes] == ["kept", "kept"]
    assert "ordered as by the relevance that Golden Features makes. It is not similarity precision" in figure.notes[1]
    text = drawn("text", study).frame.set_index("metric")["ours"]
    assert text[["training_triplets", "embedding_dimensions"]].tolist() == [14_400, 128], "print counts what is drawn"


def test_systems_that_were_not_run_say_what_to_do_and_what_the_golden_feature_learned_from_instead():
    some = {system: made.LEVELS[system] for system in TABLE1[:6]}
    study = made.study(some, surroundings={"has_torch": False, "has_training": False, "images_folder": "here"})
    table = drawn("table1", study)
    assert row(table, "DeepRanking")[2:5] == ("-",) * 3
    assert any(note.startswith("L1HashKPCA, OASIS, Golden Features: not run: put im") for note in study.notes(table))
    assert not [item for item in study.contrasts.rows if item.second], "no pair that was not measured has a row"
    levels = {system: made.LEVELS[system] for system in (*FEATURES, "l1hashkpca", "golden-features")}
    study = made.study(levels, surroundings={"has_training": False}, golden={"ratings": 0.1}, **made.REAL)
    table = drawn("table1", study)
    notes = [*study.notes(table), *study.differences(table)]
    assert "Golden Features learned from held-out ratings. In the paper they define the relevance." in notes
    assert "Golden Features: a learned weighted sum of distances of hand-crafted features." in notes
    assert {name for row in study.contrasts.rows if row.second for name in (row.first, row.second)} == set(levels)


def test_curves_of_each_network_are_in_panels_of_their_own_on_axes_that_its_phase_shares():
    curves = made.toy_curves()
    curves["deep-ranking"].loc[1::2, ["validation_loss", "validation_precision"]] = np.nan
    figure = drawn("curves", made.study(curves=curves))
    frame = figure.frame
    assert set(frame.loc[frame["phase"] == "classification", "system"]) == {"convnet"}
    titles = ["ConvNet", "Single-scale Ranking", "DeepRanking", "weighted 0%"]
    assert titles_of(figure) == [part for title in titles for part in (title, "")]
    chosen = frame.query("system == 'deep-ranking' and quantity == 'precision' and part == 'validation'")
    expected = curves["deep-ranking"].dropna().assign(value=lambda rows: 100 * rows["validation_precision"])
    np.testing.assert_allclose(chosen[["seen", "value"]], expected[["seen", "value"]])
    assert {tuple(named(axis)) for axis in figure.canvas.axes} == {("training", "held out")}
    ends = [axis.get_ylim() for axis in figure.canvas.axes]
    assert ends[2:4] == ends[4:6] == ends[6:8]


def test_each_column_of_figure_1_is_a_triplet_of_the_data(tmp_path):
    gallery, triplets = drawn("fig1", made.study_of_images(tmp_path)), made.toy_triplets()
    columns = gallery.frame.pivot(index="triplet", columns="role", values="image_id")
    # few text queries give their next triplets
    np.testing.assert_array_equal(columns, triplets.set_index("triplet")[list(columns.columns)])
    assert gallery.frame.drop_duplicates("column")["kind"].tolist()[:4] == ["in-class", "out-of-class"] * 2
    assert len(gallery.canvas.axes[0].images) == 3 * 8
    assert [text.get_text()[3:] for text in gallery.canvas.legends[0].get_texts()] == ["query", "positive", "negative"]
    assert words_on(gallery.canvas).count("out-of-class") == 4
    assert pictures.spread_triplets(triplets, 2)["text_query"].tolist() == [made.CATEGORIES[0], made.CATEGORIES[-1]]


def test_the_drawing_is_a_real_step_of_the_sampler(tmp_path):
    data, files = made.toy_relevance(tmp_path)
    settings = {"files": files, "sampler": {"margin": 0.1, "capacity": 1500}}
    picture = drawn("fig4", made.study_of_images(tmp_path, **settings, seed=4))
    frame = picture.frame
    role = {name: frame[frame["role"] == name] for name in frame["role"].unique()}
    names = ("arriving", "pushed out", "query", "positive", "negative")
    arriving, out, query, positive, negative = (role[name].iloc[0] for name in names)
    assert query["category"] == positive["category"] != negative["category"]
    assert arriving["category"] == out["category"] != query["category"]
    kept = role["kept"]
    assert out["image_id"] not in set(kept["image_id"]) >= {arriving["image_id"]}
    assert set(kept["category"]) == {arriving["category"]}
    # what is kept are the largest keys, all of them larger than what had to go
    assert (kept["key"].diff().dropna() <= 0).all()
    assert kept["key"].between(out["key"], 0, inclusive="neither").all()
    buffers = role["buffer"].groupby("category")["image_id"].agg(set)
    assert all(item["image_id"] in buffers[item["category"]] for item in (query, positive, negative))
    assert buffers.map(len).tolist() == [5] * 4
    np.testing.assert_allclose(frame["total_relevance"], data.total[frame["image_id"]])
    assert "buffers of 5 images so that they can be shown. The study itself has buffers of 1,500" in picture.notes[2]
    # the new image, what is kept and what has to go, four buffers, the triplet
    assert len(picture.canvas.axes[0].images) == 1 + len(kept) + 1 + 4 * 5 + 3


def test_filters_stand_by_colour_with_zero_as_grey_and_tell_how_alike_they_are_to_their_start(tmp_path):
    filters = np.zeros((3, 2, 2, 3), dtype=np.float32)
    filters[0, 0, 0] = 4.0
    filters[1, 0, 0, 0] = -2.0
    np.savez(tmp_path / "three.npz", convnet=filters)
    own = pictures.filters_of(tmp_path / "three.npz")
    assert (own["place"].tolist(), own["filter"].tolist()) == ([1, 2, 3], [1, 0, 2])
    np.testing.assert_allclose(own["colour_share"], [2 / 3, 0, 0], atol=1e-12)
    images, grey = pictures.filter_images(filters[own["filter"]]), [128, 128, 128]
    found = [images[place].tolist() for place in ((0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 1))]
    assert found == [[0, 128, 128], [255, 255, 255], grey, grey]
    picture = drawn("fig5", made.study_of_images(tmp_path, files=made.toy_filters(tmp_path)))
    assert picture.frame["path"].drop_duplicates().tolist() == ["convnet", "every-4th-pixel"]
    np.testing.assert_allclose(picture.frame.loc[picture.frame["path"] == "convnet", "like_start"], 1)
    assert "% and 1.00" in picture.notes[-1]


def test_queries_gain_the_most_or_lose_the_most_and_rank_their_pool_by_distance():
    outcomes, triplets = made.toy_outcomes(), made.toy_triplets()
    chosen = pictures.choose_queries(outcomes, triplets)
    assert chosen[["query", "chosen_as", "before", "after", "n_triplets"]].to_numpy().tolist() == [
        [0, "largest gain", 0.0, 1.0, 2],
        [10, "next largest gain", 0.5, 1.0, 2],
        [20, "largest loss", 1.0, 0.0, 2],
    ]
    flat = pictures.choose_queries(outcomes.assign(outcome=1.0), triplets)
    assert flat["chosen_as"].tolist() == ["smallest loss", "next smallest loss", "smallest gain"]
    assert pictures.choose_queries(outcomes[outcomes["system"] == "convnet"], triplets).empty
    pairs, chosen = made.toy_pairs(), pd.DataFrame({"query": [10], "text_query": ["002.dog"]})
    distances = pairs["candidate"].map({13: -1, 11: np.nan, 19: -5}.get).where(pairs["candidate"].isin((13, 11, 19)), 0)
    ranked = pictures.rankings_of(pairs, {"oasis": distances.to_numpy(np.float32)}, chosen, n=3)
    assert ranked[["rank", "image_id"]].to_numpy().tolist() == [[1, 13], [2, 12], [3, 14]]
    assert pictures.rankings_of(pairs, {}, chosen, n=3).empty


def test_search_noise_is_marked_where_categories_are_known_and_what_was_not_run_says_why(tmp_path):
    gallery = drawn("fig7", made.study_of_images(tmp_path))
    frame = gallery.frame
    assert len(frame) == 3 * 3 * 6
    assert (frame["search_noise"].astype(bool) == (frame["label"] != frame["text_query"])).all()
    words, systems = words_on(gallery.canvas), ["ConvNet", "OASIS", "DeepRanking"]
    n_marked = [words.count(pictures.NOISE.sign)]
    assert "largest gain\nmug\n0 → 100% right" in words
    assert [word for word in words if word in systems] == systems * 3
    rated = drawn("fig7", made.study_of_images(tmp_path, kind="triplets"))
    assert rated.frame["search_noise"].isna().all()
    n_marked.append(words_on(rated.canvas).count(pictures.NOISE.sign))
    assert n_marked == [frame["search_noise"].sum(), 0] == [9, 0]
    some = made.toy_outcomes().query("system != 'oasis'")
    gallery = drawn("fig7", made.study_of_images(tmp_path, systems=["convnet", "deep-ranking"], outcomes=some))
    assert words_on(gallery.canvas).count("not measured here") == 3
    _, none = made.toy_relevance(tmp_path, graded=False)
    with pytest.raises(NothingToShowError, match="relevance above 0"):
        drawn("fig4", made.study_of_images(tmp_path, files=none))
