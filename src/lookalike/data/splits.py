"""The codebook pool, and random partitions into training and test images (OASIS JMLR 5.3.2; draft 5.2.2).

The papers learned their codebook from "a separate set of images" (JMLR, section 3). In its place all clutter images are
set aside once per data set and, where these are few, a share of each class: no split draws them. Every (subset, fold,
class) draws from a stream of its own, so that adding a subset, a fold or a class changes no other line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data.subsets import keep_large_enough, usable_counts, usable_images

ENOUGH_CLUTTER = 500
"""Clutter images that make a pool by themselves: photographs of 300 x 200 pixels have 79 blocks each, together 39 for
each of the papers' 1,000 words, which is what faiss asks of k-means at least."""


def draw_codebook_pool(
    manifest: pd.DataFrame, *, share: float, keep: int, seed: int, images: str = "auto"
) -> pd.DataFrame:
    """Set aside all clutter and, unless it is enough by itself or `images` is ``clutter``, a `share` (0..1) of the
    usable images of each class, of which at least `keep` stay.
    """
    chosen = [manifest.loc[manifest["status"] == "clutter", "image_id"].to_numpy()]
    if images == "clutter" or (images == "auto" and len(chosen[0]) >= ENOUGH_CLUTTER):
        # a class of 80 images that lends 15 has exactly 65 left: all its partitions would re-cut the same images
        share = 0.0
    usable = manifest[manifest["status"] == "ok"]
    for label, own in usable.groupby("label", sort=True)["image_id"]:
        n_draw = max(0, min(round(share * len(own)), len(own) - keep))
        # a stream named after the class: a new class changes no other's draw
        order = generator(seed, "codebook pool", str(label)).permutation(len(own))
        chosen.append(np.sort(own.to_numpy())[order[:n_draw]])
    image_ids = np.concatenate(chosen)
    if not len(image_ids):
        why = f"no class has more than {keep} usable images (or the share, {share:g}, is too small)"
        raise LookalikeError(
            f"no image can be set aside for the codebook: {why} and there is no clutter; add images, or a folder of "
            "clutter, or raise the share, or keep fewer images per class"
        )
    return manifest.loc[manifest["image_id"].isin(image_ids), ["image_id", "label"]].reset_index(drop=True)


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
