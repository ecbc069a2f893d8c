"""A gallery as files that any engine serves: its vectors, their ids, and what queries are multiplied by."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.app.choice import MOST_JUDGED
from lookalike.app.evaluation import Compared, choose_evaluated, compare_on_labels
from lookalike.app.gallery import IndexForm, engine_scores
from lookalike.core.arrays import Floats, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, replacing, replacing_folder, write_array, write_json, write_npz
from lookalike.core.model_file import About, Arrays
from lookalike.core.seeds import generator
from lookalike.features.clustering import one_thread
from lookalike.learners.base import is_sparse
from lookalike.ranking.rankings import recall, top_k

if TYPE_CHECKING:
    import faiss

    from lookalike.app.rows import Rows
    from lookalike.app.similarity import Similarity

ABOUT, IDS, QUERY_MAP = "about.json", "ids.json", "query_map.npz"
GALLERIES = {"faiss": "gallery.faiss", "npy": "gallery.npy"}
"""What a gallery can be written as, and the name of its file."""
NAMES = (ABOUT, IDS, QUERY_MAP, *GALLERIES.values(), "gallery.parquet")
"""Every file that an export writes, or that one of lookalike 1.1 wrote."""
CHECKED, FIRST = 200, 10
"""Rows of the gallery that ask it, and how many neighbours of each are compared with those of exact ranking."""


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
    form = IndexForm(model.learner_, rank)
    d = next(iter(form.query_map.values())).shape[-1]
    if to == "faiss":
        _faiss_index(np.empty((0, d), dtype=np.float32), index, form.metric)  # refused before rows are read
    found = model.read(gallery, gallery=True)
    rows, n_bytes = model.learner_rows(found), 4 * len(found) * d
    if n_bytes > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2:
        raise LookalikeError(f"vectors of {found.source} would take {n_bytes / 1e9:,.0f} GB of memory: give --rank 128")
    vectors = _dense(form.vectors(rows))
    asking = np.linspace(0, len(vectors) - 1, min(CHECKED, len(vectors))).astype(np.int64)
    queries, k = _dense(form.queries(rows[asking])), min(FIRST, len(vectors))
    exact = model.learner_.rank(rows[asking], rows, k)[0]
    lost = [] if rank is None else _lost(model, form, found, rows)
    query_map, stays = _whole_map(model, rank, form.query_map)
    if stays:
        vectors = _dense(found.X)
    with replacing_folder(output, NAMES) as folder:
        file = folder / GALLERIES[to]
        if to == "faiss":
            import faiss

            model.progress(f"building the index {index}", 0, 1)
            built = _faiss_index(vectors, index, form.metric)
            model.progress(f"building the index {index}", 1, 1)
            nearest = np.asarray(built.search(queries, k)[1])
            with replacing(file) as part:
                part.write_bytes(faiss.serialize_index(built).data)
        else:
            nearest = top_k(engine_scores(form.metric, queries, vectors), k)[0]
            write_array(vectors, file)
        about: About = {
            "rows": len(vectors),
            "dimensions": vectors.shape[1],
            "query_dimensions": model.about()["representation"]["dimensions"],
            "metric": form.metric,
            "index": index if to == "faiss" else None,
            "learner": type(model.learner_).__name__,
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
    scaling = model.scaling
    parts: Arrays = {"mean": scaling.mean_} if len(scaling.mean_) else {}
    if not model.keeps_gallery or rank is not None:
        if scaling.is_unit:
            deviations: Arrays = {"scale": scaling.deviations_} if len(scaling.deviations_) else {}
            return learned | parts | deviations | {"unit": np.ones(1)}, False
        return learned | parts | {"scale": np.asarray(scaling.scale_)}, False
    divisor = np.float32(scaling.scale_**2)
    return {name: array / divisor for name, array in learned.items()} | parts, True


def _lost(model: Similarity, form: IndexForm, found: Rows, rows: Matrix) -> list[dict[Hashable, Any]]:
    """Measure rankings with all dimensions and with fewer, where there are rows with labels."""
    labelled = np.flatnonzero(found.labels != "")
    if not len(labelled):
        return []
    asked = found.take(labelled)
    chosen = labelled[choose_evaluated(asked, model.learned_from(asked), np.empty(0, bool))[0]]
    part = generator(model.random_state, "export").permutation(chosen)[:MOST_JUDGED]
    compared: dict[str, Compared] = {
        "all dimensions": (model.learner_, rows[part]),
        f"{next(iter(form.query_map.values())).shape[-1]} dimensions": (form, rows[part]),
    }
    with suppress(LookalikeError):  # no row has both another of its class and one of another class to find
        return compare_on_labels(compared, found.labels[part], (1, FIRST), model.random_state).to_dict("records")
    return []


def _faiss_index(vectors: Floats, factory: str, metric: str) -> faiss.Index:
    """Build an index, as ``faiss.index_factory`` reads its name, of vectors or none yet; an error tells why not."""
    import faiss

    kinds = {"inner_product": faiss.METRIC_INNER_PRODUCT, "squared_euclidean": faiss.METRIC_L2}
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


def _dense(rows: Matrix) -> Floats:
    return np.ascontiguousarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float32)
