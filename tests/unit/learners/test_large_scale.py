"""Training at scale: the W of the plain learner, early stopping, and runs that are killed at every possible moment."""

from __future__ import annotations

import json
import math
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_training import BLOCK, INTERVAL, Source, made_counts, made_rows, wavy

from lookalike.core.errors import LookalikeError
from lookalike.learners import OASIS, large_scale
from lookalike.learners.compact_rows import CompactRows
from lookalike.learners.large_scale import TrainingPlan, TrainingRun, train

PLAN = TrainingPlan(n_steps=6 * INTERVAL, interval=INTERVAL, patience=0, block=BLOCK)


@pytest.fixture
def rows(tmp_path: Path) -> CompactRows:
    return made_rows(tmp_path)


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two segments an interval, so that checkpoints stand in the middle of one too."""
    monkeypatch.setattr(large_scale, "SEGMENT", 2)


class Script:
    """Scores that are given in advance; it also keeps the W it was shown."""

    def __init__(self, scores: list[float]) -> None:
        self.scores, self.shown = list(scores), []

    def __call__(self, W: np.ndarray) -> float:
        self.shown.append(W.copy())
        return self.scores[len(self.shown) - 1]


class Killed(BaseException):
    """Stands for the end of the process."""


def result(run: TrainingRun) -> tuple[Any, ...]:
    """Return all of a run that does not depend on when it was killed."""
    curve = [(row["step"], row["map"], "" if math.isnan(row["loss_rate"]) else row["loss_rate"]) for row in run.curve]
    return run.W.tobytes(), run.best_step, curve, run.n_steps, run.n_losses, run.n_updates, run.stopped


# What is learned ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["look-ahead", "sequential"])
def test_w_is_that_of_the_plain_learner(rows: CompactRows, mode: str) -> None:
    plan = replace(PLAN, mode=mode)
    score = Script([0.0, 0.1, 0.2, 0.5, 0.4, 0.5, 0.3])
    run = train(rows, Source(), plan, score)
    assert run.best_step == 3 * INTERVAL
    assert run.n_losses > run.n_updates > 0
    triplets = np.concatenate([Source().chunk(b, BLOCK) for b in range(3 * INTERVAL // BLOCK)])
    expected = OASIS(plan.aggressiveness, dtype="float32").fit_triplets(rows.weighted(made_counts(30)), triplets).W_
    assert run.W.dtype == np.float32
    assert np.abs(expected - np.eye(30)).max() > 0.1
    np.testing.assert_allclose(run.W, expected, rtol=0, atol=2e-5)
    # what was scored is that W, with the features as the rows have them
    np.testing.assert_array_equal(score.shown[0], np.eye(30))
    rows.restore_order(score.shown[3])
    np.testing.assert_array_equal(score.shown[3], run.W)


@pytest.mark.parametrize("segment", [1, 3, 64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_neither_threads_nor_checkpoints_nor_segments_change_a_bit(
    rows: CompactRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment: int, n_threads: int
) -> None:
    expected = result(train(rows, Source(), PLAN, wavy))
    monkeypatch.setattr(large_scale, "SEGMENT", segment)
    kept = train(
        rows, Source(), PLAN, wavy, n_threads=n_threads, checkpoint=tmp_path / "checkpoint", checkpoint_seconds=0
    )
    assert result(kept) == expected
    assert kept.resumed == 0


def test_the_curve(rows: CompactRows) -> None:
    run = train(rows, Source(), replace(PLAN, n_steps=5 * INTERVAL - 1), wavy)
    steps = [row["step"] for row in run.curve]
    assert steps == [k * INTERVAL for k in range(6)]  # rounded up to a whole interval
    assert run.n_steps == 5 * INTERVAL
    assert run.stopped == "limit"
    assert all(set(row) == {"step", "seconds", "map", "loss_rate"} for row in run.curve)
    assert math.isnan(run.curve[0]["loss_rate"])
    losses = [row["loss_rate"] * INTERVAL for row in run.curve[1:]]
    assert sum(losses) == pytest.approx(run.n_losses)
    assert 0 < run.n_updates < run.n_losses <= run.n_steps
    seconds = [row["seconds"] for row in run.curve]
    assert seconds[0] == 0
    assert seconds == sorted(seconds)
    assert run.seconds == seconds[-1]
    assert run.cpu_seconds > 0
    scores = [row["map"] for row in run.curve]
    assert run.best_step == steps[int(np.argmax(scores))]


# When it stops --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "patience", "tolerance", "n_scores", "best", "stopped"),
    [
        ([0.1, 0.2, 0.3, 0.3, 0.2, 0.25, 0.9], 3, 0.0, 6, 2, "saturated"),  # an equal score is no better one
        ([0.1, 0.2, 0.3, 0.3, 0.2, 0.31, 0.9], 3, 0.0, 7, 6, "limit"),
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0], 1, 0.0, 2, 0, "saturated"),  # W = I was best
        ([0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.5], 1, 0.0, 3, 1, "saturated"),
        ([0.1, 0.3, 0.31, 0.32, 0.33, 0.34, 0.35], 2, 0.05, 4, 3, "saturated"),  # grows too slowly; the best counts
        ([0.1, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5], 2, 0.05, 7, 6, "limit"),
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0], 0, 0.0, 7, 0, "limit"),  # no patience: never
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0], 6, 0.0, 7, 0, "saturated"),
    ],
)
def test_it_stops_when_the_score_has_saturated(
    rows: CompactRows,
    tmp_path: Path,
    scores: list[float],
    patience: int,
    tolerance: float,
    n_scores: int,
    best: int,
    stopped: str,
) -> None:
    plan = replace(PLAN, patience=patience, tolerance=tolerance)
    score = Script(scores)
    run = train(rows, Source(), plan, score, checkpoint=tmp_path / "checkpoint")
    assert [row["map"] for row in run.curve] == scores[:n_scores]
    assert (run.best_step, run.stopped) == (best * INTERVAL, stopped)
    assert run.n_steps == (n_scores - 1) * INTERVAL
    rows.restore_order(score.shown[best])
    np.testing.assert_array_equal(run.W, score.shown[best])


def test_a_score_that_is_no_number_is_told(rows: CompactRows) -> None:
    with pytest.raises(LookalikeError, match=r"the score of W at step 32 is nan: hold out images"):
        train(rows, Source(), PLAN, Script([0.1, math.nan]))


def test_overflow_is_told_at_the_next_score(rows: CompactRows, monkeypatch: pytest.MonkeyPatch) -> None:
    def take(W: np.ndarray, *arguments: Any) -> tuple[int, int]:
        W[2, 1] = np.inf
        return 1, 1

    monkeypatch.setattr(large_scale, "take_blocks", take)
    with pytest.raises(LookalikeError, match="overflowed before step 32: make aggressiveness smaller"):
        train(rows, Source(), PLAN, lambda W: 0.5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"aggressiveness": 0}, "aggressiveness must be larger than 0"),
        ({"aggressiveness": math.nan}, "aggressiveness must be larger than 0"),
        ({"mode": "fast"}, "mode must be one of look-ahead, sequential"),
        ({"interval": INTERVAL + 1}, "interval must be a multiple of block, 8"),
        ({"block": 0}, "interval must be a multiple of block"),
        ({"interval": 0}, "interval must be a multiple of block"),
        ({"n_steps": 0}, "n_steps must be at least 1"),
        ({"patience": -1}, "must not be negative"),
        ({"tolerance": -0.1}, "must not be negative"),
    ],
)
def test_plans_out_of_range_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PLAN, **wrong)


# Killed and started again ---------------------------------------------------------------------------------------------


class Interruption:
    """Stands for one function and kills the process at its n-th call."""

    def __init__(self, function: Callable[..., Any], n: int, error: BaseException | None = None) -> None:
        self._function, self._left = function, n
        self._error = error or Killed()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            raise self._error
        return self._function(*arguments, **named)


@pytest.fixture
def interrupted(rows: CompactRows, tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(Killed):
        train(rows, Source(), PLAN, Interruption(wavy, 5), checkpoint=checkpoint, checkpoint_seconds=0)
    return checkpoint


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("moment", [1, 5, 13, 24])
@pytest.mark.parametrize("where", ["score", "report", "source"])
def test_a_run_that_is_killed_goes_on_to_the_same_bits(
    rows: CompactRows, tmp_path: Path, where: str, moment: int, n_threads: int
) -> None:
    checkpoint = tmp_path / "checkpoint"
    options: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_seconds": 0, "n_threads": n_threads}
    expected = result(train(rows, Source(), PLAN, wavy))
    source, score, report = Source(), wavy, lambda line: None
    if where == "source":
        source.chunk = Interruption(source.chunk, moment)  # type: ignore[method-assign]
    elif where == "score":
        score = Interruption(score, min(moment, 6))
    else:
        report = Interruption(report, min(moment, 15))
    with pytest.raises(Killed):
        train(rows, source, PLAN, score, report=report, report_seconds=0, **options)
    stands = (checkpoint / "state.json").is_file()
    run = train(rows, Source(), PLAN, wavy, **options)
    assert result(run) == expected
    assert run.resumed == stands
    assert stands or moment < 5
    assert len(list(checkpoint.iterdir())) == 3


@contextmanager
def kill_at(n: int, *, after: bool) -> Iterator[list[int]]:
    """Kill the process before or after its n-th change to the disk; what is yielded counts the changes."""
    count = [0]

    def counted(function: Callable[..., Any], half: bool) -> Callable[..., Any]:
        def change(*arguments: Any, **named: Any) -> None:
            count[0] += 1
            if count[0] == n and not after:
                if half:  # a killed writer leaves its temporary file behind
                    target = Path(arguments[1])
                    target.parent.mkdir(exist_ok=True)
                    (target.parent / f".{target.stem}.99999.part{target.suffix}").write_bytes(b"\x93NUMPY half")
                raise Killed
            function(*arguments, **named)
            if count[0] == n:
                raise Killed

        return change

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_scale, "write_array", counted(large_scale.write_array, True))
        patch.setattr(large_scale, "write_json", counted(large_scale.write_json, True))
        # `replacing` removes its temporary files by a method, which this leaves alone
        unlink = Path.unlink
        removed = counted(unlink, False)
        patch.setattr(
            Path,
            "unlink",
            lambda path, missing_ok=False: (
                unlink(path, missing_ok) if ".part" in path.name and "99999" not in path.name else removed(path)
            ),
        )
        yield count


@pytest.mark.parametrize("after", [False, True])
def test_no_change_to_the_disk_is_a_bad_moment(rows: CompactRows, tmp_path: Path, after: bool) -> None:
    """Kill it at every single write and removal, and start it again each time."""
    plan = replace(PLAN, n_steps=4 * INTERVAL)
    expected = result(train(rows, Source(), plan, wavy))
    with kill_at(0, after=after) as count:
        train(rows, Source(), plan, wavy, checkpoint=tmp_path / "whole", checkpoint_seconds=0)
    assert count[0] > 25
    resumed = 0
    for n in range(1, count[0] + 1):
        checkpoint = tmp_path / f"checkpoint-{n}"
        options: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_seconds": 0}
        with kill_at(n, after=after), pytest.raises(Killed):
            train(rows, Source(), plan, wavy, **options)
        run = train(rows, Source(), plan, wavy, **options)
        assert result(run) == expected, n
        resumed += run.resumed
        names = sorted(path.name for path in checkpoint.iterdir())
        assert names == [f"W-{run.n_steps}.npy", f"best-{run.best_step}.npy", "state.json"], n
    assert resumed > count[0] - 6


def test_a_best_w_after_the_resumed_checkpoint_does_not_replace_the_one_that_it_names(
    rows: CompactRows, interrupted: Path
) -> None:
    expected = result(train(rows, Source(), PLAN, wavy))
    before = {path.name for path in interrupted.iterdir()}
    with pytest.raises(Killed):
        # a new best at once, and killed before the next checkpoint
        train(rows, Source(), PLAN, Interruption(lambda W: 9.0, 2), checkpoint=interrupted)
    assert before < {path.name for path in interrupted.iterdir()}
    run = train(rows, Source(), PLAN, wavy, checkpoint=interrupted)
    assert result(run) == expected


def test_files_that_pile_up_between_checkpoints(rows: CompactRows, tmp_path: Path) -> None:
    """W has 400 MB at full size: no more copies of it than are needed, though no checkpoint is due."""
    checkpoint = tmp_path / "checkpoint"
    most = []

    def score(W: np.ndarray) -> float:
        if checkpoint.is_dir():
            most.append(len(list(checkpoint.glob("*.npy"))))
        return float(np.abs(W).sum())  # ever better

    run = train(rows, Source(), PLAN, score, checkpoint=checkpoint)
    assert run.best_step == PLAN.n_steps
    assert max(most) == 1


# Started again with another plan --------------------------------------------------------------------------------------


def refuse(*arguments: Any) -> Any:
    raise AssertionError("there was nothing left to do")


class FirstChunkOnly(Source):
    """The first triplets say whose checkpoint it is; no others may be asked for."""

    def chunk(self, number: int, n: int) -> np.ndarray:
        assert number == 0
        return super().chunk(number, n)


@pytest.mark.parametrize("patience", [0, 2])
def test_a_run_that_has_ended_returns_at_once(rows: CompactRows, tmp_path: Path, patience: int) -> None:
    plan, checkpoint = replace(PLAN, patience=patience), tmp_path / "checkpoint"
    scores = [0.1, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2]
    first = train(rows, Source(), plan, Script(scores), checkpoint=checkpoint)
    again = train(rows, FirstChunkOnly(), plan, refuse, checkpoint=checkpoint)
    assert result(again) == result(first)
    assert first.stopped == ("saturated" if patience else "limit")
    assert (first.resumed, again.resumed) == (0, 1)
    assert again.seconds == first.seconds


def test_a_longer_limit_goes_on(rows: CompactRows, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    train(rows, Source(), replace(PLAN, n_steps=2 * INTERVAL), wavy, checkpoint=checkpoint)
    run = train(rows, Source(), PLAN, wavy, checkpoint=checkpoint)
    assert result(run) == result(train(rows, Source(), PLAN, wavy))
    assert run.resumed == 1


def test_more_patience_goes_on(rows: CompactRows, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    scores = [0.1, 0.3, 0.2, 0.25, 0.3, 0.4, 0.35]
    short = train(rows, Source(), replace(PLAN, patience=1), Script(scores), checkpoint=checkpoint)
    assert (short.stopped, short.n_steps) == ("saturated", 2 * INTERVAL)
    run = train(rows, Source(), replace(PLAN, patience=5), Script(scores[3:]), checkpoint=checkpoint)
    assert result(run) == result(train(rows, Source(), replace(PLAN, patience=5), Script(scores)))
    assert run.best_step == 5 * INTERVAL


@pytest.mark.parametrize("at_score", [False, True])
def test_a_shorter_limit_ends_it_where_it_is(rows: CompactRows, tmp_path: Path, at_score: bool) -> None:
    checkpoint = tmp_path / "checkpoint"
    killed: dict[str, Any] = {"score": Interruption(wavy, 5)}
    if not at_score:  # two segments an interval: the seventh block pair ends in the middle of one
        killed = {"score": wavy, "report": Interruption(lambda line: None, 12), "report_seconds": 0}
    with pytest.raises(Killed):
        train(rows, Source(), PLAN, checkpoint=checkpoint, checkpoint_seconds=0, **killed)
    step = json.loads((checkpoint / "state.json").read_text())["step"]
    assert (step % INTERVAL == 0) == at_score
    score = wavy if at_score else refuse  # at an interval's end its score is still due
    run = train(rows, FirstChunkOnly(), replace(PLAN, n_steps=INTERVAL), score, checkpoint=checkpoint)
    assert (run.n_steps, run.stopped, run.resumed) == (step, "limit", 1)
    assert run.best_step in [row["step"] for row in run.curve]


@pytest.mark.parametrize(
    "other",
    [
        {"aggressiveness": 0.2},
        {"interval": 2 * INTERVAL},
        {"mode": "sequential"},
        {"block": BLOCK // 2},
        {"seed": 1},
        "triplets",
        "rows",
    ],
)
def test_the_checkpoint_of_something_else_is_cleared(rows: CompactRows, tmp_path: Path, other: Any) -> None:
    checkpoint = tmp_path / "checkpoint"
    train(rows, Source(), PLAN, wavy, checkpoint=checkpoint, checkpoint_seconds=0)
    (checkpoint / "notes.txt").write_text("not ours")
    plan = replace(PLAN, **other) if isinstance(other, dict) else PLAN
    source = Source(5) if other == "triplets" else Source()
    rows = made_rows(tmp_path / "others", seed=3) if other == "rows" else rows
    with pytest.raises(Killed):
        train(rows, source, plan, Interruption(wavy, 1), checkpoint=checkpoint)
    assert [path.name for path in checkpoint.iterdir()] == ["notes.txt"]
    run = train(rows, source, plan, wavy, checkpoint=checkpoint)
    assert run.resumed == 0
    assert result(run) == result(train(rows, source, plan, wavy))
    assert (checkpoint / "notes.txt").read_text() == "not ours"


# Damage ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["W-*.npy", "best-*.npy", "state.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise", "other"])
def test_a_damaged_checkpoint_is_told(rows: CompactRows, interrupted: Path, file: str, damage: str) -> None:
    (path,) = interrupted.glob(file)
    if damage == "missing":
        path.unlink()
    elif damage == "other" and path.suffix == ".npy":
        np.save(path, np.eye(31, dtype=np.float32))
    else:
        whole = path.read_bytes()
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "noise": b"\xff" * 99, "other": b"[]"}[damage])
    if (file, damage) == ("state.json", "missing"):
        run = train(rows, Source(), PLAN, wavy, checkpoint=interrupted)
        assert run.resumed == 0
        assert result(run) == result(train(rows, Source(), PLAN, wavy))
        return
    with pytest.raises(LookalikeError, match=r"cannot be read .*remove that folder to start anew"):
        train(rows, Source(), PLAN, wavy, checkpoint=interrupted)


class FullDisk:
    """Stands for a function that writes; from its n-th call on, files may have no more than so many bytes."""

    def __init__(self, write: Callable[..., None], n: int, size: int) -> None:
        self._write, self._left, self._size = write, n, size

    def __call__(self, *arguments: Any) -> None:
        self._left -= 1
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        if self._left <= 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, hard))
        try:
            self._write(*arguments)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# 3,728 bytes are W: also the last of them must not get lost unnoticed
@pytest.mark.parametrize("size", [0, 500, 3_727])
@pytest.mark.parametrize(("function", "n"), [("write_array", 1), ("write_array", 2), ("write_json", 1)])
def test_a_full_disk_is_told_and_the_checkpoint_before_stands(
    rows: CompactRows, interrupted: Path, monkeypatch: pytest.MonkeyPatch, function: str, n: int, size: int
) -> None:
    with monkeypatch.context() as patch:
        allowed = size if function == "write_array" else size // 10
        patch.setattr(large_scale, function, FullDisk(getattr(large_scale, function), n, allowed))
        with pytest.raises(LookalikeError, match=r"cannot write .*free some space"):
            train(rows, Source(), PLAN, wavy, checkpoint=interrupted, checkpoint_seconds=0)
    assert not [path for path in interrupted.iterdir() if ".part" in path.name]
    run = train(rows, Source(), PLAN, wavy, checkpoint=interrupted, checkpoint_seconds=0)
    assert result(run) == result(train(rows, Source(), PLAN, wavy))
    assert run.resumed >= 1


# Progress -------------------------------------------------------------------------------------------------------------


def test_lines_about_progress(rows: CompactRows, tmp_path: Path) -> None:
    lines: list[str] = []
    options: dict[str, Any] = {"report": lines.append, "checkpoint": tmp_path / "checkpoint", "checkpoint_seconds": 0}
    with pytest.raises(Killed):
        train(rows, Source(), PLAN, Interruption(wavy, 3), report_seconds=0, **options)
    assert lines[0] == f"step 0: mAP {wavy(np.eye(30)):.4f} on held-out images, loss rate nan"
    assert lines[1].startswith("16 of at most 192 steps, ")
    assert lines[1].endswith("h left unless it saturates before")
    assert lines[2].startswith("32 of at most 192 steps, ")
    assert lines[3].startswith("step 32: mAP ")
    lines.clear()
    train(rows, Source(), PLAN, wavy, **options)
    assert lines[0] == "goes on from step 64, where a checkpoint of an earlier start stands"
    # ten seconds are not over, but the end is told
    (progress,) = [line for line in lines if " of at most " in line]
    assert progress.startswith("192 of at most 192 steps, ")
    assert progress.endswith(", 0.0 h left")
    assert sum(line.startswith("step ") for line in lines) == 5
