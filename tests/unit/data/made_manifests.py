"""A manifest made by hand, for tests that need no image."""

import pandas as pd

TEXT = str(pd.Series(["text"]).dtype)
"""Type of a column of text: str, or object up to pandas 2."""


def manifest_of(counts):
    """Rows in path order: `counts` maps a label to its number of files of each status."""
    rows = []
    for label, statuses in counts.items():
        listed = [status for status, times in statuses.items() for _ in range(times)]
        rows += [(f"{label}/{n:04d}.jpg", label, 300, 200, 1000, "00", status, "") for n, status in enumerate(listed)]
    columns = ["path", "label", "width", "height", "bytes", "sha256", "status", "reason"]
    table = pd.DataFrame(sorted(rows), columns=columns).rename_axis("image_id").reset_index()
    return table.astype({"image_id": "int32", "width": "int32", "height": "int32"})
