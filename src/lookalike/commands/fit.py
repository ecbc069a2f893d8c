"""``lookalike fit``: a folder of one's own images to a model file."""

from __future__ import annotations

import argparse
import shlex
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
    make_folder,
    positive,
    print_json,
    records,
    refuse_same,
    setting,
    share,
    tell,
)
from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    from lookalike.own_images.similarity import ImageSimilarity

_DESCRIPTION = """\
Learn from a folder of your own images which of them are alike, and write a model file.
FOLDER holds one folder of images per class; or name a table of labels, or of triplets,
with paths relative to FOLDER. Images that cannot be used are left out and named."""

_EXAMPLES = """\
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


def add_fit(commands: Commands) -> None:
    """Add ``lookalike fit``."""
    parser = add_command(
        commands, "fit", help="learn from your own images", description=_DESCRIPTION, examples=_EXAMPLES
    )
    completed(parser.add_argument("folder", metavar="FOLDER", type=Path, help="the images"), "directory")
    output = parser.add_argument(
        "--output", metavar="FILE.lookalike", type=Path, help="the model to write (default: FOLDER's name, here)"
    )
    completed(output, "file")
    source = parser.add_mutually_exclusive_group()
    completed(source.add_argument("--labels", metavar="FILE.csv", type=Path, help="columns path, label"), "file")
    completed(
        source.add_argument("--triplets", metavar="FILE.csv", type=Path, help="columns query, positive, negative"),
        "file",
    )
    parser.add_argument(
        "--hold-out",
        metavar="SHARE",
        type=share,
        default=0.0,
        help="share of every class (of triplets: of their queries) that is kept for `evaluate`, such as 0.25",
    )
    add_representation(parser)
    parser.add_argument("--learner", metavar="NAME", default="OASIS", help="default: %(default)s")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        type=setting,
        action="append",
        default=[],
        help="a setting of the learner; may be repeated. Without n_steps or early_stopping, learners that take steps "
        "stop by themselves, judged by images that they set aside",
    )
    add_common(parser, cache=".lookalike-cache beside the model")
    parser.set_defaults(run=_fit)


def add_representation(parser: argparse.ArgumentParser) -> None:
    """Add --representation and --words."""
    completed(
        parser.add_argument(
            "--representation", metavar="NAME", default="visterms", help="how images are described (default: visterms)"
        ),
        "file",
    )
    parser.add_argument(
        "--words",
        metavar="N",
        type=positive,
        help="words of the visterms' codebook (default: 100 to 1,000, suited to the number of images)",
    )


def _fit(options: argparse.Namespace) -> None:
    """Learn, write, and say what was done."""
    from lookalike.own_images.model_file import checked_name
    from lookalike.own_images.similarity import ImageSimilarity

    output = checked_name(options.output or Path(f"{options.folder.resolve().name}.lookalike"))
    refuse_same(output, options.labels, options.triplets)
    make_folder(output)
    settings = dict(options.set)
    if len(settings) < len(options.set):
        raise LookalikeError("a setting is given twice: name each once after --set")
    with Told(options.quiet) as told:
        model = ImageSimilarity(
            str(options.representation),
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
    about = model.about()
    lines = [f"{output}: {told_about(about)}"]
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


def told_about(about: dict[str, Any]) -> str:
    """Say in one line what a model has learned from what."""
    learner, representation = about["learner"], about["representation"]
    source = f"{counted(about['n_images'], 'image')}"
    if about["classes"]:
        source += f" of {counted(len(about['classes']), 'class')}"
    if about["n_triplets"]:
        source = f"{counted(about['n_triplets'], 'triplet')} of {source}"
    held_out = f", {about['n_held_out']:,} held out" if about["n_held_out"] else ""
    steps = f" in {learner['n_steps']:,} steps" if "n_steps" in learner else ""
    return f"{learner['name']} learned from {source}{steps}{held_out}; {told_representation(representation)}"


def told_representation(representation: dict[str, Any]) -> str:
    """Say in a few words how images are described."""
    if representation["name"] == "visterms":
        return f"visterms of {representation['dimensions']:,} words"
    reduced = representation["learned_components"]
    told = f"{representation['name']} of {representation['dimensions']:,} dimensions"
    return told + (f", {reduced} principal components of them learned with" if reduced else "")
