"""Pictures of the report, small enough for a page: plots stay exact, montages of photographs shrink."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from lookalike.core.errors import LookalikeError

LONGEST_SIDE = 1600
"""Pixels of the longest side of a montage."""
QUALITY, EFFORT = 82, 0
"""Of WebP, from 0 to 100: how exact montages are, and how long plots are compressed."""
MOST_BITS_OF_A_PLOT = 2.0
"""Bits a pixel of a PNG: of plots 0.5 to 1.6, of montages of photographs more than 4."""


@dataclass(frozen=True)
class Picture:
    """A picture inside a page."""

    address: str
    """``data:`` address with the encoded pixels."""
    width: int
    height: int
    is_plot: bool
    """Whether it is exact, as a plot is."""


def encode(path: Path) -> Picture:
    """Encode a PNG file as WebP; the file as it is where that is smaller. What is transparent becomes white."""
    from PIL import Image, UnidentifiedImageError

    try:
        original = path.read_bytes()
        with Image.open(io.BytesIO(original)) as opened:
            pixels = opened.convert("RGBA")
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise LookalikeError(f"the picture {path} cannot be read: remove it and run its exhibit again") from error
    picture = Image.new("RGB", pixels.size, "white")
    picture.paste(pixels, mask=pixels.getchannel("A"))
    is_plot = 8 * len(original) / (picture.width * picture.height) < MOST_BITS_OF_A_PLOT
    if not is_plot:
        picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    memory = io.BytesIO()
    picture.save(memory, "WEBP", lossless=is_plot, quality=EFFORT if is_plot else QUALITY, method=1 if is_plot else 2)
    encoded, kind = memory.getvalue(), "webp"
    if len(encoded) >= len(original) and picture.size == pixels.size:
        encoded, kind = original, "png"
    address = f"data:image/{kind};base64,{base64.b64encode(encoded).decode('ascii')}"
    return Picture(address, picture.width, picture.height, is_plot)


def encode_thumbnail(path: Path, side: int, quality: int) -> Picture | None:
    """Encode the thumbnail of an image, `side` pixels at its longer side; None where it is missing or damaged."""
    from PIL import Image

    from lookalike.exhibits.image_grid import thumbnail_of

    pixels = thumbnail_of(path, side)
    if pixels is None:
        return None
    memory = io.BytesIO()
    picture = Image.fromarray(pixels)
    picture.save(memory, "WEBP", quality=quality, method=2)
    address = f"data:image/webp;base64,{base64.b64encode(memory.getvalue()).decode('ascii')}"
    return Picture(address, picture.width, picture.height, is_plot=False)
