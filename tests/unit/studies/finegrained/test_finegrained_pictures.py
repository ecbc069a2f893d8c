"""Pictures of the fine-grained study: which images are shown, what is marked, and what an empty picture says."""

from __future__ import annotations

import numpy as np
import pandas as pd
from made_studies import (
    CATEGORIES,
    drawn,
    made_filters,
    made_outcomes,
    made_pairs,
    made_relevance,
    made_triplets,
    study_of_images,
)

from lookalike.studies.finegrained import pictures
from lookalike.studies.finegrained.systems import REAL


def test_each_column_of_figure_1_is_a_triplet_of_the_data(tmp_path):
    gallery, triplets = drawn(study_of_images(tmp_path), "fig1"), made_triplets()
    frame = gallery.frame
    columns = frame.pivot(index="triplet", columns="role", values="image_id")
    np.testing.assert_array_equal(columns, triplets.set_index("triplet").loc[columns.index, list(columns.columns)])
    # few text queries give their next triplets
    assert sorted(frame["triplet"].unique()) == list(range(8))
    assert frame.drop_duplicates("column")["kind"].tolist()[:4] == ["in-class", "out-of-class"] * 2
    assert [len(row) for row in gallery.rows] == [8, 8, 8]
    assert [row[0].mark.meaning for row in gallery.rows] == ["query", "positive", "negative"]
    assert gallery.rows[2][1].words == "out-of-class"
    assert pictures.spread_triplets(triplets, 2)["text_query"].tolist() == [CATEGORIES[0], CATEGORIES[-1]]


def test_the_drawing_is_a_real_step_of_the_sampler_and_depends_on_its_seed_alone(tmp_path):
    data, files = made_relevance(tmp_path)
    settings = {"files": files, "sampling": {"margin": 0.1, "capacity": 1500}}
    picture, again, other = (drawn(study_of_images(tmp_path, **settings, seed=seed), "fig4") for seed in (4, 4, 2))
    frame = picture.frame
    pd.testing.assert_frame_equal(frame, again.frame)
    assert not frame.equals(other.frame)
    role = {name: frame[frame["role"] == name] for name in frame["role"].unique()}
    arriving, out = role["arriving"].iloc[0], role["pushed out"].iloc[0]
    query, positive, negative = (role[name].iloc[0] for name in ("query", "positive", "negative"))
    assert query["category"] == positive["category"] != negative["category"]
    assert arriving["category"] == out["category"] != query["category"]
    kept = role["kept"]
    assert arriving["image_id"] in set(kept["image_id"])
    assert out["image_id"] not in set(kept["image_id"])
    assert set(kept["category"]) == {arriving["category"]}
    # what is kept are the largest keys, all of them larger than what had to go
    assert (kept["key"].diff().dropna() <= 0).all()
    assert kept["key"].between(out["key"], 0, inclusive="neither").all()
    for one in (query, positive, negative):
        own = role["buffer"][role["buffer"]["category"] == one["category"]]
        assert one["image_id"] in set(own["image_id"])
    np.testing.assert_allclose(frame["total_relevance"], data.total[frame["image_id"]])
    assert role["buffer"].groupby("category").size().tolist() == [5] * 4
    assert "buffers hold 5 images" in picture.notes[1]
    assert "buffers of 1,500 images" in picture.notes[1]


def test_filters_stand_by_colour_with_zero_as_grey_and_tell_how_alike_they_are_to_their_start(tmp_path):
    filters = np.zeros((3, 2, 2, 3), dtype=np.float32)
    filters[0, 0, 0] = 4.0
    filters[1, 0, 0, 0] = -2.0
    own = pictures.filter_records("convnet", filters, None).set_index("filter")
    assert own.index.tolist() == [1, 0, 2]
    np.testing.assert_allclose(own["colour_share"], [2 / 3, 0, 0], atol=1e-12)
    np.testing.assert_allclose(own["norm"], [2, 4 * 3**0.5, 0])
    canvas = pictures.filter_montage(filters[own.index])
    assert [canvas[place].tolist() for place in ((0, 0), (0, 54), (40, 54))] == [
        [0, 128, 128], [255, 255, 255], [128, 128, 128]
    ]  # fmt: skip
    picture = drawn(study_of_images(tmp_path, files=made_filters(tmp_path)), "fig5")
    assert picture.frame["path"].drop_duplicates().tolist() == ["convnet", "every-4th-pixel"]
    np.testing.assert_allclose(picture.frame.loc[picture.frame["path"] == "convnet", "like_start"], 1)
    assert picture.notes[-1].endswith("in the median: ConvNet 1.00.")


def test_queries_gain_the_most_or_lose_the_most_or_have_the_most_triplets():
    outcomes, triplets = made_outcomes(), made_triplets()
    chosen = pictures.choose_queries(outcomes, triplets)
    assert chosen[["query", "chosen_as", "worse", "better", "n_triplets"]].to_numpy().tolist() == [
        [0, "largest gain", 0.0, 1.0, 2], [10, "next largest gain", 0.5, 1.0, 2], [20, "largest loss", 1.0, 0.0, 2]
    ]  # fmt: skip
    flat = pictures.choose_queries(outcomes.assign(outcome=1.0), triplets)
    assert flat["chosen_as"].tolist() == ["smallest loss", "next smallest loss", "smallest gain"]
    more = pd.concat([triplets, triplets.iloc[[4]].assign(triplet=8)])
    chosen = pictures.choose_queries(outcomes[outcomes["system"] == "convnet"], more, n=2)
    assert chosen[["query", "chosen_as"]].to_numpy().tolist() == [[20, "most triplets"], [0, "most triplets"]]


def test_rankings_are_of_the_pool_by_distance():
    pairs, chosen = made_pairs(), pd.DataFrame({"query": [10], "text_query": ["002.dog"]})
    distances = np.zeros(len(pairs), dtype=np.float32)
    for candidate, distance in ((13, -1), (11, np.nan), (19, -5)):
        distances[pairs["candidate"] == candidate] = distance
    ranked = pictures.rankings_of(pairs, {"oasis": distances}, chosen, n=3)
    assert ranked[["rank", "image_id"]].to_numpy().tolist() == [[1, 13], [2, 12], [3, 14]]
    assert pictures.rankings_of(pairs, {}, chosen, n=3).empty


def test_search_noise_is_marked_where_categories_are_known(tmp_path):
    gallery = drawn(study_of_images(tmp_path), "fig7")
    frame = gallery.frame
    assert len(frame) == 3 * 3 * 6
    noise = frame[frame["search_noise"].astype(bool)]
    assert (noise["label"] != noise["text_query"]).all()
    marked = [tile for row in gallery.rows for tile in row if tile.mark == pictures.NOISE]
    assert len(marked) == len(noise) == 9
    assert gallery.rows[1][0].words == "largest gain\nmug\n0 → 100% right"
    assert gallery.row_titles == ("ConvNet", "OASIS", "DeepRanking") * 3
    assert "ConvNet 17%, OASIS 17%, DeepRanking 17%" in gallery.notes[-1]
    rated = drawn(study_of_images(tmp_path, kind=REAL), "fig7")
    assert rated.frame["search_noise"].isna().all()
    assert not any(tile.mark == pictures.NOISE for row in rated.rows for tile in row)
    assert "Search noise is not marked" in rated.notes[-1]


def test_what_was_not_run_says_why(tmp_path):
    told = {"deep_not_run": "install torch"}
    gallery = drawn(study_of_images(tmp_path, systems=["oasis"], outcomes=made_outcomes().iloc[:0], **told), "fig7")
    assert set(gallery.frame["system"]) == {"oasis"}
    words = [tile.words for row in gallery.rows for tile in row]
    assert words.count("not run: install torch") == 2 * 3
    assert "ConvNet, DeepRanking: not run: install torch." in gallery.notes
    assert "most triplets" in gallery.notes[0]
    assert drawn(study_of_images(tmp_path, systems=[], **told), "fig7").rows == ()
    for name in ("fig4", "fig5"):
        picture = drawn(study_of_images(tmp_path, **told), name)
        assert picture.notes == ("not run: install torch",)
        assert picture.frame.empty
    _, none = made_relevance(tmp_path, graded=False)
    assert "relevance above 0" in drawn(study_of_images(tmp_path, files=none), "fig4").notes[0]
    alone = drawn(study_of_images(tmp_path, systems=["oasis"]), "gallery")
    assert alone.entries == ()
    assert "no two systems" in alone.notes[0]


def test_the_gallery_shows_queries_before_and_after_learning(tmp_path):
    study = study_of_images(tmp_path)
    gallery = drawn(study, "gallery")
    by_word = {entry.words: entry for entry in gallery.entries}
    assert list(by_word) == ["bus", "dog", "fern", "mug"]
    mug = by_word["mug"]
    assert (mug.chosen, mug.change) == ("largest gain", "▲ 2 more of its triplets right")
    assert mug.image == str(study.path_of(0))
    before, after = by_word["fern"].rankings
    assert (before.title, after.title) == ("Before learning: ConvNet", "After learning: DeepRanking")
    assert before.summary == "5 of 6 of its category; 2 of its 2 triplets right"
    assert [found.mark for found in before.found].count(pictures.OTHER) == 1
