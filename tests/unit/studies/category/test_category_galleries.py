"""Pictures and galleries show what the code that describes images does, and what the rankings have."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_category import IDS, LABELS, images, study

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.image_grid import RIGHT
from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.style import new_figure
from lookalike.features import lbp
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category import pictures, protocol

ROWS = "90 120 140 150 160", "80 100 130 155 170", "70 85 125 140 165", "60 75 95 120 150", "50 60 80 110 130"
PATCH = np.array([row.split() for row in ROWS]).astype(np.uint8)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    tables, files = images(tmp_path_factory.mktemp("described"))
    return study(tables=tables, files=files)


def test_the_example_shows_what_the_code_makes_of_its_pixels():
    for patch in np.random.default_rng(0).integers(0, 256, (50, 5, 5), dtype=np.uint8):
        bits, (pattern, ones) = pictures.circle_values(patch) >= patch[2, 2], pictures.pattern_of(patch)
        assert ones == bits.astype(int).tolist()
        assert pattern == lbp.lbp_patterns(patch)[2, 2] == sum(1 << i for i in range(8) if bits[i])
    canvas = new_figure(6, 3)
    pictures.paint(canvas, PATCH)
    texts = {text.get_text() for axis in canvas.axes for text in axis.texts}
    assert {"pattern 11100001", "2 changes around the circle: uniform, bin 26 of 0 to 58", "158.28"} <= texts
    assert {str(value) for value in PATCH.ravel()} <= texts


def test_the_example_patch_is_uniform_with_an_edge(described):
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
    where, how, _, rule = gallery.notes
    assert where.startswith("Queries are among the 12 test images of Var10, partition 1.")
    assert ("(seed 7)" in how, rule[:51]) == (True, "The picture shows the queries that gain and lose most"[:51])
    # a learner without a result is said, and rankings without neighbours are refused
    monkeypatch.setitem(described._files, "ranks", [described._files["ranks"][0], str(tmp_path / "after.npz")])
    replace(rankings[1], neighbours=None).save(tmp_path / "after.npz")
    with pytest.raises(LookalikeError, match="these rankings have no neighbours"):
        pictures.neighbours(described)
    protocol.NO_RANKINGS.save(tmp_path / "after.npz")
    with pytest.raises(NothingToShowError, match=r"Not drawn: OASIS has no result here\."):
        pictures.neighbours(described)
