"""A gallery as an index holds it: its vectors and a map of queries, compared by a plain metric; in a file, or exported.

Engines compare vectors by inner products or by squared Euclidean distances. A learned similarity S(q, g) = q'Wg is the
inner product of q'W with g, and a learned distance is the plain one between rows multiplied by L, where LL' = M.

`lookalike rank` takes the file in place of a folder of images. Ranking then needs no learner, and this module imports
none of scikit-learn, pandas and SciPy, which take most of a second together; only visterms bring SciPy and numba.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.app.model_file import SIMILARITY, fingerprint, read_parts
from lookalike.core.arrays import Array, Floats, Matrix
from lookalike.core.errors import LookalikeError, first_reason
from lookalike.core.files import (
    PathLike,
    check_finite,
    check_folder,
    replacing,
    replacing_folder,
    sha256_of,
    stamp_of,
    write_array,
    write_json,
    write_npz,
)
from lookalike.core.model_file import About, Arrays, Kind, fits_together, read_model, write_model
from lookalike.core.seeds import generator
from lookalike.data import scan
from lookalike.data.path_finder import files_below, is_hidden
from lookalike.ranking.rankings import recall, top_k

if TYPE_CHECKING:
    import faiss

    from lookalike.app.rows import Reasons, Rows
    from lookalike.app.similarity import Similarity
    from lookalike.learners.base import SimilarityLearner

GALLERY = Kind("lookalike gallery", 1, "make it again with lookalike index")
METRICS = ("inner_product", "squared_euclidean")
CSR_PARTS = ("data", "indices", "indptr")
_AGAIN = "run lookalike index again"

ABOUT, IDS, QUERY_MAP = "about.json", "ids.json", "query_map.npz"
GALLERIES = {"faiss": "gallery.faiss", "npy": "gallery.npy"}
"""What a gallery can be written as, and the name of its file."""
NAMES = (ABOUT, IDS, QUERY_MAP, *GALLERIES.values(), "gallery.parquet")
"""Every file that an export writes, or that one of lookalike 1.1 wrote."""
CHECKED, FIRST = 200, 10
"""Rows of the gallery that ask it, and how many neighbours of each are compared with those of exact ranking."""


def query_map_of(learner: SimilarityLearner, rank: int | None = None) -> Arrays:
    """Return what queries go through, after which an engine compares by a plain metric, one of `METRICS`.

    With a rank, it has only so many dimensions, those in which the similarity is largest. It has ``matrix`` (d, r),
    which queries are multiplied by, or ``weights`` (d,) where a diagonal says it all. Of a classifier it has
    ``intercept`` too, which is added then, and ``probabilities`` where square roots of probabilities follow.
    """
    from scipy.sparse import eye_array  # slow to import, and a query of an index needs none

    if not learner.is_linear and rank is None:
        learned: Arrays = learner.index_map()
        return learned
    try:
        # what is linear is known by what it makes of unit vectors
        unit = learner.transform_queries(eye_array(learner.n_features_in_, format="csr"), rank)
    except ValueError as error:
        raise LookalikeError(f"what {type(learner).__name__} learned cannot be served so: {error}") from error
    # a distance may stretch one direction 10,000 times as much as another: rounded first, it loses neighbours
    kind = np.float32 if learner.metric_ == "inner_product" else np.float64
    if hasattr(unit, "indptr") and rank is None:
        return {"weights": unit.diagonal().astype(kind)}
    return {"matrix": np.ascontiguousarray(unit.toarray() if hasattr(unit, "indptr") else unit, dtype=kind)}


def mapped(rows: Matrix, query_map: Arrays) -> Matrix:
    """Return rows as queries of an index, float32, by what `query_map_of` a learner has."""
    if "matrix" in query_map:
        asked = rows @ query_map["matrix"] + query_map.get("intercept", np.float32(0))
        if "probabilities" in query_map:
            powers = np.exp(asked - asked.max(axis=1, keepdims=True))
            asked = np.sqrt(powers / powers.sum(axis=1, keepdims=True))
        elif "intercept" in query_map:
            lengths = np.linalg.norm(asked, axis=1, keepdims=True)
            asked = asked / np.where(lengths > 0, lengths, 1)
    else:
        weights = query_map["weights"]
        asked = rows.multiply(weights).tocsr() if hasattr(rows, "indptr") else rows * weights
    return asked.astype(np.float32, copy=False)


def engine_scores(metric: str, queries: Matrix, gallery: Matrix) -> Floats:
    """Return what an engine computes: inner products, or squared distances below 0; dense, a row a query."""
    products = (gallery @ queries.T).T if hasattr(gallery, "indptr") else queries @ gallery.T
    scores: Floats = products.toarray() if hasattr(products, "indptr") else np.asarray(products)
    if metric == "inner_product":
        return scores
    own, theirs = (np.asarray((rows * rows).sum(axis=1)).ravel() for rows in (queries, gallery))
    return np.asarray(2 * scores - own[:, None] - theirs)


@dataclass
class File(scan.File):
    """A file of a gallery's folder: a row of its manifest, when it was changed last, and its vector's row or -1."""

    mtime_ns: int = 0
    row: int = -1


@dataclass(frozen=True, eq=False)
class SavedGallery:
    """The images of a folder with their vectors, as an index holds them."""

    root: Path
    model: str  # fingerprint of the model that described the images
    metric: str  # one of `METRICS`
    query_map: Arrays  # as of `query_map_of`
    files: list[File]  # every file of the folder
    rows: Matrix  # vectors of the images: (n_images, d), float32, dense or CSR

    @property
    def images(self) -> list[File]:
        """Return the files that are images, in the order of their rows."""
        return sorted((file for file in self.files if file.row >= 0), key=lambda file: file.row)

    @property
    def left_out(self) -> Reasons:
        """Return the files that cannot be used, and why; none that is hidden."""
        return [(file.path, file.reason) for file in self.files if file.row < 0 and file.reason != "hidden"]

    def current(self) -> tuple[list[File], Reasons]:
        """Return the images that are as they were described, and why other files are left out."""
        check_folder(self.root, f"the images of the gallery were there; {_AGAIN} where they are")
        kept, left_out = list[File](), list[tuple[str, str]]()
        for file in self.images:
            stamp = stamp_of(self.root / file.path)[:2]
            if not stamp:
                left_out.append((file.path, f"it is gone: {_AGAIN}"))
            elif stamp != (file.bytes, file.mtime_ns) and sha256_of(self.root / file.path) != file.sha256:
                left_out.append((file.path, f"it was changed since it was described: {_AGAIN}"))
            else:
                kept.append(file)
        known = {file.path for file in self.files}
        new = [path for path in files_below(self.root, strict=True) if path not in known and not is_hidden(path)]
        return kept, [*left_out, *((path, f"it is new: {_AGAIN}") for path in new), *self.left_out]

    def save(self, path: PathLike, stamp: tuple[int, ...] | None = None) -> None:
        """Write the gallery; the folder is kept as the way there from the file, and `stamp` is that of `replacing`."""
        root = os.path.relpath(os.path.realpath(self.root), os.path.dirname(os.path.realpath(path)))
        files = [list(vars(file).values()) for file in self.files]
        about: dict[str, Any] = {"model": self.model, "metric": self.metric, "root": root, "files": files}
        arrays: dict[str, Array] = {f"query_map.{name}": array for name, array in self.query_map.items()}
        if hasattr(self.rows, "indptr"):
            about["shape"] = list(self.rows.shape)
            arrays |= {f"rows.{part}": getattr(self.rows, part) for part in CSR_PARTS}
        else:
            arrays["rows"] = self.rows
        write_model(path, GALLERY, about, arrays, stamp)


def read_gallery(path: PathLike) -> SavedGallery:
    """Read what `SavedGallery.save` wrote."""
    about, arrays = read_model(path, GALLERY)
    check_finite(arrays, path, GALLERY.again)
    with fits_together(path, GALLERY):
        if "shape" in about:
            from scipy.sparse import csr_array

            rows: Matrix = csr_array(tuple(arrays[f"rows.{part}"] for part in CSR_PARTS), shape=tuple(about["shape"]))
        else:
            rows = arrays["rows"]
        prefix = "query_map."
        query_map = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        folder = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(path)), about["root"]))
        here = os.path.relpath(folder)
        root = Path(folder if here.startswith(os.pardir) else here)
        files = [File(*row) for row in about["files"]]
        saved = SavedGallery(root, about["model"], about["metric"], query_map, files, rows)
        if [file.row for file in saved.images] != list(range(rows.shape[0])):
            raise ValueError("its vectors are not those of its images")
        return saved


def rank_saved(
    model: PathLike, gallery: PathLike, queries: Sequence[PathLike], k: int = 10, *, jobs: int = 1
) -> tuple[Path, list[dict[str, Any]], Reasons, Reasons]:
    """Return the folder of a saved gallery, each query with its neighbours, and why queries and files are left out."""
    about, arrays = read_parts(model)
    saved = read_gallery(gallery)
    with fits_together(model, SIMILARITY):
        is_other = saved.model != fingerprint(about, arrays)
    if is_other:
        raise LookalikeError(f"{gallery} was described by another model than {model}: name that, or make another one")
    looks = [scan.look_at_image(Path(), query) for query in dict.fromkeys(os.fspath(query) for query in queries)]
    usable = {look.path: look.sha256 for look in looks if not look.reason}
    bad = [(look.path, look.reason) for look in looks if look.reason]
    if not usable:
        raise LookalikeError(f"no query can be used{first_reason(bad)}: name other images")
    kept, left_out = saved.current()
    own = {file.sha256: file.row for file in saved.images}
    # under a distance, and by a classifier, images of the gallery are mapped as queries are
    query_map = saved.query_map if saved.metric == "inner_product" and "intercept" not in saved.query_map else {}
    of_gallery = {sha256: saved.rows[[own[sha256]]] for sha256 in usable.values() if sha256 in own}
    asked = {sha256: mapped(row, query_map) if query_map else row for sha256, row in of_gallery.items()}
    if new := {sha256: Path(query) for query, sha256 in usable.items() if sha256 not in own}:
        # with the libraries that read pixels; an image of the gallery itself needs none
        from lookalike.app.representations import Workers, restored_representation
        from lookalike.features.describers import unit_rows

        with fits_together(model, SIMILARITY):
            representation = restored_representation(about["representation"], arrays["representation"])
            raw = representation.describe((list(new.values()), list(new)), Workers(jobs))
            described, reduction = representation.describer.weigh(raw), arrays["reduction"]
            if reduction:
                described = unit_rows((described - reduction["mean"]) @ reduction["components"].T)
            rows = mapped(described, saved.query_map)
        asked |= {sha256: rows[[row]] for row, sha256 in enumerate(new)}
    results = []
    for query, sha256 in usable.items():
        others = [file for file in kept if file.sha256 != sha256]
        if not others:
            raise LookalikeError(f"the gallery holds only the query {query}: name another folder")
        scores = engine_scores(saved.metric, asked[sha256], saved.rows[[file.row for file in others]])
        columns, values = top_k(scores, min(k, len(others)))
        best = zip((others[column] for column in columns[0]), values[0].tolist(), strict=True)
        neighbours = [
            {"rank": rank, "path": file.path, "score": score, "label": file.label}
            for rank, (file, score) in enumerate(best, 1)
        ]
        results.append({"query": query, "neighbours": neighbours})
    return saved.root, results, bad, left_out


def update_gallery(
    model: Similarity, folder: Path, previous: SavedGallery | None, named: str
) -> tuple[SavedGallery, Counter[str]]:
    """Make a gallery of a folder's images, of which unchanged ones are not read again, and count what has changed."""
    from lookalike.app.sources import gallery_of

    check_folder(folder, "name the folder of the images")
    # before files are read: one that changes meanwhile is noticed the next time
    stamps = {path: stamp_of(folder / path)[:2] for path in files_below(folder, strict=True)}
    old = [] if previous is None else previous.files
    known = [file for file in old if stamps.get(file.path) == (file.bytes, file.mtime_ns) and file.status != "removed"]
    how: Any = {"n_threads": model.jobs, "progress": partial(model.progress, "reading images")}
    manifest = scan.scan_photographs(folder, paths=list(stamps), known=known, **how)
    found, learner = gallery_of(folder, manifest), model.learner_
    row_of = {path: row for row, path in enumerate(found.ids.tolist())}
    manifest["label"] = manifest["path"].map(dict(zip(found.ids, found.labels, strict=True))).fillna("")
    manifest["mtime_ns"] = [(stamps.get(path) or (0, 0))[1] for path in manifest["path"]]
    manifest["row"] = [row_of.get(path, -1) for path in manifest["path"]]
    columns = [field.name for field in fields(File)]
    files = [File(*facts) for facts in manifest[columns].itertuples(index=False, name=None)]
    vectors = learner.transform_gallery(model.learner_rows(found)).astype(np.float32, copy=False)
    saved = SavedGallery(folder, named, _metric(learner), query_map_of(learner), files, vectors)
    before, now = ({file.path: file.sha256 for file in it.images} if it else {} for it in (previous, saved))
    changed = sum(before[path] != now[path] for path in before.keys() & now.keys())
    return saved, Counter(added=len(now.keys() - before), changed=changed, removed=len(before.keys() - now))


def export(
    model: Similarity,
    gallery: PathLike | Rows,
    output: PathLike,
    *,
    to: str = "faiss",
    index: str = "Flat",
    rank: int | None = None,
) -> About:
    """Write a gallery for an engine into a folder, whole or not at all, and return what ``about.json`` says.

    The folder has the files of `NAMES`, of galleries that of `to`. `index` is one of FAISS, and with a `rank` rows with
    labels, those that the model has not learned from if there are such, tell what fewer dimensions lose.
    """
    learner, metric, learned = model.learner_, _metric(model.learner_), query_map_of(model.learner_, rank)
    d = next(iter(learned.values())).shape[-1]
    if to == "faiss":
        _faiss_index(np.empty((0, d), dtype=np.float32), index, metric)  # refused before rows are read
    found = model.read(gallery, gallery=True)
    rows, n_bytes = model.learner_rows(found), 4 * len(found) * d
    if n_bytes > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2:
        raise LookalikeError(f"vectors of {found.source} would take {n_bytes / 1e9:,.0f} GB of memory: give --rank 128")
    vectors = _dense(learner.transform_gallery(rows, rank))
    asking = np.linspace(0, len(vectors) - 1, min(CHECKED, len(vectors))).astype(np.int64)
    queries, k = _dense(mapped(rows[asking], learned)), min(FIRST, len(vectors))
    exact = learner.rank(rows[asking], rows, k)[0]
    lost = [] if rank is None else _lost(model, rank, learned, found, rows)
    query_map, stays = _whole_map(model, rank, learned)
    if stays:
        vectors = _dense(found.X)
    with replacing_folder(output, NAMES) as folder:
        file = folder / GALLERIES[to]
        if to == "faiss":
            import faiss

            model.progress(f"building the index {index}", 0, 1)
            built = _faiss_index(vectors, index, metric)
            model.progress(f"building the index {index}", 1, 1)
            nearest = np.asarray(built.search(queries, k)[1])
            with replacing(file) as part:
                part.write_bytes(faiss.serialize_index(built).data)
        else:
            nearest = top_k(engine_scores(metric, queries, vectors), k)[0]
            write_array(vectors, file)
        about: About = {
            "rows": len(vectors),
            "dimensions": vectors.shape[1],
            "query_dimensions": model.about()["representation"]["dimensions"],
            "metric": metric,
            "index": index if to == "faiss" else None,
            "learner": type(learner).__name__,
            "queries": len(asking),
            "same_neighbours": recall(nearest, exact),
            "measures": lost,
        }
        write_npz(query_map, folder / QUERY_MAP)
        write_json(found.ids.tolist(), folder / IDS)
        write_json(about, folder / ABOUT)
    return about


def _whole_map(model: Similarity, rank: int | None, learned: Arrays) -> tuple[Arrays, bool]:
    """Return what vectors of queries go through, as their user has them, and whether those of the gallery stay so.

    A user's vectors v are learned from as x = (v - m) / s, and (v - m)'W / s^2 orders vectors v' as x'W does theirs.
    Where the gallery changes too, queries are divided by s, or brought to ``unit`` length, as its rows are: so both are
    rounded alike.
    """
    if model.representation_ is not None:
        return learned | model.reduction, False
    scaling, learner = model.scaling, model.learner_
    parts: Arrays = {"mean": scaling.mean_} if len(scaling.mean_) else {}
    all_is_asked = learner.metric_ == "inner_product" and learner.is_linear and not scaling.is_unit
    if not all_is_asked or rank is not None:
        if scaling.is_unit:
            deviations: Arrays = {"scale": scaling.deviations_} if len(scaling.deviations_) else {}
            return learned | parts | deviations | {"unit": np.ones(1)}, False
        return learned | parts | {"scale": np.asarray(scaling.scale_)}, False
    divisor = np.float32(scaling.scale_**2)
    return {name: array / divisor for name, array in learned.items()} | parts, True


def _lost(model: Similarity, rank: int, learned: Arrays, found: Rows, rows: Matrix) -> list[dict[Hashable, Any]]:
    """Measure rankings with all dimensions and with fewer, where there are rows with labels."""
    from lookalike.app.choice import MOST_JUDGED
    from lookalike.app.evaluation import choose_evaluated, compare_on_labels

    labelled = np.flatnonzero(found.labels != "")
    if not len(labelled):
        return []
    asked = found.take(labelled)
    chosen = labelled[choose_evaluated(asked, model.learned_from(asked), np.empty(0, bool))[0]]
    part = generator(model.random_state, "export").permutation(chosen)[:MOST_JUDGED]
    learner = model.learner_

    def fewer(asking: Matrix, gallery: Matrix) -> Floats:
        vectors = _dense(learner.transform_gallery(gallery, rank))
        return engine_scores(_metric(learner), mapped(asking, learned), vectors)

    compared: dict[str, Any] = {"all dimensions": (learner, rows[part])}
    compared[f"{rank:d} dimensions"] = (SimpleNamespace(similarity=fewer), rows[part])
    with suppress(LookalikeError):  # no row has both another of its class and one of another class to find
        return compare_on_labels(compared, found.labels[part], (1, FIRST), model.random_state).to_dict("records")
    return []


def _faiss_index(vectors: Floats, factory: str, metric: str) -> faiss.Index:
    """Build an index, as ``faiss.index_factory`` reads its name, of vectors or none yet; an error tells why not."""
    import faiss

    kinds = {"inner_product": faiss.METRIC_INNER_PRODUCT, "squared_euclidean": faiss.METRIC_L2}
    from lookalike.features.clustering import one_thread

    n, d = vectors.shape
    with one_thread():
        try:
            if re.search(r"(?<!\d)0+(?!\d)", factory):  # some end the program when they are used
                raise RuntimeError("no number in its name may be 0")
            index = faiss.index_factory(d, factory, kinds[metric])
            if "IVF" in factory:
                # fewer images than 39 a list are learned from without a warning: small galleries are no mistake
                faiss.extract_index_ivf(index).cp.min_points_per_centroid = 1
            if n:
                if not index.is_trained:
                    index.train(vectors)
                index.add(vectors)
        except RuntimeError as error:
            # what faiss has to say, without the place in its source
            reason = " ".join(str(error).split()).rsplit(".cpp:", 1)[-1].split(": ", 1)[-1]
            what = f"no index {factory!r} can be built of {n or 'any'} rows of {d} dimensions"
            raise LookalikeError(f"{what} ({reason}): choose another one or one of fewer cells") from error
    return index


def _metric(learner: SimilarityLearner) -> str:
    return METRICS[learner.metric_ != "inner_product"]


def _dense(rows: Matrix) -> Floats:
    return np.ascontiguousarray(rows.toarray() if hasattr(rows, "indptr") else rows, dtype=np.float32)
