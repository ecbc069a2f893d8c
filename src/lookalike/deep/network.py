"""The networks of Deep Ranking: a ConvNet path, two shallow low-resolution paths, and what joins them to one embedding.

Figure 3 of the paper is a drawing without text; the layout here follows its printed sizes: an image of 225 x 225 goes
through a network like Krizhevsky et al.'s (2012) to 4,096 activations, and, with every 4th and every 8th pixel only,
through one convolution and one max-pooling each to 4 x 4 x 96 values. Both parts get length 1 and a linear embedding
joins them. With the two groups of Krizhevsky et al.'s convolutions this makes 86.3 million parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lookalike.deep.configuration import NetworkConfiguration, ceiling

SHORTEST = 1e-6
"""A vector shorter than this is divided by it, and not by its length."""
LOW_RESOLUTION_SHARE = 0.1
"""Deviation of the initial weights of low-resolution paths, of that which He et al. give."""
_SHAPES_ALONE = torch.device("meta")
"""Where layers get shapes alone: to draw their values, which takes room, would advance torch's global generator."""
# n, k, alpha and beta of local response normalisation (Krizhevsky et al. 2012, section 3.3)
_CHANNELS = 5
_CONSTANT = 2.0
_STRENGTH = 1e-4
_EXPONENT = 0.75


def input_statistics(images: NDArray[np.uint8]) -> tuple[NDArray[np.float32], float]:
    """Return the mean colour of images (n, height, width, 3), and one deviation around it, at least 1, of all three."""
    # exact: sums of whole numbers, over the 256 values that there are
    counts = np.stack([np.bincount(images[..., channel].ravel(), minlength=256) for channel in range(3)])
    values = np.arange(256)
    n = counts.sum(axis=1)
    mean = (counts @ values) / n
    variance = (counts * (values - mean[:, None]) ** 2).sum(axis=1) / n
    return mean.astype(np.float32), max(1.0, float(np.sqrt(variance.mean())))


def local_response_normalisation(maps: Tensor) -> Tensor:
    """Divide values by (2 + 1e-4 * sum of squares of 5 neighbouring channels) ** 0.75; half precision gives float32."""
    # ten times as fast on a processor as torch's
    # 1e-4 multiplies the sum, as printed there, not the mean as in torch; squares can leave the range of half precision
    operation: Callable[[Tensor], Tensor] = _LocalResponseNormalisation.apply
    with torch.autocast(maps.device.type, enabled=False):
        return operation(maps.to(torch.promote_types(maps.dtype, torch.float32)))


class _LocalResponseNormalisation(torch.autograd.Function):
    """The sum over neighbouring channels is a 1 x 1 convolution with a band matrix, forward and backward."""

    @staticmethod
    def forward(context: Any, maps: Tensor) -> Tensor:
        channel = torch.arange(maps.shape[1], device=maps.device)
        near = (channel[:, None] - channel[None]).abs() <= _CHANNELS // 2
        band = (_STRENGTH * near.to(maps.dtype))[:, :, None, None]
        strength = functional.conv2d(maps.square(), band, maps.new_full((maps.shape[1],), _CONSTANT))
        # strength ** -0.75 without the power function
        scale = strength.sqrt().mul_(strength).rsqrt_()
        context.save_for_backward(maps, strength, scale, band)
        return maps * scale

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        maps, strength, scale, band = context.saved_tensors
        (gradient,) = gradients
        scaled = gradient * scale
        # the band is symmetric
        through_strength = functional.conv2d((scaled * maps).div_(strength), band)
        return torch.addcmul(scaled, maps, through_strength, value=-2 * _EXPONENT)


class ConvNetPath(nn.Module):
    """The part that both networks begin with: the pixels' values around 0 and the ConvNet path."""

    def __init__(self, configuration: NetworkConfiguration) -> None:
        super().__init__()
        self.configuration = configuration
        self.input = _Input(configuration.input_size)
        with _SHAPES_ALONE:
            self.convnet = _ConvNet(configuration)

    def features(self, images: Tensor) -> Tensor:
        """Return the last activations of the ConvNet path, of shape (n, fully_connected[-1]), not normalised."""
        activations: Tensor = self.convnet(self.input(images))
        return activations

    def set_input_statistics(self, mean: Sequence[float] | NDArray[np.float32], deviation: float) -> None:
        """Set what `input_statistics` gave for the training images; part of the saved network."""
        self.input.mean.copy_(torch.as_tensor(np.asarray(mean, dtype=np.float32)))
        self.input.deviation.fill_(deviation)


class DeepRankingNetwork(ConvNetPath):
    """The embedding f of the paper (section 4): images to unit vectors whose Euclidean distance ranks.

    Multiscale, the ConvNet path's activations get length 1, the values of the low-resolution paths, joined, get
    length 1, and one linear layer makes the embedding of both, which gets length 1 again. Single-scale, the embedding
    is the ConvNet path's activations at length 1: section 6.5 says that this network and the one for classification
    have the same architecture, and that the layer before the soft-max or ranking layer is measured.

    Images are uint8 RGB tensors of shape (n, side, side, 3); the network takes off the training images' mean colour
    itself. Dropout draws from torch's global generator, and follows every fully connected layer whose activations
    another layer takes in, so not the single-scale embedding itself. `random_state` fixes the initial weights; None
    gives shapes alone, for the weights of a file.
    """

    def __init__(self, configuration: NetworkConfiguration, random_state: int | None = 0) -> None:
        super().__init__(configuration)
        self.low_resolution: _LowResolution | None = None
        self.linear: nn.Linear | None = None
        if configuration.multiscale:
            joined = configuration.fully_connected[-1] + configuration.low_resolution_width
            with _SHAPES_ALONE:
                self.low_resolution = _LowResolution(configuration)
                self.linear = nn.Linear(joined, configuration.embedding_width)
        _initialise(self, random_state)

    def forward(self, images: Tensor) -> Tensor:
        """Return vectors of length 1, (n, width) in float32, of uint8 images of shape (n, side, side, 3)."""
        pixels = self.input(images)
        activations = self.convnet(pixels)
        if self.low_resolution is None or self.linear is None:
            return at_length_one(activations)
        activations = self.convnet.drop(activations)
        parts = [at_length_one(activations), at_length_one(self.low_resolution(pixels))]
        return at_length_one(self.linear(torch.cat(parts, dim=1)))

    def take_pretrained(self, classification: ClassificationNetwork) -> None:
        """Copy the ConvNet path and the input statistics of a network trained for classification (section 6.1)."""
        ours, theirs = self.configuration, classification.configuration
        shapes = ("input_size", "convolutions", "fully_connected")
        if any(getattr(ours, name) != getattr(theirs, name) for name in shapes):
            raise ValueError(
                f"the pre-trained network ({theirs.name}) has another ConvNet path than this one ({ours.name}): "
                "pre-train one of the same configuration"
            )
        self.input.load_state_dict(classification.input.state_dict())
        self.convnet.load_state_dict(classification.convnet.state_dict())


class ClassificationNetwork(ConvNetPath):
    """The ConvNet path under a soft-max layer, by which it is pre-trained; also the row "ConvNet" of Table 2."""

    def __init__(self, configuration: NetworkConfiguration, n_classes: int, random_state: int | None = 0) -> None:
        super().__init__(configuration)
        self.n_classes = n_classes
        with _SHAPES_ALONE:
            self.classes = nn.Linear(configuration.fully_connected[-1], n_classes)
        _initialise(self, random_state)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits of shape (n, n_classes) for uint8 images of shape (n, side, side, 3)."""
        logits: Tensor = self.classes(self.convnet.drop(self.features(images)))
        return logits


Network = DeepRankingNetwork | ClassificationNetwork


class _Input(nn.Module):
    """Pixels to values around 0: minus the training images' mean colour, over their standard deviation."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side = side
        self.register_buffer("mean", torch.full((3,), 127.5))
        self.register_buffer("deviation", torch.tensor(64.0))

    def forward(self, images: Tensor) -> Tensor:
        if images.ndim != 4 or images.shape[1:] != (self.side, self.side, 3):
            raise ValueError(
                f"this network takes images of shape (n, {self.side}, {self.side}, 3), not {tuple(images.shape)}: "
                "resize them first"
            )
        # subtracted from whole rows of pixels: torch is slow along an axis of 3
        values = images.flatten(2).to(self.mean.dtype) - self.mean.repeat(self.side)
        # (n, 3, side, side) in the memory order of (n, side, side, 3): what torch calls channels last
        return values.div_(self.deviation).view(images.shape).permute(0, 3, 1, 2)


class _ConvNet(nn.Module):
    """Convolutions and fully connected layers to the last activations, after their ReLU."""

    def __init__(self, configuration: NetworkConfiguration) -> None:
        super().__init__()
        self.layers = configuration.convolutions
        channels = [3, *(layer.channels for layer in self.layers)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(width, layer.channels, layer.kernel, layer.stride, layer.padding, groups=layer.groups)
            for width, layer in zip(channels, self.layers, strict=False)
        )
        widths = [channels[-1] * configuration.map_side**2, *configuration.fully_connected]
        self.fully_connected = nn.ModuleList(itertools.starmap(nn.Linear, itertools.pairwise(widths)))
        # torch is told the share to drop, the paper prints the share to keep
        self.drop = nn.Dropout(1 - configuration.keep_probability)

    def forward(self, pixels: Tensor) -> Tensor:
        maps = pixels
        for layer, convolution in zip(self.layers, self.convolutions, strict=True):
            maps = functional.relu(convolution(maps))
            if layer.normalised:
                maps = local_response_normalisation(maps)
            if layer.pool:
                maps = functional.max_pool2d(maps, layer.pool, layer.pool_stride)
        activations = maps.flatten(1)
        for number, fully_connected in enumerate(self.fully_connected):
            if number:
                activations = self.drop(activations)
            activations = functional.relu(fully_connected(activations))
        return activations


class _LowResolution(nn.Module):
    """All low-resolution paths, their values side by side."""

    def __init__(self, configuration: NetworkConfiguration) -> None:
        super().__init__()
        self.paths = configuration.low_resolution
        layers = (nn.Conv2d(3, path.channels, path.kernel, path.stride) for path in self.paths)
        self.convolutions = nn.ModuleList(layers)

    def forward(self, pixels: Tensor) -> Tensor:
        values = []
        for path, convolution in zip(self.paths, self.convolutions, strict=True):
            # subsampling, of pixels: a convolution with this stride would look at all of them
            few = pixels[:, :, :: path.every, :: path.every]
            maps = functional.relu(convolution(_pad_same(few, path.kernel, path.stride)))
            # after ReLU a border of zeros never wins against a value
            maps = functional.max_pool2d(_pad_same(maps, path.pool, path.pool_stride), path.pool, path.pool_stride)
            values.append(maps.flatten(1))
        return torch.cat(values, dim=1)


def at_length_one(vectors: Tensor) -> Tensor:
    """Return rows at Euclidean length 1, in float32 at least; a row of zeros stays one."""
    vectors = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
    return functional.normalize(vectors, dim=1, eps=SHORTEST)


def _pad_same(maps: Tensor, kernel: int, stride: int) -> Tensor:
    """Put zeros around maps for ceil(side / stride) positions, the odd one below and right (padding SAME)."""
    height, width = (max(0, (ceiling(n, stride) - 1) * stride + kernel - n) for n in maps.shape[2:])
    return functional.pad(maps, (width // 2, width - width // 2, height // 2, height - height // 2))


def _initialise(network: nn.Module, random_state: int | None) -> None:
    """Draw weights for layers before a ReLU as He et al. (2015) do, others with variance 1 / inputs; biases are 0.

    Low-resolution paths start at a tenth of that, in the paper's size Krizhevsky et al.'s (2012) deviation of 0.01.
    Their values get length 1, so this changes no embedding at the start. But the gradient is ten times as large for
    weights a tenth as large: at He's, filters keep their random start for as long as the small network is trained.
    """
    if random_state is None:
        return
    generator = torch.Generator().manual_seed(random_state)
    for name, module in network.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            # Krizhevsky et al.'s fixed deviation of 0.01 is made for pixels of 0 to 255 and weeks of training
            gain = 1.0 if name in ("linear", "classes") else 2.0
            share = LOW_RESOLUTION_SHARE if name.startswith("low_resolution.") else 1.0
            deviation = share * (gain / module.weight[0].numel()) ** 0.5
            module.to_empty(device="cpu")
            with torch.no_grad():
                module.weight.normal_(0, deviation, generator=generator)
                if module.bias is not None:
                    module.bias.zero_()
