"""Textures and colours of the synthetic images: ten families of periodic grey tiles, and ramps that colour them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.seeds import generator

Random = np.random.Generator

SIDE = 256  # of a tile, in pixels
_COLOURS = (
    "amber 7a3e0c fac45c, cobalt 122260 6898e2, moss 223416 8aa44e, rose 8c2e48 f6bec4, ivory 9e8e74 faf4e4, "
    "slate 262c36 909caa, plum 34143e ac6eb0, teal 084246 62c4b8, coral a83a28 ffa684, sand 866a46 e8d2a4, "
    "crimson 520614 da3a3a, olive 484212 beb656, azure 2e68a0 c0e4f8, lilac 60548e dacef2, rust 461e10 c06838, "
    "mint 2e7a5c c4eed0"
)
RAMPS = {name: [*map(list, map(bytes.fromhex, ends))] for name, *ends in map(str.split, _COLOURS.split(","))}
"""Dark and light colour, RGB, of each ramp."""
_Y, _X = np.mgrid[0:SIDE, 0:SIDE] / SIDE


def _cloud(rng: Random, slope: float, stretch: float = 1.0, cut: float = 1.0) -> Doubles:
    """Return noise of variance 1, `stretch` times as long as wide; amplitude falls as frequency ** -slope."""
    fy, fx = np.fft.fftfreq(SIDE, 1 / SIDE)[:, None], stretch * np.fft.rfftfreq(SIDE, 1 / SIDE)
    frequency = np.hypot(fx, fy)
    # nothing repeats less than `cut` times a tile
    amplitude = np.where(frequency >= cut, np.maximum(frequency, 1.0) ** -slope, 0.0)
    field: Doubles = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((SIDE, SIDE))) * amplitude, s=(SIDE, SIDE))
    return np.asarray(field / field.std())


def _stripes(rng: Random, right: int, down: int) -> Doubles:
    return np.asarray(np.sin(2 * np.pi * (right * _X + down * _Y) + 0.9 * _cloud(rng, 2.2)))


def _marble(rng: Random, right: int, down: int) -> Doubles:
    return np.asarray(np.abs(np.sin(np.pi * (right * _X + down * _Y) + 1.8 * _cloud(rng, 1.6))) ** 0.45)


def _timber(rng: Random, n: int) -> Doubles:
    rings = np.sin(2 * np.pi * n * _Y + 2.2 * _cloud(rng, 2.0, stretch=5.0))
    return np.asarray(rings + 0.55 * _cloud(rng, 0.8, stretch=14.0))


def _chevron(_: Random, n: int, columns: int) -> Doubles:
    zigzag = np.abs((_X * columns) % 1 - 0.5)
    return np.asarray(np.tanh(2.5 * np.sin(2 * np.pi * (n * _Y + 2 * zigzag))))


def _fur(rng: Random, stretch: float, cut: float) -> Doubles:
    return _cloud(rng, 1.0, stretch, cut) + 0.35 * _cloud(rng, 2.0)


def _cells(rng: Random, columns: int, rows: int) -> tuple[Doubles, Doubles, Doubles]:
    """Place (0..1) each pixel across and down its cell, every second row of which is shifted; and their tones."""
    row = np.floor(_Y * rows)
    across = _X * columns + 0.5 * (row % 2)
    tones = rng.random((rows, columns))
    return across % 1, _Y * rows - row, tones[row.astype(int), across.astype(int) % columns]


def _dots(rng: Random, n: int) -> Doubles:
    x, y, tone = _cells(rng, n, n)
    distance = np.hypot(x - 0.5, y - 0.5)
    return np.clip((0.32 + 0.10 * tone - distance) / 0.14, 0, 1) * (1.2 - distance)


def _bricks(rng: Random, columns: int, rows: int) -> Doubles:
    x, y, tone = _cells(rng, columns, rows)
    edge = SIDE * np.minimum(np.minimum(x, 1 - x) / columns, np.minimum(y, 1 - y) / rows)
    return (0.45 + 0.5 * tone) * np.clip((edge - 0.6) / 1.8, 0, 1)


def _scales(rng: Random, n: int) -> Doubles:
    x, y, tone = _cells(rng, n, 2 * n)
    distance = np.hypot(x - 0.5, y / 2)
    return (0.6 + 0.4 * tone) * (0.25 + 1.2 * distance) * np.clip((0.6 - distance) / 0.07, 0, 1)


def _cobble(rng: Random, n: int) -> Doubles:
    """Return stones about a point in each square of a grid; distances to the two nearest points make their edges."""
    points = (np.indices((n, n)).reshape(2, -1).T + 0.1 + 0.8 * rng.random((n * n, 2))) / n
    tones = 0.55 + 0.45 * rng.random(n * n)
    distances, stones = cKDTree(points, boxsize=np.ones(2)).query(np.stack([_X, _Y], -1), k=2)
    first, second = np.moveaxis(np.asarray(distances), -1, 0)
    return np.asarray(
        np.clip((second - first) * SIDE / 3.2, 0, 1) * tones[np.asarray(stones)[..., 0]] * (1 - 0.8 * n * first)
    )


# painter of each family, and its three scales or directions
_FAMILIES: dict[str, tuple[Callable[..., Doubles], tuple[tuple[float, ...], ...]]] = {
    "cloud": (_cloud, ((1.6, 2.2), (1.2, 1), (1.4, 4))),
    "stripes": (_stripes, ((20, 4), (26, -10), (14, 14))),
    "dots": (_dots, ((10,), (14,), (20,))),
    "bricks": (_bricks, ((6, 12), (8, 20), (16, 16))),
    "cobble": (_cobble, ((10,), (14,), (19,))),
    "marble": (_marble, ((3, 2), (2, -4), (5, 1))),
    "timber": (_timber, ((7,), (11,), (16,))),
    "fur": (_fur, ((5, 12), (8, 20), (4, 16))),
    "scales": (_scales, ((10,), (14,), (20,))),
    "chevron": (_chevron, ((14, 6), (20, 8), (26, 14))),
}
FAMILIES = tuple(_FAMILIES)


@cache
def tile(seed: int, family: str, variant: int) -> Bytes:
    """Return the grey tile of a family in one of three variants, of shape (SIDE, SIDE); not to be written to."""
    rng = generator(seed, "texture", family, variant)
    paint, variants = _FAMILIES[family]
    field = paint(rng, *variants[variant])
    field = field + 0.15 * field.std() * _cloud(rng, 0.8)
    low, high = np.percentile(field, (2, 98))
    return np.asarray(np.clip((field - low) * (255 / (high - low)), 0, 255), np.uint8)


def blend(first: npt.ArrayLike, second: npt.ArrayLike, share: npt.ArrayLike) -> Floats:
    """Return colours between two: `share` (...,) of the second, shape (..., 3)."""
    start, weight = np.asarray(first, np.float32), np.asarray(share, np.float32)[..., None]
    return start + (np.asarray(second, np.float32) - start) * weight


@cache
def ramp(name: str, contrast: float = 1.0) -> Floats:
    """Colour a tile's tones, (256, 3), not to be written to; less `contrast` pulls both ends to the middle."""
    dark, pale = RAMPS[name]
    return blend(dark, pale, 0.5 + contrast * np.linspace(-0.5, 0.5, 256))


def hued(light: npt.ArrayLike, chroma: float, hue: float) -> Floats:
    """Return colours (n, 3) of one hue (0..1, circular) and chroma by lightness (n,), 0..100, as CIE Lab has them."""
    lightness = np.atleast_1d(np.asarray(light, np.float32))
    a, b = (chroma * wave(2 * np.pi * hue) + 0 * lightness for wave in (np.cos, np.sin))
    lab = np.stack([lightness, a, b], axis=-1).astype(np.float32)
    return np.asarray(255 * np.clip(cv2.cvtColor(lab[None], cv2.COLOR_Lab2RGB)[0], 0, 1))


def look(picture: Bytes, size: tuple[int, int], onto: Doubles) -> Bytes:
    """Look at an endless tile through a window of `size` (width, height), from whose pixels `onto` leads to its own."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpPerspective(picture, onto, size, flags=flags, borderMode=cv2.BORDER_WRAP), np.uint8)


def turned(angle: float, zoom: float, offset: npt.ArrayLike) -> Doubles:
    """Return the homography that turns (radians) and scales about the origin, then moves by shares of a tile."""
    (cosine, sine), (x, y) = (zoom * np.cos(angle), zoom * np.sin(angle)), np.multiply(offset, SIDE)
    return np.array([[cosine, -sine, x], [sine, cosine, y], [0, 0, 1]])
