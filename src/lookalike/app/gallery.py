"""A gallery of images that was described once, in a file that `lookalike rank` takes in place of their folder.

It holds what an index of a vector database does: the images' vectors, and what those of queries are multiplied by. So
ranking needs no learner, and this module imports neither scikit-learn nor pandas, which take most of a second each.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lookalike.app.index_form import IndexForm, engine_scores, mapped
from lookalike.app.model_file import SIMILARITY, fingerprint, read_parts
from lookalike.core.arrays import Array, Bytes, Ints, Longs, Matrix
from lookalike.core.errors import LookalikeError, first_reason
from lookalike.core.files import PathLike, check_finite, check_folder
from lookalike.core.model_file import About, Arrays, Kind, fits_together, read_model, write_model
from lookalike.data.scan import is_hidden, list_files, look_at_image, scan_photographs
from lookalike.ranking.rankings import top_k

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.app.similarity import Similarity
    from lookalike.app.sources import ImageSet

GALLERY = Kind("lookalike gallery", (1,), "make it again with lookalike index")
REMOVED = "removed"
"""Status of a file that was taken out of the gallery by name."""
FACTS = ["width", "height", "bytes", "mtime_ns"]
CSR_PARTS = ("data", "indices", "indptr")
_AGAIN = "run lookalike index again"

Reasons = list[tuple[str, str]]
"""Paths that are left out, and why."""


class Neighbour(NamedTuple):
    """An image of a ranking."""

    rank: int
    path: str
    score: float
    label: str


class Answer(NamedTuple):
    """What a saved gallery answers."""

    root: Path
    """The folder of its images."""
    neighbours: dict[str, list[Neighbour]]
    """Of each query, best first."""
    bad_queries: Reasons
    """Queries that cannot be used."""
    left_out: Reasons
    """Files of the gallery that cannot be used, or are not as they were described."""


@dataclass(frozen=True, eq=False)
class SavedGallery:
    """The images of a folder with their vectors, as an index holds them."""

    root: Path
    """The folder."""
    model: str
    """Fingerprint of the model that described the images."""
    metric: str
    """What compares vectors: ``"inner_product"`` or ``"squared_euclidean"``."""
    query_map: Arrays
    """``matrix``, which queries are multiplied by, or ``weights``, a factor a dimension."""
    files: dict[str, list[str]]
    """``path``, ``status`` and ``reason`` of every file of the folder, as in a manifest."""
    facts: Longs
    """``width``, ``height``, ``bytes`` and time of the last change, in nanoseconds, of every file: (n, 4)."""
    sha256: Bytes
    """Of every file: (n, 32)."""
    places: Ints
    """Which of the files the image of each row is: (n_images,)."""
    rows: Matrix
    """Vectors of the images: (n_images, d), float32, dense or CSR."""

    @property
    def paths(self) -> list[str]:
        """Return the files of the images."""
        return [self.files["path"][place] for place in self.places]

    def asked(self, row: int) -> Matrix:
        """Return an image of the gallery as a query: (1, d)."""
        rows = self.rows[[row]]  # under a distance, both are mapped alike
        return mapped(rows, self.query_map) if self.metric == "inner_product" else rows

    def current(self) -> tuple[Longs, Reasons]:
        """Return the rows of images that are as they were described, and why other files are left out."""
        check_folder(self.root, f"the images of the gallery were there; {_AGAIN} where they are")
        left_out: Reasons = []
        kept = []
        for row, (path, place) in enumerate(zip(self.paths, self.places, strict=True)):
            stamp = _stamp(self.root / path)
            if stamp is None:
                left_out.append((path, f"it is gone: {_AGAIN}"))
            elif stamp != tuple(self.facts[place, 2:]) and _digest(self.root / path) != self.sha256[place].tobytes():
                left_out.append((path, f"it was changed since it was described: {_AGAIN}"))
            else:
                kept.append(row)
        known = set(self.files["path"])
        new = [path for path in list_files(self.root) if path not in known and not is_hidden(path)]
        left_out += [(path, f"it is new: {_AGAIN}") for path in new]
        return np.array(kept, dtype=np.int64), left_out + self.left_out

    @property
    def left_out(self) -> Reasons:
        """Return the files that cannot be used, and why; none that is hidden or was taken out."""
        images = set(self.places.tolist())
        every = enumerate(zip(*(self.files[name] for name in ("path", "reason", "status")), strict=True))
        unused = [row for place, row in every if place not in images]
        return [(path, reason) for path, reason, status in unused if reason != "hidden" and status != REMOVED]

    def save(self, path: PathLike) -> None:
        """Write the gallery, whole or not at all; the folder is kept as the way there from the file."""
        about: dict[str, Any] = {"model": self.model, "metric": self.metric, **self.files}
        about["root"] = os.path.relpath(os.path.realpath(self.root), os.path.dirname(os.path.realpath(path)))
        arrays: dict[str, Array] = {"facts": self.facts, "sha256": self.sha256, "places": self.places}
        arrays |= {f"query_map.{name}": array for name, array in self.query_map.items()}
        if hasattr(self.rows, "indptr"):
            about["shape"] = list(self.rows.shape)
            arrays |= {f"rows.{part}": getattr(self.rows, part) for part in CSR_PARTS}
        else:
            arrays["rows"] = self.rows
        write_model(path, GALLERY, about, arrays)


def read_gallery(path: PathLike) -> SavedGallery:
    """Read what `SavedGallery.save` wrote."""
    about, arrays = read_model(path, GALLERY)
    check_finite(arrays, path, GALLERY.again)
    with fits_together(path, GALLERY):
        if "shape" in about:
            rows: Matrix = sp.csr_array(
                tuple(arrays[f"rows.{part}"] for part in CSR_PARTS), shape=tuple(about["shape"])
            )
            rows.check_format()
        else:
            rows = arrays["rows"]
        files = {name: [str(text) for text in about[name]] for name in ("path", "status", "reason")}
        facts, sha256, places = arrays["facts"], arrays["sha256"], arrays["places"]
        prefix = "query_map."
        query_map = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        n_files, n_dimensions = len(files["path"]), next(iter(query_map.values())).shape[-1]
        shapes = (facts.shape, sha256.shape, rows.shape, len(files["status"]), len(files["reason"]))
        if shapes != ((n_files, 4), (n_files, 32), (len(places), n_dimensions), n_files, n_files):
            raise ValueError("its numbers of files, images and dimensions differ")
        if len(places) and not 0 <= places.min() <= places.max() < n_files:
            raise ValueError("an image is none of its files")
        folder = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(path)), about["root"]))
        root = Path(os.path.relpath(folder) if os.path.relpath(folder)[:2] != ".." else folder)
        return SavedGallery(root, about["model"], about["metric"], query_map, files, facts, sha256, places, rows)


def rank_saved(
    model: PathLike, gallery: PathLike, queries: Sequence[PathLike], k: int = 10, *, jobs: int = 1
) -> Answer:
    """Find the images of a saved gallery that are most like each query, by the model that described it.

    Parameters
    ----------
    model : path-like
        The model file that `lookalike index` was given.
    gallery : path-like
        What it wrote.
    queries : sequence of path-like
        Image files. Those that cannot be used are left out, if there are others.
    k : int, default=10
        Neighbours; fewer where the gallery has fewer. Images of the same content as a query are no neighbours of it.
    jobs : int, default=1
        Images described at a time.

    Returns
    -------
    Answer

    Raises
    ------
    LookalikeError
        Where another model described the gallery, or nothing is left to ask or to rank.
    """
    about, arrays, learned = read_parts(model)
    saved = read_gallery(gallery)
    if saved.model != fingerprint(about, arrays, learned):
        raise LookalikeError(
            f"{gallery} was described by another model than {model}: name that model, or make a gallery of this one "
            "with lookalike index"
        )
    looks = [look_at_image(Path(), query) for query in dict.fromkeys(os.fspath(query) for query in queries)]
    usable = {look[0]: look[1] for look in looks if len(look) == 4}
    bad = [(look[0], look[1]) for look in looks if len(look) == 2]
    if not usable:
        raise LookalikeError(f"no query can be used{first_reason(bad)}: name other images")
    kept, left_out = saved.current()
    row_of = {saved.sha256[place].tobytes().hex(): row for row, place in enumerate(saved.places)}
    asked = {sha256: saved.asked(row_of[sha256]) for sha256 in usable.values() if sha256 in row_of}
    if new := {sha256: Path(query) for query, sha256 in usable.items() if sha256 not in asked}:
        with fits_together(model, SIMILARITY):
            rows = mapped(_described(new, about, arrays, jobs), saved.query_map)
        asked |= {sha256: rows[[row]] for row, sha256 in enumerate(new)}
    gallery_rows, contents, paths = saved.rows[kept], saved.sha256[saved.places[kept]], saved.paths
    neighbours = {}
    for query, sha256 in usable.items():
        mine = engine_scores(saved.metric, asked[sha256], gallery_rows)[0]
        others = np.flatnonzero((contents != np.frombuffer(bytes.fromhex(sha256), np.uint8)).any(axis=1))
        if not len(others):
            raise LookalikeError(f"the gallery holds only the query {query}: name another folder")
        columns, values = top_k(mine[None, others], min(k, len(others)))
        found = zip((paths[kept[others[column]]] for column in columns[0]), values[0].tolist(), strict=True)
        neighbours[query] = [Neighbour(n, path, score, label_of(path)) for n, (path, score) in enumerate(found, 1)]
    return Answer(saved.root, neighbours, bad, left_out)


def _described(files: Mapping[str, Path], about: About, arrays: Arrays, jobs: int) -> Matrix:
    """Return images, by their content, as the learner of a model takes them, whose parts these are."""
    # with the libraries that read pixels; an image of the gallery itself needs none
    from lookalike.app.representations import Workers, onto_components, restored_representation

    representation, reduction = restored_representation(about["representation"], arrays)
    raw = representation.describe(list(files.values()), list(files), Workers(jobs))
    return onto_components(representation.describer.weigh(raw), reduction)


def label_of(path: str) -> str:
    """Return the topmost folder on a path; "" where there is none."""
    return path.partition("/")[0] if "/" in path else ""


def update_gallery(
    model: Similarity,
    folder: Path,
    previous: SavedGallery | None,
    named: str,
    added: Collection[str] = (),
    removed: Collection[str] = (),
) -> tuple[SavedGallery, Counter[str]]:
    """Describe the images of a folder that a gallery does not have yet, and leave out those that are gone.

    Parameters
    ----------
    model : Similarity
    folder : Path
    previous : SavedGallery, optional
        Of the same model and folder: its vectors are kept where files are the same.
    named : str
        Fingerprint of the model.
    added, removed : collection of str
        Paths from the folder. Where there are any, no other file is looked at.

    Returns
    -------
    SavedGallery
    collections.Counter of str
        How many images were ``added``, ``changed`` and ``removed``.
    """
    from lookalike.app.sources import image_set

    check_folder(folder, "name the folder of the images")
    by_name = bool(added or removed)
    old = _manifest(previous)
    listed = sorted({*old["path"], *added}) if by_name else list_files(folder)
    # before files are read: one that changes meanwhile is noticed the next time
    stamps = {path: stamp for path in (added if by_name else listed) if (stamp := _stamp(folder / path))}
    is_same = [by_name or stamps.get(row.path) == (row.bytes, row.mtime_ns) for row in old.itertuples()]
    known = old[(np.array(is_same, bool) | (old["status"] == REMOVED)) & ~old["path"].isin(added)].copy()
    known.loc[known["path"].isin(removed), ["status", "reason"]] = REMOVED, "taken out by name"
    progress = partial(model.progress, "reading images")
    manifest = scan_photographs(folder, n_threads=model.jobs, progress=progress, paths=listed, known=known)
    times = dict(zip(old["path"], old["mtime_ns"], strict=True)) | {path: stamp[1] for path, stamp in stamps.items()}
    manifest["mtime_ns"] = [times.get(path, 0) for path in manifest["path"]]
    found = image_set(folder, manifest[manifest["status"] != REMOVED])
    form = IndexForm(model.learner_)
    place_of = {path: place for place, path in enumerate(manifest["path"])}
    saved = SavedGallery(
        folder,
        named,
        form.metric,
        form.query_map,
        {name: manifest[name].tolist() for name in ("path", "status", "reason")},
        manifest[FACTS].to_numpy(np.int64),
        np.array([list(bytes.fromhex(text or "00" * 32)) for text in manifest["sha256"]], np.uint8).reshape(-1, 32),
        np.array([place_of[path] for path in found.images["path"]], np.int32),
        _vectors(model, form, found, previous),
    )
    return saved, _differences(previous, saved)


def _manifest(saved: SavedGallery | None) -> pd.DataFrame:
    """Return the files of a gallery as `scan_photographs` does, with times of their last change."""
    import pandas as pd

    if saved is None:
        return pd.DataFrame(columns=["path", "status", "reason", "sha256", "label", *FACTS])
    contents = [row.tobytes().hex() if row.any() else "" for row in saved.sha256]
    table = pd.DataFrame(saved.facts, columns=FACTS).assign(**saved.files, sha256=contents)
    return table.assign(label=[path.rpartition("/")[0] for path in table["path"]])


def _vectors(model: Similarity, form: IndexForm, found: ImageSet, previous: SavedGallery | None) -> Matrix:
    """Return the vectors of images: those that a gallery has, and the others described."""
    from lookalike.app.rows import Rows

    contents = found.images["sha256"].tolist()
    had = [] if previous is None else [previous.sha256[place].tobytes().hex() for place in previous.places]
    row_of = {content: row for row, content in enumerate(had)}
    new = {content: row for row, content in enumerate(contents) if content not in row_of}
    parts = [] if previous is None else [previous.rows]
    if new:
        described = Rows.from_images(found).take(np.array(list(new.values())))
        parts.append(form.vectors(model.gallery_rows(described)[1]))
    row_of |= {content: len(had) + row for row, content in enumerate(new)}
    stacked = sp.vstack(parts, format="csr") if hasattr(parts[0], "indptr") else np.concatenate(parts)
    return stacked[[row_of[content] for content in contents]]


def _differences(previous: SavedGallery | None, saved: SavedGallery) -> Counter[str]:
    """Count the images that a gallery has and another had not, that changed, and that it has no more."""
    before, now = (
        {path: it.sha256[place].tobytes() for path, place in zip(it.paths, it.places, strict=True)} if it else {}
        for it in (previous, saved)
    )
    changed = sum(before[path] != now[path] for path in before.keys() & now.keys())
    return Counter(added=len(now.keys() - before), changed=changed, removed=len(before.keys() - now))


def _stamp(file: Path) -> tuple[int, int] | None:
    """Return size and time of the last change of a file; None where there is none."""
    with suppress(OSError):
        facts = file.stat()
        return facts.st_size, facts.st_mtime_ns
    return None


def _digest(file: Path) -> bytes:
    """Return the SHA-256 of a file; nothing of one that cannot be read."""
    with suppress(OSError), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
    return b""
