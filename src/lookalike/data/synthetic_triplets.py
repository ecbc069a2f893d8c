"""Synthetic images with a graded relevance that is known, and rated triplets of them: a release that code makes.

It stands where a folder of rated triplets would (`lookalike.data.rated_triplets`): the same CSV columns, a pool for
every text query, and training images with their relevance. Categories differ in shape and texture, images of one in
nine continuous factors of their looks; both decide how similar two images are, as in the Deep Ranking paper (CVPR
2014, section 1). Every image and every rating has a random stream of its own, so any process may draw any part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.files import write_table
from lookalike.core.seeds import generator
from lookalike.data.drawing import fingerprint, require, write_shard
from lookalike.data.materials import ByteArray
from lookalike.data.synthetic import JPEG_QUALITY
from lookalike.data.triplet_factors import (
    FACTORS,
    MAX_CATEGORIES,
    FactorArray,
    category_of,
    draw_factors,
    draw_nuisance,
    relevance_of,
)
from lookalike.data.triplet_scenes import paint

RECIPE = 2
"""Version of how images and ratings are drawn: to be raised whenever the same settings come to give others."""
PARTS = ("training", "evaluation")
"""Folders of the images that may be learned from, and of those that are rated."""
RATERS = 3
"""As many rate a triplet as in section 6.2; only what all of them say is kept."""
LEAST_RELEVANCE = 0.001
"""Pairs of training images that are less relevant are not listed."""
_OUT_OF_CLASS = 0.25  # share of triplets drawn with an image of the search noise
_PERCEPTION = 0.05  # standard deviation of a rater's idea of a relevance
_CLEARLY = 0.1  # difference of relevance from which a rater calls one image more similar
_require = partial(require, "triplets")
_TRIES = 50  # draws of a triplet before its place is left empty
_IN_CLASS, _FROM_NOISE = "in-class", "out-of-class"


@dataclass(frozen=True)
class SyntheticTriplets:
    """What a synthetic set of rated triplets is like.

    Parameters
    ----------
    n_categories : int
        Number of categories. Fewer are the first ones of more: their images do not change.
    n_held_out : int
        The last so many categories are rated, and never trained on.
    images_per_category : int
        Training images of each other category.
    evaluation_images_per_category : int
        Images of each category that triplets are drawn from.
    n_triplets : int
        Rated triplets, spread evenly over the categories.
    noise_share : float
        Share of images of other categories in the pool of a text query, less than 1.
    size : int
        Side of an image in pixels.
    difficulty : float
        0 (easy) to 1 (hard): how much chance there is in an image that relevance ignores.
    seed : int
        Seed of this data set; the workflow derives it from its root seed.

    Raises
    ------
    LookalikeError
        When a number is out of range.
    """

    n_categories: int = 20
    n_held_out: int = 4
    images_per_category: int = 60
    evaluation_images_per_category: int = 40
    n_triplets: int = 2000
    noise_share: float = 0.25
    size: int = 96
    difficulty: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        _require(self.n_categories <= MAX_CATEGORIES, "categories", self.n_categories, f"of {MAX_CATEGORIES} or less")
        most = self.n_categories - 2
        _require(self.n_held_out <= most, "held_out", self.n_held_out, f"of {most} or less: two are trained on")
        for name, value in (
            ("images_per_category", self.images_per_category),
            ("evaluation_images_per_category", self.evaluation_images_per_category),
        ):
            _require(value <= 9999, name, value, "of 9999 or less")
        _require(self.n_triplets >= self.n_categories, "triplets", self.n_triplets, "of one a category or more")
        others = (self.n_categories - 1) * self.evaluation_images_per_category
        _require(self.n_noise <= others, "noise_images", self.noise_share, f"that asks for at most {others} images")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], seed: int) -> SyntheticTriplets:
        """Make it from a data set's entry ``synthetic_triplets`` in config.yaml, and the seed of the data set."""
        names = {
            "categories": "n_categories",
            "held_out": "n_held_out",
            "triplets": "n_triplets",
            "noise_images": "noise_share",
        }
        return cls(**{names.get(key, key): value for key, value in settings.items()}, seed=seed)

    @property
    def n_noise(self) -> int:
        """Images of other categories in the pool of each text query."""
        return round(self.evaluation_images_per_category * self.noise_share / (1 - self.noise_share))

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that any other number of this object, or `RECIPE`, would change."""
        return fingerprint(self, RECIPE)

    def category_names(self) -> list[str]:
        """Names of the categories, which are folders and text queries: ``striped-boat``; those held out come last."""
        return [category_of(self.seed, number).name for number in range(self.n_categories)]

    def n_images(self, part: str, category: int) -> int:
        """Return the number of images of a category in a part."""
        if part == "evaluation":
            return self.evaluation_images_per_category
        return self.images_per_category if category < self.n_categories - self.n_held_out else 0


class _Rated(NamedTuple):
    """A triplet that all raters agree on, by numbers of images."""

    text_query: int
    query: tuple[int, int]
    positive: tuple[int, int]
    negative: tuple[int, int]
    kind: str


def image_path(spec: SyntheticTriplets, part: str, category: int, number: int) -> str:
    """Path of an image below the folder, as in ``training/striped-boat/0001.jpg``, numbered from 1."""
    return f"{part}/{category_of(spec.seed, category).name}/{number + 1:04d}.jpg"


def draw_image(spec: SyntheticTriplets, part: str, category: int, number: int) -> ByteArray:
    """Draw one image of a part: uint8 of shape (size, size, 3), RGB."""
    chance = generator(spec.seed, "chance", part, category, number)
    looks = draw_factors(spec.seed, part, category, number)
    nuisance = draw_nuisance(chance, spec.difficulty)
    return paint(spec.seed, category_of(spec.seed, category), looks, nuisance, spec.size, chance)


def _members(spec: SyntheticTriplets) -> Iterator[tuple[str, int, int]]:
    """Part, category and number of every image."""
    for part in PARTS:
        for category in range(spec.n_categories):
            yield from ((part, category, number) for number in range(spec.n_images(part, category)))


def write_images(spec: SyntheticTriplets, folder: str | os.PathLike[str], shard: int = 0, n_shards: int = 1) -> int:
    """Draw and write a shard of the images; return how many files these are."""
    path, draw = partial(image_path, spec), partial(draw_image, spec)
    return write_shard(_members(spec), path, draw, folder, shard, n_shards, JPEG_QUALITY)


def _factors(spec: SyntheticTriplets, part: str, category: int) -> FactorArray:
    """Looks of all images of a category."""
    looks = [draw_factors(spec.seed, part, category, number) for number in range(spec.n_images(part, category))]
    return np.array(looks).reshape(-1, len(FACTORS))


def factors_table(spec: SyntheticTriplets, part: str) -> pd.DataFrame:
    """Return the looks of a part: ``path`` below its folder, ``category``, and a column a factor, 0..1."""
    tables = []
    for category, name in enumerate(spec.category_names()):
        table = pd.DataFrame(_factors(spec, part, category), columns=[factor.name for factor in FACTORS])
        table.insert(0, "path", [f"{name}/{number + 1:04d}.jpg" for number in range(len(table))])
        table.insert(1, "category", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def relevance_table(spec: SyntheticTriplets, part: str) -> pd.DataFrame:
    """Return the relevance of all pairs of images of one category that is not next to nothing.

    ``image1`` and ``image2`` are paths below the part's folder, each pair once; ``relevance`` is `LEAST_RELEVANCE` to
    1. Images of different categories have none.
    """
    tables = []
    for category, name in enumerate(spec.category_names()):
        looks = _factors(spec, part, category)
        first, second = np.triu_indices(len(looks), k=1)
        relevance = relevance_of(looks[first], looks[second])
        kept = relevance > LEAST_RELEVANCE
        table = pd.DataFrame({"relevance": relevance[kept].round(6)})
        for column, numbers in (("image2", second[kept]), ("image1", first[kept])):
            table.insert(0, column, [f"{name}/{number + 1:04d}.jpg" for number in numbers])
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _pool(spec: SyntheticTriplets, category: int) -> list[tuple[int, int]]:
    """Category and number of the images that a text query finds: all of its own, and some of others."""
    own = [(category, number) for number in range(spec.evaluation_images_per_category)]
    others = [
        (other, number)
        for other in range(spec.n_categories)
        for number in range(spec.evaluation_images_per_category)
        if other != category
    ]
    drawn = generator(spec.seed, "search noise", category).permutation(len(others))[: spec.n_noise]
    return own + [others[place] for place in sorted(drawn)]


def _rating(relevance: npt.NDArray[np.float64], rng: np.random.Generator) -> int:
    """Which of two images all raters call more similar: 0 or 1; -1 where they do not agree or see no difference."""
    seen = relevance[None, :] + rng.normal(scale=_PERCEPTION, size=(RATERS, 2))
    difference = seen[:, 0] - seen[:, 1]
    if (difference > _CLEARLY).all():
        return 0
    return 1 if (difference < -_CLEARLY).all() else -1


def rated_triplets(spec: SyntheticTriplets) -> list[_Rated]:
    """Rate triplets as section 6.2 has it, by raters who see the relevance with an error of their own.

    A quarter of them is drawn with an image of the search noise. What not all raters agree on is drawn anew, so that
    a category may end with a few triplets less than its share. All numbers count from 0.
    """
    rated = []
    for category in range(spec.n_categories):
        looks = _factors(spec, "evaluation", category)
        noise = [member for member in _pool(spec, category) if member[0] != category]
        places = range(category, spec.n_triplets, spec.n_categories)
        for place in places:
            triplet = _rate(category, looks, noise, generator(spec.seed, "triplet", place))
            if triplet is not None:
                rated.append(triplet)
    return rated


def _rate(category: int, looks: FactorArray, noise: list[tuple[int, int]], rng: np.random.Generator) -> _Rated | None:
    """Draw triplets of a text query until the raters agree on one."""
    with_noise = bool(noise) and rng.random() < _OUT_OF_CLASS
    for _ in range(_TRIES):
        query, *others = (int(number) for number in rng.permutation(len(looks))[:3])
        relevance = relevance_of(looks[query], looks[others])
        images = [(category, number) for number in others]
        if with_noise:
            images[1] = noise[int(rng.integers(len(noise)))]
            relevance[1] = 0.0
        better = _rating(relevance, rng)
        if better >= 0:
            kind = _FROM_NOISE if with_noise and better == 0 else _IN_CLASS
            if with_noise and better == 1:
                continue  # nobody would call an image of something else more similar, but an error of perception may
            return _Rated(category, (category, query), images[better], images[1 - better], kind)
    return None


def write_ratings(spec: SyntheticTriplets, folder: str | os.PathLike[str]) -> None:
    """Write what comes with the images: ``ratings.csv``, ``pool.csv`` and ``training/relevance.csv``."""
    names = spec.category_names()
    rows = []
    for number, triplet in enumerate(rated_triplets(spec)):
        query = image_path(spec, "evaluation", *triplet.query)
        for image, similarity in ((triplet.positive, 1), (triplet.negative, -1)):
            other = image_path(spec, "evaluation", *image)
            rows.append(
                {
                    "Triplet": number,
                    "Image1": _stem(query),
                    "Image1_Path": query,
                    "Image2": _stem(other),
                    "Image2_Path": other,
                    "Similarity": similarity,
                    "Text Query": names[triplet.text_query],
                    "Kind": triplet.kind,
                }
            )
    pool = [
        {"text_query": names[category], "path": image_path(spec, "evaluation", *member)}
        for category in range(spec.n_categories)
        for member in _pool(spec, category)
    ]
    write_table(pd.DataFrame(rows), Path(folder) / "ratings.csv")
    write_table(pd.DataFrame(pool), Path(folder) / "pool.csv")
    write_table(relevance_table(spec, "training"), Path(folder) / "training" / "relevance.csv")


def _stem(path: str) -> str:
    """Name of an image in the ratings: ``striped-boat_0001``."""
    _, category, file = path.split("/")
    return f"{category}_{file.removesuffix('.jpg')}"
