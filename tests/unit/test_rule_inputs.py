"""Rules against the scripts they run: the code they watch, and the environment they name."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
import yaml

from lookalike.core.fingerprint import code_dependencies

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lookalike"
DISTRIBUTIONS = {
    "yaml": "pyyaml",
    "PIL": "pillow",
    "cv2": "py-opencv",
    "sklearn": "scikit-learn",
    "faiss": "faiss-cpu",
    "matplotlib": "matplotlib-base",
    "torch": "pytorch",
    "pywt": "pywavelets",
}

# these change how a job is reported or where its file lies, not what is in it
PLUMBING = {"core/job_log.py", "core/files.py", "core/errors.py", "core/seeds.py"}


def rules() -> list[tuple[str, str]]:
    """Script and text of every rule that runs one."""
    found = []
    for file in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        for block in re.split(r"\n(?= *rule\b)", file.read_text()):
            script = re.search(r'"\.\./scripts/(\w+\.py)"', block)
            if script:
                found.append((script[1], block))
    return found


def package_modules(script: str) -> set[str]:
    """Modules of the package that a script imports itself, relative to it."""
    modules = set()
    for node in ast.walk(ast.parse((ROOT / "workflow" / "scripts" / script).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lookalike"):
            path = node.module.removeprefix("lookalike").strip(".").replace(".", "/")
            modules |= {f"{path}.py"} if (PACKAGE / f"{path}.py").is_file() else set()
    return modules


# these put files together, or are run for what they find on the machine and not for what they compute
NOT_COMPUTING = {"gather_runs.py", "gather_fits.py", "compile_kernels.py", "locate_images.py", "locate_landmarks.py"}
COMPUTING = [(script, block) for script, block in rules() if script not in NOT_COMPUTING]


@pytest.mark.parametrize(("script", "block"), COMPUTING, ids=[script for script, _ in COMPUTING])
def test_a_rule_watches_the_code_that_its_script_calls(script: str, block: str) -> None:
    named = re.findall(r'"([a-z_]+(?:/[a-z_]+)+\.py)"', block)
    watched = {Path(file).relative_to(PACKAGE).as_posix() for module in named for file in code_dependencies(module)}
    called = package_modules(script) - PLUMBING
    assert called <= watched, f"{script} calls {sorted(called - watched)}, which its rule does not watch"


@pytest.mark.parametrize(("script", "block"), rules(), ids=[script for script, _ in rules()])
def test_a_rules_environment_holds_what_its_script_imports(script: str, block: str) -> None:
    environment = re.search(r'"\.\./\.\./envs/(\w+\.yaml)"', block)
    assert environment is not None, f"the rule of {script} names no environment"
    listed = yaml.safe_load((ROOT / "envs" / environment[1]).read_text())["dependencies"]
    installed = {entry.split(" ")[0] for entry in listed}
    files = [ROOT / "workflow" / "scripts" / script]
    for module in package_modules(script):
        files += [Path(file) for file in code_dependencies(module)]
    needed = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                needed |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                needed.add(node.module.split(".")[0])
    needed -= {*sys.stdlib_module_names, "lookalike"}
    missing = {DISTRIBUTIONS.get(name, name) for name in needed} - installed
    assert not missing, f"envs/{environment[1]} lacks {sorted(missing)}, which {script} needs"
