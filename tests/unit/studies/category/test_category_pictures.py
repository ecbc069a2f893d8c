"""Pictures and galleries show what the code that describes images does, and what the rankings have."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_category import IDS, LABELS, images, study

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.image_grid import RIGHT
from lookalike.exhibits.style import new_figure
from lookalike.features import lbp, pyramid
from lookalike.features.descriptors import block_positions
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category import lbp_example, neighbours, pictures, protocol

ROWS = "90 120 140 150 160", "80 100 130 155 170", "70 85 125 140 165", "60 75 95 120 150", "50 60 80 110 130"
PATCH = np.array([row.split() for row in ROWS]).astype(np.uint8)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    tables, files = images(tmp_path_factory.mktemp("described"))
    return study(tables=tables, files=files)


def words_of(picture):
    canvas = new_figure(*picture.size)
    picture.paint(canvas)
    texts = [text.get_text() for axis in canvas.axes for text in axis.texts]
    return texts + [axis.get_title(loc="left") for axis in canvas.axes]


def test_the_example_shows_what_the_code_makes_of_its_pixels():
    for patch in np.random.default_rng(0).integers(0, 256, (50, 5, 5), dtype=np.uint8):
        bits, (pattern, ones) = lbp_example.circle_values(patch) >= patch[2, 2], lbp_example.pattern_of(patch)
        assert ones == bits.astype(int).tolist()
        assert pattern == lbp.lbp_patterns(patch)[2, 2] == sum(1 << i for i in range(8) if bits[i])
    canvas = new_figure(6, 3)
    lbp_example.paint(canvas, PATCH)
    texts = {text.get_text() for axis in canvas.axes for text in axis.texts}
    assert {"pattern 11100001", "2 changes around the circle: uniform, bin 26 of 0 to 58", "158.28"} <= texts
    assert {str(value) for value in PATCH.ravel()} <= texts


def test_the_example_patch_is_uniform_with_an_edge(described):
    grey = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    pattern, bits = lbp_example.pattern_of(lbp_example.example_patch(grey))
    assert (lbp.pattern_bins()[pattern] < 58, 3 <= sum(bits) <= 5) == (True, True)
    assert lbp_example.example_patch(np.full((9, 9), 7, np.uint8)).tolist() == [[7] * 5] * 5
    # examples are of the pool, which is never in a split
    assert np.array_equal(pictures.example_image(described), pictures.load_image(described, f"{IDS[1]}.png"))


@pytest.mark.parametrize(("width", "height", "n_drawn"), [(300, 200, 3), (640, 480, 6)])
def test_the_grid_of_blocks_has_a_panel_per_level(width, height, n_drawn):
    picture = pictures.picture_of_blocks(np.zeros((height, width, 3), np.uint8))
    rows, columns = pyramid.grid_shape(width, height)
    first, *others = words_of(picture)
    assert first == f"level 0\n{width}×{height} pixels\n{columns}×{rows} = {rows * columns} blocks"
    assert len(others) == n_drawn - 1
    assert picture.frame["blocks"].sum() == pyramid.count_blocks(width, height)


def test_the_palette_shows_colours_and_shares():
    picture = pictures.picture_of_palette(np.array([[0, 0, 0], [200.5, 30, 30]], np.float32), np.array([1, 3]))
    assert picture.frame["colour"].tolist() == ["#000000", "#c81e1e"]
    assert {"25.0%", "75.0%"} <= set(words_of(picture))


def test_visterms_are_rows_of_blocks_from_different_images(described, monkeypatch):
    gallery = pictures.common_visterms(described)
    assert len(gallery.rows) == gallery.frame["word"].nunique() == 4
    assert all(rows["image_id"].is_unique for _, rows in gallery.frame.groupby("word"))
    assert gallery.row_titles[0].splitlines()[1] == "100% of images"
    first = next(gallery.frame.itertuples())
    x, y, size, _ = block_positions(300, 224)[first.block]
    image = pictures.load_image(described, f"{first.image_id}.png")
    assert np.array_equal(gallery.rows[0][0].image, image[y : y + size, x : x + size])
    monkeypatch.setattr(pictures, "N_IMAGES", 2)
    images_drawn = set(pictures.common_visterms(described).frame["image_id"])
    assert images_drawn == {IDS[0], IDS[3]}, "spread evenly over all"


def test_neighbours_are_those_of_the_rankings_and_all_queries_are_counted(described, monkeypatch, tmp_path):
    gallery = neighbours.neighbours(described)
    assert len(gallery.entries) == 12
    rankings, name_of = [Rankings.load(file) for file in described.files["ranks"]], dict(zip(IDS, LABELS, strict=True))
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
    where, how, _, rule = gallery.notes
    assert where.startswith("Queries are among the 12 test images of Var10, partition 1.")
    gains = rankings[1].average_precision() - rankings[0].average_precision()
    assert f"{(gains > 0).sum()} gain, {(gains < 0).sum()} lose" in how
    assert "(seed 7)" in how
    assert rule.startswith("The picture shows the queries that gain and lose most")
    # a learner without a result is said, and rankings without neighbours are refused
    monkeypatch.setitem(described.files, "ranks", [described.files["ranks"][0], str(tmp_path / "after.npz")])
    replace(rankings[1], neighbours=None).save(tmp_path / "after.npz")
    with pytest.raises(LookalikeError, match="these rankings have no neighbours"):
        neighbours.neighbours(described)
    protocol.NO_RANKINGS.save(tmp_path / "after.npz")
    gallery = neighbours.neighbours(described)
    assert (gallery.entries, gallery.notes) == ((), ("Not drawn: OASIS has no result here.",))
