"""The synthetic image set: the same bytes from any process, well-formed folders, and a difficulty that is one."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps, UnidentifiedImageError

from lookalike.core.errors import LookalikeError
from lookalike.data import materials, synthetic
from lookalike.data.category_plans import DIFFICULTY, category_of
from lookalike.data.shapes import SCRAPS, SHAPES, parts_of
from lookalike.data.synthetic import (
    CLUTTER,
    CLUTTER_LABEL,
    SyntheticCategories,
    draw_image,
    image_path,
    latents_table,
    write_images,
    write_odd_files,
)
from lookalike.features.pyramid import is_large_enough

SMALL = SyntheticCategories(n_classes=3, images_per_class=4, width=128, height=96, n_clutter=2, seed=5)


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_an_image_is_uint8_rgb_of_the_asked_size() -> None:
    for size in ((256, 192), (192, 256), (128, 96), (301, 200)):
        image, _ = draw_image(SyntheticCategories(width=size[0], height=size[1]), 0, 0)
        assert image.shape == (size[1], size[0], 3)
        assert image.dtype == np.uint8
        assert image.flags.c_contiguous
        # A scene, not a blank: many grey levels, and no large part of it burnt out.
        assert image.std() > 15
        assert (image == 255).mean() < 0.25
        assert (image == 0).mean() < 0.25


def test_the_largest_scene_leaves_no_hole_in_the_background() -> None:
    """Windows that leave the laid-out tile come back black: no row or column of a calm image may be."""
    for size in ((400, 200), (200, 400), (1024, 768)):
        for image_index in range(3):
            image, _ = draw_image(SyntheticCategories(width=size[0], height=size[1], difficulty=1.0), 1, image_index)
            assert image.max(axis=(0, 2)).min() > 12
            assert image.max(axis=(1, 2)).min() > 12


def test_images_do_not_depend_on_shards_order_or_process(tmp_path: Path) -> None:
    n_written = write_images(SMALL, tmp_path / "whole")
    assert n_written == 3 * 4 + 2
    assert [write_images(SMALL, tmp_path / "parts", shard, 3) for shard in (2, 0, 1)] == [4, 5, 5]
    whole = _digests(tmp_path / "whole")
    assert len(whole) == n_written
    assert _digests(tmp_path / "parts") == whole
    code = (
        "import sys; from lookalike.data.synthetic import SyntheticCategories, write_images;"
        f"write_images({SMALL!r}, sys.argv[1], 1, 2)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "other")], check=True)
    other = _digests(tmp_path / "other")
    assert len(other) == 7
    assert other.items() <= whole.items()


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from PIL import Image
from lookalike.data.synthetic import SyntheticCategories, write_images
whole = Image.Image.save
def save(image, part, **options):
    if "001_0003" in str(part):
        Path(part).write_bytes(b"half an image")
        os.kill(os.getpid(), signal.SIGKILL)
    whole(image, part, **options)
Image.Image.save = save
write_images({spec!r}, sys.argv[1])
"""


def test_a_killed_writer_leaves_nothing_among_the_images(tmp_path: Path) -> None:
    write_images(SMALL, tmp_path / "whole")
    whole = _digests(tmp_path / "whole")
    folder = tmp_path / "images" / "killed"
    code = KILLED_WHILE_WRITING.format(spec=SMALL)
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert 0 < len(_digests(folder)) < len(whole)
    assert _digests(folder).items() <= whole.items()
    assert [path.name for path in (tmp_path / "images").iterdir() if path != folder] == [".killed.0.parts"]
    write_images(SMALL, folder)
    assert _digests(folder) == whole
    assert list((tmp_path / "images").iterdir()) == [folder]


def test_no_scratch_folder_remains(tmp_path: Path) -> None:
    write_images(SMALL, tmp_path / "images", 1, 2)
    write_odd_files(SMALL, tmp_path / "images")
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_settings_and_seed_make_the_set() -> None:
    settings = {
        "classes": 3,
        "images_per_class": 4,
        "clutter_images": 2,
        "width": 128,
        "height": 96,
        "difficulty": 0.5,
    }
    assert SyntheticCategories.from_settings(settings, 5) == SMALL
    with pytest.raises(LookalikeError, match="n_classes is 200"):
        SyntheticCategories.from_settings(settings | {"classes": 200}, 5)


def test_every_number_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    others: dict[str, float] = {
        "n_classes": 4,
        "images_per_class": 5,
        "width": 129,
        "height": 97,
        "difficulty": 0.6,
        "seed": 6,
        "n_clutter": 3,
    }
    assert set(others) == set(vars(SMALL))
    prints = {replace(SMALL, **{name: value}).fingerprint() for name, value in others.items()}
    prints.add(SMALL.fingerprint())
    monkeypatch.setattr(synthetic, "RECIPE", synthetic.RECIPE + 1)
    prints.add(SMALL.fingerprint())
    assert len(prints) == len(others) + 2
    assert all(len(digits) == 12 and int(digits, 16) >= 0 for digits in prints)
    assert replace(SMALL, difficulty=1).fingerprint() == replace(SMALL, difficulty=1.0).fingerprint()


def test_more_classes_more_images_and_other_clutter_change_no_existing_image() -> None:
    more = SyntheticCategories(n_classes=9, images_per_class=7, width=128, height=96, n_clutter=5, seed=5)
    assert more.class_names()[:3] == SMALL.class_names()
    for label_index, image_index in ((0, 3), (2, 1), (CLUTTER, 1)):
        one, same = (draw_image(spec, label_index, image_index)[0] for spec in (SMALL, more))
        np.testing.assert_array_equal(one, same)


def test_seed_class_and_number_each_change_the_image() -> None:
    image, _ = draw_image(SMALL, 0, 0)
    reseeded = SyntheticCategories(n_classes=3, images_per_class=4, width=128, height=96, n_clutter=2, seed=6)
    for other in (draw_image(reseeded, 0, 0)[0], draw_image(SMALL, 1, 0)[0], draw_image(SMALL, 0, 1)[0]):
        assert np.abs(image.astype(int) - other).mean() > 5


def test_class_names_are_unique_and_number_the_classes() -> None:
    names = SyntheticCategories(n_classes=128).class_names()
    assert len(set(names)) == 128
    assert len({name.split(".")[1].rsplit("-", 1)[0] for name in names}) == 128  # by their own material alone
    assert [name[:4] for name in names] == [f"{number:03d}." for number in range(1, 129)]
    assert sorted(names) == names
    assert names[0].rsplit("-", 1)[1] in SHAPES
    assert CLUTTER_LABEL not in names


def test_classes_share_materials_and_backgrounds() -> None:
    categories = [category_of(0, label_index) for label_index in range(20)]
    assert len({category.materials[0] for category in categories}) == 20
    assert len({material for category in categories for material in category.materials}) < 60
    assert len({background for category in categories for background in category.backgrounds}) < 40
    assert all(len(set(category.materials)) == 3 for category in categories)


def test_folders_are_laid_out_like_an_archive(tmp_path: Path) -> None:
    write_images(SMALL, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == SMALL.folder_names()
    assert SMALL.folder_names()[-1] == CLUTTER_LABEL
    first = SMALL.class_names()[0]
    assert image_path(SMALL, 0, 0) == f"{first}/001_0001.jpg"
    assert image_path(SMALL, CLUTTER, 1) == f"{CLUTTER_LABEL}/257_0002.jpg"
    with Image.open(tmp_path / image_path(SMALL, 0, 0)) as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (128, 96))
        drawn, _ = draw_image(SMALL, 0, 0)
        assert np.abs(np.asarray(image).astype(int) - drawn).mean() < 6
    without = SyntheticCategories(n_classes=1, images_per_class=1, width=128, height=96, n_clutter=0)
    assert without.folder_names() == without.class_names()


def test_latents_are_recorded_for_every_image() -> None:
    table = latents_table(SMALL)
    assert len(table) == 3 * 4 + 2
    assert table["path"].is_unique
    _, latents = draw_image(SMALL, 1, 2)
    row = table.set_index("path").loc[image_path(SMALL, 1, 2)]
    assert row["label"] == SMALL.class_names()[1]
    assert latents
    assert all(row[name] == value for name, value in latents.items())
    assert not table.isna().any().any()
    of_class_0 = table[table["label"] == SMALL.class_names()[0]]
    assert set(of_class_0["shape"]) == {category_of(5, 0).shape}
    assert table["material_0"].between(0, materials.N_MATERIALS - 1).all()


def test_latents_follow_the_class_at_difficulty_0() -> None:
    spec = SyntheticCategories(n_classes=4, images_per_class=30, n_clutter=0, difficulty=0.0)
    for label_index, (_, rows) in enumerate(latents_table(spec).groupby("label")):
        owned = category_of(0, label_index)
        assert set(rows[["material_0", "material_1", "material_2"]].to_numpy().ravel()) == set(owned.materials)
        # An object's parts are cut from different materials, whatever their order.
        assert all(len(set(row)) == 3 for row in rows[["material_0", "material_1", "material_2"]].to_numpy())
        assert rows["background"].isin(owned.backgrounds).mean() > 0.3


def test_odd_files_bring_about_every_status(tmp_path: Path) -> None:
    spec = SyntheticCategories(n_classes=3, images_per_class=2, n_clutter=0)
    write_images(spec, tmp_path)
    statuses = write_odd_files(spec, tmp_path)
    assert sorted(statuses.values()) == ["not_an_image", "ok", "ok", "ok", "ok", "too_small", "unreadable"]
    modes = []
    for path, status in statuses.items():
        assert path.split("/")[0] in spec.class_names()
        if status == "not_an_image":
            assert Path(path).name == "RENAME2"
            with pytest.raises(UnidentifiedImageError):
                Image.open(tmp_path / path)
            continue
        with Image.open(tmp_path / path) as image:
            if status == "unreadable":
                with pytest.raises(OSError, match="truncated"):
                    image.load()
                continue
            image.load()
            shown = ImageOps.exif_transpose(image)
            assert is_large_enough(*shown.size) == (status == "ok")
            if status == "ok":
                assert shown.size == (256, 192)
                modes.append((image.mode, image.size))
    assert set(modes) == {("L", (256, 192)), ("CMYK", (256, 192)), ("I;16", (256, 192)), ("RGB", (192, 256))}


def test_an_odd_file_shows_the_scene_that_it_was_made_of(tmp_path: Path) -> None:
    spec = SyntheticCategories(n_classes=7, images_per_class=2, n_clutter=0)
    paths = list(write_odd_files(spec, tmp_path))
    turned = next(path for path in paths if path.endswith("turned.jpg"))
    deep = next(path for path in paths if path.endswith(".png"))
    drawn = {path: draw_image(spec, number, 2 + number)[0].astype(float) for number, path in enumerate(paths)}
    with Image.open(tmp_path / turned) as image:
        assert np.abs(np.asarray(ImageOps.exif_transpose(image)) - drawn[turned]).mean() < 6
    with Image.open(tmp_path / deep) as image:
        grey = drawn[deep] @ [0.299, 0.587, 0.114]
        assert np.abs(np.asarray(image) / 257.0 - grey).max() < 1.5


def _mean_average_precision(spec: SyntheticCategories) -> float:
    """Quick stand-in for the papers' representation: colours and two-pixel edge codes of the image, cosine."""
    rows = []
    for label_index in range(spec.n_classes):
        for image_index in range(spec.images_per_class):
            image, _ = draw_image(spec, label_index, image_index)
            colour = np.bincount((image >> 6).reshape(-1, 3) @ [16, 4, 1], minlength=64)
            grey = image[..., 1].astype(int)
            middle = grey[2:-2, 2:-2]
            neighbours = (grey[:-4, 2:-2], grey[4:, 2:-2], grey[2:-2, :-4], grey[2:-2, 4:])
            code = sum((neighbour >= middle) << bit for bit, neighbour in enumerate(neighbours))
            edges = np.bincount(np.ravel(code), minlength=16)
            rows.append(np.sqrt(np.concatenate([colour / colour.sum(), edges / edges.sum()])))
    X = np.array(rows) - np.mean(rows, axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.repeat(np.arange(spec.n_classes), spec.images_per_class)
    scores = X @ X.T
    np.fill_diagonal(scores, -np.inf)
    relevant = y[np.argsort(-scores, axis=1, kind="stable")[:, :-1]] == y[:, None]
    precision = np.cumsum(relevant, axis=1) / np.arange(1, len(y))
    return float(((precision * relevant).sum(axis=1) / relevant.sum(axis=1)).mean())


def test_retrieval_gets_harder_with_difficulty() -> None:
    scores = [
        _mean_average_precision(
            SyntheticCategories(n_classes=6, images_per_class=20, width=128, height=96, difficulty=difficulty)
        )
        for difficulty in (0.0, 0.5, 1.0)
    ]
    assert scores[0] > scores[1] + 0.05
    assert scores[1] > scores[2] + 0.03
    assert scores[2] > 1 / 6


def test_every_difficulty_knob_rises() -> None:
    assert all(low < high for low, high in DIFFICULTY.values())


def test_every_material_has_a_lively_tile_that_fits_its_copies() -> None:
    for family in range(len(materials.FAMILIES)):
        for ramp in range(3):  # the three variants of a family
            tile = np.asarray(materials.texture(0, ramp * len(materials.FAMILIES) + family))
            assert tile.shape == (4 * materials.TILE, 4 * materials.TILE)
            assert tile.std() > 25
            one = tile[: materials.TILE, : materials.TILE].astype(float)
            # Periodic: the step over a seam is no larger than the steps inside.
            inside = np.abs(np.diff(one, axis=1)).mean(axis=0), np.abs(np.diff(one, axis=0)).mean(axis=1)
            assert np.abs(one[:, 0] - one[:, -1]).mean() <= inside[0].max() + 5
            assert np.abs(one[0] - one[-1]).mean() <= inside[1].max() + 5


def test_a_view_recedes_by_its_foreshortening() -> None:
    ramp = Image.fromarray(np.tile(np.arange(256, dtype=np.uint8), (1024, 4)))  # grey level = x, so slope = zoom
    seen = materials.view(ramp, (60, 100), (0.5, 0.5), 0.0, 1.0, foreshortening=2.0).astype(int)
    upper, lower = np.diff(seen[0]), np.diff(seen[-1])
    assert np.abs(np.median(upper)) == 2
    assert np.abs(np.median(lower)) == 1
    flat = materials.view(ramp, (60, 100), (0.0, 0.0), 0.0, 1.0)
    assert np.abs(int(flat[50, 30]) - 128) <= 1


def test_shapes_stay_inside_their_square_and_use_three_materials_at_most() -> None:
    for shape in range(len(SHAPES) + len(SCRAPS)):
        for polygon, slot in parts_of(shape):
            assert slot in (0, 1, 2)
            assert np.abs(polygon).max() <= 1.15
            assert len(polygon) >= 3


@pytest.mark.parametrize(
    ("mistake", "name"),
    [
        ({"n_classes": 129}, "n_classes"),
        ({"images_per_class": 9001}, "images_per_class"),
        ({"n_clutter": 9001}, "n_clutter"),
        ({"width": 900, "height": 100}, "width / height"),
    ],
)
def test_a_bad_number_is_refused_with_what_to_choose(mistake: dict[str, float], name: str) -> None:
    with pytest.raises(LookalikeError, match=rf"^synthetic images: {name} is .*; choose a value"):
        SyntheticCategories(**mistake)


@pytest.mark.parametrize(("shard", "n_shards"), [(2, 2), (-1, 2), (0, 0)])
def test_a_shard_that_is_not_there_is_refused(tmp_path: Path, shard: int, n_shards: int) -> None:
    with pytest.raises(LookalikeError, match=f"shard is {shard} of {n_shards}"):
        write_images(SMALL, tmp_path, shard, n_shards)
    assert not list(tmp_path.iterdir())
