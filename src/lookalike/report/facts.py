"""What made an exhibit, and what a whole run took, as pairs of a term and a text, from the records of jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from lookalike.report import SNAKEMAKE
from lookalike.report.provenance import project_path

if TYPE_CHECKING:
    from lookalike.core.job_record import JobRecord
    from lookalike.report.provenance import Jobs, Work
    from lookalike.report.results import Dataset, Exhibit

LIBRARIES = {
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "cv2": "OpenCV",
    "pywt": "PyWavelets",
    "python": "Python",
    "torch": "PyTorch",
}
"""Names of libraries that differ from what they are imported by."""


class Fact(NamedTuple):
    """One line: a term, its text, and whether that is code."""

    term: str
    text: str
    is_code: bool = False


def facts_of(exhibit: Exhibit, jobs: Jobs | None, seed: int | None) -> list[Fact]:
    """All that is known of how one exhibit came about; `jobs` is None where there are no records."""
    where = f"results/{exhibit.dataset}/exhibits/{exhibit.paper}"  # wherever the folder of results lies now
    made = jobs.of(f"{where}/{exhibit.name}.json") if jobs is not None else None
    settings = configuration_keys([exhibit.study] if exhibit.study else [], exhibit.dataset)
    kind = "made by code" if exhibit.synthetic else "real data"
    facts = [
        Fact("Command", command_of(exhibit), True),
        Fact("Rule", made[0].rule if made else ""),
        Fact("Drawn by", exhibit.made_by, True),
        Fact("Data set", f"{exhibit.dataset_title} ({exhibit.dataset}), {kind}"),
        Fact("Configuration", ", ".join(settings), True),
        Fact("Root seed", "" if seed is None else str(seed)),
        *(_of_job(*made) if made else (Fact("Record", "no job has left a record of making it"),)),
        Fact("Made from", ", ".join(map(project_path, exhibit.sources)), True),
    ]
    return [fact for fact in facts if fact.text]


def command_of(exhibit: Exhibit) -> str:
    """What makes an exhibit again, from the project's folder."""
    name = exhibit.paths[0].name if exhibit.paths else f"{exhibit.name}.json"
    return f"{SNAKEMAKE} --force results/{exhibit.dataset}/exhibits/{exhibit.paper}/{name}"


def _of_job(job: JobRecord, work: Work) -> list[Fact]:
    """Time, machine, code and libraries of the job itself, then of everything before it."""
    versions = {"python": job.python, **job.versions}
    memory = f", at most {job.peak_megabytes:,.0f} MB of memory" if job.peak_megabytes else ""
    times = f"{duration(work.cpu_seconds)} of processor time, {duration(work.seconds)} by the clock, summed"
    unknown = f"; {len(work.unrecorded)} files that they read have no record" if work.unrecorded else ""
    own = f"{duration(job.seconds)} by the clock, {duration(job.cpu_seconds)} of processor time"
    return [
        Fact("Time of this job", own),
        Fact("With all before it", f"{len(work.jobs):,} jobs, {times}{unknown}"),
        Fact("Machine", f"{job.processor}, {job.threads} thread{'s' * (job.threads != 1)}{memory}"),
        Fact("Made on", f"{job.started:%Y-%m-%d %H:%M} UTC"),
        Fact("Commit", commits([job.commit] if job.commit else [], job.modified), bool(job.commit)),
        Fact("Versions", ", ".join(f"{LIBRARIES.get(name, name)} {version}" for name, version in versions.items())),
        Fact("Versions before", work.version_note),
    ]


def configuration_keys(studies: Sequence[str], dataset: str) -> list[str]:
    """Keys of config.yaml that say how a data set is made and studied."""
    return [f"datasets.{dataset}", *(f"{study}.{dataset}" for study in studies)]


def duration(seconds: float) -> str:
    """Time in words: ``0.908`` gives ``"0.91 s"``, ``192`` gives ``"3 min 12 s"``, ``7500`` gives ``"2 h 5 min"``."""
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min"


def whole_run(work: Work) -> list[Fact]:
    """What all jobs took and ran on."""
    found = work.commits
    facts = (
        Fact("Jobs", f"{len(work.jobs):,} with a record, of {len(work.rules)} rules"),
        Fact("Processor time", duration(work.cpu_seconds)),
        Fact("Wall time, summed", duration(work.seconds)),
        Fact("First job began", f"{work.started:%Y-%m-%d %H:%M} UTC" if work.started else ""),
        Fact("Processor", ", ".join(work.processors)),
        Fact(f"Commit{'s' * (len(found) > 1)}", commits(found, work.modified), bool(found)),
        Fact("Differences", work.version_note),
    )
    return [fact for fact in facts if fact.text]


def library_versions(work: Work) -> list[Fact]:
    """Versions of libraries, with all that were seen."""
    return [Fact(LIBRARIES.get(name, name), ", ".join(seen)) for name, seen in work.versions.items()]


def commits(found: Sequence[str], modified: bool) -> str:
    """Commits in one line, and whether files differed from them."""
    if not found:
        return "outside a git work tree"
    return ", ".join(found) + (", with files changed since" if modified else "")


def configuration_parts(configuration: Mapping[str, Any] | None, datasets: Sequence[Dataset]) -> list[tuple[str, str]]:
    """The configuration by data set, then the whole: titles and YAML; none where it was not given."""
    if not configuration:
        return []
    parts = []
    for dataset in datasets:
        own: dict[str, Any] = {}
        for key in configuration_keys(dataset.studies, dataset.id):
            first, _, second = key.partition(".")
            if second in configuration.get(first, {}):
                own[first] = {second: configuration[first][second]}
        if own:
            parts.append((dataset.title, as_yaml(own)))
    return [*parts, ("All settings", as_yaml(configuration))]


def as_yaml(settings: Mapping[str, Any]) -> str:
    """Settings as YAML, in their order and without anchors; what YAML has no word for as text."""
    plain = json.loads(json.dumps(settings, default=str))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110))
