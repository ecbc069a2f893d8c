"""The golden numbers: a hundred numbers of the tiny run, by key, with how far another run may be off.

``make golden`` makes the tiny run and writes ``tests/golden.csv``. Read the difference before you commit it: a number
that moved by more than its tolerance has a reason, and the commit says which.
"""

import subprocess
from pathlib import Path

import pandas as pd
from project import ROOT, TINY_DEMO, Project

GOLDEN = Path(__file__).resolve().parents[1] / "golden.csv"
CHOSEN = (
    ("demo", {"metric": "map"}),
    ("demo", {"metric": "p@10", "setting": "demo20"}),
    ("demo/human", {"metric": ["map", "precision_at_1", "standard_deviation_over_raters", "random_good"]}),
    ("demo_landmarks", {"metric": ["map", "sparsity"]}),
    ("websim_demo", {"metric": "p@k", "x": 10}),
    ("demo_triplets", {"metric": "similarity_precision", "setting": "triplets=all"}),
)
"""Study and rows of its table of metrics; a number is the mean of a row over folds, and over landmarks."""
TOLERANCES = dict.fromkeys(("demo_triplets", "demo_landmarks"), 0.05)
"""Half of the last digit that exhibits print, where the numbers are in percent."""
TOLERANCE = 0.0005
"""The same of the others, which exhibits print in percent."""


def golden_numbers(results):
    """Key, value and tolerance of every golden number of a folder of results."""
    parts = []
    for study, wanted in CHOSEN:
        metrics = pd.read_parquet(results / study / "results.parquet")
        for column, value in wanted.items():
            metrics = metrics[metrics[column].isin(value if isinstance(value, list) else [value])]
        # of the parts of a setting, those of all together
        is_part = metrics["setting"].str.contains("=") & ~metrics["setting"].str.contains("landmark=mean|triplets=all")
        metrics = metrics[~is_part].assign(setting=metrics["setting"].where(~metrics["setting"].str.contains("="), ""))
        names = metrics[["setting", "method", "metric"]].agg(" ".join, axis=1).str.split().str.join(" ")
        means = metrics.groupby(study + " " + names, sort=True)["value"].mean().round(6)
        parts.append(means.rename_axis("key").reset_index().assign(tolerance=TOLERANCES.get(study, TOLERANCE)))
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    tiny, folder = Project(ROOT), ROOT / "results" / "tiny"
    command = tiny.command(TINY_DEMO, "--directory", str(folder))
    subprocess.run(command, cwd=ROOT, env=tiny.environment(), check=True)
    golden_numbers(folder / "results").to_csv(GOLDEN, index=False)
