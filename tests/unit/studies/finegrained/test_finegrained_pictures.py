"""Pictures of the fine-grained study: which images are shown, what is marked, and what an empty picture says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_studies import drawn, made_intervals, made_study
from PIL import Image

from lookalike.core.files import write_array
from lookalike.data.relevance import RelevanceData
from lookalike.studies.finegrained import pictures
from lookalike.studies.finegrained.numbers import metrics_of
from lookalike.studies.finegrained.systems import BY_CLASS, REAL

CATEGORIES = ("001.mug", "002.dog", "003.fern", "004.bus")
PER_CATEGORY = 10
OUTCOMES = {  # system to the share of triplets right of the queries 0, 10, 20, 30
    "convnet": (0.0, 0.5, 1.0, 0.5),
    "deep-ranking": (1.0, 1.0, 0.0, 0.5),
}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Ten plain images of each of four categories, and their manifest."""
    root = tmp_path_factory.mktemp("images")
    rows = []
    for code, label in enumerate(CATEGORIES):
        (root / label).mkdir()
        for number in range(PER_CATEGORY):
            path = f"{label}/{number:04d}.png"
            Image.fromarray(np.full((12, 16 - number, 3), 60 * code + number, dtype=np.uint8)).save(root / path)
            rows.append((len(rows), path, label))
    return root, pd.DataFrame(rows, columns=["image_id", "path", "label"])


@pytest.fixture(scope="module")
def triplets():
    """Two triplets of the first image of each category, one of each kind."""
    rows = []
    for code, label in enumerate(CATEGORIES):
        query = code * PER_CATEGORY
        other = (query + PER_CATEGORY) % (len(CATEGORIES) * PER_CATEGORY)
        rows.append((2 * code, query, query + 1, query + 2, label, "in-class"))
        rows.append((2 * code + 1, query, query + 1, other, label, "out-of-class"))
    return pd.DataFrame(rows, columns=["triplet", "query", "positive", "negative", "text_query", "kind"])


@pytest.fixture(scope="module")
def outcomes():
    rows = [
        (system, 2 * query + one, share if share != 0.5 else float(one))
        for system, shares in OUTCOMES.items()
        for query, share in enumerate(shares)
        for one in range(2)
    ]
    return pd.DataFrame(rows, columns=["system", "triplet", "outcome"])


@pytest.fixture(scope="module")
def pairs():
    """The pool of a text query: the first five images of its category and one of the next; one pair beside it."""
    rows = []
    for code, label in enumerate(CATEGORIES):
        query = code * PER_CATEGORY
        noise = (query + PER_CATEGORY) % (len(CATEGORIES) * PER_CATEGORY)
        rows += [(label, query, query + step, True) for step in range(1, 6)]
        rows += [(label, query, noise, True), (label, query, query + 9, False)]
    return pd.DataFrame(rows, columns=["text_query", "query", "candidate", "in_pool"])


@pytest.fixture
def study_of_images(images, triplets, outcomes, pairs, tmp_path):
    """Make the study of these images; distances rise along the pairs for OASIS, and fall for the networks."""

    def make(*, systems=("convnet", "oasis", "deep-ranking"), known=outcomes, files=None, **settings):
        root, manifest = images
        given = []
        for system in systems:
            path = tmp_path / "systems" / system / "distances.npy"
            write_array(np.arange(len(pairs), dtype=np.float32)[:: 1 if system == "oasis" else -1], path)
            given.append(str(path))
        tables = {"manifest": manifest, "triplets": triplets, "outcomes": known, "pairs": pairs}
        tables |= {"metrics": metrics_of(made_intervals({"oasis": (80.0, 7.0)}), {})}
        own = {"kind": BY_CLASS, "synthetic": False, "folder": str(root)}
        return made_study(tmp_path, tables, files={"distances": given, **(files or {})}, **own | settings)

    return make


def relevance(tmp_path, *, graded=True):
    """Graded relevance within each category, image ids as in the manifest; or none."""
    random = np.random.default_rng(3)
    blocks = {}
    for label in CATEGORIES:
        block = random.uniform(0.1, 1, (PER_CATEGORY, PER_CATEGORY))
        blocks[label] = block + block.T
        np.fill_diagonal(blocks[label], 0)
    ids = np.arange(len(CATEGORIES) * PER_CATEGORY)
    data = RelevanceData.from_blocks(ids, np.repeat(CATEGORIES, PER_CATEGORY), blocks)
    if not graded:
        data = RelevanceData.from_pairs([0, 1], ["a", "b"], [], [], [])
    path = tmp_path / "relevance.npz"
    data.save(path)
    return data, {"relevance": str(path)}


def test_each_column_of_figure_1_is_a_triplet_of_the_data(study_of_images, triplets):
    gallery = drawn(study_of_images(), "fig1")
    frame = gallery.frame
    columns = frame.pivot(index="triplet", columns="role", values="image_id")
    np.testing.assert_array_equal(columns, triplets.set_index("triplet").loc[columns.index, list(columns.columns)])
    # few text queries give their next triplets
    assert sorted(frame["triplet"].unique()) == list(range(8))
    assert frame.drop_duplicates("column")["kind"].tolist()[:4] == ["in-class", "out-of-class"] * 2
    assert [len(row) for row in gallery.rows] == [8, 8, 8]
    assert [row[0].mark.meaning for row in gallery.rows] == ["query", "positive", "negative"]
    assert gallery.rows[2][1].words == "out-of-class"


def test_text_queries_are_spread_over_all(triplets):
    assert pictures.spread_triplets(triplets, 2)["text_query"].tolist() == [CATEGORIES[0], CATEGORIES[-1]]


def test_the_drawing_is_a_real_step_of_the_sampler(study_of_images, tmp_path):
    data, files = relevance(tmp_path)
    picture = drawn(study_of_images(files=files, sampling={"margin": 0.1, "capacity": 1500}, seed=4), "fig4")
    frame = picture.frame
    role = {name: frame[frame["role"] == name] for name in frame["role"].unique()}
    arriving, out = role["arriving"].iloc[0], role["pushed out"].iloc[0]
    query, positive, negative = (role[name].iloc[0] for name in ("query", "positive", "negative"))
    assert query["category"] == positive["category"] != negative["category"]
    assert arriving["category"] == out["category"] != query["category"]
    assert arriving["image_id"] in set(role["kept"]["image_id"])
    assert out["image_id"] not in set(role["kept"]["image_id"])
    assert set(role["kept"]["category"]) == {arriving["category"]}
    # what is kept are the largest keys, all of them larger than what had to go
    keys = role["kept"]["key"].to_numpy()
    assert (np.diff(keys) <= 0).all()
    assert (keys > out["key"]).all()
    assert (keys < 0).all()
    for one in (query, positive, negative):
        own = role["buffer"][role["buffer"]["category"] == one["category"]]
        assert one["image_id"] in set(own["image_id"])
    np.testing.assert_allclose(frame["total_relevance"], data.total[frame["image_id"]])
    assert role["buffer"].groupby("category").size().tolist() == [5] * 4
    assert "buffers hold 5 images" in picture.notes[1]
    assert "buffers of 1,500 images" in picture.notes[1]


def test_the_drawing_depends_on_its_seed_alone(study_of_images, tmp_path):
    _, files = relevance(tmp_path)
    first, again, other = (drawn(study_of_images(files=files, seed=seed), "fig4").frame for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_filters_stand_by_colour_with_zero_as_grey():
    grey = np.zeros((3, 2, 2, 3), dtype=np.float32)
    grey[0, 0, 0] = 4.0
    grey[1, 0, 0, 0] = -2.0
    own = pictures.filter_records("convnet", grey, None).set_index("filter")
    assert own.index.tolist() == [1, 0, 2]
    np.testing.assert_allclose(own["colour_share"], [2 / 3, 0, 0], atol=1e-12)
    np.testing.assert_allclose(own["norm"], [2, 4 * 3**0.5, 0])
    canvas = pictures.filter_montage(grey[own.index])
    assert canvas[0, 0].tolist() == [0, 128, 128]
    assert canvas[0, 54].tolist() == [255, 255, 255]
    assert canvas[40, 54].tolist() == [128, 128, 128]


def test_filters_of_all_paths_tell_how_alike_they_are_to_their_start(study_of_images, tmp_path):
    random = np.random.default_rng(0)
    filters = {path: random.normal(size=(5, 3, 3, 3)).astype(np.float32) for path in ("every-4th-pixel", "convnet")}
    np.savez(tmp_path / "filters.npz", **filters, **{"start/convnet": filters["convnet"]})
    picture = drawn(study_of_images(files={"filters": str(tmp_path / "filters.npz")}), "fig5")
    assert picture.frame["path"].drop_duplicates().tolist() == ["convnet", "every-4th-pixel"]
    np.testing.assert_allclose(picture.frame.loc[picture.frame["path"] == "convnet", "like_start"], 1)
    assert picture.notes[-1].endswith("in the median: ConvNet 1.00.")


def test_queries_gain_the_most_or_lose_the_most(triplets, outcomes):
    chosen = pictures.choose_queries(outcomes, triplets)
    assert chosen["query"].tolist() == [0, 10, 20]
    assert chosen["chosen_as"].tolist() == ["largest gain", "next largest gain", "largest loss"]
    assert chosen["worse"].tolist() == [0.0, 0.5, 1.0]
    assert chosen["better"].tolist() == [1.0, 1.0, 0.0]
    assert chosen["n_triplets"].tolist() == [2, 2, 2]
    flat = pictures.choose_queries(outcomes.assign(outcome=1.0), triplets)
    assert flat["chosen_as"].tolist() == ["smallest loss", "next smallest loss", "smallest gain"]


def test_without_networks_queries_have_the_most_triplets(triplets, outcomes):
    more = pd.concat([triplets, triplets.iloc[[4]].assign(triplet=8)])
    chosen = pictures.choose_queries(outcomes[outcomes["system"] == "convnet"], more, n=2)
    assert chosen["query"].tolist() == [20, 0]
    assert set(chosen["chosen_as"]) == {"most triplets"}


def test_rankings_are_of_the_pool_by_distance(pairs):
    chosen = pd.DataFrame({"query": [10], "text_query": ["002.dog"]})
    distances = np.zeros(len(pairs), dtype=np.float32)
    distances[pairs["candidate"] == 13] = -1
    distances[pairs["candidate"] == 11] = np.nan
    distances[pairs["candidate"] == 19] = -5
    ranked = pictures.rankings_of(pairs, {"oasis": distances}, chosen, n=3)
    assert ranked["image_id"].tolist() == [13, 12, 14]
    assert ranked["rank"].tolist() == [1, 2, 3]
    assert pictures.rankings_of(pairs, {}, chosen, n=3).empty


def test_search_noise_is_marked(study_of_images):
    gallery = drawn(study_of_images(), "fig7")
    frame = gallery.frame
    assert len(frame) == 3 * 3 * 6
    noise = frame[frame["search_noise"].astype(bool)]
    assert (noise["label"] != noise["text_query"]).all()
    marked = [tile for row in gallery.rows for tile in row if tile.mark == pictures.NOISE]
    assert len(marked) == len(noise) == 9
    assert gallery.rows[1][0].words == "largest gain\nmug\n0 → 100% right"
    assert gallery.row_titles == ("ConvNet", "OASIS", "DeepRanking") * 3
    assert "ConvNet 17%, OASIS 17%, DeepRanking 17%" in gallery.notes[-1]


def test_labels_of_rated_triplets_are_no_categories(study_of_images):
    gallery = drawn(study_of_images(kind=REAL), "fig7")
    assert gallery.frame["search_noise"].isna().all()
    assert not any(tile.mark == pictures.NOISE for row in gallery.rows for tile in row)
    assert "Search noise is not marked" in gallery.notes[-1]


def test_networks_that_were_not_run_leave_rows_that_say_why(study_of_images, outcomes):
    study = study_of_images(systems=["oasis"], known=outcomes.iloc[:0], deep_not_run="install torch")
    gallery = drawn(study, "fig7")
    assert set(gallery.frame["system"]) == {"oasis"}
    told = [tile.words for row in gallery.rows for tile in row]
    assert told.count("not run: install torch") == 2 * 3
    assert "ConvNet, DeepRanking: not run: install torch." in gallery.notes
    assert "most triplets" in gallery.notes[0]
    assert drawn(study_of_images(systems=[], deep_not_run="install torch"), "fig7").rows == ()


def test_pictures_without_their_files_say_why(study_of_images, tmp_path):
    study = study_of_images(deep_not_run="install torch")
    for name in ("fig4", "fig5"):
        picture = drawn(study, name)
        assert picture.notes == ("not run: install torch",)
        assert picture.frame.empty
    _, none = relevance(tmp_path, graded=False)
    assert "relevance above 0" in drawn(study_of_images(files=none), "fig4").notes[0]


def test_the_gallery_shows_queries_before_and_after_learning(study_of_images):
    study = study_of_images()
    gallery = drawn(study, "gallery")
    assert [entry.words for entry in gallery.entries] == ["bus", "dog", "fern", "mug"]
    by_word = {entry.words: entry for entry in gallery.entries}
    assert by_word["mug"].chosen == "largest gain"
    assert by_word["mug"].change == "▲ 2 more of its triplets right"
    before, after = by_word["fern"].rankings
    assert (before.title, after.title) == ("Before learning: ConvNet", "After learning: DeepRanking")
    assert before.summary == "5 of 6 of its category; 2 of its 2 triplets right"
    assert [found.mark for found in before.found].count(pictures.OTHER) == 1
    assert by_word["mug"].image == str(study.path_of(0))
    assert "4 drawn" not in gallery.notes[1]
    alone = drawn(study_of_images(systems=["oasis"]), "gallery")
    assert alone.entries == ()
    assert "no two systems" in alone.notes[0]
