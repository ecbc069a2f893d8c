"""The commands for a user's own images or vectors: to learn, to rank and measure, and to serve what was learned."""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from lookalike.app import options
from lookalike.core.errors import LookalikeError, command_line, escaped, first_reason, short_name

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.app.rows import Rows
    from lookalike.app.similarity import Similarity
    from lookalike.core.model_file import About


_FEW = 12  # classes that are named in a line
_UNCLEAR = re.compile(r"[,()\n]")  # in a name, such as that of a class, it stands in quotation marks

Model = Annotated[Path, Argument(metavar="MODEL.lookalike", help="from `lookalike fit`")]


def _below_one(share: float) -> float:
    """Refuse a share of everything."""
    if not 0 <= share < 1:
        raise typer.BadParameter("must be from 0 to below 1, such as 0.25")
    return share


def _places(text: str) -> list[int]:
    """Read whole numbers of at least 1, separated by commas."""
    with suppress(ValueError):
        places = sorted({int(part) for part in text.split(",")})
        if places[0] >= 1:
            return places
    raise typer.BadParameter(f"must be whole numbers of at least 1, as in 1,5,10, not {text!r}", param_hint="'-k'")


@contextmanager
def opened(
    model: Path, jobs: int | None, cache: Path | None, no_cache: bool, quiet: bool
) -> Iterator[tuple[Similarity, options.StageReport]]:
    """Yield a model, with the cache beside it or another, and what tells how far it is."""
    from lookalike.app.similarity import Similarity

    with options.StageReport(quiet) as progress:
        kept = options.cache_folder(cache, no_cache, model)
        yield Similarity.load(model, jobs=jobs, cache=kept, progress=progress), progress


@options.command("fit")
def fit(
    source: options.Source,
    output: Annotated[Path | None, Option(metavar="FILE.lookalike", help="default: the name of SOURCE, here")] = None,
    labels: options.Labels = None,
    triplets: options.Triplets = None,
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    hold_out: Annotated[
        float, Option(metavar="SHARE", callback=_below_one, help="of every class (or triplets' queries) to evaluate")
    ] = 0.0,
    classes: Annotated[
        Literal["new", "seen"] | None,
        Option(
            "--for",
            help="classes of later queries: new ones, or those that are learned from (default: new, or seen where "
            "fewer than four have two rows)",
            show_default=False,
        ),
    ] = None,
    scaling: Annotated[
        Literal["unit", "length", "centred", "standard"] | None,
        Option(help="how vectors are scaled (default: what ranks best without learning)", show_default=False),
    ] = None,
    representation: options.Representation = None,
    words: options.Words = None,
    learner: Annotated[
        str | None,
        Option(metavar="NAME", help="the learner (default: what ranks held-out rows best; with --set, OASIS)"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="a setting of the learner; may be repeated. Without n_steps or early_stopping, a learner that takes "
            "steps holds some rows out and stops when these are ranked best",
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn similarity from images or vectors.

    It writes a model file. SOURCE is a folder with one folder of images per class, or a file of vectors with a column
    of labels. You can also name a table of labels or of triplets, with paths in the folder or ids of vectors. Images
    that cannot be used are left out and named. The scaling of vectors and the learner are chosen on held-out rows and
    classes, and the output names them.
    """
    settings: dict[str, str] = {}
    for text in set_ or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not key or not equals:
            raise typer.BadParameter(f"must be like key=value, not {text!r}", param_hint="'--set'")
        if key in settings:
            raise LookalikeError("a setting is given twice: name each once after --set")
        settings[key] = value

    from lookalike.app.model_file import read_about
    from lookalike.app.similarity import Similarity
    from lookalike.core.files import named
    from lookalike.core.model_file import SUFFIX

    default, own = options.default_output(source, SUFFIX), Path(os.path.realpath(source)).name
    options.check_output(output or default, (SUFFIX,), labels, triplets, _model_in(representation))
    if output is None:
        known = own
        with suppress(LookalikeError, LookupError, AttributeError):  # there is no model yet, or none that can be read
            known = read_about(default)["made_by"].get("source", own)
        if known != own:
            raise LookalikeError(f"{default} is the model of {known}: name that of {own} by --output")
    output = named(output or default, SUFFIX)
    with options.StageReport(quiet) as progress:
        model = Similarity(
            representation,
            learner,
            classes=classes,
            scaling=scaling,
            words=words,
            parameters=settings,
            hold_out=hold_out,
            random_state=seed,
            jobs=jobs,
            cache=options.cache_folder(cache, no_cache, output),
            progress=progress,
            note=progress.note,
        )
        model.check_settings(triplets=triplets is not None)
        rows = model.read(source, labels, triplets, id_column=id_column, label_column=label_column)
        progress.note(taken(rows))
        model.fit(rows)
    model.save(output)
    about = model.about()
    Similarity.load(output)  # what cannot be read back is told of now
    columns = _words({"--id-column": id_column, "--label-column": label_column})
    called = Path(sys.argv[0])  # as `.venv/bin/lookalike`, to be pasted
    program = "lookalike" if called.is_absolute() or called.name != "lookalike" else str(called)
    steps = [["rank", str(output), "QUERY", "--gallery", str(source), *columns]]
    if about["n_held_out"]:
        tables = _words({"--labels": labels, "--triplets": triplets})
        steps.insert(0, ["evaluate", str(output), str(source), *tables, *columns])
    lines = [
        *_learned(output, about),
        f"seconds: {_listed(about['seconds'])}",
        *options.left_out_lines(model.left_out_, rows.noun),
        *(f"next: {command_line([program, *step])}" for step in steps),
    ]
    result = {"model": str(output), "source": facts(rows), **about, "left_out": model.left_out_}
    options.tell_result(result, lines, as_json, quiet)


def _words(given: Mapping[str, object]) -> list[str]:
    """Return the words of options that were given."""
    return [str(word) for pair in given.items() if pair[1] for word in pair]


def facts(rows: Rows) -> dict[str, Any]:
    """Return what was taken for what, as JSON holds it."""
    labels = rows.labels[rows.labels != ""].tolist()
    classes = dict(sorted(Counter(labels).items()))
    return {
        "path": rows.source,
        "columns": rows.origin,
        "n_rows": len(rows),
        "dimensions": None if rows.X is None else int(rows.X.shape[1]),
        "classes": classes if len(classes) <= _FEW else len(classes),
        "n_unlabelled": len(rows) - len(labels),
    }


def taken(rows: Rows) -> str:
    """Say in one line what was taken for what."""
    found, origin = facts(rows), "" if rows.X is None else f"{rows.origin or 'row numbers from 0 are the ids'}; "
    parts = {"dimensions": found["dimensions"]}
    if rows.triplets is not None:
        parts["triplets"] = len(rows.triplets) + sum(rows.triplets_left_out.values())
    else:
        parts |= {"classes": found["classes"] or "none", "without a label": found["n_unlabelled"] or None}
    return f"{rows.source}: {options.counted(len(rows), rows.noun)}; {origin}{_listed(parts)}"


def _listed(value: object) -> str:
    """Return a value as people read it: what stands in a mapping by name, and a mapping in it in brackets."""
    if not isinstance(value, Mapping):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    parts = []
    for name, part in value.items():
        if part not in (None, {}) and part == part:  # nor NaN
            clear = name if not _UNCLEAR.search(name) else repr(name)
            parts.append(f"{clear} ({_listed(part)})" if isinstance(part, Mapping) else f"{clear} {_listed(part)}")
    return ", ".join(parts) or "none"


def _learned(named: object, about: About) -> list[str]:
    """Say what a model has learned from what, and what has become of all triplets that it was given."""
    learner, described = about["learner"], about["representation"]
    found = {
        "representation": described["name"],
        "dimensions": described["dimensions"],
        "components": described["learned_components"],
        "scaling": described["settings"].get("scaling"),
        "classes": len(about["classes"]) or None,
        "held out": about["n_held_out"] or None,
        "for": f"{about['for']} classes" if about.get("for") else None,
        "share of what was learned": None if about.get("share", 1) == 1 else about["share"],
        "steps": learner.get("n_steps"),
    }
    source = options.counted(about["n_images"], "vector" if described["name"] == "vectors" else "image")
    lines = [f"{named}: {learner['name']} learned from {source}; {_listed(found)}"]
    if about["n_triplets"]:
        counts = ("n_triplets", "n_triplets_held_out", "n_answers_held_out")
        parts = dict(zip(("learned from", "held out", "answers held out"), map(about.get, counts), strict=True))
        lines.append(f"triplets: {_listed(parts | {'left out': about['why_triplets_left_out']})}")
    return lines


@options.command("rank")
def rank(
    model: Model,
    queries: Annotated[list[str], Argument(metavar="QUERY...", help="image files; ids of vectors, or a file of them")],
    gallery: Annotated[Path, Option(metavar="SOURCE", help="images at any depth, vectors, or what `index` wrote")],
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    k: Annotated[int, Option("-k", metavar="N", min=1, help="neighbours")] = 10,
    html: Annotated[Path | None, Option(metavar="PAGE.html", help="write a page")] = None,
    compare: Annotated[bool, Option("--compare", help="show the neighbours before learning too")] = False,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print what is most similar to each query.

    It ranks the images of a folder, or the vectors of a file, best first. Copies of the query are left out: the same
    image file, or the same numbers.
    """
    from lookalike.app.gallery import FILES, QUERY_MAP, rank_saved
    from lookalike.core.model_file import SUFFIX

    if html is not None:
        options.check_output(html, options.PAGES, model, *map(Path, queries))
    of_vectors, root = False, gallery
    if gallery.suffix == SUFFIX and not gallery.is_dir():
        raise LookalikeError(f"{gallery} is one file, and an index is a folder now: run lookalike index again")
    if (gallery / FILES).is_file():
        if compare:
            raise LookalikeError(f"{gallery} has no vectors before learning: leave --compare, or name the images")
        root, results, bad, left_out = rank_saved(model, gallery, queries, k, jobs=jobs or os.cpu_count() or 1)
        if bad:
            n_queries = len(bad) + len(results)
            warnings.warn(f"{len(bad):,} of {n_queries:,} queries left out{first_reason(bad)}", stacklevel=2)
    elif (gallery / QUERY_MAP).is_file():
        raise LookalikeError(
            f"{gallery} was exported from vectors, with --labels, or by lookalike 1.1: rank takes the images or "
            "vectors themselves, or what lookalike index writes of a folder of images"
        )
    else:
        with opened(model, jobs, cache, no_cache, quiet) as (similarity, _):
            of_vectors = similarity.representation_ is None
            if html is not None and of_vectors:
                raise LookalikeError(f"a page shows images, and {model} ranks vectors: leave --html out")
            how: Any = {"id_column": id_column, "label_column": label_column}
            which = {"neighbours": True, "before_learning": False} if compare else {"neighbours": True}
            results = similarity.neighbours(queries, gallery, k, which, **how)
        reasons = list(similarity.left_out_.itertuples(index=False, name=None))
        n_bad = len(set(queries)) - len(results) if reasons else 0
        bad, left_out = reasons[:n_bad], reasons[n_bad:]
    found = min(len(result["neighbours"]) for result in results)
    if found < k:
        has = options.counted(found, "vector" if of_vectors else "image")
        warnings.warn(f"the gallery has only {has} besides a query, fewer than {k}", stacklevel=2)
    if left_out and not quiet:
        what = options.counted(len(left_out), "id" if of_vectors else "file")
        warnings.warn(f"{what} of the gallery left out{first_reason(left_out)}", stacklevel=2)
    if html is not None:
        from lookalike.app.page import write_page
        from lookalike.app.similarity import ImageSimilarity

        write_page(results, root, html, title=f"Neighbours by {model.name}", model=ImageSimilarity.load(model))
    about = {"model": str(model), "gallery": str(gallery), "k": k, "page": None if html is None else str(html)}
    pairs = [{"path": path, "reason": reason} for path, reason in [*bad, *left_out]]
    summary = [f"{html}: {options.counted(len(results), 'query')}, {k} neighbours each"]
    lines = _ranking_lines(results) if html is None else [] if quiet else summary
    options.tell_result({**about, "results": results, "left_out": pairs}, lines, as_json)


def _ranking_lines(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the rankings as people read them."""
    lines: list[str] = []
    for result in results:
        rows = result["neighbours"]
        lines.append(short_name(result["query"]))
        paths = [escaped(_name(row)) for row in rows]
        width = max(map(len, paths))
        before = [""] * len(paths)
        if "before_learning" in result:
            before = [f"    {_name(row)}" for row in result["before_learning"]]
            lines.append(f"{'':17}{'after learning':<{width}}    before learning")
        for path, other, row in zip(paths, before, rows, strict=True):
            lines.append(f"{row['rank']:5}  {row['score']:>8.4f}  {path:<{width}}{other}".rstrip())
    return lines


def _name(row: Mapping[str, Any]) -> str:
    """Return the path of a neighbour, or its id and label."""
    return short_name(row["path"]) if "path" in row else f"{short_name(row['id'])}  {row['label']}".strip()


@options.command("evaluate")
def evaluate(
    model: Model,
    source: options.Source,
    labels: options.Labels = None,
    triplets: options.Triplets = None,
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    k: Annotated[str, Option("-k", metavar="N,N", help="numbers of first images to measure precision on")] = "1,5,10",
    everything: Annotated[bool, Option("--all", help="also evaluate what the model learned from")] = False,
    no_new_classes: Annotated[bool, Option("--no-new-classes", help="do not fit again to measure new classes")] = False,
    compare: Annotated[bool, Option("--compare", help="measure LDA, logistic regression and others too")] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print how well a model ranks.

    It ranks labelled images or vectors (mean average precision, precision at k), or orders triplets. Euclidean distance
    and cosine in the same representation, without learning, are shown beside it. What the model learned from is left
    out if there is anything else: `lookalike fit --hold-out` keeps some. With labels, the learner is then fitted again
    without a quarter of the classes, to measure how it ranks new classes.
    """
    places = _places(k)

    import pandas as pd

    from lookalike.app.choice import helped

    with opened(model, jobs, cache, no_cache, quiet) as (similarity, progress):
        similarity.random_state = seed
        rows = similarity.read(source, labels, triplets, id_column=id_column, label_column=label_column)
        progress.note(taken(rows))
        table = similarity.evaluate(rows, ks=places, everything=everything)
        new, why_not = None, "--no-new-classes"
        if not no_new_classes:
            try:
                new = similarity.evaluate_new_classes(rows)
            except LookalikeError as error:
                why_not = str(error)
        others = None
        if compare:
            try:
                others = similarity.compare(rows)
            except LookalikeError as error:  # what was measured is told all the same
                warnings.warn(f"nothing was compared: {error}", stacklevel=2)
    counts, noun = table.attrs, rows.noun
    if counts["learned_from"]:
        known = f"{counts['learned_from']:,} of the {counts[f'{noun}s']:,} {noun}s that are evaluated"
        worse = f"new {noun}s would be ranked worse; use fit --hold-out 0.25 to measure that"
        warnings.warn(f"the model has learned from {known}: {worse}", stacklevel=2)
    tables: dict[str, object] = {"rows": table, "left_out": similarity.left_out_}
    tables["new_classes"] = {"skipped": why_not} if new is None else {"rows": new} | new.attrs
    if others is not None:
        tables["compared"] = others
    where = f"{noun}s that " + ("it has learned from" if counts["learned_from"] else "it has not learned from")
    on_new = f"new classes were not measured ({why_not})" if new is None else f"on new classes it is {helped(new)}"
    first = f"what was learned is {helped(table)} on {'triplets' if 'triplets' in counts else where}; {on_new}"
    plain = {str(name).replace("_", " "): counts[name] for name in counts if name not in ("gains", "answers_held_out")}
    lines = [first, "", f"{source}: {_listed(plain | {'queries': int(table['queries'].iloc[0])})}"]
    if not quiet:
        lines += options.left_out_lines(similarity.left_out_, noun)
    lines += measure_lines(table)
    if answers := counts.get("answers_held_out"):
        n_answers = options.counted(answers["triplets"], "answer")
        title = f"on {n_answers} held out of questions about {noun}s that it has learned from:"
        lines += ["", title, *measure_lines(pd.DataFrame(answers["rows"]))]
    if new is not None:
        evaluated = options.counted(new.attrs["evaluated"], noun)
        title = f"on {len(new.attrs['classes'])} classes left out of learning ({evaluated}):"
        lines += ["", title, *measure_lines(new)]
    if others is not None:
        lines += ["", "mAP of this model and of alternatives, on seen and on new classes:", ""]
        listed = others.set_index("method").rename_axis(None)
        lines += listed.to_string(float_format=lambda value: f"{value:.3f}", na_rep="").splitlines()
    about = {"model": str(model), "folder": str(source), "source": facts(rows)}
    options.tell_result(about | counts | tables, lines, as_json)


def measure_lines(table: pd.DataFrame) -> list[str]:
    """Return the numbers as people read them."""
    methods = list(dict.fromkeys(table["method"]))
    lines = ["", f"{'':20}" + "".join(f"{f'{method}, 95% interval':>30}" for method in methods)]
    cells = [_value_and_interval(row, ".3f") for row in table.to_dict("records")]
    for measure, rows in table.assign(cell=cells).groupby("measure", sort=False):
        by_method = rows.set_index("method")["cell"]
        lines.append(f"{_title(str(measure)):<20}" + "".join(f"{by_method[method]:>30}" for method in methods))
    for gain in table.attrs.get("gains", [])[:1]:
        over = f"{methods[0]} minus {gain['over']}, {_title(gain['measure'])}"
        lines += ["", f"{over}: {_value_and_interval(gain, '+.3f')}"]
    return lines


def _title(measure: str) -> str:
    return "mAP" if measure == "map" else measure.replace("@", " at ")


def _value_and_interval(measure: Mapping[Hashable, float], form: str) -> str:
    """Return a number with its interval, which one query has not."""
    if math.isnan(measure["low"]):
        return f"{measure['value']:{form}} (one query)"
    return f"{measure['value']:{form}} [{measure['low']:{form}}, {measure['high']:{form}}]"


@options.command("features")
def features(
    source: options.Source,
    output: Annotated[Path, Option(metavar="FILE", help="vectors to write (.npz or .npy), or a folder of counts")],
    paths: Annotated[Path | None, Option(metavar="TABLE", help=".csv or .parquet (default: .csv beside them)")] = None,
    representation: options.Representation = None,
    learned: Annotated[str | None, Option(hidden=True)] = None,
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    words: options.Words = None,
    pool: Annotated[
        float,
        Option(metavar="SHARE", callback=_below_one, help="share of images for the codebook of a folder of counts"),
    ] = 0.25,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the vectors of a folder's images.

    Vectors are rows of unit length, or counts of visterms. A table beside them lists the image of each row. The vectors
    are those before learning, also with a model as representation: `lookalike export` writes those after learning.
    """
    from lookalike.app.similarity import Similarity
    from lookalike.app.vectors import is_vectors
    from lookalike.core.files import together, write_array, write_csr, write_table
    from lookalike.data import visterm_folder
    from lookalike.features.describers import NAMES
    from lookalike.learners.base import is_sparse as is_csr

    of_counts, given, model = output.suffix == "" and paths is None, is_vectors(source), _model_in(representation)
    header = ["id", "label"] if given else ["path", "label", "sha256", "width", "height"]
    file, table = output, paths or output.with_suffix(".csv")
    if of_counts:
        file, table, header = output / visterm_folder.COUNTS, output / visterm_folder.MANIFEST, visterm_folder.COLUMNS
        if output.is_dir() and not table.exists() and any(output.iterdir()):
            raise LookalikeError(f"{output} exists and is no folder of visterm counts: name another one")
    is_sparse = file.suffix.lower() == ".npz"
    if learned is not None:
        raise LookalikeError("features has no --learned any more: use lookalike export --to npy, and its query_map.npz")
    if is_sparse and representation in NAMES:
        raise _dense(representation, output)
    options.check_output(file, (".npz", ".npy"), model, source if given else None)
    options.check_output(table, options.TABLES, model, file, source if given else None)
    if of_counts:
        options.check_output(output / visterm_folder.PALETTE, (".npy",), model)
    is_ours = not table.is_file() or table.open("rb").readline(1000).strip() == ",".join(header).encode()
    if paths is None and not is_ours:
        raise LookalikeError(f"{table} exists and was not written by lookalike features: name another by --paths")
    with options.StageReport(quiet) as progress:
        how: Any = {"jobs": jobs, "cache": options.cache_folder(cache, no_cache, output), "progress": progress}
        similarity = Similarity(representation, words=words, random_state=seed, **how)
        columns: Any = {"id_column": id_column, "label_column": label_column}
        written: Any = similarity.counts(source, pool) if of_counts else similarity.vectors(source, **columns)
    vectors, images = written
    described = similarity.representation_
    name = "vectors" if described is None else described.describer.system
    if is_sparse and not is_csr(vectors):
        raise _dense(name, output)
    if of_counts and described is not None:
        sizes = [(source / path).stat().st_size for path in images["path"]]
        manifest, palette = images.assign(bytes=sizes, status="ok", reason=""), described.describer.arrays()["palette"]
        visterm_folder.write_visterm_folder(output, manifest, images["in_pool"].to_numpy(), vectors, palette)
    else:
        with together():
            if is_sparse:
                write_csr(vectors, output)
            else:
                write_array(vectors.toarray() if is_csr(vectors) else vectors, output)
            write_table(images[header], table)
    noun, when = "vector" if given else "image", f"of {name}, before learning"
    if model is not None and not of_counts:
        when += " (lookalike export writes what was learned)"
    n, d, left_out = len(images), int(vectors.shape[1]), similarity.left_out_
    lines = [f"{output}: {options.counted(n, noun)} x {d:,} dimensions {when}", f"{table}: the {noun} of each row"]
    about = {"output": str(output), "paths": str(table), "n_images": n, "dimensions": d, "representation": name}
    about |= {"left_out": left_out}
    options.tell_result(about, [*lines, *options.left_out_lines(left_out, noun)], as_json, quiet)


def _model_in(representation: str | None) -> Path | None:
    """Return the model whose codebook is taken over, if the representation names one."""
    return Path(representation) if representation and representation.endswith(".lookalike") else None


def _dense(name: str | None, output: Path) -> LookalikeError:
    """Say that vectors are not written as a sparse matrix."""
    return LookalikeError(f"vectors of {name} are dense: name a file that ends in .npy, not {output}")


@options.command("info")
def info(model: Model, as_json: options.AsJson = False) -> None:
    """Print what a model file holds.

    That is its learner, settings, representation, classes, images, times, and the versions of the libraries.
    """
    from lookalike.app.model_file import SIMILARITY, read_about
    from lookalike.core.model_file import fits_together

    about, n_bytes = read_about(model), model.stat().st_size
    with fits_together(model, SIMILARITY):
        size = f"{n_bytes / 1e6:.1f} MB, format version {about['format_version']}"
        lines = _learned(f"{model} ({size})", about)
        names = ("learner", "representation", "classes", "n_left_out", "seed", "seconds", "made_by")
        lines += [f"{name.removeprefix('n_').replace('_', ' '):<16}{_listed(about[name])}" for name in names]
    options.tell_result({"model": str(model), "bytes": n_bytes, **about}, lines, as_json)


@options.command("export")
@options.command("index")
def export(
    context: typer.Context,
    model: Model,
    gallery: Annotated[Path, Argument(metavar="GALLERY", help="images at any depth, or a file of vectors")],
    to: Annotated[
        Literal["faiss", "npy"] | None,
        Option(help="what the vectors are written as (default: faiss of export, npy of index)"),
    ] = None,
    output: Annotated[Path | None, Option(metavar="FOLDER", help="default: GALLERY-faiss or GALLERY-npy, here")] = None,
    by_name: Annotated[list[Path] | None, Option("--add", "--remove", hidden=True)] = None,
    index: Annotated[str, Option(metavar="NAME", help="of FAISS's index_factory: Flat, HNSW32, IVF100,Flat")] = "Flat",
    rank: Annotated[int | None, Option(metavar="N", min=1, help="dimensions to keep; the loss is measured")] = None,
    labels: options.Labels = None,
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a gallery's vectors for `lookalike rank` or a vector database.

    It also writes the map for the vectors of queries. The database then finds the same neighbours as `lookalike rank`,
    which takes such a folder of images as gallery, and describes only the query. `index` is `export --to npy`.
    """
    import pandas as pd

    from lookalike.app.gallery import ABOUT, GALLERIES, IDS, NAMES, QUERY_MAP, scanned
    from lookalike.app.gallery import export as write_export
    from lookalike.app.model_file import SIMILARITY, fingerprint, read_parts
    from lookalike.app.vectors import is_vectors
    from lookalike.core.files import refuse_folder
    from lookalike.core.model_file import fits_together

    to = to or ("npy" if context.info_name == "index" else "faiss")
    if by_name:
        raise LookalikeError("index has no --add and --remove any more: change the folder, and index it again")
    if index != "Flat" and to != "faiss":
        raise typer.BadParameter(f"is for --to faiss, not for {to}", param_hint="'--index'")
    noun = "vector" if is_vectors(gallery) else "image"
    output = output or options.default_output(gallery, f"-{to}")
    refuse_folder(output, NAMES)
    options.check_output(output / ABOUT, (".json",), model, gallery, labels)
    columns: Any = {"id_column": id_column, "label_column": label_column}
    how: Any = {"to": to, "index": index, "rank": rank}
    with fits_together(model, SIMILARITY):
        how["named"] = fingerprint(*read_parts(model))
    changes: Mapping[str, int] = {}
    with opened(model, jobs, cache, no_cache, quiet) as (similarity, progress):
        if noun == "image" and labels is None:
            rows, how["files"], changes = scanned(similarity, gallery, output)
        else:
            rows = similarity.read(gallery, labels, gallery=labels is None, **columns)
        progress.note(taken(rows))
        about = write_export(similarity, rows, output, **how)
    share = f"{about['same_neighbours']:.1%} of the first 10 neighbours of {about['queries']:,} {noun}s"
    metric = about["metric"].replace("_", " ")
    what = "".join(f", {number:,} {name}" for name, number in changes.items()).replace(",", ";", 1)
    lines = [
        f"{output}: {options.counted(about['rows'], noun)} x {about['dimensions']:,} dimensions, by {metric}{what}",
        f"{GALLERIES[to]}, {IDS}, {QUERY_MAP}, {ABOUT}; {share} are those of lookalike rank",
        *options.left_out_lines(similarity.left_out_, noun),
        *(measure_lines(pd.DataFrame(about["measures"])) if about["measures"] else []),
    ]
    result = {"export": str(output), "source": facts(rows), **about, **changes, "model": str(model)}
    options.tell_result(result | {"left_out": similarity.left_out_}, lines, as_json, quiet)
