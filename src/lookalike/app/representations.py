"""Descriptions of one's own images: learned on some images, then made of any, and kept in a cache between two calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import PIL
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from lookalike import __version__
from lookalike.app.cache import Cache
from lookalike.core.arrays import Bytes, Floats, Reals
from lookalike.core.errors import LookalikeError
from lookalike.core.files import sha256_of
from lookalike.core.images import UnreadableImage
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
    unit_rows,
)

MAX_LEARNING_IMAGES = 1000
"""Images that a codebook is learned from at most: of more, so many are drawn by the seed."""
_TOGETHER = 16
"""Images that a thread describes at a time, and that an entry of the cache holds."""
_LARGEST_LEARNED = 64 * 2**20  # bytes; 10,000 words of visterms take 3 MB
VERSIONS = [__version__, cv2.__version__, PIL.__version__]
"""Of what makes descriptions: another one may make others, so each has its own in the cache."""
_CHANGED, _GONE = "it was changed while images were described", "it was removed while images were described"
_SHA256, _MARGIN = 32, 4096  # bytes of an image's name in the cache, and of what stands around an entry's arrays


@checked_dataclass(kw_only=True, eq=False)
class GivenVectors(Describer, system="vectors", title="Vectors", distance="l2", learned=("mean",), weights=("mean",)):
    """Vectors that the user has: nothing is described; all are moved by one vector and divided by one number.

    That changes no order before learning. After it, (a - m)'W(b - m) / s^2 orders rows b as the inner product with
    W'(a - m) / s^2 does: a gallery stays as it is.

    Parameters
    ----------
    dimensions : int
        Numbers of a vector.
    centred : bool
        Whether the mean of the vectors that are learned from is taken from all; sparse ones would become dense by it.
    scale : float, default=1.0
        What vectors are divided by then: the mean length of those that are learned from.
    """

    dimensions: Annotated[int, Field(ge=1)]
    centred: bool
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    @property
    def n_dimensions(self) -> int:
        """Return the numbers of a vector."""
        return self.dimensions

    def _describe(self, image: Bytes) -> Floats:
        raise LookalikeError("a model of vectors describes no images: give it vectors")

    def fit_weights(self, vectors: Vectors) -> None:
        """Take the mean, and the mean length: margins and steps of learners suit rows about 0 of length 1.

        Lengths that are too large for the vectors' type are a ValueError.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused below
            if self.centred:
                self.mean = vectors.mean(axis=0, dtype=np.float64)
                vectors = vectors - self.mean.astype(vectors.dtype)
                part, exponent = _near_one(vectors)
                squares = np.einsum("ij,ij->i", part, part, dtype=np.float64)
            else:
                self.mean, vectors = np.empty(0), vectors.copy()
                vectors.data, exponent = _near_one(vectors.data)
                squares = vectors.multiply(vectors).sum(axis=1)
            scale = float(np.ldexp(np.sqrt(squares.astype(np.float64)).mean(), exponent))
            if not np.isfinite(vectors.dtype.type(scale)):
                raise ValueError("the mean length of its rows is too large for their type: divide them by a number")
        self.scale = scale or 1.0

    def weigh(self, vectors: Vectors) -> Vectors:
        """Return vectors, moved and divided."""
        kind = vectors.dtype.type
        return (vectors - self.mean.astype(kind) if self.centred else vectors) / kind(self.scale)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"mean": (self.dimensions if self.centred else 0,)}


def _near_one(values: Reals) -> tuple[Reals, int]:
    """Return values divided by a power of 2, so that no square overflows or vanishes, and its exponent; exact."""
    exponent = int(np.frexp(np.abs(values).max(initial=0))[1])
    return np.ldexp(values, -exponent), exponent


def make_representation(name: str, words: int | None = None, **settings: Any) -> CachedDescriber:
    """Make ``"visterms"``, which alone have words, or a describer of the fine-grained study, not fitted yet."""
    if name == VISTERMS:
        from lookalike.features.bag_of_visterms import BagOfVisterms

        return CachedDescriber(BagOfVisterms(words=words, **settings))
    if name == GivenVectors.system:
        return CachedDescriber(GivenVectors(**settings))
    if name not in NAMES:
        known = ", ".join([VISTERMS, *NAMES])
        raise LookalikeError(f"there is no representation {name!r}: take one of {known}, or a .lookalike file")
    if words is not None:
        raise LookalikeError(f"--words is for visterms only, and {name} has none: leave it out, or use visterms")
    return CachedDescriber(make_describer(name, **settings))


def restored_representation(about: About, arrays: Arrays) -> tuple[CachedDescriber, Arrays]:
    """Make what a model file holds of its representation, and of the components that its rows are brought to."""
    parts: dict[str, Arrays] = {"representation": {}, "reduction": {}}
    for name, array in arrays.items():
        part, _, rest = name.partition(".")
        parts[part][rest] = array
    try:
        found = make_representation(about["name"], **about["settings"])
    except LookalikeError as error:  # which knows no file
        raise ValueError(str(error)) from error
    found.describer.restore(parts["representation"])
    found.learned = True
    return found, parts["reduction"]


def onto_components(rows: Vectors, reduction: Arrays) -> Vectors:
    """Bring rows to the components that `fit_components` found, at unit length; with none, return them as they are."""
    if not reduction:
        return rows
    return unit_rows((rows - reduction["mean"]) @ reduction["components"].T)


@dataclass(frozen=True)
class Workers:
    """How images are worked on: so many at a time, with a cache, and who is told how far it is."""

    jobs: int = 1
    cache: Cache = field(default_factory=Cache)
    progress: StageProgress = silent


class LostImages(LookalikeError):
    """Images that were changed or removed after they were read for the first time: paths, and why each is lost."""

    def __init__(self, reasons: dict[Path, str]) -> None:
        path, reason = next(iter(reasons.items()))
        super().__init__(f"{path}: {reason}; run the same command again when nobody changes the folder")
        self.reasons = reasons


@contextmanager
def _finding_lost(paths: Sequence[Path], sha256: Sequence[str]) -> Iterator[None]:
    """Where an image cannot be read as it was before, find all such images."""
    try:
        yield
    except UnreadableImage as error:
        now = {path: sha256_of(path) for path in paths}
        changed = [path for path, known in zip(paths, sha256, strict=True) if now[path] != known]
        if not changed:
            raise
        raise LostImages({path: _CHANGED if now[path] else _GONE for path in changed}) from error


@dataclass
class CachedDescriber:
    """What turns images into rows: a describer, fitted on the images that are learned from, and its cache."""

    describer: Describer
    learned: bool = False
    """Whether it comes from a model file: `fit` then takes it as it is."""

    def fit(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Workers) -> Vectors:
        """Learn from images, in an order that the file system does not decide, and return their rows, float32."""
        if not self.learned:
            chosen = list(range(len(paths)))
            if len(paths) > MAX_LEARNING_IMAGES:
                order = generator(seed, "own images", "codebook").permutation(len(paths))
                chosen = sorted(order[:MAX_LEARNING_IMAGES].tolist())
            self._learn_or_find([paths[i] for i in chosen], [sha256[i] for i in chosen], seed, work)
        vectors = self.describe(paths, sha256, work)
        if not self.learned:
            self.describer.fit_weights(vectors)
        return self.describer.weigh(vectors)

    def _learn_or_find(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Workers) -> None:
        """Learn from images, unless the cache has what was learned from them."""
        key = f"codebook-{hashlib.sha256(self._made_by(seed, list(sha256))).hexdigest()[:24]}"
        for arrays in work.cache.read(key, _LARGEST_LEARNED):
            with suppress(KeyError, ValueError):
                self.describer.restore(arrays)
                return
        with _finding_lost(paths, sha256):
            self.describer.fit_files(paths, sha256, seed, work.jobs, work.progress)
        if self.describer.needs_fit:
            work.cache.write(key, "learned", self.describer.arrays())

    def describe(self, paths: Sequence[Path], sha256: Sequence[str], work: Workers) -> Vectors:
        """Describe images, those that the cache has excepted, as they are before `weigh`."""
        key = self._key()
        known, parts = self._read_cached(work.cache, key)
        kept, path_of = set(known), dict(zip(sha256, paths, strict=True))
        missing = [name for name in path_of if name not in kept]
        chunks = [missing[start : start + _TOGETHER] for start in range(0, len(missing), _TOGETHER)]
        done = len(path_of) - len(missing)

        def described(chunk: Sequence[str]) -> Vectors:
            # each is read when it is described, and its content then is what it is known by
            return self.describer.stacked([self.describer.describe_file(path_of[name], name) for name in chunk])

        with _finding_lost(paths, sha256), thread_pool(work.jobs) as pool:
            for chunk, vectors in zip(chunks, pool.map(described, chunks), strict=True):
                known += chunk
                parts.append(vectors)
                # written at once, so that a run that is killed loses little
                _write_cached(work.cache, key, chunk, vectors)
                done += len(chunk)
                work.progress("describing images", done, len(path_of))
        rows = stacked(parts)
        place = {name: row for row, name in reversed([*enumerate(known)])}
        return rows[[place[name] for name in sha256]]

    def _made_by(self, *others: object) -> bytes:
        """Return what decides descriptions, beside what is learned, as text: code, name, settings, and others."""
        return json.dumps(
            [VERSIONS, self.describer.system, self.describer.settings(), *others], sort_keys=True
        ).encode()

    def _key(self) -> str:
        """Return the name of this representation in the cache."""
        digest = hashlib.sha256(self._made_by())
        for name, array in sorted(self.describer.arrays().items()):
            if name not in self.describer.weights:  # these come after what is cached
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"{self.describer.system}-{digest.hexdigest()[:24]}"

    def _read_cached(self, cache: Cache, key: str) -> tuple[list[str], list[Vectors]]:
        """Read the sha256 of images whose vectors are kept under a key, and these, entry by entry."""
        known, parts = list[str](), list[Vectors]()
        n_dimensions, is_sparse = self.describer.n_dimensions, self.describer.system == VISTERMS
        expected = {"sha256": (_SHA256,), "vectors": (n_dimensions,)}
        for arrays in cache.read(key, _TOGETHER * (4 * n_dimensions + _SHA256) + _MARGIN):
            shapes = {name: array.shape[1:] for name, array in arrays.items()}
            if shapes == expected and len(arrays["sha256"]) == len(arrays["vectors"]):
                known += [name.tobytes().hex() for name in arrays["sha256"]]
                parts.append(sparse(arrays["vectors"]) if is_sparse else arrays["vectors"])
        return known, parts


def stacked(parts: Sequence[Vectors]) -> Vectors:
    """Put rows below one another; sparse ones stay so."""
    if not hasattr(parts[0], "indptr"):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def sparse(rows: Floats) -> Vectors:
    """Return rows as CSR."""
    from scipy.sparse import csr_array  # slow to import, and only visterms need it

    return csr_array(rows)


def _write_cached(cache: Cache, key: str, sha256: Sequence[str], vectors: Vectors) -> None:
    """Keep vectors, sparse ones in full: compressed, zeros take no room."""
    names = np.array([list(bytes.fromhex(name)) for name in sha256], np.uint8)
    full = vectors.toarray() if hasattr(vectors, "indptr") else vectors
    cache.write(key, hashlib.sha256(names.tobytes()).hexdigest()[:24], {"sha256": names, "vectors": full})
