"""``lookalike evaluate``: a model beside the untrained distance, on labelled images or triplets."""

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
    left_out_lines,
    positives,
    print_json,
    records,
    tell,
)

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.own_images.similarity import ImageSimilarity

_DESCRIPTION = """\
Print how well a model orders labelled images (mean average precision, precision at k) or
triplets, beside the Euclidean distance in the same representation, for which nothing was
learned. Images that the model has learned from, known by their content, are passed over
as long as others can be evaluated: fit with --hold-out to keep some."""

_EXAMPLES = """\
examples:
  lookalike evaluate pets.lookalike photos
  lookalike evaluate pets.lookalike photos --labels labels.csv -k 1,10,50
  lookalike evaluate pets.lookalike photos --triplets judged.csv --json

Each image queries all others; those of its class are what it should find. Of a triplet,
the positive should be more like the query than the negative; only triplets whose query
the model has not learned from are evaluated. Intervals: 95%, over query images."""


def add_evaluate(commands: Commands) -> None:
    """Add ``lookalike evaluate``."""
    parser = add_command(
        commands, "evaluate", help="measure a model on labelled images", description=_DESCRIPTION, examples=_EXAMPLES
    )
    completed(parser.add_argument("model", metavar="MODEL.lookalike", type=Path, help="from `lookalike fit`"), "file")
    completed(
        parser.add_argument("folder", metavar="FOLDER", type=Path, help="class folders, or what tables start from"),
        "directory",
    )
    source = parser.add_mutually_exclusive_group()
    completed(source.add_argument("--labels", metavar="FILE.csv", type=Path, help="columns path, label"), "file")
    completed(
        source.add_argument("--triplets", metavar="FILE.csv", type=Path, help="columns query, positive, negative"),
        "file",
    )
    parser.add_argument(
        "-k", metavar="N,N", type=positives, default=[1, 5, 10], help="where precision is measured (default: 1,5,10)"
    )
    parser.add_argument("--all", action="store_true", help="evaluate images that were learned from too")
    add_common(parser, cache=".lookalike-cache beside the model")
    parser.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    """Measure and print."""
    from lookalike.own_images.similarity import ImageSimilarity

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
        print_json(
            {
                "model": str(options.model),
                "folder": str(options.folder),
                **table.attrs,
                "rows": records(table),
                "left_out": records(model.left_out_),
            }
        )
    else:
        tell(_lines(table, model, options))


def _lines(table: pd.DataFrame, model: ImageSimilarity, options: argparse.Namespace) -> list[str]:
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
    for measure, rows in table.groupby("measure", sort=False):
        of_method = rows.set_index("method")
        name = "mAP" if measure == "map" else str(measure).replace("@", " at ")
        lines.append(f"{name:<20}" + "".join(f"{_interval(of_method.loc[method]):>30}" for method in methods))
    return lines


def _interval(row: Any) -> str:
    return f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
