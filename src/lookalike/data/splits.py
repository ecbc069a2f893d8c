"""Which classes an experiment is about, the codebook pool, and random partitions into training and test images.

Classes are the papers' published lists or a user's own. The papers learned their codebook from "a separate set of
images" (OASIS, JMLR section 3): in its place all clutter images are set apart once per data set and, where these are
few, a share of each class. Partitions (JMLR 5.3.2; draft 5.2.2) take none of these. Every (subset, fold, class) has a
random stream of its own, so that adding a subset, a fold or a class changes no other line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError, existing
from lookalike.core.files import PathLike
from lookalike.core.seeds import generator

ENOUGH_CLUTTER = 500
"""Clutter images that make a pool by themselves: photographs of 300 x 200 pixels have 79 blocks each, together 39 for
each of the papers' 1,000 words, which is what faiss asks of k-means at least."""


def sample_codebook_pool(
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
        # a stream named after the class: a new class changes no other's sample
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
    """Make independent random partitions (40 train, 25 test, 8 validation a class): no cross-validation folds."""
    keep_large_enough(classes, usable_counts(manifest, pool), n_train + n_test)
    usable = usable_images(manifest, pool)
    # of each class and fold, the first images validate, then train, the last test
    roles = {
        "role": ["train"] * n_train + ["test"] * n_test,
        "validation": [True] * n_validation + [False] * (n_train - n_validation + n_test),
    }
    parts = []
    for label in sorted(classes):
        image_ids = usable.loc[usable["label"] == label, "image_id"].sort_values().to_numpy()
        for fold in range(n_folds):
            order = generator(seed, "split", subset, fold, label).permutation(len(image_ids))
            chosen = image_ids[order[: n_train + n_test]]
            parts.append(pd.DataFrame({"fold": fold, "image_id": chosen, "label": label, **roles}))
    table = pd.concat(parts, ignore_index=True)
    table = table.astype({"fold": "int8", "image_id": "int32", "label": "str", "role": "str", "validation": "bool"})
    return table.sort_values(["fold", "role", "label", "image_id"], ignore_index=True)


def read_published_subsets(path: PathLike) -> dict[str, list[str]]:
    """Read the papers' class lists: folders of each subset in the printed order, from a CSV with both columns."""
    table = pd.read_csv(path)
    return {str(name): rows["folder"].tolist() for name, rows in table.groupby("subset", sort=False)}


def class_labels(manifest: pd.DataFrame) -> list[str]:
    """Return sorted labels of a manifest's classes: every label with an image, usable or not, that is not clutter."""
    images = manifest.loc[manifest["status"].isin(["ok", "too_small", "unreadable"]), "label"]
    clutter = manifest.loc[manifest["status"] == "clutter", "label"]
    return sorted(set(images) - set(clutter))


def half_of(labels: Sequence[str], number: int, seed: int) -> list[str]:
    """Return one half of the classes: halves 2i - 1 and 2i are the two parts of the i-th random halving.

    It cuts an order of the sorted labels in its middle that depends on the root seed and i alone; of an odd number, the
    first half has one more. Of any even number of halves, each class is in exactly every second one.
    """
    halving, second = divmod(number - 1, 2)
    ordered = sorted(labels)
    order = generator(seed, "halving", halving + 1).permutation(len(ordered))
    middle = (len(ordered) + 1) // 2
    return sorted(ordered[place] for place in (order[middle:] if second else order[:middle]))


def resolve_subset(
    spec: Sequence[str] | str, manifest: pd.DataFrame, published: Sequence[str] | None = None, *, seed: int = 0
) -> list[str]:
    """Turn names of classes, "all", "first N", "half N" (`half_of`) or "published" into two or more labels."""
    labels = class_labels(manifest)
    if spec == "published":
        if published is None:
            raise LookalikeError("the papers print no class list of this subset's name: list its classes instead")
        spec = published
    if isinstance(spec, str):
        if (words := re.fullmatch(r"all|(first|half) (\d+)", spec)) is None:
            raise LookalikeError(
                f"classes must be a list of class names, all, first N, half N or published, not {spec!r}"
            )
        which, number = words[1], int(words[2] or len(labels))
        if which == "first" and number > len(labels):
            raise LookalikeError(f"there are only {len(labels)} classes, not {number}: {', '.join(labels)}")
        chosen = half_of(labels, number, seed) if which == "half" else labels[:number]
    else:
        chosen = _resolve_names([str(name) for name in spec], labels, _labels_without_images(manifest))
    if len(chosen) < 2:
        raise LookalikeError(f"a subset needs at least two classes, not {len(chosen)}; there are {', '.join(labels)}")
    return chosen


def usable_images(manifest: pd.DataFrame, pool: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the images that a split may use: status ok and not in the codebook pool."""
    return manifest[(manifest["status"] == "ok") & ~manifest["image_id"].isin(pool["image_id"])]


def usable_counts(manifest: pd.DataFrame, pool: pd.DataFrame) -> dict[str, int]:
    """Count the images of each class of the manifest that a split may use, sorted by label; 0 where none is usable."""
    counts = usable_images(manifest, pool)["label"].value_counts()
    return {label: int(counts.get(label, 0)) for label in class_labels(manifest)}


def keep_large_enough(
    classes: Sequence[str], counts: Mapping[str, int], needed: int = 65, too_small: Literal["error", "drop"] = "error"
) -> list[str]:
    """Return the classes that have `needed` usable images by `counts` (40 training + 25 test)."""
    small = [label for label in classes if counts.get(label, 0) < needed]
    kept = [label for label in classes if label not in set(small)]
    listed = ", ".join(f"{label} ({counts.get(label, 0)})" for label in small) or "none"
    if small and too_small == "error":
        raise LookalikeError(
            f"each class needs {needed} usable images besides the codebook's, and these have fewer: {listed}; "
            "add images to them, take them out of the subset, or set too_small to drop"
        )
    if len(kept) < 2:
        few = f"only {len(kept)} of {len(classes)} classes have the {needed} usable images that each needs"
        raise LookalikeError(f"{few}; add images, or use fewer for training and test; too small: {listed}")
    return kept


def left_out(small: Iterable[str], others: Iterable[str], counts: Mapping[str, int], needed: int) -> pd.DataFrame:
    """List the classes that a subset leaves out: those with too few images, then others than a published list has."""
    rows = [(label, counts.get(label, 0), f"{counts.get(label, 0)} usable images, {needed} needed") for label in small]
    rows += [(label, counts[label], "not in the published list") for label in others]
    types = {"label": "str", "usable": "int64", "reason": "str"}
    return pd.DataFrame(rows, columns=list(types)).astype(types)


def _labels_without_images(manifest: pd.DataFrame) -> dict[str, str]:
    """Return class folders that hold no image at all, and why each does not."""
    with_images = manifest.loc[manifest["status"] != "not_an_image", "label"]
    others = manifest[~manifest["label"].isin(with_images)]
    reasons = {}
    for label, rows in others.groupby("label", sort=True):
        name = str(label)
        if list(rows["path"]) == [name]:  # the folder itself: empty, or a link
            reasons[name] = str(rows["reason"].iloc[0])
        elif name and not name.startswith("."):
            reasons[name] = f"none of its {len(rows)} files is an image (manifest.parquet says why of each)"
    return reasons


def _resolve_names(names: Sequence[str], labels: Sequence[str], without_images: Mapping[str, str]) -> list[str]:
    """Look names up, first as folders, then without the folder's number."""
    chosen, unknown = [], []
    for name in names:
        fits = _labels_like(name, labels) or _labels_like(name, list(without_images))
        if len(fits) > 1:
            raise LookalikeError(f"the class name {name!r} fits {' and '.join(fits)}: write the folder's name in full")
        chosen += fits
        unknown += [] if fits else [name]
    if unknown:
        raise LookalikeError(f"no such class: {', '.join(unknown)}; {existing(unknown[0], labels)}")
    if empty := [
        f"{label} has no usable image: {without_images[label]}" for label in chosen if label in without_images
    ]:
        raise LookalikeError(f"{'; '.join(empty)}; put images into it, or take it out of the subset")
    twice = [label for label, times in Counter(chosen).items() if times > 1]
    if twice:
        raise LookalikeError(f"named more than once in one subset: {', '.join(twice)}; name each class once")
    return chosen


def _labels_like(name: str, labels: Sequence[str]) -> list[str]:
    """Return labels that a name may stand for: itself, else those spelled like it, else those without their number."""
    if name in labels:
        return [name]
    plain = _plain(name)
    without_number = [label for label in labels if re.sub(r"^\d+\.", "", _plain(label)) == plain]
    return [label for label in labels if _plain(label) == plain] or without_number


def _plain(name: str) -> str:
    """Spell a name so that it ignores case and takes blank, underscore and hyphen for the same."""
    return re.sub(r"[ _-]+", "-", name.strip().lower())
