"""The commands for what people judge: ``lookalike rate`` and ``ratings`` of retrieved images, ``evaluate-triplets``.

The last prints the rows of Table 1 of the Deep Ranking paper for a user's own triplets; nothing learns from ratings.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.app.options import (
    Commands,
    Told,
    add_command,
    add_output,
    check_table,
    make_folder,
    natural,
    positive,
    print_json,
    records,
    refuse_same,
    tell,
)
from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from lookalike.data.rated_triplets import RatedTriplets
    from lookalike.features.describers import Describer

    Floats = npt.NDArray[np.float32]

MAX_CODEBOOK_IMAGES = 2000
"""Images that codebooks are learned from at most: more are drawn from by the seed."""

_NETWORK_CHUNK = 512
"""Images whose pixels are in memory at a time on the way to a network: 78 MB at 225 x 225 pixels."""

_RATE = """\
Write a page on which people rate how well images were retrieved: each query image is
shown with its ten first neighbours and ten unrelated images, mixed. The page is one file
that works without a network; a rater opens it in a browser, answers, and exports a CSV
file, which `lookalike ratings` reads."""

_RATE_EXAMPLES = """\
examples:
  lookalike rate results/demo/ratings/plan.csv --images results/demo/images/* --output page.html
  lookalike rate plan.csv --neighbours neighbours.csv --images photos --output page.html

With --neighbours, PLAN.csv is drawn first. FILE.csv has the columns query_path, path and
rank (1 is the nearest), with paths relative to the folder of images. Unrelated images are
drawn from all that the file names, except those that it lists for the query: list more
than ten neighbours where more are related."""

_RATINGS = """\
Read the CSV files that raters exported from the page and print the numbers of the human
evaluation: precision of the neighbours, its deviations, and how well raters agree."""

_RATINGS_EXAMPLES = """\
example:
  lookalike ratings plan.csv ada.csv ben.csv --output all.csv"""

_TRIPLETS = """\
Print how well image features, or a network of yours, agree with people who rated triplets:
of two images, which one is more like a query image? Similarity precision is the share of
triplets that are ordered as people did; score@K counts triplets with an image among the
query's K nearest of its text query's pool, right ones minus wrong ones. Both come with
95% intervals over query images."""

_TRIPLETS_EXAMPLES = """\
examples:
  lookalike evaluate-triplets data/triplets --features hog,fisher
  lookalike evaluate-triplets data/triplets --model network.npz --output table.csv
  lookalike evaluate-triplets data/triplets --features all --codebook-images photos --json

DIR holds CSV files with the columns Image1, Image1_Path, Image2, Image2_Path, Similarity
(1 or -1) and Text Query: two rows a triplet, Image1 is the query. Optional: pool/<text
query>/ with the images to rank (without it, score@K ranks the triplets' own images and
cannot be compared with scores of other pools), training/<category>/ with images that
codebooks are learned from. Features: wavelet, color, sift-like, fisher, hog,
spmk-texton-1024-max, or all."""

_COLUMNS = [
    "system", "subset", "similarity_precision", "similarity_precision_low", "similarity_precision_high", "score",
    "score_low", "score_high", "score_per_triplet", "k", "n_triplets", "n_queries", "n_ties", "n_in_top", "median_pool",
    "pool_source", "images_per_second", "dimensions", "distance", "codebook_from",
]  # fmt: skip

_INTERVAL = {"": "value", "_low": "low", "_high": "high"}


def add_commands(commands: Commands) -> None:
    """Add the parsers of the three commands."""
    parser = add_command(
        commands, "rate", _rate, "write a page on which people rate retrieved images", _RATE, _RATE_EXAMPLES
    )
    parser.add_argument("plan", metavar="PLAN.csv", type=Path, help="which images are shown where")
    parser.add_argument(
        "--images", metavar="FOLDER", type=Path, required=True, help="folder that the paths of the plan start from"
    )
    parser.add_argument("--output", metavar="PAGE.html", type=Path, required=True, help="the page to write")
    parser.add_argument(
        "--title", default="Which images are similar?", help="heading of the page (default: %(default)s)"
    )
    drawing = parser.add_argument_group("drawing a plan from your own results")
    drawing.add_argument(
        "--neighbours", metavar="FILE.csv", type=Path, help="draw PLAN.csv from these neighbours first"
    )
    drawing.add_argument("--queries", type=positive, default=25, help="query images (default: %(default)s)")
    drawing.add_argument(
        "--retrieved", type=positive, default=10, help="neighbours shown of each (default: %(default)s)"
    )
    drawing.add_argument("--random", type=natural, default=10, help="unrelated images (default: %(default)s)")
    drawing.add_argument("--seed", type=natural, default=0, help="root of every random draw (default: %(default)s)")
    add_output(parser)

    parser = add_command(commands, "ratings", _ratings, "print what raters said", _RATINGS, _RATINGS_EXAMPLES)
    parser.add_argument("plan", metavar="PLAN.csv", type=Path, help="the plan of the page that they rated")
    parser.add_argument("files", metavar="RATINGS.csv", type=Path, nargs="+", help="files that raters exported")
    parser.add_argument("--output", metavar="TABLE", type=Path, help="write all ratings too (.csv or .parquet)")
    add_output(parser, quiet=False)

    parser = add_command(
        commands,
        "evaluate-triplets",
        _evaluate_triplets,
        "measure features or a network on rated triplets of images",
        _TRIPLETS,
        _TRIPLETS_EXAMPLES,
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of rated triplets")
    parser.add_argument(
        "--features", metavar="NAMES", type=_names, help="separated by commas (default: all, if there is no --model)"
    )
    parser.add_argument("--model", metavar="FILE.npz", type=Path, help="a network; needs the extra `deep` (torch)")
    parser.add_argument("--k", type=positive, default=30, help="nearest images of score@K (default: %(default)s)")
    parser.add_argument(
        "--codebook-images",
        metavar="FOLDER",
        type=Path,
        help="images to learn codebooks from (default: DIR/training, else the triplets' images without their ratings)",
    )
    parser.add_argument("--output", metavar="TABLE", type=Path, help="write the table too (.csv or .parquet)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--seed", type=natural, default=0, help="root of every random draw (default: %(default)s)")
    parser.add_argument(
        "--jobs", metavar="N", type=positive, default=os.cpu_count() or 1, help="images read at a time (default: all)"
    )


def _names(text: str) -> list[str]:
    """Names of features, each once, in the order given."""
    names = list(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    if not names:
        raise argparse.ArgumentTypeError("must name a feature, as in hog,fisher")
    return names


def _rate(options: argparse.Namespace) -> None:
    """Write the page, and before it the plan where neighbours are given."""
    from lookalike.app.sources import read_csv
    from lookalike.studies.human.page import write_page
    from lookalike.studies.human.questionnaire import plan_from_neighbours, read_plan, write_plan

    refuse_same(options.output, options.plan, options.neighbours)
    refuse_same(options.plan, options.neighbours)
    if options.neighbours is None:
        plan = read_plan(options.plan)
    else:
        plan = plan_from_neighbours(
            read_csv(options.neighbours, ("query_path", "path", "rank"), what="file of neighbours"),
            seed=options.seed,
            n_queries=options.queries,
            n_retrieved=options.retrieved,
            n_random=options.random,
        )
        # answers belong to one plan: another one of the same name would make them worthless
        if options.plan.exists() and not read_plan(options.plan).equals(plan):
            raise LookalikeError(f"{options.plan} exists and holds another plan: remove it first or name a new file")
    make_folder(options.output)
    write_page(plan, options.images, options.output, title=options.title)
    if options.neighbours is not None:
        make_folder(options.plan)
        write_plan(plan, options.plan)
    n_queries = int(plan["query"].nunique())
    if options.json:
        print_json({"page": str(options.output), "queries": n_queries, "candidates": len(plan)})
    elif not options.quiet:
        print(f"{options.output}: {n_queries} queries, {len(plan)} candidates")


def _ratings(options: argparse.Namespace) -> None:
    """Print the summary, and write the table where a file is named."""
    from lookalike.core.files import write_table
    from lookalike.studies.human.collect import read_ratings
    from lookalike.studies.human.questionnaire import read_plan
    from lookalike.studies.human.statistics import summary

    if options.output is not None:
        refuse_same(options.output, options.plan, *options.files)
        make_folder(options.output)
    ratings = read_ratings(options.files, read_plan(options.plan))
    if options.output is not None:
        write_table(ratings, options.output)
    if options.json:
        print_json(summary(ratings))
        return
    for quantity, value in summary(ratings).items():
        if quantity != "simulated":
            print(f"{quantity.replace('_', ' '):34}{value:8.3g}")


@dataclass(frozen=True)
class _Measured:
    """What one system gives for a folder of rated triplets."""

    system: str
    vectors: Floats
    images_per_second: float
    distance: str
    codebook_from: str


def _evaluate_triplets(options: argparse.Namespace) -> None:
    """Measure features and a network, and print."""
    from lookalike.core.files import write_table
    from lookalike.data.rated_triplets import read_release
    from lookalike.features.describers import DESCRIBERS, SHORT_NAMES, make_describer
    from lookalike.ranking.distances import pair_distances
    from lookalike.ranking.triplet_metrics import intervals
    from lookalike.ranking.triplet_outcomes import candidate_pairs, outcomes

    names = options.features or ([] if options.model is not None else ["all"])
    names = list(DESCRIBERS) if "all" in names else [SHORT_NAMES.get(name, name) for name in names]
    describers = [make_describer(name) for name in dict.fromkeys(names)]
    network = _load_network(options.model) if options.model is not None else None
    _check_output(options)
    with Told() as told:
        rated = read_release(options.folder, n_threads=options.jobs, progress=partial(told, "reading images"))
        pairs = candidate_pairs(rated.triplets, rated.pool, rated.manifest)
        images = sorted({*pairs["query"].tolist(), *pairs["candidate"].tolist()})
        measured = list(_measure_describers(describers, rated, images, options, told))
        if network is not None:
            measured.append(_measure_network(*network, rated, images, options, told))
    distances = {one.system: pair_distances(one.vectors, pairs, one.distance) for one in measured}
    judged = outcomes(rated.triplets, pairs, distances, k=options.k)
    numbers = intervals(judged, rated.triplets, pairs, seed=options.seed, k=options.k, manifest=rated.manifest)
    table = _table(numbers, measured, rated, options.k)
    if options.output is not None:
        write_table(table, options.output)
    if not options.json:
        tell(_lines(table, rated, options))
        return
    print_json(
        {
            "folder": str(options.folder),
            "n_triplets": len(rated.triplets),
            "n_queries": int(rated.triplets["query"].nunique()),
            "seed": options.seed,
            "rejected": records(rated.rejected),
            "rows": records(table),
        }
    )


def _check_output(options: argparse.Namespace) -> None:
    """Refuse, before anything is computed, a table that cannot be written or would damage what is read."""
    if options.output is None:
        return
    check_table(options.output)
    refuse_same(options.output, options.model)
    if options.output.exists() and options.output.resolve().is_relative_to(options.folder.resolve()):
        raise LookalikeError(f"{options.output} is a file of the rated triplets: name a table outside {options.folder}")
    make_folder(options.output)


def _measure_describers(
    describers: Sequence[Describer],
    rated: RatedTriplets,
    images: Sequence[int],
    options: argparse.Namespace,
    told: Told,
) -> Iterator[_Measured]:
    """Fit and apply hand-crafted features."""
    from lookalike.app.representations import counting
    from lookalike.core.images import load_rgb
    from lookalike.core.seeds import integer_seed
    from lookalike.features.describers import describe_files

    wanted = set(images)
    codebook, origin = _codebook_files(rated, options, told) if any(one.needs_fit for one in describers) else ([], "")
    paths = [rated.root / path if i in wanted else None for i, path in enumerate(rated.manifest["path"])]
    for describer in describers:
        if describer.needs_fit:
            pictures = (load_rgb(path) for path in codebook)
            describer.fit(
                counting(pictures, len(codebook), f"{describer.system}: codebook", told),
                random_state=integer_seed(options.seed, "features", describer.system),
            )
        advance = partial(told, describer.system)
        vectors, seconds = describe_files(describer, paths, n_threads=options.jobs, progress=advance)
        learned_from = origin if describer.needs_fit else ""
        yield _Measured(describer.system, vectors, len(wanted) / seconds, describer.distance, learned_from)


def _codebook_files(rated: RatedTriplets, options: argparse.Namespace, told: Told) -> tuple[list[Path], str]:
    """Files that codebooks are learned from, and what they are."""
    from lookalike.core.seeds import generator
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.data.scan import scan_photographs

    if options.codebook_images is not None:
        advance = partial(told, "reading codebook images")
        found = scan_photographs(options.codebook_images, n_threads=options.jobs, progress=advance)
        evaluated = rated.manifest.loc[rated.manifest["part"] == "evaluation", "sha256"]
        found = found[(found["status"] == "ok") & ~found["sha256"].isin(evaluated)]
        if found.empty:
            raise LookalikeError(
                f"{options.codebook_images} holds no image but those that are evaluated: name a folder of others"
            )
        files, what = [options.codebook_images / path for path in found["path"]], f"images of {options.codebook_images}"
    else:
        rows, what = codebook_images(rated.manifest)
        files = [rated.root / path for path in rated.manifest["path"].iloc[rows]]
    if len(files) > MAX_CODEBOOK_IMAGES:
        order = generator(options.seed, "features", "codebook images").permutation(len(files))
        files = [files[place] for place in sorted(order[:MAX_CODEBOOK_IMAGES])]
    return files, f"{len(files):,} {what}"


def _load_network(path: Path) -> tuple[Any, dict[str, Any]]:
    """The network of a file and what is written in it of how it was made."""
    try:
        from lookalike.deep.model_io import load_network, read_about
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise LookalikeError(
            f"{path} needs PyTorch, which is not installed: install the extra `deep` "
            "(pip install 'lookalike[deep]'), or measure --features alone"
        ) from error
    return load_network(path), read_about(path)


def _measure_network(
    model: Any,
    about: dict[str, Any],
    rated: RatedTriplets,
    images: Sequence[int],
    options: argparse.Namespace,
    told: Told,
) -> _Measured:
    """Embed images by a network, some at a time."""
    import numpy as np

    from lookalike.deep.embedding import embed
    from lookalike.deep.images import load_pixels

    side, shift = model.configuration.input_size, int(about.get("shift", 0))
    paths = [rated.root / path for path in rated.manifest["path"].iloc[list(images)]]
    start = time.perf_counter()
    parts = []
    for first in range(0, len(paths), _NETWORK_CHUNK):
        chunk = paths[first : first + _NETWORK_CHUNK]
        # as in training and evaluation of the study: the centre of a square that is larger by the shift
        pixels = load_pixels(chunk, side + 2 * shift, n_threads=options.jobs)
        parts.append(embed(model, np.ascontiguousarray(pixels[:, shift : shift + side, shift : shift + side])))
        told(options.model.stem, first + len(chunk), len(paths))
    found = np.concatenate(parts)
    vectors = np.full((len(rated.manifest), found.shape[1]), np.nan, dtype=np.float32)
    vectors[images] = found
    seconds = time.perf_counter() - start
    return _Measured(str(about.get("system", options.model.stem)), vectors, len(paths) / seconds, "l2", "")


def _table(numbers: pd.DataFrame, measured: Sequence[_Measured], rated: RatedTriplets, k: int) -> pd.DataFrame:
    """One row per system and kind of triplets."""
    import pandas as pd

    source = " and ".join(sorted(rated.pool["source"].unique()))
    of_system = {one.system: one for one in measured}
    rows = []
    for (system, subset), group in numbers.groupby(["system", "subset"], sort=False):
        one, metric = of_system[str(system)], group.set_index("metric").to_dict(orient="index")
        precision, score = metric["similarity_precision"], metric[f"score@{k}"]
        row = {"system": system, "subset": subset, "k": k, "pool_source": source}
        row |= {f"similarity_precision{end}": precision[key] for end, key in _INTERVAL.items()}
        row |= {f"score{end}": score[key] for end, key in _INTERVAL.items()}
        row["score_per_triplet"] = metric[f"score@{k}_per_triplet"]["value"]
        row |= {name: int(precision[name]) for name in ("n_triplets", "n_queries", "n_ties")}
        row |= {name: int(score[name]) for name in ("n_in_top", "median_pool")}
        row |= {"images_per_second": one.images_per_second, "dimensions": one.vectors.shape[1]}
        rows.append(row | {"distance": one.distance, "codebook_from": one.codebook_from})
    return pd.DataFrame(rows, columns=_COLUMNS)


def _lines(table: pd.DataFrame, rated: RatedTriplets, options: argparse.Namespace) -> list[str]:
    """The table as people read it."""
    n_queries = rated.triplets["query"].nunique()
    lines = [f"{options.folder}: {len(rated.triplets):,} rated triplets of {n_queries:,} query images"]
    if len(rated.rejected):
        counts = "; ".join(f"{row.reason}: {row.rows:,}" for row in rated.rejected.itertuples())
        lines.append(f"left out (rows or files): {counts}")
    sizes = rated.pool.groupby("text_query").size()
    size = f"{int(sizes.median()):,} images (median of {len(sizes):,} text queries, {sizes.min():,} to {sizes.max():,})"
    if (rated.pool["source"] == "triplets").any():
        size += "; some or all are only the triplets' own images: scores of other pools do not compare"
    lines.append(f"pools: {size}")
    lines += [f"codebooks: {told}" for told in sorted(set(table["codebook_from"])) if told]
    score = f"score@{options.k}"
    kinds = table["subset"].nunique() > 1
    head = f"{'features':<30}{'triplets':<14}" if kinds else f"{'features':<30}"
    lines += ["", f"{head}{'precision, 95% interval':>25}{f'{score}, 95% interval':>27}{'images/s':>10}"]
    for row in table.itertuples():
        start = f"{row.system:<30}{row.subset:<14}" if kinds else f"{row.system:<30}"
        precision = f"{row.similarity_precision:.1f}% [{row.similarity_precision_low:.1f}, "
        precision += f"{row.similarity_precision_high:.1f}]"
        scores = f"{_whole(row.score)} [{_whole(row.score_low)}, {_whole(row.score_high)}]"
        lines.append(f"{start}{precision:>25}{scores:>27}{row.images_per_second:>10.3g}")
    return lines


def _whole(value: Any) -> str:
    """A number without decimals, and without a sign before 0."""
    return "-" if math.isnan(value) else f"{round(value):,}"
