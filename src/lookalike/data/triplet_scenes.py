"""Painting of the synthetic images of the fine-grained study: from category, looks and chance to pixels.

An image shows one object of a textured and some plain parts, a little ball beside it, specks of clutter, and behind
them a background that is lighter above or below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from lookalike.data import materials
from lookalike.data.materials import ByteArray, FloatArray
from lookalike.data.shapes import Polygon, parts_of
from lookalike.data.triplet_factors import FACTORS, Category, FactorArray, Nuisance

_FINER = 3  # subpixels per axis, for smooth outlines
_REFERENCE = 96  # side in pixels of an image at which blur and textures are stated
_CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 25)), np.sin(np.linspace(0, 2 * np.pi, 25))], axis=1)


@dataclass(frozen=True)
class _Looks:
    """Factors as what they stand for."""

    object_hue: float
    background_hue: float
    background_light: float
    gradient: float
    contrast: float
    zoom: float
    angle: float
    height: float
    companion: float

    @classmethod
    def of(cls, factors: FactorArray) -> _Looks:
        """Translate a vector of factors."""
        value = dict(zip((factor.name for factor in FACTORS), map(float, factors), strict=True))
        return cls(
            object_hue=value["object_hue"],
            background_hue=value["background_hue"],
            background_light=0.30 + 0.58 * value["background_light"],
            gradient=0.44 * (value["gradient"] - 0.5),
            contrast=0.20 + 0.42 * value["contrast"],
            zoom=2.4 ** value["frequency"],
            angle=1.3 * (value["orientation"] - 0.5),
            height=0.40 + 0.38 * value["size"],
            companion=2 * np.pi * value["companion"],
        )


def _tone(light: float) -> FloatArray:
    """One lightness, as `_rgb` takes it."""
    return np.array([light], dtype=np.float32)


def _rgb(light: FloatArray, chroma: float, hue: float) -> FloatArray:
    """Colours of one hue by their lightness, as RGB 0..255: from Oklab, in which equal steps look equal.

    Björn Ottosson, "A perceptual color space for image processing", 2020; colours that a screen has not are clipped.
    """
    a, b = chroma * np.cos(2 * np.pi * hue), chroma * np.sin(2 * np.pi * hue)
    lms = np.stack(
        [
            light + 0.3963377774 * a + 0.2158037573 * b,
            light - 0.1055613458 * a - 0.0638541728 * b,
            light - 0.0894841775 * a - 1.2914855480 * b,
        ],
        axis=-1,
    )
    linear = (lms**3) @ _LMS_TO_RGB
    colours: FloatArray = (255 * np.clip(linear, 0, 1) ** np.float32(1 / 2.2)).astype(np.float32)
    return colours


_LMS_TO_RGB = np.array(
    [
        [4.0767416621, -1.2684380046, -0.0041960863],
        [-3.3077115913, 2.6097574011, -0.7034186147],
        [0.2309699292, -0.3413193965, 1.7076147010],
    ],
    dtype=np.float32,
)


@lru_cache(maxsize=4)
def _rows(size: int) -> FloatArray:
    return np.linspace(-1, 1, size, dtype=np.float32)


def paint(
    seed: int, category: Category, factors: FactorArray, nuisance: Nuisance, size: int, rng: np.random.Generator
) -> ByteArray:
    """Paint an image.

    Parameters
    ----------
    seed : int
        Seed of the data set: of the textures.
    category : Category
        What the object is.
    factors : ndarray, shape (9,)
        Its looks, in the order of `FACTORS`.
    nuisance : Nuisance
        Chance.
    size : int
        Side in pixels.
    rng : numpy.random.Generator
        Of the sensor's noise.

    Returns
    -------
    ndarray of uint8, shape (size, size, 3), RGB
    """
    looks = _Looks.of(factors)
    canvas = _background(seed, looks, nuisance, size)
    canvas = _paint_specks(canvas, nuisance)
    middle = np.array([0.5 + nuisance.shift[0], 0.5 + nuisance.shift[1]]) * size
    _paint_object(canvas, seed, category, looks, nuisance, middle)
    _paint_companion(canvas, looks, nuisance, middle)
    return _expose(canvas, nuisance, rng)


def _background(seed: int, looks: _Looks, nuisance: Nuisance, size: int) -> FloatArray:
    """Paint a backdrop of one hue, lighter above or below, with faint clouds."""
    zoom = 1.5 * _REFERENCE / size
    clouds = materials.view(materials.cloud_texture(seed), (size, size), nuisance.offset, 0.0, zoom)
    light = looks.background_light - looks.gradient * _rows(size)[:, None] + (clouds.astype(np.float32) - 128) / 2600
    levels = np.clip((light - 0.05) * 256, 0, 255).astype(np.uint8)
    table = _rgb(np.linspace(0.05, 1.05, 256, dtype=np.float32), 0.075, looks.background_hue)
    return table[levels]


def _paint_specks(canvas: FloatArray, nuisance: Nuisance) -> FloatArray:
    """Return the backdrop with its stains, through which it shows, and the clutter before it."""
    size = len(canvas)
    fine = Image.fromarray(np.clip(canvas, 0, 255).astype(np.uint8))
    fine = fine.resize((2 * size, 2 * size), Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(fine, "RGBA")
    for specks, chroma, opacity in ((nuisance.stains, 0.075, 190), (nuisance.specks, 0.10, 255)):
        for speck in specks:
            corners = _turned(_CIRCLE * (1, 0.6), 2 * np.pi * speck.turn) * speck.radius + (speck.x, speck.y)
            red, green, blue = (int(value) for value in _rgb(_tone(0.35 + 0.5 * speck.light), chroma, speck.hue)[0])
            draw.polygon((2 * size * corners).ravel().tolist(), fill=(red, green, blue, opacity))
    return np.asarray(fine.reduce(2)).astype(np.float32)


def _turned(points: Polygon, angle: float) -> Polygon:
    cosine, sine = np.cos(angle), np.sin(angle)
    turned: Polygon = points @ np.array([[cosine, sine], [-sine, cosine]])
    return turned


def _mask(corners: Polygon, size: int) -> tuple[FloatArray, tuple[int, int, int, int]] | None:
    """Cover (0..1) of a polygon within its box, and the box: left, top, right, bottom; None outside the image."""
    left, top = np.maximum(np.floor(corners.min(axis=0)).astype(int) - 1, 0)
    right, bottom = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 1, size)
    if right - left < 2 or bottom - top < 2:
        return None
    fine = Image.new("L", (int(right - left) * _FINER, int(bottom - top) * _FINER))
    inside = (corners - (left, top)) * _FINER
    ImageDraw.Draw(fine).polygon(inside.ravel().tolist(), fill=255)
    cover = np.asarray(fine.reduce(_FINER), dtype=np.float32) / np.float32(255)
    return cover, (int(left), int(top), int(right), int(bottom))


def _blend(canvas: FloatArray, cover: FloatArray, box: tuple[int, int, int, int], colour: FloatArray) -> None:
    left, top, right, bottom = box
    under = canvas[top:bottom, left:right]
    under += cover[..., None] * (colour - under)


def _paint_flat(canvas: FloatArray, corners: Polygon, colour: FloatArray) -> None:
    found = _mask(corners, len(canvas))
    if found is not None:
        _blend(canvas, *found, colour)


def _soft(cover: FloatArray, radius: float) -> FloatArray:
    """Blur a cover."""
    picture = Image.fromarray((255 * cover).astype(np.uint8)).filter(ImageFilter.BoxBlur(radius))
    return np.asarray(picture, dtype=np.float32) / np.float32(255)


def _shade(cover: FloatArray, radius: float, nuisance: Nuisance) -> FloatArray:
    """Factor of a part's colours that makes it look round: a blurred outline serves as height, its slope is lit."""
    relief = _soft(cover, radius)
    slope_y, slope_x = np.gradient(relief)
    lit = slope_x * np.float32(np.cos(nuisance.azimuth)) + slope_y * np.float32(np.sin(nuisance.azimuth))
    shade = 0.80 + 0.24 * relief + np.float32(radius * (0.6 + 2 * nuisance.strength)) * lit
    return np.asarray(shade, dtype=np.float32)


def _paint_object(
    canvas: FloatArray, seed: int, category: Category, looks: _Looks, nuisance: Nuisance, middle: Polygon
) -> None:
    """Cut the object's main parts out of the texture and its others out of plain tones, all of one hue."""
    size = len(canvas)
    half = looks.height * size / 2
    flip = np.array([-1.0 if nuisance.mirrored else 1.0, 1.0])
    parts = [(_turned(part * flip, nuisance.tilt) * half + middle, slot) for part, slot in parts_of(category.shape)]
    _cast_shadow(canvas, [corners for corners, _ in parts], half, nuisance)
    tones = np.linspace(0.60 - looks.contrast / 2, 0.60 + looks.contrast / 2, 256, dtype=np.float32)
    table = _rgb(tones, 0.125, looks.object_hue)
    plain = {1: _rgb(_tone(0.46), 0.10, looks.object_hue), 2: _rgb(_tone(0.84), 0.06, looks.object_hue)}
    for corners, slot in parts:
        found = _mask(corners, size)
        if found is None:
            continue
        cover, box = found
        if slot == 0:
            window = (box[2] - box[0], box[3] - box[1])
            tile = materials.texture(seed, category.texture)
            seen = materials.view(tile, window, nuisance.offset, looks.angle, looks.zoom * _REFERENCE / size)
            colour = table[seen]
        else:
            colour = plain[slot]
        _blend(canvas, cover, box, colour * _shade(cover, max(0.13 * half, 1), nuisance)[..., None])


def _cast_shadow(canvas: FloatArray, outlines: list[Polygon], half: float, nuisance: Nuisance) -> None:
    """Darken the background beside the object, away from the light."""
    size = len(canvas)
    shift = half * 0.10 * np.array([np.cos(nuisance.azimuth), 0.6])
    picture = Image.new("L", (size, size))
    draw = ImageDraw.Draw(picture)
    for corners in outlines:
        draw.polygon((corners + shift).ravel().tolist(), fill=255)
    soft = np.asarray(picture.filter(ImageFilter.BoxBlur(max(half * 0.09, 1))), dtype=np.float32)
    canvas *= 1 - (0.42 / 255) * soft[..., None]


def _paint_companion(canvas: FloatArray, looks: _Looks, nuisance: Nuisance, middle: Polygon) -> None:
    """Paint a pale ball with a dark rim on a ring around the object."""
    size = len(canvas)
    radius = 0.055 * size
    place = middle + 0.41 * size * np.array([np.cos(looks.companion), np.sin(looks.companion)])
    place = np.clip(place, 1.2 * radius, size - 1.2 * radius)
    _paint_flat(canvas, _CIRCLE * radius * 1.22 + place, _rgb(_tone(0.22), 0.02, 0.7))
    found = _mask(_CIRCLE * radius + place, size)
    if found is not None:
        cover, box = found
        pale = _rgb(_tone(0.95), 0.03, 0.25)
        _blend(canvas, cover, box, pale * _shade(cover, max(0.5 * radius, 1), nuisance)[..., None])


def _expose(canvas: FloatArray, nuisance: Nuisance, rng: np.random.Generator) -> ByteArray:
    """Light from one side, blur of the lens, noise of the sensor."""
    size = len(canvas)
    x, y = _rows(size)[None, :], _rows(size)[:, None]
    falloff = 1 + nuisance.strength * 0.5 * (x * np.cos(nuisance.azimuth) - 0.3 * y * np.sin(nuisance.azimuth))
    canvas *= (np.float32(nuisance.exposure) * falloff.astype(np.float32))[..., None]
    np.clip(canvas, 0, 255, out=canvas)
    blur = nuisance.blur * size / _REFERENCE
    if blur > 0.1:
        picture = Image.fromarray(canvas.astype(np.uint8)).filter(ImageFilter.BoxBlur(blur))
        canvas = np.asarray(picture).astype(np.float32)
    canvas += np.float32(nuisance.noise) * rng.standard_normal((size, size, 1), dtype=np.float32) + 0.5
    np.clip(canvas, 0, 255, out=canvas)
    return canvas.astype(np.uint8)
