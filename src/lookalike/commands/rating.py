"""``lookalike rate`` and ``ratings``: a page on which people judge retrieved images, and what they said."""

from __future__ import annotations

import argparse
from pathlib import Path

from lookalike.commands.options import (
    Commands,
    add_command,
    add_output,
    make_folder,
    natural,
    positive,
    print_json,
    refuse_same,
)
from lookalike.core.errors import LookalikeError

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

_RATINGS_EXAMPLES = """\
example:
  lookalike ratings plan.csv ada.csv ben.csv --output all.csv"""


def add_rate(commands: Commands) -> None:
    """``lookalike rate``: a plan to a page."""
    parser = add_command(
        commands,
        "rate",
        help="write a page on which people rate retrieved images",
        description=_RATE,
        examples=_RATE_EXAMPLES,
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
    parser.set_defaults(run=_rate)


def _rate(options: argparse.Namespace) -> None:
    """Write the page, and before it the plan where neighbours are given."""
    from lookalike.own_images.csv_files import read_csv
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


def add_ratings(commands: Commands) -> None:
    """``lookalike ratings``: raters' files to numbers."""
    parser = add_command(
        commands, "ratings", help="print what raters said", description=_RATINGS, examples=_RATINGS_EXAMPLES
    )
    parser.add_argument("plan", metavar="PLAN.csv", type=Path, help="the plan of the page that they rated")
    parser.add_argument("files", metavar="RATINGS.csv", type=Path, nargs="+", help="files that raters exported")
    parser.add_argument("--output", metavar="TABLE", type=Path, help="write all ratings too (.csv or .parquet)")
    add_output(parser, quiet=False)
    parser.set_defaults(run=_ratings)


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
