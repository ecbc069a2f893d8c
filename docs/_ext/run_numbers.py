"""Numbers of runs on the pages: read from the work folder when the site is built, never typed in.

``{headline} DATASET`` shows a study's headline as the run wrote it. ``{job-costs} DATASET...`` shows what the jobs of a
data set took, from the records beside their logs; ``{per-image} DATASET N`` what its rules that go through images would
take for N of them. Where the run is missing, the page says which command makes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

TARGETS = {"demo": "make demo", "demo_landmarks": "make demo", "websim_demo": "make demo", "demo_triplets": "make demo"}
"""Data set to the command that makes it; all others have a target of their own name."""

PER_IMAGE = ("scan_images", "describe_blocks", "count_visterms", "scan_landmarks", "extract_keypoints", "assign_words")
"""Rules whose work is in proportion to the number of images."""


def command_of(dataset: str) -> str:
    """The command that runs a data set's study."""
    return TARGETS.get(dataset, f"snakemake {dataset} --cores 2")


class Headline(SphinxDirective):
    """The headline of one data set's study."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the text, or how to get it."""
        dataset = self.arguments[0]
        path = Path(self.config.lookalike_work_folder) / "results" / dataset / "exhibits" / "headline.txt"
        self.env.note_dependency(str(path))
        if not path.is_file():
            return [_missing(dataset)]
        return [nodes.literal_block("", path.read_text(encoding="utf-8").rstrip(), language="text")]


class JobCosts(SphinxDirective):
    """Jobs, processor time and memory of the rules of some data sets."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each rule, the most expensive first, or how to get it."""
        found: list[nodes.Node] = []
        for dataset in self.arguments[0].split():
            rows = costs(Path(self.config.lookalike_work_folder) / "logs" / dataset)
            found += [_costs_table(dataset, rows)] if rows else [_missing(dataset)]
        return found


class PerImage(SphinxDirective):
    """Time and room of the rules that go through images, carried over to another number of images."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return a paragraph that is labelled an estimate, or how to get one."""
        dataset, wanted = self.arguments[0], int(self.arguments[1])
        work = Path(self.config.lookalike_work_folder)
        manifest = work / "results" / dataset / "manifest.parquet"
        rows = [row for row in costs(work / "logs" / dataset) if row[0] in PER_IMAGE]
        if not rows or not manifest.is_file():
            return [_missing(dataset)]
        import pyarrow.parquet

        images = pyarrow.parquet.read_metadata(manifest).num_rows
        stored = sum(
            path.stat().st_size
            for kind in ("descriptors", "keypoints", "features")
            for path in (work / "results" / dataset / kind).rglob("*")
            if path.is_file()
        )
        seconds = sum(row[2] for row in rows)
        named = ", ".join(row[0] for row in rows)
        text = (
            f"{dataset}: {named} took {seconds:,.0f} s of processor time and {stored / 1e6:,.0f} MB for {images:,} "
            f"images. An estimate for {wanted:,} images of the same size, in proportion: "
            f"{seconds * wanted / images / 3600:,.1f} hours of one processor and "
            f"{stored * wanted / images / 1e9:,.1f} GB."
        )
        return [nodes.paragraph("", text)]


def read_records(folder: Path) -> list[dict[str, Any]]:
    """The records of the jobs that logged into a folder; one that was torn by a kill is left out."""
    records = []
    for path in sorted(folder.rglob("*.job.json")):
        try:
            records.append(json.loads(path.read_text(encoding="utf-8")))
        except ValueError:
            continue
    return records


def costs(folder: Path) -> list[tuple[str, int, float, float, float]]:
    """Rule, jobs, processor seconds, seconds by the clock and the most megabytes of a job, dearest rule first."""
    rules: dict[str, list[dict[str, Any]]] = {}
    for record in read_records(folder):
        rules.setdefault(record["rule"], []).append(record)
    rows = [
        (
            rule,
            len(records),
            sum(record["cpu_seconds"] for record in records),
            sum(record["seconds"] for record in records),
            max(record["peak_megabytes"] for record in records),
        )
        for rule, records in rules.items()
    ]
    return sorted(rows, key=lambda row: -row[2])


def _costs_table(dataset: str, rows: list[tuple[str, int, float, float, float]]) -> nodes.table:
    shown = [(rule, str(jobs), f"{cpu:.0f}", f"{wall:.0f}", f"{peak:.0f}") for rule, jobs, cpu, wall, peak in rows[:12]]
    rest = rows[12:]
    if rest:
        shown.append(
            (
                f"{len(rest)} other rules",
                str(sum(row[1] for row in rest)),
                f"{sum(row[2] for row in rest):.0f}",
                f"{sum(row[3] for row in rest):.0f}",
                f"{max(row[4] for row in rest):.0f}",
            )
        )
    total = (
        "all",
        str(sum(row[1] for row in rows)),
        f"{sum(row[2] for row in rows):.0f}",
        f"{sum(row[3] for row in rows):.0f}",
        f"{max(row[4] for row in rows):.0f}",
    )
    head = (f"rule ({dataset})", "jobs", "processor s", "s by the clock", "most MB of a job")
    return table(head, [*shown, total])


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> nodes.table:
    """A table of plain text."""
    head = list(head)
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *(_row(list(row)) for row in rows))
    return nodes.table("", group)


def _row(cells: list[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))


def _missing(dataset: str) -> nodes.paragraph:
    return nodes.paragraph(
        "",
        "",
        nodes.emphasis("", f"The site was built without a run of {dataset}: "),
        nodes.literal("", command_of(dataset)),
        nodes.emphasis("", " makes one, and the next build shows its numbers here."),
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the folder that they read."""
    app.add_config_value("lookalike_work_folder", "", "env")
    app.add_directive("headline", Headline)
    app.add_directive("job-costs", JobCosts)
    app.add_directive("per-image", PerImage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
