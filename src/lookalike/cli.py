"""The command ``lookalike``: what the package does for a user's own images, from a terminal.

A subcommand is a function that adds its parser and one that runs it; whatever is heavy is imported by the latter, so
that ``--help`` answers at once. A mistake in the input ends in one sentence and exit status 1, one in the command line
in 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from lookalike import __version__, triplet_command
from lookalike.errors import LookalikeError

OK, FAILED = 0, 1

_RATE = """\
Write a page on which people rate how well images were retrieved: each query image is
shown with its ten first neighbours and ten unrelated images, mixed. The page is one file
that works without a network; a rater opens it in a browser, answers, and exports a CSV
file, which `lookalike ratings` reads."""

_RATE_EXAMPLES = """\
examples:
  lookalike rate results/demo/ratings/plan.csv --images data/images/demo --output page.html
  lookalike rate plan.csv --neighbours neighbours.csv --images photos --output page.html

With --neighbours, PLAN.csv is drawn first. FILE.csv has the columns query_path, path and
rank (1 is the nearest), with paths relative to the folder of images. Unrelated images are
drawn from all that the file names, except those that it lists for the query: list more
than ten neighbours where more are related."""

_RATINGS = """\
Read the CSV files that raters exported from the page and print the numbers of the human
evaluation: precision of the neighbours, its deviations, and how well raters agree."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default that of the process.

    Returns
    -------
    int
        0, or 1 after a mistake in the input, told in one sentence on standard error.

    Raises
    ------
    SystemExit
        With status 2 after a mistake in the command line, as argparse does.
    """
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _tell_warning
            options.run(options)
        sys.stdout.flush()
    except LookalikeError as error:
        print(f"lookalike: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # whoever read the output wants no more of it (`| head`), nor a complaint when the interpreter flushes it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return OK


def _parser() -> argparse.ArgumentParser:
    """Parser of all subcommands."""
    parser = argparse.ArgumentParser(prog="lookalike", description="Learn, use and judge image similarity.")
    parser.add_argument("--version", action="version", version=f"lookalike {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (_add_rate, _add_ratings, triplet_command.add_parser):
        add(commands)
    return parser


def _add_rate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``lookalike rate``: a plan to a page."""
    parser = commands.add_parser(
        "rate",
        help="write a page on which people rate retrieved images",
        description=_RATE,
        epilog=_RATE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    drawing.add_argument("--queries", type=_positive, default=25, help="query images (default: %(default)s)")
    drawing.add_argument(
        "--retrieved", type=_positive, default=10, help="neighbours shown of each (default: %(default)s)"
    )
    drawing.add_argument("--random", type=_natural, default=10, help="unrelated images (default: %(default)s)")
    drawing.add_argument("--seed", type=_natural, default=0, help="root of every random draw (default: %(default)s)")
    parser.set_defaults(run=_rate)


def _rate(options: argparse.Namespace) -> None:
    """Write the page, and before it the plan where neighbours are given."""
    from lookalike.ratings.page import write_page
    from lookalike.ratings.plan import plan_from_neighbours, read_plan, write_plan

    _refuse_same(options.output, options.plan, options.neighbours)
    _refuse_same(options.plan, options.neighbours)
    if options.neighbours is None:
        plan = read_plan(options.plan)
    else:
        plan = plan_from_neighbours(
            _read_neighbours(options.neighbours),
            seed=options.seed,
            n_queries=options.queries,
            n_retrieved=options.retrieved,
            n_random=options.random,
        )
        # answers belong to one plan: another one of the same name would make them worthless
        if options.plan.exists() and not read_plan(options.plan).equals(plan):
            raise LookalikeError(f"{options.plan} exists and holds another plan: remove it first or name a new file")
    _make_folder(options.output)
    write_page(plan, options.images, options.output, title=options.title)
    if options.neighbours is not None:
        _make_folder(options.plan)
        write_plan(plan, options.plan)
    print(f"{options.output}: {plan['query'].nunique()} queries, {len(plan)} candidates")


def _read_neighbours(path: Path) -> Any:
    """Table of a user's neighbours."""
    import pandas as pd

    from lookalike.ratings.plan import reason_of

    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        raise LookalikeError(f"there is no file of neighbours {path}: check the name") from None
    except (OSError, ValueError) as error:  # pandas' parser errors are ValueErrors
        raise LookalikeError(f"{path} cannot be read as CSV: {reason_of(error)}; mend it or export it again") from error


def _refuse_same(output: Path, *inputs: Path | None) -> None:
    """Refuse to write over what is read."""
    for given in inputs:
        if given is not None and output.resolve() == given.resolve():
            raise LookalikeError(f"{output} would be written over {given}: name another file to write")


def _make_folder(path: Path) -> None:
    """Make the folder of a file that is to be written."""
    from lookalike.ratings.plan import reason_of

    if path.is_dir():
        raise LookalikeError(f"{path} is a folder: name a file in it to write")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = reason_of(error)
        raise LookalikeError(f"the folder {path.parent} cannot be made: {reason}; name another one") from error


def _add_ratings(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``lookalike ratings``: raters' files to numbers."""
    parser = commands.add_parser("ratings", help="print what raters said", description=_RATINGS)
    parser.add_argument("plan", metavar="PLAN.csv", type=Path, help="the plan of the page that they rated")
    parser.add_argument("files", metavar="RATINGS.csv", type=Path, nargs="+", help="files that raters exported")
    parser.add_argument("--output", metavar="TABLE", type=Path, help="write all ratings too (.csv or .parquet)")
    parser.set_defaults(run=_ratings)


def _ratings(options: argparse.Namespace) -> None:
    """Print the summary, and write the table where a file is named."""
    from lookalike.files import write_table
    from lookalike.ratings.collect import read_ratings
    from lookalike.ratings.plan import read_plan
    from lookalike.ratings.statistics import summary

    if options.output is not None:
        _refuse_same(options.output, options.plan, *options.files)
        _make_folder(options.output)
    ratings = read_ratings(options.files, read_plan(options.plan))
    if options.output is not None:
        write_table(ratings, options.output)
    for quantity, value in summary(ratings).itertuples(index=False):
        if quantity != "simulated":
            print(f"{quantity.replace('_', ' '):34}{value:8.3g}")


def _tell_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as a sentence, without the place in the code."""
    print(f"lookalike: {message}", file=sys.stderr)


def _positive(text: str) -> int:
    """A whole number of at least 1."""
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _natural(text: str) -> int:
    """A whole number of at least 0."""
    number = _whole(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def _whole(text: str) -> int:
    """A whole number, or what argparse says of anything else."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None
