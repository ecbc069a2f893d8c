"""Call the commands on odd inputs and judge what they do: `python benchmarks/fuzz_commands.py --folder FOLDER`.

A seed and a call's number decide all of it. A call that does wrong keeps its folder, and `--only N` makes call N again.
For root alone: some calls are made as a normal user, and in a call's folder there may be devices like null and zero.
"""

import argparse
import codecs
import contextlib
import hashlib
import io
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import socket
import stat
import sys
import traceback
import zipfile
import zlib
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")  # for fork

import numpy as np
from PIL import Image, PngImagePlugin
from safetensors.numpy import load, save

from lookalike.cli import main as lookalike

codecs.lookup("cp1252")  # loaded before the fork: a normal user may not reach the interpreter's files

NORMAL_USER, MOST_LINES, CACHE = 65534, 12, ".lookalike-cache"
OUTPUTS = ("--output", "--paths", "--html", "--cache")
RAW = re.compile(r"\w+Warning\b|site-packages|lookalike/\w+\.py|<class '|\w+Error\(|object at 0x")
CRAFTED = [-1, 0, 1, 7, 20_000, 12_000_000, 2**31, 2**63, 1e308, float("nan"), float("inf"), None, "", [], [[1]], {}]
DAMAGED = (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
# fmt: off
VALUES = ["0", "-1", "1e20", "nan", "inf", "٣", "1,5,10", ",", "-", "--", ".", "photos", "{}", "[1,2", "labels.csv", "",
          " ", "a\nb", "x" * 5000, "9" * 30, "\u202egnp.x", "\udcff", "-k", "--help", "--json", "--wrong", "--set", "=",
          "--model", "n_steps=1e20", "n_steps=-1", "aggressiveness=nan", "early_stopping=maybe", "dtype=object",
          "--words=99999999", "--jobs=100000", "--seed=99999999999999999999", "-k=10000000", "--hold-out=1"]
CELLS = ["nan", "None", "<NA>", "1e20", str(2**63), "-1", "٣", "a;b", 'x"y', '"', "\u202e", "\0", "../query.png", "",
         "/", "red\\0.png", "RED/0.PNG", "photos/red/0.png", " ", "é", "e\u0301", "TRUE", "9" * 400]
NAMES = ["\udcff.png", "a\nb.png", "\u202egnp.exe.png", " lead.png", "-k.png", "x" * 250 + ".png", "no", ".png",
         "UPPER.PNG", "e\u0301.png", 'a,b".png', "a;b.png", "'q' $(x).png", "\\back.png"]
# fmt: on


def make_sound_inputs() -> None:
    """Write small inputs by the commands themselves: that compiles and imports all that calls need."""
    pixels = np.random.default_rng(0)
    photos = [f"{['red', 'green', 'blue'][n % 3]}/{n}.{['png', 'jpg'][n % 2]}" for n in range(12)]
    rated = [f"rated/t{n // 3}/{'QPN'[n % 3]}.png" for n in range(9)]
    for number, name in enumerate([*(f"photos/{path}" for path in photos), *rated, "query.png"]):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        most = 90 + 80 * np.eye(3, dtype=int)[number % 3]
        Image.fromarray(pixels.integers(0, most, (48, 64, 3), np.uint8)).save(name)
    Path("labels.csv").write_text("\n".join(["path,label", *(f"{path},{path.split('/')[0]}" for path in photos)]))
    triplets = zip(photos, photos[3:], photos[1:], strict=False)
    Path("triplets.csv").write_text("\n".join(["query,positive,negative", *map(",".join, triplets)]))
    near = [f"{photos[n]},{photos[(n + rank) % 12]},{rank}" for n in range(12) for rank in range(1, 5)]
    Path("neighbours.csv").write_text("\n".join(["query_path,path,rank", *near]))
    pairs = [f"t{n},t{n}/Q.png,t{n},t{n}/{end}.png,{sign},car" for n in range(3) for end, sign in (("P", 1), ("N", -1))]
    columns = "Image1,Image1_Path,Image2,Image2_Path,Similarity,Text Query"
    Path("rated/ratings.csv").write_text("\n".join([columns, *pairs]))
    for name, words in (("hog", ""), ("color", ""), ("visterms", "--words 10")):
        how = f"--representation {name} {words} --set n_steps=100 --hold-out 0.4"
        assert lookalike(f"fit photos --output {name}.lookalike {how}".split()) == 0
        assert lookalike(f"rank {name}.lookalike query.png --gallery photos --html page.html".split()) == 0
        assert lookalike(f"evaluate {name}.lookalike photos".split()) == 0
    drawn = "--neighbours neighbours.csv --queries 2 --retrieved 2 --random 2"
    assert lookalike(f"rate plan.csv --images photos --output page.html {drawn}".split()) == 0
    from lookalike.deep import configuration, model_io, network
    from lookalike.studies.human.questionnaire import plan_fingerprint, read_plan

    plan = read_plan("plan.csv")
    answers = [f"{plan_fingerprint(plan)},Ada,{row.query},{row.position},good,true,true" for row in plan.itertuples()]
    Path("ada.csv").write_text("\n".join(["plan,rater,query,position,answer,answered,done", *answers]))
    assert lookalike(["ratings", "plan.csv", "ada.csv", "--output", "table.parquet"]) == 0
    layers = (configuration.ConvolutionLayer(6, 5, padding=2, normalised=True, pool=2, pool_stride=2),)
    tiny = configuration.NetworkConfiguration("tiny", 16, layers, (24, 12), (), 8, multiscale=False)
    model_io.save_network(network.DeepRankingNetwork(tiny), "network.lookalike", {"shift": 2})
    measured = ["--model", "network.lookalike", "--features", "color,hog,wavelet"]
    assert lookalike(["evaluate-triplets", "rated", *measured, "--output", "table.csv"]) == 0


def draw_arguments(rng: random.Random) -> list[str]:
    """Return a sound command line; what is written goes into the folder ``out`` or a cache."""
    name = rng.choice(["hog", "color", "wavelet", "visterms", "visterms.lookalike", "hog.lookalike"])
    model, json_too = rng.choice(["hog", "color", "visterms"]) + ".lookalike", rng.choice(["", "--json"])
    tables = rng.choice(["", "--labels labels.csv", "--triplets triplets.csv"]) + rng.choice(["", f" --cache {CACHE}"])
    how = f"--representation {name}{' --words 10' if name == 'visterms' else ''}"
    vectors = rng.choice(["x.npz", "x.npy", "x"]) if "visterms" in name else "x.npy"
    page, table = "--images photos --output out/x.html", rng.choice(["", "--output out/x.csv"])
    measured = rng.choice(["--features color", "--features hog,wavelet", *["--model network.lookalike"] * 2])
    lines = [
        f"fit photos --output out/x.lookalike {tables} {how} {rng.choice(['--set n_steps=50', '--learner Euclidean'])}",
        f"rank {model} query.png photos/red/0.png --gallery photos -k 3 --compare --html out/x.html",
        f"evaluate {model} photos {tables}",
        f"features photos --output out/{vectors} {how} {rng.choice(['', '--paths out/p.csv'])}",
        f"info {model}",
        f"rate plan.csv {page}",
        f"rate out/plan.csv {page} --neighbours neighbours.csv --queries 2 --retrieved 2 --random 2",
        f"ratings plan.csv ada.csv {table}",
        *[f"evaluate-triplets rated {measured} {table}"] * 2,
    ]
    return f"{rng.choice(lines)} {json_too}".split()


def read_files(arguments: list[str]) -> list[Path]:
    """Return the files that a command line has the command read, with those in its folders, but for caches."""
    named = [Path(text) for before, text in pairwise(arguments) if before not in OUTPUTS and 1 < len(text) < 250]
    found = [path for path in named if os.path.lexists(path)]
    return sorted({path for name in found for path in [name, *name.rglob("*")] if not path.is_dir()})


def in_bytes(path: Path, rng: random.Random) -> None:
    whole = path.read_bytes()
    flipped, cut = bytearray(whole), rng.randrange(len(whole) + 1)
    for _ in range(rng.choice([1, 3, 30])):
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    noise = rng.randbytes(rng.randrange(3000))
    path.write_bytes(rng.choice([bytes(flipped), bytes(flipped), whole[:cut], b"", whole[cut:], noise, whole + noise]))


def in_table(path: Path, rng: random.Random) -> None:
    rows = [line.split(",") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    for _ in range(rng.choice([1, 1, 5])):
        place, row = rng.randrange(len(rows)), list(rng.choice(rows))
        cell = rng.randrange(len(row))
        row[cell : cell + rng.randrange(2)] = rng.choice([[], [rng.choice(CELLS)], [rng.choice(CELLS)], ["", ""]])
        rows[place : place + rng.randrange(2)] = [row]
    text = "".join(",".join(row) + "\n" for row in rows)
    text = rng.choice([text] * 6 + [text.replace(",", ";"), text.replace("\n", "\r"), "", rows[0][0], '"' + text])
    path.write_bytes(text.encode(rng.choice(["utf-8"] * 5 + ["utf-16", "utf-8-sig", "utf-32"]), "replace"))


def edit(value: dict | list, rng: random.Random) -> None:
    place = rng.choice(sorted(value)) if isinstance(value, dict) else rng.randrange(len(value))
    if isinstance(value[place], dict | list) and value[place] and rng.random() < 0.9:
        edit(value[place], rng)
    else:
        value[place] = rng.choice(CRAFTED)


def in_model(path: Path, rng: random.Random) -> None:
    """Craft a model: its JSON text, its list of arrays, or an array that holds what is no number."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8:start]), bytearray(content[start:])
    about = json.loads(header.pop("__metadata__")["lookalike"])
    first = header[rng.choice(sorted(header))]
    if rng.random() < 0.3:
        start = first["data_offsets"][0]
        data[start : start + 8] = b"\xff" * 8
    elif rng.random() < 0.2:  # gigabytes
        first["shape"] = [rng.choice([10**5, 10**9, 10**15]), 4096]
    else:
        parts = ("representation", "learner", "fitted", "configuration")
        edit(rng.choice([header, about, *[about[name] for name in parts if name in about]]), rng)
    text = json.dumps(header | {"__metadata__": {"lookalike": json.dumps(about)}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def in_entry(path: Path, rng: random.Random) -> None:
    """Craft an entry of a cache whose checksum is right: its numbers, its shapes, or much more than it may hold."""
    arrays = load(zlib.decompress(path.read_bytes()[32:]))
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    numbers = array * np.nan if array.dtype.kind == "f" else array[:0]
    arrays[name] = rng.choice([numbers, numbers, array[..., None], np.zeros(2**28, np.uint8)])
    packed = zlib.compress(save(arrays), level=1)
    path.write_bytes(hashlib.sha256(path.parent.name.encode() + packed).digest() + packed)


def in_image(path: Path, rng: random.Random) -> None:
    with Image.open(path) as opened:
        image, comment = opened.convert("RGB"), PngImagePlugin.PngInfo()
    comment.add_text("comment", "x" * 3_000_000, zip=True)
    changed, how = rng.choice(
        [
            (image.resize((rng.choice([1, 31, 3000]), rng.choice([1, 40]))), {}),
            (image, {"pnginfo": comment}),
            (image, {"icc_profile": bytes(2_000_000)}),
            (image.convert("CMYK"), {"format": "TIFF"}),
            (image.quantize(2), {"format": "GIF"}),
            (Image.fromarray(np.full((40, 40), 40_000, np.uint16)), {}),
            (Image.new("RGB", (64, 48), rng.choice(["black", "white"])), {}),
            (Image.new("1", (20_000, 20_000)), {}),
        ]
    )
    changed.save(path, **({"format": "PNG"} | how))


def to_special(path: Path, rng: random.Random) -> None:
    """Replace a file by what is no regular file, or by a link; nothing of it leaves the call's folder."""
    kept = path.rename(path.with_name(f"kept{path.suffix}"))
    kind = rng.choice(["nowhere", path.name, kept.name, "hard", "folder", "socket", "pipe", "pipe", 3, 5])
    makers = {
        "hard": lambda: os.link(kept, path),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "socket": lambda: socket.socket(socket.AF_UNIX).bind(str(path)),
    }
    if isinstance(kind, int):  # a node of its own
        makers[kind] = lambda: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, kind))
    makers.get(kind, lambda: path.symlink_to(kind))()


def in_files(damage, suffixes: str, arguments: list[str], rng: random.Random) -> bool:
    """Damage one, some or all of the files that a call reads, those of some suffixes or of its cache."""
    found = [path for path in read_files(arguments) if not suffixes or (path.suffix and path.suffix in suffixes)]
    if suffixes == "cache":
        found = sorted(Path(CACHE).rglob("*.kept")) if arguments[0] in ("fit", "rank", "evaluate", "features") else []
    for path in rng.sample(found, min(len(found), rng.choice([1, 1, 2, 99]))):
        with contextlib.suppress(*DAMAGED):  # already, by another kind
            if path.is_file() and not path.is_symlink():
                damage(path, rng)
    return bool(found)


def in_names(arguments: list[str], rng: random.Random) -> bool:
    """Give a file an odd name; arguments and tables name it so, or nearly so."""
    found = [path for path in read_files(arguments) if path.is_file()]
    if not found:
        return False
    path = rng.choice(found)
    new = path.rename(path.with_name(rng.choice(NAMES)))
    named = rng.choice([str, str, str.lower, lambda name: name.replace("e\u0301", "é"), "./{}".format])(str(new))
    arguments[:] = [named if text == str(path) else text for text in arguments]
    short, shortened = (os.fsencode(name.removeprefix("photos/")) for name in (str(path), named))
    for table in filter(Path.is_file, Path().glob("*.csv")):
        table.write_bytes(table.read_bytes().replace(short, shortened))
    return True


def in_options(arguments: list[str], rng: random.Random) -> bool:
    place = rng.randrange(1, len(arguments))
    arguments[place : place + rng.randrange(2)] = rng.choice([[], [rng.choice(VALUES)], [rng.choice(VALUES)]])
    return True


def in_outputs(arguments: list[str], rng: random.Random) -> bool:
    """Name as output what is there already, or what should not be written."""
    there = [path for path in read_files(arguments) if path.is_file()]
    place = next((place for place, text in enumerate(arguments) if text.startswith("out/")), None)
    if place is None or not there:
        return False
    path, given = Path(arguments[place]), rng.choice(there)
    kind = rng.choice(["old", "special", "link", "name", "input"])
    names = ["x.jpg", "x", "x.CSV", "x" * 300, "a\nb.csv", "", f"a/b{path.suffix}", f"\u202e{path.suffix}"]
    if kind == "link":
        path.symlink_to(os.path.relpath(given, path.parent))
    elif kind in ("name", "input"):
        arguments[place] = str(given) if kind == "input" else f"out/{rng.choice(names)}"
    else:
        Path(shutil.copy(given, path)).chmod(0o600)
        _ = to_special(path, rng) if kind == "special" else None
    return True


def without_permission(arguments: list[str], rng: random.Random) -> bool:
    """Give everything to a normal user, who will call, and take a permission of the user."""
    chosen = rng.choice([*read_files(arguments), *[Path(name) for name in ("photos", "out", ".", CACHE)] * 3])
    for path in [Path(), *Path().rglob("*")]:
        os.chown(path, NORMAL_USER, -1, follow_symlinks=False)
    if not chosen.is_symlink():
        chosen.chmod(0o555 if chosen == Path() else rng.choice([0, 0o555, 0o444, 0o333]))
    return True


KINDS = {
    "sound": lambda *_: True,
    "full disk": lambda *_: True,
    "options": in_options,
    "outputs": in_outputs,
    "names": in_names,
    "permissions": without_permission,
    "special files": partial(in_files, to_special, ""),
    "bytes": partial(in_files, in_bytes, ""),
    "tables": partial(in_files, in_table, ".csv"),
    "images": partial(in_files, in_image, ".png .jpg"),
    "models": partial(in_files, in_model, ".lookalike"),
    "cache bytes": partial(in_files, in_bytes, "cache"),
    "cache arrays": partial(in_files, in_entry, "cache"),
}


def state_of(folder: Path) -> dict[str, tuple]:
    """Return type, mode, size, time and content of everything in a folder."""
    state: dict[str, tuple] = {}
    for path in folder.rglob("*"):
        facts, content = path.lstat(), os.readlink(path) if path.is_symlink() else ""
        if stat.S_ISREG(facts.st_mode):
            content = (
                hashlib.sha256(path.read_bytes()).hexdigest()
                if facts.st_size < 2**20
                else f"{facts.st_size} {facts.st_mtime_ns}"
            )
        state[str(path.relative_to(folder))] = facts.st_mode, facts.st_rdev, content
    return state


def changes(before: dict[str, tuple], after: dict[str, tuple], arguments: list[str], read: set[str]) -> list[str]:
    """Name what a call changed: anything but its outputs and the folders to them; an output keeps its type and mode."""
    named = {text for option, text in pairwise(arguments) if option in OUTPUTS}
    named |= set(arguments[1:2]) if "--neighbours" in arguments else set()
    named |= {str(Path(text).with_suffix(".csv")) for text in named if Path(text).name}  # the table beside vectors
    named |= {f"{Path(text).name}.lookalike" for text in arguments} if arguments[0] == "fit" else set()
    outputs = {os.path.relpath(os.path.realpath(text)) for text in named if text and "\0" not in text}
    wrong = []
    for name in sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        old, new = before.get(name), after.get(name)
        is_output = any(name == path or name.startswith(f"{path}/") for path in outputs) and name not in read
        keeps = old is None or (new is not None and stat.S_ISREG(old[0]) and old[0] == new[0])
        is_way = old is None and stat.S_ISDIR(new[0]) and any(path.startswith(f"{name}/") for path in outputs)
        is_cached = CACHE in Path(name).parts and ".part" not in name
        if not (is_way or is_cached or (is_output and keeps)):
            wrong.append(f"{'makes' if old is None else 'removes' if new is None else 'changes'} {name!r}")
    return wrong


def run(arguments: list[str], kinds: list[str], said: Path, seconds: int) -> int:
    """Run a command in a forked process with limits; return its exit status, below 0 for a signal."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        for number, end in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(said.with_suffix(end), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        signal.alarm(seconds)  # ends the process wherever it waits
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limits = {"AS": used + 4 * 2**30, "CPU": seconds, "CORE": 0, "FSIZE": 9000 if "full disk" in kinds else 2**30}
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
        if "permissions" in kinds:
            os.setgroups([])
            os.setgid(NORMAL_USER)
            os.setuid(NORMAL_USER)
        status = lookalike(arguments)
    except BaseException:  # noqa: BLE001 (as the interpreter would)
        traceback.print_exc()
    finally:
        os._exit(status)


def judge(status: int, said: Path) -> list[str]:
    """Say what is wrong with how a command ended and what it wrote to its two streams."""
    out, err = (said.with_suffix(end).read_text(errors="surrogateescape") for end in (".out", ".err"))
    if "Traceback" in err:
        return [f"traceback: {err.strip().splitlines()[-1]}"]
    raw, unprintable = RAW.search(err), {letter for letter in out + err if not letter.isprintable()} - {"\n", "\r"}
    found = {
        f"ends with {status}{' (hangs)' * (status == -signal.SIGALRM)}": status not in (0, 1, 2),
        f"raw: {raw and err[max(0, raw.start() - 80) : raw.end() + 40]!r}": raw,
        f"{len(err.splitlines())} lines of error": len(err.splitlines()) > MOST_LINES,
        "no sentence": status in (1, 2) and not re.search("^lookalike: ", err, re.MULTILINE),
        f"unprintable: {sorted(unprintable)}": unprintable,
    }
    return [reason for reason, holds in found.items() if holds]


def call(number: int, seed: int, folder: Path, seconds: int) -> tuple[list[str], list[str], list[str]]:
    """Make the files of a call, run it and judge it; return its arguments, kinds of inputs and faults."""
    place, said = folder / "calls" / f"{number:05}", folder / "calls" / f"{number:05}.txt"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "sound", place)
    os.chdir(place)
    Path("out").mkdir()
    rng, kinds = random.Random(f"{seed} {number}"), []
    arguments, wanted = draw_arguments(rng), rng.choice([1, 1, 2])
    for kind in rng.sample(sorted(KINDS), len(KINDS)):
        kinds += [kind] if len(kinds) < wanted and KINDS[kind](arguments, rng) else []
    before, read = state_of(place), {str(path) for path in read_files(arguments)}
    faults = judge(run(arguments, kinds, said, seconds), said) + changes(before, state_of(place), arguments, read)
    os.chdir(folder)
    return arguments, kinds, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="a folder of its own, which any user may enter")
    for name, default in (("calls", 2000), ("seed", 0), ("seconds", 20), ("only", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    folder = options.folder.resolve()
    shutil.rmtree(folder / "sound", ignore_errors=True)
    (folder / "sound").mkdir(parents=True)
    os.chdir(folder / "sound")
    with contextlib.redirect_stdout(io.StringIO()):
        make_sound_inputs()
    sys.stdout.reconfigure(errors="backslashreplace")
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(options.calls) if options.only is None else [options.only]:
        arguments, kinds, faults = call(number, options.seed, folder, options.seconds)
        counts.update((arguments[0], kind) for kind in kinds)
        if faults:
            counts["", "with faults"] += 1
            line = f"{number}: {shlex.join(arguments)[:300]} ({', '.join(kinds)}): {'; '.join(faults)[:600]}"
            print(line.replace("\n", "\\n"), flush=True)
        elif options.only is None:
            shutil.rmtree(folder / "calls" / f"{number:05}")
    for (command, kind), count in sorted(counts.items()):
        print(f"{command:18}{kind:20}{count:6}")
    return 1 if counts["", "with faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
