"""Materials of the synthetic images: ten families of periodic texture, each painted with a two-colour ramp.

A texture is drawn once per process as a periodic grey tile and then only looked up, turned and scaled, so an image
costs milliseconds; the ramp is applied afterwards, so that every image may light and tint the same tile differently.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image

from lookalike.core.seeds import generator

TILE = 256  # side of a periodic tile, in reference pixels (those of a 256 x 192 image)
_REPEATS = 4  # the tile is laid out 4 x 4, so that any view of a scene stays inside one picture
_N_VARIANTS = 3  # each family exists at three scales and orientations

FloatArray = npt.NDArray[np.float32]
ByteArray = npt.NDArray[np.uint8]

RAMPS: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "amber": ((122, 62, 12), (250, 196, 92)),
    "cobalt": ((18, 34, 96), (104, 152, 226)),
    "moss": ((34, 52, 22), (138, 164, 78)),
    "rose": ((140, 46, 72), (246, 190, 196)),
    "ivory": ((158, 142, 116), (250, 244, 228)),
    "slate": ((38, 44, 54), (144, 156, 170)),
    "plum": ((52, 20, 62), (172, 110, 176)),
    "teal": ((8, 66, 70), (98, 196, 184)),
    "coral": ((168, 58, 40), (255, 166, 132)),
    "sand": ((134, 106, 70), (232, 210, 164)),
    "crimson": ((82, 6, 20), (218, 58, 58)),
    "olive": ((72, 66, 18), (190, 182, 86)),
    "azure": ((46, 104, 160), (192, 228, 248)),
    "lilac": ((96, 84, 142), (218, 206, 242)),
    "rust": ((70, 30, 16), (192, 104, 56)),
    "mint": ((46, 122, 92), (196, 238, 208)),
}
"""Name of each ramp and its dark and its light colour (RGB, 0..255)."""


def _grid() -> tuple[FloatArray, FloatArray]:
    """Coordinates x and y in 0..1 of a tile's pixels, as (1, TILE) and (TILE, 1)."""
    line = np.arange(TILE, dtype=np.float32) / np.float32(TILE)
    return line[None, :], line[:, None]


def cloud(rng: np.random.Generator, slope: float = 2.0, stretch: float = 1.0, cut: float = 1.0) -> FloatArray:
    """Periodic cloudy noise of power-law amplitude, zero mean and unit variance.

    Parameters
    ----------
    rng : numpy.random.Generator
    slope : float
        Exponent of the fall of amplitude with frequency: 0 is white noise, 2 soft clouds.
    stretch : float
        How much longer than wide the features are, along x.
    cut : float
        Frequencies below this many cycles per tile are left out.

    Returns
    -------
    ndarray of float32, shape (TILE, TILE)
    """
    fy = np.fft.fftfreq(TILE)[:, None] * TILE
    fx = np.fft.rfftfreq(TILE)[None, :] * TILE * stretch
    radius = np.hypot(fx, fy)
    amplitude = np.where(radius >= cut, 1.0 / np.maximum(radius, 1.0) ** slope, 0.0)
    field = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((TILE, TILE))) * amplitude, s=(TILE, TILE))
    standard: FloatArray = ((field - field.mean()) / field.std()).astype(np.float32)
    return standard


def _ridge(phase: FloatArray) -> FloatArray:
    """Round profile of a thread: 0 at whole numbers, 1 half way between."""
    profile: FloatArray = np.sin(np.pi * (phase - np.floor(phase)))
    return profile


def _smooth(low: float, high: float, value: FloatArray) -> FloatArray:
    """Smooth step from 0 at `low` to 1 at `high`."""
    t = np.clip((value - low) / (high - low), 0.0, 1.0)
    smooth: FloatArray = t * t * (3.0 - 2.0 * t)
    return smooth


def _weave(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    n = (16, 24, 32)[variant]
    u, v = x * n + np.zeros_like(y), y * n + np.zeros_like(x)
    over = (np.floor(u) + np.floor(v)) % 2
    across = _ridge(v) * (0.45 + 0.55 * _ridge(u))
    along = _ridge(u) * (0.45 + 0.55 * _ridge(v))
    field: FloatArray = np.where(over == 0, across, 0.75 * along) + 0.06 * cloud(rng, 0.5)
    return field


def _stripes(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    nx, ny = ((20, 4), (26, -10), (14, 14))[variant]
    field: FloatArray = np.sin(2 * np.pi * (nx * x + ny * y) + 0.9 * cloud(rng, 2.2)) + 0.12 * cloud(rng, 0.7)
    return field


def _dots(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    n = (10, 14, 20)[variant]
    row = np.floor(y * n)
    u = x * n + 0.5 * (row % 2)
    radius = 0.24 + 0.10 * rng.random((n, n), dtype=np.float32)[row.astype(int) % n, np.floor(u).astype(int) % n]
    distance = np.hypot(u - np.floor(u) - 0.5, y * n - row - 0.5)
    field: FloatArray = _smooth(0.08, -0.06, distance - radius) * (1.2 - distance) + 0.05 * cloud(rng, 0.8)
    return field


def _bricks(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    rows, columns = ((12, 6), (20, 8), (16, 16))[variant]
    row = np.floor(y * rows)
    u = x * columns + 0.5 * (row % 2)
    column = np.floor(u)
    edge_u = np.minimum(u - column, 1 - (u - column)) * TILE / columns
    edge_v = np.minimum(y * rows - row, 1 - (y * rows - row)) * TILE / rows
    tone = rng.random((rows, columns), dtype=np.float32)[row.astype(int) % rows, column.astype(int) % columns]
    brick = 0.45 + 0.5 * tone + 0.07 * cloud(rng, 0.9)
    field: FloatArray = brick * _smooth(0.6, 2.6, np.minimum(edge_u, edge_v))
    return field


def _nearest_two(rng: np.random.Generator, n_points: int) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    """Distances (pixels) of every pixel to its two nearest points of a periodic set, and which the nearest is."""
    from scipy.spatial import cKDTree

    # One point somewhere in each square of a grid: stones of about one size, as they are laid.
    side = int(np.sqrt(n_points))
    corners = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    points = (corners + 0.8 * rng.random((side * side, 2))) * (TILE / side)
    tree = cKDTree(points, boxsize=np.array([TILE, TILE], dtype=np.float64))
    y, x = np.mgrid[0:TILE, 0:TILE]
    distances, which = (np.asarray(found) for found in tree.query(np.column_stack([y.ravel(), x.ravel()]), k=2))
    distances = distances.astype(np.float32).reshape(TILE, TILE, 2)
    return distances[..., 0], distances[..., 1], which[:, 0].reshape(TILE, TILE)


def _cobble(rng: np.random.Generator, variant: int) -> FloatArray:
    n_points = (100, 196, 361)[variant]
    first, second, which = _nearest_two(rng, n_points)
    tone = 0.55 + 0.45 * rng.random(n_points, dtype=np.float32)[which]
    dome = 1.0 - 0.5 * first / (0.6 * TILE / np.sqrt(n_points))
    field: FloatArray = _smooth(0.3, 3.5, second - first) * tone * dome + 0.05 * cloud(rng, 0.8)
    return field


def _marble(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    nx, ny = ((3, 2), (2, -4), (5, 1))[variant]
    vein = np.abs(np.sin(np.pi * (nx * x + ny * y) + 1.8 * cloud(rng, 1.6)))
    field: FloatArray = np.power(vein, 0.45) + 0.10 * cloud(rng, 1.1)
    return field


def _timber(rng: np.random.Generator, variant: int) -> FloatArray:
    _, y = _grid()
    n = (7, 11, 16)[variant]
    rings = np.sin(2 * np.pi * n * y + 2.2 * cloud(rng, 2.0, stretch=5.0))
    field: FloatArray = rings + 0.55 * cloud(rng, 0.8, stretch=14.0)
    return field


def _fur(rng: np.random.Generator, variant: int) -> FloatArray:
    stretch, cut = ((5.0, 12.0), (8.0, 20.0), (3.5, 16.0))[variant]
    field: FloatArray = cloud(rng, 1.0, stretch=stretch, cut=cut) + 0.35 * cloud(rng, 2.0)
    return field


def _scales(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    n = (10, 14, 20)[variant]
    rows = 2 * n
    shade = np.zeros((TILE, TILE), dtype=np.float32)
    tones = rng.random((rows, n), dtype=np.float32)
    # A scale hangs over the row below it: of the rows whose discs reach a pixel the upper one is seen, hence last.
    for below in (1, 0, -1):
        row = np.floor(y * rows) + below
        u = x * n + 0.5 * (row % 2)
        distance = np.hypot(u - np.floor(u) - 0.5, (y * rows - row - 0.5) / 2.0)
        tone = 0.6 + 0.4 * tones[row.astype(int) % rows, np.floor(u).astype(int) % n]
        shade = np.where(distance < 0.6, tone * (0.25 + 1.2 * distance) * _smooth(0.6, 0.53, distance), shade)
    field: FloatArray = shade + 0.04 * cloud(rng, 0.8)
    return field


def _chevron(rng: np.random.Generator, variant: int) -> FloatArray:
    x, y = _grid()
    n, m = ((14, 6), (20, 8), (26, 14))[variant]
    zigzag = np.abs(x * m - np.floor(x * m) - 0.5)
    wave = np.sin(2 * np.pi * (n * y + 2.0 * zigzag))
    field: FloatArray = np.tanh(2.5 * wave) * (1.0 - 0.5 * _smooth(0.06, 0.0, zigzag)) + 0.12 * cloud(rng, 0.7)
    return field


_PAINTERS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "weave": _weave,
    "stripes": _stripes,
    "dots": _dots,
    "bricks": _bricks,
    "cobble": _cobble,
    "marble": _marble,
    "timber": _timber,
    "fur": _fur,
    "scales": _scales,
    "chevron": _chevron,
}
FAMILIES = tuple(_PAINTERS)
"""Names of the ten texture families."""
N_MATERIALS = len(FAMILIES) * len(RAMPS)
"""How many materials there are: every family in every ramp."""


def family_of(material: int) -> int:
    """Index into `FAMILIES` of a material's texture."""
    return material % len(FAMILIES)


def ramp_of(material: int) -> int:
    """Index into `RAMPS` of a material's colours."""
    return material // len(FAMILIES)


def material_name(material: int) -> str:
    """Name of a material, as in ``amber-weave``."""
    return f"{tuple(RAMPS)[ramp_of(material)]}-{FAMILIES[family_of(material)]}"


def _as_picture(field: FloatArray) -> Image.Image:
    """Stretch a field to 0..255 between its 2nd and 98th percentile and lay it out as one large picture."""
    low, high = np.percentile(field, [2.0, 98.0])
    tile = np.clip((field - low) * (255.0 / (high - low)), 0.0, 255.0).astype(np.uint8)
    return Image.fromarray(np.tile(tile, (_REPEATS, _REPEATS)))


@lru_cache(maxsize=64)
def _family_picture(seed: int, family: int, variant: int) -> Image.Image:
    rng = generator(seed, "texture", FAMILIES[family], variant)
    return _as_picture(_PAINTERS[FAMILIES[family]](rng, variant))


def texture(seed: int, material: int) -> Image.Image:
    """Return the grey tile of a material, laid out 4 x 4 (mode L); drawn on first use in a process."""
    return _family_picture(seed, family_of(material), ramp_of(material) % _N_VARIANTS)


@lru_cache(maxsize=4)
def cloud_texture(seed: int) -> Image.Image:
    """Return the soft grey clouds of the skies, laid out like a material's tile (mode L)."""
    return _as_picture(cloud(generator(seed, "texture", "sky"), 1.6, stretch=2.2))


def view(
    picture: Image.Image,
    size: tuple[int, int],
    offset: tuple[float, float],
    angle: float,
    zoom: float,
    foreshortening: float = 1.0,
) -> ByteArray:
    """Look at a tile through a window: turned, scaled and, if asked, receding like the ground.

    Parameters
    ----------
    picture : PIL.Image.Image
        From `texture`.
    size : (int, int)
        Width and height of the window in pixels.
    offset : (float, float)
        How far the window's middle is from the middle of a tile, in shares of a tile, 0..1.
    angle : float
        Turn of the tile in radians.
    zoom : float
        Tile pixels per window pixel at the lower edge.
    foreshortening : float
        How many times smaller the texture is at the upper edge than at the lower edge.

    Returns
    -------
    ndarray of uint8, shape (height, width)
    """
    width, height = size
    near, far = zoom, zoom * foreshortening
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    # Window -> plane (perspective), then plane -> tile (rotation about the middle of the picture).
    ux, uc = far, -far * width / 2
    vy = near * foreshortening**2
    middle_x = TILE * (_REPEATS / 2 - 0.5 + offset[0])
    middle_y = TILE * (_REPEATS / 2 - 0.5 + offset[1])
    h = (foreshortening - 1.0) / max(height, 1)
    centre_v = 0.5 * vy * height / foreshortening
    px, py = middle_x + sine * centre_v, middle_y - cosine * centre_v
    coefficients = (
        cosine * ux,
        -sine * vy + px * h,
        cosine * uc + px,
        sine * ux,
        cosine * vy + py * h,
        sine * uc + py,
        0.0,
        h,
    )
    seen = picture.transform(size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR)
    return np.asarray(seen)


def colours(ramp: int, contrast: float = 1.0, tint: FloatArray | None = None) -> FloatArray:
    """Colour of each of the 256 grey levels of a tile.

    Parameters
    ----------
    ramp : int
        Index into `RAMPS`.
    contrast : float
        1 spans the whole ramp; less draws both ends towards its middle.
    tint : ndarray of float32, shape (3,), optional
        Factor of each channel.

    Returns
    -------
    ndarray of float32, shape (256, 3), RGB 0..255 (a tint may lead outside)
    """
    dark, light = (np.asarray(colour, dtype=np.float32) for colour in tuple(RAMPS.values())[ramp])
    t = np.linspace(0.5 - contrast / 2, 0.5 + contrast / 2, 256, dtype=np.float32)[:, None]
    table = dark + (light - dark) * t
    return table if tint is None else table * tint
