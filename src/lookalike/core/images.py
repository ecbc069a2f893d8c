"""Images: one file to one array of RGB pixels, or an error that says why not; and how arrays are shrunk.

The rules are fixed here once, because descriptors depend on them: transparency is laid over white, 16-bit grey is
scaled to 8 bits, rotation in EXIF is applied, an animation counts as its first frame, and a damaged file is refused
whole, never read in part. Kinds of pixels that Pillow reads wrongly are refused by name. Colour profiles are not
applied: the papers do not mention any.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps, PngImagePlugin, UnidentifiedImageError
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from lookalike.core.arrays import Array, Bytes
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, check_regular

MAX_PIXELS = 64_000_000
"""Images with more pixels are refused: decoded, one takes about 200 MB (the widest of Caltech-256 is far below)."""
MAX_BYTES = 2**30
"""Longer files are refused: an image of so many pixels, of 16 bits and with transparency, takes half of it."""
MIN_SIDE = 32
"""Pixels that the shorter side of a described image has at least; a shorter one is stretched to it."""
_TEXT_MEGABYTES = 64
# Pillow calls a PNG damaged whose text or colour profile takes more than 1 MB. Editors and cameras write more, and a
# text may hold the rotation, so none is skipped. Set here, once, because threads read images.
PngImagePlugin.MAX_TEXT_CHUNK = PngImagePlugin.MAX_TEXT_MEMORY = _TEXT_MEGABYTES * 2**20
_TOO_MUCH_TEXT = re.compile("(?i)decompressed data too large|too much memory used in text")

_SHRINK = f"shrink it below that, in ImageMagick with -resize {MAX_PIXELS}@"

FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000")
"""What is read. Pillow knows more, but some of them start other programs (EPS) or take almost any file for an image."""

# A damaged file may fail anywhere inside Pillow's parsers, written over 25 years; these are what they raise.
_BUGS = (SyntaxError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, AssertionError)
_DECODER_ERRORS = (*_BUGS, OSError, EOFError, MemoryError, struct.error, zlib.error, Image.DecompressionBombError)

_BRANDS = {b"hei": "HEIC", b"hev": "HEIC", b"mif": "HEIC", b"msf": "HEIC", b"avi": "AVIF"}
"""Kinds of images by what follows `ftyp` in their first box."""
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", *_TIFF)
_MOST_BANDS = 6  # that Pillow reads
_DIM = 16
"""Where 16 bits are brought to 8, pixels that are all at most this, but not all 0, are most likely of 10 or 12 bits."""


class NotAnImage(LookalikeError):
    """A file that is no image of a known format."""


class UnreadableImage(LookalikeError):
    """An image that is damaged, too large, or of a kind that has no agreed look."""


def load_rgb(path: PathLike, sha256: str | None = None) -> Bytes:
    """Read an image file as 8-bit RGB, (height, width, 3) and C-contiguous; its content decides, not its name.

    Where a `sha256` is known, a file of other bytes is refused.
    """
    if sha256 is not None and not os.path.exists(path):
        raise UnreadableImage(f"{path} was removed since it was first read: run the same command again")
    pixels, found = load_with_sha256(path)
    if sha256 not in (None, found):
        raise UnreadableImage(f"{path} was changed since it was first read: run the same command again")
    return pixels


def load_with_sha256(path: PathLike) -> tuple[Bytes, str]:
    """Read an image file as `load_rgb` does; return with its pixels the SHA-256 of the very bytes that were decoded."""
    file = Path(path)
    try:
        with _opened(file) as stream:
            with _header(stream, file):
                pass
            stream.seek(0)  # what is no image may be longer than the memory, so only an image is read whole
            content = stream.read()
        with _header(io.BytesIO(content), file) as image:
            return _pixels(image, file), hashlib.sha256(content).hexdigest()
    except MemoryError as error:
        raise UnreadableImage(f"{file.name} needs more memory than there is: give fewer --jobs") from error
    except _DECODER_ERRORS as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        if _TOO_MUCH_TEXT.search(reason):
            most = f"{_TEXT_MEGABYTES} MB of text or colour profile"
            raise UnreadableImage(f"{file.name} holds more than {most}: save it without") from error
        raise UnreadableImage(f"{file.name} is damaged: {reason}") from error


def is_image(path: PathLike) -> bool:
    """Return whether a file begins like an image of a known format; its pixels may be damaged."""
    file = Path(path)
    try:
        with _opened(file) as stream, _header(stream, file):
            return True
    except (LookalikeError, *_DECODER_ERRORS):
        return False


def _opened(file: Path) -> BinaryIO:
    """Open a file as a stream: given a path, Pillow maps raw pixels into memory, and garbles a rotated 16-bit TIFF."""
    try:
        check_regular(file, MAX_BYTES)
        return file.open("rb")
    except OSError as error:
        raise UnreadableImage(f"{file.name} cannot be opened: {os.strerror(error.errno or 0)}") from error
    except LookalikeError as error:
        raise UnreadableImage(str(error)) from error


def _header(stream: BinaryIO, file: Path) -> Image.Image:
    """Parse the header; the pixels stay on disk. What is too large or has no agreed look is refused."""
    kind, limit = _unread_tiff(stream), f"{MAX_PIXELS:,} pixels, the most that is read: {_SHRINK}"
    try:
        # Pillow's warnings are not silenced: threads read images, and Python's filters belong to the whole process.
        image = None if kind else Image.open(stream, formats=FORMATS)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UnreadableImage(f"{file.name} has more than {limit}") from error
    except UnidentifiedImageError as error:
        stream.seek(0)
        raise _unidentified(stream.read(12), file) from error
    if image is None or image.mode == "F":  # of a PFM
        kind = kind or "float pixels"
        raise UnreadableImage(f"{file.name} holds {kind}, which are not read: save it as 8 bits")
    if image.width * image.height > MAX_PIXELS:
        raise UnreadableImage(f"{file.name} has {image.width} x {image.height}, more than {limit}")
    return image


def _unidentified(start: bytes, file: Path) -> LookalikeError:
    """Tell a damaged header from a file that never was an image."""
    if not start:
        return NotAnImage(f"{file.name} is empty")
    if start[4:8] == b"ftyp" and (kind := _BRANDS.get(start[8:11])):
        return UnreadableImage(f"{file.name} is a {kind} image, which is not read: convert it to JPEG")
    if start.startswith(_SIGNATURES) or (start[:4] == b"RIFF" and start[8:] == b"WEBP"):
        return UnreadableImage(f"{file.name} is damaged: it begins like an image, but its header cannot be read")
    return NotAnImage(f"{file.name} is not an image of a known format ({', '.join(FORMATS)})")


def _unread_tiff(stream: BinaryIO) -> str:
    """Return what a TIFF holds, by its tags, whose pixels Pillow reads wrongly or not at all; else nothing."""
    start = stream.read(16)
    try:
        if not start.startswith(_TIFF):
            return ""
        tags = ImageFileDirectory_v2(start if b"+" in start[2:4] else start[:8])
        stream.seek(tags.next)
        tags.load(stream)
        bits, formats, n_bands = max(tags.get(258, (1,))), tags.get(339, (1,)), tags.get(277, 1)
        # compressed planes are put together before Pillow sees them
        in_planes = n_bands > 1 and tags.get(284) == 2 and tags.get(259, 1) == 1
        kinds = {
            "complex pixels": max(formats) > 4,
            "float pixels": 3 in formats,
            f"{bits}-bit pixels": bits > 16,
            "signed pixels": 2 in formats,
            f"{n_bands} bands": n_bands > _MOST_BANDS,
            f"{bits}-bit pixels whose white is 0": bits == 16 and tags.get(262) == 0,
            f"{bits}-bit pixels in planes": in_planes and (bits == 16 or n_bands == 2),
            f"{bits}-bit pixels of grey and alpha": bits == 16 and n_bands == 2,
        }
        return next((kind for kind, is_so in kinds.items() if is_so), "")
    except _DECODER_ERRORS:  # Pillow says what is wrong with it
        return ""
    finally:
        stream.seek(0)


def _pixels(image: Image.Image, file: Path) -> Bytes:
    """Decode an image to upright RGB; 16 bits that hold 10 or 12 are refused."""
    is_wide = ";16" in str(getattr(image, "tile", ""))
    image.load()
    with suppress(*_DECODER_ERRORS):  # an image whose EXIF is damaged but whose pixels are whole stays as it is
        image = ImageOps.exif_transpose(image)
    pixels = _to_rgb(image)
    if is_wide and 0 < pixels.max() <= _DIM:
        dim = "16-bit pixels that are nearly black, as those of 10 or 12 bits are"
        raise UnreadableImage(f"{file.name} holds {dim}: save it as 8 bits")
    return pixels


def _to_rgb(image: Image.Image) -> Bytes:
    """Convert a loaded image of any mode to (height, width, 3) uint8."""
    if image.mode == "I" or image.mode.startswith("I;16"):
        return _grey16_to_rgb(np.asarray(image), image.info.get("transparency"))
    if image.mode == "La":
        image = image.convert("LA")
    if image.has_transparency_data:
        colours = image.convert("RGBA")
        white = Image.new("RGBA", colours.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, colours)
    return np.ascontiguousarray(np.asarray(image.convert("RGB")), dtype=np.uint8)


def _grey16_to_rgb(grey: Array, transparent: object) -> Bytes:
    """Scale 16 bits to 8 by value / 257, rounded (257 is odd, so there are no ties); one value may mean transparent."""
    wide = grey.astype(np.int64)
    if wide.min() < 0 or wide.max() > 65535:
        raise ValueError("pixels outside 16 bits")
    narrow = ((wide + 128) // 257).astype(np.uint8)
    if isinstance(transparent, int):
        narrow[wide == transparent] = 255
    return np.repeat(narrow[:, :, None], 3, axis=2)


def check_pixels(image: Array) -> None:
    """Refuse what is not 8-bit RGB pixels with a ValueError."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise ValueError(f"expected uint8 RGB pixels of shape (height, width, 3), not {image.dtype} {image.shape}")


def luma(image: Bytes) -> Bytes:
    """Return the BT.601 luma of RGB pixels in integers, as Pillow's mode "L" has it: (height, width), uint8."""
    check_pixels(image)
    return np.asarray(Image.fromarray(image).convert("L"))


def shrink(image: Bytes, longest_side: int) -> Bytes:
    """Shrink RGB or grey pixels by area until the longer side has so many; a smaller image stays as it is."""
    height, width = image.shape[:2]
    scale = longest_side / max(height, width)
    if scale >= 1:
        return image
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX))
