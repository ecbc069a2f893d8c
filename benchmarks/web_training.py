"""Steps per second of OASIS at web scale: groups of steps beside single steps and plain NumPy.

The images and the query log are simulated (`lookalike.data.web_simulation`): about 70 of 10,000 words an image,
drawn with Zipf exponent 0.8, and triplets of co-queried images. W is trained first, since a trained W
has fewer losses than the identity and a step without a loss writes nothing; the loss rate is part of the result. Then
the methods take turns, each from the same W, on triplets that it has not seen before:

- sequential: the compiled step of `OASIS.fit`, as `large_scale.train` takes it;
- a query: the same with so many triplets in a row that share their query image (`learners.kernels`);
- NumPy: the same step on the block of W at the non-zeros only (np.ix_), float32, one thread.

All of them include drawing the triplets and weighting the rows. Wall time means something on a quiet machine only;
processor time, of all threads together, stands beside it, and so does the load. What bounds single steps is how fast
one core reads cache lines of W here and there; what bounds groups is how fast it goes through whole rows. Both are
measured, as bytes a second.

    python benchmarks/web_training.py --output results/benchmarks/web_training.json
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import limits
import numpy as np

from lookalike.core.kernels import njit
from lookalike.data.query_log import QueryLog
from lookalike.data.web_simulation import WebSimulation
from lookalike.studies.web import large_scale
from lookalike.studies.web.large_scale import BLOCK
from lookalike.studies.web.query_triplets import QueryTripletSampler
from lookalike.studies.web.settings import LogLearning
from lookalike.studies.web.training_images import TrainingRows

AGGRESSIVENESS = 0.1
CHUNKS = 1_000_000
"""Distance between the numbers of the triplet chunks of two methods, so that none sees those of another."""


class Timing(NamedTuple):
    """One turn of one method."""

    seconds: float
    cpu_seconds: float
    losses: int
    steps: int


class OneMethod:
    """Takes steps in one way on whatever W it is given; its triplets begin at a chunk of its own."""

    def __init__(self, rows: TrainingRows, source: QueryTripletSampler, number: int, block: int = BLOCK) -> None:
        self._learning = LogLearning(aggressiveness=AGGRESSIVENESS, interval=block, block=block)
        self._rows, self._source = rows, source
        self._chunk = number * CHUNKS

    def take(self, W: np.ndarray, n_steps: int) -> Timing:
        """Take at least so many steps on W."""
        n_blocks = max(1, n_steps // self._learning.block)
        wall, cpu = time.perf_counter(), time.process_time()
        blocks = range(self._chunk, self._chunk + n_blocks)
        losses, _ = large_scale.take_blocks(W, self._rows, self._source, self._learning, blocks)
        self._chunk += n_blocks
        return Timing(time.perf_counter() - wall, time.process_time() - cpu, losses, n_blocks * self._learning.block)


class NumPy:
    """A NumPy loop over the block of W at the non-zeros only (np.ix_), float32."""

    BLOCK = 64

    def __init__(self, rows: TrainingRows, source: QueryTripletSampler, number: int) -> None:
        self._rows, self._source, self._chunk = rows, source, number * CHUNKS
        self._difference = np.zeros(rows.n_features, dtype=np.float32)

    def take(self, W: np.ndarray, n_steps: int) -> Timing:
        """Take at least so many steps on W."""
        n_blocks, losses = max(1, n_steps // self.BLOCK), 0
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(n_blocks):
            losses += self._block(W)
            self._chunk += 1
        return Timing(time.perf_counter() - wall, time.process_time() - cpu, losses, n_blocks * self.BLOCK)

    def _block(self, W: np.ndarray) -> int:
        triplets = self._source.chunk(self._chunk, self.BLOCK)
        indptr, indices, data, _ = self._rows.take(triplets.ravel())
        images = [(indices[a:b], data[a:b]) for a, b in pairwise(indptr)]
        difference, losses = self._difference, 0
        for t in range(0, len(images), 3):
            (index, value), positive, negative = images[t : t + 3]
            difference[positive[0]] = positive[1]
            difference[negative[0]] -= negative[1]
            support = np.union1d(positive[0], negative[0])
            v = difference[support]
            difference[support] = 0
            block = np.ix_(index, support)
            loss = 1 - value @ W[block] @ v
            if loss > 0:
                losses += 1
                norm = value @ value * (v @ v)
                if norm > 0:
                    W[block] += min(AGGRESSIVENESS, loss / norm) * np.outer(value, v)
        return losses


@njit(cache=True, fastmath=True)
def _sum_columns(W: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Any:
    total = np.float32(0)
    for i in range(rows.shape[0]):
        for j in range(columns.shape[1]):
            total += W[np.uintp(rows[i]), np.uintp(columns[i, j])]
    return total


def read_speed(W: np.ndarray, n_lines: int) -> float:
    """Return the bytes a second at which one core reads so many cache lines of each of 20,000 random rows of W."""
    random, width = np.random.default_rng(0), 64 // W.itemsize
    rows = random.integers(0, len(W), 20_000).astype(np.uint32)
    lines = [np.sort(random.choice(len(W) // width, n_lines, replace=False)) for _ in range(100)]
    columns = (np.array(lines * 200) * width).astype(np.uint32)
    _sum_columns(W, rows[:1], columns[:1])
    start = time.process_time()
    _sum_columns(W, rows, columns)
    return 64.0 * columns.size / (time.process_time() - start)


def simulate(simulation: WebSimulation) -> tuple[TrainingRows, QueryLog]:
    """Return the rows of all simulated images, and their log."""
    n = simulation.n_images
    return TrainingRows(simulation.visterms(0, n), np.arange(n)), simulation.query_log()


def check_agreement() -> None:
    """Stop unless all methods learn one and the same W from the same triplets."""
    small = WebSimulation(n_images=2_000, words=500, nonzeros=30, topic_words=40, style_words=40)
    rows, log = simulate(small)
    learned, source = [], QueryTripletSampler(log, 0, triplets_per_query=4)
    methods: list[Any] = [OneMethod(rows, source, 1, block=NumPy.BLOCK), NumPy(rows, source, 1)]
    for method in methods:
        W = np.eye(small.words, dtype=np.float32)
        method.take(W, 10 * NumPy.BLOCK)
        learned.append(W)
    if not all(np.allclose(W, learned[0], atol=1e-4) for W in learned) or np.allclose(learned[0], np.eye(small.words)):
        raise SystemExit("the methods learn different matrices: their speed means nothing")


def make_methods(rows: TrainingRows, log: QueryLog, groups: list[int]) -> dict[str, tuple[dict[str, Any], Any, int]]:
    """Return each method's settings, the method, and by what the number of its steps is divided."""
    source = QueryTripletSampler(log, 0)
    methods: dict[str, tuple[dict[str, Any], Any, int]] = {
        "NumPy, non-zeros only (np.ix_)": ({"threads": 1}, NumPy(rows, source, 1), 64),
        "sequential": ({"threads": 1}, OneMethod(rows, source, 2), 4),
    }
    for per_query in groups:
        shared = QueryTripletSampler(log, 0, triplets_per_query=per_query)
        method = OneMethod(rows, shared, 2 + len(methods))
        methods[f"{per_query} a query"] = {"threads": 1, "triplets_per_query": per_query}, method, 1
    return methods


def measure(methods: dict[str, tuple[dict[str, Any], Any, int]], W: np.ndarray, n_steps: int, repeat: int) -> list[Any]:
    """Return what each method took, in `repeat` turns."""
    turns: dict[str, list[Timing]] = {name: [] for name in methods}
    start = W.copy()
    for _ in range(repeat):
        for name, (_, method, divisor) in methods.items():
            W[:] = start
            turns[name].append(method.take(W, n_steps // divisor))
    sequential = median(turn.steps / turn.seconds for turn in turns["sequential"])
    results = []
    for name, (settings, _, _) in methods.items():
        speeds = [turn.steps / turn.seconds for turn in turns[name]]
        steps = sum(turn.steps for turn in turns[name])
        results.append(
            {
                "method": name,
                **settings,
                "steps_per_second": {"median": median(speeds), "best": max(speeds), "all": speeds},
                "cpu_microseconds_per_step": 1e6 * sum(turn.cpu_seconds for turn in turns[name]) / steps,
                "loss_rate": sum(turn.losses for turn in turns[name]) / steps,
                "times_as_fast_as_sequential": median(speeds) / sequential,
            }
        )
    return results


def benchmark(arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate, train for a while and measure."""
    simulation = WebSimulation(n_images=arguments.images)
    rows, log = simulate(simulation)
    W = np.eye(rows.n_features, dtype=np.float32)
    methods = make_methods(rows, log, arguments.groups)
    first = OneMethod(rows, QueryTripletSampler(log, 0), 0)
    identity = first.take(W, 1)
    warm = first.take(W, arguments.warm_steps)
    before = os.getloadavg()
    results = measure(methods, W, arguments.steps, arguments.repeat)
    return {
        "data": "simulated",
        "images": len(rows),
        "dimensions": rows.n_features,
        "mean_non_zeros": float(np.diff(rows.take(np.arange(len(rows)))[0]).mean()),
        "warm_steps": identity.steps + warm.steps,
        "loss_rate_of_first_block": identity.losses / identity.steps,
        "bytes_a_second": {
            "cache lines here and there": read_speed(W, 97),
            "whole rows": read_speed(W, W.shape[1] * W.itemsize // 64),
        },
        "load_average": {"before": before, "after": os.getloadavg()},
        "results": results,
    }


def main() -> None:
    parser = limits.argument_parser(__doc__)
    parser.add_argument("--images", type=int, default=50_000, help="simulated images (50000)")
    parser.add_argument("--groups", type=int, nargs="*", default=[4, 16, 32, 64, 128], help="(4 16 32 64 128)")
    parser.add_argument("--warm-steps", type=int, default=300_000, help="taken before anything is measured (300000)")
    parser.add_argument("--steps", type=int, default=32_768, help="of a turn; the slower methods take fewer (32768)")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each method (3)")
    arguments = parser.parse_args()
    if min(arguments.steps, arguments.repeat, arguments.warm_steps) < 1:
        parser.error("--warm-steps, --steps and --repeat must be at least 1")

    large_scale.warm_up()
    check_agreement()
    result = benchmark(arguments)
    print(
        f"{result['images']:,} simulated images of {result['mean_non_zeros']:.0f} non-zeros, d = "
        f"{result['dimensions']:,}, after {result['warm_steps']:,} steps; "
        f"load {result['load_average']['before'][0]:.1f}"
    )
    limits.print_table([result["bytes_a_second"]])
    limits.print_table([row | row["steps_per_second"] for row in result["results"]], ["steps_per_second", "all"])
    limits.write(arguments.output, **result)


if __name__ == "__main__":
    main()
