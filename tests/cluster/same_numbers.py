"""Compare the numbers of two folders of results to the bit: `python same_numbers.py LOCAL OTHER`.

Times stand in other files than `results.parquet`, and are not compared.
"""

import sys
from pathlib import Path

import pandas as pd


def compare(local: Path, other: Path) -> str:
    """Say how many numbers are the same; an assertion names the first table that differs."""
    tables = sorted(path.relative_to(local) for path in local.rglob("results.parquet"))
    assert tables, f"no numbers in {local}"
    n = 0
    for table in tables:
        ours = pd.read_parquet(local / table)
        pd.testing.assert_frame_equal(ours, pd.read_parquet(other / table), check_exact=True, obj=str(table))
        n += int(ours.select_dtypes("number").size)
    return f"{n:,} numbers in {len(tables)} tables are the same"


if __name__ == "__main__":
    print(compare(Path(sys.argv[1]), Path(sys.argv[2])))
