"""The commands ``lookalike fit``, ``rank``, ``evaluate``, ``features`` and ``info``, for a user's own images."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lookalike.app import options
from lookalike.core.errors import LookalikeError, escaped

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.app.similarity import ImageSimilarity
    from lookalike.core.model_file import About
    from lookalike.features.describers import Vectors

_FIT_EXAMPLES = """\
examples:
  lookalike fit photos --output photos.lookalike --hold-out 0.25
  lookalike fit photos --labels labels.csv --output photos.lookalike
  lookalike fit photos --triplets judged.csv --output photos.lookalike
  lookalike fit photos --learner OASIS --set aggressiveness=0.03 --set n_steps=50000
  lookalike fit photos --representation hog --learner LMNN

labels.csv has the columns path and label. judged.csv has query, positive and negative:
the first image is more similar to the second than to the third. Representations: visterms
(visual words for edges and colours, as in the papers), wavelet, color, sift-like, fisher,
hog, texton, or a .lookalike file, to use its codebook."""
_RANK_EXAMPLES = """\
examples:
  lookalike rank photos.lookalike new.jpg --gallery photos -k 5
  lookalike rank photos.lookalike *.jpg --gallery photos --html neighbours.html --compare

--html writes one page with the images inside. It needs no network. --compare adds the
neighbours without learning, by Euclidean distance."""
_EVALUATE_EXAMPLES = """\
examples:
  lookalike evaluate photos.lookalike photos
  lookalike evaluate photos.lookalike photos --labels labels.csv -k 1,10,50
  lookalike evaluate photos.lookalike photos --triplets judged.csv --json

Each image is a query, and all others are ranked for it. Images of its class are right. In a
triplet, the positive should be more similar to the query than the negative. Triplets whose
query the model learned from are left out. Intervals: 95%, over query images."""
_FEATURES_EXAMPLES = """\
examples:
  lookalike features photos --output vectors.npz
  lookalike features photos --output hog.npy --representation hog --paths hog.parquet
  lookalike features photos --output vectors.npz --representation photos.lookalike
  lookalike features photos --output counts --words 1000

.npz is a sparse matrix of SciPy (scipy.sparse.load_npz), for visterms only. .npy is an
array of NumPy. Columns of the table: path, label, sha256, width, height. The codebook is
learned from these images, or taken from a model if one is named. A name without a suffix
is a folder of visterm counts. It can replace the images: the category study reads it as a
data set of kind visterms."""
_INFO_EXAMPLES = """\
examples:
  lookalike info photos.lookalike
  lookalike info photos.lookalike --json"""

Model = Annotated[Path, Argument(metavar="MODEL.lookalike", help="from `lookalike fit`")]


def _settings(texts: Sequence[str]) -> dict[str, str]:
    """Read settings, each ``key=value``."""
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not key or not equals:
            raise typer.BadParameter(f"must be like key=value, not {text!r}", param_hint="'--set'")
        if key in settings:
            raise LookalikeError("a setting is given twice: name each once after --set")
        settings[key] = value
    return settings


def _below_one(share: float) -> float:
    """Refuse a share of everything."""
    if not 0 <= share < 1:
        raise typer.BadParameter("must be from 0 to below 1, such as 0.25")
    return share


def _places(text: str) -> list[int]:
    """Read whole numbers of at least 1, separated by commas."""
    try:
        places = sorted({int(part) for part in text.split(",")})
    except ValueError:
        places = [0]
    if places[0] < 1:
        raise typer.BadParameter(f"must be whole numbers of at least 1, as in 1,5,10, not {text!r}", param_hint="'-k'")
    return places


@options.command("fit", _FIT_EXAMPLES)
def fit(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="the images")],
    output: Annotated[
        Path | None, Option(metavar="FILE.lookalike", help="the model to write (default: FOLDER's name, here)")
    ] = None,
    labels: options.Labels = None,
    triplets: options.Triplets = None,
    hold_out: Annotated[
        float,
        Option(
            metavar="SHARE",
            callback=_below_one,
            help="share of every class (or of the triplets' queries) to keep for `evaluate`, such as 0.25",
        ),
    ] = 0.0,
    representation: options.Representation = "visterms",
    words: options.Words = None,
    learner: Annotated[str, Option(metavar="NAME", help="the learner")] = "OASIS",
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="a setting of the learner; may be repeated. Without n_steps or early_stopping, a learner that takes "
            "steps sets some images aside and stops when these are ranked best",
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from a folder of your own images which of them are similar, and write a model file.

    FOLDER holds one folder of images per class. Or name a table of labels or triplets, with paths relative to
    FOLDER. Images that cannot be used are left out and named.
    """
    settings = _settings(set_ or [])
    options.refuse_both(labels, triplets)

    from lookalike.app.similarity import ImageSimilarity
    from lookalike.core.files import named
    from lookalike.core.model_file import SUFFIX

    output = output or Path(f"{Path(os.path.realpath(folder)).name}{SUFFIX}")
    options.check_output(output, (SUFFIX,), labels, triplets, _model_in(representation))
    named(output, SUFFIX)
    kept = options.cache_folder(cache, no_cache, output)
    with options.StageReport(quiet) as progress:
        model = ImageSimilarity(
            representation,
            learner,
            words=words,
            parameters=settings,
            hold_out=hold_out,
            random_state=seed,
            jobs=jobs,
            cache=kept,
            progress=progress,
        )
        model.fit(folder, labels, triplets)
    model.save(output)
    if as_json:
        options.print_json({"model": str(output), **model.about(), "left_out": options.records(model.left_out_)})
    elif not quiet:
        tables = {"--labels": labels, "--triplets": triplets}
        source = [str(folder), *(str(part) for option, table in tables.items() if table for part in (option, table))]
        options.tell(_summary(output, model, source))


def _summary(output: Path, model: ImageSimilarity, source: list[str]) -> list[str]:
    """Say what was learned, what was left out, and what to do next."""
    about = model.about()
    lines = [f"{output}: {_learned(about)}"]
    lines.append("; ".join(f"{name} {seconds:.1f} s" for name, seconds in about["seconds"].items()))
    lines += options.left_out_lines(model.left_out_)
    if about["triplets_left_out"]:
        lines.append(f"left out: {options.counted(about['triplets_left_out'], 'triplet')} whose images cannot be used")
    if about["n_held_out"]:
        lines.append(f"next: {shlex.join([_program(), 'evaluate', str(output), *source])}")
    lines.append(f"next: {shlex.join([_program(), 'rank', str(output), 'QUERY', '--gallery', source[0]])}")
    return lines


def _program() -> str:
    """Return how this command was called, to be pasted: ``lookalike``, or its path, as ``.venv/bin/lookalike``."""
    called = Path(sys.argv[0])
    return "lookalike" if called.is_absolute() or called.name != "lookalike" else str(called)


def _learned(about: About) -> str:
    """Say in one line what a model has learned from what."""
    learner, representation = about["learner"], about["representation"]
    source = f"{options.counted(about['n_images'], 'image')}"
    if about["classes"]:
        source += f" of {options.counted(len(about['classes']), 'class')}"
    if about["n_triplets"]:
        source = f"{options.counted(about['n_triplets'], 'triplet')} of {source}"
    held_out = f", {about['n_held_out']:,} held out" if about["n_held_out"] else ""
    steps = f" in {learner['n_steps']:,} steps" if "n_steps" in learner else ""
    described = f"visterms of {representation['dimensions']:,} words"
    if representation["name"] != "visterms":
        described = f"{representation['name']} of {representation['dimensions']:,} dimensions"
        if reduced := representation["learned_components"]:
            described += f", {reduced} principal components of them learned with"
    return f"{learner['name']} learned from {source}{steps}{held_out}; {described}"


@options.command("rank", _RANK_EXAMPLES)
def rank(
    model: Model,
    queries: Annotated[list[Path], Argument(metavar="QUERY...", help="image files")],
    gallery: Annotated[Path, Option(metavar="FOLDER", help="images to rank, at any depth")],
    k: Annotated[int, Option("-k", metavar="N", min=1, help="neighbours")] = 10,
    html: Annotated[Path | None, Option(metavar="PAGE.html", help="write a page")] = None,
    compare: Annotated[bool, Option("--compare", help="show the neighbours before learning too")] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the images of a folder that are most similar to each query image, best first.

    `lookalike fit` writes the model. Copies of the query in the folder are left out.
    """
    from lookalike.app.similarity import ImageSimilarity

    if html is not None:
        options.check_output(html, options.PAGES, model, *queries)
    with options.StageReport(quiet) as progress:
        opened = ImageSimilarity.load(
            model, jobs=jobs, cache=options.cache_folder(cache, no_cache, model), progress=progress
        )
        ranked = opened.rank_both(queries, gallery, k, which=(True, False) if compare else (True,))
    left_out = opened.left_out_
    n_bad_queries = len(set(queries)) - ranked[True]["query"].nunique()
    _warn(ranked[True], left_out[n_bad_queries:] if not quiet else left_out[:0], k)
    if html is not None:
        from lookalike.app.page import write_page

        write_page(ranked, gallery, html, title=f"Neighbours by {model.name}", model=opened)
    if as_json:
        about = {"model": str(model), "gallery": str(gallery), "k": k, "page": None if html is None else str(html)}
        options.print_json({**about, "results": _rankings(ranked), "left_out": options.records(left_out)})
    elif html is None:
        options.tell(_ranking_lines(ranked))
    elif not quiet:
        options.tell([f"{html}: {options.counted(ranked[True]['query'].nunique(), 'query')}, {k} neighbours each"])


def _warn(ranked: pd.DataFrame, left_out: pd.DataFrame, k: int) -> None:
    """Say on standard error what is not as it may have been meant."""
    from lookalike.app.sources import first_reason

    found = int(ranked.groupby("query")["rank"].max().min())
    if found < k:
        warnings.warn(f"the gallery has only {found} images besides a query, fewer than {k}", stacklevel=2)
    if len(left_out):
        reason = first_reason(left_out)
        warnings.warn(f"{options.counted(len(left_out), 'file')} of the gallery left out{reason}", stacklevel=2)


def _ranking_lines(ranked: dict[bool, pd.DataFrame]) -> list[str]:
    """Return the rankings as people read them."""
    lines: list[str] = []
    for query, rows in ranked[True].groupby("query", sort=False):
        lines.append(f"{query}")
        paths = [escaped(path) for path in rows["path"]]
        width = max(map(len, paths))
        before = [""] * len(paths)
        if False in ranked:
            before = [f"    {path}" for path in ranked[False].groupby("query").get_group(query)["path"]]
            lines.append(f"{'':17}{'after learning':<{width}}    before learning")
        for path, other, row in zip(paths, before, rows.itertuples(), strict=True):
            lines.append(f"{row.rank:5}  {row.score:>8.4f}  {path:<{width}}{other}".rstrip())
    return lines


def _rankings(ranked: dict[bool, pd.DataFrame]) -> list[dict[str, object]]:
    names = {True: "neighbours", False: "before_learning"}
    results: dict[str, dict[str, object]] = {}
    for learned, table in ranked.items():
        for query, rows in table.groupby("query", sort=False):
            result = results.setdefault(str(query), {"query": str(query)})
            result[names[learned]] = options.records(rows[["rank", "path", "score", "label"]])
    return list(results.values())


@options.command("evaluate", _EVALUATE_EXAMPLES)
def evaluate(
    model: Model,
    folder: Annotated[Path, Argument(metavar="FOLDER", help="class folders, or where the table's paths start")],
    labels: options.Labels = None,
    triplets: options.Triplets = None,
    k: Annotated[str, Option("-k", metavar="N,N", help="numbers of first images to measure precision on")] = "1,5,10",
    everything: Annotated[bool, Option("--all", help="also evaluate images that the model learned from")] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print how well a model orders labelled images (mean average precision, precision at k) or triplets.

    The Euclidean distance in the same representation, without learning, is shown beside it. Images that the model
    learned from are left out if there are others. Use `lookalike fit --hold-out` to keep some.
    """
    places = _places(k)
    options.refuse_both(labels, triplets)

    from lookalike.app.similarity import ImageSimilarity

    with options.StageReport(quiet) as progress:
        opened = ImageSimilarity.load(
            model, jobs=jobs, cache=options.cache_folder(cache, no_cache, model), progress=progress
        )
        opened.random_state = seed
        table = opened.evaluate(folder, labels, triplets, ks=places, everything=everything)
    counts = table.attrs
    if counts["learned_from"]:
        warnings.warn(
            f"the model has learned from {counts['learned_from']:,} of the {counts['images']:,} images that "
            "are evaluated: new images would be ranked worse; use fit --hold-out 0.25 to measure that",
            stacklevel=2,
        )
    if as_json:
        tables = {"rows": options.records(table), "left_out": options.records(opened.left_out_)}
        options.print_json({"model": str(model), "folder": str(folder)} | counts | tables)
        return
    what = options.counted(counts["images"], "image")
    if "triplets" in counts:
        what = f"{options.counted(counts['triplets'], 'triplet')} of {what}"
    passed = f"; left out: {options.counted(counts['passed_over'], 'image')} that the model has learned from"
    left_out = [] if quiet else options.left_out_lines(opened.left_out_)
    options.tell([f"{folder}: {what}{passed if counts['passed_over'] else ''}", *left_out, *_measure_lines(table)])


def _measure_lines(table: pd.DataFrame) -> list[str]:
    """Return the numbers as people read them."""
    methods = list(dict.fromkeys(table["method"]))
    lines = ["", f"{'':20}" + "".join(f"{f'{method}, 95% interval':>30}" for method in methods)]
    cells = [f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table.itertuples()]
    for measure, rows in table.assign(cell=cells).groupby("measure", sort=False):
        by_method = rows.set_index("method")["cell"]
        name = "mAP" if measure == "map" else str(measure).replace("@", " at ")
        lines.append(f"{name:<20}" + "".join(f"{by_method[method]:>30}" for method in methods))
    return lines


@options.command("features", _FEATURES_EXAMPLES)
def features(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="the images, at any depth")],
    output: Annotated[Path, Option(metavar="FILE", help="vectors to write (.npz or .npy), or a folder of counts")],
    paths: Annotated[
        Path | None, Option(metavar="TABLE", help="table to write: .csv or .parquet (default: .csv beside them)")
    ] = None,
    representation: options.Representation = "visterms",
    words: options.Words = None,
    pool: Annotated[
        float,
        Option(metavar="SHARE", callback=_below_one, help="share of images for the codebook of a folder of counts"),
    ] = 0.25,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe all images of a folder, and write their vectors (rows of unit length) or their visterm counts.

    A table beside them lists the image of each row.
    """
    from lookalike.app.similarity import ImageSimilarity
    from lookalike.app.sources import COLUMNS
    from lookalike.core.files import write_array, write_csr, write_table
    from lookalike.data.visterm_folder import COLUMNS as FOLDER_COLUMNS
    from lookalike.data.visterm_folder import COUNTS, MANIFEST, PALETTE, write_visterm_folder

    is_folder = output.suffix == "" and paths is None
    vectors_in = output / COUNTS if is_folder else output
    table = output / MANIFEST if is_folder else paths or output.with_suffix(".csv")
    if is_folder and output.is_dir() and not table.exists() and any(output.iterdir()):
        raise LookalikeError(f"{output} exists and is no folder of visterm counts: name another one")
    is_sparse = vectors_in.suffix.lower() == ".npz"
    if is_sparse:
        _check_sparse(output, representation, words)
    options.check_output(vectors_in, (".npz", ".npy"), model := _model_in(representation))
    options.check_output(table, options.TABLES, model, vectors_in)
    if is_folder:
        options.check_output(output / PALETTE, (".npy",), model)
    if paths is None:
        _check_default(table, FOLDER_COLUMNS if is_folder else COLUMNS)
    kept = options.cache_folder(cache, no_cache, output)
    with options.StageReport(quiet) as progress:
        described = ImageSimilarity(
            representation, words=words, random_state=seed, jobs=jobs, cache=kept, progress=progress
        )
        vectors: Vectors
        vectors, images = described.counts(folder, pool) if is_folder else described.vectors(folder)
    describer, left_out = described.representation_.describer, described.left_out_
    if is_folder:
        sizes = [(folder / path).stat().st_size for path in images["path"]]
        manifest = images.assign(bytes=sizes, status="ok", reason="")
        write_visterm_folder(output, manifest, images["in_pool"].to_numpy(), vectors, describer.arrays()["palette"])
    elif is_sparse:
        write_csr(vectors, output)
    else:
        write_array(vectors.toarray() if hasattr(vectors, "indptr") else vectors, output)
    if not is_folder:
        write_table(images[COLUMNS], table)
    name, dimensions = describer.system, int(vectors.shape[1])
    if as_json:
        about = {"output": str(output), "paths": str(table), "n_images": len(images), "dimensions": dimensions}
        options.print_json({**about, "representation": name, "left_out": options.records(left_out)})
    elif not quiet:
        first = f"{output}: {options.counted(len(images), 'image')} x {dimensions:,} dimensions of {name}"
        options.tell([first, f"{table}: the image of each row", *options.left_out_lines(left_out)])


def _model_in(representation: str) -> Path | None:
    """Return the model whose codebook is taken over, if the representation names one."""
    return Path(representation) if representation.endswith(".lookalike") else None


def _check_sparse(output: Path, representation: str, words: int | None) -> None:
    """Refuse, before anything is described, to write dense vectors as a sparse matrix."""
    from lookalike.app.model_file import read_about
    from lookalike.app.representations import make_representation
    from lookalike.features.bag_of_visterms import BagOfVisterms

    model = _model_in(representation)
    name = read_about(model)["representation"]["name"] if model else None
    name = name or make_representation(representation, words).describer.system
    if name != BagOfVisterms.system:
        raise LookalikeError(f"vectors of {name} are dense: name a file that ends in .npy, not {output}")


def _check_default(table: Path, columns: Sequence[str]) -> None:
    """Refuse to write over a table that nobody named, unless it is one of these tables."""
    if not table.is_file():
        return
    with table.open("rb") as stream:
        first = stream.readline(1000).strip()
    if first != ",".join(columns).encode():
        raise LookalikeError(
            f"{table} exists and was not written by lookalike features: name another output, or a table with --paths"
        )


@options.command("info", _INFO_EXAMPLES)
def info(model: Model, as_json: options.AsJson = False) -> None:
    """Print what a model file holds.

    That is its learner, settings, representation, classes, images, times, and the versions of the libraries.
    """
    from lookalike.app.model_file import read_about

    about = read_about(model)
    size = model.stat().st_size
    if as_json:
        options.print_json({"model": str(model), "bytes": size, **about})
        return
    learner, representation, origin = about["learner"], about["representation"], about["made_by"]
    rows = {
        "model": f"{model}, {size / 1e6:.1f} MB, format version {about['format_version']}",
        "learned": _learned(about),
        "learner": f"{learner['name']} ({_listed(learner['parameters'])})",
        "representation": f"{representation['name']}, {representation['dimensions']:,} dimensions"
        f" ({_listed(representation['settings'])})",
        "classes": ", ".join(f"{name} {n:,}" for name, n in about["classes"].items()) or "none: learned from triplets",
        "left out": f"{about['n_left_out']:,} files",
        "seed": str(about["seed"]),
        "seconds": ", ".join(f"{name} {seconds:.1f}" for name, seconds in about["seconds"].items()),
        "made": origin.get("time", "unknown"),
        "versions": ", ".join(f"{name} {number}" for name, number in origin.items() if name != "time"),
    }
    options.tell(f"{name:<16}{value}" for name, value in rows.items())


def _listed(values: Mapping[str, object]) -> str:
    """Return settings as people read them."""
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no settings"
