"""Files that are shipped: the wheel and its metadata, what extras bring, the image."""

import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser

import pytest
import yaml
from project import ROOT, requirements_of

import lookalike

PACKAGE = ROOT / "src" / "lookalike"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package's wheel, built by the locked back end without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "-w", str(folder), str(ROOT)], check=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_types_and_pages_and_nothing_else_than_the_package(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert all(name.startswith("lookalike/") for name in names)
    assert "lookalike/py.typed" in names
    not_code = [path for path in PACKAGE.rglob("*") if path.suffix in (".html", ".css", ".js")]
    assert PACKAGE / "studies" / "human" / "page.html" in not_code
    expected = {path.relative_to(PACKAGE.parent).as_posix() for path in [*not_code, *PACKAGE.rglob("*.py")]}
    assert expected <= names, f"the wheel lacks {sorted(expected - names)}"
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".nbi"))]


def test_the_wheels_metadata_ask_for_the_learners_alone(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Version"] == lookalike.__version__
    needed = [entry for entry in metadata.get_all("Requires-Dist") or [] if "extra ==" not in entry]
    names = [re.match(r"[a-z-]+", entry)[0] for entry in needed]
    assert sorted(names) == ["numba", "numpy", "safetensors", "scikit-learn", "scipy"]
    extras = set(metadata.get_all("Provides-Extra") or [])
    assert extras == {"images", "workflow", "deep", "report"}
    page = metadata.get_payload()
    assert {f"| `{extra}` |" in page for extra in extras} == {True}
    # an index shows this page alone: neither files of the repository nor directives of the documentation
    assert not re.findall(r"\]\((?!https:)|```\{|^:::", page, flags=re.MULTILINE)


# which extra, itself or another that it names, has what these rooms of the package import
ROOMS = {"images": ("app", "data", "features", "ranking", "core", "studies/human"), "deep": ("deep",)}
ROOMS |= {"workflow": ("studies", "data", "features", "ranking", "exhibits", "report")}
ROOMS |= {"report": ("report", "exhibits", "core")}


@pytest.mark.parametrize("extra", ROOMS)
def test_an_extra_has_what_its_rooms_import(extra):
    def named(requirements):
        others = [part for entry in requirements for part in re.findall(r"lookalike\[(.*)\]", entry)]
        found = (named(PROJECT["optional-dependencies"][name]) for part in others for name in part.split(","))
        return {re.match(r"[A-Za-z0-9-]+", entry)[0] for entry in requirements}.union(*found)

    brought = {"llvmlite", "threadpoolctl", "pydantic_core"}  # by numba, scikit-learn, pydantic
    has = named(PROJECT["optional-dependencies"][extra] + PROJECT["dependencies"]) | brought
    has |= {"torch"}  # the rows of networks say where it is not installed
    for room in ROOMS[extra]:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            assert requirements_of(path) <= has, path


def test_the_version_has_one_place():
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == lookalike.__version__
    assert f"## {lookalike.__version__} ({citation['date-released']})" in (ROOT / "CHANGELOG.md").read_text()
    written = [path for path in PACKAGE.rglob("*.py") if re.search(r"^__version__\s*=", path.read_text(), re.MULTILINE)]
    assert written == [PACKAGE / "__init__.py"]


def test_the_supported_pythons_are_said_alike_everywhere():
    least, beyond = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    supported = [f"3.{minor}" for minor in range(int(least), int(beyond))]
    classified = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text) for text in PROJECT["classifiers"]]
    assert [match[1] for match in classified if match] == supported
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    for job in ("quick", "smoke", "tests"):
        assert jobs[job]["strategy"]["matrix"]["python"] == [supported[0], supported[-1]]
    assert [step["with"] for step in jobs["lowest"]["steps"] if "with" in step] == [{"python-version": supported[0]}]
    for environment in (ROOT / "envs").glob("*.yaml"):
        assert f"python >=3.{least},<3.{beyond}" in yaml.safe_load(environment.read_text())["dependencies"]
    image = re.search(r"python:(3\.\d+)-slim", (ROOT / "Containerfile").read_text())
    assert image is not None
    assert image[1] in supported


def test_the_containers_sources_exist_and_reach_its_builder():
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text())
    copies = re.findall(r"^COPY (?!--from=install )(?:--chown=\S+ )?(.+) \S+$", text, flags=re.MULTILINE)
    copied = " ".join(copies).split()
    sent = {line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")}
    assert {"Snakefile", "workflow", "src", "envs/requirements.txt"} <= set(copied)
    assert [source for source in copied if not (ROOT / source).exists() or source.split("/")[0] not in sent] == []
    installing = re.findall(r"^RUN .* install .*$", text, flags=re.MULTILINE)
    assert ["--require-hashes" in step for step in installing] == [True, True]
    assert re.findall(r"^USER (\S+)", text, flags=re.MULTILINE)[-1] not in ("root", "0")
