"""The gallery of a data set of the fine-grained study: a pool by distance before and after learning (Deep Ranking).

Before learning are the features of a network trained to tell classes, which the paper starts from, or without networks
a hand-crafted feature; after it DeepRanking, or the first learned system that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.files import read_table
from lookalike.exhibits.image_grid import class_name
from lookalike.report._gallery_files import Pictures, StudyFolder
from lookalike.report._gallery_model import (
    Candidate,
    Choice,
    DatasetGallery,
    Found,
    GallerySettings,
    Kind,
    Query,
    Side,
    choose,
    told_change,
    told_choice,
    told_score,
)
from lookalike.studies.finegrained.pictures import AFTER, BEFORE, rankings_of
from lookalike.studies.finegrained.systems import REAL, system_title

if TYPE_CHECKING:
    import pandas as pd

SAME, OTHER = Kind("same", "✓", "same category"), Kind("other", "✗", "other category")
UNKNOWN = Kind("unknown", "?", "category not known")
MEASURE = "the share of right triplets"
KEYS = ["query", "text_query"]


def finegrained_gallery(study: StudyFolder, settings: GallerySettings, *, seed: int) -> DatasetGallery | str:
    """Return the gallery of one data set of the fine-grained study, or the sentence that says why there is none.

    Parameters
    ----------
    study : StudyFolder
    settings : GallerySettings
    seed : int
        Root seed.
    """
    import pandas as pd

    before, after = (_first_measured(study, systems) for systems in (BEFORE, AFTER))
    if before is None or after is None:
        return f"{study.title}: no two systems, one learned and one not, have distances to rank by."
    pairs = read_table(study.folder / "pairs.parquet")
    distances = {system: _distances(study, system) for system in (before, after)}
    if any(len(values) != len(pairs) for values in distances.values()):
        return f"{study.title}: distances are not as many as pairs; measure them again."
    root = study.root()
    if root is None:
        return study.why_without_images()
    pictures = Pictures(study, root, settings)
    shares = _shares(study, before, after)
    pooled = pairs.loc[pairs["in_pool"].astype(bool), KEYS].drop_duplicates().sort_values(["text_query", "query"])
    table = pooled.merge(shares, on=KEYS, how="left").reset_index(drop=True)
    gains = (table["after"] - table["before"]).tolist()
    candidates = [
        Candidate(row, text, gain) for row, (text, gain) in enumerate(zip(table["text_query"], gains, strict=True))
    ]
    choices = choose(candidates, settings.n_finegrained, seed=seed, dataset=study.dataset)
    chosen = table.iloc[[choice.key for choice in choices]]
    ranked = rankings_of(pairs, distances, chosen[KEYS], settings.n_shown)
    queries = _queries(study, pictures, table, choices, ranked, (before, after))
    if not queries:
        return study.why_without_images()
    noise = any(found.kind is OTHER for query in queries for found in query.before.found + query.after.found)
    n_triplets = int(pd.to_numeric(table["n_triplets"]).sum())
    return DatasetGallery(
        dataset=study.dataset,
        title=study.title,
        synthetic=study.synthetic,
        about=(
            f"{study.images}: the pool of each query by distance of {system_title(before)}, before learning from "
            f"triplets, and of {system_title(after)}, after it."
            + (
                " Images of another category are search noise, which pools are meant to have: what is learned is the "
                "order among alike images, so read the share of right triplets beside the marks."
                if noise
                else ""
            )
        ),
        how=told_choice(candidates, choices, seed=seed, group_plural="categories", measure=MEASURE),
        scores=(
            "Score: the distance to the query, smaller is more alike; distances of the two systems have no common "
            f"scale. A triplet is right where its positive is nearer than its negative ({n_triplets:,} triplets of "
            f"{len(table):,} queries)."
        ),
        group_word="category",
        measure=MEASURE,
        change_word="of its triplets right",
        change_note="of its triplets are right",
        kinds=(SAME, OTHER) if noise else (UNKNOWN,),
        queries=tuple(sorted(queries, key=lambda query: query.label)),
    )


def _first_measured(study: StudyFolder, systems: Sequence[str]) -> str | None:
    return next((one for one in systems if (study.folder / "systems" / one / "distances.npy").is_file()), None)


def _distances(study: StudyFolder, system: str) -> npt.NDArray[np.float32]:
    values: npt.NDArray[np.float32] = np.load(study.folder / "systems" / system / "distances.npy", allow_pickle=False)
    return values


def _shares(study: StudyFolder, before: str, after: str) -> pd.DataFrame:
    """``query``, ``text_query``, ``n_triplets``, and the shares of triplets right ``before`` and ``after``."""
    import pandas as pd

    triplets = read_table(study.folder / "triplets.parquet")
    file = study.folder / "outcomes.parquet"
    result = triplets.groupby(KEYS, sort=True).size().rename("n_triplets").to_frame()
    outcomes = read_table(file) if file.is_file() else pd.DataFrame({"system": [], "triplet": [], "outcome": []})
    for name, system in (("before", before), ("after", after)):
        own = outcomes[outcomes["system"] == system].merge(triplets[["triplet", *KEYS]], on="triplet")
        result[name] = own.groupby(KEYS)["outcome"].mean() if len(own) else np.nan
    shares: pd.DataFrame = result.reset_index()
    return shares


def _queries(
    study: StudyFolder,
    pictures: Pictures,
    table: pd.DataFrame,
    choices: Sequence[Choice],
    ranked: pd.DataFrame,
    systems: tuple[str, str],
) -> list[Query]:
    queries = []
    for row, chosen_as in choices:
        one = {str(name): value for name, value in table.iloc[row].to_dict().items()}
        picture = pictures.of(int(one["query"]))
        if picture is None:
            continue
        own = ranked[(ranked["query"] == one["query"]) & (ranked["text_query"] == one["text_query"])]
        before, after = (
            _side(study, pictures, own[own["system"] == system], one, name, system)
            for name, system in zip(("before", "after"), systems, strict=True)
        )
        label = class_name(str(one["text_query"]))
        key = f"query-{study.dataset}-{row}-{int(one['query'])}"
        change = told_change(float(one["after"] - one["before"]) * float(one["n_triplets"]))
        queries.append(Query(key, label, chosen_as, picture, before, after, change))
    return queries


def _side(
    study: StudyFolder, pictures: Pictures, ranked: pd.DataFrame, asked: dict[str, Any], name: str, system: str
) -> Side:
    """What one system found for a query."""
    # labels of rated triplets are text queries, which say nothing of what an image shows
    labels = {} if _rated_by_people(study) else study.labels
    found = []
    for one in ranked.sort_values("rank").to_dict("records"):
        image = int(one["image_id"])
        label = labels.get(image, "")
        kind = UNKNOWN if not label else SAME if label == asked["text_query"] else OTHER
        found.append(Found(int(one["rank"]), class_name(label), kind, told_score(one["distance"]), pictures.of(image)))
    share, n_triplets = float(asked[name]), asked["n_triplets"]
    known = all(item.kind is not UNKNOWN for item in found)
    return Side(
        method=system_title(system),
        found=tuple(found),
        n_right=sum(item.kind is SAME for item in found) if known else None,
        n_counted=len(found),
        measure="" if np.isnan(share) else _told_triplets(share * n_triplets, int(n_triplets)),
    )


def _rated_by_people(study: StudyFolder) -> bool:
    """Whether the triplets are a release of rated ones, by its kind, or else by what its ranking examples mark."""
    if study.kind:
        return study.kind == REAL
    file = next(study.folder.glob("exhibits/*/fig7.csv"), None)
    if file is None:
        return False
    marks = read_table(file).get("search_noise")
    return marks is not None and len(marks) > 0 and bool(marks.isna().all())


def _told_triplets(n_right: float, n: int) -> str:
    """How many triplets of a query are right; ties count one half."""
    return f"{n_right:.1f}".removesuffix(".0") + f" of its {n} triplet{'' if n == 1 else 's'} right"
