"""Call all commands with hostile inputs, and tell what a user would not forgive.

    OMP_NUM_THREADS=1 PYTHONPATH=tests .venv/bin/python tests/fuzz/run.py --calls 1000 --seed 0

A kind of input is a function of a `Call`: it changes files or words of its command line, and returns False where it
has nothing to change. All is chosen by the call's generator, so a seed and a number say a call. A process that has
imported everything and given up its rights forks for each call, which takes milliseconds where a start takes seconds.
"""

import argparse
import codecs
import gc
import io
import json
import multiprocessing.connection  # both while they can be read: see `prepare`
import multiprocessing.popen_fork
import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from made_place import make_place

from lookalike.cli import main
from lookalike.core.errors import escaped
from lookalike.features import bag_of_visterms

STEPS = "--learner OASIS --set n_steps=200"
LINES = f"""
fit photos --output new.lookalike --representation color --learner Euclidean
fit photos --labels labels.csv --output new.lookalike --representation hog {STEPS} --hold-out 0.25
fit photos --triplets judged.csv --output out/new.lookalike --representation color --set n_steps=200 --json
fit photos --words 8 --learner TFIDF --output new.lookalike
fit photos --representation w.lookalike --learner MMC --set max_iter=5 --cache cache
fit wide.parquet --hold-out 0.25 --learner MCML --set max_iter=5
fit v.npy --labels y.npy --learner LMNN --set max_iter=5 --output new.lookalike
fit fixed.parquet --triplets triplets.csv --output new.lookalike {STEPS} --set aggressiveness=0.1
fit v.npz --labels numbers.csv --learner DiagonalOASIS --set n_steps=200 --output new.lookalike
fit v.csv --id-column sku --label-column kind --learner RCA --output new.lookalike
rank m.lookalike photos/red/1.png --gallery photos -k 2
rank m.lookalike photos/red/1.png photos/blue/2.png --gallery photos --html page.html --compare --cache cache
rank m.lookalike photos/red/1.png corrupt/red/broken.png --gallery g --json
rank v.lookalike x1 x2 --gallery v.parquet --json
rank v.lookalike v.npy --gallery pandas.csv -k 3
evaluate m.lookalike photos --cache cache
evaluate w.lookalike photos --labels labels.csv -k 1,3 --json
evaluate m.lookalike photos --triplets judged.csv
evaluate v.lookalike v.parquet --seed 3 --all
evaluate v.lookalike v.npy --labels y.npy --all
evaluate v.lookalike fixed.parquet --triplets triplets.csv --all
features photos --output new.npy --representation color --cache cache
features photos --output new.npy --paths new.parquet --representation m.lookalike
features v.parquet --output new.npy --representation v.lookalike --json
features photos --output counts --words 8
features photos --output new.npz --representation w.lookalike --jobs 1
info m.lookalike
info v.lookalike --json
rate plan.csv --images photos --output page.html --title A&B
rate new.csv --images photos --neighbours neighbours.csv --queries 3 --retrieved 2 --random 2 --output page.html
ratings plan.csv ada.csv
ratings plan.csv ada.csv --output all.parquet --json
evaluate-triplets release --features color --jobs 1 --k 2
evaluate-triplets release --model net.lookalike --output table.csv
evaluate-triplets release --vectors rated.csv --id-column path --json
evaluate-triplets release --features fisher --codebook-images photos --output table.parquet
index m.lookalike photos
index m.lookalike photos --output g --cache cache --json
export m.lookalike photos --to npy --cache cache
export v.lookalike v.parquet --to faiss --index HNSW8 --output exported
export v.lookalike v.npy --to npy --rank 2 --labels numbers.csv --json
"""
COMMANDS = {}
for line in LINES.split("\n")[1:-1]:
    COMMANDS.setdefault(line.split()[0], []).append(line.split())

WORDS = {
    "values": """0 -1 1 2 1e309 nan -inf ² 0x10 true None a=b =1 {x} %s photos m.lookalike v.npy 0,1 1,,2 hog,nope
        all PCA9 IVF9999,Flat PQ7 texton n_steps=-1 n_steps=1e6 aggressiveness=nan aggressiveness=1e308 random_state=x
        psd=maybe max_iter=0 early_stopping=true validation_fraction=2 n_steps=9999999999999999 9999999999999999999""",
    "options": """--json --quiet --compare --all --no-cache --rank -k --seed --jobs --to --index --pool
        --words --set --labels --triplets --learner --hold-out --nonsense""",
    "names": "it's -rf --help %s{0} nan a,b ~ * $(id) .hidden CON. =1+1",
}
VALUES = ["", "é" * 300, "a\nb", os.fsdecode(b"\xff"), *WORDS["values"].split()]
OPTIONS = WORDS["options"].split()
NAMES = ["a b", 'say "x"', "täg 図", "a\nb", "x" * 240, os.fsdecode(b"\xff\xfe"), "\u202eexe", "\x1b[31m", "end "]
NAMES += WORDS["names"].split()
bag_of_visterms.N_PIXELS = 4000  # to learn colours from, which is most of the time of a fit


class Call:
    """A command line in a folder, and the generator that spoils both."""

    def __init__(self, here, argv, chance):
        self.here, self.argv, self.random = here, argv, chance

    def pick(self, *suffixes):
        """Return a file that the command line names, or one in a folder that it names, or such a folder; or None."""
        named = [self.here / word for word in self.argv[1:] if word and os.path.exists(self.here / word)]
        inside = [path for folder in named if folder.is_dir() for path in sorted(folder.rglob("*"))]
        inside = self.random.sample(inside, min(len(inside), 3))  # else most would lie in folders
        found = [path for path in [*named, *inside] if not suffixes or (path.suffix in suffixes and path.is_file())]
        return self.random.choice(found) if found else None

    def output(self):
        """Return the place of a file in the command line that it will write, now and then; or None."""
        places = [place + 1 for place, word in enumerate(self.argv[:-1]) if word in ("--output", "--html", "--paths")]
        return self.random.choice(places) if places and self.random.random() < 0.35 else None


def make_inputs(here):
    """Make a folder in which every line of `LINES` works, and make it the working folder."""
    from lookalike.deep.configuration import SMALL  # torch takes seconds, and few calls need it
    from lookalike.deep.model_io import save_network
    from lookalike.deep.network import DeepRankingNetwork

    make_place(here)
    os.chdir(here)
    rated = [str(path.relative_to("release")) for path in sorted(Path("release").rglob("*.png"))]
    X = np.random.default_rng(0).normal(size=(len(rated), 3))
    pd.DataFrame(X).add_prefix("x").assign(path=rated).to_csv("rated.csv", index=False)
    save_network(DeepRankingNetwork(SMALL, random_state=0), "net.lookalike", {"system": "deep-ranking", "shift": 2})


def spoil_bytes(call):
    """Flip, cut off, insert, repeat or replace bytes of a file."""
    if (path := call.pick()) is None or not path.is_file():
        return False
    content, chance = path.read_bytes(), call.random
    place = chance.randrange(min(len(content), chance.choice([200, len(content)])) + 1)
    start, rest, noise = content[:place], content[place:], chance.randbytes(chance.choice([1, 2, 8, 100]))
    flipped = bytes([rest[0] ^ 1 << chance.randrange(8)]) if rest else noise * 99
    middles = [b"", noise + rest, rest[len(noise) :], noise + rest[len(noise) :], flipped + rest[1:]]
    spoilt = [b"", noise, *(start + middle for middle in middles), content * 2, content.replace(b"\n", b"\r")]
    spoilt += [b"\xef\xbb\xbf" + content, content + b"\0" * 100]
    others = (call.here / name for name in ("m.lookalike", "v.npy", "labels.csv", "photos/red/1.png"))
    path.write_bytes(chance.choice(spoilt + [other.read_bytes() for other in others if other.is_file()]))
    return True


def spoil_vectors(call):
    """Write vectors or labels of a wrong shape, type or value, or a file that says it holds far more than it does."""
    if (path := call.pick(".npy", ".npz", ".parquet")) is None:
        return False
    chance = call.random
    X = np.random.default_rng(chance.randrange(100)).normal(size=(36, 6))
    X[chance.randrange(36), chance.randrange(6)] = chance.choice([0, 1, np.nan, np.inf, 1e308, 1e39, 5e-324])
    with np.errstate(all="ignore"):
        arrays = [X, X[:, :0], X[:0], X[0], X[None], X[:1], X[:, :5], np.float64(3), X * 0, X * 0 + 7, X * 1e160]
        arrays += [X.astype(kind) for kind in ("e", "c8", "O", "U", ">f8", "g", "?")] + [np.array(["a", "b"] * 18)]
    array = chance.choice(arrays)
    if path.suffix == ".npy" and chance.random() < 0.3:
        text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117).encode()
        path.write_bytes(b"\x93NUMPY\x01\x00" + chance.choice([118, 9999]).to_bytes(2, "little") + text + bytes(100))
    elif path.suffix == ".npy":
        np.save(path, array, allow_pickle=True)
    elif path.suffix == ".npz":
        csr = sp.csr_array(np.where(X > 0, X, 0))
        stored = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": csr.shape, "format": b"csr"}
        stored[chance.choice(list(stored))] = chance.choice([array, csr.indices[:1], [2**62, -1], b"no"])
        np.savez(path, **stored, allow_pickle=True)
    else:
        rows = [list(X), [*X[:35], X[0][:3]], [*X[:35], None], ["a"] * 36, [[]] * 36, list(X.astype(str))]
        ids = [range(36), ["a"] * 36, [None] * 36, ["a\n"] * 2 + ["b"] * 34]
        table = pd.DataFrame({"id": chance.choice(ids), "vector": chance.choice(rows)})
        table.head(chance.choice([36, 36, 1, 0]))[chance.choice([["id", "vector"], ["id"], []])].to_parquet(path)
    return True


def spoil_name(call):
    """Give a file, a folder or an output another name, and call it so where the command line does."""
    name, chance = call.random.choice(NAMES), call.random
    if place := call.output():
        call.argv[place] = name + Path(call.argv[place]).suffix
        return True
    if (path := call.pick()) is None or not path.exists():
        return False
    target = path.with_name(name + chance.choice([path.suffix, path.suffix, path.suffix.upper(), ""]))
    path.rename(target)
    old, new = (str(it.relative_to(call.here)) for it in (path, target))
    call.argv[1:] = [new if word == old else word.replace(f"{old}/", f"{new}/") for word in call.argv[1:]]
    return True


def spoil_kind(call):
    """Put a pipe, a loop of links, a socket, a folder, an endless file or nothing in place of an input or output."""
    chance, place = call.random, call.output()
    path = call.here / call.argv[place] if place else call.pick()
    if path is None or not (place or os.path.lexists(path)):
        return False
    is_folder = path.is_dir() and not path.is_symlink()
    if is_folder and chance.random() < 0.2:
        (path / "up").symlink_to("..")
        return True
    shutil.rmtree(path) if is_folder else path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)

    def link_to_pipe():
        os.mkfifo(pipe := path.with_name(f"pipe{chance.random()}"))
        path.symlink_to(pipe)

    def file_of_holes():
        path.touch()
        os.truncate(path, 5 * 2**30 if path.suffix == ".lookalike" else 2**29)

    links = [lambda place=place: path.symlink_to(place) for place in (path.name, "nowhere", call.here)]
    special = [lambda: os.mkfifo(path), lambda: os.mknod(path, stat.S_IFSOCK), link_to_pipe, file_of_holes]
    chance.choice([*links, *special, path.mkdir, path.touch])()
    return True


def spoil_permissions(call):
    """Take permissions of a file, a folder or the working folder away."""
    path = call.here if call.random.random() < 0.2 else call.pick()
    if path is None or not path.exists():
        return False
    path.chmod(call.random.choice([0, 0o200, 0o400, 0o444, 0o500, 0o555, 0o100, 0o300]))
    return True


def spoil_options(call):
    """Change, drop, repeat or add a word of the command line."""
    chance, argv = call.random, call.argv
    place = chance.randrange(1, len(argv)) if len(argv) > 1 else 0
    value, option = chance.choice(VALUES), chance.choice(OPTIONS)
    setting = chance.choice([value for value in VALUES if "=" in value])
    changed = [argv[:place] + argv[place + 1 :] if place else argv, argv[: place + 1] + argv[place:]]
    changed += [argv + words for words in ([option, value], [option, value], [option], ["--set", setting])]
    argv[:] = chance.choice([*changed, *2 * [[*argv[:place], value, *argv[place + 1 :]]]])
    return True


VALID = "as it should be"
# in the order in which a call is spoilt by two of them: the later ones need not understand what they spoil
KINDS = {VALID: lambda call: True, "full disk": lambda call: True, "vectors": spoil_vectors, "bytes": spoil_bytes}
KINDS |= {"name": spoil_name, "option": spoil_options, "special file": spoil_kind, "permissions": spoil_permissions}


def spoil(call):
    """Spoil a call in one way, or now and then in two, and return the last."""
    names, chance = list(KINDS), call.random
    chosen = {chance.choice(names), chance.choice(names)} if chance.random() < 0.2 else {chance.choice(names)}
    done = [name for name in names if name in chosen and KINDS[name](call)]
    return done[-1] if done else spoil(call)


NOBODY = 65534
SECONDS, PATIENCE, MEMORY, DISK = 60, 300, 3 * 2**30, 20_000
"""Of the processor, and on a busy machine by the clock; bytes of a call."""
PYTHON = r"Traceback|\[?Errno|NoneType|object at 0x|not subscriptable|unhashable|has no attribute|out of bounds|<class"
PYTHON += r"|Warning|encountered in|positional argument|is not installed|broadcast|codec can't"
"""What only a programmer understands; model files tell of it in brackets."""
ENCODINGS = ["utf-8"] * 9 + ["ascii"]
"""Of the output."""
TEMPORARY = re.compile(r"\..*\.part(\..*)?|\..*\.former|\.probe|tmp.*")


def snapshot(folder):
    """Return what tells whether anything below a folder changed; the times of folders do not count."""
    found = {}
    for root, folders, names in os.walk(folder):
        for path in (os.path.join(root, name) for name in [*folders, *names]):
            with suppress(PermissionError):  # of a folder that can be listed and not entered
                facts = os.lstat(path)
                rest = () if stat.S_ISDIR(facts.st_mode) else (facts.st_ino, facts.st_size, facts.st_mtime_ns)
                found[os.path.relpath(path, folder)] = (facts.st_mode, *rest)
    return found


def changes(before, after, argv, failed):
    """Return what a command changed below its folder that its line does not name, and what is left of a failure."""
    places = (os.path.abspath, os.path.realpath)
    named = [os.path.relpath(place(Path("here", word))) for word in argv[1:] for place in places]
    found = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        how = "vanished" if path not in after else "appeared" if path not in before else "changed"
        is_named = how == "appeared" or any(f"{path}/".startswith(f"{name}/") for name in named)
        is_kept = ".lookalike-cache" in path.split("/") or path.startswith("here/cache") or path.endswith(".kept")
        is_folder = path in after and stat.S_ISDIR(int(str(after[path][0])))
        if TEMPORARY.fullmatch(path.rpartition("/")[2]):
            found.append(f"left a temporary file: {path}")
        elif not is_kept and (not is_named or (failed and not is_folder)):
            found.append(f"{how}{' by a failure' if failed and is_named else ''}: {path}")
    return found


def wrong_words(status, out, err, argv):
    """Return what is wrong with what a command said."""
    found = [f"exit status {status}"] if status not in (0, 1, 2) else []
    words = re.sub(r"\(.*\)", "()", err.split("Traceback")[0])
    found += [f"says {match[0]!r}" for match in [re.search(PYTHON, words) or re.search("Traceback", err)] if match]
    *_, last = err.strip("\n").split("\n")
    if status == 0 and "--json" in argv and "--cache --json" not in " ".join(argv) and not out.startswith("Usage"):
        try:
            json.loads(out)
        except ValueError:
            found.append("prints no JSON")
    if status in (1, 2) and not last.startswith("lookalike: "):
        found.append("no sentence at the end")
    elif status == 1:
        forms = ((word, str(Path(word)), Path(word).name, Path(word).stem, *word.split(",")) for word in argv[1:])
        names = {name for words in forms for name in words if name}
        if not any(escaped(name) in last.split(": ", 1)[1] for name in names) and not re.search(r"(^| )--?\w", last):
            found.append("names neither a file nor an option")
        if len(last) > 1100:
            found.append(f"a sentence of {len(last)} letters")
    elif status == 2 and "--help" not in last:
        found.append("does not name the help")
    return found


def chosen(seed, number):
    """Return the generator of a call, and the line chosen by it."""
    chance = random.Random(f"{seed} {number}")
    return chance, chance.choice(COMMANDS[chance.choice(sorted(COMMANDS))])


def refill(folder):
    """Make the working folder, the home and the temporary folder again, whatever permissions there are."""
    os.chdir(folder)
    if os.path.exists("box"):
        subprocess.run(["chmod", "-R", "u+rwX", "box"], check=True)
        shutil.rmtree("box")
    shutil.copytree("valid", "box/here", symlinks=True)
    os.mkdir("box/home")
    os.mkdir("box/tmp")
    os.chdir("box/here")


def prepare(folder, lines):
    """Make the inputs, call every line that will be called, which imports what is needed, and give up all rights.

    As nobody, this process may not be able to read the modules of an interpreter that belongs to somebody else.
    """
    os.environ.update(HOME=str(folder / "box/home"), TMPDIR=str(folder / "box/tmp"), COLUMNS="400")
    tempfile.tempdir = None
    make_inputs(folder / "valid")
    for line in lines:
        refill(folder)
        with redirect_stdout(io.StringIO()) as said, redirect_stderr(said):
            status = main(line.split())
        if status:
            raise RuntimeError(f"{line}: {said.getvalue()}")
        spoil(Call(folder / "box/here", line.split(), random.Random(line)))
    for encoding in (*ENCODINGS, "cp1252", "unicode_escape"):
        codecs.lookup(encoding)
    gc.freeze()  # or a child copies what its collector touches
    if os.geteuid() == 0:
        subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", folder], check=True)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def make_call(folder, seed, number):
    """Make one call of a command; return what is wrong with it, and nothing of a call that is as it should be."""
    chance, line = chosen(seed, number)
    refill(folder)
    call = Call(folder / "box/here", list(line), chance)
    kind = spoil(call)
    before = snapshot(folder / "box")
    status, out, err = run(folder, call.argv, DISK if kind == "full disk" else None, chance.choice(ENCODINGS))
    found = ["fails, and nothing was spoilt"] if status and kind == VALID else []
    found += wrong_words(status, out, err, call.argv)
    os.chdir(folder / "box")
    found += changes(before, snapshot(folder / "box"), call.argv, status != 0)
    return f"{seed} {number} ({kind}): {call.argv}\n  {found}\n  {err[-2000:]}" if found else ""


def work(folder, argv, disk, encoding):
    """Run a command line within its limits; what it says goes to two files."""
    os.setpgid(0, 0)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + in_use, MEMORY + in_use))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    for number, name in enumerate(("out", "err"), 1):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding, "backslashreplace", write_through=True)
    if disk is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
    sys.exit(main(argv))


def run(folder, *arguments):
    """Let a process of its own do the work; the status of one that hangs is 124, of one killed -signal."""
    process = multiprocessing.get_context("fork").Process(target=work, args=(folder, *arguments))
    process.start()
    process.join(PATIENCE)
    if hangs := process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    status = 124 if hangs else process.exitcode
    return status, *((folder / name).read_text("utf-8", "replace") for name in ("out", "err"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of the one call to make")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("a process with several threads cannot be forked: set OMP_NUM_THREADS=1")
    numbers = range(options.calls) if options.only is None else [options.only]
    n_failures = 0
    with tempfile.TemporaryDirectory(prefix="lookalike-fuzz-") as name, ExitStack() as at_end:
        folder = Path(name).absolute()
        at_end.callback(refill, folder)
        prepare(folder, {" ".join(chosen(options.seed, number)[1]) for number in numbers})
        for number in numbers:
            if failure := make_call(folder, options.seed, number):
                n_failures += 1
                print(failure, flush=True)
    print(f"{n_failures:,} of {len(numbers):,} calls failed")
    sys.exit(bool(n_failures))
