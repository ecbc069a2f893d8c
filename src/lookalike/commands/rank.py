"""``lookalike rank``: the images of a folder that are most like query images, printed or as a page."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.commands.options import (
    Commands,
    Told,
    add_command,
    add_common,
    cache_folder,
    completed,
    counted,
    escaped,
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

_DESCRIPTION = """\
Print the images of a folder that are most like each query image, best first, by a model
that `lookalike fit` wrote. Copies of the query in the folder are passed over."""

_EXAMPLES = """\
examples:
  lookalike rank pets.lookalike new.jpg --gallery photos -k 5
  lookalike rank pets.lookalike *.jpg --gallery photos --html neighbours.html --compare

With --html, one page with the images inside is written, which works without a network.
With --compare, the neighbours by the untrained Euclidean distance stand beside them."""


def add_rank(commands: Commands) -> None:
    """Add ``lookalike rank``."""
    parser = add_command(
        commands, "rank", help="find the images most like a query", description=_DESCRIPTION, examples=_EXAMPLES
    )
    completed(parser.add_argument("model", metavar="MODEL.lookalike", type=Path, help="from `lookalike fit`"), "file")
    completed(parser.add_argument("queries", metavar="QUERY", type=Path, nargs="+", help="image files"), "file")
    completed(
        parser.add_argument(
            "--gallery", metavar="FOLDER", type=Path, required=True, help="images to rank, at any depth"
        ),
        "directory",
    )
    parser.add_argument("-k", metavar="N", type=positive, default=10, help="neighbours (default: %(default)s)")
    completed(parser.add_argument("--html", metavar="PAGE.html", type=Path, help="write a page"), "file")
    parser.add_argument("--compare", action="store_true", help="show the neighbours before learning too")
    add_common(parser, cache=".lookalike-cache beside the model")
    parser.set_defaults(run=_rank)


def _rank(options: argparse.Namespace) -> None:
    """Rank, and print or write."""
    from lookalike.own_images.similarity import ImageSimilarity

    if options.html is not None:
        _check_page(options)
    with Told(options.quiet) as told:
        model = ImageSimilarity.load(
            options.model, jobs=options.jobs, cache=cache_folder(options, options.model), progress=told
        )
        which = (True, False) if options.compare else (True,)
        ranked = model.rank_both(options.queries, options.gallery, options.k, which=which)
    _warn(ranked, model.left_out_, options)
    if options.html is not None:
        from lookalike.own_images.page import write_page

        write_page(ranked, options.gallery, options.html, title=f"Neighbours by {options.model.name}", model=model)
    if options.json:
        print_json(_result(ranked, options, records(model.left_out_)))
    elif options.html is None or not options.quiet:
        tell(_lines(ranked, options))


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


def _check_page(options: argparse.Namespace) -> None:
    if options.html.suffix.lower() not in (".html", ".htm"):
        raise LookalikeError(f"{options.html} is not named like a page: let it end in .html")
    refuse_same(options.html, options.model, *options.queries)
    make_folder(options.html)


def _lines(ranked: dict[bool, pd.DataFrame], options: argparse.Namespace) -> list[str]:
    """The rankings as people read them."""
    lines: list[str] = []
    if options.html is not None:
        n_queries = ranked[True]["query"].nunique()
        return [f"{options.html}: {n_queries} {'query' if n_queries == 1 else 'queries'}, {options.k} neighbours each"]
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


def _result(ranked: dict[bool, pd.DataFrame], options: argparse.Namespace, left_out: list[Any]) -> dict[str, Any]:
    """The same for programs."""
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
