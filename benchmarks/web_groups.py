r"""Precision and speed where triplets in a row share their query image: the web study for several numbers.

Each ranker learns on the training images of one simulated data set, with the study's own code and no patience: W is
the one with the best mean average precision on held-out images. Test images then query each other. Rankers differ by
their triplets alone, and what stands after ± is their standard deviation. Nothing is chosen by test images. The files
are tables of docs/explanation/web.md:

    python benchmarks/web_groups.py --output docs/explanation/web-groups-demo.csv
    python benchmarks/web_groups.py --images 25000 --words 10000 --aggressiveness 0.1 --steps 1700000 --rankers 3 \
        --per-query 1 32 64 128 256 --output docs/explanation/web-groups.csv
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path

import limits
import pandas as pd

from lookalike.core.seeds import integer_seed
from lookalike.data.web_simulation import WebSimulation
from lookalike.studies.web import protocol
from lookalike.studies.web.settings import HeldOutLog, LogLearning, LogTest
from lookalike.studies.web.training_images import TrainingRows, Validation, split_training

BLOCK = 2_048
SCORES = 16
"""About how often mean average precision is measured while a ranker learns."""
SEED = 1


def simulation_of(arguments: Namespace) -> WebSimulation:
    """Return the demo's simulation, or one of the papers' words."""
    if arguments.words == 10_000:
        return WebSimulation(n_images=arguments.images)
    return WebSimulation(n_images=arguments.images, words=arguments.words, topics=100, topic_words=60, styles=120)


def rows_of_rankers(arguments: Namespace, folder: Path) -> list[dict[str, float]]:
    """Train and score; one row for every ranker and number of triplets per query."""
    simulation = simulation_of(arguments)
    log = simulation.query_log()
    simulation.write_images(folder / "images.parquet")
    images = pd.read_parquet(folder / "images.parquet")
    held_out = HeldOutLog(images=min(2_000, arguments.images // 5), queries=500)
    learned, chosen = split_training(log, images, held_out, SEED)
    rows = TrainingRows(simulation.visterms(0, simulation.n_images), learned)
    stream = integer_seed(SEED, "web", "validation_queries")
    validation = Validation.make(rows, log, chosen, held_out.queries, stream)
    interval = BLOCK * max(1, arguments.steps // (SCORES * BLOCK))
    learning = {"aggressiveness": arguments.aggressiveness, "steps": arguments.steps, "block": BLOCK}
    learning |= {"interval": interval, "patience": 0}
    test, report, table = LogTest(queries=10_000, neighbours=10), {"report": lambda line: None}, []
    kept = {"checkpoint": folder / "checkpoint", "checkpoint_seconds": 1e9}
    for ranker in range(arguments.rankers):
        for per_query in arguments.per_query:
            grouped = LogLearning(**learning, triplets_per_query=per_query)
            run, _ = protocol.train_ranker(log, rows, validation, grouped, str(ranker), seed=SEED, **kept, **report)
            (folder / "checkpoint" / "checkpoint.npz").unlink()
            systems = {"oasis": lambda W=run.W: W}
            precision = protocol.score_retrieval(systems, rows, images, log, test, seed=SEED, n_threads=1, **report)
            by_k = precision[precision["metric"] == "p@k"].set_index("x")
            row = {"triplets_per_query": per_query, "ranker": ranker, "n_train": len(rows), "steps": run.n_steps}
            row["best_map"] = 100 * max(point["map"] for point in run.curve)
            row |= {f"p{k}": 100 * by_k.loc[k, "value"] for k in (1, 10)}
            table.append(row | {"steps_per_cpu_second": run.n_steps / run.cpu_seconds})
            print(table[-1], flush=True)
    return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the rankers and their deviations, as text: a row for every number of triplets per query."""
    records = []
    for per_query, rows in table.groupby("triplets_per_query"):
        texts = {name: f"{rows[name].mean():.2f} ± {rows[name].std():.2f}" for name in ("best_map", "p1", "p10")}
        drawn = rows["steps"].mean() / per_query / rows["n_train"].mean()
        speed = f"{rows['steps_per_cpu_second'].median():,.0f}"
        row = {"Triplets per query image": per_query, "An image is the query": f"{drawn:.2g} times"}
        row |= {"Validation mAP (%)": texts["best_map"], "P@1 (%)": texts["p1"], "P@10 (%)": texts["p10"]}
        records.append(row | {"Steps per processor second": speed})
    return pd.DataFrame(records)


def main() -> None:
    arguments = limits.options(
        __doc__,
        "write the means to this CSV file",
        images=(14_000, "simulated images"),
        words=(4_000, "visterms"),
        aggressiveness=(1.0, "C"),
        steps=(65_536, "of a ranker"),
        rankers=(8, "seeds of the triplets"),
        per_query=([1, 2, 4, 8, 16, 32, 64], "triplets that share a query image"),
    )
    with tempfile.TemporaryDirectory() as folder:
        table = pd.DataFrame(rows_of_rankers(arguments, Path(folder)))
    result = summary(table)
    if arguments.output:
        result.to_csv(arguments.output, index=False)
    print(result.to_string(index=False))


if __name__ == "__main__":
    main()
