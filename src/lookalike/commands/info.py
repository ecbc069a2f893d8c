"""``lookalike info``: what a model file holds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lookalike.commands.fit import told_about
from lookalike.commands.options import Commands, add_command, add_output, completed, print_json, tell

_DESCRIPTION = """\
Print what a model file holds: learner, settings, representation, classes, images, the
time that its making took, and the versions that it was made with."""

_EXAMPLES = """\
examples:
  lookalike info pets.lookalike
  lookalike info pets.lookalike --json"""


def add_info(commands: Commands) -> None:
    """Add ``lookalike info``."""
    parser = add_command(
        commands, "info", help="say what a model file holds", description=_DESCRIPTION, examples=_EXAMPLES
    )
    completed(parser.add_argument("model", metavar="MODEL.lookalike", type=Path, help="from `lookalike fit`"), "file")
    add_output(parser, quiet=False)
    parser.set_defaults(run=_info)


def _info(options: argparse.Namespace) -> None:
    from lookalike.own_images.saved import read_about

    about = read_about(options.model)
    if options.json:
        print_json({"model": str(options.model), "bytes": options.model.stat().st_size, **about})
    else:
        tell(_lines(about, options.model))


def _lines(about: dict[str, Any], path: Path) -> list[str]:
    learner, representation = about["learner"], about["representation"]
    rows = {
        "model": f"{path}, {path.stat().st_size / 1e6:.1f} MB, format version {about['format_version']}",
        "learned": told_about(about),
        "learner": f"{learner['name']} ({_settings(learner['parameters'])})",
        "representation": f"{representation['name']}, {representation['dimensions']:,} dimensions"
        f" ({_settings(representation['settings'])})",
        "classes": ", ".join(f"{name} {n:,}" for name, n in about["classes"].items()) or "none: learned from triplets",
        "left out": f"{about['n_left_out']:,} files",
        "seed": str(about["seed"]),
        "seconds": ", ".join(f"{name} {seconds:.1f}" for name, seconds in about["seconds"].items()),
        "made": about["made_by"].get("time", "unknown"),
        "versions": ", ".join(f"{name} {number}" for name, number in about["made_by"].items() if name != "time"),
    }
    return [f"{name:<16}{value}" for name, value in rows.items()]


def _settings(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no settings"
