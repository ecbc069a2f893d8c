"""The commands for what people judge: ``rate``, ``ratings``, and ``evaluate-triplets`` (Deep Ranking, Table 1)."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lookalike.app import options
from lookalike.core.errors import LookalikeError, escaped

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.data.rated_triplets import RatedTriplets


Plan = Annotated[Path, Argument(metavar="PLAN.csv", help="the plan: which images are shown where")]
Table = Annotated[Path | None, Option(metavar="TABLE", help="also write the table (.csv or .parquet)")]


@options.command("rate")
def rate(
    plan: Plan,
    images: Annotated[Path, Option(metavar="FOLDER", help="folder that the paths of the plan start from")],
    output: Annotated[Path, Option(metavar="PAGE.html", help="the page to write")],
    title: Annotated[str, Option(metavar="TITLE", help="heading of the page")] = "Which images are similar?",
    neighbours: Annotated[Path | None, Option(metavar="FILE.csv", help="make PLAN.csv from these first")] = None,
    queries: Annotated[int, Option(metavar="N", min=1, help="query images to choose")] = 25,
    retrieved: Annotated[int, Option(metavar="N", min=1, help="neighbours shown for each query")] = 10,
    random: Annotated[int, Option(metavar="N", min=0, help="unrelated images shown for each query")] = 10,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page on which people rate images.

    The page shows each query image with its ten first neighbours and ten unrelated images, mixed. It is one file and
    needs no network. A rater opens it in a browser, answers, and exports a CSV file for `lookalike ratings`.
    """
    from lookalike.core.files import together, write_table
    from lookalike.studies.human.questionnaire import plan_of_file, read_plan, write_page

    options.check_output(output, options.PAGES, plan, neighbours)
    if neighbours is None:
        chosen = read_plan(plan)
    else:
        options.check_output(plan, (".csv",), neighbours)
        sizes = {"n_queries": queries, "n_retrieved": retrieved, "n_random": random}
        chosen = plan_of_file(neighbours, plan, seed=seed, **sizes)
    with together():
        write_page(chosen, images, output, title=title)
        if neighbours is not None:
            write_table(chosen, plan)
    n_queries, n = int(chosen["query"].nunique()), len(chosen)
    result = {"page": str(output), "queries": n_queries, "candidates": n}
    options.tell_result(result, [f"{output}: {n_queries} queries, {n} candidates"], as_json, quiet)


@options.command("ratings")
def ratings(
    plan: Plan,
    files: Annotated[list[Path], Argument(metavar="RATINGS.csv...", help="files that raters exported")],
    output: Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Print what people's ratings say.

    It reads the CSV files that raters exported from the page, and prints the precision of the neighbours, its standard
    deviations, and how well raters agree.
    """
    from lookalike.core.files import write_table
    from lookalike.studies.human.questionnaire import read_plan
    from lookalike.studies.human.ratings import read_ratings, summary

    if output is not None:
        options.check_output(output, options.TABLES, plan, *files)
    answers = read_ratings(files, read_plan(plan))
    if output is not None:
        write_table(answers, output)
    numbers = summary(answers)
    lines = (f"{name.replace('_', ' '):34}{value:8.3g}" for name, value in numbers.items() if name != "simulated")
    options.tell_result(numbers, lines, as_json)


@options.command("evaluate-triplets")
def evaluate_triplets(
    folder: Annotated[Path, Argument(metavar="DIR", help="folder of rated triplets")],
    features: Annotated[str | None, Option(metavar="NAMES", help="default: all, without --model or --vectors")] = None,
    model: Annotated[Path | None, Option(metavar="FILE.lookalike", help="a network; needs the extra `deep`")] = None,
    vectors: Annotated[Path | None, Option(metavar="FILE", help="of the images, whose ids are paths in DIR")] = None,
    id_column: options.IdColumn = None,
    k: Annotated[int, Option("--k", metavar="N", min=1, help="K of score@K: how many first images count")] = 30,
    codebook_images: Annotated[
        Path | None, Option(metavar="FOLDER", help="to learn codebooks from (default: DIR/training, or the triplets')")
    ] = None,
    output: Table = None,
    as_json: options.AsJson = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Print how well features agree with raters.

    Features may be those of lookalike, a network, or your own vectors. A rating says which of two images is more
    similar to a query image. Similarity precision is the share of triplets in the raters' order. score@K takes only
    triplets with an image among the first K of the query's pool, and counts right ones minus wrong ones. Both have 95%
    intervals over query images.
    """
    from lookalike.app.vectors import read_vectors
    from lookalike.core.files import write_table
    from lookalike.features.describers import DESCRIBERS, SHORT_NAMES, make_describer
    from lookalike.studies.finegrained import own_triplets

    asked = features if features is not None else "all" if model is None and vectors is None else ""
    names = [name.strip() for name in asked.split(",") if name.strip()]
    if features is not None and not names:
        raise typer.BadParameter("must name a feature, as in hog,fisher", param_hint="'--features'")
    names = list(DESCRIBERS) if "all" in names else [SHORT_NAMES.get(name, name) for name in names]
    describers = [make_describer(name) for name in dict.fromkeys(names)]
    network = None if model is None else own_triplets.own_network(model)
    called = [describer.system for describer in describers]
    called += [network.name] if network else []
    called += [escaped(vectors.stem)] if vectors else []
    if twice := [name for name in called if called.count(name) > 1]:
        what_now = "give the file of one another name, or leave one out"
        raise LookalikeError(f"two systems would both be called {twice[0]} in the table: {what_now}")
    if output is not None:
        options.check_output(output, options.TABLES, model, vectors, folder)
    with options.StageReport() as progress:
        own = own_triplets.OwnTriplets(folder, codebook_images, seed, jobs or os.cpu_count() or 1, progress)
        systems = [own.by_feature(describer) for describer in describers]
        systems += [] if network is None else [own.by_network(network)]
        if vectors is not None:
            rows = read_vectors(vectors, id_column=id_column)
            systems.append(own.by_vectors(vectors, rows.ids.tolist(), rows.X))
    table, rated = own.measured(systems, k), own.rated
    if output is not None:
        write_table(table, output)
    n_queries = int(rated.triplets["query"].nunique())
    about = {"folder": str(folder), "n_triplets": len(rated.triplets), "n_queries": n_queries, "seed": seed}
    found = {"rejected": rated.rejected, "rows": table}
    first = f"{folder}: {len(rated.triplets):,} rated triplets of {n_queries:,} query images"
    options.tell_result({**about, **found}, [first, *_lines(table, rated, k)], as_json)


def _lines(table: pd.DataFrame, rated: RatedTriplets, k: int) -> list[str]:
    """Return the table as people read it."""
    lines = []
    if len(rated.rejected):
        counts = "; ".join(f"{row.reason}: {row.rows:,}" for row in rated.rejected.itertuples())
        lines.append(f"left out (rows or files): {counts}")
    sizes = rated.pool.groupby("text_query").size()
    size = f"{int(sizes.median()):,} images (median of {len(sizes):,} text queries, {sizes.min():,} to {sizes.max():,})"
    if (rated.pool["source"] == "triplets").any():
        size += "; some have only the triplets' own images, so do not compare these scores with other pools'"
    lines.append(f"pools: {size}")
    lines += [f"codebooks: {origin}" for origin in sorted(set(table["codebook_from"])) if origin]
    kinds = table["subset"].nunique() > 1
    head = f"{'features':<30}{'triplets':<14}" if kinds else f"{'features':<30}"
    lines += ["", f"{head}{'precision, 95% interval':>25}{f'score@{k}, 95% interval':>27}{'images/s':>10}"]
    for row in table.to_dict("records"):
        start = f"{row['system']:<30}{row['subset']:<14}" if kinds else f"{row['system']:<30}"
        precision, score = (
            [_number(row[f"{name}{end}"], form) for end in ("", "_low", "_high")]
            for name, form in (("similarity_precision", ".1f"), ("score", ",.0f"))
        )
        first = f"{precision[0]}% [{precision[1]}, {precision[2]}]"
        second = f"{score[0]} [{score[1]}, {score[2]}]"
        lines.append(f"{start}{first:>25}{second:>27}{_number(row['images_per_second'], '.3g'):>10}")
    return lines


def _number(value: float, form: str) -> str:
    """Return a number as people read it, - for none."""
    return "-" if math.isnan(value) else f"{value:z{form}}"
