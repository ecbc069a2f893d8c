"""Vectors of images by a trained network, and its first filters for Figure 5."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lookalike.deep.network import DeepRankingNetwork, Network

Images = NDArray[np.uint8] | Tensor


def embed(network: Network, images: Iterable[Images]) -> NDArray[np.float32]:
    """Return the vectors whose Euclidean distance a network ranks images by, float32 of shape (n, d).

    Parameters
    ----------
    network : DeepRankingNetwork or ClassificationNetwork
        A ranking network gives its embedding. One for classification gives the activations before its soft-max layer,
        as section 6.5 of the paper measures them. It computes without dropout, where it is.
    images : iterable of numpy.ndarray or torch.Tensor of shape (n, side, side, 3), uint8
        Batches of RGB images, on whose sizes the last bits of the result can depend.
    """
    if isinstance(network, DeepRankingNetwork):
        describe, width = network.__call__, network.configuration.width
    else:
        describe, width = network.features, network.configuration.fully_connected[-1]
    vectors = [np.empty((0, width), dtype=np.float32)]
    device, was_training = next(network.parameters()).device, network.training
    network.eval()
    try:
        with torch.inference_mode():
            vectors += [describe(_checked(batch).to(device)).float().cpu().numpy() for batch in images]
    finally:
        network.train(was_training)
    return np.concatenate(vectors)


def first_layer_filters(network: Network) -> dict[str, NDArray[np.float32]]:
    """Return the first filters of every path (Figure 5), (channels, height, width, 3), neither scaled nor shifted."""
    first = {"convnet": network.convnet.convolutions[0]}
    if isinstance(network, DeepRankingNetwork) and network.low_resolution is not None:
        paths = network.low_resolution
        names = (f"every-{path.every}th-pixel" for path in paths.paths)
        first |= dict(zip(names, paths.convolutions, strict=True))
    weights = {path: convolution.get_parameter("weight").detach().float().cpu() for path, convolution in first.items()}
    return {path: np.ascontiguousarray(weight.permute(0, 2, 3, 1).numpy()) for path, weight in weights.items()}


def _checked(batch: Images) -> Tensor:
    """Return a batch as a tensor, if it is of uint8."""
    if isinstance(batch, np.ndarray):
        if batch.dtype == np.uint8:
            # memory maps are read-only, which torch would warn of
            return torch.from_numpy(np.array(batch, order="C"))
    elif batch.dtype == torch.uint8:
        return batch
    raise ValueError(f"images must be uint8, 0 to 255, not {batch.dtype}: the network takes off their mean itself")
