"""The codebook pool: the images that palette and codebook are learned from, and that no split may use.

The papers learned their codebook from a separate web collection. In its place a share of each class (and all clutter
images) is set aside once per data set, before and independently of any subset, so nothing leaks into an evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator

if TYPE_CHECKING:
    import pandas as pd


def draw_codebook_pool(manifest: pd.DataFrame, *, share: float, keep: int, seed: int) -> pd.DataFrame:
    """Set images aside for the codebook.

    Parameters
    ----------
    manifest : DataFrame
        As `lookalike.datasets.scan.scan_folder` makes it.
    share : float
        Part of each class's usable images to take, 0..1.
    keep : int
        Usable images that every class keeps at least (65 = 40 training + 25 test images in the papers' protocol).
    seed : int
        Seed of this data set's pool, derived from the root seed. Each class has a stream of its own, named after it,
        so a new class changes no other's draw.

    Returns
    -------
    DataFrame
        ``image_id`` int32 and ``label`` str of the images set aside, sorted by ``image_id``: all clutter images and the
        draw of each class.

    Raises
    ------
    LookalikeError
        When `share` or `keep` is out of range, or nothing can be set aside.

    Notes
    -----
    Replaces "a separate set of images" of the JMLR paper, section 3.
    """
    import numpy as np

    if not 0 <= share <= 1 or keep < 0:
        raise LookalikeError(f"codebook pool: share must be in 0..1 and keep at least 0, not {share} and {keep}")
    chosen = [manifest.loc[manifest["status"] == "clutter", "image_id"].to_numpy()]
    usable = manifest[manifest["status"] == "ok"]
    for label, images in usable.groupby("label", sort=True)["image_id"]:
        n_draw = max(0, min(round(share * len(images)), len(images) - keep))
        order = generator(seed, "codebook pool", str(label)).permutation(len(images))
        chosen.append(np.sort(images.to_numpy())[order[:n_draw]])
    image_ids = np.sort(np.concatenate(chosen))
    if not len(image_ids):
        raise LookalikeError(
            f"no image can be set aside for the codebook: no class has more than {keep} usable images (or the share, "
            f"{share}, is too small) and there is no clutter; add images, or a folder of clutter, or raise the share, "
            "or keep fewer images per class"
        )
    return manifest.loc[manifest["image_id"].isin(image_ids), ["image_id", "label"]].reset_index(drop=True)
