"""Marginals of a query log and its visterms, part by part: what the papers print of their own data.

They are numbers of queries and images (JMLR 2010, Table 1), relevant images (section 5.2.1) and non-zeros (section 3).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data.query_log import QueryLog
from lookalike.features.visterm_store import VistermStore

SAMPLE = 20_000  # images of each part whose relevant images are counted
BLOCK = 50_000  # images that are read at a time


def measure_marginals(
    log: QueryLog, parts: Array, store: VistermStore, seed: int, sample: int = SAMPLE
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure how often each value (x) of a quantity occurs (y) in each part, and totals and means of the parts."""
    if not log.n_images == len(parts) == store.n_images:
        others = f"the query log has {log.n_images} images, the table of images {len(parts)}"
        raise LookalikeError(f"{others} and the visterms {store.n_images}; make them again with the same settings")
    # how many images of each part contain each word
    frequencies, is_test = np.zeros((2, store.n_words), dtype=np.int64), parts == "test"
    for first, visterms in store.slices(BLOCK):
        of_test = np.repeat(is_test[first : first + visterms.shape[0]], np.diff(visterms.indptr))
        for n_with_word, chosen in zip(frequencies, (~of_test, of_test), strict=True):
            n_with_word += np.bincount(visterms.indices[chosen], minlength=store.n_words)
    lengths, curves, counts = store.row_lengths(), [], []
    for part, n_with_word in zip(("train", "test"), frequencies, strict=True):
        images = np.flatnonzero(parts == part)
        if not len(images):
            raise LookalikeError(f"no image is in the {part} part; use a data set with images in both parts")
        own = log.of_images(images)  # queries count that have an image in the part, relevant images of the same part
        per_query = own.images_per_query()
        order = generator(seed, "web", "marginals", part).permutation(len(images))
        values = {
            "nonzeros_per_image": lengths[images],
            "images_per_query": per_query[per_query > 0],
            "queries_per_image": own.queries_per_image(),
            "relevant_per_image": own.relevant_per_image(images=np.sort(order[:sample])),
        }
        shares = np.sort(n_with_word[n_with_word > 0] / len(images))[::-1]
        drawn = {"word_frequency": (np.arange(1, len(shares) + 1), shares)}
        for quantity, found in values.items():
            x, n = np.unique(found, return_counts=True)
            drawn[quantity] = (x, n / n.sum())
        curves += [
            pd.DataFrame({"quantity": quantity, "part": part, "x": x.astype(np.float64), "y": y})
            for quantity, (x, y) in drawn.items()
        ]
        totals = {"images": len(images), "queries": len(values["images_per_query"]), "pairs": own.n_pairs}
        means = {name: values[name].mean() for name in ("nonzeros_per_image", "relevant_per_image")}
        counts += [{"part": part, "quantity": name, "value": float(n)} for name, n in (totals | means).items()]
    marginals = pd.concat(curves).sort_values(["quantity", "part", "x"], kind="stable", ignore_index=True)
    return marginals, pd.DataFrame(counts)
