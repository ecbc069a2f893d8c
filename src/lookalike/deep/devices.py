"""Where a network is trained: the device, its precision, and what makes a run repeatable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from lookalike.core.errors import LookalikeError


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """Return a device of torch; ``"auto"`` is the accelerator that torch finds, else the processor."""
    if str(name) == "auto":
        # torch 2.6 knows no `check_available`
        found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        name = found or "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", 0)
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
    """Fix threads, algorithms and the seed of dropout for the block, and put them back.

    The seed goes to the generators of all devices; put back are those of the processor and of a CUDA `device` alone.
    """
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    memory: Any = torch.utils.deterministic
    fill = memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        torch.set_num_threads(n_threads)
        if device.type == "cpu":
            # an accelerator is left its fastest kernels, some of which add in an order that changes
            # `use_deterministic_algorithms` does the same, and loads torch's compiler for it, which takes two seconds
            torch.set_deterministic_debug_mode("error")
            # it guards against reading memory that nobody has written, and costs time
            memory.fill_uninitialized_memory = False
        try:
            yield
        finally:
            memory.fill_uninitialized_memory = fill
            torch.set_deterministic_debug_mode(mode)
            torch.set_num_threads(threads)


def random_states(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the states of torch's generators, which dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = torch.get_device_module(device).get_rng_state(*_named(device))
    return states


def set_random_states(states: dict[str, torch.Tensor], device: torch.device) -> None:
    """Put the generators where `random_states` found them; one of a device that was not used then stays as it is."""
    torch.set_rng_state(states["cpu"])
    if device.type in states and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[device.type], *_named(device))


def _named(device: torch.device) -> tuple[torch.device, ...]:
    """Return the argument by which a module of devices knows one: CUDA's has several, others are asked without."""
    return (device,) if device.type == "cuda" else ()
