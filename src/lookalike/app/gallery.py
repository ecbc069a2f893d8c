"""A gallery as an export holds it: its vectors and a map of queries, compared by a plain metric, in a folder.

Engines compare vectors by inner products or by squared Euclidean distances. A learned similarity S(q, g) = q'Wg is the
inner product of q'W with g, and a learned distance is the plain one between rows multiplied by L, where LL' = M.

`lookalike rank` takes the folder in place of one of images. Ranking then needs no learner, and this module imports none
of scikit-learn, pandas and SciPy, which take most of a second together; only visterms bring SciPy and numba.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.app.model_file import SIMILARITY, fingerprint, read_parts
from lookalike.core.arrays import Floats, Matrix
from lookalike.core.errors import LookalikeError, first_reason
from lookalike.core.files import (
    PathLike,
    check_folder,
    read_json,
    reading,
    replacing,
    replacing_folder,
    sha256_of,
    stamp_of,
    write_array,
    write_json,
    write_npz,
    write_text,
)
from lookalike.core.model_file import About, Arrays, Kind, checked_about, fits_together
from lookalike.core.seeds import generator
from lookalike.data import scan
from lookalike.data.path_finder import files_below, is_hidden
from lookalike.ranking.rankings import recall, top_k

if TYPE_CHECKING:
    import faiss

    from lookalike.app.rows import Reasons, Rows
    from lookalike.app.similarity import Similarity
    from lookalike.learners.base import SimilarityLearner

GALLERY = Kind("lookalike gallery", 2, "make it again with lookalike index")
METRICS = ("inner_product", "squared_euclidean")
_AGAIN = "run lookalike index again"

ABOUT, IDS, QUERY_MAP, FILES, SUMS = "about.json", "ids.json", "query_map.npz", "files.json", "sha256.json"
GALLERIES = {"faiss": "gallery.faiss", "npy": "gallery.npy"}
"""What a gallery can be written as, and the name of its file."""
NAMES = (ABOUT, IDS, QUERY_MAP, FILES, SUMS, *GALLERIES.values(), "gallery.parquet")
"""Every file that an export writes, or that one of lookalike 1.1 wrote."""
KEEPS_VECTORS = re.compile(r"(IVF\d+,)?Flat|(HNSW|NSG)\d+(,Flat)?")
"""FAISS's indexes from which vectors come back as they were; others round or compress them."""
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
    """A file of a gallery's folder: a row of its manifest, and when it was changed last."""

    mtime_ns: int = 0


@dataclass(frozen=True, eq=False)
class SavedGallery:
    """The images of a folder with their vectors, as an export holds them."""

    root: Path
    about: About  # as of `export`
    query_map: Arrays  # as of `query_map_of`, and the components that descriptions are brought to
    files: list[File]  # every file of the folder
    rows: Matrix  # vectors of the images, in their order: (n_images, d), float32

    @property
    def images(self) -> list[File]:
        """Return the files that are images, one a row."""
        return [file for file in self.files if file.status == "ok"]

    def current(self) -> tuple[list[int], Reasons]:
        """Return the rows of images that are as they were described, and why other files are left out."""
        check_folder(self.root, f"the images of the gallery were there; {_AGAIN} where they are")
        kept, left_out = list[int](), list[tuple[str, str]]()
        for row, file in enumerate(self.images):
            stamp = stamp_of(self.root / file.path)
            if not stamp:
                left_out.append((file.path, f"it is gone: {_AGAIN}"))
            elif stamp != (file.bytes, file.mtime_ns) and sha256_of(self.root / file.path) != file.sha256:
                left_out.append((file.path, f"it was changed since it was described: {_AGAIN}"))
            else:
                kept.append(row)
        known = {file.path for file in self.files}
        new = [path for path in files_below(self.root, strict=True) if path not in known and not is_hidden(path)]
        left_out += [(path, f"it is new: {_AGAIN}") for path in new]
        unusable = [file for file in self.files if file.status != "ok" and file.reason != "hidden"]
        return kept, left_out + [(file.path, file.reason) for file in unusable]


def read_gallery(folder: Path) -> SavedGallery:
    """Read what `export` wrote of a folder of images, whose files must be as they were written."""
    with fits_together(folder, GALLERY), reading(folder / ABOUT, "file", GALLERY.again):
        for name, written in read_json(folder / SUMS).items():
            if sha256_of(folder / name) != written:
                raise ValueError(f"the bytes of {name} are not those that were written")
        about = checked_about((folder / ABOUT).read_text(encoding="utf-8"), folder, GALLERY)
        files = [File(*facts) for facts in read_json(folder / FILES)]
        if about["index"] is None:
            rows = np.load(folder / GALLERIES["npy"], mmap_mode="r")
        else:
            import faiss

            if not KEEPS_VECTORS.fullmatch(about["index"]):
                raise LookalikeError(
                    f"{folder} holds vectors as {about['index']} keeps them, not as they were: rank takes the folder "
                    "of images, or what lookalike index writes of it"
                )
            engine = faiss.deserialize_index(np.fromfile(folder / GALLERIES["faiss"], np.uint8))
            rows = engine.reconstruct_n(0, engine.ntotal)
        with np.load(folder / QUERY_MAP) as query_map:
            below = os.path.normpath(os.path.join(os.path.realpath(folder), about["root"]))
            here = os.path.relpath(below)
            root = Path(below if here.startswith(os.pardir) else here)
            return SavedGallery(root, about, dict(query_map), files, rows)


def rank_saved(
    model: PathLike, gallery: Path, queries: Sequence[PathLike], k: int = 10, *, jobs: int = 1
) -> tuple[Path, list[dict[str, Any]], Reasons, Reasons]:
    """Return the folder of a saved gallery, each query with its neighbours, and why queries and files are left out."""
    about, arrays = read_parts(model)
    saved = read_gallery(gallery)
    with fits_together(model, SIMILARITY):
        is_other = saved.about["model"] != fingerprint(about, arrays)
    if is_other:
        raise LookalikeError(f"{gallery} was described by another model than {model}: name that, or make another one")
    looks = [scan.look_at_image(Path(), query) for query in dict.fromkeys(os.fspath(query) for query in queries)]
    usable = {look.path: look.sha256 for look in looks if not look.reason}
    bad = [(look.path, look.reason) for look in looks if look.reason]
    if not usable:
        raise LookalikeError(f"no query can be used{first_reason(bad)}: name other images")
    kept, left_out = saved.current()
    images, metric = saved.images, saved.about["metric"]
    # with all dimensions, an image of the gallery itself needs no description: its vector is before the query map, or,
    # under a distance and by a classifier, after it
    own = {} if saved.about["rank"] else {file.sha256: row for row, file in enumerate(images)}
    learned = {name: array for name, array in saved.query_map.items() if name not in ("mean", "components")}
    of_gallery = {sha256: saved.rows[[own[sha256]]] for sha256 in usable.values() if sha256 in own}
    is_before = metric == "inner_product" and "intercept" not in learned
    asked = {sha256: mapped(row, learned) if is_before else row for sha256, row in of_gallery.items()}
    if new := {sha256: Path(query) for query, sha256 in usable.items() if sha256 not in own}:
        # with the libraries that read pixels
        from lookalike.app.representations import Workers, restored_representation
        from lookalike.features.describers import unit_rows

        with fits_together(model, SIMILARITY):
            representation = restored_representation(about["representation"], arrays["representation"])
            raw = representation.describe((list(new.values()), list(new)), Workers(jobs))
            described, parts = representation.describer.weigh(raw), saved.query_map
            if "components" in parts:
                described = unit_rows((described - parts["mean"]) @ parts["components"].T)
            rows = _dense(mapped(described, learned))
        asked |= {sha256: rows[[row]] for row, sha256 in enumerate(new)}
    results = []
    for query, sha256 in usable.items():
        others = [row for row in kept if images[row].sha256 != sha256]
        if not others:
            raise LookalikeError(f"the gallery holds only the query {query}: name another folder")
        columns, values = top_k(engine_scores(metric, asked[sha256], saved.rows[others]), min(k, len(others)))
        best = zip((images[others[column]].path for column in columns[0]), values[0].tolist(), strict=True)
        neighbours = [
            {"rank": rank, "path": path, "score": score, "label": path.rpartition("/")[0].partition("/")[0]}
            for rank, (path, score) in enumerate(best, 1)
        ]
        results.append({"query": query, "neighbours": neighbours})
    return saved.root, results, bad, left_out


def scanned(model: Similarity, folder: Path, output: Path) -> tuple[Rows, list[File], Counter[str]]:
    """Read the images of a folder, those that an export to `output` has as they are now not again; count changes."""
    from lookalike.app.sources import gallery_of

    check_folder(folder, "name the folder of the images")
    # before files are read: one that changes meanwhile is noticed the next time
    stamps = {path: stamp_of(folder / path) for path in files_below(folder, strict=True)}
    previous = None
    with suppress(LookalikeError):  # there is none yet, or a damaged one
        previous = read_gallery(output)
    if previous is not None and os.path.exists(previous.root) and not previous.root.samefile(folder):
        raise LookalikeError(f"{output} is of the images in {previous.root}: name another folder with --output")
    old = previous.files if previous else []
    known = [file for file in old if stamps.get(file.path) == (file.bytes, file.mtime_ns)]
    how: Any = {"n_threads": model.jobs, "progress": partial(model.progress, "reading images")}
    manifest = scan.scan_photographs(folder, paths=list(stamps), known=known, **how)
    manifest["mtime_ns"] = [(stamps.get(path) or (0, 0))[1] for path in manifest["path"]]
    files = [File(*facts) for facts in manifest.drop(columns="image_id").itertuples(index=False, name=None)]
    before, now = ({file.path: file.sha256 for file in part if file.status == "ok"} for part in (old, files))
    changed = sum(before[path] != now[path] for path in before.keys() & now.keys())
    changes = Counter(added=len(now.keys() - before), changed=changed, removed=len(before.keys() - now))
    return gallery_of(folder, manifest), files, changes if previous else Counter()


def export(
    model: Similarity,
    gallery: PathLike | Rows,
    output: PathLike,
    *,
    to: str = "faiss",
    index: str = "Flat",
    rank: int | None = None,
    files: Sequence[File] = (),
    named: str = "",
) -> About:
    """Write a gallery for an engine into a folder, whole or not at all, and return what ``about.json`` says.

    The folder has the files of `NAMES`, of galleries that of `to`. `index` is one of FAISS, and with a `rank` rows with
    labels, those that the model has not learned from if there are such, tell what fewer dimensions lose. With all
    `files` of a folder of images, and the `named` fingerprint of the model, `rank_saved` asks it.
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
            "rank": rank,
            "learner": type(learner).__name__,
            "queries": len(asking),
            "same_neighbours": recall(nearest, exact),
            "measures": lost,
        }
        write_npz(query_map, folder / QUERY_MAP)
        write_json(found.ids.tolist(), folder / IDS)
        if files:
            about |= {"format": GALLERY.name, "format_version": GALLERY.version, "model": named}
            about |= {"root": os.path.relpath(os.path.realpath(found.source), os.path.realpath(output))}
            write_text(json.dumps([list(vars(each).values()) for each in files]), folder / FILES)
        write_json(about, folder / ABOUT)
        if files:
            write_json({path.name: sha256_of(path) for path in folder.iterdir()}, folder / SUMS)
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
