"""Marginals of a query log and its visterms, measured from the files of the web study part by part.

They are what the papers print of their own data: numbers of queries and images (JMLR 2010, Table 1), relevant images
per image (section 5.2.1) and non-zeros per image (section 3). The calibration figure shows them beside the print.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table, write_table
from lookalike.core.seeds import generator
from lookalike.features.visterm_store import VistermStore

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.datasets.query_log import QueryLog

PARTS = ("train", "test")
SAMPLE = 20_000
"""Images of each part whose relevant images are counted."""
BLOCK = 50_000
"""Images that are read at a time."""


def measure_marginals(
    log: QueryLog, parts: NDArray[Any], store: VistermStore, seed: int, sample: int = SAMPLE
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure the marginals of both parts.

    Parameters
    ----------
    log : QueryLog
        Of all images.
    parts : ndarray of shape (n_images,), str
        "train" or "test" of each image.
    store : VistermStore
        Of all images; it is read once, block by block.
    seed : int
        Seed of the sample of images whose relevant images are counted.
    sample : int
        How many of each part.

    Returns
    -------
    marginals : DataFrame
        ``quantity``, ``part``, ``x``, ``y``: for ``nonzeros_per_image``, ``images_per_query``, ``queries_per_image``
        and ``relevant_per_image`` the values and the share of the images (or queries) of the part that have them;
        for ``word_frequency`` ranks from 1 and the share of the part's images that contain the word of that rank.
        Queries count that have an image in the part; relevant are the other images of the same part that share a
        query.
    counts : DataFrame
        ``part``, ``quantity``, ``value``: numbers of ``images``, ``queries`` and ``pairs``, and the means of
        ``nonzeros_per_image`` and ``relevant_per_image``.

    Raises
    ------
    LookalikeError
        When log, parts and store are not of the same images, or a part is empty.
    """
    import pandas as pd

    if not log.n_images == len(parts) == store.n_images:
        raise LookalikeError(
            f"the query log has {log.n_images} images, the table of images {len(parts)} and the visterms "
            f"{store.n_images}; make them again with the same settings"
        )
    members = {part: np.flatnonzero(parts == part) for part in PARTS}
    for part, images in members.items():
        if not len(images):
            raise LookalikeError(f"no image is in the {part} part; use a data set with images in both parts")
    lengths = store.row_lengths()
    frequencies = _word_frequencies(store, parts == "test")
    curves, counts = [], []
    for part, images in members.items():
        own = log.of_images(images)
        per_query, per_image = own.images_per_query(), own.queries_per_image()
        size = min(sample, len(images))
        chosen = np.sort(generator(seed, "web", "marginals", part).permutation(len(images))[:size])
        relevant = own.relevant_per_image(images=chosen)
        histograms = {
            "nonzeros_per_image": lengths[images],
            "images_per_query": per_query[per_query > 0],
            "queries_per_image": per_image,
            "relevant_per_image": relevant,
        }
        curves += [_histogram(values, quantity, part) for quantity, values in histograms.items()]
        curves.append(_ranked(frequencies[part] / len(images), part))
        values = {
            "images": len(images),
            "queries": int((per_query > 0).sum()),
            "pairs": own.n_pairs,
            "nonzeros_per_image": float(lengths[images].mean()),
            "relevant_per_image": float(relevant.mean()),
        }
        counts += [{"part": part, "quantity": name, "value": float(value)} for name, value in values.items()]
    marginals = pd.concat(curves, ignore_index=True).sort_values(["quantity", "part", "x"], kind="stable")
    return marginals.reset_index(drop=True), pd.DataFrame(counts)


def write_marginals(
    log: str | os.PathLike[str],
    images: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]],
    n_words: int,
    marginals: str | os.PathLike[str],
    counts: str | os.PathLike[str],
    *,
    seed: int,
    sample: int = SAMPLE,
) -> None:
    """Measure the marginals of the files of a web data set and write both tables.

    Parameters
    ----------
    log : path
        ``log.npz``.
    images : path
        ``images.parquet``.
    folders : sequence of paths
        Visterm stores in the order of their images.
    n_words : int
    marginals, counts : path
        The tables of `measure_marginals`, as Parquet or CSV by their suffixes.
    seed, sample : int
        As in `measure_marginals`.

    Raises
    ------
    LookalikeError
        When a file is missing or broken, the files are not of the same images, or the disk is full.
    """
    from lookalike.datasets.query_log import QueryLog

    parts = _read_parts(images)
    curves, totals = measure_marginals(QueryLog.load(log), parts, VistermStore(folders, n_words), seed, sample)
    write_table(curves, marginals)
    write_table(totals, counts)


def _read_parts(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Part of every image, in the order of their numbers."""
    table = read_table(path)
    if not np.array_equal(table["image_id"].to_numpy(), np.arange(len(table))):
        raise LookalikeError(f"the images in {path} are not numbered from 0 in order; make it again")
    parts: NDArray[Any] = table["part"].to_numpy()
    return parts


def _word_frequencies(store: VistermStore, is_test: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    """Number of images of each part that contain each word."""
    found = np.zeros((2, store.n_words), dtype=np.int64)
    for first, counts in store.slices(BLOCK):
        lengths = np.diff(counts.indptr)
        of_test = np.repeat(is_test[first : first + len(lengths)], lengths)
        for row, chosen in enumerate((counts.indices[~of_test], counts.indices[of_test])):
            found[row] += np.bincount(chosen, minlength=store.n_words)
    return dict(zip(PARTS, found, strict=True))


def _histogram(values: NDArray[np.int64], quantity: str, part: str) -> pd.DataFrame:
    x, n = np.unique(values, return_counts=True)
    return _curve(x, n / n.sum(), quantity, part)


def _ranked(shares: NDArray[np.float64], part: str) -> pd.DataFrame:
    """Shares from the largest down, of the words that occur."""
    descending = np.sort(shares[shares > 0])[::-1]
    return _curve(np.arange(1, len(descending) + 1), descending, "word_frequency", part)


def _curve(x: NDArray[Any], y: NDArray[np.float64], quantity: str, part: str) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"quantity": quantity, "part": part, "x": x.astype(np.float64), "y": y.astype(np.float64)})
