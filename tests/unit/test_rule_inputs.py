"""Rules against the scripts they run: the environment that they name has what the script imports."""

import re

import pytest
import yaml
from project import CONDA_NAMES, ROOT, requirements_of

from lookalike.core.fingerprint import imported_modules


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
