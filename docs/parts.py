"""Write the parts of pages that come from data, settings and code: `make pages`.

A part stands between two comments, ``<!-- part NAME ARGUMENT -->`` and ``<!-- end of NAME -->``. It is plain Markdown,
and a page reads the same in the repository as in the built site. A test compares the pages with what this writes.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import typer.main
import yaml

from lookalike.app import commands, rated  # noqa: F401 - they add their commands to the program
from lookalike.app.options import app as program
from lookalike.exhibits.claims import claims_of, decided, read_claims
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.words import NO_NUMBER
from lookalike.report import tables
from lookalike.report.costs import REHEARSED, full_run, full_seconds, read_rows, scaled, seconds_of
from lookalike.report.ledger import ledger
from lookalike.report.results import GROUPS
from lookalike.studies.rooms import all_exhibits
from lookalike.studies.settings import Settings

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
RUNS = ROOT / "workflow/resources/runs"
DATA_SETS = {
    name: data
    for file in ("config.yaml", "config/demo.yaml")
    for name, data in yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["datasets"].items()
}
STUDIES = ("category", "embeddings", "landmark", "web", "finegrained")
"""In the papers' order."""
MOST_RULES = 12
KINDS = {False: "real photographs", True: "synthetic"}
_PART = re.compile(r"(<!-- part (\S+) ?(.*?) -->\n).*?(<!-- end of \2 -->)", flags=re.DOTALL)

Run = dict[str, Any]
Schema = Mapping[str, Any]


def page_with_parts(page: str, runs: Path = RUNS) -> str:
    """Return a page with its parts as data and code have them now."""
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]](found[3], runs).strip()}\n\n{found[4]}", page)


def pages() -> list[Path]:
    """List the pages that have parts."""
    return [path for path in sorted(DOCS.rglob("*.md")) if _PART.search(path.read_text(encoding="utf-8"))]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown, whose cells are plain text."""
    lines = [[cell(text) for text in row] for row in (head, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: object) -> str:
    """Return text that Markdown shows as it is."""
    return re.sub(r"([\\*_|<$\[\]])", r"\\\1", " ".join(str(text).split())) if "`" not in str(text) else str(text)


def block(text: str, language: str = "text") -> str:
    """Return text as a block that is shown letter by letter."""
    return f"```{language}\n{text.rstrip()}\n```"


def kept_runs(folder: Path) -> list[Run]:
    """Read every kept run, those of real images first, then in the papers' order."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return sorted(runs, key=lambda run: (run["synthetic"], STUDIES.index(run["studies"][0])))


def named(names: str, folder: Path) -> list[Run]:
    """Read the kept runs of some data sets."""
    runs = {run["dataset"]: run for run in kept_runs(folder)}
    return [runs[name] for name in names.split() if name in runs]


def headline(name: str, folder: Path) -> str:
    """Return the main numbers of a run, as the run wrote them."""
    return "\n\n".join(block(run["headline"]) for run in named(name, folder))


def all_runs(_: str, folder: Path) -> str:
    """Return a table of all kept runs, then a section for each."""
    runs = kept_runs(folder)
    rows = [(run["title"], KINDS[run["synthetic"]], run["size"], duration(_cpu_seconds(run))) for run in runs]
    return "\n\n".join([table(("data", "images", "size", "processor time"), rows), *map(_section_of_run, runs)])


def _section_of_run(run: Run) -> str:
    commits = ", ".join(commit[:10] for commit in run["commits"]) + (", changed since" if run["modified"] else "")
    peak, stored = max(rule["peak_megabytes"] for rule in run["rules"]), sum(run["stored_megabytes"].values())
    facts = {
        "Data": f"{run['size']}; {KINDS[run['synthetic']]}",
        "Command": f"`{run['command']}`",
        "Made": f"on {run['date']}, from commit {commits}",
        "Machine": f"{', '.join(run['processors'])}, {run['cores']} cores, {run['memory_gigabytes']} GB of memory",
        "Took": f"{duration(_cpu_seconds(run))} of processor time in {sum(rule['jobs'] for rule in run['rules'])} jobs",
        "Needed": f"{_gigabytes(peak / 1000)} of memory for the largest job, {_gigabytes(stored / 1000)} of files",
    }
    parts = [f"## {run['title']}", "\n".join(f"- {name}: {cell(text)}" for name, text in facts.items())]
    if run["differences"]:
        rows = ([row[name] for name in ("place", "names", "here", "paper")] for row in run["differences"])
        parts.append(table(("place", "difference", "here", "paper"), rows))
    return "\n\n".join([*parts, block(run["headline"])])


def not_run(_: str, folder: Path) -> str:
    """List the data sets of the project's settings that no kept run is of."""
    kept = {run["dataset"] for run in kept_runs(folder)}
    return "\n".join(f"- {data['title']}" for name, data in DATA_SETS.items() if name not in kept)


def costs_of_jobs(names: str, folder: Path) -> str:
    """Return jobs, processor time and memory of the rules of some runs, the most expensive first."""
    return "\n\n".join(map(_costs_of_run, named(names, folder)))


def _costs_of_run(run: Run) -> str:
    rules = run["rules"]
    dear, rest = rules[:MOST_RULES], rules[MOST_RULES:]
    groups = [(rule["rule"], [rule]) for rule in dear]
    groups += [(f"{len(rest)} other rules", rest)] if rest else []
    rows = [
        (
            name,
            *(f"{sum(rule[column] for rule in own):,.0f}" for column in ("jobs", "cpu_seconds", "seconds")),
            f"{max(rule['peak_megabytes'] for rule in own):,.0f}",
        )
        for name, own in (*groups, ("all", rules))
    ]
    return table((f"rule ({run['title']})", "jobs", "processor s", "s by the clock", "most MB of a job"), rows)


def ledger_tables(_: str, folder: Path) -> str:
    """Return a section a paper: every printed number and claim beside ours, of runs that were kept."""
    runs = kept_runs(folder)
    demo = [run["dataset"] for run in runs if run["command"] == "make demo"]
    numbers = {run["dataset"]: run.get("numbers", ()) for run in runs if not run["synthetic"]}
    claims, printed, longest = (
        read_rows(ROOT / "workflow/resources" / name) for name in ("claims.csv", "reference-values.csv", "ledger.csv")
    )
    kept = [pd.DataFrame(read_claims(path), dtype=str) for path in sorted((folder / "claims").glob("*.csv"))]
    verdicts = decided([], kept, claims_of(claims), str).to_dict("records")
    rows = ledger(numbers, verdicts, printed, longest, demo)
    head = ["place", "what", "printed", "demo", "longest", "run", "draws", "change"]
    found = ((about.title, rows.loc[rows["paper"] == paper, head]) for paper, about in PAPERS.items())
    return "\n\n".join(f"## {title}\n\n{table(head, own.itertuples(index=False))}" for title, own in found)


def processors(_: str, folder: Path) -> str:
    """Return numbers and times of the demo that were seen to differ with the instructions that libraries choose."""
    return csv_table(str(folder / "processors.csv"), folder)


def csv_table(file: str, folder: Path) -> str:
    """Return a CSV file as a table."""
    with (DOCS / file).open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(lines)
    return table(head, rows)


def file_block(file: str, folder: Path) -> str:
    """Return a file of the project as a block."""
    return block((ROOT / file).read_text(encoding="utf-8"), Path(file).suffix[1:])


def peers(_: str, folder: Path) -> str:
    """Return seconds of ours and of public packages, as `make benchmarks` measured them."""
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "peers").glob("*.json"))]
    machines = sorted({f"{run['machine']['processor']}, {run['machine']['date']}" for run in kept})
    head = ("what", "size", "compared with", "ours", "the other", "the other by ours", "lower bound")
    rows = [_beside(row) for run in kept for row in run["ratios"]]
    return f"Measured with one thread: {'; '.join(machines)}.\n\n{table(head, rows)}"


def _beside(row: Run) -> tuple[str, ...]:
    least = f"{row['limit_seconds']:.2g} s ({row['limit']})" if "limit" in row else NO_NUMBER
    seconds = (f"{row[name]:.2g} s" for name in ("ours_seconds", "peer_seconds"))
    times = f"{row['ratio']:,.0f}" if row["ratio"] >= 10 else f"{row['ratio']:.1f}"
    return row["what"], row["size"], row["peer"], *seconds, times, least


def full_costs(_: str, folder: Path) -> str:
    """Return what studies of the papers' size take: on Caltech-256 as rehearsed, on others as kept runs tell."""
    measured, rehearsal = (
        json.loads((folder / "full-size" / name).read_text(encoding="utf-8"))
        for name in ("measured.json", "rehearsal.json")
    )
    runs = {run["dataset"]: run for run in (*kept_runs(folder), measured)}
    rehearsed = _rehearsed(read_rows(folder / "full-size/rehearsed.csv"), rehearsal["jobs"])
    parts = [scaled(part, runs) for part in read_rows(folder / "full-size/parts.csv")]
    studies = {name: own for name in DATA_SETS if (own := [part for part in parts if part["study"] == name])}
    rows = {REHEARSED: _total_rehearsed(rehearsed, rehearsal)} | {name: _total(own) for name, own in studies.items()}
    head = ("data", "on 2 cores", "on 16 cores", "memory of a job", "disk", "what dominates")
    found = [table(head, [(DATA_SETS[name]["title"], *row) for name, row in rows.items()])]
    head = ("part", "jobs", "processor time", "longest job", "memory", "disk", "ended at a limit")
    of_parts = [(name, *_part_rehearsed(jobs)) for name, jobs in rehearsed.items()]
    found += [f"**{DATA_SETS[REHEARSED]['title']}, one partition, rehearsed**", table(head, of_parts)]
    head = ("part", "processor time", "jobs", "memory", "disk", "how it was scaled")
    for name, own in studies.items():
        found += [f"**{DATA_SETS[name]['title']}**", table(head, map(_part_scaled, own))]
    return "\n\n".join(found)


def _rehearsed(parts: list[Run], jobs: Run) -> dict[str, list[Run]]:
    """Group the jobs of the rehearsal by the part of the study that they belong to; jobs of no part come last."""
    found: dict[str, list[Run]] = {part["part"]: [] for part in parts}
    for name, job in jobs.items():
        fits = (part["part"] for part in parts if re.fullmatch(part["jobs"], name))
        found.setdefault(next(fits, "others"), []).append(job)
    return found


def _part_rehearsed(jobs: list[Run]) -> tuple[str, ...]:
    if not jobs:
        return ("not rehearsed", *[NO_NUMBER] * 5)
    fits, ended = (sum(job[name] for job in jobs) for name in ("fits", "fits_at_limit"))
    return (
        f"{len(jobs)}",
        duration(_sum(jobs, "cpu_seconds")),
        duration(max(job["seconds"] for job in jobs)),
        _gigabytes(max(job["peak_megabytes"] for job in jobs) / 1000),
        _gigabytes(_sum(jobs, "megabytes") / 1000),
        f"{ended} of {fits} fits" if ended else NO_NUMBER,
    )


def _total_rehearsed(parts: dict[str, list[Run]], rehearsal: Run) -> tuple[str, ...]:
    jobs = list(rehearsal["jobs"].values())
    if not jobs:
        return ("not rehearsed", *[NO_NUMBER] * 4)
    seconds = {part: sum(job["cpu_seconds"] * job["times"] for job in own) for part, own in parts.items()}
    dearest = max(seconds, key=seconds.__getitem__)
    return (
        *(duration(full_seconds(full_run(rehearsal["jobs"]).values(), n_cores)) for n_cores in (2, 16)),
        _gigabytes(max(job["peak_megabytes"] for job in jobs) / 1000),
        _gigabytes(rehearsal["megabytes"] / 1000),
        f"{dearest} ({seconds[dearest] / sum(seconds.values()):.0%})",
    )


def _total(parts: list[Run]) -> tuple[str, ...]:
    dearest = max(parts, key=lambda part: part["cpu_seconds"])
    share = dearest["cpu_seconds"] / _sum(parts, "cpu_seconds")
    memory, disk = max(part["memory"] for part in parts), _sum(parts, "disk")
    on = (duration(seconds_of(parts, cores)) for cores in (2, 16))
    return (*on, _gigabytes(memory), _gigabytes(disk), f"{dearest['part']} ({share:.0%})")


def _part_scaled(part: Run) -> tuple[str, ...]:
    numbers = duration(part["cpu_seconds"]), str(part["jobs"]), _gigabytes(part["memory"]), _gigabytes(part["disk"])
    return part["part"], *numbers, part["how"]


def _sum(jobs: Iterable[Run], what: str) -> float:
    return float(sum(job[what] for job in jobs))


def _cpu_seconds(run: Run) -> float:
    return _sum(run["rules"], "cpu_seconds")


def duration(seconds: float) -> str:
    """Return a length of time in words; a dash for none."""
    return human_time(seconds) if seconds else NO_NUMBER


def _gigabytes(number: float) -> str:
    if not number:
        return NO_NUMBER
    return f"{number:,.1f} GB" if number >= 0.1 else f"{number * 1000:,.0f} MB"


def exhibits(_: str, folder: Path) -> str:
    """Return a section for each paper and each group of our own, with a table of its exhibits."""
    by_paper: dict[str, list[Any]] = {paper: [] for paper in PAPERS}
    for exhibit in all_exhibits().values():
        by_paper.setdefault(exhibit.paper, []).append(exhibit)
    head, parts = ("exhibit", "file", "target"), []
    for paper, own in by_paper.items():
        title = PAPERS[paper].title if paper in PAPERS else GROUPS.get(paper, paper)
        rows = [
            (f"{each.label} {each.title}".strip(), f"`{each.id}`", f"`{each.target}`" if each.target else NO_NUMBER)
            for each in own
        ]
        parts.append(f"## {title}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def terms(_: str, folder: Path) -> str:
    """Return every term of the glossary, which the report shows too."""
    return "\n".join(f"- **{term}**: {sentence}" for term, sentence in tables.terms().items())


def command_line(_: str, folder: Path) -> str:
    """Return a section for every command: what it does, how it is called, its options, examples."""
    group: Any = typer.main.get_command(program)
    with group.make_context("lookalike", [], resilient_parsing=True) as parent:
        return "\n\n".join(_section_of_command(name, command, parent) for name, command in group.commands.items())


def _section_of_command(name: str, command: Any, parent: Any) -> str:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = block(f"lookalike {name} {' '.join(command.collect_usage_pieces(context))}")
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    listed = "\n".join(f"- `{record[0]}`: {' '.join(record[1].split())}" for record in records if record is not None)
    text = "\n\n".join(" ".join(part.split()) for part in command.help.split("\n\n"))
    return "\n\n".join((f"## `lookalike {name}`", text, usage, listed, block(command.epilog.replace("\b\n", ""))))


def rules(_: str, folder: Path) -> str:
    """Return a section for every file of rules: its docstring, and what each rule is for."""
    parts = []
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        text = path.read_text(encoding="utf-8")
        found = re.findall(
            r'((?:^ *#.*\n)*)(?:^ *\n|^ *for .*\n)*^ *rule(?: (\w+))?:\n(?: *name:\n *f?"(.+)")?', text, re.M
        )
        listed = [f"- `{name or loop}`{_comment(comment)}" for comment, name, loop in found]
        if listed:
            file = f"[workflow/rules/{path.name}](../../workflow/rules/{path.name})"
            parts += [f"## {path.name}", text.split('"""')[1].strip(), "\n".join(listed), f"The file: {file}"]
    return "\n\n".join(parts)


def _comment(comment: str) -> str:
    words = " ".join(comment.replace("#", " ").split())
    return f": {words}" if words else ""


def configuration(_: str, folder: Path) -> str:
    """Return a section for every key of the first level; below it the keys, nested as in the file."""
    root = Settings.model_json_schema()
    missing = list(undescribed(root))
    assert not missing, f"these keys have no description: {', '.join(missing)}"
    sections = {
        entries["$ref"]: key
        for key, value in root["properties"].items()
        if "$ref" in (entries := entries_of(value) or {})
    }
    parts = []
    for key, value in root["properties"].items():
        entries = entries_of(value)
        lines = _lines_of_keys(root, sections, resolved(root, entries), "") if entries is not None else ()
        parts.append("\n\n".join((f"## `{key}`", described(value), *filter(None, ["\n".join(lines)]))))
    return "\n\n".join(parts)


def _lines_of_keys(root: Schema, sections: Mapping[str, str], schema: Schema, indent: str) -> Iterator[str]:
    """Yield a line for each key of an object, and for the keys in it."""
    for key, value in schema["properties"].items():
        own = resolved(root, value)
        yield f"{indent}- `{key}`: {described(own, required=key in schema.get('required', ()))}"
        inside: Schema | None = own
        while inside is not None:
            if inside.get("$ref") in sections:
                section = sections[inside["$ref"]]
                yield f"{indent}  Its keys are those of [`{section}`](#{section.replace('_', '-')})."
                break
            inside = resolved(root, inside)
            if "properties" in inside:
                yield from _lines_of_keys(root, sections, inside, f"{indent}  ")
                break
            inside = entries_of(inside)


def entries_of(schema: Schema) -> Schema | None:
    """Return the schema of the entries of a map or a list; nothing if they may be anything."""
    entries = [schema.get("items"), schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    return next((inside for inside in entries if isinstance(inside, dict) and inside), None)


def resolved(root: Schema, schema: Schema) -> dict[str, Any]:
    """Return a schema with what it refers to, its own words coming first."""
    if kinds := schema.get("oneOf"):
        return joined([resolved(root, kind) for kind in kinds]) | {"description": schema.get("description", "")}
    either = schema.get("anyOf", [])
    if sections := [kind for kind in either if "$ref" in kind]:  # a section or null
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | sections[0]
    if "$ref" not in schema:
        return dict(schema)
    target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return dict(target) | {key: value for key, value in schema.items() if key != "$ref"}


def joined(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a schema with the keys of all kinds of a section, each of which says which it is."""
    keys = {key: value for kind in kinds for key, value in kind["properties"].items() if key != "kind"}
    own = [kind["properties"]["kind"] for kind in kinds]
    names = [name for kind in own for name in kind.get("enum", [kind.get("const")])]
    words = " ".join(kind["description"] for kind in own)
    return {"properties": {"kind": {"enum": names, "description": words}, **keys}, "required": ["kind"]}


def undescribed(root: Schema) -> Iterator[str]:
    """Yield keys without a description, as paths."""
    parts = [("", root), *root["$defs"].items()]
    while parts:
        path, schema = parts.pop()
        for key, value in schema.get("properties", {}).items():
            name = f"{path}.{key}".lstrip(".")
            if not resolved(root, value).get("description"):
                yield name
            parts.append((name, value))
        inside = entries_of(schema)
        if inside is not None:
            parts.append((f"{path}[]", inside))


def described(schema: Schema, required: bool = False) -> str:
    """Return type, allowed values and default of a key in italics, then its description."""
    facts = "; ".join(filter(None, (_type(schema), _limits(schema), _default(schema), "required" if required else "")))
    return " ".join(filter(None, (f"*{facts}*." if facts else "", *schema["description"].split())))


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(f'`{value}`' for value in schema['enum'])}"
    kinds = [kind["type"] for kind in schema.get("anyOf", [schema]) if "type" in kind]
    if kinds == ["array"]:
        inside = schema.get("items", {}).get("type")
        return f"list of {inside}s" if isinstance(inside, str) else "list"
    names = {"object": "map", "array": "list"}
    return " or ".join(names.get(kind, kind) for kind in kinds)


def _limits(schema: Schema) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
        "minItems": "entries: at least",
        "maxItems": "entries: at most",
    }
    return ", ".join(f"{word} {schema[key]}" for key, word in words.items() if key in schema)


def _default(schema: Schema) -> str:
    value = schema.get("default")
    if value is None or isinstance(value, dict):
        return ""
    return f"default `{value if isinstance(value, str) else json.dumps(value)}`"


PARTS: Mapping[str, Callable[[str, Path], str]] = {
    "command-line": command_line,
    "configuration": configuration,
    "costs-of-jobs": costs_of_jobs,
    "csv": csv_table,
    "exhibits": exhibits,
    "file": file_block,
    "full-costs": full_costs,
    "headline": headline,
    "ledger": ledger_tables,
    "not-run": not_run,
    "peers": peers,
    "processors": processors,
    "rules": rules,
    "runs": all_runs,
    "terms": terms,
}


def main() -> None:
    """Write every page anew, and name those that changed."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (written := page_with_parts(text)) != text:
            path.write_text(written, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
