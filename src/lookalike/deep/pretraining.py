"""Soft-max pre-training of the ConvNet path on labelled images (Deep Ranking, section 6.1); the row "ConvNet" too."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn
from torch.nn import functional

from lookalike.core.errors import LookalikeError
from lookalike.core.row_numbers import row_numbers
from lookalike.core.seeds import RandomState, as_seed
from lookalike.core.settings.networks import Pretraining
from lookalike.deep.checkpoints import checksum
from lookalike.deep.configuration import NetworkConfiguration
from lookalike.deep.images import ImageSource, batches
from lookalike.deep.loop import Curve, Machine, Task, Trained, outputs, train, training_seeds
from lookalike.deep.network import ClassificationNetwork, input_statistics
from lookalike.deep.streams import LabelStream

STATISTICS_IMAGES = 1000
"""Training images that the mean colour is taken of, at most; they lie evenly over all."""


def pretrain(
    configuration: NetworkConfiguration,
    source: ImageSource,
    labels: ArrayLike,
    settings: Pretraining | None = None,
    *,
    rows: ArrayLike | None = None,
    validation_rows: ArrayLike | None = None,
    random_state: RandomState = 0,
    **machine: Any,
) -> Trained:
    """Train the ConvNet path of a network to tell classes apart; ``fit["classes"]`` is in the order of its outputs.

    Parameters
    ----------
    configuration : NetworkConfiguration
    source : ImageSource
        Windows of ``configuration.input_size`` pixels.
    labels : array-like of shape (len(source),), int
        Class of every image of the source, -1 where it is unknown or of no use.
    settings : Pretraining, optional
    rows : array-like of int, optional
        Images to learn from; by default all that have a label and are not held out.
    validation_rows : array-like of int, optional
        Images that are held out to score the weights; by default none.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Of the initial weights, the order of images, the shifts and dropout.
    **machine
        Fields of `lookalike.deep.loop.Machine`.
    """
    settings = settings or Pretraining()
    learned, held_out = _rows(source, np.asarray(labels), rows, validation_rows)
    classes, codes = _class_codes(np.asarray(labels), learned)
    if len(held_out) and (codes[held_out] < 0).all():
        raise LookalikeError(
            f"none of the {len(held_out)} held-out images is of a class that pre-training learns: "
            "give more images of each class, or hold out another share"
        )
    seed = as_seed(random_state)
    initial, order, dropout = training_seeds(seed)
    network = ClassificationNetwork(configuration, len(classes), random_state=initial)
    some = learned[np.linspace(0, len(learned) - 1, min(len(learned), STATISTICS_IMAGES)).astype(np.int64)]
    network.set_input_statistics(*input_statistics(torch.cat(list(batches(source, some))).numpy()))

    where = Machine(**machine)
    target = torch.from_numpy(codes[held_out])

    def validate(network: nn.Module) -> tuple[float, float]:
        """Return cross-entropy and accuracy; an image of a class that is not learned counts as wrong in accuracy."""
        logits = outputs(network, source, held_out, 2 * settings.batch, where)
        known = target >= 0
        loss = float(functional.cross_entropy(logits[known], target[known])) if known.any() else 0.0
        return loss, float((logits.argmax(1) == target).double().mean())

    task = Task(
        network,
        source,
        LabelStream(source, codes, learned, settings.batch, order),
        _objective,
        validate if len(held_out) else None,
        Curve("accuracy", "validation_accuracy"),
        {"training": "pre-training", "network": repr(configuration), "held out": checksum([held_out, codes[held_out]])},
    )
    trained = train(task, settings, where, dropout)
    trained.fit.update(classes=classes.tolist(), n_images=len(learned), n_validation_images=len(held_out), seed=seed)
    return trained


def _rows(
    source: ImageSource, labels: np.ndarray, rows: ArrayLike | None, validation_rows: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those that are held out, checked."""
    if labels.shape != (len(source),) or labels.dtype.kind not in "iu":
        raise ValueError(f"labels must be one whole number for each of the {len(source)} images, not {labels.shape}")
    held_out = row_numbers([] if validation_rows is None else validation_rows, len(source), "validation_rows")
    if rows is None:
        rows = np.setdiff1d(np.flatnonzero(labels >= 0), held_out)
    learned = row_numbers(rows, len(source), "rows")
    if np.isin(learned, held_out).any():
        raise ValueError("some rows are both learned from and held out: leave validation_rows out of rows")
    if (labels[learned] < 0).any() or (labels[held_out] < 0).any():
        raise ValueError("some rows have no label (-1): leave them out of rows and validation_rows")
    return learned, held_out


def _class_codes(labels: np.ndarray, learned: NDArray[np.int64]) -> tuple[np.ndarray, NDArray[np.int64]]:
    """Return the classes that are learned, and their numbers by row; -1 for any other."""
    classes = np.unique(labels[learned])
    if len(classes) < 2:
        raise LookalikeError(
            f"pre-training tells classes apart, and the images to learn from are of {len(classes)}: "
            "give images of at least two, or hold out a smaller share"
        )
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return classes, np.where(classes[places] == labels, places, -1).astype(np.int64)


def _objective(logits: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean cross-entropy of the soft-max, and the share of images whose class comes out on top."""
    logits = logits.float()
    return functional.cross_entropy(logits, target), (logits.detach().argmax(1) == target).float().mean()
