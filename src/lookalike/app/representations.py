"""Descriptions of one's own images: learned on some images, then made of any, and kept in a cache between two calls."""

from __future__ import annotations

import hashlib
import json
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL
from safetensors.numpy import load, save

from lookalike import __version__
from lookalike.core.errors import LookalikeError
from lookalike.core.files import check_regular, replacing, sum_of, without_sum
from lookalike.core.model_file import About, Arrays
from lookalike.core.seeds import generator
from lookalike.features.describers import (
    NAMES,
    VISTERMS,
    Describer,
    StageProgress,
    Vectors,
    make_describer,
    silent,
    thread_pool,
)

Files = tuple[list[Path], list[str]]
"""Images, and the SHA-256 of each."""
MAX_LEARNING_IMAGES = 1000
"""Images that a codebook is learned from at most: of more, so many are chosen by the seed."""
_TOGETHER = 16
"""Images that a thread describes at a time, and that an entry of the cache holds."""
VERSIONS = [__version__, cv2.__version__, PIL.__version__]
"""Of what makes descriptions: another one may make others, so each has its own in the cache."""


class Cache:
    """Entries by group, which says all that decides them: a SHA-256 and compressed safetensors; damaged ones go."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def read(self, group: str) -> Iterator[Arrays]:
        """Yield the arrays of each entry of a group."""
        paths: list[Path] = []
        with suppress(OSError):
            paths = [] if self._folder is None else sorted((self._folder / group).glob("*.kept"))
        for path in paths:
            with suppress(OSError):
                try:
                    check_regular(path)
                    content = without_sum(path.read_bytes(), group)
                except (ValueError, LookalikeError):
                    if path.is_file():
                        path.unlink()
                    continue
                yield load(zlib.decompress(content))

    def write(self, group: str, name: str, arrays: Arrays) -> None:
        """Keep arrays as the entry of that name."""
        if self._folder is None:
            return
        packed = zlib.compress(save({name: np.asarray(array, order="C") for name, array in arrays.items()}))
        try:
            with replacing(self._folder / group / f"{name}.kept") as part:
                part.write_bytes(sum_of(packed, group) + packed)  # moved to another group, it is not taken
        except (OSError, LookalikeError) as error:
            self._folder = None
            warnings.warn(f"nothing is cached any more: {str(error).partition(';')[0]}", stacklevel=2)


def make_representation(name: str, **settings: Any) -> CachedDescriber:
    """Make ``"visterms"``, or a describer of the fine-grained study, not fitted yet."""
    if name == VISTERMS:
        from lookalike.features.bag_of_visterms import BagOfVisterms

        return CachedDescriber(BagOfVisterms(**settings))
    if name not in NAMES:
        known = ", ".join([VISTERMS, *NAMES])
        raise LookalikeError(f"there is no representation {name!r}: take one of {known}, or a .lookalike file")
    return CachedDescriber(make_describer(name, **settings))


def restored_representation(about: About, arrays: Arrays) -> CachedDescriber:
    """Make what a model file holds of its representation."""
    try:
        found = make_representation(about["name"], **about["settings"])
    except LookalikeError as error:  # which knows no file
        raise ValueError(str(error)) from error
    found.describer.restore(arrays)
    found.learned = True
    return found


@dataclass(frozen=True)
class Workers:
    """How images are worked on: so many at a time, with a cache, and who is told how far it is."""

    jobs: int = 1
    cache: Cache = field(default_factory=Cache)
    progress: StageProgress = silent


@dataclass
class CachedDescriber:
    """What turns images into rows: a describer, fitted on the images that are learned from, and its cache."""

    describer: Describer
    learned: bool = False
    """Whether it comes from a model file: `fit` then takes it as it is."""

    def fit(self, files: Files, seed: int, work: Workers) -> Vectors:
        """Learn from images, in an order that the file system does not decide, and return their rows, float32."""
        if not self.learned:
            chosen = generator(seed, "own images", "codebook").permutation(len(files[0]))[:MAX_LEARNING_IMAGES]
            paths, names = ([part[place] for place in np.sort(chosen)] for part in files)
            self._learn_or_find((paths, names), seed, work)
        vectors = self.describe(files, work)
        if not self.learned:
            self.describer.fit_weights(vectors)
        return self.describer.weigh(vectors)

    def _learn_or_find(self, files: Files, seed: int, work: Workers) -> None:
        """Learn from images, unless the cache has what was learned from them."""
        key = f"codebook-{hashlib.sha256(self._made_by(seed, files[1])).hexdigest()[:24]}"
        for arrays in work.cache.read(key):
            self.describer.restore(arrays)
            return
        self.describer.fit_files(*files, seed, work.jobs, work.progress)
        if self.describer.needs_fit:
            work.cache.write(key, "learned", self.describer.arrays())

    def describe(self, files: Files, work: Workers) -> Vectors:
        """Describe images, those that the cache has excepted, as they are before `weigh`."""
        key, path_of = self._key(), dict(zip(files[1], files[0], strict=True))
        kept = (pair for arrays in work.cache.read(key) for pair in arrays.items())
        rows = {name: self.describer.stacked([vector]) for name, vector in kept if name in path_of}
        missing = [name for name in path_of if name not in rows]
        chunks = [missing[start : start + _TOGETHER] for start in range(0, len(missing), _TOGETHER)]

        def described(chunk: Sequence[str]) -> Arrays:
            # each is read when it is described, and its content then is what it is known by
            return {name: self.describer.describe_file(path_of[name], name) for name in chunk}

        with thread_pool(work.jobs) as pool:
            for vectors in pool.map(described, chunks):
                rows |= {name: self.describer.stacked([vector]) for name, vector in vectors.items()}
                # kept at once, as a run that is killed loses little
                work.cache.write(key, hashlib.sha256("".join(vectors).encode()).hexdigest()[:24], vectors)
                work.progress("describing images", len(rows), len(path_of))
        return stacked([rows[name] for name in files[1]])

    def _made_by(self, *others: object) -> bytes:
        """Return what decides descriptions, beside what is learned, as text: code, name, settings, and others."""
        parts = [VERSIONS, self.describer.system, self.describer.settings(), *others]
        return json.dumps(parts, sort_keys=True).encode()

    def _key(self) -> str:
        """Return the name of this representation in the cache."""
        digest = hashlib.sha256(self._made_by())
        for name, array in sorted(self.describer.arrays().items()):
            if name not in self.describer.weights:  # these come after what is cached
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"{self.describer.system}-{digest.hexdigest()[:24]}"


def stacked(parts: Sequence[Vectors]) -> Vectors:
    """Put rows below one another; sparse ones stay so."""
    if not hasattr(parts[0], "indptr"):
        return np.concatenate(parts)
    from scipy.sparse import vstack  # slow to import, and only visterms need it

    return vstack(parts, format="csr")
