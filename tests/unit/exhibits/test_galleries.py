"""Galleries: the rule that chooses queries, what is drawn and marked, and what their captions and files say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json, read_table
from lookalike.exhibits.galleries import (
    COLUMNS,
    GALLERIES,
    GalleryMaterial,
    choose_queries,
    class_name,
    draw_gallery,
    gallery_caption,
    write_gallery,
)
from lookalike.ranking.rankings import Rankings

BEST = GALLERIES["oasis-jmlr-2010", "table2"]
WORST = GALLERIES["oasis-jmlr-2010", "table3"]
# image ids are not row numbers: rows 0..11 of the rankings are images 100, 102, ..., three of each of four classes
LABELS = ("001.mug", "001.mug", "001.mug", "002.dog", "002.dog", "002.dog") + ("003.fern",) * 3 + ("004.bus",) * 3
IDS = np.arange(100, 124, 2, dtype=np.int32)
# rank of the two images of its class, of each query
RANKS = ((1, 2), (1, 2), (1, 3), (1, 4), (1, 2), (6, 7), (6, 11), (6, 11), (1, 2), (10, 11), (9, 11), (5, 6))


def rankings(ranks=RANKS):
    """Rankings in which each query finds the images of its class at given ranks, other images in their order."""
    n, neighbours = len(ranks), []
    for query, own_ranks in enumerate(ranks):
        own = [row for row in range(n) if LABELS[row] == LABELS[query] and row != query]
        others = [row for row in range(n) if LABELS[row] != LABELS[query]]
        neighbours.append([own.pop(0) if rank in own_ranks else others.pop(0) for rank in range(1, n)])
    return Rankings(
        offsets=np.arange(0, 2 * n + 1, 2),
        ranks=np.array(ranks, dtype=np.int32).ravel(),
        n_gallery=n - 1,
        query_ids=IDS[:n],
        neighbours=np.array(neighbours, dtype=np.int32),
        neighbour_scores=np.tile(np.linspace(2, 1, n - 1), (n, 1)).astype(np.float32),
    )


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    rows = []
    for image_id, label in zip(IDS, LABELS, strict=True):
        path = root / label / f"{image_id}.png"
        path.parent.mkdir(exist_ok=True)
        pixels = np.full((30 + image_id % 7, 40, 3), image_id, dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        rows.append((image_id, f"{label}/{image_id}.png", label))
    manifest = pd.DataFrame(rows, columns=["image_id", "path", "label"])
    return GalleryMaterial(root, manifest, rankings())


@pytest.fixture(scope="module")
def one(context):
    return replace(context, subsets=context.subsets[:1])


def words(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def test_successes_are_the_best_query_of_each_class(material):
    chosen, n_candidates = choose_queries(BEST, material)
    # of equal ones the lower id: 100 before 102; 106 is worse than 108
    assert [query.image_id for query in chosen] == [100, 108, 116, 122]
    assert [query.average_precision for query in chosen] == pytest.approx([1, 1, 1, (1 / 5 + 2 / 6) / 2])
    assert n_candidates == 12


def test_failures_have_no_image_of_their_class_among_the_first_five(material):
    chosen, n_candidates = choose_queries(WORST, material)
    assert n_candidates == 5, "that of rank 5 is among the first five"
    assert [query.image_id for query in chosen] == [118, 112, 110], "the lowest of each class; mugs have none"


def test_a_query_without_a_positive_is_no_candidate(material):
    one_alone = replace(rankings(), offsets=np.array([0, 0, *range(4, 25, 2)]), ranks=rankings().ranks)
    chosen, n_candidates = choose_queries(BEST, replace(material, rankings=one_alone))
    assert n_candidates == 11
    assert 100 not in [query.image_id for query in chosen]


@pytest.mark.parametrize("gallery", GALLERIES.values(), ids=lambda gallery: f"{gallery.paper}/{gallery.name}")
def test_each_row_is_a_query_and_its_first_five(material, one, gallery):
    frame = draw_gallery(gallery, material, one).frame
    assert tuple(frame.columns) == COLUMNS
    assert frame["row"].nunique() == gallery.n_queries
    labels = dict(zip(IDS, LABELS, strict=True))
    found = material.rankings
    for _, rows in frame.groupby("row"):
        assert list(rows["rank"]) == [0, 1, 2, 3, 4, 5]
        assert list(rows["role"]) == ["query"] + ["result"] * 5
        query, results = rows.iloc[0], rows.iloc[1:]
        own = int(np.flatnonzero(found.query_ids == query["image_id"])[0])
        assert list(results["image_id"]) == list(found.query_ids[found.neighbours[own, :5]])
        right = [labels[image] == query["class"] for image in results["image_id"]]
        assert list(results["relevant"]) == ["yes" if flag else "no" for flag in right]
        assert results["score"].is_monotonic_decreasing
        assert np.isnan(query["score"])
        assert any(right) == (gallery.shows == "best")


def test_results_are_marked_by_sign_line_and_colour(material, one):
    plot = draw_gallery(BEST, material, one)
    signs = [text for text in words(plot.figure) if text in "✓✗"]
    assert signs == ["✓" if flag == "yes" else "✗" for flag in plot.frame["relevant"] if flag]
    looks = {}
    for axis in plot.figure.axes:
        for text in axis.texts:
            if text.get_text() in "✓✗":
                spine = axis.spines["top"]
                looks.setdefault(text.get_text(), set()).add((spine.get_edgecolor(), spine.get_linestyle()))
    assert set(looks) == {"✓", "✗"}
    (right,), (wrong,) = looks["✓"], looks["✗"]
    assert right[0] != wrong[0]
    assert right[1] != wrong[1]


def test_the_class_stands_beneath_each_image(material, one):
    plot = draw_gallery(BEST, material, one)
    beneath = [axis.get_xlabel() for axis in plot.figure.axes if axis.get_xlabel()]
    assert [text.partition("\n")[0] for text in beneath] == [class_name(label) for label in plot.frame["class"]]
    assert beneath[0] == "mug\nAP 100.0 %"
    assert class_name("056.dog") == "dog"
    assert class_name("2.5.things") == "5.things"


def test_the_caption_states_the_rule(material, one, synthetic):
    best = gallery_caption(BEST, material, one, draw_gallery(BEST, material, one), 0)
    assert (
        "Images of Caltech-256, Var10, representation words1000, partition 1 of 5: each of its 12 test images" in best
    )
    assert "none picked by hand: of all 12, the four of highest average precision, at most one a class" in best
    assert "of equal ones the lower image id. " in best
    assert best.endswith("Form of Table 2 in Chechik, Sharma, Shalit and Bengio, JMLR 11 (2010), which shows images of "
                         "the web.")  # fmt: skip
    worst = gallery_caption(WORST, material, synthetic, draw_gallery(WORST, material, synthetic), 2)
    assert worst.startswith("Query images for which OASIS fails")
    assert "Synthetic images of demo" in worst
    assert "partition 3 of 5" in worst
    assert "of the 5 without an image of their class among these, the three of lowest average precision" in worst
    nips = GALLERIES["oasis-nips-2009", "table1"]
    told = gallery_caption(nips, material, one, draw_gallery(nips, material, one), 0)
    assert "the two of highest" in told
    assert "NIPS 2009" in told


def test_synthetic_images_are_called_so(material, one, synthetic):
    assert draw_gallery(BEST, material, synthetic).figure.get_suptitle() == "Synthetic images"
    assert draw_gallery(BEST, material, one).figure.get_suptitle() == ""


def test_too_few_failures_make_fewer_rows_and_the_caption_says_so(material, one):
    few = replace(material, rankings=rankings((*RANKS[:5], (6, 7), *[(1, 2)] * 6)))
    plot = draw_gallery(WORST, few, one)
    assert set(plot.frame["row"]) == {1}
    caption = gallery_caption(WORST, few, one, plot, 0)
    assert "of the 1 without an image of their class among these, the one of lowest average precision" in caption
    assert "(the paper shows three)" in caption


def test_where_nothing_fails_the_picture_says_so(material, one, missing):
    never = replace(material, rankings=rankings(((1, 2),) * 12))
    empty = Rankings(np.zeros(1, np.int64), np.empty(0, np.int32), 0, np.empty(0, np.int32))
    for found, data, why in (
        (never, one, "every query has an image of its class among its first 5"),
        (replace(material, rankings=empty), one, "OASIS has no result here"),
        (None, missing, "not run: put 256_ObjectCategories.tar at data/caltech256"),
    ):
        plot = draw_gallery(WORST, found, data)
        assert plot.frame.empty
        assert words(plot.figure) == [why]
        assert why in gallery_caption(WORST, found, data, plot, 0)
        assert "by rule" not in gallery_caption(WORST, found, data, plot, 0)


def test_an_image_that_cannot_be_read_is_a_grey_area_with_its_name(material, one, tmp_path):
    for label in set(LABELS):
        (tmp_path / label).mkdir()
    for path in material.manifest["path"]:
        (tmp_path / path).write_bytes((material.root / path).read_bytes())
    (tmp_path / "001.mug" / "102.png").write_bytes(b"no image")
    (tmp_path / "002.dog" / "108.png").unlink()
    damaged = replace(material, root=tmp_path)
    plot = draw_gallery(BEST, damaged, one)
    grey = [image for image in plot.frame["image_id"] if image in (102, 108)]
    assert {102, 108} == set(grey)
    told = [text for text in words(plot.figure) if "cannot be read" in text]
    assert told == [f"cannot be read:\n{image}.png" for image in grey]
    assert f"Grey: {len(grey)} of the images, which cannot be read." in gallery_caption(BEST, damaged, one, plot, 0)
    with pytest.raises(LookalikeError, match="put them back"):
        draw_gallery(BEST, replace(material, root=tmp_path / "gone"), one)


def test_rankings_without_neighbours_are_refused(material, one):
    bare = replace(material, rankings=replace(material.rankings, neighbours=None, neighbour_scores=None))
    with pytest.raises(LookalikeError, match="n_neighbours"):
        draw_gallery(BEST, bare, one)


def test_files_and_sidecar(material, synthetic, tmp_path):
    name = ("oasis-nips-2009", "table1")
    first, again = (
        write_gallery(*name, material, synthetic, fold=0, folder=tmp_path / folder, sources=["ranks.npz"])
        for folder in ("a", "b")
    )
    assert [path.name for path in first] == [f"table1.{kind}" for kind in ("csv", "png", "svg", "pdf", "json")]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    sidecar = read_json(first[-1])
    assert (sidecar["kind"], sidecar["title"], sidecar["synthetic"]) == ("picture", "Table 1", True)
    assert sidecar["sources"] == ["ranks.npz"]
    assert "Synthetic images" in sidecar["caption"]
    assert len(read_table(first[0])) == 2 * 6


def test_unknown_galleries_and_subsets_are_refused(material, one, tmp_path):
    with pytest.raises(LookalikeError, match="choose one of oasis-jmlr-2010/table2"):
        write_gallery("oasis-jmlr-2010", "table9", material, one, fold=0, folder=tmp_path)
    with pytest.raises(LookalikeError, match="no subset to draw"):
        write_gallery("oasis-jmlr-2010", "table2", material, replace(one, subsets=()), fold=0, folder=tmp_path)
