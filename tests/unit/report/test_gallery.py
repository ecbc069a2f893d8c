"""Gallery of the report: which runs and queries it shows, what it marks, and a page that holds together by itself."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.files import write_array, write_json, write_table
from lookalike.ranking.rankings import Rankings, rank_leave_one_out
from lookalike.report._gallery_model import (
    GAIN,
    LEAST_GAIN,
    LEAST_LOSS,
    LOSS,
    RANDOM,
    Candidate,
    choose,
    told_change,
    told_score,
)
from lookalike.report.gallery import GallerySettings, gallery_material, gallery_parts
from lookalike.studies.landmark.rankings import LandmarkRankings

CLASSES = ("001.mug", "002.dog", "003.fern")


class Scores:
    """A learner whose similarities are known beforehand."""

    def __init__(self, scores):
        self.scores = scores

    def similarity(self, A, B):
        return self.scores[A[:, 0].astype(int)][:, B[:, 0].astype(int)]


def rankings_of(scores, labels, ids):
    rows = np.arange(len(labels), dtype=float)[:, np.newaxis]
    return rank_leave_one_out(Scores(np.asarray(scores)), rows, labels, query_ids=np.asarray(ids, dtype=np.int32))


def draw_images(folder, paths, shape=(30, 40, 3)):
    for number, path in enumerate(paths):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full(shape, (number * 23) % 256, dtype=np.uint8)).save(folder / path)


def manifest_of(ids, paths, labels, shape=(30, 40)):
    rows = {"image_id": list(ids), "path": list(paths), "label": list(labels), "status": "ok"}
    return pd.DataFrame({**rows, "width": shape[1], "height": shape[0]})


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def category(results):
    """Twelve images of three classes: before learning neighbours are random, after it those of the class."""
    ids, labels = np.arange(100, 124, 2), np.repeat(CLASSES, 4)
    paths = [f"{label}/{number}.png" for number, label in zip(ids, labels, strict=True)]
    draw_images(results / "toys" / "images" / "a1", paths)
    write_table(manifest_of(ids, paths, labels), results / "toys" / "manifest.parquet")
    write_json({"kind": "synthetic", "root": "results/toys/images/a1"}, results / "toys" / "images.json")
    chance = np.random.default_rng(3).random((12, 12))
    alike = (labels[:, np.newaxis] == labels) + chance / 10
    for subset, n in (("two", 8), ("three", 12)):
        for fold in (0, 1):
            for method, scores in (("euclidean", chance - 1), ("oasis", alike)):
                # rows of a fold are in an order of its own, so that rows are no image ids
                order = np.random.default_rng(fold).permutation(n)
                ranked = rankings_of(scores[np.ix_(order, order)], labels[order], ids[order])
                ranked.save(results / "toys" / "runs" / "words" / subset / method / str(fold) / "ranks.npz")
    return results


@pytest.fixture
def landmarks(results):
    """One landmark with one query, whose own image comes first and which finds good, junk and other images."""
    names = [f"hall_{number}.png" for number in range(6)]
    draw_images(results / "sights" / "images" / "b2", names)
    write_table(manifest_of(range(6), names, [""] * 6), results / "sights" / "manifest.parquet")
    write_json({"kind": "synthetic_landmarks", "root": "results/sights/images/b2"}, results / "sights" / "images.json")
    box = {"query": ["hall_1"], "landmark": ["hall"], "image_id": [0]}
    corners = {"x_min": [10.0], "y_min": [5.0], "x_max": [30.0], "y_max": [25.0]}
    write_table(pd.DataFrame({**box, **corners}), results / "sights" / "queries.parquet")
    for method, top in (("tfidf", [0, 3, 4, 1, 5, 2]), ("soml-da", [0, 1, 2, 4, 3, 5])):
        truth, ranks = [0, 1, 2, 4], [top.index(image) + 1 for image in (0, 1, 2, 4)]
        LandmarkRankings(
            queries=np.array(["hall_1"]),
            query_ids=np.array([0], dtype=np.int32),
            n_gallery=6,
            top=np.array([top], dtype=np.int32),
            top_scores=np.linspace(1, 0.5, 6, dtype=np.float32)[np.newaxis],
            offsets=np.array([0, 4]),
            image_ids=np.array(truth, dtype=np.int32),
            relevance=np.array([0, 0, 1, 2], dtype=np.int8),
            ranks=np.array(ranks, dtype=np.int32),
            ranks_full=np.array(ranks, dtype=np.int32),
        ).save(results / "sights" / "runs" / "sift" / "hall" / method / "0" / "ranks.npz")
    return results


@pytest.fixture
def triplets(results):
    """Two queries with pools of three: learning turns the order round."""
    folder = results / "pairs"
    names = [f"evaluation/{label}/{number}.png" for number, label in enumerate(("cat", "cat", "cat", "dog", "dog"))]
    draw_images(folder / "images" / "c3", names, (40, 40, 3))
    labels = ["cat", "cat", "cat", "dog", "dog"]
    write_table(manifest_of(range(5), names, labels, (40, 40)), folder / "manifest.parquet")
    rows = [("cat", 0, 1), ("cat", 0, 2), ("cat", 0, 3), ("dog", 3, 4), ("dog", 3, 1), ("dog", 3, 2)]
    pairs = pd.DataFrame(rows, columns=["text_query", "query", "candidate"])
    write_table(pairs.assign(in_pool=True), folder / "pairs.parquet")
    triplet = {"triplet": [0, 1], "query": [0, 3], "positive": [1, 4], "negative": [3, 1], "text_query": ["cat", "dog"]}
    write_table(pd.DataFrame(triplet), folder / "triplets.parquet")
    outcomes = {"system": ["convnet"] * 2 + ["deep-ranking"] * 2, "triplet": [0, 1] * 2, "outcome": [0.0, 1, 1, 1]}
    write_table(pd.DataFrame(outcomes), folder / "outcomes.parquet")
    for system, distances in (("convnet", [3, 2, 1, 1, 2, 3]), ("deep-ranking", [1, 2, 3, 1, 2, 3])):
        write_array(np.array(distances, dtype=np.float32), folder / "systems" / system / "distances.npy")
    return results


def only(material):
    assert material.left_out == ()
    (gallery,) = material.galleries
    return gallery


def found(side):
    return [(one.rank, one.label, one.kind.name) for one in side.found]


def candidates(gains, n_groups=3):
    return [Candidate(10 + place, place % n_groups, gain) for place, gain in enumerate(gains)]


GAINS = (0.1, 0.2, -0.3, 0.0, 0.5, 0.1, -0.1, 0.0, 0.2)


def test_extremes_are_marked_and_come_last():
    choices = choose(candidates(GAINS), 5, seed=1, dataset="toys")
    assert [choice.chosen_as for choice in choices] == [RANDOM] * 3 + [GAIN, LOSS]
    assert [choice.key for choice in choices[3:]] == [14, 12]


def test_random_queries_take_classes_in_turn_and_none_twice():
    keys = [choice.key for choice in choose(candidates(GAINS), 9, seed=1, dataset="toys")]
    assert sorted(keys) == list(range(10, 19))
    first = [(key - 10) % 3 for key in keys[:2]]
    assert len(set(first)) == 2


def test_choice_follows_from_the_seed_and_the_data_set():
    many = candidates(np.linspace(-1, 1, 60), 60)
    one = choose(many, 10, seed=1, dataset="toys")
    assert one == choose(many, 10, seed=1, dataset="toys")
    assert one != choose(many, 10, seed=2, dataset="toys")
    assert one != choose(many, 10, seed=1, dataset="other")


def test_random_choice_does_not_look_at_gains():
    gains = np.linspace(-1, 1, 60)
    other = np.concatenate([gains[:1], np.random.default_rng(0).permutation(gains[1:-1]), gains[-1:]])
    assert choose(candidates(gains), 20, seed=1, dataset="a") == choose(candidates(other), 20, seed=1, dataset="a")


@pytest.mark.parametrize(
    ("gains", "names"),
    [((0.1, 0.2, 0.3), [GAIN, LEAST_GAIN]), ((-0.1, -0.2, -0.3), [LEAST_LOSS, LOSS]), ((np.nan,) * 3, [])],
)
def test_extremes_are_named_by_what_they_do(gains, names):
    chosen_as = [choice.chosen_as for choice in choose(candidates(gains), 3, seed=0, dataset="toys")]
    assert chosen_as == [RANDOM] * (3 - len(names)) + names


def test_fewer_queries_than_asked_for():
    assert len(choose(candidates(GAINS), 50, seed=0, dataset="toys")) == len(GAINS)
    assert choose([], 5, seed=0, dataset="toys") == []
    assert [one.chosen_as for one in choose(candidates(GAINS), 2, seed=0, dataset="toys")] == [RANDOM] * 2


def test_category_shows_what_the_rankings_have(category):
    gallery = only(gallery_material(category, settings=GallerySettings(n_shown=5)))
    folder = category / "toys" / "runs" / "words" / "three"
    labels = dict(zip(range(100, 124, 2), np.repeat(["mug", "dog", "fern"], 4), strict=True))
    assert len(gallery.queries) == 12
    for query in gallery.queries:
        image_id = int(query.id.rsplit("-", 1)[1])
        assert query.label == labels[image_id]
        for side, method in ((query.before, "euclidean"), (query.after, "oasis")):
            ranked = Rankings.load(folder / method / "0" / "ranks.npz")
            row = ranked.query_ids.tolist().index(image_id)
            neighbours = ranked.query_ids[ranked.neighbours[row, :5]].tolist()
            assert [one.label for one in side.found] == [labels[image] for image in neighbours]
            assert [one.picture.id for one in side.found] == [f"picture-toys-{image}" for image in neighbours]
            assert [one.kind.words == "same class" for one in side.found] == [
                labels[image] == query.label for image in neighbours
            ]
            assert side.measure == f"average precision {100 * ranked.average_precision()[row]:.1f} %"
        assert (query.after.n_right, query.after.n_counted) == (3, 5)
        assert query.change == told_change(3 - query.before.n_right)


def test_category_takes_most_classes_and_the_first_fold(category):
    about = only(gallery_material(category)).about
    assert "subset three (3 classes), partition 1: each of its 12 test images" in about
    assert about.startswith("Synthetic images of toys")


def test_category_follows_the_galleries_of_the_study(category):
    sidecar = {
        "dataset": "toys",
        "dataset_title": "Toys & more",
        "kind": "gallery",
        "sources": ["results/toys/manifest.parquet", "results/toys/runs/words/two/oasis/1/ranks.npz"],
    }
    write_json(sidecar, category / "toys" / "exhibits" / "oasis-jmlr-2010" / "table2.json")
    gallery = only(gallery_material(category))
    assert gallery.title == "Toys & more"
    assert "subset two (2 classes), partition 2" in gallery.about


def test_captions_count_all_queries_and_those_shown(category):
    gallery = only(gallery_material(category, settings=GallerySettings(n_category=4), seed=7))
    assert "2 drawn at random (seed 7), the classes in turn" in gallery.how
    precision = {
        method: Rankings.load(category / "toys/runs/words/three" / method / "0/ranks.npz").average_precision()
        for method in ("euclidean", "oasis")
    }
    gains = precision["oasis"] - precision["euclidean"]
    told = f"{(gains > 0).sum()} gain, {(gains < 0).sum()} lose and {(gains == 0).sum()} keep the same"
    assert f"{told} in average precision of all 12 queries" in gallery.how
    assert gallery.how.endswith("of the 4 shown.")


def test_number_of_queries_images_and_pixels_are_settings(category):
    settings = GallerySettings(n_category=5, n_shown=2, side=16)
    gallery = only(gallery_material(category, settings=settings))
    assert [len(query.after.found) for query in gallery.queries] == [2] * 5
    assert {(picture.width, picture.height) for picture in gallery.pictures} == {(16, 12)}


def test_landmark_leaves_the_own_image_out_and_does_not_count_junk(landmarks):
    (query,) = only(gallery_material(landmarks)).queries
    assert found(query.before) == [
        (1, "", "other"),
        (2, "Hall, junk", "junk"),
        (3, "Hall, good", "same"),
        (4, "", "other"),
        (5, "Hall, ok", "same"),
    ]
    assert [one[2] for one in found(query.after)] == ["same", "same", "junk", "other", "other"]
    assert (query.before.n_right, query.before.n_counted) == (2, 4)
    assert query.change == "= as many"


def test_landmark_rectangle_is_scaled_to_the_thumbnail(landmarks):
    (query,) = only(gallery_material(landmarks, settings=GallerySettings(side=20))).queries
    assert query.box == (5.0, 2.5, 10.0, 10.0)


def test_finegrained_ranks_by_distance_and_counts_triplets(triplets):
    gallery = only(gallery_material(triplets))
    cat, dog = gallery.queries
    assert found(cat.before) == [(1, "dog", "other"), (2, "cat", "same"), (3, "cat", "same")]
    assert found(cat.after) == [(1, "cat", "same"), (2, "cat", "same"), (3, "dog", "other")]
    assert (cat.before.measure, cat.after.measure) == ("0 of its 1 triplet right", "1 of its 1 triplet right")
    assert (cat.change, dog.change) == ("▲ 1 more", "= as many")
    assert [one.score for one in cat.after.found] == ["1.00", "2.00", "3.00"]
    assert "ConvNet" in gallery.about
    assert "DeepRanking" in gallery.about


def test_finegrained_without_networks_starts_from_features(triplets):
    for system, other in (("convnet", "wavelet"), ("deep-ranking", "oasis")):
        (triplets / "pairs" / "systems" / system).rename(triplets / "pairs" / "systems" / other)
    gallery = only(gallery_material(triplets))
    assert (gallery.queries[0].before.method, gallery.queries[0].after.method) == ("Wavelet", "OASIS")


def test_rated_triplets_have_no_class_marks(triplets):
    moved = triplets.parent / "photographs"
    (triplets / "pairs" / "images" / "c3").rename(moved)
    known = {"datasets": {"pairs": {"kind": "triplets", "path": "photographs", "title": "Rated"}}}
    gallery = only(gallery_material(triplets, configuration=known))
    sides = [side for query in gallery.queries for side in (query.before, query.after)]
    assert {one.kind.name for side in sides for one in side.found} == {"unknown"}
    assert {side.n_right for side in sides} == {None}
    assert gallery.about.startswith("Images of Rated")


def test_seed_is_that_of_the_configuration(category):
    settings = GallerySettings(n_category=3)
    assert "(seed 5)" in only(gallery_material(category, configuration={"seed": 5}, settings=settings)).how
    assert "(seed 6)" in only(gallery_material(category, configuration={"seed": 5}, seed=6, settings=settings)).how


@pytest.mark.parametrize(
    ("name", "gone", "told"),
    [
        ("category", "toys/images", "toys: its images are not at results/toys/images/a1 any more"),
        ("category", "toys/runs/words/*/euclidean", "toys: no fold has rankings by both Euclidean and a learned"),
        ("landmarks", "sights/images", "sights: its images are not"),
        ("landmarks", "sights/runs/sift/hall/tfidf", "sights: no draw has rankings by both TF-IDF and a learned"),
        ("triplets", "pairs/images", "pairs: its images are not"),
        ("triplets", "pairs/systems/convnet", "pairs: no two systems, one learned and one not"),
        ("triplets", "pairs/triplets.parquet", "pairs: its rankings cannot be read"),
    ],
)
def test_what_is_missing_is_left_out_with_a_sentence(request, results, name, gone, told):
    request.getfixturevalue(name)
    for path in list(results.glob(gone)):
        path.rename(results.parent / f"gone-{path.parts[-2]}")
    material = gallery_material(results)
    assert not material
    (sentence,) = material.left_out
    assert sentence.startswith(told)
    assert sentence in gallery_parts(material).html


def test_rankings_that_were_cut_short_are_left_out_with_a_sentence(category):
    for file in category.glob("toys/runs/words/*/oasis/*/ranks.npz"):
        file.write_bytes(file.read_bytes()[:100])
    (sentence,) = gallery_material(category).left_out
    assert sentence.startswith("toys: its rankings cannot be read (")


def test_learner_without_a_result_is_left_out(category):
    none = np.empty(0, dtype=np.int32)
    for file in category.glob("toys/runs/words/*/oasis/*/ranks.npz"):
        Rankings(np.zeros(1, dtype=np.int64), none, 0, none).save(file)
    assert "no fold has rankings" in gallery_material(category).left_out[0]


def test_without_results_the_page_says_so(tmp_path):
    material = gallery_material(tmp_path / "results")
    assert not material
    assert "There is no gallery" in gallery_parts(material).html


def test_damaged_image_leaves_a_place_and_is_no_query(category):
    (category / "toys/images/a1/001.mug/100.png").write_bytes(b"no image")
    gallery = only(gallery_material(category))
    assert "query-toys-100" not in {query.id for query in gallery.queries}
    assert any(one.picture is None for query in gallery.queries for one in query.after.found)
    assert "picture cannot be read" in gallery_parts(gallery_material(category)).html


def test_results_that_moved_as_a_whole_keep_their_images(category):
    moved = category.parent / "elsewhere"
    category.rename(moved)
    assert len(only(gallery_material(moved)).queries) == 12


@pytest.fixture
def page(category, landmarks, triplets):
    return gallery_parts(gallery_material(category))


def test_studies_stand_in_their_order(page):
    assert re.findall(r'id="gallery-(\w+)"', page.html) == ["toys", "sights", "pairs"]


def test_every_picture_is_embedded_once_and_used(page):
    ids = re.findall(r'<image id="([^"]+)"', page.html)
    assert len(ids) == len(set(ids)) == 12 + 6 + 5
    assert set(re.findall(r'<use href="#([^"]+)"', page.html)) == set(ids)
    assert page.html.count("data:image/webp;base64,") == len(ids)


def test_ids_are_unique_and_links_lead_to_them(page):
    ids = re.findall(r'\sid="([^"]+)"', page.html)
    assert [name for name, n in Counter(ids).items() if n > 1] == []
    assert set(re.findall(r'(?:href|for|aria-labelledby)="#?([^":]+)"', page.html)) <= set(ids)


def test_page_needs_nothing_from_elsewhere(page):
    assert not re.search(r"https?:|//\w+\.|@import|url\(", page.html + page.css + page.script)


def test_every_picture_of_a_ranking_says_rank_and_class(page):
    shown = re.findall(r'<li class="gallery-of-(\w+)">(.*?)</li>', page.html, re.DOTALL)
    assert len(shown) == 12 * 2 * 10 + 2 * 5 + 2 * 2 * 3
    for kind, text in shown:
        assert re.search(r'role="img" aria-label="Rank \d+: [^"]+"', text)
        sign, words = re.search(r'aria-hidden="true">(.)</span> ([^<]+)</span>', text).groups()
        assert (kind, sign) in {("same", "✓"), ("other", "✗"), ("junk", "–")}
        assert words


def test_names_are_escaped(category):
    known = {"datasets": {"toys": {"title": "<script>alert(1)</script>", "kind": "synthetic"}}}
    html = gallery_parts(gallery_material(category, configuration=known)).html
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_page_says_what_is_synthetic(category, landmarks, triplets):
    (category / "pairs" / "drawn").mkdir()
    for kind, n in (("synthetic", 3), ("folder", 2)):
        known = {"datasets": {"toys": {"kind": kind}}}
        html = gallery_parts(gallery_material(category, configuration=known)).html
        assert html.count('gallery-synthetic">synthetic images') == n


@pytest.mark.parametrize(
    ("difference", "told"),
    [(2, "▲ 2 more"), (-1, "▼ 1 fewer"), (0, "= as many"), (0.5, "▲ 0.5 more"), (None, ""), (float("nan"), "")],
)
def test_changes_have_a_sign_and_words(difference, told):
    assert told_change(difference) == told


@pytest.mark.parametrize(("score", "told"), [(1.0, "1.00"), (-0.08431, "−0.0843"), (1234.5, "1,234"), (99.96, "100")])
def test_scores_have_three_digits(score, told):
    assert told_score(score) == told
