"""Training steps of the paper-size Deep Ranking network: seconds, memory and share of the machine's peak, beside peers.

A step is the forward and backward pass over a batch of triplets and the update by Nesterov momentum with weight decay.
Pixels are random. Four ways to do it take turns in one run:

- lookalike: one pass over all images of the batch, channels last, our local response normalisation;
- lookalike, three passes: query, positive and negative images each on their own, as public implementations do it;
- lookalike, torch's normalisation: `torch.nn.functional.local_response_norm` in place of ours;
- plain AlexNet: the ConvNet path alone as a `torch.nn.Sequential` of torch's layers in torch's own memory order, with
  neither low-resolution paths nor linear embedding, so with a third fewer weights and less to compute.

On the processor with one thread seconds are those that the thread had, so that what else runs on the machine weighs
little, and peak memory is that of a fresh process which does two steps. On an accelerator each way is measured in
float32 and under automatic mixed precision (bfloat16). The peak is what a large product of two matrices reaches there
in the same precision in the same run.

    python benchmarks/deep_ranking.py --triplets 2 --output deep_ranking.json
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from statistics import median
from typing import Any
from unittest import mock

import limits
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from lookalike.deep import network as networks
from lookalike.deep.configuration import PAPER, SMALL, NetworkConfiguration
from lookalike.deep.loss import triplet_hinges
from lookalike.deep.network import DeepRankingNetwork

GAP = 0.5
Embed = Callable[[Tensor], Tensor]
CONFIGURATIONS = {"paper": PAPER, "small": SMALL}
MEMORY_OF = "--memory-of"


class PlainAlexNet(nn.Module):
    """The ConvNet path of a configuration in torch's own layers, at length 1."""

    def __init__(self, configuration: NetworkConfiguration) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for layer in configuration.convolutions:
            size = (layer.channels, layer.kernel, layer.stride, layer.padding)
            layers += [nn.Conv2d(channels, *size, groups=layer.groups), nn.ReLU()]
            if layer.normalised:
                layers.append(nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2.0))
            if layer.pool:
                layers.append(nn.MaxPool2d(layer.pool, layer.pool_stride))
            channels = layer.channels
        layers.append(nn.Flatten())
        width = channels * configuration.map_side**2
        for number, next_width in enumerate(configuration.fully_connected):
            drop = [nn.Dropout(1 - configuration.keep_probability)] if number else []
            layers += [*drop, nn.Linear(width, next_width), nn.ReLU()]
            width = next_width
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Return vectors of length 1 for uint8 images of shape (n, side, side, 3)."""
        pixels = ((images.float() - 127.5) / 64).permute(0, 3, 1, 2).contiguous()
        return functional.normalize(self.layers(pixels).float(), dim=1)


def torch_normalisation(maps: Tensor) -> Tensor:
    return functional.local_response_norm(maps, 5, alpha=5e-4, beta=0.75, k=2.0)


class Way:
    """One way to do a step, with its own weights and optimiser."""

    def __init__(self, name: str, configuration: NetworkConfiguration, device: torch.device) -> None:
        plain = name == "plain AlexNet"
        network: nn.Module = PlainAlexNet(configuration) if plain else DeepRankingNetwork(configuration)
        self.network = network.to(device) if plain else network.to(device, memory_format=torch.channels_last)
        self.optimiser = torch.optim.SGD(
            network.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=0.002, fused=True
        )
        self.passes = 3 if name == "lookalike, three passes" else 1
        self.own_normalisation = name == "lookalike, torch's normalisation"
        self.n_parameters = sum(parameter.numel() for parameter in network.parameters())

    def loss(self, images: Tensor, mixed: bool) -> Tensor:
        """Return the ranking loss of a batch: all queries, all positives, all negatives."""
        replaced = mock.patch.object(networks, "local_response_normalisation", torch_normalisation)
        precision = torch.autocast(images.device.type, dtype=torch.bfloat16) if mixed else nullcontext()
        with replaced if self.own_normalisation else nullcontext(), precision:
            vectors = torch.cat([self.network(part) for part in images.chunk(self.passes)])
        return triplet_hinges(*vectors.chunk(3), GAP).mean()

    def step(self, images: Tensor, mixed: bool = False) -> float:
        """Do one step and return its seconds without the update."""
        start = clock()
        self.optimiser.zero_grad()
        self.loss(images, mixed).backward()
        wait(images.device)
        seconds = clock() - start
        self.optimiser.step()
        wait(images.device)
        return seconds


WAYS = ("lookalike", "lookalike, three passes", "lookalike, torch's normalisation", "plain AlexNet")


def check_agreement() -> None:
    """Stop unless all ways give the same loss for the same weights, the low-resolution paths left out."""
    configuration = replace(SMALL, multiscale=False, keep_probability=1.0)
    cpu = torch.device("cpu")
    images = random_images(configuration, 2, cpu)
    ways = {name: Way(name, configuration, cpu) for name in WAYS}
    expected = ways["lookalike"].loss(images, mixed=False)
    for name, way in ways.items():
        pairs = zip(way.network.parameters(), ways["lookalike"].network.parameters(), strict=True)
        with torch.no_grad():
            for theirs, ours in pairs:
                theirs.copy_(ours)
        if not torch.allclose(way.loss(images, mixed=False), expected, atol=1e-4):
            raise SystemExit(f"{name} computes another loss than lookalike: its speed means nothing")


def clock() -> float:
    """Seconds: those of the processor where one thread computes on it, so that what else runs weighs little."""
    on_one_thread = torch.get_num_threads() == 1 and not torch.cuda.is_available()
    return time.process_time() if on_one_thread else time.perf_counter()


def wait(device: torch.device) -> None:
    """Wait for the accelerator to finish what it was given."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def random_images(configuration: NetworkConfiguration, triplets: int, device: torch.device) -> Tensor:
    size = (3 * triplets, configuration.input_size, configuration.input_size, 3)
    return torch.randint(0, 256, size, dtype=torch.uint8, generator=torch.Generator().manual_seed(0)).to(device)


def operations(way: Way, images: Tensor) -> int:
    """Floating-point operations of a step's products and convolutions, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        way.loss(images, mixed=False).backward()
    return int(counter.get_total_flops())


def peak(device: torch.device, mixed: bool) -> float:
    """Operations per second of a large product of two matrices, the best of five."""
    size, repeats = (2048, 1) if device.type == "cpu" else (8192, 20)
    a, b = (torch.rand(size, size, device=device, dtype=torch.bfloat16 if mixed else torch.float32) for _ in range(2))
    seconds = []
    for _ in range(6):
        start = clock()
        for _ in range(repeats):
            a @ b
        wait(device)
        seconds.append((clock() - start) / repeats)
    return 2 * size**3 / min(seconds[1:])


def measure(arguments: Namespace, device: torch.device, mixed: bool) -> list[dict[str, Any]]:
    """Measure all ways in turns, `repeat` steps each after one that does not count."""
    configuration = CONFIGURATIONS[arguments.network]
    # first, because Linux counts what the parent held among the most that a process ever held
    memory = {name: peak_bytes(name, arguments) for name in WAYS} if device.type == "cpu" else {}
    images = random_images(configuration, arguments.triplets, device)
    ways = {name: Way(name, configuration, device) for name in WAYS}
    passes: dict[str, list[float]] = {name: [] for name in WAYS}
    steps: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(arguments.repeat + 1):
        for name, way in ways.items():
            start = clock()
            seconds = way.step(images, mixed)
            if turn:
                passes[name].append(seconds)
                steps[name].append(clock() - start)
    machine_peak = peak(device, mixed)
    results = []
    for name, way in ways.items():
        n_operations, step, forth_and_back = operations(way, images), median(steps[name]), median(passes[name])
        row = {"way": name, "precision": "bfloat16, mixed" if mixed else "float32", "n_parameters": way.n_parameters}
        row |= {"seconds_per_step": step, "seconds_forward_and_backward": forth_and_back}
        row |= {"images_per_second": len(images) / step, "operations_per_step": n_operations}
        row |= {"share_of_peak": n_operations / forth_and_back / machine_peak}
        row |= {"peak_operations_per_second": machine_peak}
        row |= {"lookalike_is_times_as_fast": step / median(steps["lookalike"])}
        results.append(row | {"peak_bytes": memory.get(name) or device_bytes(way, images, mixed)})
    return results


def peak_bytes(name: str, arguments: Namespace) -> int:
    """Peak memory of a fresh process that does two steps."""
    numbers = [str(arguments.triplets), str(arguments.threads)]
    command = [sys.executable, __file__, MEMORY_OF, name, arguments.network, *numbers]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def device_bytes(way: Way, images: Tensor, mixed: bool) -> int:
    """Peak memory of one step on an accelerator, what the other ways hold there included."""
    if images.device.type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats(images.device)
    way.step(images, mixed)
    return torch.cuda.max_memory_allocated(images.device)


def print_memory(name: str, network: str, triplets: str, threads: str) -> None:
    torch.set_num_threads(int(threads))
    way = Way(name, CONFIGURATIONS[network], torch.device("cpu"))
    for _ in range(2):
        way.step(random_images(CONFIGURATIONS[network], int(triplets), torch.device("cpu")))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(most if sys.platform == "darwin" else most * 1024)


def main() -> None:
    if sys.argv[1:2] == [MEMORY_OF]:
        print_memory(*sys.argv[2:])
        return
    arguments = limits.options(
        __doc__,
        network=("paper", "paper or small"),
        triplets=(2, "triplets of a step"),
        repeat=(3, "steps of each way"),
        threads=(1, "threads on the processor"),
        device=("cpu", "cpu, or a device of torch such as cuda"),
    )
    torch.set_num_threads(arguments.threads)
    check_agreement()
    device = torch.device(arguments.device)
    results = [
        row for mixed in (False, True)[: 1 + (device.type != "cpu")] for row in measure(arguments, device, mixed)
    ]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else limits.processor()
    print(f"{arguments.network} network, {arguments.triplets} triplets a step, random pixels, {device.type}: {name}")
    limits.print_table(results, ["n_parameters", "operations_per_step", "peak_operations_per_second"])
    settings = {key: getattr(arguments, key) for key in ("network", "triplets", "repeat", "threads")}
    limits.keep(arguments.output, device=name, settings=settings, data="random pixels", results=results)


if __name__ == "__main__":
    main()
