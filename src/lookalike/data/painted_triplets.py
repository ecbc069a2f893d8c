"""Synthetic images of known, graded relevance, and rated triplets of them (Deep Ranking, CVPR 2014, section 6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from lookalike.core.arrays import Bytes, Doubles
from lookalike.core.files import write_table
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import SyntheticTriplets
from lookalike.data.scene import TEXTURES, THINGS, Cloth, Pose, Recipe, Scene

Image = tuple[int, int]  # category and number of an evaluation image
FACTORS = {
    "object_hue": (1.2, True),
    "background_hue": (0.4, True),
    "background_light": (0.5, False),
    "contrast": (0.7, False),  # of the texture, as the next two
    "frequency": (1.2, False),
    "orientation": (0.9, False),
    "size": (1.1, False),  # of the object
}
"""Weight of each factor of the looks in the relevance, and whether it is circular: whether 1 is 0 again."""
_WEIGHTS, _CIRCULAR = (np.array(column) for column in zip(*FACTORS.values(), strict=True))
_INSTANCE = 8  # consecutive images of one instance of a category, whose looks lie about a middle of their own
_SPREAD = 0.12  # standard deviation of the looks of an instance's images, in each factor
_TEXTURES = tuple(texture for texture in TEXTURES if texture != "cloudy")  # those that a turn changes
_STEP = 3  # textures from one category of a thing to its next; it has no common divisor with their number
_RATERS = 3  # of a triplet, as in section 6.2; only what all of them say is kept
_PERCEPTION = 0.05  # standard deviation of a rater's idea of a relevance
_CLEARLY = 0.1  # difference of relevance from which a rater calls one image more similar
_OUT_OF_CLASS = 0.1  # share of questions with an image of the search noise, on which raters agree more often
_TRIES = 50  # questions for each triplet before its place is left empty
_LEAST_RELEVANCE = 0.001  # pairs of training images that are less relevant are not listed


class PaintedTriplets(SyntheticTriplets, Recipe):
    """Synthetic rated triplets: categories, fewer of which are the first of more, differ in thing and texture, images
    of one in their looks.
    """

    extremes: ClassVar = {
        "askew": (0.25, 1.0),  # share of the greatest shift and turn of the object
        "clutter": (0.0, 8.0),  # other things behind it, at most
        "light": (0.02, 0.08),  # as the next two in `Scene.photograph`
        "blur": (0.4, 1.6),
        "noise": (1.5, 8.0),
    }

    def kind_of(self, category: int) -> tuple[str, str]:
        """Return the thing and the texture of a category: no two are alike, any two share one of them or neither."""
        rng = generator(self.seed, "categories")
        things, textures = rng.permutation(tuple(THINGS)).tolist(), rng.permutation(_TEXTURES).tolist()
        turn, place = divmod(category, len(things))
        return things[place], textures[(place + _STEP * turn) % len(textures)]

    def name_of(self, category: int) -> str:
        """Name of a category, which is a folder and a text query: ``striped-boat``."""
        thing, texture = self.kind_of(category)
        return f"{texture}-{thing}"

    def counts(self) -> dict[tuple[str, int], int]:
        """Return how many images there are of each part and category; those held out have none to be trained on."""
        trained, every = range(self.categories - self.held_out), range(self.categories)
        evaluation = {("evaluation", category): self.evaluation_images_per_category for category in every}
        return {("training", category): self.images_per_category for category in trained} | evaluation

    def path(self, part: str, category: int, number: int) -> str:
        """Return the path of an image, as in ``training/striped-boat/0001.jpg``, numbered from 1."""
        return f"{part}/{self.name_of(category)}/{number + 1:04d}.jpg"

    def looks(self, part: str, category: int, number: int) -> Doubles:
        """Return factors of an image's looks in 0..1, in the order of `FACTORS`; the parts share no instance."""
        middle = generator(self.seed, "instance", part, category, number // _INSTANCE).random(len(FACTORS))
        chance = generator(self.seed, "looks", part, category, number)
        return np.clip(middle + chance.normal(scale=_SPREAD, size=len(FACTORS)), 0, 1)

    def all_looks(self, part: str, category: int) -> Doubles:
        """Return looks of all images of a category, a row an image."""
        looks = [self.looks(part, category, number) for number in range(self.counts().get((part, category), 0))]
        return np.array(looks).reshape(-1, len(FACTORS))

    def paint(self, part: str, category: int, number: int) -> Bytes:
        """Paint an image of a part: a backdrop, clutter, and an object of a textured and some plain parts."""
        looks = dict(zip(FACTORS, self.looks(part, category, number).tolist(), strict=True))
        (thing, texture), size = self.kind_of(category), self.size
        scene = Scene(self, (size, size), generator(self.seed, "chance", part, category, number))
        rng, hue, light = scene.rng, looks["object_hue"], 28 + 58 * looks["background_light"]
        backdrop = Cloth("cloudy", looks["background_hue"], light, contrast=14, chroma=24, zoom=0.6)
        scene.canvas = scene.piece(backdrop, (size, size))
        for _ in range(round(rng.uniform(0, self.knobs["clutter"]))):
            (x, y), half = size * rng.random(2), size * rng.uniform(0.03, 0.16)
            clutter = Cloth("cloudy", rng.random(), light=rng.uniform(35, 85), contrast=10, chroma=28)
            scene.paint_thing(str(rng.choice(tuple(THINGS))), Pose(x, y, half), [clutter] * 3)
        askew = rng.uniform(-1, 1, size=3) * self.knobs["askew"]
        x, y = size * (0.5 + askew[:2] * (0.22, 0.16))
        pose = Pose(x, y, (0.20 + 0.19 * looks["size"]) * size, 0.25 * askew[2], float(rng.choice((-1, 1))))
        zoom, turn = 0.45 * 2.4 ** looks["frequency"], 1.3 * (looks["orientation"] - 0.5)
        textured = Cloth(texture, hue, 58, 22 + 46 * looks["contrast"], zoom=zoom, turn=turn)
        plain = (Cloth("cloudy", hue, light, contrast=4, chroma=chroma) for light, chroma in ((42, 34), (82, 20)))
        scene.paint_thing(thing, pose, [textured, *plain])
        return scene.photograph()

    def write_beside(self, folder: str | Path) -> None:
        """Write what comes with the images: ``ratings.csv``, ``pool.csv`` and ``training/relevance.csv``."""
        rows: list[dict[str, str | int]] = []
        for number, (query, *answers) in enumerate(rated_triplets(self)):
            kind = "in-class" if answers[1][0] == query[0] else "out-of-class"
            for image, similarity in zip(answers, (1, -1), strict=True):
                row: dict[str, str | int] = {
                    "Triplet": number,
                    "Similarity": similarity,
                    "Text Query": self.name_of(query[0]),
                    "Kind": kind,
                }
                paths = {"Image1": self.path("evaluation", *query), "Image2": self.path("evaluation", *image)}
                rows.append(row | paths | {f"{column}_Path": path for column, path in paths.items()})
        pools = ((category, image) for category in range(self.categories) for image in pool_of(self, category))
        pool = [{"text_query": self.name_of(own), "path": self.path("evaluation", *image)} for own, image in pools]
        write_table(pd.DataFrame(rows), Path(folder) / "ratings.csv")
        write_table(pd.DataFrame(pool), Path(folder) / "pool.csv")
        write_table(relevance_table(self), Path(folder) / "training" / "relevance.csv")


def relevance_of(looks: Doubles, others: Doubles) -> Doubles:
    """Return the relevance (0..1) of images of a category by looks (..., 7): exp(-weighted squared difference)."""
    difference = np.abs(looks - others)
    # of a circular factor it is the sine of half the angle between
    difference = np.where(_CIRCULAR, np.sin(np.pi * difference), difference)
    return np.asarray(np.exp(-(difference**2) @ _WEIGHTS))


def pool_of(recipe: PaintedTriplets, category: int) -> list[Image]:
    """Return images that a text query finds: all of its own, and some of others."""
    numbers = range(recipe.evaluation_images_per_category)
    others = [(other, number) for other in range(recipe.categories) if other != category for number in numbers]
    chosen = generator(recipe.seed, "search noise", category).permutation(len(others))[: recipe.n_noise]
    return [(category, number) for number in numbers] + [others[place] for place in sorted(chosen)]


def rated_triplets(recipe: PaintedTriplets) -> Iterator[tuple[Image, Image, Image]]:
    """Yield query, positive and negative, rated as section 6.2 has it; a category may miss some of its share."""
    for category in range(recipe.categories):
        wanted = len(range(category, recipe.triplets, recipe.categories))
        yield from islice(_agreed(recipe, category, _TRIES * wanted), wanted)


def _agreed(recipe: PaintedTriplets, category: int, n_questions: int) -> Iterator[tuple[Image, Image, Image]]:
    """Ask the raters of a text query, and yield triplets that all of them call clear; some with search noise."""
    rng, looks = generator(recipe.seed, "triplets", category), recipe.all_looks("evaluation", category)
    noise = pool_of(recipe, category)[len(looks) :]
    for _ in range(n_questions):
        query, first, second = rng.permutation(len(looks))[:3].tolist()
        negative, relevance = (category, second), relevance_of(looks[query], looks[[first, second]])
        if noise and rng.random() < _OUT_OF_CLASS:
            negative, relevance[1] = noise[rng.integers(len(noise))], 0.0
        seen = relevance + rng.normal(scale=_PERCEPTION, size=(_RATERS, 2))
        if (seen[:, 0] - seen[:, 1] > _CLEARLY).all():
            yield (category, query), (category, first), negative


def relevance_table(recipe: PaintedTriplets) -> pd.DataFrame:
    """Return pairs of training images of one category (``image1``, ``image2``: paths there) and ``relevance``."""
    tables = []
    for category in range(recipe.categories - recipe.held_out):
        looks = recipe.all_looks("training", category)
        first, second = np.triu_indices(len(looks), k=1)
        paths = np.array([recipe.path("training", category, n).partition("/")[2] for n in range(len(looks))])
        relevance = relevance_of(looks[first], looks[second]).round(6)
        table = pd.DataFrame({"image1": paths[first], "image2": paths[second], "relevance": relevance})
        tables.append(table[relevance > _LEAST_RELEVANCE])
    return pd.concat(tables, ignore_index=True)
