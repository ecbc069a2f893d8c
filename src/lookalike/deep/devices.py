"""Where a network is trained: the device, its precision, what makes a run repeatable, and the processes of one run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import distributed

from lookalike.core.errors import LookalikeError


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """Return a device of torch; ``"auto"`` is the accelerator that torch finds, else the processor."""
    if str(name) == "auto":
        found = torch.accelerator.current_accelerator(check_available=True)
        name = found if found is not None else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None:
            # under torchrun, that of this process
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or ["not there"])[0]
        raise LookalikeError(f"the device {name} cannot be used ({reason}): say auto, cpu or another one") from error
    return device


def choose_precision(device: torch.device) -> str:
    """Return the precision of the passes: on a CUDA device bfloat16 where that is native, else scaled float16."""
    if device.type != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


@contextmanager
def repeatable(device: torch.device, n_threads: int, seed: int) -> Iterator[None]:
    """Fix threads, algorithms and the seed of dropout for the block, and put all of it back."""
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    settings: Any = torch.utils.deterministic
    fill = settings.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        torch.set_num_threads(n_threads)
        if device.type == "cpu":
            # an accelerator is left its fastest kernels, some of which add in an order that changes
            # `use_deterministic_algorithms` does the same, and loads torch's compiler for it, which takes two seconds
            torch.set_deterministic_debug_mode("error")
            # it guards against reading memory that nobody has written, and costs time
            settings.fill_uninitialized_memory = False
        try:
            yield
        finally:
            settings.fill_uninitialized_memory = fill
            torch.set_deterministic_debug_mode(before[1])
            torch.set_num_threads(before[0])


def random_states(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the states of torch's generators, which dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        module = torch.get_device_module(device)
        states[device.type] = module.get_rng_state(device) if device.type == "cuda" else module.get_rng_state()
    return states


def set_random_states(states: dict[str, torch.Tensor], device: torch.device) -> None:
    """Put the generators where `random_states` found them; one of a device that was not used then stays as it is."""
    torch.set_rng_state(states["cpu"])
    if device.type in states and device.type != "cpu":
        module, state = torch.get_device_module(device), states[device.type]
        _ = module.set_rng_state(state, device) if device.type == "cuda" else module.set_rng_state(state)


def rank() -> int:
    """Return the number of this process among those of the run; 0 writes."""
    return distributed.get_rank() if _is_parallel() else 0


def n_processes() -> int:
    """Return the number of processes of the run."""
    return distributed.get_world_size() if _is_parallel() else 1


def _is_parallel() -> bool:
    return distributed.is_available() and distributed.is_initialized()


@contextmanager
def process_group(device: torch.device) -> Iterator[None]:
    """Join the processes that torchrun started (gloo on processors, nccl on CUDA devices); without it, do nothing."""
    if "WORLD_SIZE" not in os.environ or int(os.environ["WORLD_SIZE"]) < 2:
        yield
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def same_everywhere(value: Any) -> Any:
    """Return what process 0 has for `value`."""
    if not _is_parallel():
        return value
    values = [value]
    distributed.broadcast_object_list(values, src=0)
    return values[0]


def gather(value: Any) -> list[Any]:
    """Return the values of all processes, in their order, on every process."""
    if not _is_parallel():
        return [value]
    values: list[Any] = [None] * n_processes()
    distributed.all_gather_object(values, value)
    return values


def total(sums: torch.Tensor) -> torch.Tensor:
    """Return the sum of a tensor over all processes."""
    if _is_parallel():
        sums = sums.clone()
        distributed.all_reduce(sums)
    return sums
