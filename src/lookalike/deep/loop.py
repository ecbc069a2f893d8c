"""The loop that both trainings share: steps of gradient descent, looks at held-out images, checkpoints.

The same code runs on a processor (repeatable to the bit, also across a kill) and on an accelerator (half precision), in
one process, where the paper's machines send their gradients asynchronously (section 5).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.deep import devices
from lookalike.deep.checkpoints import Checkpoint, checksum, code_checksum
from lookalike.deep.images import ImageSource, batches, fetch
from lookalike.deep.settings import Settings
from lookalike.deep.streams import Stream

Objective = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""Outputs and target to the mean loss of the batch, with gradient, and the share of it that is right."""


@dataclass(frozen=True)
class Trained:
    """What a training run leaves behind."""

    network: Any
    """The network after all steps, in evaluation mode, on the device that it was trained on."""
    curve: pd.DataFrame
    """One row for every look: `Curve`."""
    fit: dict[str, Any]
    """How it was made, for ``fit.json``: settings, steps, and (only here) seconds, rate and the device."""


@dataclass(frozen=True)
class Machine:
    """Where and how a run is done; nothing here decides the result but by the rounding of sums.

    A run that is killed and started again with the same arguments goes on from its checkpoint; on a processor with
    the same number of threads to the same bits. The checkpoint of a run with others is ignored, which `report` is
    told. The caller removes the file once it has written the result.

    Parameters
    ----------
    device : str
        A device of torch or ``"auto"``.
    n_threads : int
        Of torch, on a processor.
    n_workers : int
        Processes that read images ahead.
    checkpoint : path, optional
        A file that the run keeps itself in.
    checkpoint_seconds : float
        How often.
    report : callable (str), optional
        Gets a line at every row of the curve.
    progress : callable (done, all), optional
        Called after every step.
    """

    device: str | torch.device = "auto"
    n_threads: int = 1
    n_workers: int = 0
    checkpoint: PathLike | None = None
    checkpoint_seconds: float = 60.0
    report: Callable[[str], None] | None = None
    progress: Callable[[int, int], None] | None = None


@dataclass
class Curve:
    """A row for every look: the mean loss since the row before, under dropout, and that of held-out images, without."""

    right: str
    """Column of the share of what is right in training: ``accuracy`` or ``triplet_accuracy``."""
    score: str
    """Column of that of held-out images."""
    rows: list[dict[str, float]] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return ["step", "seconds", "loss", self.right, "validation_loss", self.score]

    def add(
        self, step: int, seconds: float, training: tuple[float, float], validation: tuple[float, float] | None
    ) -> None:
        """Add (loss, share that is right) of both."""
        held_out = validation if validation is not None else (math.nan, math.nan)
        if (step and not math.isfinite(training[0])) or (validation and not math.isfinite(validation[0])):
            raise LookalikeError(f"the loss is no longer finite after {step:,} steps: make learning_rate smaller")
        self.rows.append(dict(zip(self.columns, (step, seconds, *training, *held_out), strict=True)))

    def sentence(self) -> str:
        """Return the last row as a line for a log."""
        row = self.rows[-1]
        parts = [f"loss {row['loss']:.4f}, {self.right} {row[self.right]:.3f}"] if row["step"] else ["before the first"]
        if math.isfinite(row[self.score]):
            parts.append(f"held out: loss {row['validation_loss']:.4f}, {self.score} {row[self.score]:.3f}")
        return f"step {row['step']:,}: {'; '.join(parts)}"

    def table(self) -> pd.DataFrame:
        """Return all rows."""
        return pd.DataFrame(self.rows, columns=self.columns).astype({"step": "int64"})


@dataclass(frozen=True)
class Task:
    """What is trained on what."""

    network: Any
    """Trained in place."""
    source: ImageSource
    stream: Stream
    objective: Objective
    validate: Callable[[nn.Module], tuple[float, float]] | None
    """Loss, and share that is right, of held-out images."""
    curve: Curve
    made_by: dict[str, Any]
    """Plain values that decide the result, beside the settings, the stream and the initial weights."""
    weight: int = 1
    """What the mean loss of a batch is multiplied by: the number of its triplets makes it the sum of eq. 4."""


def optimiser_of(parameters: Iterable[torch.Tensor], settings: Settings) -> torch.optim.SGD:
    """Return Nesterov's gradient descent with weight decay."""
    rate, momentum, decay = settings.learning_rate, settings.momentum, settings.weight_decay
    # fused: one pass over the weights of a large network instead of six
    return torch.optim.SGD(parameters, rate, momentum, weight_decay=decay, nesterov=momentum > 0, fused=True)


def training_seeds(seed: int) -> tuple[int, int, int]:
    """Return the seeds of the initial weights, of the batches and of dropout."""
    batches, dropout = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(2)
    return int(np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(1)[0]), int(batches), int(dropout)


def outputs(
    network: nn.Module, source: ImageSource, rows: NDArray[np.int64], batch: int, machine: Machine
) -> torch.Tensor:
    """Return what a network makes of the central windows of some rows, float32 in the memory of the processor."""
    device = next(network.parameters()).device
    with torch.inference_mode():
        read = batches(source, rows, batch=batch, n_workers=machine.n_workers, device=device)
        return torch.cat([network(images).float() for images in read]).cpu()


def train(task: Task, settings: Settings, machine: Machine, seed: int) -> Trained:
    """Take all steps of a task, from the beginning or from its checkpoint; `seed` is of dropout."""
    device = devices.choose_device(machine.device)
    with devices.repeatable(device, machine.n_threads, seed):
        run = _Run(task, settings, machine, device)
        run.resume()
        run.take_steps()
        return run.result()


class _Run:
    """A run at some step: what a checkpoint keeps, and what is made anew at every start."""

    def __init__(self, task: Task, settings: Settings, machine: Machine, device: torch.device) -> None:
        self._task, self._settings, self._machine, self._device = task, settings, machine, device
        self._tell = machine.report if machine.report is not None else lambda line: None
        made_by = {
            **task.made_by,
            **{f"settings.{name}": value for name, value in asdict(settings).items()},
            "images": task.source.fingerprint(),
            "stream": task.stream.fingerprint(),
            "initial weights": checksum(tensor.cpu().numpy() for tensor in task.network.state_dict().values()),
            "code": code_checksum(),
        }
        self._checkpoint = Checkpoint(machine.checkpoint, machine.checkpoint_seconds, made_by)

        self._network = task.network.to(device, memory_format=torch.channels_last)
        self._precision = devices.choose_precision(device)
        # weights of all parameters decay (section 3), biases included
        self._optimiser = optimiser_of(self._network.parameters(), settings)
        self._scaler = torch.amp.GradScaler(device.type, enabled=self._precision == "float16")

        self._step, self._resumed, self._seconds, self._n_images = 0, 0, 0.0, 0
        # loss, share that is right and steps since the last row; float64, because thousands of steps are added
        self._sums = torch.zeros(3, dtype=torch.float32 if device.type == "mps" else torch.float64, device=device)

    def resume(self) -> None:
        """Go to where an earlier start stands, if there was one."""
        state, sentence = self._checkpoint.resume()
        if sentence:
            self._tell(sentence)
        if state is None:
            return
        self._network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._scaler.load_state_dict(state["scaler"])
        devices.set_random_states(state["random"], self._device)
        self._sums.copy_(state["sums"])
        self._step, self._resumed, self._seconds = state["step"], state["resumed"] + 1, state["seconds"]
        self._n_images = state["n_images"]
        self._task.curve.rows.extend(state["curve"])

    def take_steps(self) -> None:
        """Take the steps that are left."""
        settings, end = self._settings, self._settings.n_steps
        self._network.train()
        if self._step == 0 and not self._task.curve.rows:
            self._look()
        started = time.perf_counter()
        for images, target in self._batches(self._step, end):
            self._take_step(images, target)
            self._step += 1
            if self._machine.progress is not None:
                self._machine.progress(self._step, end)
            looks = self._step % settings.validation_interval == 0 or self._step == end
            if not looks and not self._checkpoint.is_due:
                continue
            if self._device.type != "cpu":
                # so that what the clock says is true
                torch.get_device_module(self._device).synchronize()
            self._seconds += time.perf_counter() - started
            if looks:
                self._look()
            if self._step == end or self._checkpoint.is_due:
                self._save()
            started = time.perf_counter()

    def result(self) -> Trained:
        """Return the network and how it came about."""
        fit = {
            "settings": asdict(self._settings),
            "n_steps": self._step,
            "n_parameters": sum(parameter.numel() for parameter in self._network.parameters()),
            "n_threads": self._machine.n_threads,
            "device": torch.cuda.get_device_name(self._device) if self._device.type == "cuda" else self._device.type,
            "precision": self._precision,
            "torch": str(torch.__version__),
            "seconds": self._seconds,
            "images_per_second": self._n_images / self._seconds if self._seconds else 0.0,
            "resumed": self._resumed,
        }
        return Trained(self._network.eval(), self._task.curve.table(), fit)

    def _batches(self, first: int, end: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield images and target of every step."""
        targets: deque[NDArray[np.int64]] = deque()

        def requests() -> Iterator[NDArray[np.int64]]:
            for asked, target in self._task.stream.batches(first, end):
                targets.append(target)
                yield asked

        for images in fetch(self._task.source, requests(), n_workers=self._machine.n_workers, device=self._device):
            yield images, torch.from_numpy(targets.popleft()).to(self._device, non_blocking=True)

    def _take_step(self, images: torch.Tensor, target: torch.Tensor) -> None:
        """Descend along the gradient of one batch."""
        for group in self._optimiser.param_groups:
            group["lr"] = self._settings.learning_rate_at(self._step)
        half = getattr(torch, self._precision) if self._precision != "float32" else None
        with torch.autocast(self._device.type, dtype=half) if half is not None else nullcontext():
            loss, right = self._task.objective(self._network(images), target)
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(self._scaler.scale(self._task.weight * loss))
        self._scaler.step(self._optimiser)
        self._scaler.update()
        # stays on the device: to look at a number there would wait for all its work
        self._sums += torch.stack([loss.detach(), right, torch.ones_like(right)])
        self._n_images += len(images)

    def _look(self) -> None:
        loss, right, steps = self._sums.tolist()
        training = (loss / steps, right / steps) if steps else (float("nan"), float("nan"))
        self._sums.zero_()
        validation = None
        if self._task.validate is not None:
            self._network.eval()
            validation = self._task.validate(self._network)
            self._network.train()
        self._task.curve.add(self._step, self._seconds, training, validation)
        self._tell(self._task.curve.sentence())

    def _save(self) -> None:
        """Write a checkpoint, where one is kept."""
        self._checkpoint.save(
            {
                "step": self._step,
                "resumed": self._resumed,
                "seconds": self._seconds,
                "network": self._network.state_dict(),
                "optimiser": self._optimiser.state_dict(),
                "scaler": self._scaler.state_dict(),
                "random": devices.random_states(self._device),
                "sums": self._sums.cpu(),
                "n_images": self._n_images,
                "curve": self._task.curve.rows,
            }
        )
