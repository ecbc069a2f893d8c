"""Painting of the synthetic landmark images: from a plan to pixels, each plane through a homography of its own."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lookalike.data import materials
from lookalike.data.landmark_models import Plane, Points
from lookalike.data.landmark_plans import Plan, Weather
from lookalike.data.landmark_textures import wall_tile
from lookalike.data.landmark_views import Camera, Occluder, occluder_picture, quad
from lookalike.data.materials import ByteArray, FloatArray

_SKIES = (((92, 140, 206), (214, 228, 240)), ((150, 158, 168), (216, 218, 220)), ((110, 120, 150), (250, 214, 170)))
_GROUNDS = (("cobble", (96, 94, 92), (150, 146, 140)), ("fur", (66, 92, 40), (122, 146, 78)))
_GROUND_DENSITY = 16  # tile pixels per metre of ground
_OCCLUDER_SIDE = 128


def paint(seed: int, plan: Plan, rng: np.random.Generator) -> ByteArray:
    """Paint an image.

    Parameters
    ----------
    seed : int
        Seed of the data set.
    plan : Plan
        What there is to see.
    rng : numpy.random.Generator
        Of the sensor's noise.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3), RGB
    """
    canvas = _background(seed, plan.camera, plan.weather)
    for building in plan.buildings:
        for plane in building.planes:
            _paint_plane(canvas, plane, plan.camera, plan.weather.sun)
    for occluder in plan.occluders:
        _paint_occluder(canvas, seed, occluder)
    return _expose(canvas, plan.weather, rng)


def _background(seed: int, camera: Camera, weather: Weather) -> ByteArray:
    """Paint sky, and ground that recedes to the horizon."""
    width, height = camera.size
    left, right = camera.horizon()
    line = np.linspace(left, right, width, endpoint=False, dtype=np.float32)[None, :]
    y = np.arange(height, dtype=np.float32)[:, None]
    depth: FloatArray = np.clip(
        (y - line) / np.float32(0.3 * height), 0, 1
    )  # 0 at the horizon: the ground fades into haze
    clouds = _sky(seed, weather.sky % len(_SKIES), width, height)
    start = int(weather.offset[0] * width)
    canvas = _ground(seed, camera, weather, depth)
    above = y < line
    canvas[above] = clouds[:, start : start + width][above]
    return canvas


@lru_cache(maxsize=8)
def _sky(seed: int, kind: int, width: int, height: int) -> ByteArray:
    """Clouds before a sky, twice as wide as an image."""
    zenith, horizon = (np.asarray(colour, np.float32) for colour in _SKIES[kind])
    clouds = np.asarray(materials.cloud_texture(seed).resize((2 * width, height))).astype(np.float32)
    white = np.float32(0.55) * (clouds / np.float32(255))[:, :, None] ** 2
    down = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    sky: ByteArray = ((zenith + (horizon - zenith) * down) * (1 - white) + 245 * white).astype(np.uint8)
    return sky


def _ground(seed: int, camera: Camera, weather: Weather, depth: FloatArray) -> ByteArray:
    """Paint the plane y = 0 with an endless tile."""
    import cv2

    name, dark, light = _GROUNDS[weather.ground % len(_GROUNDS)]
    tile = wall_tile(seed, materials.FAMILIES.index(name), 1)
    axes = camera.axes()
    focal, (width, height) = camera.focal, camera.size
    intrinsic = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1.0]])
    # a point (x, 0, z) of the ground: the columns of x and z, and where the camera stands
    onto = intrinsic @ np.column_stack([axes[:, 0], axes[:, 2], -axes @ np.asarray(camera.position)])
    from_image = np.diag((_GROUND_DENSITY, _GROUND_DENSITY, 1.0)) @ np.linalg.inv(onto)
    seen = cv2.warpPerspective(
        tile, from_image, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_WRAP
    )
    tone = (127.5 + (seen - np.float32(127.5)) * depth).astype(np.uint8)
    low, high = (np.asarray(colour, np.float32) for colour in (dark, light))
    table = low + (high - low) * np.linspace(0, 1, 256, dtype=np.float32)[:, None]
    return np.asarray(cv2.LUT(cv2.merge([tone, tone, tone]), table.astype(np.uint8)[None]), np.uint8)


def _paint_plane(canvas: ByteArray, plane: Plane, camera: Camera, sun: float) -> None:
    """Warp a plane's texture to where the camera sees it, lit by the sun."""
    pixels = quad(plane, camera)
    if pixels is None:
        return
    across, down = plane.corners[1] - plane.corners[0], plane.corners[3] - plane.corners[0]
    direction = (np.sin(sun) * 0.8, 0.6, np.cos(sun) * 0.8)
    area = np.linalg.norm(across) * np.linalg.norm(down)
    slope = float(np.linalg.det(np.stack([down, across, direction])) / area)
    _warp_onto(canvas, plane.pictures, pixels, 0.66 + 0.46 * max(0.0, slope))


def _warp_onto(canvas: ByteArray, pictures: tuple[ByteArray, ...], pixels: Points, light: float) -> None:
    """Blend a picture into the quadrilateral `pixels` of the canvas, from the level that is nearest in scale."""
    import cv2

    height, width = canvas.shape[:2]
    left, top = np.clip(np.floor(pixels.min(axis=0)), 0, (width, height)).astype(int)
    right, bottom = np.clip(np.ceil(pixels.max(axis=0)) + 1, 0, (width, height)).astype(int)
    if right - left < 2 or bottom - top < 2:
        return
    sides = np.linalg.norm(np.roll(pixels, -1, axis=0) - pixels, axis=1)
    shrink = min(
        pictures[0].shape[1] / max(1.0, float(max(sides[0], sides[2]))),
        pictures[0].shape[0] / max(1.0, float(max(sides[1], sides[3]))),
    )
    level = int(np.clip(np.floor(np.log2(max(shrink, 1.0)) + 0.4), 0, len(pictures) - 1))
    picture = pictures[level]
    h, w = picture.shape[:2]
    source = np.array([(0, 0), (w, 0), (w, h), (0, h)], np.float32)
    onto = cv2.getPerspectiveTransform(source, (pixels - (left, top)).astype(np.float32))
    seen = cv2.warpPerspective(picture, onto, (int(right - left), int(bottom - top)), flags=cv2.INTER_LINEAR)
    part = canvas[top:bottom, left:right]
    keep = 255 - seen[:, :, 3]
    kept = cv2.multiply(part, cv2.merge([keep, keep, keep]), scale=1 / 255)
    part[:] = cv2.scaleAdd(seen[:, :, :3].astype(np.float32), light, kept.astype(np.float32)).clip(0, 255)


def _paint_occluder(canvas: ByteArray, seed: int, occluder: Occluder) -> None:
    """Put an occluder where it stands."""
    import cv2

    picture = occluder_picture(seed, occluder.kind, occluder.variant, _OCCLUDER_SIDE)
    pictures = [picture]
    for _ in range(2):
        h, w = pictures[-1].shape[:2]
        smaller = cv2.resize(pictures[-1], (max(2, w // 2), h // 2), interpolation=cv2.INTER_AREA)
        pictures.append(np.asarray(smaller, np.uint8))
    width = occluder.height * picture.shape[1] / picture.shape[0]
    x, y = occluder.x - width / 2, occluder.y - occluder.height
    corners = np.array([(x, y), (x + width, y), (x + width, occluder.y), (x, occluder.y)])
    _warp_onto(canvas, tuple(pictures), corners, 1.0)


def _expose(canvas: ByteArray, weather: Weather, rng: np.random.Generator) -> ByteArray:
    """Cast the shadow, apply exposure, gamma and colour cast, then the lens's blur and the sensor's noise."""
    import cv2

    height, width = canvas.shape[:2]
    depth, direction, where = weather.shadow
    x = np.linspace(-0.5, 0.5, width, dtype=np.float32)[None, :]
    y = np.linspace(-0.5, 0.5, height, dtype=np.float32)[:, None]
    along = np.cos(direction) * x + np.sin(direction) * y + np.float32(0.5 - where)
    shade = 1 - np.float32(depth) * np.clip(along * 3 + 0.5, 0, 1)
    levels = np.arange(256, dtype=np.float32) / 255
    curve = 255 * levels**weather.gamma * weather.exposure
    table = np.stack([np.clip(curve * factor, 0, 255) for factor in weather.cast], axis=1).astype(np.uint8)
    lit = np.asarray(cv2.LUT(canvas, table[None]), np.float32)
    lit *= shade[:, :, None]
    sigma = weather.blur * width / 320
    if sigma > 0.2:
        lit = np.asarray(cv2.GaussianBlur(lit, (0, 0), sigma), np.float32)
    noise = np.float32(weather.noise) * rng.standard_normal((height, width), np.float32)
    lit += noise[:, :, None]
    lit += np.float32(0.5)
    return np.clip(lit, 0, 255, out=lit).astype(np.uint8)
