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

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.memory_format import convert_conv2d_weight_memory_format

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.fingerprint import fingerprint
from lookalike.core.settings.model import plain
from lookalike.deep import devices
from lookalike.deep.checkpoints import Checkpoint, checksum
from lookalike.deep.images import ImageSource, batches, fetch
from lookalike.deep.network import Network
from lookalike.deep.plateau import Plateau
from lookalike.deep.settings import Settings
from lookalike.deep.streams import Stream

Objective = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""Outputs and target to the mean loss of the batch, with gradient, and the share of it that is right."""
CODE = ("deep/pretraining.py", "deep/ranking.py")
"""Modules that a checkpoint depends on, with all that they import: no run mixes two versions of them."""


@dataclass(frozen=True)
class Trained:
    """What a training run leaves behind."""

    network: Network
    """The network with the weights of its best look, in evaluation mode, on the device that it was trained on."""
    curve: pd.DataFrame
    """One row for every look: `Curve`."""
    fit: dict[str, object]
    """How it was trained, for ``fit.json``: settings, steps, and (only here) seconds, rate and the device."""
    kept_step: int
    """Step of the best look."""


@dataclass(frozen=True)
class Machine:
    """Where and how a run is done; nothing here decides the result but by the rounding of sums.

    A run that is killed and started again with the same arguments and torch goes on from its checkpoint; on a
    processor with the same number of threads to the same bits. The checkpoint of a run with others is ignored, which
    `report` is told. The caller removes the file once it has written the result.
    """

    device: str | torch.device = "auto"
    n_threads: int = 1
    """Of torch, on a processor."""
    n_workers: int = 0
    """Processes that read images ahead."""
    checkpoint: PathLike | None = None
    """A file that the run keeps itself in."""
    checkpoint_seconds: float = 60.0
    """How often."""
    report: Callable[[str], None] | None = None
    """Gets a line at every row of the curve."""
    progress: Callable[[int, int], None] | None = None
    """Called as ``progress(done, all)`` after every step."""


@dataclass
class Curve:
    """A row for every look: the mean loss since the row before, under dropout, and that of held-out images, without."""

    right: str
    """Column of the share of what is right in training: ``accuracy`` or ``triplet_accuracy``."""
    score: str
    """Column of that of held-out images."""
    rows: list[dict[str, float]] = field(default_factory=list)

    def add(
        self, step: int, seconds: float, training: tuple[float, float], held_out: tuple[float, float] | None
    ) -> str:
        """Add (loss, share that is right) of both, and return the row as a line for a log."""
        if (step and not math.isfinite(training[0])) or (held_out and not math.isfinite(held_out[0])):
            raise LookalikeError(f"the loss is no longer finite after {step:,} steps: make learning_rate smaller")
        loss, score = held_out or (math.nan, math.nan)
        row = {"step": step, "seconds": seconds, "loss": training[0], self.right: training[1]}
        self.rows.append(row | {"validation_loss": loss, self.score: score})
        line = f"loss {training[0]:.4f}, {self.right} {training[1]:.3f}" if step else "before the first"
        if math.isfinite(score):
            line += f"; held out: loss {loss:.4f}, {self.score} {score:.3f}"
        return f"step {step:,}: {line}"

    def table(self) -> pd.DataFrame:
        """Return all rows."""
        columns = ["step", "seconds", "loss", self.right, "validation_loss", self.score]
        return pd.DataFrame(self.rows, columns=columns).astype({"step": "int64"})


@dataclass(frozen=True)
class Task:
    """What is trained on what."""

    network: Network
    """Trained in place."""
    source: ImageSource
    stream: Stream
    objective: Objective
    validate: Callable[[nn.Module], tuple[float, float]] | None
    """Loss, and share that is right, of held-out images."""
    curve: Curve
    origin: dict[str, object]
    """Plain values that decide the result, beside the settings, the stream and the initial weights."""
    weight: int = 1
    """What the mean loss of a batch is multiplied by: the number of its triplets makes it the sum of eq. 4."""


@dataclass
class _Progress:
    """How far a run is."""

    step: int = 0
    kept: int = 0
    """Step of the best look, whose weights are kept."""
    resumed: int = 0
    seconds: float = 0.0
    n_images: int = 0


def optimiser_of(parameters: Iterable[torch.Tensor], settings: Settings) -> torch.optim.SGD:
    """Return Nesterov's gradient descent with weight decay."""
    rate, momentum, decay = settings.learning_rate, settings.momentum, settings.weight_decay
    parameters = list(parameters)
    # fused: one pass over the weights of a large network instead of six
    optimiser = torch.optim.SGD(parameters, rate, momentum, weight_decay=decay, nesterov=momentum > 0, fused=True)
    if momentum:
        # torch leaves its own unwritten where the first step is skipped because float16 overflows
        for parameter in parameters:
            optimiser.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimiser


def training_seeds(seed: int) -> tuple[int, int, int]:
    """Return the seeds of the initial weights, of the batches and of dropout."""
    batches, dropout = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(2)
    return int(np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(1)[0]), int(batches), int(dropout)


def outputs(
    network: nn.Module, source: ImageSource, rows: NDArray[np.int64], batch: int, machine: Machine
) -> torch.Tensor:
    """Return the outputs of a network for the central windows of some rows, float32 in the processor's memory."""
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
    """A run at some step: what a checkpoint keeps, and what every start makes for itself."""

    def __init__(self, task: Task, settings: Settings, machine: Machine, device: torch.device) -> None:
        self._task, self._settings, self._machine, self._device = task, settings, machine, device
        self._report = machine.report if machine.report is not None else lambda line: None
        origin = {
            **task.origin,
            **{f"settings.{name}": value for name, value in plain(settings).items()},
            "images": task.source.fingerprint(),
            "stream": task.stream.fingerprint(),
            "initial weights": checksum(tensor.cpu().numpy() for tensor in task.network.state_dict().values()),
            "code": fingerprint(*CODE),
            # without what it was built for, such as "+cpu"
            "torch version": torch.__version__.partition("+")[0],
        }
        self._checkpoint = Checkpoint(machine.checkpoint, machine.checkpoint_seconds, origin)
        self._network = convert_conv2d_weight_memory_format(task.network.to(device), torch.channels_last)
        self._precision = devices.choose_precision(device)
        # weights of all parameters decay (section 3), biases included
        self._optimiser = optimiser_of(self._network.parameters(), settings)
        self._scaler = torch.amp.GradScaler(device.type, enabled=self._precision == "float16")
        self._progress, self._plateau = _Progress(), Plateau(settings.patience, settings.drops)
        self._best: dict[str, torch.Tensor] = {}
        # loss, share that is right and steps since the last row; float64, because thousands of steps are added
        self._sums = torch.zeros(3, dtype=torch.float32 if device.type == "mps" else torch.float64, device=device)

    def resume(self) -> None:
        """Go to where an earlier start stands, if there was one."""
        state, sentence = self._checkpoint.resume()
        if sentence:
            self._report(sentence)
        if state is None:
            return
        self._network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        if state["scaler"]:
            # it is empty where passes were not in float16
            self._scaler.load_state_dict(state["scaler"])
        devices.set_random_states(state["random"], self._device)
        self._sums.copy_(state["sums"])
        self._plateau, self._best = Plateau(**state["plateau"]), state["best"]
        self._progress = _Progress(**{name: state[name] for name in asdict(self._progress)})
        self._progress.resumed += 1
        self._task.curve.rows.extend(state["curve"])

    def take_steps(self) -> None:
        """Take the steps that are left, until held-out images no longer improve."""
        progress, end = self._progress, self._settings.n_steps
        self._network.train()
        if progress.step == 0 and not self._task.curve.rows:
            self._look()
        started = time.perf_counter()
        for images, target in self._batches(progress.step, progress.step if self._plateau.has_ended else end):
            self._take_step(images, target)
            progress.step += 1
            if self._machine.progress is not None:
                self._machine.progress(progress.step, end)
            looks = progress.step % self._settings.validation_interval == 0 or progress.step == end
            if not looks and not self._checkpoint.is_due:
                continue
            if self._device.type != "cpu":
                # so that what the clock says is true
                torch.get_device_module(self._device).synchronize()
            progress.seconds += time.perf_counter() - started
            if looks:
                self._look()
            is_last = progress.step == end or self._plateau.has_ended
            if is_last or self._checkpoint.is_due:
                self._save()
            if is_last:
                break
            started = time.perf_counter()

    def result(self) -> Trained:
        """Return the network and how it came about."""
        progress = self._progress
        if self._best:
            self._network.load_state_dict(self._best)
        fit = {
            "settings": plain(self._settings),
            "n_steps": progress.step,
            "kept_step": progress.kept,
            "finished": self._plateau.has_ended,
            "n_parameters": sum(parameter.numel() for parameter in self._network.parameters()),
            "n_threads": self._machine.n_threads,
            "device": torch.cuda.get_device_name(self._device) if self._device.type == "cuda" else self._device.type,
            "precision": self._precision,
            "torch": str(torch.__version__),
            "seconds": progress.seconds,
            "images_per_second": progress.n_images / progress.seconds if progress.seconds else 0.0,
            "resumed": progress.resumed,
        }
        return Trained(self._network.eval(), self._task.curve.table(), fit, progress.kept)

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
            group["lr"] = self._settings.learning_rate * self._plateau.share
        half = getattr(torch, self._precision) if self._precision != "float32" else None
        with torch.autocast(self._device.type, dtype=half) if half is not None else nullcontext():
            loss, right = self._task.objective(self._network(images), target)
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(self._scaler.scale(self._task.weight * loss))
        self._scaler.step(self._optimiser)
        self._scaler.update()
        # stays on the device: to look at a number there would wait for all its work
        self._sums += torch.stack([loss.detach(), right, torch.ones_like(right)])
        self._progress.n_images += len(images)

    def _look(self) -> None:
        """Add a row to the curve, and keep the weights if held-out images have their least loss with them."""
        loss, right, steps = self._sums.tolist()
        self._sums.zero_()
        training = (loss / steps, right / steps) if steps else (math.nan, math.nan)
        held_out = None
        self._network.eval()
        if self._task.validate is not None:
            held_out = self._task.validate(self._network)
        self._network.train()
        self._report(self._task.curve.add(self._progress.step, self._progress.seconds, training, held_out))
        if held_out is None:
            self._progress.kept = self._progress.step
        elif self._plateau.look(-held_out[0]):
            self._progress.kept = self._progress.step
            self._best = {name: tensor.clone() for name, tensor in self._network.state_dict().items()}

    def _save(self) -> None:
        """Write a checkpoint, where one is kept."""
        parts = {"network": self._network, "optimiser": self._optimiser, "scaler": self._scaler}
        state = asdict(self._progress) | {name: part.state_dict() for name, part in parts.items()}
        state |= {"random": devices.random_states(self._device), "sums": self._sums.cpu()}
        state |= {"plateau": asdict(self._plateau), "best": self._best}
        self._checkpoint.save(state | {"curve": self._task.curve.rows})
