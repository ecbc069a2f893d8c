"""A linear embedding of vectors that are there already: the row "Single-Scale & Visual Feature" of Table 2.

Section 6.5 of the paper trains one on the vectors of the single-scale network and the hand-crafted features side by
side. As at the end of the multiscale network, every part gets length 1, one linear layer follows, its output gets
length 1, and the ranking loss is that of the networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lookalike.core.arrays import Array, Integers, Reals
from lookalike.deep.devices import choose_device, repeatable
from lookalike.deep.loop import optimiser_of
from lookalike.deep.loss import triplet_hinges
from lookalike.deep.network import SHORTEST, at_length_one
from lookalike.deep.plateau import Plateau
from lookalike.deep.settings import RankingSettings
from lookalike.deep.streams import TripletSource
from lookalike.learners.triplets import check_triplets

LEARNING_RATES = (0.003, 0.01)
"""First rates of the sum of a batch's hinges, as in the training of networks; each falls to a tenth."""
_ROWS_OF_THE_START = 2000
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class LinearEmbedding:
    """A trained linear embedding."""

    matrix: NDArray[np.float32]
    """Its weights, (d, width)."""
    curve: list[dict[str, float]]
    """A row for each look at the validation triplets, of all learning rates; losses are means per triplet."""
    learning_rate: float
    """The one that was chosen."""
    step: int
    """After how many of its steps the matrix was taken; 0 is the start."""
    finished: bool
    """Whether the loss on validation triplets stopped falling before the steps ran out."""

    def transform(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the embedding of joined rows, float32 of shape (n, width) and length 1; NaN where a row has one."""
        matrix = torch.from_numpy(self.matrix)
        embedded = np.empty((len(vectors), self.matrix.shape[1]), dtype=np.float32)
        for start in range(0, len(vectors), _ROWS_AT_A_TIME):
            rows = torch.from_numpy(np.array(vectors[start : start + _ROWS_AT_A_TIME], dtype=np.float32))
            embedded[start : start + len(rows)] = _embed(rows, matrix).numpy()
        return embedded


def join_parts(parts: Sequence[Reals]) -> NDArray[np.float32]:
    """Put vectors (n, d_i) of the same n images side by side, each part at Euclidean length 1; NaN and zeros stay."""
    lengths = [np.sqrt(np.square(part, dtype=np.float64).sum(axis=1, keepdims=True)) for part in parts]
    scaled = (part / np.maximum(length, SHORTEST) for part, length in zip(parts, lengths, strict=True))
    return np.hstack([part.astype(np.float32) for part in scaled])


def train_linear_embedding(
    vectors: NDArray[np.float32],
    sampler: TripletSource,
    settings: RankingSettings,
    *,
    width: int,
    validation: Integers,
    rows: Integers | None = None,
    learning_rates: Sequence[float] = LEARNING_RATES,
    random_state: int = 0,
    device: str | torch.device = "auto",
    n_threads: int = 1,
    report: Callable[[str], None] | None = None,
) -> LinearEmbedding:
    """Train a linear embedding with the ranking loss, and choose its learning rate and when to stop.

    All learning rates see the same triplets. Kept is the matrix with the least loss on the `validation` triplets,
    which are never the rated ones of the evaluation. The start counts too: its directions are those in which the
    training vectors are largest (right singular vectors), so it measures nearly as the joined vectors themselves do.
    `rows` has the row for each number that the sampler draws; the learning rate of the settings is not used.
    """
    drawn = sampler.sample(settings.n_steps * settings.batch)
    training = np.asarray(drawn if rows is None else np.asarray(rows)[drawn])
    for triplets in (training, validation):
        if not np.isfinite(vectors[np.unique(check_triplets(triplets, vectors))]).all():
            raise ValueError(
                "a triplet names an image without a vector: leave unusable images out of the relevance data"
            )
    where = choose_device(device)
    curve: list[dict[str, float]] = []
    least, best, best_rate, best_step = math.inf, torch.empty(0), 0.0, 0
    with repeatable(where, n_threads, random_state):
        start = torch.from_numpy(_start(vectors, np.unique(training), width, random_state)).to(where)
        rows_of = torch.from_numpy(np.array(vectors, dtype=np.float32)).to(where)
        learned, scored = (torch.from_numpy(part.astype(np.int64)).to(where) for part in (training, validation))
        for rate in learning_rates:
            for row, matrix in _looks(
                start, rows_of, learned, scored, settings.model_copy(update={"learning_rate": rate})
            ):
                curve.append(row)
                loss, precision = row["validation_loss"], 100 * row["validation_precision"]
                if loss < least:
                    least, best, best_rate, best_step = loss, matrix.detach().clone(), rate, int(row["step"])
                if report:
                    report(
                        f"linear embedding, learning rate {rate:g}: step {row['step']:,} of {settings.n_steps:,}, "
                        f"validation loss {loss:.4f}, {precision:.1f}% of the validation triplets right"
                    )
    finished = any(row["finished"] for row in curve if row["learning_rate"] == best_rate)
    return LinearEmbedding(best.cpu().numpy(), curve, best_rate, best_step, finished)


def _looks(
    start: Tensor, vectors: Tensor, training: Tensor, validation: Tensor, settings: RankingSettings
) -> Iterator[tuple[dict[str, float], Tensor]]:
    """Train at one learning rate; yield a row of the curve and the matrix at every look at the validation triplets."""
    matrix = start.clone().requires_grad_()
    optimiser = optimiser_of([matrix], settings)
    losses: list[Tensor] = []
    plateau = Plateau(settings.patience, settings.drops)
    for step in range(settings.n_steps + 1):
        if step % settings.validation_interval == 0 or step == settings.n_steps:
            with torch.no_grad():
                parts = torch.split(validation, _ROWS_AT_A_TIME)
                hinges = torch.cat([_hinges(vectors, matrix, part, settings.gap) for part in parts]).cpu()
            # the hinge lies below the gap where the positive is nearer, at it where both are as near
            right = (hinges < settings.gap).double() + 0.5 * (hinges == settings.gap).double()
            loss = float(torch.stack(losses).mean()) if losses else math.nan
            row = {"learning_rate": settings.learning_rate, "step": step, "loss": loss}
            row |= {"validation_loss": float(hinges.mean()), "validation_precision": float(right.mean())}
            plateau.look(-row["validation_loss"])
            yield row | {"finished": plateau.has_ended}, matrix
            losses = []
            if plateau.has_ended:
                return
        if step < settings.n_steps:
            optimiser.param_groups[0]["lr"] = settings.learning_rate * plateau.share
            triplets = training[step * settings.batch : (step + 1) * settings.batch]
            mean = _hinges(vectors, matrix, triplets, settings.gap).mean()
            optimiser.zero_grad()
            torch.autograd.backward(len(triplets) * mean)
            optimiser.step()
            losses.append(mean.detach())


def _hinges(vectors: Tensor, matrix: Tensor, triplets: Tensor, gap: float) -> Tensor:
    """Return the hinge of each triplet of rows."""
    query, positive, negative = _embed(vectors[triplets.T.reshape(-1)], matrix).chunk(3)
    return triplet_hinges(query, positive, negative, gap)


def _embed(rows: Tensor, matrix: Tensor) -> Tensor:
    """Return the embedding of rows, at length 1."""
    return at_length_one(rows @ matrix)


def _start(vectors: NDArray[np.float32], training_rows: Array, width: int, random_state: int) -> NDArray[np.float32]:
    """Return orthonormal columns of shape (d, width): singular vectors, and random ones where those are too few."""
    random = np.random.default_rng(random_state)
    if len(training_rows) > _ROWS_OF_THE_START:
        training_rows = np.sort(random.choice(training_rows, _ROWS_OF_THE_START, replace=False))
    directions = torch.linalg.svd(torch.from_numpy(vectors[training_rows].astype(np.float64)), full_matrices=False).Vh
    directions = directions[:width].T
    others = torch.from_numpy(random.standard_normal((vectors.shape[1], width - directions.shape[1])))
    orthonormal = torch.linalg.qr(torch.cat([directions, others], dim=1)).Q
    return np.ascontiguousarray(orthonormal.numpy().astype(np.float32))
