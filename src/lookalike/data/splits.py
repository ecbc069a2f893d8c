"""Random partitions of a subset's images into training and test images (OASIS JMLR 5.3.2; draft 5.2.2).

Every (subset, fold, class) draws from a stream of its own, so that adding a subset, a fold or a class changes no other
line, and the images of the codebook pool are never drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lookalike.core.seeds import generator
from lookalike.data.subsets import keep_large_enough, usable_counts, usable_images


def make_splits(
    manifest: pd.DataFrame,
    pool: pd.DataFrame,
    classes: Sequence[str],
    *,
    n_folds: int,
    n_train: int,
    n_test: int,
    n_validation: int,
    seed: int,
    subset: str,
) -> pd.DataFrame:
    """Draw independent random partitions (40 train, 25 test, 8 validation a class): no cross-validation folds."""
    keep_large_enough(classes, usable_counts(manifest, pool), n_train + n_test)
    usable = usable_images(manifest, pool)
    # of each class and fold, the images drawn first validate, then train, the last test
    roles = {
        "role": ["train"] * n_train + ["test"] * n_test,
        "validation": [True] * n_validation + [False] * (n_train - n_validation + n_test),
    }
    parts = []
    for label in sorted(classes):
        image_ids = usable.loc[usable["label"] == label, "image_id"].sort_values().to_numpy()
        for fold in range(n_folds):
            order = generator(seed, "split", subset, fold, label).permutation(len(image_ids))
            drawn = image_ids[order[: n_train + n_test]]
            parts.append(pd.DataFrame({"fold": fold, "image_id": drawn, "label": label, **roles}))
    table = pd.concat(parts, ignore_index=True)
    table = table.astype({"fold": "int8", "image_id": "int32", "label": "str", "role": "str", "validation": "bool"})
    return table.sort_values(["fold", "role", "label", "image_id"], ignore_index=True)
