"""The commands for what people judge: ``rate``, ``ratings``, and ``evaluate-triplets`` (Deep Ranking, Table 1)."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lookalike.app import options
from lookalike.core.errors import LookalikeError, escaped

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from lookalike.core.model_file import About
    from lookalike.data.rated_triplets import RatedTriplets
    from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork
    from lookalike.features.describers import Describer

    Floats = npt.NDArray[np.float32]
    Files = tuple[list[Path], str]
    Network = tuple[DeepRankingNetwork | ClassificationNetwork, About, str]

MAX_CODEBOOK_IMAGES = 2000
"""Images that codebooks are learned from at most: more are drawn from by the seed."""
_NETWORK_BATCH = 128
"""Images whose pixels are in memory at a time on the way to a network: 19 MB at 225 x 225 pixels."""
_RATE_EXAMPLES = """\
examples:
  lookalike rate results/demo/ratings/plan.csv --images results/demo/images/* --output page.html
  lookalike rate plan.csv --neighbours neighbours.csv --images photos --output page.html

--neighbours draws PLAN.csv first. FILE.csv has the columns query_path, path and rank (1 is
the nearest), with paths relative to the folder of images. Unrelated images are drawn from
the images in the file, except those listed for the query. If more than ten images are
related to a query, list them all."""
_RATINGS_EXAMPLES = """\
example:
  lookalike ratings plan.csv ada.csv ben.csv --output all.csv"""
_TRIPLETS_EXAMPLES = """\
examples:
  lookalike evaluate-triplets data/triplets --features hog,fisher
  lookalike evaluate-triplets data/triplets --model network.lookalike --output table.csv
  lookalike evaluate-triplets data/triplets --vectors mine.parquet --features color
  lookalike evaluate-triplets data/triplets --features all --codebook-images photos --json

DIR holds CSV files with the columns Image1, Image1_Path, Image2, Image2_Path, Similarity
(1 or -1) and Text Query: two rows a triplet, Image1 is the query. Optional: pool/<text
query>/ with the images to rank, and training/<category>/ with images to learn codebooks
from. Without a pool, score@K ranks the triplets' own images, and cannot be compared with
scores of other pools. Features: wavelet, color, sift-like, fisher, hog,
spmk-texton-1024-max, or all. Vectors of yours have the images' paths in DIR as ids."""
NEIGHBOURS = ["query_path", "path", "rank"]
"""Columns of a user's own table of neighbours; 1 is the nearest."""
_RANK = (
    "the table of neighbours has the path {path!r} for the query {query_path!r} with the rank {rank!r}: name both "
    "images, and write 1 for the nearest, then 2, 3 and so on"
)
_TWICE = "{{query_path}} has {} twice: give each neighbour one line and a rank of its own"
_INTERVAL = {"": "value", "_low": "low", "_high": "high"}

Plan = Annotated[Path, Argument(metavar="PLAN.csv", help="the plan: which images are shown where")]
Table = Annotated[Path | None, Option(metavar="TABLE", help="also write the table (.csv or .parquet)")]


@options.command("rate", _RATE_EXAMPLES)
def rate(
    plan: Plan,
    images: Annotated[Path, Option(metavar="FOLDER", help="folder that the paths of the plan start from")],
    output: Annotated[Path, Option(metavar="PAGE.html", help="the page to write")],
    title: Annotated[str, Option(metavar="TITLE", help="heading of the page")] = "Which images are similar?",
    neighbours: Annotated[
        Path | None, Option(metavar="FILE.csv", help="draw PLAN.csv from these neighbours first")
    ] = None,
    queries: Annotated[int, Option(metavar="N", min=1, help="query images to draw")] = 25,
    retrieved: Annotated[int, Option(metavar="N", min=1, help="neighbours shown for each query")] = 10,
    random: Annotated[int, Option(metavar="N", min=0, help="unrelated images shown for each query")] = 10,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page on which people rate how well images were retrieved.

    The page shows each query image with its ten first neighbours and ten unrelated images, mixed. It is one file and
    needs no network. A rater opens it in a browser, answers, and exports a CSV file for `lookalike ratings`.
    """
    from lookalike.core.files import together, write_table
    from lookalike.core.tables import read_cells
    from lookalike.studies.human.page import write_page
    from lookalike.studies.human.questionnaire import read_plan

    options.check_output(output, options.PAGES, plan, neighbours)
    if neighbours is None:
        drawn = read_plan(plan)
    else:
        options.check_output(plan, (".csv",), neighbours)
        table = read_cells(neighbours, NEIGHBOURS, what="file of neighbours")
        sizes = {"n_queries": queries, "n_retrieved": retrieved, "n_random": random}
        try:
            drawn = plan_from_neighbours(table, seed=seed, **sizes)
        except LookalikeError as error:  # which knows no file
            raise LookalikeError(f"no plan can be drawn from {neighbours}: {error}") from error
        # answers belong to one plan: another one of the same name would make them worthless
        if plan.exists() and not read_plan(plan).equals(drawn):
            raise LookalikeError(f"{plan} exists and holds another plan: remove it first or name a new file")
    with together():
        write_page(drawn, images, output, title=title)
        if neighbours is not None:
            write_table(drawn, plan)
    n_queries = int(drawn["query"].nunique())
    if as_json:
        options.print_json({"page": str(output), "queries": n_queries, "candidates": len(drawn)})
    elif not quiet:
        options.tell([f"{output}: {n_queries} queries, {len(drawn)} candidates"])


def plan_from_neighbours(table: pd.DataFrame, *, seed: int = 0, n_retrieved: int = 10, **sizes: Any) -> pd.DataFrame:
    """Draw a plan from a table of `NEIGHBOURS`; image ids are positions in the sorted list of paths."""
    from lookalike.core.tables import filled, once, refuse, text_cells, within
    from lookalike.studies.human.questionnaire import draw_plan

    table = text_cells(table, NEIGHBOURS, "the table of neighbours")
    refuse(table, (filled(_RANK, *NEIGHBOURS), within(_RANK, "rank", -sys.float_info.max, sys.float_info.max)))
    table = table.assign(rank=table["rank"].astype("float64")).drop_duplicates()
    for column, what in (("path", "the neighbour {path}"), ("rank", "the rank {rank:g}")):
        refuse(table, [once(_TWICE.format(what), "query_path", column)])
    table = table[table["query_path"] != table["path"]].sort_values("rank", kind="stable")
    paths = sorted({*table["query_path"], *table["path"]})
    id_of = {path: number for number, path in enumerate(paths)}
    listed = {id_of[query]: [id_of[path] for path in found] for query, found in table.groupby("query_path")["path"]}
    for query, found in listed.items():
        if len(found) < n_retrieved:
            raise LookalikeError(
                f"{paths[query]} has {len(found)} neighbours other than itself, and {n_retrieved} are shown: "
                "list more neighbours for it or ask for fewer"
            )
    # a neighbour that is listed and not shown is not drawn as unrelated either
    related = {query: [query, *found] for query, found in listed.items()}
    return draw_plan(listed, dict(enumerate(paths)), related, seed=seed, n_retrieved=n_retrieved, **sizes)


@options.command("ratings", _RATINGS_EXAMPLES)
def ratings(
    plan: Plan,
    files: Annotated[list[Path], Argument(metavar="RATINGS.csv...", help="files that raters exported")],
    output: Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Read the CSV files that raters exported from the page and print the numbers of the human evaluation.

    These are the precision of the neighbours, its standard deviations, and how well raters agree.
    """
    from lookalike.core.files import write_table
    from lookalike.studies.human.questionnaire import read_plan
    from lookalike.studies.human.ratings import read_ratings, summary

    if output is not None:
        options.check_output(output, options.TABLES, plan, *files)
    answers = read_ratings(files, read_plan(plan))
    if output is not None:
        write_table(answers, output)
    if as_json:
        options.print_json(summary(answers))
        return
    for quantity, value in summary(answers).items():
        if quantity != "simulated":
            print(f"{quantity.replace('_', ' '):34}{value:8.3g}")


@dataclass(frozen=True)
class _Task:
    """The rated triplets, the files of the images that every system describes, by image id, and how they are read."""

    rated: RatedTriplets
    paths: Sequence[Path | None]
    seed: int
    n_threads: int
    progress: options.StageReport


@dataclass(frozen=True)
class _Described:
    """What one system gives for a folder of rated triplets."""

    system: str
    vectors: Floats
    images_per_second: float
    distance: str
    codebook_from: str


def _names(text: str | None) -> str | None:
    """Refuse a list of features that names none."""
    if text is not None and not any(name.strip() for name in text.split(",")):
        raise typer.BadParameter("must name a feature, as in hog,fisher")
    return text


@options.command("evaluate-triplets", _TRIPLETS_EXAMPLES)
def evaluate_triplets(
    folder: Annotated[Path, Argument(metavar="DIR", help="folder of rated triplets")],
    features: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            callback=_names,
            help="separated by commas (default: all, if there is neither --model nor --vectors)",
        ),
    ] = None,
    model: Annotated[
        Path | None, Option(metavar="FILE.lookalike", help="a network; needs the extra `deep` (torch)")
    ] = None,
    vectors: Annotated[
        Path | None, Option(metavar="FILE", help="vectors of the images: .parquet or .csv, ids are their paths in DIR")
    ] = None,
    id_column: options.IdColumn = None,
    k: Annotated[int, Option("--k", metavar="N", min=1, help="K of score@K: how many first images count")] = 30,
    codebook_images: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="images to learn codebooks from (default: DIR/training, or else the triplets' images, without "
            "ratings)",
        ),
    ] = None,
    output: Table = None,
    as_json: options.AsJson = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Print how well image features, or a network of yours, agree with people who rated triplets.

    A rating says which of two images is more similar to a query image. Similarity precision is the share of triplets
    in the raters' order. score@K takes only triplets with an image among the first K of the query's pool, and counts
    right ones minus wrong ones. Both have 95% intervals over query images.
    """
    from lookalike.core.files import write_table
    from lookalike.data.rated_triplets import read_release
    from lookalike.features.describers import DESCRIBERS, SHORT_NAMES, make_describer
    from lookalike.ranking.distances import pair_distances
    from lookalike.ranking.triplet_metrics import intervals
    from lookalike.ranking.triplet_outcomes import candidate_pairs, outcomes

    n_threads = jobs or os.cpu_count() or 1
    asked = features if features is not None else "all" if model is None and vectors is None else ""
    names = [name.strip() for name in asked.split(",") if name.strip()]
    names = list(DESCRIBERS) if "all" in names else [SHORT_NAMES.get(name, name) for name in names]
    describers = [make_describer(name) for name in dict.fromkeys(names)]
    network = _load_network(model) if model is not None else None
    called = [describer.system for describer in describers]
    called += [] if network is None else [network[-1]]
    called += [] if vectors is None else [escaped(vectors.stem)]
    _refuse_equal(called)
    if output is not None:
        options.check_output(output, options.TABLES, model, vectors, folder)
    with options.StageReport() as progress:
        rated = read_release(folder, n_threads=n_threads, progress=partial(progress, "reading images"))
        pairs = candidate_pairs(rated.triplets, rated.pool, rated.manifest)
        wanted = {*pairs["query"].tolist(), *pairs["candidate"].tolist()}
        paths = [rated.root / path if i in wanted else None for i, path in enumerate(rated.manifest["path"])]
        task = _Task(rated, paths, seed, n_threads, progress)
        codebook: Files = ([], "")
        if any(describer.needs_fit for describer in describers):
            codebook = _codebook_files(task, codebook_images)
        described = [_describe(describer, codebook, task) for describer in describers]
        if network is not None:
            described.append(_embed(network, task))
        if vectors is not None:
            described.append(_take_vectors(vectors, id_column, task))
    distances = {system.system: pair_distances(system.vectors, pairs, system.distance) for system in described}
    judged = outcomes(rated.triplets, pairs, distances, k=k)
    numbers = intervals(judged, rated.triplets, pairs, seed=seed, k=k, manifest=rated.manifest)
    table = _table(numbers, described, rated, k)
    if output is not None:
        write_table(table, output)
    n_queries = int(rated.triplets["query"].nunique())
    if as_json:
        about = {"folder": str(folder), "n_triplets": len(rated.triplets), "n_queries": n_queries, "seed": seed}
        found = {"rejected": options.records(rated.rejected), "rows": options.records(table)}
        options.print_json({**about, **found})
        return
    options.tell([f"{folder}: {len(rated.triplets):,} rated triplets of {n_queries:,} query images"])
    options.tell(_lines(table, rated, k))


def _refuse_equal(names: Sequence[str]) -> None:
    """Refuse two systems of one name, before anything is described for them: the table has a row for each name."""
    for name, number in Counter(names).items():
        if number > 1:
            raise LookalikeError(
                f"two systems would both be called {name} in the table: give the file of one another name, or leave "
                "one out"
            )


def _describe(describer: Describer, codebook: Files, task: _Task) -> _Described:
    """Fit a hand-crafted feature on the files of a codebook and describe the images whose path is there."""
    from lookalike.core.images import load_rgb
    from lookalike.core.progress import counted
    from lookalike.core.seeds import integer_seed
    from lookalike.features.describers import describe_files

    files, learned_from = codebook if describer.needs_fit else ([], "")
    name = describer.system
    pictures = counted(map(load_rgb, files), len(files), partial(task.progress, f"{name}: codebook"))
    describer.fit(pictures, random_state=integer_seed(task.seed, "features", name))
    progress = partial(task.progress, name)
    vectors, seconds = describe_files(describer, task.paths, n_threads=task.n_threads, progress=progress)
    speed = sum(path is not None for path in task.paths) / seconds
    return _Described(name, vectors, speed, describer.distance, learned_from)


def _codebook_files(task: _Task, folder: Path | None) -> Files:
    """Return files that codebooks are learned from, and what they are."""
    from lookalike.core.seeds import generator
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.data.scan import scan_photographs

    rated = task.rated
    if folder is not None:
        progress = partial(task.progress, "reading codebook images")
        found = scan_photographs(folder, n_threads=task.n_threads, progress=progress)
        evaluated = rated.manifest.loc[rated.manifest["part"] == "evaluation", "sha256"]
        found = found[(found["status"] == "ok") & ~found["sha256"].isin(evaluated)]
        if found.empty:
            raise LookalikeError(f"{folder} holds only images that are evaluated: name another folder")
        files, what = [folder / path for path in found["path"]], f"images of {escaped(str(folder))}"
    else:
        rows, what = codebook_images(rated.manifest)
        files = [rated.root / path for path in rated.manifest["path"].iloc[rows]]
    if len(files) > MAX_CODEBOOK_IMAGES:
        order = generator(task.seed, "features", "codebook images").permutation(len(files))
        files = [files[place] for place in sorted(order[:MAX_CODEBOOK_IMAGES])]
    return files, f"{len(files):,} {what}"


def _load_network(path: Path) -> Network:
    """Return the network of a file, what is written in it of how it was made, and what its row is called."""
    try:
        from lookalike.deep.model_io import load_network, read_about
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise LookalikeError(
            f"{path} needs PyTorch, which is not installed: install the extra `deep` "
            "(pip install 'lookalike[deep]'), or measure only --features"
        ) from error
    about = read_about(path)
    return load_network(path), about, escaped(str(about.get("system", path.stem)))


def _embed(network: Network, task: _Task) -> _Described:
    """Describe images by a network, some at a time."""
    import numpy as np

    from lookalike.deep.embedding import embed
    from lookalike.deep.images import load_pixels

    trained, about, name = network
    side, shift = trained.configuration.input_size, about.get("shift", 0)
    files = [path for path in task.paths if path is not None]

    def centres() -> Iterator[npt.NDArray[np.uint8]]:
        """Yield the centres of squares that are larger by the shift, as in training and evaluation of the study."""
        for first in range(0, len(files), _NETWORK_BATCH):
            pixels = load_pixels(files[first : first + _NETWORK_BATCH], side + 2 * shift, n_threads=task.n_threads)
            yield pixels[:, shift : shift + side, shift : shift + side]
            task.progress(name, first + len(pixels), len(files))

    start = time.perf_counter()
    found = embed(trained, centres())
    if not np.isfinite(found).all():
        raise LookalikeError(f"the network {name} describes images by NaN or infinity: train it again")
    vectors = np.full((len(task.paths), found.shape[1]), np.nan, dtype=np.float32)
    vectors[[path is not None for path in task.paths]] = found
    speed = len(files) / (time.perf_counter() - start)
    return _Described(name, vectors, speed, "l2", "")


def _take_vectors(file: Path, id_column: str | None, task: _Task) -> _Described:
    """Take the vectors of the images whose path is there from a file."""
    import numpy as np

    from lookalike.app.vectors import read_vectors

    rows = read_vectors(file, id_column=id_column)
    if hasattr(rows.X, "indptr") or rows.X is None:
        raise LookalikeError(f"{file} holds sparse vectors: write dense ones, with the paths of images as ids")
    row_of = {name: row for row, name in enumerate(rows.ids.tolist())}
    wanted = [image for image, path in enumerate(task.paths) if path is not None]
    names = task.rated.manifest["path"].iloc[wanted].tolist()
    lacking = [name for name in names if name not in row_of]
    if lacking:
        raise LookalikeError(
            f"{file} has no vector of {len(lacking):,} of {len(names):,} images, such as {lacking[0]}: give each image "
            "one, with its path as id"
        )
    vectors = np.full((len(task.paths), rows.X.shape[1]), np.nan, dtype=np.float32)
    vectors[wanted] = rows.X[[row_of[name] for name in names]]
    return _Described(escaped(file.stem), vectors, math.nan, "l2", "")


def _table(numbers: pd.DataFrame, described: Sequence[_Described], rated: RatedTriplets, k: int) -> pd.DataFrame:
    """Return one row per system and kind of triplets."""
    import pandas as pd

    source = " and ".join(sorted(rated.pool["source"].unique()))
    by_system = {system.system: system for system in described}
    rows = []
    for (system, subset), group in numbers.groupby(["system", "subset"], sort=False):
        own, metric = by_system[str(system)], group.set_index("metric").to_dict(orient="index")
        precision, score = metric["similarity_precision"], metric[f"score@{k}"]
        row = {"system": system, "subset": subset}
        row |= {f"similarity_precision{end}": precision[key] for end, key in _INTERVAL.items()}
        row |= {f"score{end}": score[key] for end, key in _INTERVAL.items()}
        row |= {"score_per_triplet": metric[f"score@{k}_per_triplet"]["value"], "k": k}
        row |= {name: int(precision[name]) for name in ("n_triplets", "n_queries", "n_ties")}
        row |= {name: int(score[name]) for name in ("n_in_top", "median_pool")}
        row |= {"pool_source": source, "images_per_second": own.images_per_second, "dimensions": own.vectors.shape[1]}
        rows.append(row | {"distance": own.distance, "codebook_from": own.codebook_from})
    return pd.DataFrame(rows)


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
    score = f"score@{k}"
    kinds = table["subset"].nunique() > 1
    head = f"{'features':<30}{'triplets':<14}" if kinds else f"{'features':<30}"
    lines += ["", f"{head}{'precision, 95% interval':>25}{f'{score}, 95% interval':>27}{'images/s':>10}"]
    for row in table.to_dict("records"):
        start = f"{row['system']:<30}{row['subset']:<14}" if kinds else f"{row['system']:<30}"
        precision = f"{row['similarity_precision']:.1f}% [{row['similarity_precision_low']:.1f}, "
        precision += f"{row['similarity_precision_high']:.1f}]"
        scores = f"{_whole(row['score'])} [{_whole(row['score_low'])}, {_whole(row['score_high'])}]"
        speed = "-" if math.isnan(row["images_per_second"]) else f"{row['images_per_second']:.3g}"
        lines.append(f"{start}{precision:>25}{scores:>27}{speed:>10}")
    return lines


def _whole(value: float) -> str:
    """Return a number without decimals, and without a sign before 0."""
    return "-" if math.isnan(value) else f"{round(value):,}"
