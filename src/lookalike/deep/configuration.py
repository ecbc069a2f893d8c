"""What a Deep Ranking network is made of: the sizes of its paths, the paper's and a small one's, as plain data."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

Size = Annotated[int, Field(ge=1, le=2**16)]
Side = Annotated[int, Field(ge=1, le=1024)]
NoneOrSide = Annotated[int, Field(ge=0, le=1024)]

LARGEST_SHIFT = 64  # pixels, as in config.yaml
MOST_VALUES = 2**21  # that a convolution may give of an image; the paper's first gives 290,400

KNOWN_ALONE = ConfigDict(extra="forbid")
"""Of the classes here, which are made of what JSON kept of them too: a field of another version is refused."""


def ceiling(value: int, divisor: int) -> int:
    """Return the quotient of two whole numbers, rounded up."""
    return -(-value // divisor)


def _map_side(channels: int, side: int) -> int:
    """Return the side of so many maps, unless they vanish or would fill the memory."""
    if side < 1 or channels * side**2 > MOST_VALUES:
        raise ValueError(f"{channels:,} maps of side {side} cannot be")
    return side


@dataclass(frozen=True, config=KNOWN_ALONE)
class ConvolutionLayer:
    """One convolution of the ConvNet path with what follows it: ReLU, local response normalisation, max-pooling."""

    channels: Size
    """Feature maps that come out."""
    kernel: Side
    """Side of the filters, in pixels."""
    stride: Side = 1
    padding: NoneOrSide = 0
    groups: Size = 1
    normalised: bool = False
    """Whether local response normalisation follows."""
    pool: NoneOrSide = 0
    """Side of the max-pooling that follows; 0 for none."""
    pool_stride: NoneOrSide = 0

    def side(self, side: int) -> int:
        """Return the side of the map that comes out for an input of this side."""
        side = _map_side(self.channels, (side + 2 * self.padding - self.kernel) // self.stride + 1)
        return _map_side(self.channels, (side - self.pool) // self.pool_stride + 1) if self.pool else side


@dataclass(frozen=True, config=KNOWN_ALONE)
class LowResolutionPath:
    """A shallow path: every `every`-th pixel, one convolution with ReLU, one max-pooling, both with SAME padding."""

    every: Side
    channels: Size = 96
    kernel: Side = 8
    stride: Side = 4
    pool: Side = 3
    pool_stride: Side = 4

    def side(self, side: int) -> int:
        """Return the side of the map that comes out for an image of this side."""
        return ceiling(_map_side(self.channels, ceiling(ceiling(side, self.every), self.stride)), self.pool_stride)


@dataclass(frozen=True, config=KNOWN_ALONE)
class NetworkConfiguration:
    """Everything that fixes the shapes of a network; equal configurations have interchangeable weights."""

    name: str
    input_size: Side
    """Side of the square input, in pixels."""
    convolutions: Annotated[tuple[ConvolutionLayer, ...], Field(min_length=1, max_length=64)]
    """The ConvNet path."""
    fully_connected: Annotated[tuple[Size, ...], Field(min_length=1, max_length=64)]
    """Widths of the fully connected layers after it."""
    low_resolution: Annotated[tuple[LowResolutionPath, ...], Field(max_length=64)]
    """The other paths; unused where `multiscale` is false."""
    embedding_width: Size
    """Width of the linear embedding that joins the paths; unused where `multiscale` is false."""
    keep_probability: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Share of the fully connected activations that dropout KEEPS (section 5 of the paper), not the share it drops."""
    multiscale: bool = True
    """False for the single-scale network of section 6.5: the ConvNet path alone."""

    def __post_init__(self) -> None:
        """Refuse sizes of which `_map_side` refuses a map, and a multiscale network of one path."""
        if self.multiscale and not self.low_resolution:
            raise ValueError("a multiscale network needs a low-resolution path: give one, or multiscale=False")
        max(self.map_side, self.low_resolution_width)

    @property
    def map_side(self) -> int:
        """Side of the last feature maps of the ConvNet path."""
        side = self.input_size
        for layer in self.convolutions:
            side = layer.side(side)
        return side

    @property
    def low_resolution_width(self) -> int:
        """Values of all low-resolution paths together."""
        return sum(path.channels * path.side(self.input_size) ** 2 for path in self.low_resolution)

    @property
    def width(self) -> int:
        """Dimensions of the embedding that the ranking network gives."""
        return self.embedding_width if self.multiscale else self.fully_connected[-1]


PAPER = NetworkConfiguration(
    name="paper",
    input_size=225,
    convolutions=(
        ConvolutionLayer(96, 11, stride=4, padding=2, normalised=True, pool=3, pool_stride=2),
        ConvolutionLayer(256, 5, padding=2, groups=2, normalised=True, pool=3, pool_stride=2),
        ConvolutionLayer(384, 3, padding=1),
        ConvolutionLayer(384, 3, padding=1, groups=2),
        ConvolutionLayer(256, 3, padding=1, groups=2, pool=3, pool_stride=2),
    ),
    fully_connected=(4096, 4096),
    low_resolution=(LowResolutionPath(4), LowResolutionPath(8, pool=7, pool_stride=2)),
    embedding_width=4096,
)
"""The paper's network: 225 x 225 pixels, 86.3 million parameters, 4,096 dimensions.

The ConvNet path is that of Krizhevsky et al. (2012), their two groups included; padding 2 before the first layer makes
55 x 55 of 225 x 225, as they have it.
"""

SMALL = NetworkConfiguration(
    name="small",
    input_size=64,
    convolutions=(
        ConvolutionLayer(16, 7, stride=4, padding=3, pool=3, pool_stride=2),
        ConvolutionLayer(32, 3, padding=1, pool=3, pool_stride=2),
        ConvolutionLayer(48, 3, padding=1),
    ),
    fully_connected=(128, 64),
    low_resolution=(
        LowResolutionPath(4, channels=16, kernel=4, stride=2, pool=3, pool_stride=2),
        LowResolutionPath(8, channels=16, kernel=4, stride=2, pool=3, pool_stride=1),
    ),
    embedding_width=64,
)
"""A network of the same kind for 64 x 64 pixels, which one core trains at 2,000 images a second.

The steps of the low-resolution paths and their 4 x 4 maps are the paper's, their filters smaller. It has no local
response normalisation: at its activations that divides all values by 1.68 to 1.70, and takes a quarter of the time.
"""
