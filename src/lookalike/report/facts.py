"""What made an exhibit, and what a whole run took, as pairs of a term and a text, from the records of jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from lookalike.exhibits.printed import human_time
from lookalike.report import SNAKEMAKE
from lookalike.report.names import LIBRARIES
from lookalike.report.provenance import Work, project_path

if TYPE_CHECKING:
    from lookalike.core.job_record import JobRecord
    from lookalike.report.provenance import Jobs
    from lookalike.report.results import Dataset, Exhibit


Configuration = Mapping[str, Any]
"""Settings as YAML has them."""


class Fact(NamedTuple):
    """One line: a term, its text, and whether that is code."""

    term: str
    text: str
    is_code: bool = False


def facts_of(exhibit: Exhibit, jobs: Jobs | None, seed: int | None) -> list[Fact]:
    """Return all that is known of how one exhibit came about; `jobs` is None where there are no records."""
    origin = jobs.origin(exhibit.output) if jobs is not None else None
    kind = "made by code" if exhibit.synthetic else "real data"
    keys = configuration_keys([exhibit.study] if exhibit.study else [], exhibit.dataset)
    facts = [
        Fact("Command", command_of(exhibit), True),
        Fact("Rule", origin[0].rule if origin else ""),
        Fact("Drawn by", exhibit.drawn_by, True),
        Fact("Data set", f"{exhibit.dataset_title} ({exhibit.dataset}), {kind}"),
        Fact("Configuration", ", ".join(keys), True),
        Fact("Root seed", "" if seed is None else str(seed)),
        *(_of_job(*origin) if origin else [Fact("Record", "no job has left a record of making it")]),
        Fact("Made from", ", ".join(map(project_path, exhibit.sources)), True),
    ]
    return [fact for fact in facts if fact.text]


def command_of(exhibit: Exhibit) -> str:
    """Return what makes an exhibit again, from the project's folder."""
    name = exhibit.paths[0].name if exhibit.paths else f"{exhibit.name}.json"
    return f"{SNAKEMAKE} --force results/{exhibit.dataset}/exhibits/{exhibit.paper}/{name}"


def _of_job(job: JobRecord, work: Work) -> list[Fact]:
    """Return time, machine, code and libraries of the job itself, then of everything before it."""
    versions = {"python": job.python, **job.versions}
    memory = f", at most {job.peak_megabytes:,.0f} MB of memory" if job.peak_megabytes else ""
    unknown = f"; {len(work.unrecorded)} files that they read have no record" if work.unrecorded else ""
    return [
        Fact("Time of this job", _times(Work((job,)))),
        Fact("With all before it", f"{len(work.jobs):,} jobs, {_times(work)}, summed{unknown}"),
        Fact("Machine", f"{job.processor}, {job.threads} thread{'s' * (job.threads != 1)}{memory}"),
        Fact("Made on", f"{job.started:%Y-%m-%d %H:%M} UTC"),
        Fact("Commit", commits([job.commit] if job.commit else [], job.modified), bool(job.commit)),
        Fact("Versions", ", ".join(f"{LIBRARIES.get(name, name)} {version}" for name, version in versions.items())),
        Fact("Versions before", work.version_note),
    ]


def _times(work: Work) -> str:
    clock, processor = human_time(work.total("seconds")), human_time(work.total("cpu_seconds"))
    return f"{clock} by the clock, {processor} of processor time"


def configuration_keys(studies: Sequence[str], dataset: str) -> list[str]:
    """Return the keys of config.yaml that say how a data set is made and studied."""
    return [f"datasets.{dataset}", *(f"{study}.{dataset}" for study in studies)]


def whole_run(work: Work) -> list[Fact]:
    """Return what all jobs took and ran on."""
    found = work.distinct("commit")
    facts = [
        Fact("Jobs", f"{len(work.jobs):,} with a record, of {len(work.distinct('rule'))} rules"),
        Fact("Processor time", human_time(work.total("cpu_seconds"))),
        Fact("Wall time, summed", human_time(work.total("seconds"))),
        Fact("First job began", f"{work.jobs[0].started:%Y-%m-%d %H:%M} UTC" if work.jobs else ""),
        Fact("Processor", ", ".join(work.distinct("processor"))),
        Fact(f"Commit{'s' * (len(found) > 1)}", commits(found, work.modified), bool(found)),
        Fact("Differences", work.version_note),
    ]
    return [fact for fact in facts if fact.text]


def commits(found: Sequence[str], modified: bool) -> str:
    """Return commits in one line, and whether files differed from them."""
    return ", ".join(found) + ", with files changed since" * modified if found else "outside a git work tree"


def configuration_parts(configuration: Configuration | None, datasets: Sequence[Dataset]) -> list[tuple[str, str]]:
    """Return the configuration by data set, then the whole: titles and YAML; none where it was not given."""
    if not configuration:
        return []
    parts = []
    for dataset in datasets:
        sections = [name for name in ("datasets", *dataset.studies) if dataset.id in configuration.get(name, {})]
        own = {name: {dataset.id: configuration[name][dataset.id]} for name in sections}
        parts += [(dataset.title, as_yaml(own))] if own else []
    return [*parts, ("All settings", as_yaml(configuration))]


def as_yaml(settings: Mapping[str, object]) -> str:
    """Return settings as YAML, in their order and without anchors; what YAML has no word for as text."""
    plain = json.loads(json.dumps(settings, default=str))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110))
