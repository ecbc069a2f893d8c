"""OASIS on millions of images: a training run that can be killed at any moment and goes on from its last checkpoint.

Triplets are a function of the seed and the number of a block alone, so that W and how far it got is all there is to
keep. W is scored on held-out images at regular intervals, until that has saturated (JMLR section 5.2.1).
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Floats
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, reading_npz, write_npz
from lookalike.core.settings.model import plain
from lookalike.data.query_log import QueryLog
from lookalike.learners.base import refuse_large_matrix
from lookalike.learners.kernels import GROUP_COLUMNS, PLAIN, group_steps, take_steps
from lookalike.studies.web.query_triplets import QueryTripletSampler
from lookalike.studies.web.settings import LogLearning
from lookalike.studies.web.training_images import TrainingRows

BLOCK = 2_048
"""Triplets whose rows are fetched together."""
SEGMENT = 64
"""Blocks between two looks at the clock."""
STOPPING = {"steps", "patience", "tolerance"}
"""Settings that may change between two starts of one run."""


@dataclass
class TrainingState:
    """How far a run has got, over all starts: what a checkpoint holds beside W."""

    n_steps: int = 0
    n_losses: int = 0
    n_updates: int = 0
    losses_at_score: int = 0
    seconds: float = 0.0  # of the steps alone
    cpu_seconds: float = 0.0
    resumed: int = 0  # how often it went on from a checkpoint
    best_step: int = 0
    # a row a score: step, seconds of training so far, map, loss_rate (of the steps since the row before; at first NaN)
    curve: list[dict[str, float]] = field(default_factory=list)


@dataclass
class TrainingRun(TrainingState):
    """What a run has learned and what it took, over all starts."""

    _: KW_ONLY
    W: Floats  # at the step with the best score, in the user's order of features
    stopped: str  # "saturated" or "limit"


def train(
    rows: TrainingRows,
    source: QueryTripletSampler,
    learning: LogLearning,
    score: Callable[[Floats], float],
    *,
    scored: int = 0,
    checkpoint: PathLike | None = None,
    checkpoint_seconds: float = 300.0,
    report: Callable[[str], None] | None = None,
    report_seconds: float = 10.0,
) -> TrainingRun:
    """Learn W from triplets, block b being chunk b of `source`, until its score on held-out images no longer grows.

    Steps are rounded up to whole intervals. `score` gets W with its features in the order of `rows`, and `scored` is a
    number that tells its images from others. `checkpoint` is a folder that the run keeps itself in every so many
    seconds, with room for W four times: started again with the same settings but for `STOPPING`, it goes on from there,
    and ends where it is if that is past a smaller limit; what other settings, rows or triplets left is replaced. The
    caller removes the folder once it has the result. `report` gets lines about progress.
    """
    tell = report or (lambda line: None)
    keeper = _Checkpoint(checkpoint, learning, rows, source, scored) if checkpoint is not None else None
    kept = keeper.load() if keeper is not None else None
    if kept is None:
        refuse_large_matrix(rows.n_features, "float32", "OASIS")
        state, W = TrainingState(), np.eye(rows.n_features, dtype=np.float32)
        best = W.copy()
    else:
        state, W, best = kept
        state.resumed += 1
        tell(f"goes on from step {state.n_steps:,}, where a checkpoint of an earlier start stands")
    last_checkpoint = last_report = time.monotonic()
    interval, block = learning.interval, learning.block
    end = -(-learning.steps // interval) * interval
    while True:
        is_due = state.n_steps % interval == 0 and (not state.curve or state.curve[-1]["step"] < state.n_steps)
        if is_due and _score(state, W, score, tell):
            best[:] = W
        # also where a finished run is started again, maybe with another limit
        if _saturated(state, learning) or state.n_steps >= end:
            break
        point = min((state.n_steps // interval + 1) * interval, state.n_steps + SEGMENT * block)
        wall, cpu = time.perf_counter(), time.process_time()
        blocks = range(state.n_steps // block, point // block)
        losses, updates = take_blocks(W, rows, source, learning, blocks)
        state.seconds += (seconds := time.perf_counter() - wall)
        state.cpu_seconds += time.process_time() - cpu
        now = time.monotonic()
        if now - last_report >= report_seconds or point == end:
            last_report, n_taken = now, point - state.n_steps
            rate = n_taken / max(seconds, 1e-9)
            left = f"{(end - point) / rate / 3600:.1f} h left" + (" unless it saturates before" if point < end else "")
            speed = f"{rate:,.0f} a second, loss rate {losses / n_taken:.3f}"
            tell(f"{point:,} of at most {end:,} steps, {speed}, {left}")
        state.n_steps, state.n_losses, state.n_updates = point, state.n_losses + losses, state.n_updates + updates
        if keeper is not None and now - last_checkpoint >= checkpoint_seconds:
            keeper.save(state, W, best)
            last_checkpoint = time.monotonic()
    stopped = "saturated" if _saturated(state, learning) else "limit"
    if keeper is not None:
        keeper.save(state, W, best)  # a caller that is killed before it has written the result starts from here
    return TrainingRun(**vars(state), W=rows.restored(best), stopped=stopped)


def _score(state: TrainingState, W: Floats, score: Callable[[Floats], float], tell: Callable[[str], None]) -> bool:
    """Add a row to the curve; say whether it is the best so far."""
    if not np.isfinite(W).all():
        raise LookalikeError(f"W has overflowed before step {state.n_steps:,}: make aggressiveness smaller")
    value = float(score(W))
    steps = state.n_steps - state.curve[-1]["step"] if state.curve else 0
    loss_rate = (state.n_losses - state.losses_at_score) / steps if steps else float("nan")
    highest = max((row["map"] for row in state.curve), default=-np.inf)
    state.curve.append({"step": state.n_steps, "seconds": state.seconds, "map": value, "loss_rate": loss_rate})
    state.losses_at_score = state.n_losses
    tell(f"step {state.n_steps:,}: mAP {value:.4f} on held-out images, loss rate {loss_rate:.3f}")
    if value > highest:
        state.best_step = state.n_steps
    return value > highest


def _saturated(state: TrainingState, learning: LogLearning) -> bool:
    """Tell whether none of the last `patience` scores beat the best before them by more than the tolerance."""
    scores = [row["map"] for row in state.curve]
    if not learning.patience or len(scores) <= learning.patience:
        return False
    return max(scores[-learning.patience :]) <= max(scores[: -learning.patience]) + learning.tolerance


def take_blocks(
    W: Floats, rows: TrainingRows, source: QueryTripletSampler, learning: LogLearning, blocks: range
) -> tuple[int, int]:
    """Take the steps of some blocks; return (losses, updates)."""
    losses, updates, C = 0, 0, float(learning.aggressiveness)
    for block in blocks:
        drawn = source.chunk(block, learning.block)
        chosen = rows.take(drawn.ravel())
        triplets = np.arange(drawn.size, dtype=np.int32).reshape(drawn.shape)
        # neighbours that share a query image share its row, and are taken together where these are enough
        is_first = np.diff(drawn[:, 0], prepend=-1) != 0
        triplets[:, 0] = np.maximum.accumulate(triplets[:, 0] * is_first)
        if len(triplets) >= np.count_nonzero(is_first) * max(2, len(W) / GROUP_COLUMNS):
            new_losses, new_updates = group_steps(W, chosen, triplets, C)
        else:
            new_losses, new_updates = take_steps(W, chosen, triplets, C, PLAIN)
        losses, updates = losses + new_losses, updates + new_updates
    return losses, updates


class _Checkpoint:
    """One file that is replaced as a whole: W, the best W so far, and how far the run has got."""

    def __init__(
        self, folder: PathLike, learning: LogLearning, rows: TrainingRows, source: QueryTripletSampler, scored: int
    ) -> None:
        self._path = Path(folder) / "checkpoint.npz"
        # the rows by their document frequencies, which another set of images has not; the triplets by the first of them
        self._origin = {
            **plain(learning, exclude=STOPPING),
            "scored": scored,
            "n_rows": len(rows),
            "n_features": rows.n_features,
            "idf": zlib.crc32(np.ascontiguousarray(rows.idf).tobytes()),
            "triplets": zlib.crc32(np.ascontiguousarray(source.chunk(0, learning.block)).tobytes()),
        }

    def load(self) -> tuple[TrainingState, Floats, Floats] | None:
        """Return the state, W and the best W of an earlier start, or nothing where there is none like it."""
        if not self._path.is_file():
            return None
        with reading_npz(self._path, "remove this checkpoint to start again") as kept:
            state = dict(json.loads(str(kept["state"])))
            if state.pop("made_by") != self._origin:
                return None
            return TrainingState(**state), kept["W"], kept["best"]

    def save(self, state: TrainingState, W: Floats, best: Floats) -> None:
        """Keep these in place of what was kept before."""
        text = json.dumps({**vars(state), "made_by": self._origin})
        write_npz({"W": W, "best": best, "state": np.array(text)}, self._path, compressed=False)


def warm_up() -> None:
    """Compile what draws triplets and takes steps, or load it from numba's cache, so that timed runs do not."""
    log, rows = QueryLog([0, 0, 1, 1], [0, 1, 1, 2]), TrainingRows(sp.eye_array(3, format="csr"), range(3))
    learning = LogLearning(interval=4, block=4)
    for per_query in (1, 4):
        source = QueryTripletSampler(log, 0, triplets_per_query=per_query)
        take_blocks(np.eye(3, dtype=np.float32), rows, source, learning, range(1))
