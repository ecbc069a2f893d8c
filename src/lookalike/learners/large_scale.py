"""OASIS on millions of images: a training run that can be killed at any moment and goes on from its last checkpoint.

`train` takes steps on `lookalike.learners.compact_rows.CompactRows` with triplets that are a function of the seed and
the number of a block alone, so that all there is to keep is W and how far it got. It scores W on held-out images at
regular intervals and stops when that has saturated (JMLR section 5.2.1).
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json, write_array, write_json
from lookalike.learners.compact_rows import CompactRows
from lookalike.learners.look_ahead import BLOCK, look_ahead_steps
from lookalike.learners.oasis import oasis_steps
from lookalike.learners.sparse_rows import Rows

MODES = ("look-ahead", "sequential")
STOPPING = ("n_steps", "patience", "tolerance")
"""What may change between two starts of one run."""

SEGMENT = 64
"""Blocks between two looks at the clock."""


class TripletSource(Protocol):
    """Gives triplets by number, such as `lookalike.learners.query_triplets.QueryTripletSampler`."""

    def chunk(self, number: int, n: int) -> NDArray[np.int32]:
        """Return the first `n` triplets of chunk `number`, of shape (n, 3)."""
        ...


@dataclass(frozen=True)
class TrainingPlan:
    """What decides the result of a run, but for the rows and the triplets.

    `n_steps`, `patience` and `tolerance` only say when to stop, so a checkpoint goes on under others of them. A run
    that is already past a smaller limit ends where it is. `look-ahead` takes blocks on all threads, `sequential` one
    step after another on one: the same W to the rounding of sums. `seed` and `scored`, a number that tells the held-out
    images from others, are only part of what a checkpoint belongs to.
    """

    aggressiveness: float = 0.1  # C of JMLR eq. 9
    n_steps: int = 160_000_000  # at most; rounded up to whole intervals
    interval: int = 1_048_576  # steps between two scores on held-out images, a multiple of `block`
    patience: int = 10  # scores in a row that may fail to beat the best by `tolerance`; 0 never stops early
    tolerance: float = 0.0  # by how much mean average precision must grow to count
    mode: str = "look-ahead"
    block: int = BLOCK  # triplets of a block, in both modes
    seed: int = 0
    scored: int = 0

    def __post_init__(self) -> None:
        if not self.aggressiveness > 0:
            raise ValueError(f"aggressiveness must be larger than 0, not {self.aggressiveness!r}")
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.block < 1 or self.interval < 1 or self.interval % self.block:
            raise ValueError(f"interval must be a multiple of block, {self.block}, not {self.interval}")
        if self.n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, not {self.n_steps}")
        if self.patience < 0 or self.tolerance < 0:
            raise ValueError("patience and tolerance must not be negative")


@dataclass
class TrainingRun:
    """What a run has learned and what it took, over all starts.

    The curve has a row for every score: ``step``, ``seconds`` (wall time of the training so far, scores left out),
    ``map``, ``loss_rate`` (share of the steps since the row before that had a loss; NaN at step 0).
    """

    W: NDArray[np.float32]  # at the step with the best score, in the user's order of features
    best_step: int
    curve: list[dict[str, float]]
    n_steps: int
    n_losses: int
    n_updates: int
    seconds: float  # of the steps alone
    cpu_seconds: float
    stopped: str  # "saturated" or "limit"
    resumed: int  # how often it went on from a checkpoint


@dataclass
class _State:
    """How far a run has got: what a checkpoint holds beside W."""

    step: int = 0
    losses: int = 0
    updates: int = 0
    losses_at_score: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    resumed: int = 0
    best_step: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)


def train(
    rows: CompactRows,
    source: TripletSource,
    plan: TrainingPlan,
    score: Callable[[NDArray[np.float32]], float],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 300.0,
    n_threads: int = 1,
    report: Callable[[str], None] | None = None,
    report_seconds: float = 10.0,
) -> TrainingRun:
    """Learn W from triplets until its score on held-out images no longer grows.

    Parameters
    ----------
    rows : CompactRows
    source : TripletSource
        Block b of the run is its chunk b.
    plan : TrainingPlan
    score : callable (W) -> float
        Mean average precision on held-out images, with W's features in the order that `rows` gives them.
    checkpoint : path, optional
        A folder that the run keeps itself in: W (4 d^2 bytes), the best W so far, and how far it got. A run that is
        killed, at any moment, goes on from there when it is started again with the same plan; the checkpoint of another
        plan, of other rows or other triplets is cleared away. It may need room for W five times. The caller removes the
        folder once it has the result.
    checkpoint_seconds : float, default=300
        How often; what a kill loses at most.
    n_threads : int, default=1
        Of the look-ahead mode and of nothing else; changes no bit of W.
    report : callable (str), optional
        Gets a line about progress every `report_seconds`.
    """
    tell = report or (lambda line: None)
    keeper = _Checkpoint(checkpoint, plan, rows, source) if checkpoint is not None else None
    state, W = keeper.resume() if keeper is not None else (None, None)
    if state is None or W is None:
        state, W = _State(), np.eye(rows.n_features, dtype=np.float32)
    else:
        state.resumed += 1
        tell(f"goes on from step {state.step:,}, where a checkpoint of an earlier start stands")
    best = W.copy() if keeper is None else None  # one W less in memory where there is a disk
    last_checkpoint = last_report = time.monotonic()
    end = -(-plan.n_steps // plan.interval) * plan.interval
    while True:
        is_due = state.step % plan.interval == 0 and (not state.curve or state.curve[-1]["step"] < state.step)
        if is_due and _score(state, W, score, tell):
            if keeper is not None:
                keeper.save_best(W, state.step)
            else:
                best = W.copy()
        # also where a finished run is started again, maybe with another limit
        if _saturated(state, plan) or state.step >= end:
            break
        point = min((state.step // plan.interval + 1) * plan.interval, state.step + SEGMENT * plan.block)
        wall, cpu = time.perf_counter(), time.process_time()
        losses, updates = take_blocks(
            W, rows, source, plan, range(state.step // plan.block, point // plan.block), n_threads
        )
        state.seconds += (seconds := time.perf_counter() - wall)
        state.cpu_seconds += time.process_time() - cpu
        now = time.monotonic()
        if now - last_report >= report_seconds or point == end:
            last_report = now
            tell(_progress(state.step, point, end, losses, seconds))
        state.step, state.losses, state.updates = point, state.losses + losses, state.updates + updates
        if keeper is not None and now - last_checkpoint >= checkpoint_seconds:
            keeper.save(state, W)
            last_checkpoint = time.monotonic()
    stopped = "saturated" if _saturated(state, plan) else "limit"
    if keeper is not None:
        keeper.save(state, W)  # a caller that is killed before it has written the result starts from here
        best = keeper.best(state.best_step)
    assert best is not None
    rows.restore_order(best)
    return TrainingRun(
        W=best,
        best_step=state.best_step,
        curve=state.curve,
        n_steps=state.step,
        n_losses=state.losses,
        n_updates=state.updates,
        seconds=state.seconds,
        cpu_seconds=state.cpu_seconds,
        stopped=stopped,
        resumed=state.resumed,
    )


def _score(
    state: _State,
    W: NDArray[np.float32],
    score: Callable[[NDArray[np.float32]], float],
    tell: Callable[[str], None],
) -> bool:
    """Add a row to the curve; say whether it is the best so far."""
    if not np.isfinite(W).all():
        raise LookalikeError(f"W has overflowed before step {state.step:,}: make aggressiveness smaller")
    value = float(score(W))
    if not np.isfinite(value):
        raise LookalikeError(
            f"the score of W at step {state.step:,} is {value}: hold out images some of which are relevant to others"
        )
    steps = state.step - state.curve[-1]["step"] if state.curve else 0
    loss_rate = (state.losses - state.losses_at_score) / steps if steps else float("nan")
    highest = max((row["map"] for row in state.curve), default=-np.inf)
    state.curve.append({"step": state.step, "seconds": state.seconds, "map": value, "loss_rate": loss_rate})
    state.losses_at_score = state.losses
    tell(f"step {state.step:,}: mAP {value:.4f} on held-out images, loss rate {loss_rate:.3f}")
    if value > highest:
        state.best_step = state.step
    return value > highest


def _saturated(state: _State, plan: TrainingPlan) -> bool:
    """Whether none of the last `patience` scores beat what was best before them by more than the tolerance."""
    scores = [row["map"] for row in state.curve]
    if not plan.patience or len(scores) <= plan.patience:
        return False
    return max(scores[-plan.patience :]) <= max(scores[: -plan.patience]) + plan.tolerance


def _progress(step: int, point: int, end: int, losses: int, seconds: float) -> str:
    rate = (point - step) / max(seconds, 1e-9)
    left = (end - point) / rate
    return (
        f"{point:,} of at most {end:,} steps, {rate:,.0f} a second, loss rate {losses / (point - step):.3f}, "
        f"{left / 3600:.1f} h left" + (" unless it saturates before" if left > 0 else "")
    )


def take_blocks(
    W: NDArray[np.float32],
    rows: CompactRows,
    source: TripletSource,
    plan: TrainingPlan,
    blocks: range,
    n_threads: int,
) -> tuple[int, int]:
    """Take the steps of some blocks in the plan's mode; return (losses, updates)."""

    def fetch(number: int) -> tuple[Rows, NDArray[np.int32]]:
        """Return the rows of a block's triplets, and its triplets as numbers of those."""
        triplets = source.chunk(blocks[number], plan.block)
        chosen = rows.take(triplets.ravel(), np.dtype(np.float32))
        return chosen, np.arange(triplets.size, dtype=np.int32).reshape(triplets.shape)

    if plan.mode == "look-ahead":
        return look_ahead_steps(W, len(blocks), fetch, plan.aggressiveness, n_threads)
    counts = [oasis_steps(W, *fetch(number), plan.aggressiveness, np.empty(0)) for number in range(len(blocks))]
    return sum(losses for losses, _ in counts), sum(updates for _, updates in counts)


class _Checkpoint:
    """A folder with W, the best W, and the state that names their files; what it names is whole at every moment."""

    def __init__(
        self, folder: str | os.PathLike[str], plan: TrainingPlan, rows: CompactRows, source: TripletSource
    ) -> None:
        self._folder = Path(folder)
        self._state = self._folder / "state.json"
        # the rows by what their weights are made from, since another set of images has other document frequencies; the
        # triplets by the first of them
        self._made_by = {
            **{name: value for name, value in vars(plan).items() if name not in STOPPING},
            "n_rows": len(rows),
            "n_features": rows.n_features,
            "idf": zlib.crc32(np.ascontiguousarray(rows.idf).tobytes()),
            "triplets": zlib.crc32(np.ascontiguousarray(source.chunk(0, plan.block)).tobytes()),
        }
        self._shape = (rows.n_features,) * 2
        self._named: tuple[str, ...] = ()
        """Files that the state on the disk needs."""

    def resume(self) -> tuple[_State | None, NDArray[np.float32] | None]:
        """Return the state and W of an earlier start, or nothing where there is none of this plan."""
        if not self._state.is_file():
            return None, None
        with self._reading():
            kept = read_json(self._state)
            if kept.pop("made_by") != self._made_by:
                # first of all what names the others
                self._state.unlink()
                self._clear(keep=())
                return None, None
            state = _State(**kept)
            W = self._load(f"W-{state.step}.npy")
            if state.curve:
                self._load(f"best-{state.best_step}.npy", mmap_mode="r")
        self._named = self._files(state)
        return state, W

    def save(self, state: _State, W: NDArray[np.float32]) -> None:
        """Keep W and the state; the old ones go only when the new ones are whole."""
        write_array(W, self._folder / f"W-{state.step}.npy")
        write_json({**vars(state), "made_by": self._made_by}, self._state)
        self._named = self._files(state)
        self._clear(keep=self._named)

    def save_best(self, W: NDArray[np.float32], step: int) -> None:
        """Keep the best W so far; the one before stays as long as the state on the disk names it."""
        name = f"best-{step}.npy"
        write_array(W, self._folder / name)
        self._clear(keep=(*self._named, name))

    def best(self, step: int) -> NDArray[np.float32]:
        """Return the best W."""
        with self._reading():
            return self._load(f"best-{step}.npy")

    def _files(self, state: _State) -> tuple[str, ...]:
        return f"W-{state.step}.npy", f"best-{state.best_step}.npy"

    def _load(self, name: str, mmap_mode: Literal["r"] | None = None) -> NDArray[np.float32]:
        W: NDArray[np.float32] = np.load(self._folder / name, mmap_mode=mmap_mode, allow_pickle=False)
        if W.shape != self._shape or W.dtype != np.float32:
            raise ValueError(f"{name} holds another matrix")
        return W

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
            raise LookalikeError(
                f"the checkpoint in {self._folder} cannot be read ({error}): remove that folder to start anew"
            ) from error

    def _clear(self, keep: tuple[str, ...]) -> None:
        """Remove what an earlier state or a killed process has left, and nothing that is somebody else's."""
        for pattern in ("W-*.npy", "best-*.npy", ".W-*.npy", ".best-*.npy", ".state.*.json"):
            for file in self._folder.glob(pattern):
                if file.name not in keep:
                    with suppress(OSError):
                        file.unlink()


def warm_up() -> None:
    """Compile the kernels of both modes, so that timed runs do not."""
    rows = Rows(
        np.array([0, 1, 2, 4], dtype=np.int64),
        np.array([0, 1, 0, 1], dtype=np.uint32),
        np.ones(4, dtype=np.float32),
        np.array([1.0, 1.0, 2.0]),
    )
    triplets = np.array([[0, 2, 1]], dtype=np.int32)
    look_ahead_steps(np.eye(2, dtype=np.float32), 1, lambda number: (rows, triplets), 0.1)
    oasis_steps(np.eye(2, dtype=np.float32), rows, triplets, 0.1, np.empty(0))
