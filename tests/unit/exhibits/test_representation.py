from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.exhibits import lbp_example, representation, visterm_montage
from lookalike.exhibits.style import save_figure
from lookalike.features import lbp, pyramid
from lookalike.features.codebook import learn_codebook
from lookalike.features.descriptors import block_positions, describe_shard, normalise, write_blocks

PATCH = np.array(
    [
        [90, 120, 140, 150, 160],
        [80, 100, 130, 155, 170],
        [70, 85, 125, 140, 165],
        [60, 75, 95, 120, 150],
        [50, 60, 80, 110, 130],
    ],
    np.uint8,
)


def texts(figure):
    found = [figure.get_suptitle()]
    for axis in figure.axes:
        found += [text.get_text() for text in axis.texts]
        found += [axis.get_title(), axis.get_title(loc="left"), axis.get_ylabel(), axis.get_xlabel()]
        found += [label.get_text() for label in axis.get_yticklabels()]
    return [text for text in found if text]


def test_circle_values_agree_with_the_bits():
    rng = np.random.default_rng(0)
    for _ in range(50):
        patch = rng.integers(0, 256, (5, 5), dtype=np.uint8)
        bits = lbp_example.circle_values(patch) >= patch[2, 2]
        assert lbp.lbp_patterns(patch)[2, 2] == sum(1 << i for i in range(8) if bits[i])


def test_circle_values_of_a_ramp_are_its_values_on_the_circle():
    ramp = np.tile(np.arange(0, 250, 50, dtype=np.uint8), (5, 1))
    assert np.allclose(lbp_example.circle_values(ramp), 100 + 50 * lbp_example.circle_points()[:, 0])


def test_lbp_example_shows_pixels_points_bits_and_pattern(tmp_path):
    figure = lbp_example.draw_lbp_example(PATCH)
    shown = texts(figure)
    assert "pattern 11100001" in shown
    assert "2 changes around the circle: uniform, bin 26 of 0 to 58" in shown
    assert {str(value) for value in PATCH.ravel()} <= set(shown)
    assert "158.28" in shown
    files = save_figure(figure, tmp_path / "lbp")
    assert all(file.stat().st_size > 1000 for file in files)


def test_lbp_example_says_what_is_not_uniform():
    patch = np.full((5, 5), 100, np.uint8)
    patch[[0, 2, 4, 2], [2, 0, 2, 4]] = 0
    assert any(
        "8 changes around the circle: not uniform, bin 58" in text
        for text in texts(lbp_example.draw_lbp_example(patch))
    )


def test_lbp_example_refuses_other_patches():
    with pytest.raises(ValueError, match="5x5"):
        lbp_example.draw_lbp_example(np.zeros((3, 3), np.uint8))


@pytest.mark.parametrize(("width", "height", "n_drawn"), [(300, 200, 3), (640, 480, 6), (1000, 800, 6)])
def test_block_grid_has_a_panel_per_level(width, height, n_drawn):
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    figure = representation.draw_block_grid(image)
    assert len(figure.axes) == n_drawn
    title = figure.get_suptitle()
    assert title.startswith(f"{pyramid.count_blocks(width, height):,} blocks")
    assert title.endswith("the first 6") == (len(pyramid.level_sizes(width, height)) > n_drawn)
    rows, columns = pyramid.grid_shape(width, height)
    assert figure.axes[0].get_title(loc="left") == f"level 0\n{width}×{height}\n{columns}×{rows} = {rows * columns}"


def test_block_grid_outlines_blocks_that_share_a_half():
    figure = representation.draw_block_grid(np.zeros((200, 300, 3), np.uint8))
    for axis in figure.axes:
        frame, first, second = axis.patches
        assert first.get_width() == first.get_height() == second.get_width() == pyramid.BLOCK
        assert second.get_x() - first.get_x() == pyramid.STRIDE
        assert first.get_y() == second.get_y()
        assert second.get_x() + pyramid.BLOCK <= frame.get_width()


def test_block_grid_of_a_small_image_is_a_users_mistake():
    with pytest.raises(LookalikeError, match="fewer than 10 blocks"):
        representation.draw_block_grid(np.zeros((128, 128, 3), np.uint8))


def test_palette_shows_colours_and_shares():
    palette = np.array([[0, 0, 0], [200.5, 30, 30], [255, 255, 255]], np.float32)
    shown = texts(representation.draw_palette(palette, [1, 2, 5]))
    assert {"12.5%", "25.0%", "62.5%", "share of pixels", "1   #c81e1e"} <= set(shown)
    plain = representation.draw_palette(palette)
    assert not any("%" in text for text in texts(plain))
    assert [tuple(bar.get_facecolor()[:3]) for bar in plain.axes[0].patches] == [tuple(c / 255) for c in palette]


@pytest.mark.parametrize("counts", [[1, 2], [0, 0, 0]])
def test_palette_refuses_counts_that_are_not_shares(counts):
    with pytest.raises(ValueError, match="each of the 3 colours"):
        representation.draw_palette(np.zeros((3, 3), np.float32), counts)


@pytest.fixture
def described(tmp_path):
    """Four images, each half black and half noise: black is the commonest visterm."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(4):
        image = np.zeros((224, 300, 3), np.uint8)
        image[:, 150:] = rng.integers(0, 256, (224, 150, 3))
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    manifest = pd.DataFrame(
        {"image_id": range(4), "path": [f"{n}.png" for n in range(4)], "width": 300, "height": 224}
    ).astype({"image_id": "int32"})
    palette = np.array([[0, 0, 0], [200, 60, 60], [60, 60, 200], [128, 128, 128]], np.float32)
    blocks = [describe_shard(manifest.iloc[part], tmp_path, palette) for part in ([0, 1, 2], [3])]
    files = [tmp_path / f"blocks-{number:03d}.npz" for number in range(2)]
    for block, file in zip(blocks, files, strict=True):
        write_blocks(block, file)
    codebook = learn_codebook(normalise(np.concatenate([block.counts for block in blocks])), 5, seed=0)
    return tmp_path, manifest, files, codebook


def test_common_visterms_are_rows_of_blocks_from_different_images(described):
    from lookalike.core.images import load_rgb

    root, manifest, files, codebook = described
    loaded = []

    def load(path):
        loaded.append(path)
        return load_rgb(root / path)

    montage = visterm_montage.draw_common_visterms(load, manifest, files, codebook, n_words=3, n_samples=4)
    figure = montage.figure
    assert montage[1:] == (3, 4, 4)
    assert figure.get_suptitle() == "the 3 commonest of 5 visterms"
    assert len(figure.axes) == 12
    shown = [axis for axis in figure.axes if axis.images]
    assert len(shown) == len(loaded)
    assert loaded[:4] == [f"{number}.png" for number in range(4)]
    black = [
        all(axis.images[0].get_array().max() == 0 for axis in figure.axes[row * 4 : row * 4 + 4]) for row in range(3)
    ]
    assert any(black)
    assert "100% of images" in figure.axes[0].get_ylabel()


def test_common_visterms_of_some_images_only(described):
    _, manifest, files, codebook = described
    asked = set()

    def load(path):
        asked.add(path)
        return np.zeros((224, 300, 3), np.uint8)

    montage = visterm_montage.draw_common_visterms(load, manifest, files, codebook, n_images=2)
    assert montage.n_images == 2
    assert asked == {"0.png", "3.png"}


def test_common_visterms_without_images_is_a_users_mistake(described):
    _, manifest, _, codebook = described
    with pytest.raises(LookalikeError, match="no described images"):
        visterm_montage.draw_common_visterms(lambda path: PATCH, manifest, [], codebook)


def test_crop_is_the_block_in_the_original():
    image = np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8)
    for block in (0, 40, 78):
        x, y, size, _ = block_positions(300, 200)[block]
        crop = visterm_montage._crop(image, block)
        assert crop.shape == (size, size, 3)
        assert np.array_equal(crop[0, 0], image[y, x])


@pytest.fixture
def material(described):
    root, manifest, files, codebook = described
    return representation.Material(
        dataset="four",
        title="four images",
        synthetic=True,
        root=root,
        manifest=manifest,
        pool=manifest.iloc[[1, 2]],
        palette=np.array([[0, 0, 0], [200, 60, 60], [60, 60, 200], [128, 128, 128]], np.float32),
        codebook=codebook,
        block_files=files,
        sources=["results/four/manifest.parquet"],
    )


@pytest.mark.parametrize("name", ["fig2", "block_grid", "palette", "visterms"])
def test_write_picture_writes_three_formats_and_a_sidecar(material, tmp_path, name):
    written = representation.write_picture(name, material, tmp_path / "out", "representation")
    assert [path.name for path in written] == [f"{name}.{suffix}" for suffix in ("png", "svg", "pdf", "json")]
    sidecar = read_json(written[-1])
    assert sidecar["caption"].endswith("(four images, synthetic images)")
    assert (sidecar["not_run"], sidecar["statuses"]) == (None, {})
    assert sidecar["files"] == sorted(path.name for path in written[:-1])
    assert (sidecar["dataset"], sidecar["dataset_title"]) == ("four", "four images")
    assert sidecar["sources"] == ["results/four/manifest.parquet"]
    module = {"fig2": "lbp_example", "visterms": "visterm_montage"}.get(name, "representation")
    assert sidecar["drawn_by"] == f"lookalike.exhibits.{module}"
    first = [path.read_bytes() for path in written]
    again = representation.write_picture(name, material, tmp_path / "again", "representation")
    assert [path.read_bytes() for path in again] == first


def test_the_caption_of_visterms_tells_how_many_images_they_are_of(material, tmp_path):
    representation.write_picture("visterms", material, tmp_path, "representation")
    caption = read_json(tmp_path / "visterms.json")["caption"]
    assert caption.startswith(
        "Four commonest visterms among 4 images; each row: blocks from four different images, enlarged from their own "
        "scale."
    )


def test_pictures_use_images_of_the_pool(material):
    assert material.example_path() in {"1.png", "2.png"}


def test_unknown_picture_is_a_users_mistake(material, tmp_path):
    with pytest.raises(LookalikeError, match="choose one of fig2"):
        representation.write_picture("fig3", material, tmp_path, "representation")


def test_example_patch_is_uniform_with_an_edge():
    grey = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    patch = lbp_example.example_patch(grey)
    pattern = int(lbp.lbp_patterns(patch)[2, 2])
    assert lbp.pattern_bins()[pattern] < 58
    assert 3 <= pattern.bit_count() <= 5
    assert lbp_example.example_patch(np.full((9, 9), 7, np.uint8)).tolist() == [[7] * 5] * 5
