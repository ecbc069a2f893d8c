"""Which classes an experiment is about: the papers' published lists or a user's own, held against the manifest."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd


def read_published_subsets(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read the class lists of the papers.

    Parameters
    ----------
    path : str or path-like
        CSV with the columns ``subset`` and ``folder`` (``workflow/resources/class-subsets.csv``: OASIS draft, Appendix
        B, for ``easy10``, ``var10`` and ``var20``; JMLR, Appendix B, for ``classes50`` and ``classes249``).

    Returns
    -------
    dict of str to list of str
        Folder names of each subset in the printed order.
    """
    subsets: dict[str, list[str]] = {}
    try:
        with Path(path).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                subsets.setdefault(row["subset"], []).append(row["folder"])
    except OSError as error:
        raise LookalikeError(f"cannot read the class lists {path}: {error.strerror}") from error
    except KeyError as error:
        raise LookalikeError(
            f"{path} lacks the column {error}: class lists have the columns subset and folder"
        ) from error
    return subsets


def class_labels(manifest: pd.DataFrame) -> list[str]:
    """Sorted labels of a manifest's classes: every label with an image, usable or not, that is not clutter."""
    images = manifest.loc[manifest["status"].isin(["ok", "too_small", "unreadable"]), "label"]
    clutter = manifest.loc[manifest["status"] == "clutter", "label"]
    return sorted(set(images) - set(clutter))


def resolve_subset(
    spec: Sequence[str] | str, manifest: pd.DataFrame, published: Sequence[str] | None = None
) -> list[str]:
    """Turn what a user wrote into labels of the manifest.

    Parameters
    ----------
    spec : sequence of str, "all", "first N" or "published"
        Class folders ("003.backpack") or their bare names ("backpack"); case does not matter; underscore, blank and
        hyphen are equal. Or all classes, the first N in the order of their folders, or the papers' list.
    manifest : DataFrame
        As `lookalike.datasets.scan.scan_folder` makes it.
    published : sequence of str, optional
        What "published" stands for; see `read_published_subsets`.

    Returns
    -------
    list of str
        Labels in the order of `spec`; sorted for "all".

    Raises
    ------
    LookalikeError
        When a name is unknown or fits several folders, when a class is named twice, or when there are fewer than two.
    """
    labels = class_labels(manifest)
    if spec == "published":
        if published is None:
            raise LookalikeError("the papers print no class list of this subset's name: list its classes instead")
        spec = published
    if isinstance(spec, str):
        first = re.fullmatch(r"first (\d+)", spec)
        if spec != "all" and first is None:
            raise LookalikeError(f"classes must be a list of class names, all, first N or published, not {spec!r}")
        chosen = labels[: int(first[1])] if first else labels
        if first and len(chosen) < int(first[1]):
            raise LookalikeError(f"there are only {len(labels)} classes, not {first[1]}: {', '.join(labels)}")
    else:
        chosen = _resolve_names([str(name) for name in spec], labels)
    if len(chosen) < 2:
        raise LookalikeError(f"a subset needs at least two classes, not {len(chosen)}; there are {', '.join(labels)}")
    return chosen


def usable_counts(manifest: pd.DataFrame, pool: pd.DataFrame) -> dict[str, int]:
    """Count each class's images that a split may use: status ok and not in the codebook pool.

    Returns
    -------
    dict of str to int
        For every class of the manifest, sorted by label; 0 where none is usable.
    """
    usable = manifest[(manifest["status"] == "ok") & ~manifest["image_id"].isin(pool["image_id"])]
    counts = usable["label"].value_counts()
    return {label: int(counts.get(label, 0)) for label in class_labels(manifest)}


def drop_or_fail(
    classes: Sequence[str],
    counts: Mapping[str, int],
    needed: int = 65,
    too_small: Literal["error", "drop"] = "error",
) -> tuple[list[str], pd.DataFrame]:
    """Deal with classes that have too few usable images.

    Parameters
    ----------
    classes : sequence of str
        Labels of a subset.
    counts : mapping of str to int
        From `usable_counts`.
    needed : int
        Images that a class must have (40 training + 25 test).
    too_small : {"error", "drop"}
        Whether such a class is an error or is left out and listed.

    Returns
    -------
    kept : list of str
        The classes that have enough, in the order given.
    dropped : DataFrame
        ``label``, ``usable`` (int), ``reason`` of the others.

    Raises
    ------
    LookalikeError
        With "error" when a class is too small; with "drop" when fewer than two remain.
    """
    import pandas as pd

    if too_small not in ("error", "drop"):
        raise LookalikeError(f"too_small must be error or drop, not {too_small!r}")
    small = [label for label in classes if counts.get(label, 0) < needed]
    listed = ", ".join(f"{label} ({counts.get(label, 0)})" for label in small)
    if small and too_small == "error":
        raise LookalikeError(
            f"each class needs {needed} usable images besides the codebook's, and these have fewer: {listed}; "
            "add images to them, take them out of the subset, or set too_small to drop"
        )
    kept = [label for label in classes if label not in set(small)]
    if len(kept) < 2:
        raise LookalikeError(
            f"only {len(kept)} of {len(classes)} classes have the {needed} usable images that each needs; "
            f"add images, or use fewer for training and test; too small: {listed or 'none'}"
        )
    dropped = pd.DataFrame(
        {
            "label": pd.Series(small, dtype="str"),
            "usable": pd.Series([counts.get(label, 0) for label in small], dtype="int64"),
            "reason": pd.Series(
                [f"{counts.get(label, 0)} usable images, {needed} needed" for label in small], dtype="str"
            ),
        }
    )
    return kept, dropped


def _resolve_names(names: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Look names up, first as folders, then without the folder's number."""
    by_folder: dict[str, list[str]] = {}
    by_bare_name: dict[str, list[str]] = {}
    for label in labels:
        by_folder.setdefault(_plain(label), []).append(label)
        by_bare_name.setdefault(_bare(label), []).append(label)
    chosen, unknown = [], []
    for name in names:
        fits = [name] if name in labels else by_folder.get(_plain(name)) or by_bare_name.get(_plain(name)) or []
        if len(fits) > 1:
            raise LookalikeError(f"the class name {name!r} fits {' and '.join(fits)}: write the folder's name in full")
        chosen.extend(fits)
        unknown.extend([] if fits else [name])
    if unknown:
        raise _unknown_names(unknown, labels, sorted({*by_folder, *by_bare_name}))
    twice = [label for label, times in Counter(chosen).items() if times > 1]
    if twice:
        raise LookalikeError(f"named more than once in one subset: {', '.join(twice)}; name each class once")
    return chosen


def _unknown_names(unknown: Sequence[str], labels: Sequence[str], known: Sequence[str]) -> LookalikeError:
    """List what exists, the nearest names first."""
    near: list[str] = []
    for name in unknown:
        for match in get_close_matches(_plain(name), known, n=3):
            near.extend(label for label in labels if match in (_plain(label), _bare(label)) and label not in near)
    rest = [label for label in labels if label not in near]
    meant = f"did you mean {', '.join(near)}? " if near else ""
    others = f"the classes are {', '.join(rest)}" if not near else f"the others are {', '.join(rest) or 'none'}"
    return LookalikeError(f"no such class: {', '.join(unknown)}; {meant}{others}")


def _plain(name: str) -> str:
    """Spelling that ignores case and takes blank, underscore and hyphen for the same."""
    return re.sub(r"[ _-]+", "-", name.strip().lower())


def _bare(label: str) -> str:
    """Plain spelling of a folder's name without its number: "003.backpack" gives "backpack"."""
    return re.sub(r"^\d+\.", "", _plain(label))
