"""Synthetic images of known, graded relevance, and rated triplets of them (Deep Ranking, CVPR 2014, section 6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from lookalike.core.arrays import Bytes, Doubles
from lookalike.core.files import write_table
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import SyntheticTriplets
from lookalike.data.scene import CIRCLE, OBJECTS, Material, Pose, Random, Recipe, Scene, hued, look, tile, turned

Image = tuple[int, int]  # category and number of an evaluation image
FACTORS = {
    "object_hue": (1.2, True),
    "background_hue": (0.4, True),
    "background_light": (0.5, False),
    "gradient": (0.3, False),  # whether the background's light falls from above or below
    "contrast": (0.7, False),  # of the texture, as the next two
    "frequency": (1.2, False),
    "orientation": (0.9, False),
    "size": (1.1, False),  # of the object
    "companion": (0.5, True),  # where around the object a little ball lies
}
"""Weight of each factor of the looks in the relevance, and whether it is circular: whether 1 is 0 again."""
_WEIGHTS, _CIRCULAR = (np.array(column) for column in zip(*FACTORS.values(), strict=True))
_INSTANCE = 8  # consecutive images of one instance of a category, whose looks lie about a middle of their own
_SPREAD = 0.12  # standard deviation of the looks of an instance's images, in each factor
# textures of categories, those that a turn changes, and what they are called
_WORDS = "stripes striped, dots dotted, bricks brick, timber timber, fur furry, scales scaly, chevron zigzag"
_TEXTURES = dict(map(str.split, _WORDS.split(",")))
_STEP = 3  # textures from one category of a shape to its next; it has no common divisor with their number
_RATERS = 3  # of a triplet, as in section 6.2; only what all of them say is kept
_PERCEPTION = 0.05  # standard deviation of a rater's idea of a relevance
_CLEARLY = 0.1  # difference of relevance from which a rater calls one image more similar
_OUT_OF_CLASS = 0.25  # share of triplets with an image of the search noise
_TRIES = 50  # samples of a triplet before its place is left empty
_LEAST_RELEVANCE = 0.001  # pairs of training images that are less relevant are not listed


class PaintedTriplets(SyntheticTriplets, Recipe):
    """Synthetic rated triplets: categories, fewer of which are the first of more, differ in shape and texture, images
    of one in their looks.
    """

    version = 4
    extremes: ClassVar = {
        "askew": (0.25, 1.0),  # share of the greatest shift and turn of the object
        "clutter": (0.0, 0.8),  # chance of each stain and speck
        "light": (0.02, 0.08),  # as the next four in `Scene.photograph`
        "cast": (0.0, 0.0),
        "falloff": (0.04, 0.17),
        "blur": (0.2, 0.8),
        "noise": (1.5, 10.0),
    }

    @property
    def n_noise(self) -> int:
        """Return the number of images of other categories in the pool of each text query."""
        return round(self.evaluation_images_per_category * self.noise_images / (1 - self.noise_images))

    def kind_of(self, category: int) -> tuple[str, str]:
        """Return the shape and the texture of a category: no two are alike, any two share one of them or neither."""
        rng = generator(self.seed, "categories")
        shapes, textures = rng.permutation(tuple(OBJECTS)).tolist(), rng.permutation(tuple(_TEXTURES)).tolist()
        turn, place = divmod(category, len(shapes))
        return shapes[place], textures[(place + _STEP * turn) % len(textures)]

    def name_of(self, category: int) -> str:
        """Name of a category, which is a folder and a text query: ``striped-boat``."""
        shape, texture = self.kind_of(category)
        return f"{_TEXTURES[texture]}-{shape}"

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
        looks = middle + chance.normal(scale=_SPREAD, size=len(FACTORS))
        # past an end a circle goes on at the other, and a line turns back
        return np.where(_CIRCULAR, looks % 1, 1 - np.abs(1 - looks % 2))

    def all_looks(self, part: str, category: int) -> Doubles:
        """Return looks of all images of a category, a row an image."""
        looks = [self.looks(part, category, number) for number in range(self.counts().get((part, category), 0))]
        return np.array(looks).reshape(-1, len(FACTORS))

    def paint(self, part: str, category: int, number: int) -> Bytes:
        """Paint an image of a part: a backdrop, an object of a textured and some plain parts, and a little ball."""
        looks = dict(zip(FACTORS, self.looks(part, category, number).tolist(), strict=True))
        scene = Scene(self, (self.size, self.size), generator(self.seed, "chance", part, category, number))
        (shape, texture), size = self.kind_of(category), self.size
        _paint_backdrop(scene, looks)
        askew = scene.rng.uniform(-1, 1, size=3) * self.knobs["askew"]
        middle = size * (0.5 + askew[:2] * (0.22, 0.16))
        half, mirrored = (0.20 + 0.19 * looks["size"]) * size, float(scene.rng.choice((-1, 1)))
        pose = Pose(middle[0], middle[1], half, 0.25 * askew[2], mirrored)
        scene.paint_thing(shape, pose, _materials(scene, looks, texture))
        turn = 2 * np.pi * looks["companion"]
        ball = np.clip(middle / size + 0.41 * np.array([np.cos(turn), np.sin(turn)]), 0.066, 0.934)
        scene.paint_polygon(size * (ball + 0.066 * CIRCLE), hued(20, 2, 0)[0])
        scene.paint_polygon(size * (ball + 0.053 * CIRCLE), hued(95, 4, 0.25)[0])
        return scene.photograph()

    def write_beside(self, folder: str | Path) -> None:
        """Write what comes with the images: ``ratings.csv``, ``pool.csv`` and ``training/relevance.csv``."""
        names, rows = [self.name_of(category) for category in range(self.categories)], []
        for number, (query, *answers) in enumerate(rated_triplets(self)):
            kind = "in-class" if answers[1][0] == query[0] else "out-of-class"
            for image, similarity in zip(answers, (1, -1), strict=True):
                row: dict[str, str | int] = {"Triplet": number}
                for column, (category, index) in (("Image1", query), ("Image2", image)):
                    row[column] = f"{names[category]}_{index + 1:04d}"
                    row[f"{column}_Path"] = self.path("evaluation", category, index)
                rows.append(row | {"Similarity": similarity, "Text Query": names[query[0]], "Kind": kind})
        pools = ((name, image) for category, name in enumerate(names) for image in pool_of(self, category))
        pool = [{"text_query": name, "path": self.path("evaluation", *image)} for name, image in pools]
        write_table(pd.DataFrame(rows), Path(folder) / "ratings.csv")
        write_table(pd.DataFrame(pool), Path(folder) / "pool.csv")
        write_table(relevance_table(self), Path(folder) / "training" / "relevance.csv")


def relevance_of(looks: Doubles, others: Doubles) -> Doubles:
    """Return the relevance (0..1) of images of a category by looks (..., 9): exp(-weighted squared difference)."""
    difference = np.abs(looks - others)
    # of a circular factor it is the sine of half the angle between
    difference = np.where(_CIRCULAR, np.sin(np.pi * difference), difference)
    return np.asarray(np.exp(-(difference**2) @ _WEIGHTS))


def _materials(scene: Scene, looks: Mapping[str, float], texture: str) -> list[Material]:
    """Return a texture in tones of the object's hue, and two plain tones of it."""
    hue, tones = looks["object_hue"], 58 + (22 + 46 * looks["contrast"]) * np.linspace(-0.5, 0.5, 256)
    zoom = 2.4 ** looks["frequency"] * 96 / scene.height
    onto = turned(1.3 * (looks["orientation"] - 0.5), zoom, scene.rng.random(2))
    plain = (np.repeat(hued(light, chroma, hue), 256, axis=0) for light, chroma in ((42, 34), (82, 20)))
    return [Material(tile(scene.seed, texture, 0), colours, onto) for colours in (hued(tones, 42, hue), *plain)]


def _paint_backdrop(scene: Scene, looks: Mapping[str, float]) -> None:
    """Paint a backdrop of one hue, lighter above or below, with faint clouds, stains and specks of clutter."""
    rng, size = scene.rng, scene.height
    soft = look(tile(scene.seed, "cloud", 0), (size, size), turned(0, 1.5 * 96 / size, rng.random(2)))
    slope = 44 * (looks["gradient"] - 0.5) * np.linspace(1, -1, size)[:, None]
    light = np.clip(28 + 58 * looks["background_light"] + slope + (soft - 127.5) / 26, 3, 99)
    scene.canvas = hued(light.ravel(), 24, looks["background_hue"]).reshape(size, size, 3)
    for most, least, largest, opacity in ((6, 0.12, 0.34, 0.75), (14, 0.01, 0.045, 1.0)):
        for _ in range(rng.binomial(most, scene.knobs["clutter"])):
            angle, radius = rng.uniform(0, np.pi), size * rng.uniform(least, largest)
            corners = CIRCLE * (1, 0.6) @ turned(angle, radius, (0, 0))[:2, :2] + size * rng.random(2)
            scene.paint_polygon(corners, hued(rng.uniform(35, 85), 28, rng.random())[0], opacity)


def pool_of(recipe: PaintedTriplets, category: int) -> list[Image]:
    """Return images that a text query finds: all of its own, and some of others."""
    numbers = range(recipe.evaluation_images_per_category)
    others = [(other, number) for other in range(recipe.categories) if other != category for number in numbers]
    chosen = generator(recipe.seed, "search noise", category).permutation(len(others))[: recipe.n_noise]
    return [(category, number) for number in numbers] + [others[place] for place in sorted(chosen)]


def rated_triplets(recipe: PaintedTriplets) -> Iterator[tuple[Image, Image, Image]]:
    """Yield query, positive and negative, rated as section 6.2 has it; a category may miss some of its share."""
    for category in range(recipe.categories):
        looks = recipe.all_looks("evaluation", category)
        noise = pool_of(recipe, category)[len(looks) :]
        for place in range(category, recipe.triplets, recipe.categories):
            triplet = _rated(category, looks, noise, generator(recipe.seed, "triplet", place))
            if triplet is not None:
                yield triplet


def _rated(category: int, looks: Doubles, noise: list[Image], rng: Random) -> tuple[Image, Image, Image] | None:
    """Sample triplets of a text query until the raters agree on one; some with an image of the search noise."""
    with_noise = bool(noise) and rng.random() < _OUT_OF_CLASS
    for _ in range(_TRIES):
        query, *others = (int(number) for number in rng.permutation(len(looks))[:3])
        images, relevance = [(category, number) for number in others], relevance_of(looks[query], looks[others])
        if with_noise:
            images[1], relevance[1] = noise[rng.integers(len(noise))], 0.0
        seen = relevance + rng.normal(scale=_PERCEPTION, size=(_RATERS, 2))
        difference = seen[:, 0] - seen[:, 1]
        if (difference > _CLEARLY).all():
            return (category, query), images[0], images[1]
        # nobody would call an image of something else more similar, but an error of perception may
        if (difference < -_CLEARLY).all() and not with_noise:
            return (category, query), images[1], images[0]
    return None


def relevance_table(recipe: PaintedTriplets) -> pd.DataFrame:
    """Return pairs of training images of one category (``image1``, ``image2``: paths there) and ``relevance``."""
    tables = []
    for category in range(recipe.categories):
        name, looks = recipe.name_of(category), recipe.all_looks("training", category)
        first, second = np.triu_indices(len(looks), k=1)
        relevance = relevance_of(looks[first], looks[second])
        pairs = [[f"{name}/{number + 1:04d}.jpg" for number in numbers] for numbers in (first, second)]
        table = pd.DataFrame({"image1": pairs[0], "image2": pairs[1], "relevance": relevance.round(6)})
        tables.append(table[relevance > _LEAST_RELEVANCE])
    return pd.concat(tables, ignore_index=True)
