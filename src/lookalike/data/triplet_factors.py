"""What a synthetic image of the fine-grained study shows, as numbers: its category, its looks, and chance.

A category is a shape and a texture and has no colour of its own. Its looks are nine continuous factors, of which the
relevance of two images is a known function; chance (a `Nuisance`) shows in the pixels too, and relevance ignores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import generator
from lookalike.data.materials import FAMILIES
from lookalike.data.shapes import SHAPES

FactorArray = npt.NDArray[np.float64]


class Factor(NamedTuple):
    """One factor of the looks, 0..1."""

    name: str
    weight: float
    """Of its squared difference in the relevance."""
    circular: bool
    """Whether 1 is 0 again, as of hues."""


FACTORS = (
    Factor("object_hue", 1.2, True),
    Factor("background_hue", 0.4, True),
    Factor("background_light", 0.5, False),
    Factor("gradient", 0.3, False),
    Factor("contrast", 0.7, False),
    Factor("frequency", 1.2, False),
    Factor("orientation", 0.9, False),
    Factor("size", 1.1, False),
    Factor("companion", 0.5, True),
)
"""The factors in the order of a vector's entries: of the object's colour, of the background's colour, its brightness
and whether its light falls from above or below, of the texture's contrast, fineness and turn, of the object's size, and
where around it a little ball lies."""
_CIRCULAR = np.array([factor.circular for factor in FACTORS])
_WEIGHTS = np.array([factor.weight for factor in FACTORS])
INSTANCE = 8
"""Images of one instance of a category."""
_SPREAD = 0.12  # standard deviation of the looks of an instance's images, in each factor

TEXTURES = ("stripes", "dots", "bricks", "timber", "fur", "scales", "chevron")
"""Textures of categories: families of `materials` that a turn changes, or their orientation could not be seen."""
_ADJECTIVES = ("striped", "dotted", "brick", "timber", "furry", "scaly", "zigzag")
_N_SHAPES = 10  # of twelve, so that a set of twenty categories has each shape in two textures
_STEP = 3  # textures from one category of a shape to its next; it has no common divisor with their number
MAX_CATEGORIES = _N_SHAPES * len(TEXTURES)


class Category(NamedTuple):
    """What the object of an image is."""

    name: str
    shape: int
    texture: int
    """Number of the family of `materials`."""


@lru_cache(maxsize=1024)
def category_of(seed: int, number: int) -> Category:
    """Category of a set: no two alike, any two sharing a shape, a texture or neither.

    Parameters
    ----------
    seed : int
        Seed of the data set: it decides which shapes and textures meet.
    number : int
        From 0, below `MAX_CATEGORIES`; after every ten the shapes come again in other textures.
    """
    rng = generator(seed, "categories")
    shapes, textures = rng.permutation(len(SHAPES))[:_N_SHAPES], rng.permutation(len(TEXTURES))
    place = number % _N_SHAPES
    texture = int(textures[(place + _STEP * (number // _N_SHAPES)) % len(TEXTURES)])
    shape = int(shapes[place])
    return Category(f"{_ADJECTIVES[texture]}-{SHAPES[shape]}", shape, FAMILIES.index(TEXTURES[texture]))


def draw_factors(seed: int, part: str, category: int, number: int) -> FactorArray:
    """Draw the looks of one image.

    Images come in instances of `INSTANCE`, consecutive ones, whose looks lie about a middle of their own: as the
    pictures of one product do. So some images are very relevant to each other, and most a little.

    Parameters
    ----------
    seed : int
        Seed of the data set.
    part : str
        ``training`` or ``evaluation``: they share no instance.
    category, number : int
        Of the image, from 0.

    Returns
    -------
    ndarray of float64, shape (9,)
        In 0..1, in the order of `FACTORS`.
    """
    middle = generator(seed, "instance", part, category, number // INSTANCE).random(len(FACTORS))
    around = generator(seed, "looks", part, category, number).normal(scale=_SPREAD, size=len(FACTORS))
    looks = middle + around
    # past an end a circle goes on at the other, and a line turns back
    folded = 1 - np.abs(1 - np.mod(looks, 2))
    factors: FactorArray = np.where(_CIRCULAR, np.mod(looks, 1), folded)
    return factors


def relevance_of(factors: FactorArray, others: FactorArray) -> FactorArray:
    """Relevance of images of one category by their looks: exp(-weighted squared difference).

    Parameters
    ----------
    factors, others : ndarray, shape (..., 9)
        Broadcast against each other. The difference of a circular factor is the sine of half the angle between.

    Returns
    -------
    ndarray of float64, shape (...)
        0..1; 1 for the same looks, symmetric.
    """
    difference = np.abs(factors - others)
    difference = np.where(_CIRCULAR, np.sin(np.pi * difference), difference)
    relevance: FactorArray = np.exp(-np.square(difference) @ _WEIGHTS)
    return relevance


class Speck(NamedTuple):
    """A bit of clutter, or a stain of the backdrop."""

    x: float
    y: float
    radius: float
    """In shares of the image's side, as the place."""
    turn: float
    hue: float
    light: float


@dataclass(frozen=True)
class Nuisance:
    """Chance in an image, which relevance ignores.

    Parameters
    ----------
    shift : (float, float)
        How far the object is from the middle, in shares of the image's side.
    tilt : float
        Turn of the object in radians.
    mirrored : bool
    offset : (float, float)
        Where on the texture's tile it is cut, in shares of the tile.
    stains : tuple of Speck
        Of the backdrop: large, and it shows through them.
    specks : tuple of Speck
        Clutter before it.
    azimuth, strength, exposure, blur, noise : float
        Direction of the light (radians) and how much it models, exposure as a factor, blur (radius in pixels of an
        image of 96) and noise (standard deviation, of 255).
    """

    shift: tuple[float, float]
    tilt: float
    mirrored: bool
    offset: tuple[float, float]
    stains: tuple[Speck, ...]
    specks: tuple[Speck, ...]
    azimuth: float
    strength: float
    exposure: float
    blur: float
    noise: float


def _draw_speck(rng: np.random.Generator, radii: tuple[float, float]) -> Speck:
    x, y = map(float, rng.random(2))
    radius = float(rng.uniform(*radii))
    turn, hue, light = map(float, rng.random(3))
    return Speck(x, y, radius, turn, hue, light)


def draw_nuisance(rng: np.random.Generator, difficulty: float) -> Nuisance:
    """Draw the chance of one image.

    Parameters
    ----------
    rng : numpy.random.Generator
    difficulty : float
        0 (hardly any) to 1 (much).
    """
    amount = 0.25 + 0.75 * difficulty

    def spread(scale: float) -> float:
        return float(rng.uniform(-scale, scale)) * amount

    n_stains, n_specks = (int(rng.binomial(most, 0.8 * difficulty)) for most in (6, 14))
    stains = tuple(_draw_speck(rng, (0.12, 0.34)) for _ in range(n_stains))
    specks = tuple(_draw_speck(rng, (0.01, 0.045)) for _ in range(n_specks))
    return Nuisance(
        shift=(spread(0.22), spread(0.16)),
        tilt=spread(0.25),
        mirrored=bool(rng.random() < 0.5),
        offset=(float(rng.random()), float(rng.random())),
        stains=stains,
        specks=specks,
        azimuth=float(rng.uniform(0, np.pi)),
        strength=float(rng.uniform(0.1, 0.35)) * amount,
        exposure=1 + spread(0.25),
        blur=float(rng.uniform(0, 0.8)) * amount,
        noise=float(rng.uniform(2, 10)) * amount,
    )
