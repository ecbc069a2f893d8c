"""The codebook pool: the images that palette and codebook are learned from, and that no split may use.

The papers learned their codebook from "a separate set of images" (JMLR, section 3). In its place a share of each class
and all clutter images are set aside once per data set, independently of any subset: nothing leaks into an evaluation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator


def draw_codebook_pool(manifest: pd.DataFrame, *, share: float, keep: int, seed: int) -> pd.DataFrame:
    """Set aside all clutter, and of each class a `share` (0..1) of its usable images; `keep` stay at least."""
    chosen = [manifest.loc[manifest["status"] == "clutter", "image_id"].to_numpy()]
    usable = manifest[manifest["status"] == "ok"]
    for label, images in usable.groupby("label", sort=True)["image_id"]:
        n_draw = max(0, min(round(share * len(images)), len(images) - keep))
        # a stream named after the class: a new class changes no other's draw
        order = generator(seed, "codebook pool", str(label)).permutation(len(images))
        chosen.append(np.sort(images.to_numpy())[order[:n_draw]])
    image_ids = np.concatenate(chosen)
    if not len(image_ids):
        raise LookalikeError(
            f"no image can be set aside for the codebook: no class has more than {keep} usable images (or the share, "
            f"{share}, is too small) and there is no clutter; add images, or a folder of clutter, or raise the share, "
            "or keep fewer images per class"
        )
    return manifest.loc[manifest["image_id"].isin(image_ids), ["image_id", "label"]].reset_index(drop=True)
