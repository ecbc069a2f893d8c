"""Scenes of the synthetic images: from a plan (a handful of numbers) to pixels.

A `Scene` says everything that there is to see and is drawn at random elsewhere; here it is only painted: background,
objects and clutter back to front, then light, lens and sensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from lookalike.data import materials
from lookalike.data.materials import ByteArray, FloatArray
from lookalike.data.shapes import parts_of

_SUPERSAMPLING = 3  # per axis, for smooth outlines
SKIES: tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...] = (
    ((72, 132, 206), (204, 226, 240)),  # noon
    ((66, 64, 120), (250, 176, 126)),  # dusk
    ((148, 158, 168), (212, 214, 212)),  # overcast
    ((94, 160, 190), (250, 228, 186)),  # morning
    ((24, 30, 66), (96, 104, 152)),  # night
    ((170, 140, 190), (252, 208, 208)),  # rosy
)
"""Colours of the skies at the zenith and at the horizon."""


@dataclass(frozen=True)
class Placement:
    """One object or scrap in a scene.

    Parameters
    ----------
    shape : int
        Number of the shape (`shapes.shape_name`).
    materials : tuple of 3 ints
        What its parts are cut from.
    x, y : float
        Middle of the object, in shares of the image's width and height.
    size : float
        Height of the object in shares of the image's height.
    angle : float
        Turn in radians.
    stretch : float
        Width over height of the object.
    offset : (float, float)
        Where on the material's tile it is cut.
    """

    shape: int
    materials: tuple[int, int, int]
    x: float
    y: float
    size: float
    angle: float
    stretch: float
    offset: tuple[float, float]


@dataclass(frozen=True)
class Light:
    """Light, lens and sensor of a scene."""

    azimuth: float
    strength: float
    exposure: float
    warmth: float
    tint: tuple[float, float, float]
    blur: float
    noise: float


@dataclass(frozen=True)
class Scene:
    """All that there is to see in one image.

    Parameters
    ----------
    sky : int
        Number of the sky, or -1 for a wall of the material `wall`.
    wall, ground : int
        Materials behind the objects and under them.
    horizon : float
        Height of the horizon in shares of the image's height from the top; 0 shows only ground, seen from above.
    hills : float
        Height of the hills at the horizon, in shares of the image's height; 0 for none, and always for walls.
    offset : (float, float)
        Where the tiles of the background start; also the phase of hills and clouds.
    angle, zoom : float
        Turn of the background's tiles in radians; their scale.
    placements : tuple of Placement
        Hindmost first.
    light : Light
    """

    sky: int
    wall: int
    ground: int
    horizon: float
    hills: float
    offset: tuple[float, float]
    angle: float
    zoom: float
    placements: tuple[Placement, ...]
    light: Light


@lru_cache(maxsize=4)
def _coordinates(width: int, height: int) -> tuple[FloatArray, FloatArray]:
    """Coordinates x (1, width) and y (height, 1) in -1..1."""
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    return x, y


def _unit(width: int, height: int) -> float:
    """Pixels per reference pixel: textures and outlines scale with the image."""
    return float(np.sqrt(width * height / (256 * 192)))


def _sky(seed: int, scene: Scene, size: tuple[int, int], unit: float) -> FloatArray:
    """Sky with clouds, from the zenith to the horizon."""
    height = size[1]
    zenith, low = (np.asarray(colour, dtype=np.float32) for colour in SKIES[scene.sky])
    t = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    clouds = materials.view(materials.cloud_texture(seed), size, scene.offset, 0.0, 1.3 / unit)
    white = np.clip((clouds.astype(np.float32) - 118.0) / 150.0, 0, 0.75)[..., None]
    clear = zenith + (low - zenith) * t
    sky: FloatArray = clear + white * (np.minimum(low * 1.12, 255.0) - clear)
    return sky


def _surface(
    seed: int,
    material: int,
    scene: Scene,
    size: tuple[int, int],
    unit: float,
    contrast: float,
    foreshortening: float = 1.0,
) -> FloatArray:
    """Wall or ground of a material."""
    seen = materials.view(
        materials.texture(seed, material),
        size,
        scene.offset,
        scene.angle,
        scene.zoom / unit,
        foreshortening,
    )
    tint = np.asarray(scene.light.tint, dtype=np.float32)
    return materials.colours(materials.ramp_of(material), contrast, tint)[seen]


def _background(seed: int, scene: Scene, width: int, height: int) -> FloatArray:
    """Paint what is behind the objects: ground alone, or sky or wall above ground."""
    unit = _unit(width, height)
    line = round(scene.horizon * height)
    if line < 8:
        return _surface(seed, scene.ground, scene, (width, height), unit, 0.8)
    canvas = np.empty((height, width, 3), dtype=np.float32)
    y = np.linspace(0, 1, height - line, dtype=np.float32)[:, None, None]
    ground = _surface(seed, scene.ground, scene, (width, height - line), unit, 0.75, 1.9)
    if scene.sky < 0:
        canvas[:line] = _surface(seed, scene.wall, scene, (width, line), unit, 0.6) * 0.92
        # The wall's shadow on the table, and the table's edge.
        canvas[line:] = ground * (0.72 + 0.28 * np.minimum(y * 5, 1))
        return canvas
    canvas[:line] = _sky(seed, scene, (width, line), unit)
    low = np.asarray(SKIES[scene.sky][1], dtype=np.float32)
    haze = 0.65 * (1 - np.minimum(y * 2.2, 1)) ** 2
    canvas[line:] = ground + haze * (low - ground)
    if scene.hills > 0:
        _paint_hills(canvas, scene, line, ground.mean(axis=(0, 1)) * 0.45 + low * 0.5)
    return canvas


def _paint_hills(canvas: FloatArray, scene: Scene, line: int, colour: FloatArray) -> None:
    """Put a hazy ridge on the horizon."""
    height, width = canvas.shape[:2]
    x = _coordinates(width, height)[0][0] * np.pi
    a, b = scene.offset[0] * 7, scene.offset[1] * 7
    ridge = 0.5 + 0.3 * np.sin(1.3 * x + a) + 0.2 * np.sin(2.9 * x + b) + 0.06 * np.sin(9 * x + a * b)
    top = line - scene.hills * height * ridge
    first = max(int(top.min()), 0)
    rows = np.arange(first, line, dtype=np.float32)[:, None]
    cover = np.clip(rows - top + 0.5, 0, 1)[..., None] * 0.9
    canvas[first:line] += cover * (colour - canvas[first:line])


@dataclass(frozen=True)
class _Window:
    """Part of the image that an object touches: left, top, right, bottom, in pixels."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def size(self) -> tuple[int, int]:
        return self.right - self.left, self.bottom - self.top

    def mask(self, polygon: FloatArray) -> Image.Image:
        """Cover of a polygon (corners in pixels of the image), 0..255."""
        width, height = self.size
        fine = Image.new("L", (width * _SUPERSAMPLING, height * _SUPERSAMPLING))
        corners = (polygon - (self.left, self.top)) * _SUPERSAMPLING
        ImageDraw.Draw(fine).polygon(corners.ravel().tolist(), fill=255)
        return fine.reduce(_SUPERSAMPLING)


def _placed(placement: Placement, width: int, height: int) -> list[tuple[FloatArray, int]]:
    """Parts of an object with corners in pixels of the image."""
    half = placement.size * height / 2
    cosine, sine = np.cos(placement.angle), np.sin(placement.angle)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    middle = np.array([placement.x * width, placement.y * height])
    scale = np.array([half * placement.stretch, half])
    return [(((polygon * scale) @ turn) + middle, slot) for polygon, slot in parts_of(placement.shape)]


def _paint_object(canvas: FloatArray, seed: int, placement: Placement, light: Light, unit: float) -> None:
    """Cut an object out of its materials, round it off by the light, and put it into the image with its shadow."""
    height, width = canvas.shape[:2]
    parts = _placed(placement, width, height)
    corners = np.concatenate([polygon for polygon, _ in parts])
    radius = placement.size * height / 2
    margin = radius * 0.25 + 2
    low, high = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    left, top = (max(int(edge), 0) for edge in low)
    window = _Window(left, top, min(int(high[0]) + 1, width), min(int(high[1]) + 1, height))
    if min(window.size) < 4:
        return
    under = canvas[window.top : window.bottom, window.left : window.right]
    masks = [(window.mask(polygon), slot) for polygon, slot in parts]
    _cast_shadow(under, masks, radius, light)
    for mask, slot in masks:
        material = placement.materials[slot]
        _paint_part(under, seed, mask, material, placement, slot, radius, light, unit)


def _shifted(field: npt.NDArray[Any], down: int, right: int) -> npt.NDArray[Any]:
    """Move a field; what comes in at an edge repeats the edge."""
    rows = np.clip(np.arange(field.shape[0]) - down, 0, field.shape[0] - 1)
    columns = np.clip(np.arange(field.shape[1]) - right, 0, field.shape[1] - 1)
    return field[rows][:, columns]


def _cast_shadow(under: FloatArray, masks: list[tuple[Image.Image, int]], radius: float, light: Light) -> None:
    """Darken what is under an object, away from the light."""
    whole = np.maximum.reduce([np.asarray(mask) for mask, _ in masks])
    soft = Image.fromarray(whole).filter(ImageFilter.BoxBlur(max(radius * 0.09, 1)))
    shift = radius * 0.12
    moved = _shifted(np.asarray(soft), round(shift * 0.6), round(-shift * np.cos(light.azimuth)))
    under *= 1 - (0.5 / 255) * moved[..., None].astype(np.float32)


def _paint_part(
    under: FloatArray,
    seed: int,
    mask: Image.Image,
    material: int,
    placement: Placement,
    slot: int,
    radius: float,
    light: Light,
    unit: float,
) -> None:
    """Blend one part into the window."""
    box = mask.getbbox()
    if box is None:
        return
    left, top, right, bottom = box
    cover = np.asarray(mask.crop(box), dtype=np.float32) / 255
    # A blurred outline serves as height: its slope along the light makes the part look round.
    soft = mask.filter(ImageFilter.BoxBlur(max(radius * 0.14, 1)))
    relief = np.asarray(soft, dtype=np.float32) / 255
    step = max(round(radius * 0.07), 1)
    dx, dy = round(step * np.cos(light.azimuth)), -step
    lit = (_shifted(relief, -dy, -dx) - _shifted(relief, dy, dx))[top:bottom, left:right]
    shade = 0.78 + 0.3 * relief[top:bottom, left:right] + (0.35 + 0.5 * light.strength) * lit
    seen = materials.view(
        materials.texture(seed, material),
        (right - left, bottom - top),
        ((placement.offset[0] + 0.37 * slot) % 1.0, placement.offset[1]),
        -placement.angle,
        1.0 / unit,
    )
    tint = np.asarray(light.tint, dtype=np.float32)
    colour = materials.colours(materials.ramp_of(material), 1.0, tint)[seen] * shade[..., None]
    part = under[top:bottom, left:right]
    part += cover[..., None] * (colour - part)


def render(seed: int, scene: Scene, width: int, height: int, rng: np.random.Generator) -> ByteArray:
    """Paint a scene.

    Parameters
    ----------
    seed : int
        Root seed of the data set: the textures' stream.
    scene : Scene
    width, height : int
        Size in pixels.
    rng : numpy.random.Generator
        Stream of the sensor's noise.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3), RGB
    """
    canvas = _background(seed, scene, width, height)
    for placement in scene.placements:
        _paint_object(canvas, seed, placement, scene.light, _unit(width, height))
    return _expose(canvas, scene.light, rng)


def _expose(canvas: FloatArray, light: Light, rng: np.random.Generator) -> ByteArray:
    """Light from one side, vignette, colour of the light, blur and noise."""
    height, width = canvas.shape[:2]
    x, y = _coordinates(width, height)
    falloff = 1 + light.strength * (x * np.cos(light.azimuth) * 0.6 - y * 0.25)
    falloff *= light.exposure * (1 - 0.09 * (x * x + y * y))
    warmth = np.array([1 + light.warmth, 1.0, 1 - light.warmth], dtype=np.float32)
    canvas *= falloff[..., None]
    canvas *= warmth
    np.clip(canvas, 0, 255, out=canvas)
    if light.blur > 0.05:
        picture = Image.fromarray(canvas.astype(np.uint8)).filter(ImageFilter.GaussianBlur(light.blur))
        canvas = np.asarray(picture).astype(np.float32)
    grain = rng.standard_normal((height, width, 1), dtype=np.float32)
    canvas += light.noise * grain + 0.5
    np.clip(canvas, 0, 255, out=canvas)
    return canvas.astype(np.uint8)
