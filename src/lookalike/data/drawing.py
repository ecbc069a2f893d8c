"""What all sets of images drawn by code share: a fingerprint of their settings, and writing them in shards."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVarTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing

Member = TypeVarTuple("Member")


def fingerprint(spec: Any, recipe: int) -> str:
    """Twelve hexadecimal digits that any other number of a set, or of the recipe that it is drawn by, would change."""
    facts = {field.name: type(getattr(type(spec), field.name))(getattr(spec, field.name)) for field in fields(spec)}
    return hashlib.sha256(json.dumps(facts | {"recipe": recipe}, sort_keys=True).encode()).hexdigest()[:12]


def require(kind: str, condition: bool, name: str, value: object, allowed: str) -> None:
    """Refuse a number of a kind of set."""
    if not condition:
        raise LookalikeError(f"synthetic {kind}: {name} is {value}; choose a value {allowed}")


@contextmanager
def scratch_folder(folder: str | os.PathLike[str], part: str) -> Iterator[Path]:
    """Yield a folder for unfinished files beside `folder`, so that none of them is ever listed as an image.

    Only the writer of `part` uses it, so it goes at the end with whatever a killed run of that part left in it.
    """
    root = Path(folder).resolve()
    scratch = root.with_name(f".{root.name}.{part}.parts")
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_shard(
    members: Iterable[tuple[*Member]],
    path_of: Callable[[*Member], str],
    draw: Callable[[*Member], npt.NDArray[np.uint8]],
    folder: str | os.PathLike[str],
    shard: int,
    n_shards: int,
    quality: int,
) -> int:
    """Draw and write every `n_shards`-th image of a set as JPEG, and return how many these are.

    The files do not depend on how many shards there are, and each appears whole or not at all: unfinished ones lie in
    ``.<folder>.<shard>.parts`` beside the folder.
    """
    if not 0 <= shard < n_shards:
        raise LookalikeError(f"synthetic images: shard is {shard} of {n_shards}; count shards from 0")
    mine = list(itertools.islice(members, shard, None, n_shards))
    with scratch_folder(folder, str(shard)) as scratch:
        for member in mine:
            with replacing(Path(folder) / path_of(*member), scratch) as part:
                Image.fromarray(draw(*member)).save(part, format="JPEG", quality=quality)
    return len(mine)
