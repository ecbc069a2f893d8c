"""Plans of the synthetic landmark images: where the camera stands, what is in the way, and the light.

Here is all the randomness but that of textures and sensor noise. A plan for a wanted place in the ground truth is drawn
until the geometry agrees that the image belongs there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.core.errors import LookalikeError
from lookalike.data.landmark_models import N_OTHERS, Building, landmark, other
from lookalike.data.landmark_views import (
    N_VARIANTS,
    NOTHING,
    OCCLUDERS,
    Camera,
    Occluder,
    Visibility,
    measure,
    placed,
)

DISTRACTOR = -1
"""Number that stands for no landmark."""
_MOST_TRIES = 400

# What difficulty does: the value at 0 and the value at 1, linear between.
DIFFICULTY: dict[str, tuple[float, float]] = {
    "own": (1.0, 0.2),  # share of a landmark's ornaments that no other building has
    "azimuth": (25.0, 72.0),  # most degrees from the front in a good image
    "roll": (1.0, 7.0),  # most degrees
    "occluders": (1.0, 9.0),  # at most
    "light": (0.05, 0.25),  # spread of the logarithm of exposure and gamma
    "cast": (0.02, 0.12),  # spread of the logarithm of each channel
    "shadow": (0.1, 0.6),  # depth of the shadow across the image
    "blur": (0.4, 1.9),  # most, in pixels of a 320 x 240 image
    "noise": (2.0, 7.0),  # most, in grey levels
    "farther": (0.0, 0.1),  # taken from the share of the image's width that a good image's landmark fills
}


@dataclass(frozen=True)
class Weather:
    """Light, lens and sensor of one image."""

    sun: float
    sky: int
    offset: tuple[float, float]
    exposure: float
    gamma: float
    cast: tuple[float, float, float]
    shadow: tuple[float, float, float]  # depth, direction in radians, where (share of the image)
    blur: float
    noise: float
    ground: int


@dataclass(frozen=True)
class Plan:
    """One image: the buildings in the order in which they are painted, what is before them, and the light."""

    camera: Camera
    buildings: tuple[Building, ...]
    occluders: tuple[Occluder, ...]
    weather: Weather
    visibility: Visibility
    relevance: str


def relevance_of(seen: Visibility) -> str:
    """Return the list of the ground truth that an image belongs to; "" where the landmark cannot be recognised at all.

    A clear view shows 60% or more of the landmark on a tenth of the image; from a quarter on it is ok, below it junk
    (Oxford Buildings: "more than 25% of the object is clearly visible").
    """
    if seen.share < 0.04 or seen.coverage < 0.005:
        return ""
    if seen.share < 0.25:
        return "junk"
    return "good" if seen.share >= 0.6 and seen.coverage >= 0.1 else "ok"


class Planner:
    """Draws the plan of one image from the image's own random stream."""

    def __init__(
        self, seed: int, difficulty: float, size: tuple[int, int], density: int, rng: np.random.Generator
    ) -> None:
        self.seed, self.size, self.density, self.rng = seed, size, density, rng
        self.knobs = {name: low + (high - low) * difficulty for name, (low, high) in DIFFICULTY.items()}

    def landmark(self, number: int, wanted: str) -> Plan:
        """Draw an image of a landmark that belongs to a list of the ground truth."""
        building = landmark(self.seed, number, self.density, self.knobs["own"])
        street = self._street(building, self.rng)
        for _ in range(_MOST_TRIES):
            camera = self._camera(building, wanted)
            occluders = self._occluders(camera)
            ordered = _far_to_near(street, camera)
            nearer = ordered[[one is building for one in ordered].index(True) + 1 :]
            seen = measure(building, camera, nearer, occluders)
            if relevance_of(seen) == wanted:
                return Plan(camera, ordered, occluders, self._weather(), seen, wanted)
        raise LookalikeError(
            f"synthetic landmarks: no {wanted} view of landmark {number} in {_MOST_TRIES} tries; choose another seed, "
            "or a width and height that are closer to each other"
        )

    def distractor(self) -> Plan:
        """Draw an image without a landmark: a street, one building, or trees."""
        first = self._other(int(self.rng.integers(N_OTHERS)))
        street = self._street(first, self.rng)
        kind = self.rng.random()
        camera = self._camera(first, "good" if kind < 0.6 else "far")
        occluders = self._occluders(camera, more=4 if kind > 0.85 else 0)
        return Plan(camera, _far_to_near(street, camera), occluders, self._weather(), NOTHING, "")

    def _other(self, number: int) -> Building:
        return other(self.seed, number, self.density, self.knobs["own"])

    def _between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def _street(self, middle: Building, rng: np.random.Generator) -> list[Building]:
        """Return a building with one more on its left and on its right, as `rng` has it."""
        street = [middle]
        for side, number in zip((-1, 1), rng.choice(N_OTHERS, size=2, replace=False), strict=True):
            neighbour = self._other(int(number))
            away = (middle.width + neighbour.width) / 2 + float(rng.uniform(1.0, 7.0))
            street.append(placed(neighbour, (side * away, float(rng.uniform(-6.0, 0.0)))))
        return street

    def _camera(self, building: Building, wanted: str) -> Camera:
        """Choose a camera that likely gives such an image; what it really gives is measured."""
        width, height = self.size
        focal = width * self._between(0.95, 1.35)
        most = self.knobs["azimuth"]
        fill, azimuth, shift = self._between(0.62, 1.05) - self.knobs["farther"], self._between(-most, most), 0.1
        if wanted == "far" or (wanted == "ok" and self.rng.random() < 0.4):
            fill, azimuth, shift = self._between(0.22, 0.42), self._between(-1.1 * most, 1.1 * most), 0.35
        elif wanted in ("ok", "junk"):
            fill, shift = self._between(0.8, 1.5), 0.75 if wanted == "junk" else 0.6
        turn = np.deg2rad(azimuth)
        # as large on the image as it is wide, but never so near that its top is out of sight
        across = max(building.width, building.height * width / height * 0.95)
        distance = focal * across / (fill * width)
        x, z = distance * np.sin(turn), distance * np.cos(turn)
        sideways = self._between(-shift, shift) * building.width
        target = (
            sideways * np.cos(turn),
            building.height * 0.46 * self._between(0.85, 1.1),
            -sideways * np.sin(turn),
        )
        roll = np.deg2rad(self.knobs["roll"]) * self._between(-1, 1)
        return Camera((float(x), self._between(1.6, 5.0), float(z)), target, float(roll), focal, self.size)

    def _occluders(self, camera: Camera, more: int = 0) -> tuple[Occluder, ...]:
        """Put trees, people, lamps and a bus before the buildings, the lower in the image the larger."""
        number = int(self._between(0, self.knobs["occluders"] + 1)) + more
        width, height = self.size
        horizon = float(np.mean(camera.horizon()))
        found = []
        for _ in range(number):
            kind = int(self.rng.choice(len(OCCLUDERS), p=(0.4, 0.35, 0.15, 0.1)))
            metres = (self._between(6, 10), self._between(1.6, 1.9), 5.0, 3.2)[kind]
            distance = self._between(8, 28)
            foot = horizon + camera.focal * camera.position[1] / distance
            tall = camera.focal * metres / distance
            if foot - tall < height:
                variant = int(self.rng.integers(N_VARIANTS))
                found.append(Occluder(kind, self._between(-0.05, 1.05) * width, foot, tall, variant))
        return tuple(sorted(found, key=lambda occluder: occluder.y))

    def _weather(self) -> Weather:
        knobs = self.knobs
        exposure, gamma = np.exp(knobs["light"] * np.clip(self.rng.standard_normal(2), -1.8, 1.8))
        red, green, blue = np.exp(knobs["cast"] * np.clip(self.rng.standard_normal(3), -2, 2))
        return Weather(
            sun=self._between(-1.4, 1.4),
            sky=int(self.rng.integers(4)),
            offset=(self._between(0, 1), self._between(0, 1)),
            exposure=float(min(exposure, 1.15)),
            gamma=float(gamma),
            cast=(float(red), float(green), float(blue)),
            shadow=(knobs["shadow"] * self._between(0, 1), self._between(0, 2 * np.pi), self._between(0.2, 0.8)),
            blur=self._between(0.0, knobs["blur"]),
            noise=self._between(1.0, knobs["noise"]),
            ground=int(self.rng.integers(4)),
        )


def _far_to_near(street: list[Building], camera: Camera) -> tuple[Building, ...]:
    """Order buildings that stand side by side so that painting them in turn is right."""
    return tuple(sorted(street, key=lambda building: -abs(_middle(building) - camera.position[0])))


def _middle(building: Building) -> float:
    return float(np.mean([plane.corners[:, 0].mean() for plane in building.planes]))
