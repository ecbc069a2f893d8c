"""Hostile inputs: a folder in which every command works, and what a stranger, a disk or a slip may have done to it.

A kind of input is a function of a `Call`: it changes files or words of its command line, and returns False where it
has nothing to change. All draws are of the call's generator, so a seed and a number say a call.
"""

import os
import random
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from made_place import make_place

from lookalike.cli import main
from lookalike.features import bag_of_visterms

STEPS = "--learner OASIS --set n_steps=200"
LINES = f"""
fit photos --output new.lookalike --representation color --learner Euclidean
fit photos --labels labels.csv --output new.lookalike --representation hog {STEPS} --hold-out 0.25
fit photos --triplets judged.csv --output out/new.lookalike --representation color --set n_steps=200 --json
fit photos --words 8 --learner TFIDF --output new.lookalike
fit photos --representation w.lookalike --learner MMC --set max_iter=5 --cache cache
fit vectors.parquet --hold-out 0.25 --learner MCML --set max_iter=5
fit vectors.npy --labels labels.npy --learner LMNN --set max_iter=5 --output new.lookalike
fit vectors.npy --triplets triplets.csv --output new.lookalike {STEPS} --set aggressiveness=0.1
fit sparse.npz --labels ids.csv --learner DiagonalOASIS --set n_steps=200 --output new.lookalike
fit wide.csv --id-column id --label-column label --learner RCA --output new.lookalike
rank m.lookalike photos/red/1.png --gallery photos -k 2
rank m.lookalike photos/red/1.png photos/blue/2.png --gallery photos --html page.html --compare --cache cache
rank m.lookalike photos/red/1.png corrupt/red/broken.png --gallery g.lookalike --json
rank v.lookalike id-1 id-2 --gallery vectors.parquet --json
rank v.lookalike vectors.npy --gallery wide.csv -k 3
evaluate m.lookalike photos --cache cache
evaluate w.lookalike photos --labels labels.csv -k 1,3 --json
evaluate m.lookalike photos --triplets judged.csv
evaluate v.lookalike vectors.parquet --seed 3
evaluate v.lookalike vectors.npy --labels labels.npy --all
evaluate v.lookalike vectors.npy --triplets triplets.csv
features photos --output new.npy --representation color --cache cache
features photos --output new.npy --paths new.parquet --representation m.lookalike --learned gallery
features vectors.parquet --output new.npy --representation v.lookalike --learned queries --json
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
index m.lookalike photos --output g.lookalike --add photos/red/1.png --cache cache
index m.lookalike photos --output g.lookalike --remove red/2.png --json
export m.lookalike photos --to npy --cache cache
export v.lookalike vectors.parquet --to faiss --index HNSW8 --output exported
export v.lookalike vectors.npy --to npy --rank 2 --labels ids.csv --json
"""
COMMANDS: dict[str, list[list[str]]] = {}
for line in LINES.split("\n")[1:-1]:
    COMMANDS.setdefault(line.split()[0], []).append(line.split())

WORDS = {
    "values": """0 -1 1 2 1e309 nan -inf ² 0x10 true None a=b =1 {x} %s photos m.lookalike vectors.npy 0,1 1,,2 hog,nope
        all PCA9 IVF9999,Flat PQ7 texton n_steps=-1 n_steps=1e6 aggressiveness=nan aggressiveness=1e308 random_state=x
        psd=maybe max_iter=0 early_stopping=true validation_fraction=2 n_steps=9999999999999999 9999999999999999999""",
    "options": """--json --quiet --compare --all --no-cache --learned --rank -k --seed --jobs --to --index --pool
        --words --set --labels --triplets --learner --hold-out --nonsense""",
    "names": "it's -rf --help %s{0} nan a,b ~ * $(id) .hidden CON. =1+1",
}
VALUES = ["", "é" * 300, "a\nb", os.fsdecode(b"\xff"), *WORDS["values"].split()]
OPTIONS = WORDS["options"].split()
NAMES = ["a b", 'say "x"', "täg 図", "a\nb", "x" * 240, os.fsdecode(b"\xff\xfe"), "\u202eexe", "\x1b[31m", "end "]
NAMES += WORDS["names"].split()
bag_of_visterms.N_PIXELS = 4000  # to learn colours from, which is most of the time of a fit


@dataclass
class Call:
    """A command line in a folder, and the generator that spoils both."""

    here: Path
    argv: list[str]
    random: random.Random

    def pick(self, *suffixes: str) -> Path | None:
        """Return a file that the command line names, or one in a folder that it names, or such a folder; or None."""
        named = [self.here / word for word in self.argv[1:] if word and os.path.exists(self.here / word)]
        inside = [path for folder in named if folder.is_dir() for path in sorted(folder.rglob("*"))]
        inside = self.random.sample(inside, min(len(inside), 3))  # else most would lie in folders
        found = [path for path in [*named, *inside] if not suffixes or (path.suffix in suffixes and path.is_file())]
        return self.random.choice(found) if found else None


def make_inputs(here: Path) -> None:
    """Make a folder in which every line of `LINES` works, and make it the working folder."""
    from lookalike.deep.configuration import SMALL  # torch takes seconds, and few calls need it
    from lookalike.deep.model_io import save_network
    from lookalike.deep.network import DeepRankingNetwork

    make_place(here)
    os.chdir(here)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(24, 6)) + np.repeat(np.eye(3, 6) * 3, 8, axis=0)).astype(np.float32)
    ids, labels = [f"id-{i}" for i in range(24)], np.repeat(["a", "b", "c"], 8)
    np.save("vectors.npy", X)
    np.save("labels.npy", labels)
    sp.save_npz("sparse.npz", sp.csr_array(np.where(X > 0, X, 0)))
    pd.DataFrame({"id": ids, "label": labels, "vector": list(X)}).to_parquet("vectors.parquet")
    wide = pd.DataFrame(X).add_prefix("x")
    wide.assign(id=ids, label=labels).to_csv("wide.csv", index=False)
    pd.DataFrame({"id": range(24), "label": labels}).to_csv("ids.csv", index=False)
    triplets = [(i, (i + 1) % 8 + i // 8 * 8, (i + 8) % 24) for i in range(24)]
    columns = ["query", "positive", "negative"]
    pd.DataFrame(triplets, columns=columns).to_csv("triplets.csv", index=False)
    paths = [f"{colour}/{i}.png" for colour in ("blue", "green", "red") for i in range(8)]
    pd.DataFrame([[paths[i] for i in row] for row in triplets], columns=columns).to_csv("judged.csv", index=False)
    rated = [str(path.relative_to("release")) for path in sorted(Path("release").rglob("*.png"))]
    pd.DataFrame(rng.normal(size=(len(rated), 3))).add_prefix("x").assign(path=rated).to_csv("rated.csv", index=False)
    save_network(DeepRankingNetwork(SMALL, random_state=0), "net.lookalike", {"system": "deep-ranking", "shift": 2})
    for line in (
        f"fit vectors.parquet --output v.lookalike --hold-out 0.25 {STEPS}",
        f"fit photos --output w.lookalike --words 8 {STEPS} --no-cache",
        "index m.lookalike photos --output g.lookalike --cache cache",
        "features photos --output a.npy --representation hog --cache cache",
    ):
        if main([*line.split(), "--quiet"]):
            raise RuntimeError(line)
    for name in ("a.npy", "a.csv"):
        Path(name).unlink()


def spoil_bytes(call: Call) -> bool:
    """Flip, cut off, insert, repeat or replace bytes of a file."""
    if (path := call.pick()) is None or not path.is_file():
        return False
    content, draw = path.read_bytes(), call.random
    place = draw.randrange(len(content) + 1) if draw.random() < 0.5 else draw.randrange(min(len(content), 200) + 1)
    noise = draw.randbytes(draw.choice([1, 2, 8, 100]))
    rest = content[place:]
    spoilt = [b"", noise, content[:place], content[:place] + noise + rest, content[:place] + rest[len(noise) :]]
    spoilt += [content[:place] + noise + rest[len(noise) :], content * 2, content.replace(b"\n", b"\r")]
    spoilt += [content[:place] + bytes([rest[0] ^ 1 << draw.randrange(8)]) + rest[1:] if rest else noise * 99]
    spoilt += [b"\xef\xbb\xbf" + content, content + b"\0" * 100]
    others = "m.lookalike", "vectors.npy", "labels.csv", "photos/red/1.png"
    spoilt += [(call.here / name).read_bytes() for name in others if (call.here / name).is_file()]
    path.write_bytes(draw.choice(spoilt))
    return True


def spoil_vectors(call: Call) -> bool:
    """Write vectors or labels of a wrong shape, type or value, or a file that says it holds far more than it does."""
    if (path := call.pick(".npy", ".npz", ".parquet")) is None:
        return False
    draw = call.random
    X = np.random.default_rng(draw.randrange(100)).normal(size=(24, 6))
    X[draw.randrange(24), draw.randrange(6)] = draw.choice([0, 1, np.nan, np.inf, 1e308, 1e39, 5e-324])
    with np.errstate(all="ignore"):
        arrays = [X, X[:, :0], X[:0], X[0], X[None], X[:1], X[:, :5], np.float64(3), X * 0, X * 0 + 7, X * 1e160]
        arrays += [X.astype(kind) for kind in ("e", "c8", "O", "U", ">f8", "g", "?")] + [np.array(["a", "b"] * 12)]
    array = draw.choice(arrays)
    if path.suffix == ".npy" and draw.random() < 0.3:
        text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117).encode()
        path.write_bytes(b"\x93NUMPY\x01\x00" + draw.choice([118, 9999]).to_bytes(2, "little") + text + bytes(100))
    elif path.suffix == ".npy":
        np.save(path, array, allow_pickle=True)
    elif path.suffix == ".npz":
        csr = sp.csr_array(np.where(X > 0, X, 0))
        stored = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": csr.shape, "format": b"csr"}
        stored[draw.choice(list(stored))] = draw.choice([array, csr.indices[:1], [2**62, -1], b"no"])
        np.savez(path, **stored, allow_pickle=True)
    else:
        rows = [list(X), [*X[:23], X[0][:3]], [*X[:23], None], ["a"] * 24, [[]] * 24, list(X.astype(str))]
        ids = [range(24), ["a"] * 24, [None] * 24, ["a\n"] * 2 + ["b"] * 22]
        table = pd.DataFrame({"id": draw.choice(ids), "vector": draw.choice(rows)})
        table.head(draw.choice([24, 24, 1, 0]))[draw.choice([["id", "vector"], ["id"], []])].to_parquet(path)
    return True


def spoil_name(call: Call) -> bool:
    """Give a file, a folder or an output another name, and call it so where the command line does."""
    name, draw = call.random.choice(NAMES), call.random
    outputs = [place + 1 for place, word in enumerate(call.argv[:-1]) if word in ("--output", "--html", "--paths")]
    if outputs and draw.random() < 0.4:
        place = draw.choice(outputs)
        call.argv[place] = name + Path(call.argv[place]).suffix
        return True
    if (path := call.pick()) is None or not path.exists():
        return False
    target = path.with_name(name + draw.choice([path.suffix, path.suffix, path.suffix.upper(), ""]))
    path.rename(target)
    old, new = (str(it.relative_to(call.here)) for it in (path, target))
    call.argv[1:] = [new if word == old else word.replace(f"{old}/", f"{new}/") for word in call.argv[1:]]
    return True


def _replace(call: Call, path: Path) -> bool:
    """Put what is no file, or no folder, in place of what is there."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    match call.random.randrange(10):
        case 0 | 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to(path.name)
        case 3:
            path.symlink_to("nowhere")
        case 4:
            path.mkdir()
        case 5:
            path.symlink_to(call.here)
        case 6:
            os.mknod(path, stat.S_IFSOCK)
        case 7:
            os.mkfifo(pipe := path.with_name(f"pipe{call.random.random()}"))
            path.symlink_to(pipe)
        case 8:
            path.touch()
            os.truncate(path, 5 * 2**30 if path.suffix == ".lookalike" else 2**29)  # a file of holes
        case _:
            path.touch()
    return True


def spoil_kind(call: Call) -> bool:
    """Put a pipe, a loop of links, a socket, a folder, an endless file or nothing in place of an input or output."""
    named = {"new.lookalike", "new.npy", "table.csv", "page.html", "exported", "counts"}.intersection(call.argv)
    if named and call.random.random() < 0.3:
        return _replace(call, call.here / min(named))
    if call.random.random() < 0.2 and (folder := call.pick()) is not None and folder.is_dir():
        (folder / "up").symlink_to("..")
        return True
    path = call.pick()
    return path is not None and os.path.lexists(path) and _replace(call, path)


def spoil_permissions(call: Call) -> bool:
    """Take permissions of a file, a folder or the working folder away."""
    path = call.here if call.random.random() < 0.2 else call.pick()
    if path is None or not path.exists():
        return False
    path.chmod(call.random.choice([0, 0o200, 0o400, 0o444, 0o500, 0o555, 0o100, 0o300]))
    return True


def spoil_options(call: Call) -> bool:
    """Change, drop, repeat or add a word of the command line."""
    draw, argv = call.random, call.argv
    place = draw.randrange(1, len(argv)) if len(argv) > 1 else 0
    match draw.randrange(8):
        case 0 if place:
            del argv[place]
        case 1:
            argv.insert(place, argv[place])
        case 2 | 3:
            argv += [draw.choice(OPTIONS), draw.choice(VALUES)]
        case 4:
            argv.append(draw.choice(OPTIONS))
        case 5:
            argv += ["--set", draw.choice([value for value in VALUES if "=" in value])]
        case _:
            argv[place] = draw.choice(VALUES)
    return True


def leave(call: Call) -> bool:
    """Change nothing."""
    return True


VALID = "as it should be"
# in the order in which a call is spoilt by two of them: the later ones need not understand what they spoil
KINDS: dict[str, Callable[[Call], bool]] = {
    VALID: leave,
    "full disk": leave,
    "vectors": spoil_vectors,
    "bytes": spoil_bytes,
    "name": spoil_name,
    "option": spoil_options,
    "special file": spoil_kind,
    "permissions": spoil_permissions,
}


def spoil(call: Call) -> str:
    """Spoil a call in one way, or now and then in two, and return the last."""
    names, draw = list(KINDS), call.random
    chosen = {draw.choice(names), draw.choice(names)} if draw.random() < 0.2 else {draw.choice(names)}
    done = [name for name in names if name in chosen and KINDS[name](call)]
    return done[-1] if done else spoil(call)
