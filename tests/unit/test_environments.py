"""The locks and the conda environments: complete, hashed, of the same versions, and with what rules import."""

import re
import tomllib

import pytest
import yaml
from project import CONDA_NAMES, ROOT, requirements_of

from lookalike.core.fingerprint import imported_modules

ENVS = ROOT / "envs"
LOCKS = sorted(ENVS.glob("requirements*.txt"))


def locked_versions(lock):
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", lock.read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_requirement_has_a_hash_and_no_address(lock):
    text = lock.read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) == len(locked_versions(lock)) > 0
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|^#|^-", text, flags=re.MULTILINE)


def test_locks_have_one_version_of_each_package_and_those_of_the_networks_alone_have_torch():
    locks = {lock.name: locked_versions(lock) for lock in LOCKS if lock.name != "requirements-lowest.txt"}
    pairs = {(name, version.removesuffix("+cpu")) for locked in locks.values() for name, version in locked.items()}
    assert len(pairs) == len(dict(pairs)), sorted(pairs)
    assert locks["requirements.txt"].keys() <= locks["requirements-dev.txt"].keys()
    with_torch = {lock.name for lock in LOCKS if "torch" in locked_versions(lock)}
    assert with_torch == {"requirements-deep.txt", "requirements-deep-cpu.txt"}


@pytest.mark.parametrize("environment", sorted(ENVS.glob("*.yaml")), ids=lambda path: path.name)
def test_conda_environment_names_the_locked_versions(environment):
    runtime = locked_versions(ENVS / "requirements-deep.txt") | locked_versions(ENVS / "requirements.txt")
    dependencies = yaml.safe_load(environment.read_text())["dependencies"]
    packages = [entry for entry in dependencies if not entry.startswith("python ")]
    assert packages
    pip_names = {conda: name for name, conda in CONDA_NAMES.items()}
    for entry in packages:
        name, version = re.fullmatch(r"(\S+) =(\S+)", entry).groups()
        locked = runtime[pip_names.get(name, name)]
        # of this one pip's version has a fourth number, that of the wheel
        assert (locked.rpartition(".")[0] if name == "py-opencv" else locked) == version, entry


def test_the_lowest_lock_has_every_lower_bound_but_that_of_torch():
    project = tomllib.loads((ENVS.parent / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    entries = [entry for group in groups for entry in group if not entry.startswith(("lookalike[", "torch>="))]
    lowest = locked_versions(ENVS / "requirements-lowest.txt")
    for name, bound in (re.match(r"([a-z0-9-]+)>=([0-9.]+)", entry).groups() for entry in entries):
        assert re.fullmatch(rf"{re.escape(bound)}(\.0)*", lowest[name]), name


def rules():
    """Script and text of every rule that runs one."""
    found = []
    for file in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        for block in re.split(r"\n(?= *rule\b)", file.read_text()):
            script = re.search(r'"\.\./scripts/(\w+\.py)"', block)
            if script:
                found.append((script[1], block))
    return found


@pytest.mark.parametrize(("script", "block"), rules(), ids=[script for script, _ in rules()])
def test_a_rules_environment_holds_what_its_script_imports(script, block):
    environment = re.search(r'"\.\./\.\./envs/(\w+\.yaml)"', block)
    assert environment is not None, f"the rule of {script} names no environment"
    listed = yaml.safe_load((ROOT / "envs" / environment[1]).read_text())["dependencies"]
    installed = {entry.split(" ")[0] for entry in listed}
    needed = set().union(*map(requirements_of, imported_modules(ROOT / "workflow" / "scripts" / script)))
    missing = {CONDA_NAMES.get(name, name) for name in needed} - installed
    assert not missing, f"envs/{environment[1]} lacks {sorted(missing)}, which {script} needs"
