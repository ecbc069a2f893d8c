"""Pictures that explain the representation: what they show is what the code that describes images does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from small_category import study

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_json
from lookalike.exhibits.style import new_figure
from lookalike.exhibits.writing import write_exhibit
from lookalike.features import lbp, pyramid
from lookalike.features.codebook import learn_codebook
from lookalike.features.descriptors import block_positions, describe_shard, normalise
from lookalike.features.shards import save_shard
from lookalike.studies.category import lbp_example, pictures
from lookalike.studies.rooms import room_exhibits

PATCH = np.array(
    [[90, 120, 140, 150, 160], [80, 100, 130, 155, 170], [70, 85, 125, 140, 165], [60, 75, 95, 120, 150],
     [50, 60, 80, 110, 130]],
    np.uint8,
)  # fmt: skip
PALETTE = np.array([[0, 0, 0], [200, 60, 60], [60, 60, 200], [128, 128, 128]], np.float32)
NAMES = ("oasis-jmlr-2010/fig2", "representation/block_grid", "representation/palette", "representation/visterms")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A study of four images, each half black and half noise: black is the commonest visterm."""
    folder, rng = tmp_path_factory.mktemp("described"), np.random.default_rng(0)
    for number in range(4):
        image = np.zeros((224, 300, 3), np.uint8)
        image[:, 150:] = rng.integers(0, 256, (224, 150, 3))
        Image.fromarray(image).save(folder / f"{number}.png")
    manifest = pd.DataFrame(
        {"image_id": range(4), "path": [f"{n}.png" for n in range(4)], "width": 300, "height": 224}
    ).astype({"image_id": "int32"})
    blocks = [describe_shard(manifest.iloc[part], folder, PALETTE) for part in ([0, 1, 2], [3])]
    files = [str(folder / f"blocks-{number:03d}.npz") for number in range(2)]
    for block, file in zip(blocks, files, strict=True):
        save_shard(block, file)
    np.save(folder / "palette.npy", PALETTE)
    np.save(folder / "codebook.npy", learn_codebook(normalise(np.concatenate([b.counts for b in blocks])), 5, seed=0))
    write_json({"root": str(folder)}, folder / "images.json")
    made = study(tables={"manifest": manifest, "pool": manifest.iloc[[1, 2]]})
    made.files.update({name: str(folder / f"{name}.npy") for name in ("palette", "codebook")})
    made.files.update(images=str(folder / "images.json"), blocks=files)
    return made


def words_of(picture):
    canvas = new_figure(*picture.size)
    picture.paint(canvas)
    shown = [text.get_text() for axis in canvas.axes for text in axis.texts]
    return shown + [axis.get_title(loc="left") for axis in canvas.axes]


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_written_whole(described, tmp_path, name):
    exhibit = room_exhibits("category")[name]
    sidecar = write_exhibit(exhibit, described, tmp_path)
    assert sidecar.problem == ""
    assert all((tmp_path / f"{name}{suffix}").stat().st_size for suffix in exhibit.suffixes)
    # examples are of the pool, which is never in a split
    assert np.array_equal(pictures.example_image(described), pictures.load_image(described, "1.png"))


def test_the_example_shows_what_the_code_makes_of_its_pixels():
    for patch in np.random.default_rng(0).integers(0, 256, (50, 5, 5), dtype=np.uint8):
        bits = lbp_example.circle_values(patch) >= patch[2, 2]
        pattern, shown = lbp_example.pattern_of(patch)
        assert (pattern, shown) == (sum(1 << i for i in range(8) if bits[i]), bits.astype(int).tolist())
        assert pattern == lbp.lbp_patterns(patch)[2, 2]
    ramp = np.tile(np.arange(0, 250, 50, dtype=np.uint8), (5, 1))
    assert np.allclose(lbp_example.circle_values(ramp), 100 + 50 * lbp_example.circle_points()[:, 0])
    canvas = new_figure(6, 3)
    lbp_example.paint(canvas, PATCH)
    told = {text.get_text() for axis in canvas.axes for text in axis.texts}
    assert {"pattern 11100001", "2 changes around the circle: uniform, bin 26 of 0 to 58", "158.28"} <= told
    assert {str(value) for value in PATCH.ravel()} <= told


def test_the_example_patch_is_uniform_with_an_edge():
    grey = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    pattern, bits = lbp_example.pattern_of(lbp_example.example_patch(grey))
    assert lbp.pattern_bins()[pattern] < 58
    assert 3 <= sum(bits) <= 5
    assert lbp_example.example_patch(np.full((9, 9), 7, np.uint8)).tolist() == [[7] * 5] * 5


@pytest.mark.parametrize(("width", "height", "n_drawn"), [(300, 200, 3), (640, 480, 6)])
def test_the_grid_of_blocks_has_a_panel_per_level(width, height, n_drawn):
    picture = pictures.picture_of_blocks(np.zeros((height, width, 3), np.uint8))
    rows, columns = pyramid.grid_shape(width, height)
    first, *others = words_of(picture)
    assert first == f"level 0\n{width}×{height}\n{columns}×{rows} = {rows * columns}"
    assert len(others) == n_drawn - 1
    assert picture.frame["blocks"].sum() == pyramid.count_blocks(width, height)
    with pytest.raises(LookalikeError, match="fewer than 10 blocks"):
        pictures.picture_of_blocks(np.zeros((128, 128, 3), np.uint8))


def test_the_palette_shows_colours_and_shares():
    picture = pictures.picture_of_palette(np.array([[0, 0, 0], [200.5, 30, 30]], np.float32), np.array([1, 3]))
    assert picture.frame["colour"].tolist() == ["#000000", "#c81e1e"]
    assert {"25.0%", "75.0%"} <= set(words_of(picture))


def test_visterms_are_rows_of_blocks_from_different_images(described, monkeypatch):
    gallery = pictures.common_visterms(described)
    assert len(gallery.rows) == gallery.frame["word"].nunique() == 4
    assert all(rows["image_id"].is_unique for _, rows in gallery.frame.groupby("word"))
    assert any(all(tile.image.max() == 0 for tile in row) for row in gallery.rows)
    assert gallery.row_titles[0].splitlines()[1] == "100% of images"
    first = next(gallery.frame.itertuples())
    x, y, size, _ = block_positions(300, 224)[first.block]
    image = pictures.load_image(described, f"{first.image_id}.png")
    assert np.array_equal(gallery.rows[0][0].image, image[y : y + size, x : x + size])
    monkeypatch.setattr(pictures, "N_IMAGES", 2)
    assert set(pictures.common_visterms(described).frame["image_id"]) == {0, 3}, "spread evenly over all"
    monkeypatch.setitem(described.files, "blocks", [])
    with pytest.raises(LookalikeError, match="no described images"):
        pictures.common_visterms(described)
