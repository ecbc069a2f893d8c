"""The commands ``lookalike fit``, ``rank``, ``evaluate``, ``features`` and ``info``, for a user's own images."""

from __future__ import annotations

import argparse
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.app.options import (
    Commands,
    Told,
    add_command,
    add_common,
    add_output,
    add_path,
    add_tables,
    cache_folder,
    check_table,
    counted,
    escaped,
    left_out_lines,
    make_folder,
    positive,
    print_json,
    records,
    refuse_same,
    tell,
)
from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.app.similarity import ImageSimilarity

_FIT = """\
Learn from a folder of your own images which of them are alike, and write a model file.
FOLDER holds one folder of images per class; or name a table of labels, or of triplets,
with paths relative to FOLDER. Images that cannot be used are left out and named."""

_FIT_EXAMPLES = """\
examples:
  lookalike fit photos --output pets.lookalike --hold-out 0.25
  lookalike fit photos --labels labels.csv --output pets.lookalike
  lookalike fit photos --triplets judged.csv --output pets.lookalike
  lookalike fit photos --learner OASIS --set aggressiveness=0.03 --set n_steps=50000
  lookalike fit photos --representation hog --learner LMNN

labels.csv has the columns path and label; judged.csv has query, positive and negative:
the first image is more like the second than like the third. Representations: visterms
(words for edges and colours, as in the papers), wavelet, color, sift-like, fisher, hog,
texton, or a .lookalike file, whose codebook is taken over."""

_RANK = """\
Print the images of a folder that are most like each query image, best first, by a model
that `lookalike fit` wrote. Copies of the query in the folder are passed over."""

_RANK_EXAMPLES = """\
examples:
  lookalike rank pets.lookalike new.jpg --gallery photos -k 5
  lookalike rank pets.lookalike *.jpg --gallery photos --html neighbours.html --compare

With --html, one page with the images inside is written, which works without a network.
With --compare, the neighbours by the untrained Euclidean distance stand beside them."""

_EVALUATE = """\
Print how well a model orders labelled images (mean average precision, precision at k) or
triplets, beside the Euclidean distance in the same representation, for which nothing was
learned. Images that the model has learned from, known by their content, are passed over
as long as others can be evaluated: fit with --hold-out to keep some."""

_EVALUATE_EXAMPLES = """\
examples:
  lookalike evaluate pets.lookalike photos
  lookalike evaluate pets.lookalike photos --labels labels.csv -k 1,10,50
  lookalike evaluate pets.lookalike photos --triplets judged.csv --json

Each image queries all others; those of its class are what it should find. Of a triplet,
the positive should be more like the query than the negative; only triplets whose query
the model has not learned from are evaluated. Intervals: 95%, over query images."""

_FEATURES = """\
Describe all images of a folder and write their vectors, rows of unit length, and beside
them a table that says which row is which image."""

_FEATURES_EXAMPLES = """\
examples:
  lookalike features photos --output vectors.npz
  lookalike features photos --output hog.npy --representation hog --paths hog.parquet
  lookalike features photos --output vectors.npz --representation pets.lookalike

.npz is a sparse matrix of SciPy (scipy.sparse.load_npz) and for visterms only, .npy an
array of NumPy. Columns of the table: path, label, sha256, width, height. Codebooks are
learned from these images unless a model is named, whose codebook is then taken."""

_INFO = """\
Print what a model file holds: learner, settings, representation, classes, images, the
time that its making took, and the versions that it was made with."""

_INFO_EXAMPLES = """\
examples:
  lookalike info pets.lookalike
  lookalike info pets.lookalike --json"""

_COLUMNS = ["path", "label", "sha256", "width", "height"]


def add_commands(commands: Commands) -> None:
    """Add the parsers of the five commands."""
    parser = add_command(commands, "fit", _fit, "learn from your own images", _FIT, _FIT_EXAMPLES)
    add_path(parser, "folder", metavar="FOLDER", kind="folder", help="the images")
    written = "the model to write (default: FOLDER's name, here)"
    add_path(parser, "--output", metavar="FILE.lookalike", help=written)
    add_tables(parser)
    parser.add_argument(
        "--hold-out",
        metavar="SHARE",
        type=_share,
        default=0.0,
        help="share of every class (of triplets: of their queries) that is kept for `evaluate`, such as 0.25",
    )
    _add_representation(parser)
    parser.add_argument("--learner", metavar="NAME", default="OASIS", help="default: %(default)s")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        type=_setting,
        action="append",
        default=[],
        help="a setting of the learner; may be repeated. Without n_steps or early_stopping, learners that take steps "
        "stop by themselves, judged by images that they set aside",
    )
    add_common(parser, cache=".lookalike-cache beside the model")

    parser = add_command(commands, "rank", _rank, "find the images most like a query", _RANK, _RANK_EXAMPLES)
    _add_model(parser)
    add_path(parser, "queries", metavar="QUERY", nargs="+", help="image files")
    gallery = "images to rank, at any depth"
    add_path(parser, "--gallery", metavar="FOLDER", kind="folder", required=True, help=gallery)
    parser.add_argument("-k", metavar="N", type=positive, default=10, help="neighbours (default: %(default)s)")
    add_path(parser, "--html", metavar="PAGE.html", help="write a page")
    parser.add_argument("--compare", action="store_true", help="show the neighbours before learning too")
    add_common(parser, cache=".lookalike-cache beside the model")

    parser = add_command(
        commands, "evaluate", _evaluate, "measure a model on labelled images", _EVALUATE, _EVALUATE_EXAMPLES
    )
    _add_model(parser)
    add_path(parser, "folder", metavar="FOLDER", kind="folder", help="class folders, or what tables start from")
    add_tables(parser)
    parser.add_argument(
        "-k", metavar="N,N", type=_positives, default=[1, 5, 10], help="where precision is measured (default: 1,5,10)"
    )
    parser.add_argument("--all", action="store_true", help="evaluate images that were learned from too")
    add_common(parser, cache=".lookalike-cache beside the model")

    parser = add_command(commands, "features", _features, "write images as vectors", _FEATURES, _FEATURES_EXAMPLES)
    add_path(parser, "folder", metavar="FOLDER", kind="folder", help="the images, at any depth")
    add_path(parser, "--output", metavar="FILE", required=True, help="vectors to write: .npz or .npy")
    table = "table to write: .csv or .parquet (default: .csv beside them)"
    add_path(parser, "--paths", metavar="TABLE", help=table)
    _add_representation(parser)
    add_common(parser, cache=".lookalike-cache beside the vectors")

    parser = add_command(commands, "info", _info, "say what a model file holds", _INFO, _INFO_EXAMPLES)
    _add_model(parser)
    add_output(parser, quiet=False)


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model file that is read."""
    add_path(parser, "model", metavar="MODEL.lookalike", help="from `lookalike fit`")


def _add_representation(parser: argparse.ArgumentParser) -> None:
    """Add --representation and --words."""
    described = "how images are described (default: visterms)"
    add_path(parser, "--representation", metavar="NAME", kind="name", default="visterms", help=described)
    parser.add_argument(
        "--words",
        metavar="N",
        type=positive,
        help="words of the visterms' codebook (default: 100 to 1,000, suited to the number of images)",
    )


def _positives(text: str) -> list[int]:
    """Read whole numbers of at least 1, separated by commas."""
    return sorted({positive(part.strip()) for part in text.split(",")})


def _share(text: str) -> float:
    """Read a number from 0 to below 1."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number such as 0.25, not {text!r}") from None
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError("must be from 0 to below 1, such as 0.25")
    return number


def _setting(text: str) -> tuple[str, str]:
    """Read ``key=value``."""
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise argparse.ArgumentTypeError(f"must be like key=value, not {text!r}")
    return key.strip(), value.strip()


def _fit(options: argparse.Namespace) -> None:
    """Learn, write, and say what was done."""
    from lookalike.app.model_file import checked_name
    from lookalike.app.similarity import ImageSimilarity

    output = checked_name(options.output or Path(f"{options.folder.resolve().name}.lookalike"))
    refuse_same(output, options.labels, options.triplets)
    make_folder(output)
    settings = dict(options.set)
    if len(settings) < len(options.set):
        raise LookalikeError("a setting is given twice: name each once after --set")
    with Told(options.quiet) as told:
        model = ImageSimilarity(
            options.representation,
            options.learner,
            words=options.words,
            parameters=settings,
            hold_out=options.hold_out,
            random_state=options.seed,
            jobs=options.jobs,
            cache=cache_folder(options, output),
            progress=told,
        ).fit(options.folder, options.labels, options.triplets)
    model.save(output)
    if options.json:
        print_json({"model": str(output), **model.about(), "left_out": records(model.left_out_)})
    elif not options.quiet:
        tell(_summary(output, model, options))


def _summary(output: Path, model: ImageSimilarity, options: argparse.Namespace) -> list[str]:
    """Say what was learned, what was left out, and what to do next."""
    about = model.about()
    lines = [f"{output}: {_learned(about)}"]
    lines.append("; ".join(f"{name} {seconds:.1f} s" for name, seconds in about["seconds"].items()))
    lines += left_out_lines(model.left_out_)
    if about["triplets_left_out"]:
        lines.append(f"left out: {counted(about['triplets_left_out'], 'triplet')} whose images cannot be used")
    given = {"--labels": options.labels, "--triplets": options.triplets}
    where = [str(part) for option, table in given.items() if table for part in (option, table)]
    if about["n_held_out"]:
        lines.append(f"next: {shlex.join(['lookalike', 'evaluate', str(output), str(options.folder), *where])}")
    lines.append(f"next: {shlex.join(['lookalike', 'rank', str(output), 'QUERY', '--gallery', str(options.folder)])}")
    return lines


def _learned(about: dict[str, Any]) -> str:
    """Say in one line what a model has learned from what."""
    learner, representation = about["learner"], about["representation"]
    source = f"{counted(about['n_images'], 'image')}"
    if about["classes"]:
        source += f" of {counted(len(about['classes']), 'class')}"
    if about["n_triplets"]:
        source = f"{counted(about['n_triplets'], 'triplet')} of {source}"
    held_out = f", {about['n_held_out']:,} held out" if about["n_held_out"] else ""
    steps = f" in {learner['n_steps']:,} steps" if "n_steps" in learner else ""
    described = f"visterms of {representation['dimensions']:,} words"
    if representation["name"] != "visterms":
        described = f"{representation['name']} of {representation['dimensions']:,} dimensions"
        if reduced := representation["learned_components"]:
            described += f", {reduced} principal components of them learned with"
    return f"{learner['name']} learned from {source}{steps}{held_out}; {described}"


def _rank(options: argparse.Namespace) -> None:
    """Rank, and print or write."""
    from lookalike.app.similarity import ImageSimilarity

    if options.html is not None:
        if options.html.suffix.lower() not in (".html", ".htm"):
            raise LookalikeError(f"{options.html} is not named like a page: let it end in .html")
        refuse_same(options.html, options.model, *options.queries)
        make_folder(options.html)
    with Told(options.quiet) as told:
        model = ImageSimilarity.load(
            options.model, jobs=options.jobs, cache=cache_folder(options, options.model), progress=told
        )
        which = (True, False) if options.compare else (True,)
        ranked = model.rank_both(options.queries, options.gallery, options.k, which=which)
    _warn(ranked, model.left_out_, options)
    if options.html is not None:
        from lookalike.app.page import write_page

        write_page(ranked, options.gallery, options.html, title=f"Neighbours by {options.model.name}", model=model)
    if options.json:
        print_json(_rankings(ranked, options, records(model.left_out_)))
    elif options.html is None:
        tell(_ranking_lines(ranked, options))
    elif not options.quiet:
        n_queries = ranked[True]["query"].nunique()
        noun = "query" if n_queries == 1 else "queries"
        tell([f"{options.html}: {n_queries} {noun}, {options.k} neighbours each"])


def _warn(ranked: dict[bool, pd.DataFrame], left_out: pd.DataFrame, options: argparse.Namespace) -> None:
    """Say on standard error what is not as it may have been meant."""
    found = int(ranked[True].groupby("query")["rank"].max().min())
    if found < options.k:
        warnings.warn(
            f"the gallery has {found} images besides a query: as many neighbours are given, not {options.k}",
            stacklevel=2,
        )
    if len(left_out) and not options.quiet:
        first = left_out.iloc[0]
        more = "; --json names all" if len(left_out) > 1 else ""
        warnings.warn(
            f"{counted(len(left_out), 'file')} of the gallery left out ({first['path']}: {first['reason']}{more})",
            stacklevel=2,
        )


def _ranking_lines(ranked: dict[bool, pd.DataFrame], options: argparse.Namespace) -> list[str]:
    """The rankings as people read them."""
    lines: list[str] = []
    for query, rows in ranked[True].groupby("query", sort=False):
        before = ranked[False].groupby("query").get_group(query) if options.compare else None
        lines.append(f"{query}")
        paths = [escaped(path) for path in rows["path"]]
        width = max(map(len, paths))
        if before is not None:
            lines.append(f"{'':17}{'after learning':<{width}}    before learning")
        for place, row in enumerate(rows.itertuples()):
            line = f"{row.rank:5}  {row.score:>8.4f}  {paths[place]:<{width}}"
            line += f"    {before['path'].iloc[place]}" if before is not None else ""
            lines.append(line.rstrip())
    return lines


def _rankings(ranked: dict[bool, pd.DataFrame], options: argparse.Namespace, left_out: list[Any]) -> dict[str, Any]:
    """The rankings as programs read them."""
    names = {True: "neighbours", False: "before_learning"}
    results: dict[str, dict[str, Any]] = {str(query): {"query": str(query)} for query in options.queries}
    for learned, table in ranked.items():
        for query, rows in table.groupby("query", sort=False):
            results[str(query)][names[learned]] = records(rows[["rank", "path", "score", "label"]])
    return {
        "model": str(options.model),
        "gallery": str(options.gallery),
        "k": options.k,
        "page": None if options.html is None else str(options.html),
        "results": list(results.values()),
        "left_out": left_out,
    }


def _evaluate(options: argparse.Namespace) -> None:
    """Measure and print."""
    from lookalike.app.similarity import ImageSimilarity

    with Told(options.quiet) as told:
        model = ImageSimilarity.load(
            options.model, jobs=options.jobs, cache=cache_folder(options, options.model), progress=told
        )
        model.random_state = options.seed
        table = model.evaluate(options.folder, options.labels, options.triplets, ks=options.k, everything=options.all)
    if table.attrs["learned_from"]:
        warnings.warn(
            f"the model has learned from {table.attrs['learned_from']:,} of the {table.attrs['images']:,} images that "
            "are evaluated: these numbers do not hold for new images; fit with --hold-out 0.25 for some that do",
            stacklevel=2,
        )
    if options.json:
        where = {"model": str(options.model), "folder": str(options.folder)}
        print_json({**where, **table.attrs, "rows": records(table), "left_out": records(model.left_out_)})
    else:
        tell(_measure_lines(table, model, options))


def _measure_lines(table: pd.DataFrame, model: ImageSimilarity, options: argparse.Namespace) -> list[str]:
    """The numbers as people read them."""
    attributes = table.attrs
    what = counted(attributes["images"], "image")
    if "triplets" in attributes:
        what = f"{counted(attributes['triplets'], 'triplet')} of {what}"
    passed = f"; {attributes['passed_over']:,} that the model has learned from are passed over"
    lines = [f"{options.folder}: {what}{passed if attributes['passed_over'] else ''}"]
    lines += [] if options.quiet else left_out_lines(model.left_out_)
    methods = list(dict.fromkeys(table["method"]))
    lines += ["", f"{'':20}" + "".join(f"{f'{method}, 95% interval':>30}" for method in methods)]
    cells = [f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table.itertuples()]
    for measure, rows in table.assign(cell=cells).groupby("measure", sort=False):
        of_method = rows.set_index("method")["cell"]
        name = "mAP" if measure == "map" else str(measure).replace("@", " at ")
        lines.append(f"{name:<20}" + "".join(f"{of_method[method]:>30}" for method in methods))
    return lines


def _features(options: argparse.Namespace) -> None:
    """Describe and write."""
    from lookalike.app.similarity import ImageSimilarity
    from lookalike.core.files import write_array, write_csr, write_table

    table_path = options.paths or options.output.with_suffix(".csv")
    if options.output.suffix not in (".npz", ".npy"):
        raise LookalikeError(f"{options.output} must end in .npz or .npy: name the vectors so")
    check_table(table_path)
    if options.output.suffix == ".npz":
        _check_sparse(options)
    if options.paths is None:
        _check_default(table_path)
    for path in (options.output, table_path):
        refuse_same(path, Path(options.representation))
        make_folder(path)
    with Told(options.quiet) as told:
        described = ImageSimilarity(
            options.representation,
            words=options.words,
            random_state=options.seed,
            jobs=options.jobs,
            cache=cache_folder(options, options.output),
            progress=told,
        )
        vectors, images = described.vectors(options.folder)
    if options.output.suffix == ".npz":
        write_csr(vectors, options.output)
    else:
        write_array(vectors.toarray() if hasattr(vectors, "indptr") else vectors, options.output)
    write_table(images[_COLUMNS], table_path)
    name = described.representation_.name
    if options.json:
        print_json(
            {
                "output": str(options.output),
                "paths": str(table_path),
                "n_images": len(images),
                "dimensions": int(vectors.shape[1]),
                "representation": name,
                "left_out": records(described.left_out_),
            }
        )
    elif not options.quiet:
        first = f"{options.output}: {counted(len(images), 'image')} x {vectors.shape[1]:,} dimensions of {name}"
        tell([first, f"{table_path}: which row is which image", *left_out_lines(described.left_out_)])


def _check_sparse(options: argparse.Namespace) -> None:
    """Refuse, before anything is described, to write dense vectors as a sparse matrix."""
    from lookalike.app.model_file import SUFFIX, read_about
    from lookalike.app.representations import VISTERMS, make_representation

    asked = options.representation
    if asked.endswith(SUFFIX):
        name = read_about(asked)["representation"]["name"]
    else:
        name = make_representation(asked, options.words).name
    if name != VISTERMS:
        raise LookalikeError(f"vectors of {name} are dense: let {options.output} end in .npy")


def _check_default(table: Path) -> None:
    """Refuse to write over a table that nobody named, unless it is one of these tables."""
    if not table.is_file():
        return
    with table.open("rb") as stream:
        first = stream.readline(1000).strip()
    if first != ",".join(_COLUMNS).encode():
        raise LookalikeError(
            f"{table} exists and was not written by lookalike features: name the table by --paths, or other vectors"
        )


def _info(options: argparse.Namespace) -> None:
    """Print what a model file says of itself."""
    from lookalike.app.model_file import read_about

    about = read_about(options.model)
    size = options.model.stat().st_size
    if options.json:
        print_json({"model": str(options.model), "bytes": size, **about})
        return
    learner, representation, made_by = about["learner"], about["representation"], about["made_by"]
    rows = {
        "model": f"{options.model}, {size / 1e6:.1f} MB, format version {about['format_version']}",
        "learned": _learned(about),
        "learner": f"{learner['name']} ({_settings(learner['parameters'])})",
        "representation": f"{representation['name']}, {representation['dimensions']:,} dimensions"
        f" ({_settings(representation['settings'])})",
        "classes": ", ".join(f"{name} {n:,}" for name, n in about["classes"].items()) or "none: learned from triplets",
        "left out": f"{about['n_left_out']:,} files",
        "seed": str(about["seed"]),
        "seconds": ", ".join(f"{name} {seconds:.1f}" for name, seconds in about["seconds"].items()),
        "made": made_by.get("time", "unknown"),
        "versions": ", ".join(f"{name} {number}" for name, number in made_by.items() if name != "time"),
    }
    tell(f"{name:<16}{value}" for name, value in rows.items())


def _settings(values: dict[str, Any]) -> str:
    """Settings as people read them."""
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no settings"
