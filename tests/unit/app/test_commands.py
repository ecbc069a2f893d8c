"""One contract for all commands: help, JSON, mistakes in the input and in the command line, interruptions."""

import json
import os
import re
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from lookalike import __version__
from lookalike.app.options import StageReport

GOOD = {
    "fit": "fit photos --output new.lookalike --representation color --learner euclidean",
    "rank": "rank m.lookalike photos/red/1.png --gallery photos -k 2",
    "evaluate": "evaluate m.lookalike photos",
    "features": "features photos --output f.npy --representation color",
    "info": "info m.lookalike",
    "index": "index m.lookalike photos",
    "export": "export m.lookalike photos",
    "rate": "rate plan.csv --images photos --output page.html",
    "ratings": "ratings plan.csv ada.csv",
    "evaluate-triplets": "evaluate-triplets release --features color --jobs 1",
}

WRONG_USE = [
    ("", "missing command", ""),
    ("fit", "missing argument 'SOURCE'", " fit"),
    ("fit photos --hold-out 1", "'--hold-out': must be from 0 to below 1", " fit"),
    ("fit photos --set x", "'--set': must be like key=value, not 'x'", " fit"),
    ("rank m.lookalike q.png --gallery photos -k 0", "'-k': ", " rank"),
    ("evaluate m.lookalike photos -k 1,x", "'-k': must be whole numbers of at least 1", " evaluate"),
    ("evaluate-triplets release --features ,", "'--features': must name a feature", " evaluate-triplets"),
]
MAIN = "import sys; from lookalike.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize("name", GOOD)
def test_a_command_has_help_and_prints_for_people_and_as_json(name, here, call, result):
    said = call(name, "--help")
    assert (said.status, said.err) == (0, "")
    assert "exit status: 0 success" in said.out
    assert f"lookalike {name} " in said.out.partition("example")[2]
    assert call(name, "-h") == said
    assert result(GOOD[name])
    said = call(GOOD[name])
    assert said.status == 0
    assert said.out
    if name in ("fit", "features", "rate", "index", "export"):
        assert call(GOOD[name], "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("fit . --representation color --learner euclidean", "../photos.lookalike"),
        ("index ../m.lookalike .", "../photos-npy"),
        ("export ../m.lookalike .", "../photos-faiss"),
    ],
)
def test_what_is_made_of_the_working_folder_lies_beside_it_and_is_made_again(line, output, here, call, monkeypatch):
    files = set(Path("photos").absolute().rglob("*"))
    monkeypatch.chdir("photos")
    for _ in range(2):
        said = call(line)
        assert said.status == 0, said.err
        assert said.out.startswith(f"{output}: ")
    assert set(Path.cwd().rglob("*")) == files


@pytest.mark.parametrize(("line", "sentence", "command"), WRONG_USE)
def test_a_wrong_command_line_has_status_2(line, sentence, command, refused):
    assert re.search(f"{re.escape(sentence)}.*; see lookalike{command} --help\n$", refused(line, status=2))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--version", f"lookalike {__version__}"),
        ("rate --help", "--neighbours"),
        ("evaluate-triplets --help", "--model"),
        ("info m.lookalike", "OASIS learned from 18 images"),
        ("rank m.lookalike photos/red/1.png --gallery g", "red/"),
    ],
)
def test_help_info_and_asking_a_gallery_import_nothing_heavy(place, process, line, expected):
    slow = {"numba", "sklearn", "torch", "scipy", "pandas", "pyarrow", "faiss", "skimage", "matplotlib", "tqdm", "rich"}
    slow |= {"PIL", "cv2"} if not line.startswith("rank") else set()  # to describe the query
    code = f"import sys; from lookalike.cli import main; print(main(sys.argv[1:]), {slow} & sys.modules.keys())"
    done = process(code, *line.split(), cwd=place)
    assert expected in done.stdout, done.stderr
    assert done.stdout.endswith("\n0 set()\n")


EXTRAS = ("typer", "pandas", "PIL", "cv2", "faiss", "pydantic", "pyarrow", "yaml", "tqdm", "rich")
LACKING = [(MAIN, missing, "lookalike", "the commands") for missing in (EXTRAS, ("pandas",))]
LACKING += [
    (f"import lookalike; {ask}", (name,), "ImportError", "similarities of images or vectors")
    for ask in ("lookalike.load('m.lookalike')", "lookalike.ImageSimilarity")
    for name in ("pandas", "PIL")
]


@pytest.mark.parametrize(("code", "missing", "said_by", "what"), LACKING)
def test_without_the_extra_one_sentence_names_it(code, missing, said_by, what, place, process):
    done = process(code, *GOOD["rank"].split(), missing=missing, cwd=place)
    *above, last = done.stderr.splitlines()
    assert last == f'{said_by}: {missing[0]} is not installed, and {what} need it: pip install "lookalike[images]"'
    assert (done.returncode, done.stdout, above == []) == (1, "", code == MAIN)


@pytest.mark.parametrize(("to", "status", "sentence"), [("npy", 0, ""), ("faiss", 1, "faiss is not installed, and")])
def test_without_faiss_vectors_leave_as_arrays(here, process, to, status, sentence):
    done = process(MAIN, *f"export v.lookalike v.npy --to {to}".split(), missing=("faiss",))
    assert (done.returncode, sentence in done.stderr) == (status, True), done.stderr
    assert not Path("v-faiss/gallery.faiss").exists()


def test_shells_complete_the_commands(process):
    line = {"_LOOKALIKE_COMPLETE": "complete_bash", "COMP_WORDS": "lookalike eval", "COMP_CWORD": "1"}
    assert "evaluate-triplets" in process(MAIN, env=os.environ | line).stdout


def test_ctrl_c_is_status_130_and_leaves_no_file_or_folder(here, refused, monkeypatch):
    def interrupt(_, what, *__):
        if what != "reading images":
            raise KeyboardInterrupt

    monkeypatch.setattr(StageReport, "__call__", interrupt)
    files = set(here.rglob("*"))
    folders = ("fit photos --output new/m.lookalike", "export m.lookalike photos --output new/folder")
    features = "features photos --representation m.lookalike --output new/v.npy"
    for line in (*(GOOD[name] for name in ("fit", "rank", "evaluate", "evaluate-triplets")), *folders, features):
        said = refused(f"{line}{' --no-cache' * ('-triplets' not in line)}", status=130)
        assert said.endswith("lookalike: interrupted\n")
    assert set(here.rglob("*")) == files
    monkeypatch.setattr(StageReport, "__call__", Mock(side_effect=MemoryError("Unable to allocate 1.49 GiB")))
    assert "not enough memory (Unable to allocate 1.49 GiB): give fewer images, vectors," in refused(GOOD["fit"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_an_output_that_cannot_be_written(here, process):
    rate, how = GOOD["rate"].split(), {"capture_output": False, "stderr": subprocess.PIPE}
    done = process(f"import os, sys; read, write = os.pipe(); os.close(read); os.dup2(write, 1); {MAIN}", *rate)
    assert (done.returncode, done.stderr) == (1, "")  # a reader that goes away hears no complaint
    with Path("/dev/full").open("w") as full:
        done = process("import runpy; runpy.run_module('lookalike', run_name='__main__')", *rate, stdout=full, **how)
    assert done.stderr == "lookalike: the output cannot be written: No space left on device; write it elsewhere\n"
    assert done.returncode == 1


@pytest.mark.parametrize(("encoding", "expected"), [("utf-8", b"caf\xc3\xa9 "), ("ascii", b"caf\\xe9 ")])
def test_names_that_the_output_cannot_show_are_escaped(encoding, expected, process):
    name = "'caf\u00e9 \\udcff'"
    code = "from lookalike.app.options import tell_result; "
    code += f"tell_result({{}}, [{name}], False); tell_result({{'a': {name}, 'b': float('nan')}}, [], True)"
    done = process(code, env=os.environ | {"PYTHONIOENCODING": encoding}, check=True, text=False)
    first, _, rest = done.stdout.partition(b"\n")
    assert first == expected + b"\\udcff"
    assert json.loads(rest) == {"a": "caf\u00e9 \udcff", "b": None}


@pytest.mark.parametrize(
    "name", [b"plain", b"a b's; rm x", b"caf\xe9", b"tab\there", b"back\\slash \xff'", "é $(x)".encode()]
)
def test_what_to_do_next_can_be_pasted(here, call, name):
    folder, output = here / os.fsdecode(name), here / os.fsdecode(name + b".lookalike")
    folder.symlink_to(here / "photos")
    fit = ("fit", folder, "--output", output, "--representation color --learner euclidean --hold-out 0.25")
    lines = [line for line in call(*fit, "--labels labels.csv").out.splitlines() if line.startswith("next: ")]
    evaluate = f"evaluate\n{output}\n{folder}\n--labels\nlabels.csv\n"
    for line, words in zip(lines, (evaluate, f"rank\n{output}\nQUERY\n--gallery\n{folder}\n"), strict=True):
        assert line.isprintable()
        pasted = ["bash", "-c", line.replace("next: lookalike", "printf '%s\\n'", 1)]
        assert subprocess.run(pasted, capture_output=True, check=True).stdout == os.fsencode(words)
