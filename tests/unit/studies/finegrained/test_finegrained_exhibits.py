"""Tables and figures of the fine-grained study, from made-up numbers."""

import made_finegrained as made
import numpy as np
import pandas as pd
import pytest
from contract import drawn as drawn_of
from plotted import named, ruled, words_on

from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.words import headline
from lookalike.studies.finegrained import pictures
from lookalike.studies.finegrained.systems import FEATURES, TABLE1, TABLE2

IDS = {exhibit.name: id for id, exhibit in exhibits_of("finegrained").items()}


def drawn(name, study):
    return drawn_of(study, IDS[name])[0]


def titles_of(figure):
    return [axis.get_title(loc="left") for axis in figure.canvas.axes]


def row(table, name):
    """Cells of one row of a table as it is read."""
    return next(row for row in table.sheets[0].rows if row[0] == name)


@pytest.mark.parametrize(("name", "systems"), [("table1", TABLE1), ("table2", TABLE2)])
def test_ours_stand_above_the_printed_in_the_papers_order(name, systems):
    study = made.study(reach=0.5, **made.REAL)
    table = drawn(name, study)
    assert tuple(dict.fromkeys(table.frame["method"])) == systems
    assert "brackets: 95% bootstrap intervals" in study.data_sentence(table)
    rows = table.sheets[0].rows
    place = [row[0] for row in rows].index("DeepRanking")
    assert rows[place] == ("DeepRanking", "ours", "85.7 [85.2, 86.2]", "7,004 [6,864, 7,144]", "50.0 [49.0, 51.0]")
    assert rows[place + 1] == ("", "paper", "85.7", "7,004", "")


@pytest.mark.parametrize("kind", ["synthetic_triplets", "class_triplets"])
def test_scores_of_another_k_are_read_alike(kind):
    table = drawn("table1", study := made.study(kind=kind, score={"k": 5}))
    assert table.frame["unit"].unique().tolist() == ["percent", "triplets"]
    assert ("Score-5" in table.sheets[0].heads, row(table, "HOG")[3][:5]) == (True, "3,099")
    pool = "Scores rank 1,000 images in the median, of which the top 5 are 0%; the paper ranks 1,000."
    assert pool in study.differences(table)


def test_a_release_without_images_to_learn_from_says_what_the_golden_feature_learned_from():
    levels = {system: made.LEVELS[system] for system in (*FEATURES, "l1hashkpca", "golden-features")}
    study = made.study(levels, surroundings={"has_training": False}, golden={"ratings": 0.1}, **made.REAL)
    table = drawn("table1", study)
    notes = [*study.notes(table), *study.differences(table)]
    assert "Golden Features learned from ratings that are not evaluated; in the paper they made the relevance." in notes
    assert "Golden Features: a learned weighted sum of distances of hand-crafted features." in notes
    assert {name for row in study.contrasts.rows if row.second for name in (row.first, row.second)} == set(levels)


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


SHARES = {"sampling_study": {"out_of_class": [0.0, 0.2]}, "network": {"seeds": 2}}
NETWORKS = {"table2", "fig5", "fig7", "curves"}


@pytest.mark.parametrize(
    ("settings", "lacking", "unlisted"),
    [
        (SHARES, {}, set()),
        (SHARES | {"network": {"seeds": 1}}, {}, {"fig6"}),
        (SHARES | {"sampling_study": None}, {}, {"fig6"}),
        (SHARES, {"is_graded": False}, {"fig6"}),
        (SHARES, {"has_torch": False}, {"fig6", *NETWORKS}),
        (SHARES, {"has_training": False}, {"fig4", "fig6", *NETWORKS}),
    ],
)
def test_what_would_be_an_empty_frame_is_not_listed(settings, lacking, unlisted):
    study = made.given(surroundings=lacking, golden={"ratings": 0.25}, **settings)
    assert set(IDS) - {exhibit.name for exhibit in study.own_exhibits()} == unlisted


CUT_SHORT = {"deep-ranking": {"finished": True}, "deep-ranking-seed2": {"finished": False}}
FEW = "All networks had fewer than three seeds. That does not decide how they compare with other systems."


@pytest.mark.parametrize(
    ("seeds", "fits", "said"),
    [
        (3, {"deep-ranking": {"finished": True}}, ""),
        (3, CUT_SHORT, "DeepRanking still learned when training ended."),
        (2, {}, FEW),
    ],
)
def test_networks_of_few_seeds_or_cut_short_are_said_to_decide_nothing(seeds, fits, said):
    study = made.study(seeds=seeds, fits=fits)
    notes = " ".join(study.notes(drawn("table2", study)))
    assert (said in notes, "That does not decide" in notes) == (True, bool(said))


def test_curves_of_several_seeds_share_a_panel_and_one_that_did_not_end_says_so():
    curve = made.toy_curves()["deep-ranking"]
    several = {"deep-ranking": curve, "deep-ranking-seed2": curve}
    figure = drawn("curves", made.study(curves=several, fits=CUT_SHORT))
    assert [title.split() for title in titles_of(figure)] == [["DeepRanking", "(unfinished)"], []]
    handles, names = figure.canvas.axes[0].get_legend_handles_labels()
    assert names == ["training", "training", "held out, seed 1", "held out, seed 2"]
    assert handles[2].get_color() != handles[3].get_color()


def test_curves_mark_the_look_whose_weights_are_kept_and_tell_agreement_from_precision():
    curves = {"deep-ranking": made.toy_curves()["deep-ranking"]}
    study = made.study(curves=curves, fits=made.FITS, golden={"ratings": 0.25})
    figure = drawn("curves", study)
    kept = figure.frame[figure.frame["kept"]]
    assert kept[["seen", "part"]].drop_duplicates().to_numpy().tolist() == [[9_600, "validation"]]
    assert [named(axis)[-1] for axis in figure.canvas.axes] == ["kept", "kept"]
    assert "ordered as by the relevance that Golden Features makes. It is not similarity precision" in figure.notes[1]
    text = drawn("text", study).frame.set_index("metric")["ours"]
    assert text[["training_triplets", "embedding_dimensions"]].tolist() == [14_400, 128], "print counts what is drawn"


@pytest.mark.parametrize(
    ("network", "system", "said", "in_usual"),
    [
        (
            {"size": "small"},
            "deep-ranking",
            "sees 64 x 64 pixels and gives 64 numbers; the paper's 225 x 225",
            False,
        ),
        ({"pretraining": {"weights": "net.lookalike"}}, "convnet", "ImageNet", True),
    ],
)
def test_notes_say_how_networks_differ_from_the_papers(network, system, said, in_usual):
    studies = made.study(), made.study(network=network)
    usual, changed = (" ".join(study.differences(drawn("table2", study))) for study in studies)
    assert [said in usual, said in changed] == [in_usual, not in_usual]


def test_systems_that_were_not_run_say_what_to_do():
    some = {system: made.LEVELS[system] for system in TABLE1[:6]}
    study = made.study(some, surroundings={"has_torch": False, "has_training": False, "images_folder": "here"})
    table = drawn("table1", study)
    assert row(table, "DeepRanking")[2:5] == ("-",) * 3
    assert any(note.startswith("L1HashKPCA, OASIS, Golden Features: not run: put im") for note in study.notes(table))
    assert not [item for item in study.contrasts.rows if item.second], "no pair that was not measured has a row"
    said = " ".join(headline(study).split())
    assert "ConvNet, Single-scale Ranking, DeepRanking: not run: install torch with" in said


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
    bare = {"deep-ranking": curves["deep-ranking"].drop(columns=["validation_loss", "validation_precision"])}
    figure = drawn("curves", made.study(curves=bare))
    assert [named(axis) for axis in figure.canvas.axes] == [["training"]] * 2


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


def test_the_drawing_is_a_real_step_of_the_sampler_and_depends_on_its_seed_alone(tmp_path):
    data, files = made.toy_relevance(tmp_path)
    settings = {"files": files, "sampler": {"margin": 0.1, "capacity": 1500}}
    picture, again, other = (drawn("fig4", made.study_of_images(tmp_path, **settings, seed=seed)) for seed in (4, 4, 2))
    frame = picture.frame
    pd.testing.assert_frame_equal(frame, again.frame)
    assert not frame.equals(other.frame)
    role = {name: frame[frame["role"] == name] for name in frame["role"].unique()}
    arriving, out, query, positive, negative = (
        role[name].iloc[0] for name in ("arriving", "pushed out", "query", "positive", "negative")
    )
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


def test_queries_gain_the_most_or_lose_the_most():
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


def test_rankings_are_of_the_pool_by_distance():
    pairs, chosen = made.toy_pairs(), pd.DataFrame({"query": [10], "text_query": ["002.dog"]})
    distances = pairs["candidate"].map({13: -1, 11: np.nan, 19: -5}.get).where(pairs["candidate"].isin((13, 11, 19)), 0)
    ranked = pictures.rankings_of(pairs, {"oasis": distances.to_numpy(np.float32)}, chosen, n=3)
    assert ranked[["rank", "image_id"]].to_numpy().tolist() == [[1, 13], [2, 12], [3, 14]]
    assert pictures.rankings_of(pairs, {}, chosen, n=3).empty


def test_search_noise_is_marked_where_categories_are_known(tmp_path):
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


def test_what_was_not_run_says_why(tmp_path):
    some = made.toy_outcomes().query("system != 'oasis'")
    gallery = drawn("fig7", made.study_of_images(tmp_path, systems=["convnet", "deep-ranking"], outcomes=some))
    assert words_on(gallery.canvas).count("not measured here") == 3
    _, none = made.toy_relevance(tmp_path, graded=False)
    with pytest.raises(NothingToShowError, match="relevance above 0"):
        drawn("fig4", made.study_of_images(tmp_path, files=none))
