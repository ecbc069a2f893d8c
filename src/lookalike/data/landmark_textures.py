"""What the synthetic buildings are dressed with: walls, windows, friezes and emblems, drawn once per process.

Walls, windows and mouldings come from one small vocabulary that all buildings share, so that a visual word of a window
says little about which building it is of; only emblems and friezes that a building owns tell it from the others. A
front is painted as a tone and a layer (wall, trim, glass, roof) per pixel and coloured at the end.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import generator
from lookalike.data import materials
from lookalike.data.materials import ByteArray, FloatArray

N_WINDOWS = 6
"""Kinds of window that all buildings choose from."""
N_EMBLEMS = 8
"""Emblems that any building may carry, beside its own."""
WALL, TRIM, GLASS, ROOF = range(4)
_NOTHING = 255

_WALL_FAMILIES = tuple(materials.FAMILIES.index(name) for name in ("bricks", "cobble", "marble"))
_ROOF_FAMILIES = tuple(materials.FAMILIES.index(name) for name in ("scales", "bricks"))
_WALL_RAMPS = tuple(tuple(materials.RAMPS).index(name) for name in ("ivory", "sand", "amber", "slate", "coral", "rust"))
_ROOF_RAMPS = tuple(tuple(materials.RAMPS).index(name) for name in ("slate", "rust", "crimson", "olive"))
_DARK_GLASS = ((14, 18, 26), (120, 140, 158))
_FINE = 4  # windows are drawn this many times larger and averaged down


class Sprite(NamedTuple):
    """A small motif: its tone 0..255 and the layer of each pixel, `_NOTHING` outside."""

    tone: ByteArray
    layer: ByteArray


@lru_cache(maxsize=64)
def wall_tile(seed: int, family: int, variant: int) -> ByteArray:
    """Grey tile of a wall or roof, 4 x 4 times laid out at half the size: uint8, shape (512, 512)."""
    picture = materials.texture(seed, family + len(materials.FAMILIES) * variant)
    return np.asarray(picture.reduce(2))


def _outline(head: int, left: float, top: float, right: float, bottom: float) -> npt.NDArray[np.int32]:
    """Corners of a window's opening: flat (0), round (1) or pointed (2) head."""
    middle, half = (left + right) / 2, (right - left) / 2
    turns = np.linspace(np.pi, 0, 13)
    if head == 0:
        arch = [(left, top), (right, top)]
    elif head == 1:
        arch = [(middle + half * np.cos(a), top + half - half * np.sin(a)) for a in turns]
    else:
        arch = [(middle + half * np.cos(a), top + 1.5 * half * (1 - np.sin(a) ** 1.6)) for a in turns]
    return np.round([*arch, (right, bottom), (left, bottom)]).astype(np.int32)


@lru_cache(maxsize=256)
def window(seed: int, kind: int, width: int) -> Sprite:
    """Return a window of the shared vocabulary, `width` pixels wide.

    Its kind fixes proportions, head, bars and panes; only the size differs from building to building.
    """
    import cv2

    rng = generator(seed, "window", kind)
    head, columns, rows = int(kind % 3), int(rng.integers(1, 4)), int(rng.integers(2, 6))
    aspect, frame = float(rng.uniform(1.4, 2.3)), float(rng.uniform(0.08, 0.17))
    wide, high = _FINE * width, _FINE * round(width * aspect)
    border, bar = frame * wide, max(1, round(float(rng.uniform(0.02, 0.05)) * wide))
    tone = np.zeros((high, wide), np.uint8)
    layer = np.full((high, wide), _NOTHING, np.uint8)
    outer = _outline(head, 0, 0, wide - 1, high - 1)
    inner = _outline(head, border, border, wide - 1 - border, high - 1 - 0.8 * border)
    cv2.fillPoly(layer, [outer], TRIM)
    cv2.fillPoly(tone, [outer], int(rng.integers(170, 235)))
    cv2.polylines(tone, [outer], True, 60, bar)
    panes = cv2.resize(
        rng.integers(20, 190, (rows, columns)).astype(np.uint8), (wide, high), interpolation=cv2.INTER_NEAREST
    )
    opening = np.zeros((high, wide), np.uint8)
    cv2.fillPoly(opening, [inner], 255)
    layer[opening > 0] = GLASS
    tone[opening > 0] = panes[opening > 0]
    bars = np.zeros((high, wide), np.uint8)
    for column in range(1, columns):
        cv2.line(bars, (wide * column // columns, 0), (wide * column // columns, high), 255, 2 * bar)
    for row in range(1, rows):
        cv2.line(bars, (0, high * row // rows), (wide, high * row // rows), 255, bar)
    cut = (bars > 0) & (opening > 0)
    layer[cut], tone[cut] = TRIM, 225
    tone[-max(2, round(0.5 * border)) :] = 245
    size = (width, high // _FINE)
    return Sprite(
        np.asarray(cv2.resize(tone, size, interpolation=cv2.INTER_AREA), np.uint8),
        np.asarray(cv2.resize(layer, size, interpolation=cv2.INTER_NEAREST), np.uint8),
    )


@lru_cache(maxsize=512)
def emblem(seed: int, owner: str, number: int, size: int) -> Sprite:
    """Return a carved round, shield or lozenge, symmetric like a coat of arms, `size` pixels wide and high."""
    import cv2

    rng = generator(seed, "emblem", owner, number)
    cells = int(rng.integers(5, 8))
    half = rng.integers(0, 256, (2 * cells, cells)).astype(np.uint8)
    carving = np.hstack([half, half[:, ::-1]])
    between = cv2.INTER_CUBIC if number % 2 else cv2.INTER_LINEAR
    tone = np.asarray(cv2.resize(carving, (size, size), interpolation=between), np.uint8)
    mask = np.zeros((size, size), np.uint8)
    m = size // 2
    shapes = (
        np.array(cv2.ellipse2Poly((m, m), (m - 1, m - 1), 0, 0, 360, 10), np.int32),
        np.array([(1, 1), (size - 2, 1), (size - 2, m), (m, size - 2), (1, m)], np.int32),
        np.array([(m, 0), (size - 1, m), (m, size - 1), (0, m)], np.int32),
    )
    outline = shapes[int(rng.integers(3))]
    cv2.fillPoly(mask, [outline], 255)
    cv2.polylines(tone, [outline], True, 30 if rng.random() < 0.5 else 240, max(1, size // 14))
    return Sprite(tone, np.where(mask > 0, TRIM, _NOTHING).astype(np.uint8))


@lru_cache(maxsize=128)
def frieze(seed: int, owner: str, number: int, width: int, height: int) -> Sprite:
    """Return a carved band: one motif and its mirror image repeated along `width` pixels."""
    import cv2

    rng = generator(seed, "frieze", owner, number)
    half = rng.integers(0, 256, (5, int(rng.integers(4, 8)))).astype(np.uint8)
    motif = np.hstack([half, half[:, ::-1]])
    tile = cv2.resize(motif, (max(4, round(height * motif.shape[1] / 5)), height), interpolation=cv2.INTER_LINEAR)
    tone = np.array(np.tile(tile, (1, -(-width // tile.shape[1])))[:, :width], np.uint8)
    tone[0], tone[-1] = 235, 40
    return Sprite(tone, np.full(tone.shape, TRIM, np.uint8))


class Style(NamedTuple):
    """What a building is made of.

    Attributes
    ----------
    wall, roof : (int, int)
        Family and variant of the tile.
    windows : tuple of int
        Kinds from the shared vocabulary.
    tables : ndarray of float32, shape (4, 256, 3)
        Colour of each tone of each layer, RGB 0..255.
    owner : str
        Whose emblems and friezes it carries beside the shared ones.
    own : float
        Share, 0..1, of its ornaments that are its own.
    """

    wall: tuple[int, int]
    roof: tuple[int, int]
    windows: tuple[int, ...]
    tables: FloatArray
    owner: str
    own: float


def draw_style(rng: np.random.Generator, owner: str, own: float) -> Style:
    """Choose what a building is made of."""
    wall = _WALL_FAMILIES[int(rng.integers(len(_WALL_FAMILIES)))], 1
    roof = _ROOF_FAMILIES[int(rng.integers(len(_ROOF_FAMILIES)))], 2
    wall_ramp = _WALL_RAMPS[int(rng.integers(len(_WALL_RAMPS)))]
    roof_ramp = _ROOF_RAMPS[int(rng.integers(len(_ROOF_RAMPS)))]
    trim = np.asarray(rng.uniform(0.93, 1.05, 3), np.float32)
    dark, light = (np.asarray(colour, np.float32) for colour in _DARK_GLASS)
    glass = dark + (light - dark) * np.linspace(0, 1, 256, dtype=np.float32)[:, None]
    ivory = tuple(materials.RAMPS).index("ivory")
    tables = np.stack(
        [
            materials.colours(wall_ramp, 0.8),
            materials.colours(ivory, 1.5, trim),
            glass,
            materials.colours(roof_ramp, 0.8),
        ]
    )
    windows = tuple(int(kind) for kind in rng.choice(N_WINDOWS, size=3, replace=False))
    return Style(wall, roof, windows, tables, owner, own)


class Front:
    """A plane of a building while it is painted: tones and layers of its pixels, and where there is nothing.

    Parameters
    ----------
    seed : int
        Seed of the data set.
    style : Style
    size : (float, float)
        Width and height in metres.
    density : int
        Pixels per metre.
    rng : numpy.random.Generator
        The building's.
    layer : int
        `WALL` or `ROOF`.
    """

    def __init__(
        self,
        seed: int,
        style: Style,
        size: tuple[float, float],
        density: int,
        rng: np.random.Generator,
        layer: int = WALL,
    ) -> None:
        self.seed, self.style, self.density, self.rng = seed, style, density, rng
        self.width, self.height = (max(4, round(side * density)) for side in size)
        tile = wall_tile(seed, *(style.roof if layer == ROOF else style.wall))
        x, y = (int(start) for start in rng.integers(0, materials.TILE, 2))
        rows = (y + np.arange(self.height)) % tile.shape[0]
        columns = (x + np.arange(self.width)) % tile.shape[1]
        self.tone: ByteArray = tile[np.ix_(rows, columns)].copy()
        self.layer = np.full((self.height, self.width), layer, np.uint8)
        self.alpha = np.full((self.height, self.width), 255, np.uint8)

    def put(self, sprite: Sprite, x: float, y: float) -> None:
        """Lay a motif over the front, its upper left corner at (x, y) pixels; what lies beyond the front is lost."""
        left, top = round(x), round(y)
        height, width = sprite.tone.shape
        if left < 0 or top < 0 or left + width > self.width or top + height > self.height:
            return
        part = np.s_[top : top + height, left : left + width]
        inside = sprite.layer != _NOTHING
        self.tone[part][inside] = sprite.tone[inside]
        self.layer[part][inside] = sprite.layer[inside]

    def windows(self, rows: int, columns: int, top: float = 0.1, bottom: float = 0.96) -> None:
        """Lay out a grid of windows, one kind per row, between two heights (shares from above)."""
        cell_w, cell_h = self.width / columns, (bottom - top) * self.height / rows
        for row in range(rows):
            kind = self.style.windows[int(self.rng.integers(len(self.style.windows)))]
            width = max(5, round(cell_w * float(self.rng.uniform(0.4, 0.6))))
            sprite = window(self.seed, kind, width)
            while sprite.tone.shape[0] > 0.86 * cell_h and width > 5:
                width = max(5, round(0.86 * width))
                sprite = window(self.seed, kind, width)
            y = top * self.height + row * cell_h + (cell_h - sprite.tone.shape[0]) * 0.6
            for column in range(columns):
                self.put(sprite, (column + 0.5) * cell_w - width / 2, y)

    def band(self, at: float, metres: float) -> None:
        """Lay a moulding across, at a height (share from above)."""
        top, thick = round(at * self.height), max(2, round(metres * self.density))
        part = np.s_[max(0, top) : top + thick, :]
        self.layer[part] = TRIM
        self.tone[part] = np.linspace(240, 90, thick, dtype=np.uint8)[: self.tone[part].shape[0], None]

    def frieze(self, at: float, metres: float) -> None:
        """Lay a carved band across, the building's own or a shared one."""
        owner, number = self._choose(6)
        height = max(6, round(metres * self.density))
        self.put(frieze(self.seed, owner, number, self.width, height), 0, at * self.height)

    def emblems(self, number: int, metres: float) -> None:
        """Carve emblems, one kind in each of a few rows of four, or alone, over whatever is there."""
        size = max(8, round(metres * self.density))
        for start in range(0, number, 4):
            owner, which = self._choose(N_EMBLEMS)
            sprite = emblem(self.seed, owner, which, size)
            in_row = min(4, number - start)
            y = float(self.rng.uniform(0.1, 0.8)) * max(1, self.height - size)
            shift = float(self.rng.uniform(0.1, 0.9))
            for place in range(in_row):
                self.put(sprite, (place + shift) / in_row * (self.width - size), y)

    def _choose(self, n_shared: int) -> tuple[str, int]:
        """Whose motif, and which: the draws are the same however much is the building's own."""
        own, number = self.rng.random() < self.style.own, int(self.rng.integers(n_shared))
        return (self.style.owner, number) if own else ("shared", number)

    def cut(self, polygon: npt.ArrayLike) -> None:
        """Keep only a polygon (corners in shares of width and height)."""
        import cv2

        corners = np.asarray(polygon, np.float64) * (self.width - 1, self.height - 1)
        self.alpha[:] = 0
        cv2.fillPoly(self.alpha, [np.round(corners).astype(np.int32)], 255)

    def weather(self, strength: float) -> FloatArray:
        """Stains of the whole front, as a factor per pixel."""
        import cv2

        size, stains = (self.width, self.height), np.zeros((self.height, self.width), np.float32)
        for metres in (6.0, 2.0, 0.7):
            cells = (
                max(2, round(self.height / (metres * self.density))),
                max(2, round(self.width / (metres * self.density))),
            )
            stains += cv2.resize(self.rng.standard_normal(cells, np.float32), size, interpolation=cv2.INTER_CUBIC)
        factor: FloatArray = np.clip(1 + strength * stains, 0.5, 1.4)[:, :, None]
        return factor

    def picture(self, stains: float) -> ByteArray:
        """Colour the front: uint8, shape (height, width, 4), RGB and coverage, colours multiplied by the coverage."""
        picture = np.empty((self.height, self.width, 4), np.uint8)
        colours = self.style.tables[self.layer, self.tone] * self.weather(stains)
        picture[:, :, :3] = np.clip(colours, 0, 255)
        picture[:, :, :3][self.alpha == 0] = 0
        picture[:, :, 3] = self.alpha
        return picture
