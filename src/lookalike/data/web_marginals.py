"""Marginals of a query log and its visterms, part by part: what the papers print of their own data.

They are numbers of queries and images (JMLR 2010, Table 1), relevant images (section 5.2.1) and non-zeros (section 3).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data.query_log import QueryLog

SAMPLE = 20_000  # images of each part whose relevant images are counted


def measure_marginals(log: QueryLog, parts: Array, visterms: Matrix, seed: int, size: int = SAMPLE) -> pd.DataFrame:
    """Count images, queries, their pairs, and means of an image, in each part: columns ``part, quantity, value``."""
    if not log.n_images == len(parts) == visterms.shape[0]:
        others = f"the query log has {log.n_images} images, the table of images {len(parts)}"
        raise LookalikeError(f"{others} and the visterms {visterms.shape[0]}; make them again with the same settings")
    lengths, counts = np.diff(visterms.indptr), []
    for part in ("train", "test"):
        images = np.flatnonzero(parts == part)
        if not len(images):
            raise LookalikeError(f"no image is in the {part} part; use a data set with images in both parts")
        own = log.of_images(images)  # queries count that have an image in the part, relevant images of the same part
        sample = np.sort(generator(seed, "web", "marginals", part).permutation(len(images))[:size])
        found = {
            "images": len(images),
            "queries": np.count_nonzero(own.images_per_query()),
            "pairs": own.n_pairs,
            "nonzeros_per_image": lengths[images].mean(),
            "relevant_per_image": own.relevant_per_image(images=sample).mean(),
        }
        counts += [{"part": part, "quantity": name, "value": float(n)} for name, n in found.items()]
    return pd.DataFrame(counts)
