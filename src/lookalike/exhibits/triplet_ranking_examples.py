"""Ranking examples of the fine-grained study: a query with the first images of three systems (Deep Ranking, Figure 7).

Which queries are shown is a rule and no choice: those that DeepRanking gains the most on against ConvNet, and the one
that it loses the most on. Search noise, images of another category in the pool, has a sign, a line and a colour. Part
of `lookalike.exhibits.triplet_pictures`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.image_grid import class_name
from lookalike.exhibits.landmark_montage import THUMBNAIL, Mark
from lookalike.exhibits.style import GREY, ORANGE, new_figure, paper_style
from lookalike.exhibits.triplet_context import CONVNET, DEEP, REAL, TripletContext, say_about_data
from lookalike.exhibits.triplet_thumbnails import PictureMaterial, bare, empty_picture, frame_panel, not_drawn

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SYSTEMS = (CONVNET, "oasis", DEEP)
"""Systems of the figure, in the paper's order."""
COLUMNS = (
    "chosen_as",
    "query",
    "text_query",
    "system",
    "rank",
    "image_id",
    "file",
    "label",
    "search_noise",
    "relevance",
)
CHOSEN_COLUMNS = ("query", "text_query", "chosen_as", "n_triplets", "better", "worse")
RANKING_COLUMNS = ("system", "query", "text_query", "rank", "image_id", "distance")
WIDTH, ROW = 8.0, 0.76
"""Width of the figure and height of one row of results, in inches."""
LABEL_LETTERS = 18
"""Letters of a line beneath a query, and of a line where a row says why it is empty."""
NOISE = Mark("✗", ORANGE, "--", "search noise: an image of another category")
PLAIN = Mark("", "#c8c8c8", "-", "")


def choose_queries(
    outcomes: pd.DataFrame, triplets: pd.DataFrame, better: str = DEEP, worse: str = CONVNET, n: int = 3
) -> pd.DataFrame:
    """Choose the queries of Figure 7 by rule.

    All but the last are the queries on which the share of triplets that are right rises the most from `worse` to
    `better`, the last is the one on which it falls the most; of equal ones, the query with more triplets, then the
    lower image id. No text query comes twice while there are others. Where a system was not measured, the queries
    with the most triplets are taken.

    Parameters
    ----------
    outcomes : DataFrame
        ``system``, ``triplet``, ``outcome``.
    triplets : DataFrame
        ``triplet``, ``query``, ``text_query``.
    better, worse : str
        Systems.
    n : int
        Queries, at least 1.

    Returns
    -------
    DataFrame
        `CHOSEN_COLUMNS`: ``better`` and ``worse`` are the shares of triplets that are right, NaN where not measured.
    """
    import pandas as pd

    keys = ["query", "text_query"]
    table = triplets.groupby(keys, sort=True).size().rename("n_triplets").to_frame()
    for name, system in (("better", better), ("worse", worse)):
        own = outcomes[outcomes["system"] == system].merge(triplets[["triplet", *keys]], on="triplet")
        table[name] = own.groupby(keys)["outcome"].mean() if len(own) else np.nan
    table = table.reset_index()
    table["gain"] = table["better"] - table["worse"]
    measured = table.dropna(subset=["gain"])
    if measured.empty:
        most = _first_of_each(table.sort_values(["n_triplets", "query"], ascending=[False, True]), n)
        return most.assign(chosen_as="most triplets")[list(CHOSEN_COLUMNS)].reset_index(drop=True)
    falling = measured.sort_values(["gain", "n_triplets", "query"], ascending=[False, False, True])
    rising = measured.sort_values(["gain", "n_triplets", "query"], ascending=[True, False, True])
    gains = _first_of_each(falling, max(1, n - 1))
    rest = rising[~rising["query"].isin(gains["query"])]
    other = rest[~rest["text_query"].isin(gains["text_query"])]
    chosen = pd.concat([gains, (other if len(other) else rest).head(min(1, n - 1))])
    names = [_rise(place, gain) for place, gain in enumerate(gains["gain"])]
    names += ["largest loss" if gain < 0 else "smallest gain" for gain in chosen["gain"][len(gains) :]]
    return chosen.assign(chosen_as=names)[list(CHOSEN_COLUMNS)].reset_index(drop=True)


def rankings_of(
    pairs: pd.DataFrame,
    distances: Mapping[str, npt.NDArray[np.float32]],
    chosen: pd.DataFrame,
    n: int = 8,
) -> pd.DataFrame:
    """Return the first images of the pools of chosen queries, by each system.

    Parameters
    ----------
    pairs : DataFrame
        ``text_query``, ``query``, ``candidate``, ``in_pool``.
    distances : mapping of str to ndarray of float32, shape (number of pairs,)
        System to its distances, aligned with `pairs`; smaller is more similar. NaN is never ranked.
    chosen : DataFrame
        ``query``, ``text_query``.
    n : int
        Images a ranking.

    Returns
    -------
    DataFrame
        `RANKING_COLUMNS`; ranks count from 1, equally distant images stand in the order of their ids.

    Raises
    ------
    LookalikeError
        When distances are not as many as pairs.
    """
    import pandas as pd

    query, text_query = pairs["query"].to_numpy(), pairs["text_query"].to_numpy()
    candidate, in_pool = pairs["candidate"].to_numpy(), pairs["in_pool"].to_numpy(dtype=bool)
    rows: list[pd.DataFrame] = []
    for system, values in distances.items():
        if len(values) != len(pairs):
            raise LookalikeError(
                f"{system} has {len(values)} distances of {len(pairs)} pairs: measure its distances again"
            )
        for one in chosen.itertuples():
            here = np.flatnonzero((query == one.query) & (text_query == one.text_query) & in_pool & ~np.isnan(values))
            first = here[np.lexsort((candidate[here], values[here]))][:n]
            own = {"rank": np.arange(1, len(first) + 1), "image_id": candidate[first], "distance": values[first]}
            rows.append(pd.DataFrame({"system": system, "query": one.query, "text_query": one.text_query, **own}))
    if not rows:
        return pd.DataFrame(columns=list(RANKING_COLUMNS))
    return pd.concat(rows, ignore_index=True)[list(RANKING_COLUMNS)]


def ranking_examples(
    material: PictureMaterial | None,
    rankings: pd.DataFrame | None,
    chosen: pd.DataFrame | None,
    context: TripletContext,
    *,
    relevance: pd.DataFrame | None = None,
    titles: Mapping[str, str] | None = None,
) -> Plot:
    """Draw the first images that ConvNet, OASIS and DeepRanking find for each chosen query (Figure 7).

    Parameters
    ----------
    material : PictureMaterial or None
        None where nothing was run.
    rankings : DataFrame or None
        From `rankings_of`; a system without rows has a row that says why.
    chosen : DataFrame or None
        From `choose_queries`.
    context : TripletContext
    relevance : DataFrame, optional
        ``query``, ``image_id``, ``relevance``: printed beneath an image where it is known.
    titles : mapping of str to str, optional
        System to its name; by default those of the context.

    Returns
    -------
    Plot
        Frame columns `COLUMNS`, a row an image; ``search_noise`` is empty where the image's category is not known,
        ``relevance`` is NaN where it is not.
    """
    import pandas as pd

    shown = None if rankings is None else rankings[rankings["system"].isin(SYSTEMS)]
    if material is None or shown is None or chosen is None or shown.empty or chosen.empty:
        return empty_picture(_why_empty(context), COLUMNS)
    known = {} if relevance is None else _lookup(relevance)
    # labels of rated triplets are text queries, which say nothing of what an image shows
    labels = {} if context.kind == REAL else material.labels
    n_results = int(shown["rank"].max())
    records: list[dict[str, Any]] = []
    with paper_style():
        n_rows = len(SYSTEMS) * len(chosen)
        figure = new_figure(WIDTH, ROW * n_rows + 0.35)
        grid = figure.add_gridspec(n_rows, 2 + n_results, width_ratios=[1.7, 0.95] + [1.0] * n_results)
        say_about_data(figure, context)
        for place, one in enumerate(chosen.to_dict("records")):
            first = len(SYSTEMS) * place
            _draw_query(bare(figure.add_subplot(grid[first : first + len(SYSTEMS), 0])), one, material)
            own = shown[(shown["query"] == one["query"]) & (shown["text_query"] == one["text_query"])]
            for row, system in enumerate(SYSTEMS, start=first):
                title = (titles or {}).get(system) or context.title_of(system)
                name = bare(figure.add_subplot(grid[row, 1]))
                name.text(
                    0.5, 0.5, "\n".join(wrap(title, 12)), ha="center", va="center", fontsize=7, transform=name.transAxes
                )
                results = own[own["system"] == system].sort_values("rank")
                if results.empty:
                    _say_why(
                        bare(figure.add_subplot(grid[row, 2:])), context.why_not_run(system) or "not measured here"
                    )
                for result in results.to_dict("records"):
                    axis = bare(figure.add_subplot(grid[row, 1 + int(result["rank"])]))
                    record = _record(one, result, material, labels, known)
                    _draw_result(axis, record, material)
                    records.append(record)
        if any(record["search_noise"] is not None for record in records):
            _draw_legend(figure)
    return Plot(figure, pd.DataFrame(records, columns=list(COLUMNS)))


def caption_of_rankings(plot: Plot, context: TripletContext) -> str:
    """Caption of `ranking_examples`: what is shown, by which rule queries were chosen, and how much is search noise.

    Parameters
    ----------
    plot : Plot
    context : TripletContext
    """
    names = [context.title_of(system) for system in SYSTEMS]
    shows = f"Ranking examples of {', '.join(names[:-1])} and {names[-1]}: a query and the first images of its pool."
    frame = plot.frame
    if frame.empty:
        return not_drawn(shows, plot, context)
    parts = [shows, f"{context.images}."]
    if set(frame["chosen_as"]) == {"most triplets"}:
        parts.append("Queries by rule: those with the most triplets, as the systems to compare were not both run.")
    else:
        parts.append(
            f"Queries by rule: those where the share of triplets that {names[-1]} has right rises the most above "
            f"that of {names[0]}, and the one where it falls the most, no text query twice while there are others; "
            f"beneath each its share by {names[0]} and by {names[-1]}."
        )
    missing = [system for system in SYSTEMS if system not in set(frame["system"])]
    parts += [
        f"{context.title_of(system)}: {context.why_not_run(system) or 'not measured here'}." for system in missing
    ]
    known = frame[frame["search_noise"].notna()]
    if len(known) < len(frame):
        parts.append("Search noise is not marked among images whose category is not known.")
    if len(known):
        shares = known.assign(noise=known["search_noise"].astype(float)).groupby("system", sort=False)["noise"].mean()
        told = ", ".join(f"{context.title_of(str(system))} {100 * share:.0f}%" for system, share in shares.items())
        parts.append(f"Dashed frame and ✗: search noise, an image of another category ({told} of the images shown).")
    if frame["relevance"].notna().any():
        parts.append("Small numbers: relevance to the query, where it is known.")
    return " ".join(parts)


def _first_of_each(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the first `n` rows of different text queries; where those are fewer, then the first other rows."""
    import pandas as pd

    different = table.drop_duplicates("text_query")
    others = table[~table.index.isin(different.index)]
    return pd.concat([different, others]).head(n)


def _rise(place: int, gain: float) -> str:
    if gain <= 0:
        return "smallest loss" if place == 0 else "next smallest loss"
    return "largest gain" if place == 0 else "next largest gain"


def _why_empty(context: TripletContext) -> str:
    if context.not_run_sentence:
        return context.not_run_sentence
    return context.why_not_run(DEEP) or "none of the systems that it compares has a ranking"


def _lookup(relevance: pd.DataFrame) -> dict[tuple[int, int], float]:
    columns = (relevance[name] for name in ("query", "image_id", "relevance"))
    return {(int(query), int(image)): float(value) for query, image, value in zip(*columns, strict=True)}


def _record(
    chosen: Mapping[Any, Any],
    result: Mapping[Any, Any],
    material: PictureMaterial,
    labels: Mapping[int, str],
    relevance: Mapping[tuple[int, int], float],
) -> dict[str, Any]:
    query, image_id = int(chosen["query"]), int(result["image_id"])
    label = labels.get(image_id, "")
    return {
        "chosen_as": chosen["chosen_as"],
        "query": query,
        "text_query": chosen["text_query"],
        "system": result["system"],
        "rank": int(result["rank"]),
        "image_id": image_id,
        "file": material.file_of(image_id),
        "label": label,
        "search_noise": label != chosen["text_query"] if label else None,
        "relevance": relevance.get((query, image_id), float("nan")),
    }


def _draw_query(axis: Axes, chosen: Mapping[Any, Any], material: PictureMaterial) -> None:
    """Query image; above it why it was chosen, beneath it its text query and the shares of triplets that are right."""
    axis.imshow(material.load(int(chosen["query"]), 2 * THUMBNAIL))
    axis.set_title(str(chosen["chosen_as"]), fontsize=7.5, pad=3)
    lines = wrap(class_name(str(chosen["text_query"])), LABEL_LETTERS)
    shares = [float(chosen.get(name, float("nan"))) for name in ("worse", "better")]
    if not any(map(math.isnan, shares)):
        lines += [f"{100 * shares[0]:.0f}% → {100 * shares[1]:.0f}% right", f"of {chosen['n_triplets']} triplets"]
    axis.set_xlabel("\n".join(lines), fontsize=6.5, labelpad=3)


def _draw_result(axis: Axes, record: Mapping[str, Any], material: PictureMaterial) -> None:
    axis.imshow(material.load(int(record["image_id"])))
    mark = NOISE if record["search_noise"] else PLAIN
    frame_panel(axis, mark, width=2.0 if record["search_noise"] else 0.6)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    if mark.sign:
        axis.text(
            0.04, 0.96, mark.sign, transform=axis.transAxes, fontsize=8, color=mark.colour, ha="left", va="top",
            fontweight="bold", bbox=box,
        )  # fmt: skip
    if not math.isnan(record["relevance"]):
        axis.text(
            0.97, 0.03, f"{record['relevance']:.2f}", transform=axis.transAxes, fontsize=5.5, ha="right", va="bottom",
            bbox=box,
        )  # fmt: skip


def _say_why(axis: Axes, why: str) -> None:
    axis.text(0.5, 0.5, "\n".join(wrap(why, 80)), ha="center", va="center", fontsize=7, color=GREY)


def _draw_legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    look: dict[str, Any] = {"facecolor": "white", "edgecolor": NOISE.colour, "linestyle": NOISE.line, "linewidth": 1.6}
    figure.legend(handles=[Patch(**look, label=f"{NOISE.sign}  {NOISE.meaning}")], loc="outside lower center")
