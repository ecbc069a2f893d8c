r"""What triplets in a row that share their query image do to precision and speed: the web study for several numbers.

Each ranker learns on the training images of one simulated data set, with the study's own code and no patience: W is
the one with the best mean average precision on held-out images. Test images then query each other. Rankers differ by
their triplets alone, and what stands after ± is their standard deviation. Nothing is chosen by test images. The files
are tables of docs/explanation/web.md:

    python benchmarks/web_groups.py --output docs/explanation/web-groups-demo.csv
    python benchmarks/web_groups.py --images 25000 --words 10000 --aggressiveness 0.1 --steps 1700000 --rankers 3 \
        --per-query 1 32 64 128 256 --output docs/explanation/web-groups.csv
"""

from __future__ import annotations

import os

# before numpy is imported
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import tempfile
from pathlib import Path

import pandas as pd

from lookalike.data.web_simulation import WebSimulation
from lookalike.features.visterm_store import VistermStore
from lookalike.studies.web import protocol

BLOCK = 2_048
SCORES = 16
"""About how often mean average precision is measured while a ranker learns."""
SEED = 1


def simulation_of(arguments: argparse.Namespace) -> WebSimulation:
    """Return the demo's simulation, or one of the papers' words."""
    if arguments.words == 10_000:
        return WebSimulation(n_images=arguments.images)
    return WebSimulation(arguments.images, words=arguments.words, topics=100, topic_words=60, styles=120)


def rows_of_rankers(arguments: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """Train and score; one row for every ranker and number of triplets per query."""
    simulation = simulation_of(arguments)
    log = simulation.query_log()
    simulation.write_images(folder / "images.parquet")
    simulation.write_shard(0, 1, folder / "visterms")
    images, store = pd.read_parquet(folder / "images.parquet"), VistermStore(folder / "visterms", simulation.words)
    held_out = {"images": min(2_000, arguments.images // 5), "queries": 500}
    files = {"rows_folder": folder / "rows", "validation_path": folder / "validation.npz"}
    rows, validation = protocol.prepare_training(log, images, store, held_out, theta=0.0, seed=SEED, **files)
    ids, gallery = protocol.test_rows(rows, store, images)
    interval = BLOCK * max(1, arguments.steps // (SCORES * BLOCK))
    settings = {
        "aggressiveness": arguments.aggressiveness, "steps": arguments.steps, "patience": 0, "tolerance": 0.0,
        "interval": interval, "mode": "sequential", "block": BLOCK,
    }  # fmt: skip
    table = []
    for ranker in range(arguments.rankers):
        for per_query in arguments.per_query:
            run, _ = protocol.train_ranker(
                log, rows, validation, settings | {"triplets_per_query": per_query}, ranker, seed=SEED, n_threads=1,
                checkpoint=folder / "checkpoint", checkpoint_seconds=1e9, report=lambda line: None,
            )  # fmt: skip
            (folder / "checkpoint" / "checkpoint.npz").unlink()
            precision = protocol.score_retrieval(
                {"oasis": lambda W=run.W: W}, ids, gallery, log, images["topic"].to_numpy(),
                {"queries": 10_000, "neighbours": 10}, seed=SEED, n_threads=1, report=lambda line: None,
            )  # fmt: skip
            by_k = precision[precision["metric"] == "p@k"].set_index("x")
            table.append({
                "triplets_per_query": per_query, "ranker": ranker, "n_train": len(rows), "steps": run.n_steps,
                "best_map": 100 * max(row["map"] for row in run.curve), "p1": 100 * by_k.loc[1, "value"],
                "p10": 100 * by_k.loc[10, "value"], "steps_per_cpu_second": run.n_steps / run.cpu_seconds,
            })  # fmt: skip
            print(table[-1], flush=True)
    return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the rankers and their deviations, as text: a row for every number of triplets per query."""
    records = []
    for per_query, rows in table.groupby("triplets_per_query"):
        texts = {name: f"{rows[name].mean():.2f} ± {rows[name].std():.2f}" for name in ("best_map", "p1", "p10")}
        drawn = rows["steps"].mean() / per_query / rows["n_train"].mean()
        speed = f"{rows['steps_per_cpu_second'].median():,.0f}"
        records.append({
            "Triplets a query image": per_query, "An image is drawn": f"{drawn:.2g} times",
            "Validation mAP (%)": texts["best_map"], "P@1 (%)": texts["p1"], "P@10 (%)": texts["p10"],
            "Steps a processor second": speed,
        })  # fmt: skip
    return pd.DataFrame(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=14_000, help="simulated images (14000, the demo's)")
    parser.add_argument("--words", type=int, default=4_000, help="visterms (4000)")
    parser.add_argument("--aggressiveness", type=float, default=1.0, help="C (1, the demo's)")
    parser.add_argument("--steps", type=int, default=65_536, help="of a ranker (65536)")
    parser.add_argument("--rankers", type=int, default=8, help="seeds of the triplets (8)")
    parser.add_argument("--per-query", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64], help="(1 ... 64)")
    parser.add_argument("--output", type=Path, required=True, help="write the means to this CSV file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = pd.DataFrame(rows_of_rankers(arguments, Path(folder)))
    result = summary(table)
    result.to_csv(arguments.output, index=False)
    print(result.to_string(index=False))


if __name__ == "__main__":
    main()
