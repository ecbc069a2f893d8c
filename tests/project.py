"""A copy of the project that a test may run, kill and break."""

import ast
import itertools
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from snakemake.utils import update_config

from lookalike.studies.settings import checked

ROOT = Path(__file__).resolve().parents[1]
COPIED = ["Snakefile", "config.yaml", "config", "workflow", "envs", "profiles", "tests/workflow/tiny.yaml"]
TINY_DEMO = "demo"
TINY_SECONDS = 2400  # a minute or two on two free cores, and half an hour on two that are shared

PIP_NAMES = {"PIL": "pillow", "cv2": "opencv-python-headless", "faiss": "faiss-cpu", "pywt": "pywavelets"}
PIP_NAMES |= {"sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Module to what pip installs it by, where that is another name."""
CONDA_NAMES = {"matplotlib": "matplotlib-base", "opencv-python-headless": "py-opencv", "torch": "pytorch"}
"""Name for pip to that for conda, likewise."""


@cache
def requirements_of(path):
    """Return what pip calls the modules that a file imports, but for Python's own and the package."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    modules = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "lookalike"}
    return {PIP_NAMES.get(module, module) for module in modules}


# targets of the synthetic data sets, one a study
CATEGORY = "category_demo"
LANDMARK = "demo_landmarks"
WEB = "websim_demo"
FINEGRAINED = "demo_triplets"


@dataclass(frozen=True)
class Project:
    """A copy of the project that a test may break."""

    folder: Path

    def command(self, *arguments, cores=2, config="tests/workflow/tiny.yaml"):
        last = ("--configfile", str(self.folder / config))  # which takes every word that follows
        return [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments, *last]

    def environment(self):
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return kept | {"NO_COLOR": "1", "TERM": "dumb"}

    def snakemake(self, *arguments, **options):
        """Run Snakemake and return what it said; a failure is an error that shows it."""
        done = self.attempt(*arguments, **options)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def attempt(self, *arguments, timeout=600, **options):
        return run_in(self.folder, self.command(*arguments, **options), self.environment(), timeout)

    def start(self, *arguments, stdout=subprocess.PIPE, **options):
        """Start Snakemake as the head of a group of processes, which Ctrl-C ends in the background too."""
        streams = {"stdout": stdout, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
        place = {"cwd": self.folder, "env": self.environment()}
        heeded = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
        return subprocess.Popen(self.command(*arguments, **options), **place, **streams, **heeded)

    def planned(self, *arguments, **options):
        """How often each rule would run: the table `Job stats` of what Snakemake says; empty if nothing is to do."""
        lines = self.snakemake("--dry-run", *arguments, **options).splitlines()
        if "Job stats:" not in lines:
            assert [line for line in lines if "Nothing to be done" in line], lines
            return {}
        rows = itertools.takewhile(lambda row: len(row) == 2, map(str.split, lines[lines.index("Job stats:") + 3 :]))
        return {rule: int(n_jobs) for rule, n_jobs in rows if rule != "total"}


def run_in(folder, command, environment, timeout=300):
    """Run a command in a folder; its `stdout` has what it said on both streams."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command, cwd=folder, env=environment, timeout=timeout, **both)


def copy_project(folder):
    """Copy the project, without results, into an empty folder; the package is linked, so that it compiles only once."""
    (folder / "src").symlink_to(ROOT / "src")
    for part in COPIED:
        source, target = ROOT / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    return Project(folder)


def copy_package(project):
    """Copy the package, too, into a project that links to it, for plans, since a copy compiles again."""
    source = project.folder / "src"
    source.unlink()
    return Path(shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__")))


@contextmanager
def edited(project, *modules):
    """The project while some modules of its package have another line."""
    source = copy_package(project)
    try:
        for module in modules:
            with (source / "lookalike" / module).open("a") as file:
                file.write("\nEDITED = True\n")
        yield
    finally:
        shutil.rmtree(source)
        source.symlink_to(ROOT / "src")


def own_settings():
    """The project's settings as they are written: the papers' and the demo's, as the workflow reads them."""
    config = {}
    for name in ("config.yaml", "config/demo.yaml"):
        update_config(config, yaml.safe_load((ROOT / name).read_text()))
    return config


def tiny_settings():
    """The tiny run's settings, for a test to change."""
    return yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())


def tiny_config():
    config = own_settings()
    update_config(config, tiny_settings())
    return checked(config)


def write_settings(project, name, settings):
    """Write changed settings into a project; returns what `config=` takes."""
    (project.folder / f"{name}.yaml").write_text(yaml.safe_dump(settings))
    return f"{name}.yaml"
