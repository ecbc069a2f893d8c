"""A manifest made by hand, for tests that need no image."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd


def manifest_of(counts: Mapping[str, Mapping[str, int]]) -> pd.DataFrame:
    """Rows in path order: `counts` maps a label to its number of files of each status."""
    rows = []
    for label, statuses in counts.items():
        number = 0
        for status, times in statuses.items():
            for _ in range(times):
                rows.append((f"{label}/{number:04d}.jpg", label, 300, 200, 1000, "00", status, ""))
                number += 1
    table = pd.DataFrame(
        sorted(rows), columns=["path", "label", "width", "height", "bytes", "sha256", "status", "reason"]
    )
    table.insert(0, "image_id", range(len(table)))
    return table.astype({"image_id": "int32", "width": "int32", "height": "int32"})
