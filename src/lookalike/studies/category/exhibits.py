"""Exhibits of the category study that have no module of their subject (JMLR 5.3 and 6, and its draft of 2009)."""

from __future__ import annotations

import math

import pandas as pd

from lookalike.exhibits.claims_table import claims_table
from lookalike.exhibits.model import Table
from lookalike.exhibits.printed import Cell, beside_print, plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.statuses import Status
from lookalike.studies.category import comparison as comparison
from lookalike.studies.category import neighbours as neighbours
from lookalike.studies.category import pictures as pictures
from lookalike.studies.category import precision as precision
from lookalike.studies.category import supplement as supplement
from lookalike.studies.category import times as times
from lookalike.studies.category import training as training
from lookalike.studies.category.study import PAPERS_OTHER_CLASSES, CategoryStudy, Subset

TEXT_ROWS = {
    "images_kept": ("Images kept after dropping too small ones", ",.0f"),
    "categories_kept": ("Categories kept", ",.0f"),
    "nonzeros_per_image": ("Mean non-zeros per image", ".1f"),
    "symmetry_index": ("Symmetry index of OASIS", ".3f"),
}
"""Metric to its title and the format of ours."""
WORDS_IN_TEXT = 10_000
"""Size of the codebook for which the paper prints the non-zeros per image (JMLR section 3)."""


@exhibit("oasis-jmlr-2010/text", title="Numbers in the running text", needs=("fits", "manifest"))
def numbers_in_text(study: CategoryStudy) -> Table:
    """What the paper says in its text: images kept, visterms of an image, and how symmetric W is after training."""
    # the first subset that the paper of the text prints, else the first
    among = study.parts or study.all_subsets
    subset = next((part for part in among if study.setting_of(part)), among[0])
    ours = pd.DataFrame(facts_of(study, subset), columns=["method", "metric", "subset", "ours", "ours_std", "words"])
    on = ("method", "metric")
    cells = beside_print(ours, study.printed_in(), on=on, judge=lambda cell: _judged(study, subset, cell))
    cells = cells[cells["status"] != ""].assign(unit="")
    records = cells.to_dict("records")
    words = [f" ({row['words']:,} words)" if row["words"] else "" for row in records]
    cells["title"] = [TEXT_ROWS[row["metric"]][0] + scope for row, scope in zip(records, words, strict=True)]
    cells["ours_cell"] = [plus_minus(row["ours"], row["ours_std"], TEXT_ROWS[row["metric"]][1]) for row in records]
    cells["printed_cell"] = [plus_minus(row["printed"], row["printed_std"], ",g") for row in records]
    cells["told"] = [": ".join(filter(None, (row["status"], row["reason"]))) for row in records]
    heads = {"title": study.title, "ours_cell": "ours", "printed_cell": "paper", "told": "status"}
    return Table(cells, heads=heads, numbers=frozenset(("ours_cell", "printed_cell")))


def facts_of(study: CategoryStudy, subset: Subset) -> list[tuple[str, str, str, float, float, int]]:
    """Numbers of the running text, as this run has them, and the words of the codebook or 0."""
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
    return [
        ("", "images_kept", "", float(len(kept)), math.nan, 0),
        ("", "categories_kept", "", float(kept["label"].nunique()), math.nan, 0),
        ("", "nonzeros_per_image", subset.id, float(nonzeros.mean()), float(nonzeros.std()), words),
        ("oasis", "symmetry_index", subset.id, float(index.mean()), float(index.std()), 0),
    ]


def _judged(study: CategoryStudy, subset: Subset, cell: Cell) -> tuple[str, str] | None:
    """Say why a number in running text may not be held against print; None where it may."""
    why = ""
    if math.isnan(cell["printed"]) or math.isnan(cell["ours"]):
        return None
    if study.synthetic:
        why = "synthetic images"
    elif cell["metric"] == "symmetry_index":
        why = subset.why_not_comparable or ("" if study.setting_of(subset) else PAPERS_OTHER_CLASSES)
    elif study.data_set.kind != "caltech256":
        why = "other images than the paper's"
    elif cell["metric"] == "nonzeros_per_image" and cell["words"] != WORDS_IN_TEXT:
        why = f"{cell['words']:,} words here, {WORDS_IN_TEXT:,} in the paper"
    return (Status.NOT_COMPARABLE, why) if why else None


@exhibit("learning/claims", title="Claims of the papers", needs=("contrasts", "time_contrasts"))
def claims(study: CategoryStudy) -> Table:
    """Which of the papers' claims about Caltech-256, told in our words, hold in this run."""
    return claims_table(study)
