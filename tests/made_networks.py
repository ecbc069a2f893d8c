"""Tiny images, relevance and networks for the tests of the trainings."""

import numpy as np

from lookalike.data.relevance import RelevanceData
from lookalike.deep.configuration import ConvolutionLayer, LowResolutionPath, NetworkConfiguration
from lookalike.deep.images import ArrayImages

SIZE, SHIFT = 16, 2
N_CLASSES, PER_CLASS = 3, 12
N = N_CLASSES * PER_CLASS
LABELS = np.arange(N) % N_CLASSES
SHADES = np.random.default_rng(1).random(N)
"""Where every image is between red and blue."""


def tiny(**changes):
    """Return a network for 16 x 16 pixels whose steps take a millisecond, with dropout."""
    settings = {
        "name": "tiny",
        "input_size": SIZE,
        "convolutions": (ConvolutionLayer(6, 5, padding=2, normalised=True, pool=2, pool_stride=2),),
        "fully_connected": (24, 12),
        "low_resolution": (LowResolutionPath(2, channels=3, kernel=3, stride=2, pool=2, pool_stride=2),),
        "embedding_width": 8,
    }
    return NetworkConfiguration(**(settings | changes))


def pixels():
    """Return images (36, 20, 20, 3): the class is the direction of stripes, the instance their colour."""
    random = np.random.default_rng(0)
    side = SIZE + 2 * SHIFT
    y, x = np.mgrid[:side, :side]
    waves = [np.sin(1.1 * x), np.sin(1.1 * y), np.sin(0.8 * (x + y))]
    images = np.empty((N, side, side, 3))
    for row, shade in enumerate(SHADES):
        colour = np.array([1 - shade, 0.5, shade])
        stripes = 127 + 90 * waves[row % N_CLASSES][:, :, None] * colour
        images[row] = stripes + 40 * colour + random.normal(0, 12, (side, side, 3))
    return np.clip(images, 0, 255).astype(np.uint8)


def source():
    return ArrayImages(pixels(), SIZE)


def relevance(first=0):
    """Return the relevance of all images: how near in shade, within a class; image ids start at `first`."""
    near = np.exp(-4 * np.abs(SHADES[:, None] - SHADES))
    np.fill_diagonal(near, 0)
    blocks = {str(label): near[label::N_CLASSES, label::N_CLASSES] for label in range(N_CLASSES)}
    return RelevanceData.from_blocks(np.arange(first, first + N), LABELS.astype(str), blocks)


def weights(trained):
    return {name: tensor.numpy() for name, tensor in trained.network.state_dict().items()}
