"""Pictures of the report, small enough for a page: drawings as SVG, montages of photographs smaller."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    from PIL.Image import Image

    from lookalike.exhibits.model import Sheet

LONGEST_SIDE, QUALITY = 1600, 82
"""Pixels of the longest side of a montage of photographs, and how exact it is as WebP, from 0 to 100."""
WIDE = 1000
"""Pixels from which on a picture is wide: on a phone its letters would be too small to read."""
MOST_BYTES = 300_000
"""Of a drawing that stands on a page as SVG; a montage of photographs has more."""
PIXELS_A_POINT = 200 / 72
"""An SVG is shown as large as its PNG of 200 dots an inch."""
POINT = re.compile(r'<circle cx="[\d.]+" cy="[\d.]+" r="3" fill="transparent"><title>[^<]*</title></circle>')
"""What `lookalike.exhibits.drawing.DISC` makes: inside an image nothing can be pointed at, so pages repeat it above."""


@dataclass(frozen=True)
class Picture:
    """A picture inside a page."""

    address: str
    """``data:`` address with the drawing or the encoded pixels."""
    width: int
    height: int
    points: str = ""
    """Elements of an SVG of `box` that lie over the picture, and tell the numbers of the point beneath the pointer."""
    box: str = ""


def encode(path: Path) -> Picture:
    """Encode the picture of a PNG file: the SVG beside it where it is a drawing, else as WebP on white."""
    from PIL import Image, UnidentifiedImageError

    drawing = path.with_suffix(".svg")
    if drawing.is_file() and drawing.stat().st_size <= MOST_BYTES:
        text = drawing.read_bytes()
        if size := re.search(rb'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"', text):
            points = [float(side) for side in size.groups()]
            width, height = (round(PIXELS_A_POINT * side) for side in points)
            titles = "\n".join(POINT.findall(text.decode("utf-8", "replace")))
            return Picture(data_address("svg+xml", text), width, height, titles, "0 0 {:g} {:g}".format(*points))
    try:
        with Image.open(path) as opened:
            pixels = opened.convert("RGBA")
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise LookalikeError(f"the picture {path} cannot be read: remove it and run its exhibit again") from error
    picture = Image.new("RGB", pixels.size, "white")
    picture.paste(pixels, mask=pixels.getchannel("A"))
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    return _webp(picture, QUALITY)


def _webp(picture: Image, quality: int) -> Picture:
    memory = io.BytesIO()
    picture.save(memory, "WEBP", quality=quality, method=2)
    return Picture(data_address("webp", memory.getvalue()), picture.width, picture.height)


def data_address(kind: str, content: bytes) -> str:
    """Return content as an address that stands in a page."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def sketch_of(sheet: Sheet, width: int = 240, height: int = 135) -> Picture:
    """Sketch the first lines of a table: a bar for each cell, dark for a head and blue for a number of the paper."""
    lines = (sheet.heads, *sheet.rows)[:9]
    across, down = width / len(sheet.heads), height / len(lines)
    colours = ["#1b1f24", *("#0072b2" if row in sheet.printed else "#8a929b" for row in range(len(lines) - 1))]
    bars = [
        f'<rect x="{across * column + 3:.0f}" y="{down * row + 5:.0f}" height="5" fill="{colours[row]}" '
        f'width="{min(across - 8, 4 * len(text)):.0f}"/>'
        for row, line in enumerate(lines)
        for column, text in enumerate(line)
        if text
    ]
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{"".join(bars)}</svg>'
    return Picture(data_address("svg+xml", svg.encode()), width, height)


def encode_thumbnail(path: Path, side: int, quality: int) -> Picture | None:
    """Encode the thumbnail of an image, `side` pixels at its longer side; None where it is missing or damaged."""
    from PIL import Image

    from lookalike.core.images import load_rgb, shrink

    try:
        return _webp(Image.fromarray(shrink(load_rgb(path), side)), quality)
    except LookalikeError:
        return None
