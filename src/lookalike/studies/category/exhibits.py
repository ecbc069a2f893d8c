"""Exhibits of the category study that have no module of their subject (JMLR 5.3 and 6, and its draft of 2009)."""

from __future__ import annotations

import math

from lookalike.exhibits.in_text import Fact, numbers_in_text
from lookalike.exhibits.model import Table
from lookalike.exhibits.registry import exhibit
from lookalike.studies.category import comparison as comparison
from lookalike.studies.category import neighbours as neighbours
from lookalike.studies.category import pictures as pictures
from lookalike.studies.category import precision as precision
from lookalike.studies.category import supplement as supplement
from lookalike.studies.category import tens as tens
from lookalike.studies.category import times as times
from lookalike.studies.category import training as training
from lookalike.studies.category.study import CategoryStudy, Subset

TEN = 10
"""Classes of the subsets whose triplets the papers count."""
WORDS_IN_TEXT = 10_000
"""Size of the codebook for which the paper prints the non-zeros per image (JMLR section 3)."""


@exhibit(
    "oasis-jmlr-2010/text",
    "oasis-2009-draft/text",
    title="Numbers in its text",
    needs=("fits", "manifest"),
    shows=("oasis", "euclidean", "ablations"),
)
def numbers_of_text(study: CategoryStudy) -> Table:
    """What the paper says in its text: images kept, visterms of an image, and how symmetric W is after training."""
    # the first subset that the paper of the text prints, else the first
    among = study.parts or study.all_subsets
    subset = next((part for part in among if study.setting_of(part)), among[0])
    return numbers_in_text(study, facts_of(study, subset))


def facts_of(study: CategoryStudy, subset: Subset) -> list[Fact]:
    """Numbers of the running text, as this run has them."""
    manifest = study.table("manifest")
    kept = manifest[manifest["status"] == "ok"]
    fits = study.table("fits")
    fits = fits[fits["subset"] == subset.id]
    # the study's own representation, unless one with the paper's number of words was run
    large = sorted(set(fits.loc[fits["n_words"] == WORDS_IN_TEXT, "representation"]))
    own = study.representation
    fits = fits[fits["representation"] == (own if own in large or not large else large[0])]
    # every method of a fold is given the same images
    nonzeros = fits.drop_duplicates("fold")["nonzeros_per_image_train"].dropna()
    words = 0 if nonzeros.empty else int(fits["n_words"].iloc[0])
    index = study.recorded(subset, "oasis", "symmetry_index").astype(float)
    tens = [study.n_triplets(part) for part in study.all_subsets if part.n_classes == TEN]
    ten = float(tens[0]) if tens else math.nan
    means = [(float(values.mean()), form, float(values.std())) for values, form in ((nonzeros, ".1f"), (index, ".3f"))]
    return [
        Fact("images_kept", "Images kept after dropping too small ones", len(kept)),
        Fact("categories_kept", "Categories kept", kept["label"].nunique()),
        Fact("triplets_of_ten_classes", "Triplets of ten classes", ten),
        Fact("nonzeros_per_image", "Mean non-zeros per image", *means[0], subset=subset.id, words=words),
        Fact("symmetry_index", "Symmetry index of OASIS", *means[1], method="oasis", subset=subset.id),
    ]
