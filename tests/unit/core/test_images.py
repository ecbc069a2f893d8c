"""Every kind of image file to the right pixels, and every damaged one to a reason."""

import contextlib
import io
import os
import struct
import warnings
import zlib

import numpy as np
import pytest
import tifffile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.core import images
from lookalike.core.errors import LookalikeError
from lookalike.core.images import NotAnImage, UnreadableImage, load_rgb

ORIENTATION = 0x0112
COLOURS = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
GREY = COLOURS[:, :, 0]


def saved(pixels, path, **options):
    (pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)).save(path, **options)
    return path


def encoded(form, **options):
    stream = io.BytesIO()
    Image.fromarray(COLOURS).save(stream, form, **options)
    return stream.getvalue()


def palette():
    image = Image.fromarray(np.array([[0, 1, 2]], dtype=np.uint8), "L").convert("P")
    image.putpalette([255, 0, 0, 10, 255, 0, 0, 0, 255])
    return image


SIXTEEN = np.array([[0, 1, 128, 129, 256, 257, 385, 386, 32767, 32896, 65406, 65407, 65535]], dtype=np.uint16)
LOSSLESS = ("a.png", "a.bmp", "a.tif", "a.ppm")
OTHERS = {"save_all": True, "append_images": [Image.new("RGB", (50, 40), colour) for colour in ("lime", "blue")]}
ANIMATED = [("a.png", OTHERS | {"duration": 100}), ("a.webp", OTHERS | {"lossless": True}), ("a.tif", OTHERS)]
SIXTEEN_RED = np.round(SIXTEEN[0] / 257).tolist()
GREY_ALPHA = Image.fromarray(np.array([[[9, 255], [9, 0]]], dtype=np.uint8), "LA")
ALPHA = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 0, 0, 51]]], dtype=np.uint8)
MODES = {
    "one bit": (np.array([[True, False]]), "a.png", {}, [255, 0]),
    "grey": (np.array([[7, 200]], dtype=np.uint8), "a.png", {}, [7, 200]),
    "16 bits png": (SIXTEEN, "a.png", {}, SIXTEEN_RED),
    "16 bits pgm": (SIXTEEN.astype(np.int32), "a.pgm", {}, SIXTEEN_RED),
    "a transparent value": (np.array([[0, 9, 65535]], dtype=np.uint16), "a.png", {"transparency": 9}, [0, 255, 255]),
    "alpha over white": (ALPHA, "a.png", {}, [10, 255, 204]),
    "grey with alpha": (GREY_ALPHA, "a.png", {}, [9, 255]),
    "palette": (palette(), "a.png", {}, [255, 10, 0]),
    "animation": (np.full((1, 2), 7, np.uint8), "a.gif", OTHERS | {"duration": 100}, [7, 7]),
    "a transparent colour": (palette(), "a.png", {"transparency": 1}, [255, 255, 0]),
}
WHOLE = [(COLOURS, name, options, COLOURS) for name, options in [*((name, {}) for name in LOSSLESS), *ANIMATED]]


@pytest.mark.parametrize(("image", "name", "options", "expected"), [*MODES.values(), *WHOLE])
def test_an_image_has_its_pixels_whatever_its_name_and_an_animation_those_of_its_first(
    tmp_path, image, name, options, expected
):
    pixels = load_rgb(str(saved(image, tmp_path / name, **options).rename(tmp_path / "photo.jpg")))
    assert (pixels.dtype, pixels.shape[2], pixels.flags.c_contiguous) == (np.uint8, 3, True)
    # of unusual modes the red is known
    np.testing.assert_array_equal(pixels if expected is COLOURS else pixels[:, :, 0], np.array(expected, ndmin=2))


def test_cmyk_tiff_and_adobe_inverted_jpeg_look_alike(tmp_path):
    ink = np.zeros((16, 16, 4), dtype=np.uint8)
    ink[:, :8, 0] = 255  # left: cyan; right: bare paper
    for name in ("a.tif", "a.jpg"):
        pixels = load_rgb(saved(Image.fromarray(ink, "CMYK"), tmp_path / name)).astype(int)
        np.testing.assert_allclose(pixels[:, :8], np.broadcast_to([0, 255, 255], (16, 8, 3)), atol=3)
        np.testing.assert_allclose(pixels[:, 8:], 255, atol=3)
    assert b"Adobe" in (tmp_path / "a.jpg").read_bytes()


def turned(pixels, orientation):
    """Turn pixels as EXIF has it: from 5 on transposed, then mirrored down, across or both."""
    upright = pixels.transpose(1, 0, 2) if orientation > 4 else pixels
    return upright[:: -1 if orientation in (3, 4, 7, 8) else 1, :: -1 if orientation in (2, 3, 6, 7) else 1]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_exif_rotation(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    pixels = load_rgb(saved(COLOURS, tmp_path / f"a.{suffix}", exif=exif))
    np.testing.assert_array_equal(pixels, turned(COLOURS, orientation))
    assert load_rgb(saved(COLOURS, tmp_path / "a.jpg", exif=b"Exif\x00\x00rubbish")).shape == (40, 50, 3)
    deep = load_rgb(saved(GREY.astype(np.uint16) * 257, tmp_path / f"b.{suffix}", exif=exif))
    np.testing.assert_array_equal(deep[:, :, 0], turned(COLOURS, orientation)[:, :, 0])


def test_what_is_refused_has_a_reason(tmp_path):
    saved(GREY.astype(np.uint16) * 4, tmp_path / "dark.png")
    os.mkfifo(tmp_path / "pipe.png")
    with (tmp_path / "endless.png").open("wb") as stream:
        stream.truncate(images.MAX_BYTES + 1)
    for kind in ("heic", "mif1", "avif"):
        (tmp_path / f"{kind}.jpg").write_bytes(b"\0\0\0\x18ftyp" + kind.encode() + bytes(40))
    (tmp_path / "pointer.jpg").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    reasons = {"pointer.jpg": "is a pointer of Git LFS, not the file itself: run git lfs pull"}
    reasons |= {"pipe.png": "is a pipe", "endless.png": "at most 1,024 MB are read"}
    reasons |= {"heic.jpg": "a HEIC image, .*: convert it to JPEG", "mif1.jpg": "a HEIC", "avif.jpg": "an? AVIF image"}
    reasons |= {"dark.png": r"^dark\.png holds 16-bit pixels that are nearly black"}
    reasons |= {"none": "No such file", "": "Is a directory"}
    for name, words in reasons.items():
        with pytest.raises(UnreadableImage, match=words):
            load_rgb(tmp_path / name)
        assert not images.is_image(tmp_path / name) or name == "dark.png"


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


WIDE, PLANES = COLOURS.astype(np.uint16) * 257, {"planarconfig": "separate", "photometric": "rgb"}
GREY_AND_ALPHA = {"photometric": "minisblack", "extrasamples": ["unassalpha"]}
WHITE_IS_0 = {"photometric": "miniswhite"}
IN_PLANES = np.ascontiguousarray(np.moveaxis(WIDE, 2, 0))
WITH_ALPHA = np.stack([GREY, np.full_like(GREY, 255)], -1)
TIFFS = {
    "8 bits, planes": ((IN_PLANES // 257).astype(np.uint8), PLANES, COLOURS),
    "8 bits, white is 0": (255 - GREY, WHITE_IS_0, GREY),
    "8 bits, grey and alpha": (WITH_ALPHA, GREY_AND_ALPHA, GREY),
    "16 bits": (WIDE, {"photometric": "rgb"}, COLOURS),
    "16 bits, tiles": (WIDE, {"photometric": "rgb", "tile": (16, 16)}, COLOURS),
    "16 bits, packed planes": (IN_PLANES, PLANES | {"compression": "zlib"}, COLOURS),
    "16 bits, grey": (WIDE[..., 0], {}, GREY),
    "16 bits, planes": (IN_PLANES, PLANES, "16-bit pixels in planes"),
    "16 bits, white is 0": (WIDE[..., 0], WHITE_IS_0, "16-bit pixels whose white is 0"),
    "16 bits, grey and alpha": (WITH_ALPHA.astype(np.uint16), GREY_AND_ALPHA, "16-bit pixels of grey and alpha"),
    "10 bits in 16": (COLOURS.astype(np.uint16) * 4, {"photometric": "rgb"}, "nearly black, as those of 10 or 12 bits"),
    "12 bits in 16, grey": (GREY.astype(np.uint16) * 16, {}, "nearly black, as those of 10 or 12 bits"),
    "13 bands": (np.repeat(WITH_ALPHA[..., :1], 13, axis=2), {"photometric": "minisblack"}, "13 bands"),
    "half": ((COLOURS / 9).astype(np.float16), {"photometric": "rgb"}, "float pixels"),
    "signed": ((COLOURS / 9).astype(np.int16), {"photometric": "rgb"}, "signed pixels"),
    "long": ((COLOURS / 9).astype(np.uint32), {"photometric": "rgb"}, "32-bit pixels"),
    "float32 grey": ((GREY / 9).astype(np.float32), {"photometric": "minisblack"}, "float pixels"),
}


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("name", TIFFS)
def test_each_kind_of_tiff_is_read_rightly_or_named(tmp_path, capfd, name, order):
    stored, options, expected = TIFFS[name]
    form = {"planarconfig": "contig" if stored.ndim == 3 else None} | options
    tifffile.imwrite(tmp_path / "a.tif", stored, byteorder=order, **form)
    if isinstance(expected, str):
        with pytest.raises(UnreadableImage, match=rf"^a\.tif holds .*{expected}.*: save it as 8 bits$"):
            load_rgb(tmp_path / "a.tif")
    else:
        pixels = load_rgb(tmp_path / "a.tif")
        np.testing.assert_array_equal(pixels, expected if expected.ndim == 3 else np.repeat(expected[..., None], 3, 2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_long_texts_and_profiles_are_no_damage_up_to_a_bound(tmp_path, kind):
    whole, path = encoded("PNG"), tmp_path / "a.png"
    place = whole.index(b"IDAT") - 4
    begin = {b"iTXt": b"a\0\1\0\0\0"}.get(kind, b"a\0\0")
    for megabytes in (3, 65):
        text = begin + zlib.compress(bytes(megabytes << 20))
        path.write_bytes(whole[:place] + chunk(kind, text) + whole[place:])
        if megabytes == 3:
            np.testing.assert_array_equal(load_rgb(path), COLOURS)
    with pytest.raises(UnreadableImage, match=r"a\.png holds more than 64 MB of text or colour profile: save"):
        load_rgb(path)


@pytest.mark.parametrize(
    ("form", "options"),
    [*((form, {}) for form in images.FORMATS), ("JPEG", {"progressive": True}), ("TIFF", {"compression": "tiff_lzw"})],
)
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_truncated_files_are_refused(tmp_path, form, options, share):
    whole = encoded(form, **options)
    path = tmp_path / "cut"
    path.write_bytes(whole)
    assert load_rgb(path).shape == (40, 50, 3)
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UnreadableImage, match="cut is damaged"):
        load_rgb(path)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_gives_pixels_or_one_of_our_errors(tmp_path, data):
    content = bytearray(encoded(data.draw(st.sampled_from(images.FORMATS))))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, min(len(content), 600) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged"
    path.write_bytes(content)
    # any other kind of error escapes and fails the test
    with contextlib.suppress(NotAnImage, UnreadableImage):
        pixels = load_rgb(path)
        assert (pixels.dtype, pixels.ndim) == (np.uint8, 3)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x00" * 1000, b"%!PS-Adobe-3.0 EPSF-3.0\n%%Pages: 1\n"])
def test_other_files_are_not_images(tmp_path, content):
    (tmp_path / "RENAME2").write_bytes(content)
    with pytest.raises(NotAnImage, match="RENAME2"):
        load_rgb(tmp_path / "RENAME2")
    assert issubclass(NotAnImage, LookalikeError)


def test_more_pixels_than_allowed_are_refused_before_decoding(tmp_path, monkeypatch):
    path = saved(COLOURS, tmp_path / "a.png")
    assert images.MAX_PIXELS > 7900 * 6000, "the widest of Caltech-256"
    monkeypatch.setattr(images, "MAX_PIXELS", 2000)
    assert load_rgb(path).shape == (40, 50, 3)
    monkeypatch.setattr(images, "MAX_PIXELS", 1999)
    with pytest.raises(UnreadableImage, match=r"50 x 40, more than 1,999 pixels, .*: shrink it below that"):
        load_rgb(path)
    monkeypatch.undo()
    for limit in (1500, 500):  # Pillow warns above its own limit and raises above twice that
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UnreadableImage, match=r"a\.png has more than 64,000,000 pixels, .*-resize 64000000@"):
                load_rgb(path)
