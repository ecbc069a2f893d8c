"""The images of a gallery that are most like query images, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd


def nearest(learner: Any, queries: tuple[pd.DataFrame, Any], gallery: tuple[pd.DataFrame, Any], k: int) -> pd.DataFrame:
    """Rank a gallery's images for each query, those of the query's own content left out.

    Parameters
    ----------
    learner : SimilarityLearner
    queries, gallery : (DataFrame, csr_array or ndarray of shape (n, d))
        Images as of `lookalike.own_images.image_set.COLUMNS`, and the rows that `learner` takes.
    k : int
        Neighbours; fewer where the gallery has fewer.

    Returns
    -------
    DataFrame
        ``query``, ``rank``, ``path``, ``score``, ``label`` as of `ImageSimilarity.rank`.

    Raises
    ------
    LookalikeError
        When the gallery holds nothing but a query.
    """
    import pandas as pd

    (wanted, query_rows), (images, gallery_rows) = queries, gallery
    contents = images["sha256"].to_numpy(str)
    parts = []
    for number, (path, sha256) in enumerate(zip(wanted["path"], wanted["sha256"], strict=True)):
        others = np.flatnonzero(contents != sha256)
        if not len(others):
            raise LookalikeError(f"the gallery holds no image but the query {path}: give a folder of others")
        places, scores = learner.rank(query_rows[[number]], gallery_rows[others], min(k, len(others)))
        best = images.iloc[others[places[0]]]
        parts.append(
            pd.DataFrame(
                {
                    "query": path,
                    "rank": range(1, len(best) + 1),
                    "path": best["path"].to_numpy(),
                    "score": scores[0].astype(np.float64),
                    "label": best["label"].to_numpy(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
