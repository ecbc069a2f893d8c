"""What a trained network gives: vectors of images, and its first filters for Figure 5."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork

Images = NDArray[np.uint8] | Tensor


def embed(
    network: DeepRankingNetwork | ClassificationNetwork,
    images: Images | Iterable[Images],
    batch_size: int = 128,
    device: str | torch.device | None = None,
) -> NDArray[np.float32]:
    """Return the vectors whose Euclidean distance a network ranks images by.

    Parameters
    ----------
    network : DeepRankingNetwork or ClassificationNetwork
        A ranking network gives its embedding. One for classification gives the activations before its soft-max layer,
        as section 6.5 of the paper measures them.
    images : numpy.ndarray or torch.Tensor of shape (n, side, side, 3), uint8, or an iterable of such
        RGB images; one array is taken `batch_size` at a time, an iterable batch by batch as it comes.
    batch_size : int, default=128
        Images at a time. The last bits of the result can depend on it.
    device : str or torch.device, optional
        Where to compute; the network is moved there and stays. By default where it is.

    Returns
    -------
    numpy.ndarray of shape (n, d), float32
        One row an image. Without dropout; the network's training mode is put back afterwards.

    Raises
    ------
    ValueError
        When the images are not uint8 or not of the network's size, or `batch_size` is below 1.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")
    if device is not None:
        network.to(device)
    where = next(network.parameters()).device
    was_training = network.training
    network.eval()
    vectors = [np.empty((0, _width(network)), dtype=np.float32)]
    try:
        with torch.inference_mode():
            for batch in _batches(images, batch_size):
                on_device = _checked(batch).to(where)
                rows = network(on_device) if isinstance(network, DeepRankingNetwork) else network.features(on_device)
                vectors.append(rows.float().cpu().numpy())
    finally:
        network.train(was_training)
    return np.concatenate(vectors)


def first_layer_filters(network: DeepRankingNetwork | ClassificationNetwork) -> dict[str, NDArray[np.float32]]:
    """Return the filters of every path's first convolution, as Figure 5 of the paper shows them.

    Parameters
    ----------
    network : DeepRankingNetwork or ClassificationNetwork
        The network.

    Returns
    -------
    dict of str to numpy.ndarray of shape (channels, height, width, 3), float32
        The weights of red, green and blue, neither scaled nor shifted: "convnet", and of a multiscale ranking network
        one "every-<n>th-pixel" for each low-resolution path.
    """
    filters = {"convnet": _as_pictures(network.convnet.convolutions[0])}
    if isinstance(network, DeepRankingNetwork) and network.low_resolution is not None:
        for path, convolution in zip(network.low_resolution.paths, network.low_resolution.convolutions, strict=True):
            filters[f"every-{path.every}th-pixel"] = _as_pictures(convolution)
    return filters


def _as_pictures(convolution: torch.nn.Module) -> NDArray[np.float32]:
    weight = convolution.get_parameter("weight").detach().float().cpu()
    return np.ascontiguousarray(weight.permute(0, 2, 3, 1).numpy())


def _width(network: DeepRankingNetwork | ClassificationNetwork) -> int:
    configuration = network.configuration
    return configuration.width if isinstance(network, DeepRankingNetwork) else configuration.fully_connected[-1]


def _batches(images: Images | Iterable[Images], batch_size: int) -> Iterator[Images]:
    if isinstance(images, (np.ndarray, Tensor)):
        for start in range(0, len(images), batch_size):
            yield images[start : start + batch_size]
    else:
        yield from images


def _checked(batch: Images) -> Tensor:
    if isinstance(batch, np.ndarray):
        if batch.dtype == np.uint8:
            # memory maps are read-only, which torch would warn of
            return torch.from_numpy(np.array(batch, order="C"))
    elif batch.dtype == torch.uint8:
        return batch
    raise ValueError(f"images must be uint8, 0 to 255, not {batch.dtype}: the network takes off their mean itself")
