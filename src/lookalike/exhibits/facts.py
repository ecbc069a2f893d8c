"""Numbers about images and models that the papers give in running text, as this run has them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lookalike.exhibits.context import Context, SubsetInfo

if TYPE_CHECKING:
    import pandas as pd

PAPER_OF_TEXT = "oasis-jmlr-2010"
"""The paper whose running text prints these numbers."""
WORDS_IN_TEXT = 10_000
"""Size of the codebook for which the paper prints the non-zeros per image (JMLR section 3)."""
COLUMNS = ("metric", "value", "std", "words")


def study_facts(manifest: pd.DataFrame, fits: pd.DataFrame | None, context: Context) -> pd.DataFrame:
    """Gather what the text exhibit shows.

    Parameters
    ----------
    manifest : DataFrame
        Columns ``status`` and ``label``.
    fits : DataFrame or None
        Columns ``subset``, ``representation``, ``method``, ``fold``, ``n_words``, ``nonzeros_per_image_train`` and, of
        OASIS, ``symmetry_index``.
    context : Context
        Numbers of fits are those of `subset_of_text`.

    Returns
    -------
    DataFrame
        A row for each of ``images_kept`` and ``categories_kept`` (status ok; clutter has a status of its own),
        ``nonzeros_per_image`` (in a representation of 10,000 words if one was run, else in the study's own) and
        ``symmetry_index`` (OASIS, in the study's own). Columns: ``metric``, ``value``, ``std`` (over folds; NaN where
        there is but one number) and ``words`` (size of the codebook; 0 where it does not matter).
    """
    import pandas as pd

    kept = manifest[manifest["status"] == "ok"]
    rows = [
        ("images_kept", float(len(kept)), math.nan, 0),
        ("categories_kept", float(kept["label"].nunique()), math.nan, 0),
    ]
    subset = subset_of_text(context)
    if fits is not None and subset is not None:
        of_subset = fits[fits["subset"] == subset.id]
        chosen = of_subset[of_subset["representation"] == _representation_of_text(of_subset, context)]
        # every method of a fold is given the same images
        nonzeros = chosen.drop_duplicates("fold")["nonzeros_per_image_train"].dropna()
        if len(nonzeros):
            words = int(chosen["n_words"].iloc[0])
            rows.append(("nonzeros_per_image", float(nonzeros.mean()), float(nonzeros.std()), words))
        oasis = (of_subset["representation"] == context.representation) & (of_subset["method"] == "oasis")
        # a study without a bilinear model has no such column
        if "symmetry_index" in of_subset and of_subset.loc[oasis, "symmetry_index"].notna().any():
            symmetry = of_subset.loc[oasis, "symmetry_index"].astype(float)
            rows.append(("symmetry_index", float(symmetry.mean()), float(symmetry.std()), 0))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def subset_of_text(context: Context) -> SubsetInfo | None:
    """Return the first subset that the paper of the text prints, else the first; None where there is none."""
    printed = (subset for subset in context.subsets if subset.printed.get(PAPER_OF_TEXT))
    return next(printed, next(iter(context.subsets), None))


def _representation_of_text(fits: pd.DataFrame, context: Context) -> str:
    """One of 10,000 words, the study's own before others; the study's own where none has as many."""
    large = sorted(set(fits.loc[fits["n_words"] == WORDS_IN_TEXT, "representation"]))
    return context.representation if context.representation in large or not large else str(large[0])
