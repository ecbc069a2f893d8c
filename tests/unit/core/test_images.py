"""Every kind of image file to the right pixels, and every damaged one to a reason."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.core import images
from lookalike.core.errors import LookalikeError
from lookalike.core.images import NotAnImage, UnreadableImage, load_rgb

ORIENTATION = 0x0112


@pytest.fixture
def colours() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)


def saved(image: Image.Image, path: Path, **options: object) -> Path:
    image.save(path, **options)
    return path


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


@pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "ppm"])
def test_lossless_rgb_is_returned_unchanged(tmp_path: Path, colours: np.ndarray, suffix: str) -> None:
    pixels = load_rgb(saved(Image.fromarray(colours), tmp_path / f"a.{suffix}"))
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    np.testing.assert_array_equal(pixels, colours)


def test_path_may_be_a_string_and_the_name_does_not_matter(tmp_path: Path, colours: np.ndarray) -> None:
    path = saved(Image.fromarray(colours), tmp_path / "a.png").rename(tmp_path / "photo.jpg")
    np.testing.assert_array_equal(load_rgb(str(path)), colours)


def test_grey_is_repeated(tmp_path: Path, colours: np.ndarray) -> None:
    grey = colours[:, :, 0]
    pixels = load_rgb(saved(Image.fromarray(grey), tmp_path / "a.png"))
    np.testing.assert_array_equal(pixels, np.repeat(grey[:, :, None], 3, axis=2))


@pytest.mark.parametrize("suffix", ["png", "tif", "pgm"])
def test_sixteen_bit_grey_is_divided_by_257_and_rounded(tmp_path: Path, suffix: str) -> None:
    values = np.array([[0, 1, 128, 129, 256, 257, 385, 386, 32767, 32896, 65406, 65407, 65535]], dtype=np.uint16)
    pixels = load_rgb(saved(Image.fromarray(values), tmp_path / f"a.{suffix}"))
    np.testing.assert_array_equal(pixels[0, :, 1], np.round(values[0] / 257).astype(np.uint8))
    assert pixels.shape == (1, 13, 3)


def grey_with_alpha() -> Image.Image:
    grey = Image.fromarray(np.array([[100, 100]], dtype=np.uint8))
    grey.putalpha(Image.fromarray(np.array([[255, 0]], dtype=np.uint8)))
    return grey


@pytest.mark.parametrize(
    ("image", "name", "options", "expected"),
    [
        (np.array([[True, False]]), "a.png", {}, [255, 0]),
        (np.array([[0, 1, 255, 256, 65535]], dtype=">u2"), "big-endian.tif", {}, [0, 0, 1, 1, 255]),
        (np.array([[0, 1000, 65535]], dtype=np.uint16), "a.png", {"transparency": 1000}, [0, 255, 255]),
        (np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 0, 0, 51]]], dtype=np.uint8), "a.png", {}, [10, 255, 204]),
        (grey_with_alpha(), "a.png", {}, [100, 255]),
    ],
    ids=["one bit", "big-endian 16 bits", "a transparent value", "alpha over white", "grey with alpha"],
)
def test_red_of_unusual_modes(tmp_path: Path, image: object, name: str, options: dict, expected: list[int]) -> None:
    made = image if isinstance(image, Image.Image) else Image.fromarray(image)
    assert load_rgb(saved(made, tmp_path / name, **options))[0, :, 0].tolist() == expected


def test_palette_and_its_transparent_colour(tmp_path: Path) -> None:
    palette = Image.fromarray(np.array([[0, 1, 2]], dtype=np.uint8), "L").convert("P")
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    opaque = load_rgb(saved(palette, tmp_path / "a.png"))
    np.testing.assert_array_equal(opaque[0], [[255, 0, 0], [0, 255, 0], [0, 0, 255]])
    clear = load_rgb(saved(palette, tmp_path / "b.png", transparency=1))
    np.testing.assert_array_equal(clear[0], [[255, 0, 0], [255, 255, 255], [0, 0, 255]])


def test_cmyk_tiff_and_adobe_inverted_jpeg_look_alike(tmp_path: Path) -> None:
    ink = np.zeros((16, 16, 4), dtype=np.uint8)
    ink[:, :8, 0] = 255  # left: cyan; right: bare paper
    image = Image.fromarray(ink, "CMYK")
    for path in (tmp_path / "a.tif", tmp_path / "a.jpg"):
        pixels = load_rgb(saved(image, path)).astype(int)
        np.testing.assert_allclose(pixels[:, :8], np.broadcast_to([0, 255, 255], (16, 8, 3)), atol=3)
        np.testing.assert_allclose(pixels[:, 8:], 255, atol=3)
    assert b"Adobe" in (tmp_path / "a.jpg").read_bytes()


@pytest.mark.parametrize(
    ("orientation", "turn"),
    [
        (1, lambda a: a),
        (2, lambda a: a[:, ::-1]),
        (3, lambda a: a[::-1, ::-1]),
        (4, lambda a: a[::-1]),
        (5, lambda a: a.transpose(1, 0, 2)),
        (6, lambda a: np.rot90(a, -1)),
        (7, lambda a: a.transpose(1, 0, 2)[::-1, ::-1]),
        (8, lambda a: np.rot90(a, 1)),
    ],
)
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_exif_rotation(tmp_path: Path, colours: np.ndarray, orientation: int, turn: object, suffix: str) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    pixels = load_rgb(saved(Image.fromarray(colours), tmp_path / f"a.{suffix}", exif=exif))
    np.testing.assert_array_equal(pixels, turn(colours))


def test_exif_rotation_of_jpeg_palette_and_sixteen_bits(tmp_path: Path, colours: np.ndarray) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    image = Image.fromarray(colours)
    deep = Image.fromarray(colours[:, :, 0].astype(np.uint16) * 257)
    assert load_rgb(saved(image, tmp_path / "a.jpg", exif=exif)).shape == (50, 40, 3)
    clear = saved(image.convert("P"), tmp_path / "b.png", exif=exif, transparency=0)
    assert load_rgb(clear).shape == (50, 40, 3)
    pixels = load_rgb(saved(deep, tmp_path / "c.png", exif=exif))
    np.testing.assert_array_equal(pixels[:, :, 0], np.rot90(colours[:, :, 0], -1))


def test_damaged_exif_leaves_whole_pixels_as_they_are(tmp_path: Path, colours: np.ndarray) -> None:
    path = saved(Image.fromarray(colours), tmp_path / "a.jpg", exif=b"Exif\x00\x00rubbish")
    assert load_rgb(path).shape == (40, 50, 3)


@pytest.mark.parametrize("suffix", ["gif", "png", "webp"])
def test_animation_gives_its_first_frame(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "lime", "blue")]
    path = saved(
        frames[0], tmp_path / f"a.{suffix}", save_all=True, append_images=frames[1:], lossless=True, duration=100
    )
    pixels = load_rgb(path)
    assert pixels.shape == (10, 20, 3)
    np.testing.assert_array_equal(pixels[0, 0], [255, 0, 0])


def test_float_and_32_bit_images_are_refused_with_a_reason(tmp_path: Path) -> None:
    values = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    with pytest.raises(UnreadableImage, match="float pixels"):
        load_rgb(saved(Image.fromarray(values), tmp_path / "a.tif"))
    with pytest.raises(UnreadableImage, match="32-bit pixels"):
        load_rgb(saved(Image.fromarray((values * 1e6).astype(np.int32)), tmp_path / "b.tif"))


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("GIF", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("WEBP", {}),
        ("PPM", {}),
        ("JPEG2000", {}),
    ],
)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_truncated_files_are_refused(
    tmp_path: Path, colours: np.ndarray, form: str, options: dict[str, object], share: float
) -> None:
    whole = encoded(Image.fromarray(colours), form, **options)
    path = tmp_path / "cut"
    path.write_bytes(whole)
    assert load_rgb(path).shape == (40, 50, 3)
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UnreadableImage, match="cut is damaged"):
        load_rgb(path)


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\necho rename\n", b"\x00" * 1000, b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"]
)
def test_other_files_are_not_images(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "RENAME2"
    path.write_bytes(content)
    with pytest.raises(NotAnImage, match="RENAME2") as caught:
        load_rgb(path)
    assert isinstance(caught.value, LookalikeError)


def test_missing_file_and_folder_are_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableImage, match=r"none\.jpg cannot be opened: No such file"):
        load_rgb(tmp_path / "none.jpg")
    with pytest.raises(UnreadableImage, match="cannot be opened: Is a directory"):
        load_rgb(tmp_path)


def test_more_than_max_pixels_is_refused_before_decoding(
    tmp_path: Path, colours: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(Image.fromarray(colours), tmp_path / "a.png")
    monkeypatch.setattr(images, "MAX_PIXELS", 2000)
    assert load_rgb(path).shape == (40, 50, 3)
    monkeypatch.setattr(images, "MAX_PIXELS", 1999)
    with pytest.raises(UnreadableImage, match="50 x 40 pixels, more than 1,999"):
        load_rgb(path)


@pytest.mark.parametrize("pillow_limit", [1500, 500])  # Pillow warns above its limit and raises above twice that
def test_pillows_own_limits_become_our_reason(
    tmp_path: Path, colours: np.ndarray, monkeypatch: pytest.MonkeyPatch, pillow_limit: int
) -> None:
    path = saved(Image.fromarray(colours), tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", pillow_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnreadableImage, match=r"a\.png has more than 64,000,000 pixels"):
            load_rgb(path)


def test_an_image_as_wide_as_caltechs_widest_is_read(tmp_path: Path) -> None:
    assert load_rgb(saved(Image.new("L", (7900, 6000)), tmp_path / "wide.png")).shape == (6000, 7900, 3)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_gives_pixels_or_one_of_our_errors(
    tmp_path: Path, colours: np.ndarray, data: st.DataObject
) -> None:
    form = data.draw(st.sampled_from(["JPEG", "PNG", "GIF", "BMP", "WEBP", "PPM", "JPEG2000"]))
    content = bytearray(encoded(Image.fromarray(colours), form))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, min(len(content), 600) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged"
    path.write_bytes(content)
    # any other kind of error escapes and fails the test
    with contextlib.suppress(NotAnImage, UnreadableImage):
        pixels = load_rgb(path)
        assert pixels.dtype == np.uint8
        assert pixels.ndim == 3


def test_real_jpeg(real_images: Path) -> None:
    folder = sorted(real_images.iterdir())[0]
    path = sorted(folder.glob("*.jpg"))[0]
    with Image.open(path) as image:
        expected = np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(load_rgb(os.fspath(path)), expected)
