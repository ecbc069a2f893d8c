"""What made an exhibit, and what a whole run took, as pairs of a term and a text.

From the records that jobs leave (`lookalike.report.provenance`); results without records still say which module drew
them and by which command they are made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lookalike.report.provenance import project_path

if TYPE_CHECKING:
    from lookalike.report.provenance import Jobs, Made
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


@dataclass(frozen=True)
class Fact:
    """One line: a term, its text, and whether that is code."""

    term: str
    text: str
    is_code: bool = False


@dataclass(frozen=True)
class Part:
    """A part of the configuration, as YAML."""

    title: str
    text: str


def facts_of(exhibit: Exhibit, jobs: Jobs | None, seed: int | None) -> tuple[Fact, ...]:
    """All that is known of how one exhibit came about.

    Parameters
    ----------
    exhibit : Exhibit
    jobs : Jobs or None
        Records of jobs; None where there are none.
    seed : int or None
        Root seed of the run.
    """
    made = jobs.of_exhibit(exhibit) if jobs is not None else None
    files = [path.name for path in exhibit.files]
    where = "/".join(("results", exhibit.dataset, "exhibits", exhibit.paper))
    settings = configuration_keys([exhibit.study] if exhibit.study else [], exhibit.dataset)
    kind = "made by code" if exhibit.synthetic else "real data"
    facts = [
        Fact("Command", f"snakemake --cores 2 --force {where}/{files[0] if files else exhibit.name + '.json'}", True),
        Fact("Rule", made.rule if made else ""),
        Fact("Drawn by", exhibit.made_by, True),
        Fact("Data set", f"{exhibit.dataset_title} ({exhibit.dataset}), {kind}"),
        Fact("Configuration", ", ".join(settings), True),
        Fact("Root seed", "" if seed is None else str(seed)),
        *(_of_job(made) if made else (Fact("Record", "no job has left a record of making it"),)),
        Fact("Made from", ", ".join(map(project_path, exhibit.sources)), True),
        Fact("Files", f"{where}/: {', '.join(files)}" if files else "", True),
    ]
    return tuple(fact for fact in facts if fact.text)


def configuration_keys(studies: Sequence[str], dataset: str) -> list[str]:
    """Keys of config.yaml that say how a data set is made and studied."""
    return [f"datasets.{dataset}", *(f"{study}.{dataset}" for study in studies)]


def duration(seconds: float) -> str:
    """Time in words.

    Examples
    --------
    ``0.908`` gives ``"0.91 s"``, ``192`` gives ``"3 min 12 s"``, ``7500`` gives ``"2 h 5 min"``.
    """
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min"


def whole_run(jobs: Jobs) -> tuple[Fact, ...]:
    """What all jobs took and ran on."""
    work = jobs.whole
    facts = (
        Fact("Jobs", f"{work.jobs:,} with a record, of {len(work.rules)} rules"),
        Fact("Processor time", duration(work.cpu_seconds)),
        Fact("Wall time, summed", duration(work.seconds)),
        Fact("First job began", f"{work.started:%Y-%m-%d %H:%M} UTC" if work.started else ""),
        Fact("Processor", ", ".join(work.processors)),
        Fact(
            "Commit" if len(work.commits) < 2 else "Commits", commits(work.commits, work.modified), bool(work.commits)
        ),
        Fact("Differences", work.version_note),
    )
    return tuple(fact for fact in facts if fact.text)


def library_versions(versions: Mapping[str, tuple[str, ...]]) -> tuple[Fact, ...]:
    """Versions of libraries, with all that were seen."""
    return tuple(Fact(LIBRARIES.get(name, name), ", ".join(seen)) for name, seen in versions.items())


def commits(found: tuple[str, ...], modified: bool) -> str:
    """Commits in one line, and whether files differed from them."""
    if not found:
        return "outside a git work tree"
    return ", ".join(found) + (", with files changed since" if modified else "")


def configuration_parts(configuration: Mapping[str, Any] | None, datasets: list[Dataset]) -> list[Part]:
    """The configuration by data set, then the whole, as YAML; none where it was not given."""
    if not configuration:
        return []
    parts = []
    for dataset in datasets:
        own: dict[str, Any] = {}
        for key in configuration_keys(dataset.studies, dataset.id):
            first, _, second = key.partition(".")
            value = configuration.get(first, {}).get(second)
            if value is not None:
                own[first] = {second: value}
        if own:
            parts.append(Part(dataset.title, as_yaml(own)))
    return [*parts, Part("All settings", as_yaml(configuration))]


def as_yaml(value: Any) -> str:
    """Settings as YAML, in their order and without anchors."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return yaml.dump(_plain(value), Dumper=Plain, sort_keys=False, allow_unicode=True, width=110)


def _plain(value: Any) -> Any:
    """Mappings and sequences of any kind as dicts and lists; what YAML has no word for as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _of_job(made: Made) -> tuple[Fact, ...]:
    """Time, machine, code and libraries of the job itself, then of everything before it."""
    work = made.upstream
    versions = {"python": made.python, **made.versions}
    memory = f", at most {made.peak_megabytes:,.0f} MB of memory" if made.peak_megabytes else ""
    threads = f"{made.threads} thread{'s' * (made.threads != 1)}"
    times = f"{duration(work.cpu_seconds)} of processor time, {duration(work.seconds)} by the clock, summed"
    unknown = f"; {len(work.unrecorded)} files that they read have no record" if work.unrecorded else ""
    return (
        Fact(
            "Time of this job", f"{duration(made.seconds)} by the clock, {duration(made.cpu_seconds)} of processor time"
        ),
        Fact("With all before it", f"{work.jobs:,} jobs, {times}{unknown}"),
        Fact("Machine", f"{made.processor}, {threads}{memory}"),
        Fact("Made on", f"{made.started:%Y-%m-%d %H:%M} UTC" if made.started else ""),
        Fact("Commit", commits((made.commit,) if made.commit else (), made.modified), bool(made.commit)),
        Fact("Versions", ", ".join(f"{LIBRARIES.get(name, name)} {version}" for name, version in versions.items())),
        Fact("Versions before", work.version_note),
    )
