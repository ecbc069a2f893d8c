"""``lookalike evaluate-triplets``: the rows of Table 1 of the Deep Ranking paper for a user's own rated triplets.

Reads a folder of rated triplets, describes its images by hand-crafted features or by a network, and prints how often
each prefers the image that people preferred. Nothing here learns from the ratings.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.commands.options import Commands, add_command, make_folder, natural, positive, refuse_same
from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from lookalike.datasets.rated_triplets import RatedTriplets
    from lookalike.features.describers import Describer

    Floats = npt.NDArray[np.float32]

MAX_CODEBOOK_IMAGES = 2000
"""Images that codebooks are learned from at most: more are drawn from by the seed."""

_NETWORK_CHUNK = 512
"""Images whose pixels are in memory at a time on the way to a network: 78 MB at 225 x 225 pixels."""

_DESCRIPTION = """\
Print how well image features, or a network of yours, agree with people who rated triplets:
of two images, which one is more like a query image? Similarity precision is the share of
triplets that are ordered as people did; score@K counts triplets with an image among the
query's K nearest of its text query's pool, right ones minus wrong ones. Both come with
95% intervals over query images."""

_EXAMPLES = """\
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

_COLUMNS = (
    "system", "subset", "similarity_precision", "similarity_precision_low", "similarity_precision_high", "score",
    "score_low", "score_high", "score_per_triplet", "k", "n_triplets", "n_queries", "n_ties", "n_in_top", "median_pool",
    "pool_source", "images_per_second", "dimensions", "distance", "codebook_from",
)  # fmt: skip

_INTERVAL = {"": "value", "_low": "low", "_high": "high"}


@dataclass(frozen=True)
class _Measured:
    """What one system gives for a folder of rated triplets."""

    system: str
    vectors: Floats
    seconds: float
    n_images: int
    distance: str
    codebook_from: str


def add_parser(commands: Commands) -> None:
    """Add the subcommand ``evaluate-triplets`` to those of ``lookalike``."""
    parser = add_command(
        commands,
        "evaluate-triplets",
        help="measure features or a network on rated triplets of images",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Measure and print.

    Parameters
    ----------
    options : argparse.Namespace
        As `add_parser` parses it.

    Raises
    ------
    LookalikeError
        When the folder holds no usable triplet, a feature is unknown, a model cannot be used, or the table cannot be
        written.
    """
    from lookalike.datasets.rated_triplets import read_release
    from lookalike.ranking.triplet_metrics import candidate_pairs, intervals, outcomes

    describers = _describers(options)
    network = _load_network(options.model) if options.model is not None else None
    _check_output(options)
    with _bar("reading images") as progress:
        rated = read_release(options.folder, n_threads=options.jobs, progress=progress)
    pairs = candidate_pairs(rated.triplets, rated.pool, rated.manifest)
    images = sorted({*pairs["query"].tolist(), *pairs["candidate"].tolist()})
    measured = list(_measure_describers(describers, rated, images, options))
    if network is not None:
        measured.append(_measure_network(network, rated, images, options))
    judged = outcomes(rated.triplets, pairs, _distances(measured, pairs), k=options.k)
    numbers = intervals(judged, rated.triplets, pairs, seed=options.seed, k=options.k, manifest=rated.manifest)
    table = _table(numbers, measured, rated, options.k)
    if options.output is not None:
        from lookalike.core.files import write_table

        write_table(table, options.output)
    print(_as_json(table, rated, options) if options.json else _as_text(table, rated, options))


def _names(text: str) -> list[str]:
    """Names of features, each once, in the order given."""
    names = list(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    if not names:
        raise argparse.ArgumentTypeError("must name a feature, as in hog,fisher")
    return names


def _describers(options: argparse.Namespace) -> list[Describer]:
    """The features asked for, not fitted yet."""
    from lookalike.features.describers import DESCRIBERS, SHORT_NAMES, make_describer

    names = options.features or ([] if options.model is not None else ["all"])
    names = list(DESCRIBERS) if "all" in names else [SHORT_NAMES.get(name, name) for name in names]
    return [make_describer(name) for name in dict.fromkeys(names)]


def _check_output(options: argparse.Namespace) -> None:
    """Refuse, before anything is computed, a table that cannot be written or would damage what is read."""
    if options.output is None:
        return
    if options.output.suffix not in (".csv", ".parquet"):
        raise LookalikeError(f"{options.output} must end in .csv or .parquet: name the table so")
    refuse_same(options.output, options.model)
    if options.output.exists() and options.output.resolve().is_relative_to(options.folder.resolve()):
        raise LookalikeError(f"{options.output} is a file of the rated triplets: name a table outside {options.folder}")
    make_folder(options.output)


def _measure_describers(
    describers: Sequence[Describer], rated: RatedTriplets, images: Sequence[int], options: argparse.Namespace
) -> Iterator[_Measured]:
    """Fit and apply hand-crafted features."""
    from lookalike.core.images import load_rgb
    from lookalike.core.seeds import integer_seed
    from lookalike.features.describers import describe_files

    codebook, told = _codebook_files(rated, options) if any(one.needs_fit for one in describers) else ([], "")
    wanted = set(images)
    paths = [rated.root / path if i in wanted else None for i, path in enumerate(rated.manifest["path"])]
    for describer in describers:
        if describer.needs_fit:
            with _bar(f"{describer.system}: codebook") as progress:
                describer.fit(
                    _with_progress((load_rgb(path) for path in codebook), len(codebook), progress),
                    random_state=integer_seed(options.seed, "features", describer.system),
                )
        with _bar(describer.system) as progress:
            vectors, seconds = describe_files(describer, paths, n_threads=options.jobs, progress=progress)
        origin = told if describer.needs_fit else ""
        yield _Measured(describer.system, vectors, seconds, len(wanted), describer.distance, origin)


def _codebook_files(rated: RatedTriplets, options: argparse.Namespace) -> tuple[list[Path], str]:
    """Files that codebooks are learned from, and what they are."""
    from lookalike.core.seeds import generator
    from lookalike.datasets.rated_triplets import codebook_images
    from lookalike.datasets.scan import scan_photographs

    if options.codebook_images is not None:
        with _bar("reading codebook images") as progress:
            found = scan_photographs(options.codebook_images, n_threads=options.jobs, progress=progress)
        evaluated = rated.manifest.loc[rated.manifest["part"] == "evaluation", "sha256"]
        found = found[(found["status"] == "ok") & ~found["sha256"].isin(evaluated)]
        if found.empty:
            raise LookalikeError(
                f"{options.codebook_images} holds no image but those that are evaluated: name a folder of others"
            )
        files, told = [options.codebook_images / path for path in found["path"]], f"images of {options.codebook_images}"
    else:
        rows, told = codebook_images(rated.manifest)
        files = [rated.root / path for path in rated.manifest["path"].iloc[rows]]
    if len(files) > MAX_CODEBOOK_IMAGES:
        order = generator(options.seed, "features", "codebook images").permutation(len(files))
        files = [files[place] for place in sorted(order[:MAX_CODEBOOK_IMAGES])]
    return files, f"{len(files):,} {told}"


def _load_network(path: Path) -> Any:
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
    network: Any, rated: RatedTriplets, images: Sequence[int], options: argparse.Namespace
) -> _Measured:
    """Embed images by a network, some at a time."""
    import numpy as np

    from lookalike.deep.embedding import embed
    from lookalike.deep.images import load_pixels

    model, about = network
    side, shift = model.configuration.input_size, int(about.get("shift", 0))
    paths = [rated.root / path for path in rated.manifest["path"].iloc[list(images)]]
    vectors = np.empty((0, 0), dtype=np.float32)
    start = time.perf_counter()
    with _bar(options.model.stem) as progress:
        for first in range(0, len(paths), _NETWORK_CHUNK):
            chunk = slice(first, first + _NETWORK_CHUNK)
            # as in training and evaluation of the study: the centre of a square that is larger by the shift
            pixels = load_pixels(paths[chunk], side + 2 * shift, n_threads=options.jobs)
            found = embed(model, np.ascontiguousarray(pixels[:, shift : shift + side, shift : shift + side]))
            if not first:
                vectors = np.full((len(rated.manifest), found.shape[1]), np.nan, dtype=np.float32)
            vectors[images[chunk]] = found
            progress(min(first + _NETWORK_CHUNK, len(paths)), len(paths))
    seconds = time.perf_counter() - start
    return _Measured(str(about.get("system", options.model.stem)), vectors, seconds, len(paths), "l2", "")


def _distances(measured: Sequence[_Measured], pairs: pd.DataFrame) -> dict[str, Floats]:
    from lookalike.ranking.distances import pair_distances

    return {one.system: pair_distances(one.vectors, pairs, one.distance) for one in measured}


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
        row |= {"images_per_second": one.n_images / one.seconds, "dimensions": one.vectors.shape[1]}
        rows.append(row | {"distance": one.distance, "codebook_from": one.codebook_from})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _as_text(table: pd.DataFrame, rated: RatedTriplets, options: argparse.Namespace) -> str:
    """The table as people read it."""
    n_queries = rated.triplets["query"].nunique()
    lines = [f"{options.folder}: {len(rated.triplets):,} rated triplets of {n_queries:,} query images"]
    if len(rated.rejected):
        counts = "; ".join(f"{row.reason}: {row.rows:,}" for row in rated.rejected.itertuples())
        lines.append(f"left out (rows or files): {counts}")
    lines.append(_pool_sentence(rated))
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
    return "\n".join(lines)


def _whole(value: Any) -> str:
    """A number without decimals, and without a sign before 0."""
    return "-" if math.isnan(value) else f"{round(value):,}"


def _pool_sentence(rated: RatedTriplets) -> str:
    """What is ranked for score@K."""
    sizes = rated.pool.groupby("text_query").size()
    size = f"{int(sizes.median()):,} images (median of {len(sizes):,} text queries, {sizes.min():,} to {sizes.max():,})"
    if (rated.pool["source"] == "triplets").any():
        return f"pools: {size}; some or all are only the triplets' own images: scores of other pools do not compare"
    return f"pools: {size}"


def _as_json(table: pd.DataFrame, rated: RatedTriplets, options: argparse.Namespace) -> str:
    """The same for programs."""
    return json.dumps(
        {
            "folder": str(options.folder),
            "n_triplets": len(rated.triplets),
            "n_queries": int(rated.triplets["query"].nunique()),
            "seed": options.seed,
            "rejected": rated.rejected.to_dict(orient="records"),
            "rows": table.astype(object).where(table.notna(), None).to_dict(orient="records"),  # JSON has no NaN
        },
        allow_nan=False,
        indent=2,
        ensure_ascii=False,
    )


def _with_progress(items: Iterator[Any], total: int, progress: Callable[[int, int], None]) -> Iterator[Any]:
    for done, item in enumerate(items, start=1):
        yield item
        progress(done, total)


@contextmanager
def _bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, if that is a terminal."""
    from tqdm import tqdm

    with tqdm(desc=title, unit="image", file=sys.stderr, disable=None, leave=False) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield advance
