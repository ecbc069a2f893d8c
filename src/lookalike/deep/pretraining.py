"""Soft-max pre-training of the ConvNet path on labelled images (Deep Ranking, section 6.1); the row "ConvNet" too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn
from torch.nn import functional

from lookalike.core.seeds import RandomState, as_seed
from lookalike.deep import devices
from lookalike.deep.checkpoints import checksum
from lookalike.deep.curves import Curve
from lookalike.deep.images import ImageSource, batches
from lookalike.deep.loop import Machine, Task, Trained, train
from lookalike.deep.network import ClassificationNetwork, NetworkConfiguration, input_statistics
from lookalike.deep.settings import PretrainingSettings
from lookalike.deep.streams import LabelStream

STATISTICS_IMAGES = 1000
"""Training images that the mean colour is taken of, at most."""


def pretrain(
    configuration: NetworkConfiguration,
    source: ImageSource,
    labels: ArrayLike,
    settings: PretrainingSettings | None = None,
    *,
    rows: ArrayLike | None = None,
    validation_rows: ArrayLike | None = None,
    random_state: RandomState = 0,
    device: str | torch.device = "auto",
    n_threads: int = 1,
    n_workers: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
    report: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trained:
    """Train the ConvNet path of a network to tell classes apart.

    Parameters
    ----------
    configuration : NetworkConfiguration
    source : ImageSource
        Windows of ``configuration.input_size`` pixels.
    labels : array-like of shape (len(source),), int
        Class of every image of the source, -1 where it is unknown or of no use.
    settings : PretrainingSettings, optional
    rows : array-like of int, optional
        Images to learn from; by default all that have a label and are not held out.
    validation_rows : array-like of int, optional
        Images that are held out to score the weights; by default none.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Of the initial weights, the order of images, the shifts and dropout.
    device, n_threads, n_workers, checkpoint, checkpoint_seconds, report, progress
        As in `lookalike.deep.loop.Machine`. A run that is killed, at any moment, and started again with the same
        arguments goes on from its checkpoint; on a processor with the same number of threads to the same bits. The
        checkpoint of a run with others is ignored, which `report` is told. The caller removes the file once it has
        written the result.

    Returns
    -------
    Trained
        With a `ClassificationNetwork`, whose ConvNet path ``DeepRankingNetwork.take_pretrained`` takes; ``fit`` has the
        classes in the order of its outputs.

    Raises
    ------
    LookalikeError
        When an image or the checkpoint cannot be read, the disk is full, or the loss is no longer finite.
    ValueError
        When there are fewer than two classes, rows without a label, or rows that are both learned from and held out.
    """
    settings = settings or PretrainingSettings()
    learned, held_out = _rows(source, np.asarray(labels), rows, validation_rows)
    classes, codes = _class_codes(np.asarray(labels), learned)
    seed = as_seed(random_state)
    initial, own, dropout = process_seeds(seed)
    network = ClassificationNetwork(configuration, len(classes), random_state=initial)
    network.set_input_statistics(*training_statistics(source, learned))

    chosen = devices.choose_device(device)
    task = Task(
        network,
        source,
        LabelStream(source, codes, learned, settings.batch, own),
        _objective,
        _Validation(source, codes, held_out, settings.batch, chosen, n_workers) if len(held_out) else None,
        Curve("accuracy", "validation_accuracy"),
        {"training": "pre-training", "network": repr(configuration), "held out": checksum([held_out, codes[held_out]])},
    )
    file = Path(checkpoint) if checkpoint is not None else None
    machine = Machine(chosen, n_threads, n_workers, file, checkpoint_seconds, report, progress)
    trained = train(task, settings, machine, dropout)
    trained.fit.update(classes=classes.tolist(), n_images=len(learned), n_validation_images=len(held_out), seed=seed)
    return trained


def process_seeds(seed: int) -> tuple[int, int, int]:
    """Return the seed of the initial weights, and, of every process its own, those of its batches and of dropout."""
    own = np.random.SeedSequence(seed, spawn_key=(1 + devices.rank(),)).generate_state(2)
    return int(np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(1)[0]), int(own[0]), int(own[1])


def training_statistics(source: ImageSource, rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], float]:
    """Return the input statistics of up to 1,000 training images, evenly over `rows`."""
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), STATISTICS_IMAGES)).astype(np.int64)]
    return input_statistics(torch.cat(list(batches(source, some))).numpy())


def check_rows(name: str, rows: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return row numbers of a source as int64.

    Raises
    ------
    ValueError
        When they are not whole numbers from 0 to n - 1.
    """
    checked = np.asarray(rows)
    if checked.size and (checked.dtype.kind not in "iu" or checked.min() < 0 or checked.max() >= n):
        raise ValueError(f"{name} must be rows of the image source, whole numbers from 0 to {n - 1}")
    return checked.astype(np.int64)


def _rows(
    source: ImageSource, labels: np.ndarray, rows: ArrayLike | None, validation_rows: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those that are held out, checked."""
    if labels.shape != (len(source),) or labels.dtype.kind not in "iu":
        raise ValueError(f"labels must be one whole number for each of the {len(source)} images, not {labels.shape}")
    held_out = check_rows("validation_rows", [] if validation_rows is None else validation_rows, len(source))
    if rows is None:
        rows = np.setdiff1d(np.flatnonzero(labels >= 0), held_out)
    learned = check_rows("rows", rows, len(source))
    if np.isin(learned, held_out).any():
        raise ValueError("some rows are both learned from and held out: leave validation_rows out of rows")
    if (labels[learned] < 0).any() or (labels[held_out] < 0).any():
        raise ValueError("some rows have no label (-1): leave them out of rows and validation_rows")
    return learned, held_out


def _class_codes(labels: np.ndarray, learned: NDArray[np.int64]) -> tuple[np.ndarray, NDArray[np.int64]]:
    """Return the classes that are learned, and their numbers by row; -1 for any other."""
    classes = np.unique(labels[learned])
    if len(classes) < 2:
        raise ValueError(f"pre-training tells classes apart, and there is {len(classes)}: give at least two")
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return classes, np.where(classes[places] == labels, places, -1).astype(np.int64)


def _objective(logits: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean cross-entropy of the soft-max, and the share of images whose class comes out on top."""
    logits = logits.float()
    return functional.cross_entropy(logits, target), (logits.detach().argmax(1) == target).float().mean()


class _Validation:
    """Cross-entropy and accuracy on held-out images; one of a class that is not learned counts as wrong in accuracy."""

    def __init__(
        self,
        source: ImageSource,
        codes: NDArray[np.int64],
        rows: NDArray[np.int64],
        batch: int,
        device: torch.device,
        n_workers: int,
    ) -> None:
        self._source, self._codes, self._rows = source, codes, rows
        self._reading: dict[str, Any] = {"batch": 2 * batch, "device": device, "n_workers": n_workers}

    def __call__(self, network: nn.Module) -> tuple[float, float]:
        with torch.inference_mode():
            parts = [network(images).float() for images in batches(self._source, self._rows, **self._reading)]
        logits = torch.cat(parts).cpu()
        target = torch.from_numpy(self._codes[self._rows])
        known = target >= 0
        loss = float(functional.cross_entropy(logits[known], target[known])) if known.any() else 0.0
        return loss, float((logits.argmax(1) == target).double().mean())
