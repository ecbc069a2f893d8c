"""Pictures of the fine-grained study: which images are shown, what is marked, and what an empty picture says."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from triplet_numbers import full as any_context

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.datasets.relevance import RelevanceData
from lookalike.exhibits import triplet_pictures as pictures
from lookalike.exhibits.triplet_catalogue import write_triplet_picture
from lookalike.exhibits.triplet_context import BY_CLASS, REAL, SYNTHETIC
from lookalike.exhibits.triplet_pictures import PictureMaterial

CATEGORIES = ("001.mug", "002.dog", "003.fern", "004.bus")
PER_CATEGORY = 10
OUTCOMES = {  # system to the share of triplets right of the queries 0, 10, 20, 30
    "convnet": (0.0, 0.5, 1.0, 0.5),
    "deep-ranking": (1.0, 1.0, 0.0, 0.5),
}


@cache
def full(**changes):
    """Context of triplets that a machine rated: categories of images are known."""
    return any_context(**{"kind": BY_CLASS, **changes})


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Ten plain images of each of four categories; two triplets of the first image of each, one of each kind."""
    root = tmp_path_factory.mktemp("images")
    paths, labels = [], []
    for code, label in enumerate(CATEGORIES):
        (root / label).mkdir()
        for number in range(PER_CATEGORY):
            path = f"{label}/{number:04d}.png"
            Image.fromarray(np.full((12, 16 - number, 3), 60 * code + number, dtype=np.uint8)).save(root / path)
            paths.append(path)
            labels.append(label)
    manifest = pd.DataFrame({"image_id": np.arange(len(paths), dtype=np.int32), "path": paths, "label": labels})
    rows = []
    for code, label in enumerate(CATEGORIES):
        query = code * PER_CATEGORY
        other = (query + PER_CATEGORY) % len(paths)
        rows.append((2 * code, query, query + 1, query + 2, label, "in-class"))
        rows.append((2 * code + 1, query, query + 1, other, label, "out-of-class"))
    columns = ["triplet", "query", "positive", "negative", "text_query", "kind"]
    return PictureMaterial(root, manifest, pd.DataFrame(rows, columns=columns))


@pytest.fixture(scope="module")
def relevance():
    """Graded relevance within each category, image ids as in the manifest."""
    random = np.random.default_rng(3)
    blocks = {}
    for label in CATEGORIES:
        block = random.uniform(0.1, 1, (PER_CATEGORY, PER_CATEGORY))
        block = block + block.T
        np.fill_diagonal(block, 0)
        blocks[label] = block
    return RelevanceData.from_blocks(
        np.arange(len(CATEGORIES) * PER_CATEGORY), np.repeat(CATEGORIES, PER_CATEGORY), blocks
    )


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


def texts(plot):
    """Everything that a figure says, title and legend too."""
    import matplotlib.text

    return " ".join(text.get_text() for text in plot.figure.findobj(matplotlib.text.Text)).replace("\n", " ")


def rankings(pairs, chosen, systems=("convnet", "oasis", "deep-ranking")):
    distances = {
        system: np.arange(len(pairs), dtype=np.float32)[:: 1 if system == "oasis" else -1] for system in systems
    }
    return pictures.rankings_of(pairs, distances, chosen, n=4)


def test_each_column_is_a_triplet_of_the_data(material):
    plot = pictures.sample_triplets(material, full(), n=4)
    assert plot.frame["text_query"].drop_duplicates().tolist() == list(CATEGORIES)
    columns = plot.frame.pivot(index="triplet", columns="role", values="image_id")
    expected = material.triplets.set_index("triplet").loc[columns.index, list(columns.columns)]
    np.testing.assert_array_equal(columns, expected)
    kinds = plot.frame.drop_duplicates("column")["kind"].tolist()
    assert kinds == ["in-class", "out-of-class"] * 2
    assert len(plot.figure.axes) == 12


def test_few_text_queries_give_their_next_triplets(material):
    plot = pictures.sample_triplets(material, full(), n=20)
    assert sorted(plot.frame["triplet"].unique()) == list(range(8))
    assert plot.frame["column"].max() == 8


def test_text_queries_are_spread_over_all(material):
    plot = pictures.sample_triplets(material, full(), n=2)
    assert plot.frame["text_query"].drop_duplicates().tolist() == [CATEGORIES[0], CATEGORIES[-1]]


def test_the_drawing_is_a_real_step_of_the_sampler(material, relevance):
    plot = pictures.sampler_drawing(material, relevance, full(), settings={"margin": 0.1}, random_state=4)
    frame = plot.frame
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
    np.testing.assert_allclose(frame["total_relevance"], relevance.total[frame["image_id"]])
    assert role["buffer"].groupby("category").size().tolist() == [5] * 4


def test_the_drawing_depends_on_its_seed_alone(material, relevance):
    first, again, other = (
        pictures.sampler_drawing(material, relevance, full(), random_state=seed).frame for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_relevance_without_a_triplet_is_said(material):
    none = RelevanceData.from_pairs([0, 1], ["a", "b"], [], [], [])
    plot = pictures.sampler_drawing(material, none, full())
    assert plot.frame.empty
    assert "relevance above 0" in texts(plot)
    assert "Not drawn: " in pictures.caption_of_sampler(plot, full())


def test_the_caption_of_the_sampler_tells_the_real_buffers(material, relevance):
    plot = pictures.sampler_drawing(material, relevance, full())
    caption = pictures.caption_of_sampler(plot, full(), {"capacity": 1500, "out_of_class": 0.2})
    assert "buffers hold 5 images" in caption
    assert "buffers of 1,500 images and 20% out-of-class negatives" in caption
    assert "all training images at hand" in pictures.caption_of_sampler(plot, full(), {"capacity": None})


def test_filters_are_shown_with_zero_as_grey_and_by_colour():
    grey = np.zeros((3, 2, 2, 3), dtype=np.float32)
    grey[0, 0, 0] = 4.0
    grey[1, 0, 0, 0] = -2.0
    plot = pictures.first_layer_filters({"every-4th-pixel": grey, "convnet": grey[:1]}, full())
    own = plot.frame[plot.frame["path"] == "every-4th-pixel"].set_index("filter")
    assert plot.frame["path"].drop_duplicates().tolist() == ["convnet", "every-4th-pixel"]
    assert own.index.tolist() == [1, 0, 2]
    np.testing.assert_allclose(own["colour_share"], [2 / 3, 0, 0], atol=1e-12)
    np.testing.assert_allclose(own["norm"], [2, 4 * 3**0.5, 0])
    canvas = plot.figure.axes[1].images[0].get_array()
    np.testing.assert_allclose(canvas[0, 0], [0, 0.5, 0.5])
    np.testing.assert_allclose(canvas[0, 18], [1, 1, 1])
    np.testing.assert_allclose(canvas[8, 18], [0.5, 0.5, 0.5])
    assert "3 filters of 2 x 2 pixels" in plot.figure.axes[1].get_title(loc="left")
    assert "ConvNet 0%, every 4th pixel 0%" in pictures.caption_of_filters(plot, full())


@pytest.mark.parametrize("bad", [np.zeros((2, 8, 8)), np.zeros((2, 3, 8, 8)), np.full((1, 2, 2, 3), np.nan)])
def test_filters_of_another_shape_are_refused(bad):
    with pytest.raises(ValueError, match="path convnet must be finite and of shape"):
        pictures.first_layer_filters({"convnet": bad}, full())


def test_queries_gain_the_most_or_lose_the_most(material, outcomes):
    chosen = pictures.choose_queries(outcomes, material.triplets)
    assert chosen["query"].tolist() == [0, 10, 20]
    assert chosen["chosen_as"].tolist() == ["largest gain", "next largest gain", "largest loss"]
    assert chosen["worse"].tolist() == [0.0, 0.5, 1.0]
    assert chosen["better"].tolist() == [1.0, 1.0, 0.0]
    assert chosen["n_triplets"].tolist() == [2, 2, 2]
    swapped = pictures.choose_queries(outcomes, material.triplets, better="convnet", worse="deep-ranking", n=2)
    assert swapped["query"].tolist() == [20, 0]


def test_equal_queries_are_not_called_gains(material, outcomes):
    flat = outcomes.assign(outcome=1.0)
    chosen = pictures.choose_queries(flat, material.triplets)
    assert chosen["chosen_as"].tolist() == ["smallest loss", "next smallest loss", "smallest gain"]


def test_without_networks_queries_have_the_most_triplets(material, outcomes):
    more = pd.concat([material.triplets, material.triplets.iloc[[4]].assign(triplet=8)])
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
    with pytest.raises(LookalikeError, match="measure its distances again"):
        pictures.rankings_of(pairs, {"oasis": distances[1:]}, chosen)
    assert pictures.rankings_of(pairs, {}, chosen).empty


def test_search_noise_is_marked_by_sign_colour_and_line(material, outcomes, pairs):
    chosen = pictures.choose_queries(outcomes, material.triplets)
    known = pd.DataFrame({"query": [0], "image_id": [1], "relevance": [0.25]})
    plot = pictures.ranking_examples(material, rankings(pairs, chosen), chosen, full(), relevance=known)
    frame = plot.frame
    assert len(frame) == 3 * 3 * 4
    noise = frame[frame["search_noise"].astype(bool)]
    assert (noise["label"] != noise["text_query"]).all()
    assert set(noise["system"]) == {"convnet", "deep-ranking"}
    marked = [axis for axis in plot.figure.axes if any(text.get_text() == "✗" for text in axis.texts)]
    assert len(marked) == len(noise) == 6
    assert {axis.spines["left"].get_linestyle() for axis in marked} == {"--"}
    shown = [text.get_text() for axis in plot.figure.axes for text in axis.texts]
    assert shown.count("0.25") == int((frame["relevance"] == 0.25).sum()) == 1
    assert "0% → 100% right of 2 triplets" in texts(plot)
    assert "ConvNet 25%, OASIS 0%, DeepRanking 25%" in pictures.caption_of_rankings(plot, full())


@pytest.mark.parametrize("kind", [BY_CLASS, REAL])
def test_images_without_a_category_are_not_marked(kind, material, outcomes, pairs):
    """Labels of rated triplets are text queries, which are no categories either."""
    manifest = material.manifest if kind == REAL else material.manifest.assign(label="")
    blank = PictureMaterial(material.root, manifest, material.triplets)
    chosen = pictures.choose_queries(outcomes, material.triplets, n=1)
    plot = pictures.ranking_examples(blank, rankings(pairs, chosen), chosen, full(kind=kind))
    assert plot.frame["search_noise"].isna().all()
    assert "✗" not in texts(plot)
    assert "Search noise is not marked" in pictures.caption_of_rankings(plot, full(kind=kind))


def test_a_network_that_was_not_run_leaves_a_row_that_says_why(material, outcomes, pairs):
    context = full(deep_not_run="install torch")
    chosen = pictures.choose_queries(outcomes.iloc[:0], material.triplets, n=1)
    plot = pictures.ranking_examples(material, rankings(pairs, chosen, ("oasis",)), chosen, context)
    assert set(plot.frame["system"]) == {"oasis"}
    assert texts(plot).count("not run: install torch") == 2 * len(chosen)
    caption = pictures.caption_of_rankings(plot, context)
    assert "ConvNet: not run: install torch." in caption
    assert "most triplets" in caption


@pytest.mark.parametrize(
    ("changes", "why"), [({"not_run": "get the data"}, "get the data"), ({"deep_not_run": "get torch"}, "get torch")]
)
def test_what_is_missing_is_said(changes, why):
    context = full(**changes)
    plots = {
        pictures.caption_of_filters: pictures.first_layer_filters(None, context),
        pictures.caption_of_rankings: pictures.ranking_examples(None, None, None, context),
        pictures.caption_of_sampler: pictures.sampler_drawing(None, None, context),
    }
    for caption, plot in plots.items():
        assert plot.frame.empty
        assert f"not run: {why}" in texts(plot)
        assert caption(plot, context).endswith(f"Not drawn: {why}.")


def test_synthetic_images_are_called_so(material, relevance, outcomes, pairs):
    context = full(kind=SYNTHETIC)
    chosen = pictures.choose_queries(outcomes, material.triplets, n=1)
    plots = {
        pictures.caption_of_triplets: pictures.sample_triplets(material, context, n=2),
        pictures.caption_of_filters: pictures.first_layer_filters({"convnet": np.ones((1, 2, 2, 3))}, context),
        pictures.caption_of_rankings: pictures.ranking_examples(material, rankings(pairs, chosen), chosen, context),
        pictures.caption_of_sampler: pictures.sampler_drawing(material, relevance, context),
    }
    for caption, plot in plots.items():
        assert "synthetic" in caption(plot, context)
        assert "Synthetic" in texts(plot)


def test_an_image_that_is_not_in_the_manifest_is_named(material):
    with pytest.raises(LookalikeError, match="no image 99 in the manifest"):
        material.load(99)


def test_pictures_are_written_with_their_frames(material, outcomes, pairs, tmp_path):
    chosen = pictures.choose_queries(outcomes, material.triplets, n=1)
    plot = pictures.ranking_examples(material, rankings(pairs, chosen), chosen, full())
    caption = pictures.caption_of_rankings(plot, full())
    name = "deep-ranking-cvpr-2014/fig7"
    written = write_triplet_picture(name, plot, caption=caption, context=full(), folder=tmp_path)
    assert {path.suffix for path in written} >= {".png", ".svg", ".pdf", ".csv", ".json"}
    table = read_table(tmp_path / f"{name}.csv")
    assert table["image_id"].tolist() == plot.frame["image_id"].tolist()
