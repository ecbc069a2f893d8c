"""Every mistake in the input of a command is one sentence, and changes no file."""

import os
import shutil
from contextlib import chdir
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from made_place import COUNTED, X, array, arrow, content, csv, frame

import lookalike
from lookalike import Similarity
from lookalike.app.rows import VECTORS
from lookalike.studies.finegrained import own_triplets

PLAN = "--neighbours neighbours.csv --queries 3 --retrieved 2 --random"
RANK = "rank m.lookalike photos/red/1.png --gallery"
COLOR = "--representation color"
MISTAKES = [  # a line, and what it says
    ("fit nowhere", "there is no folder nowhere"),
    ("fit empty", "empty holds no class folders"),
    ("fit photos --output photos.lookalike --learner Oases", "there is no learner 'Oases'"),
    ("fit photos --set n_steps=1 --set n_steps=2", "a setting is given twice"),
    ("fit photos --learner OASIS --set agressiveness=1", "OASIS has no setting 'agressiveness': it takes aggressiv"),
    ("fit photos --learner OASIS --set n_steps=many", "OASIS cannot learn: n_steps must be a whole number"),
    ("fit photos --learner OASIS --set early_stopping=1", "early_stopping of OASIS cannot be '1'"),
    ("fit photos --learner OASIS --set random_state=1", "use --seed"),
    ("fit photos --learner OASIS --set aggressiveness=-1", "aggressiveness must be"),
    ("fit photos --learner Euclidean --set n_steps=1", "it has none"),
    ("fit photos --triplets a --learner RCA", "RCA does not learn from triplets: take one of Euclidean"),
    ("fit photos --labels a --triplets b", "give --labels or --triplets"),
    (f"fit photos --triplets judged.csv --hold-out 0.99 {COLOR}", "all triplets belong to held-out queries"),
    ("fit photos --representation sifter", "there is no representation 'sifter'"),
    ("fit photos --representation hog --words 5", "--words is for visterms that are learned, not for hog"),
    ("fit photos --representation m.lookalike --words 5", "not for m.lookalike: leave it out"),
    ("fit photos --representation m.lookalike --output m.lookalike", "would be written over m.lookalike"),
    ("fit photos --id-column id", "photos is no file of vectors, so it has no columns"),
    ("fit v.npy", "v.npy has no labels: give labels or triplets by id in a file, by --labels or"),
    ("fit v.npy --label-column kind", "v.npy has rows and no columns by name, so none named kind"),
    ("fit v.csv --id-column sku --label-column kind", "v.lookalike is the model of v.npy: name that of v.csv by --out"),
    ("fit v.csv --output new.lookalike --id-column no", "has 0 columns of the name no, and needs one: it has d0, d1"),
    ("fit v.npy --labels classes.csv", "where ids are row numbers from 0; and 35 more): correct its ids, or save one"),
    ("fit v.npy --labels wide.parquet", "wide.parquet is no table of labels: give a CSV file, or"),
    ("fit v.npy --triplets triplets.csv", "holds no triplet of three ids of v.npy (x0: it has no row in v.npy"),
    ("fit v.npy --labels y.npy --representation hog", "v.npy holds vectors, and images are described by hog: name a"),
    ("fit v.npy --labels y.npy --words 9", "--words is for images, and v.npy holds vectors: leave it out"),
    ("rank none.lookalike photos/red/1.png --gallery photos", "there is no model none.lookalike"),
    (f"{RANK} photos --html p.txt", "p.txt must end in .html"),
    (f"{RANK} g --compare", "has no vectors before learning"),
    (f"{RANK} m.lookalike", "m.lookalike is one file, and an index is a folder now: run lookalike index again"),
    (f"{RANK} cut", "the bytes of gallery.npy are not those that were written): make it again with lookalike index"),
    (f"{RANK} moved/g", "there is no folder moved/photos"),
    ("rank other.lookalike q.png --gallery g", "was described by another model than other.lookalike"),
    ("rank v.lookalike x3 --gallery v.npy", "v.npy has no row of the id x3: name ids in it, or one file of vectors"),
    ("rank v.lookalike 3 --gallery photos", "photos is no file of vectors of 6 dimensions: name one that ends in .npy"),
    ("rank v.lookalike 3 --gallery v.npz", "v.npz is sparse, and the model compares dense vectors: save it as .npy"),
    ("rank v.lookalike 3 --gallery w.npy", "w.npy has 4 dimensions, and the model compares vectors of 6: give"),
    ("rank v.lookalike 3 --gallery v.npy --html p.html", "a page shows images, and v.lookalike ranks vectors"),
    ("evaluate m.lookalike v.npy --labels y.npy", "v.npy holds vectors, and images are described by color: name a"),
    ("features photos --output v.txt", "v.txt must end in .npz or .npy"),
    (f"features photos --output labels.npy {COLOR}", "labels.csv exists and was not written by"),
    (f"features photos --output new.npy --paths linked.csv {COLOR}", "be written over new.npy"),
    (f"features photos --output photo.npy {COLOR}", "photo.npy is a link to"),
    ("features v.npy --output f.npz --representation v.lookalike", "vectors of vectors are dense: name a file that"),
    ("features v.npy --output v.npy --representation v.lookalike", "v.npy would be written over v.npy"),
    ("features v.npy --output f.npy --representation v.lookalike --learned queries", "use lookalike export --to npy"),
    ("export dissim.lookalike v.npy", "what DissimOASIS learned cannot be served so: "),
    ("index m.lookalike empty", "holds no photograph"),
    ("index m.lookalike photos --output m.lookalike", "m.lookalike is a file: name a folder to write"),
    ("index m.lookalike photos --output g --add q.png", "index has no --add and --remove any more: change"),
    ("index m.lookalike release --output g", "is of the images in photos"),
    ("export m.lookalike photos --output photos", "photos holds blue, which would be lost"),
    ("export m.lookalike photos --rank 9999", "rank must be a whole number from 1 to 17"),
    ("export m.lookalike photos --index IVF0,Flat", "no index 'IVF0,Flat' can be built of any rows of 17 dim"),
    ("export m.lookalike photos --index HNSW0", "no index 'HNSW0' can be built"),  # it would end the program
    ("export e.lookalike photos --rank 2", "Euclidean has learned no directions"),
    (f"rate new.csv --images release --output p.html {PLAN} 2", "of the plan cannot be shown"),
    (f"rate plan.csv --images photos --output p.html {PLAN} 3", "holds another plan"),
    (f"rate new.csv --images photos --output p.html {PLAN} 99", "no plan can be made from neighbours.csv: only 8 ima"),
    ("rate plan.csv --images photos --output plan.csv", "name another file to write"),
    ("ratings plan.csv ada.csv --output ./hard.csv", "hard.csv would be written over ada.csv"),
    (f"ratings plan.csv ada.csv --output {'o' * 300}.csv", "cannot be written: File name too long; name another file"),
    ("evaluate-triplets release --features hog --output table.txt", "must end in .csv or .parquet"),
    ("evaluate-triplets release --features hog --output release/t0/new.csv", "would lie in the folder release: "),
    ("evaluate-triplets release --model color.lookalike --features hog,color", "would both be called color in the tab"),
    ("evaluate-triplets release --features fisher --codebook-images release/t0", "holds only images"),
]
WRITES = ["ratings plan.csv ada.csv --output {}", f"rate {{}} --images photos --output p.html {PLAN} 2"]
WRITES += ["features photos --output {}", f"{RANK} photos --html {{}}"]
TARGETS = {"photos/red/2.png": "photos/red/2.png must end in", "linked.pipe": "is a pipe"}
TARGETS |= {"loop": "Too many levels of symbolic links"}
MISTAKES += [(line.format(target), TARGETS[target]) for line, target in product(WRITES, TARGETS)]


def changed(row, value):
    copy = X.copy()
    copy[row, 2] = value
    return array(copy)


def labels(values, dtype=object):
    return lambda path: (np.save("l.npy", np.array(values, dtype)), array(np.eye(3))(path))


def cut(path):
    path.write_bytes(Path("v.npy").read_bytes()[:200])


def vectors_in_folder(path):
    path.mkdir()
    np.save(path / "b.npy", X)


class Runs:
    """What a pickle could run."""

    def __reduce__(self):
        return (os.mkdir, ("ran",))


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
NAMES, TWO_LISTS = {"id": ["p", "q"]}, [[1.0], [2.0]]
FIRST_LINE = "a.csv has numbers in its first line: write the names of the columns there"
NO_LETTERS = np.full(3, 0x110000, "<u4").view("<U1")
OBJECTS = "Python objects in dtype.): save it by numpy.save, text as in numpy.save(name, labels.astype(str))"
WRONG_FILES = [  # a file to fit with its options, how it is written, and what the command says
    ("a.npy", changed(7, np.nan), "a.npy has NaN, infinity or an empty cell in row 7 (from 0): give numbers"),
    ("a.npy", array(X[0]), "a.npy holds float32 of shape (6,): save real numbers, a row for each vector"),
    ("a.npy", array(X.astype(str)), "a.npy holds <U32 of shape (36, 6): save real numbers"),
    ("a.npy", array(COUNTED[["d0", "Id"]].to_numpy()), "numbers its rows in column 1 (from 0), which learning"),
    *((f"a{suffix}", content(POINTER), "is a pointer of Git LFS, not") for suffix in VECTORS),
    ("a.npy", cut, "a.npy cannot be read (mmap"),
    ("a.npy", content("1,2"), "a.npy cannot be read (EOF: reading magic string, expected 8 bytes got 3): save it by"),
    ("a.npy", lambda path: None, "there is no file of vectors a.npy: check the name"),
    ("a.npz", lambda path: np.savez(path, X=X, y=X), "a.npz cannot be read (it holds X, y, and no sparse matrix)"),
    ("a.pkl", content("x"), "a.pkl is a file that ends in .pkl: name a folder of images, or save"),
    ("a", vectors_in_folder, "a holds no class folders: sort its images into one folder per class"),
    ("a.parquet", content("x"), "a.parquet is no Parquet file, or damaged ("),
    ("a.parquet", arrow(**NAMES, v=[[1.0, 2.0], [1.0]]), "a list under v, in row 1 (from 0), that is no vector"),
    ("a.parquet", arrow(**NAMES, v=[[1.0], None]), "a list under v, in row 1 (from 0), that is no vector"),
    ("a.parquet", arrow(**NAMES, v=[["x"], ["y"]]), "a list under v, in row 0 (from 0), that is no vector"),
    ("a.parquet", arrow(**NAMES, v=TWO_LISTS, w=TWO_LISTS), "under v, and no numbers: name the column"),
    ("a.parquet", arrow(**NAMES, v=["x", "y"]), "has values of type string under v, and no numbers: name the"),
    ("a.parquet", arrow(id=["p", "p"], v=TWO_LISTS), "has no id of its own in row 1 (from 0) but 'p': give it"),
    ("a.parquet", arrow(**NAMES, v=TWO_LISTS, label=[["x"], ["y"]]), "there is a list in column label of "),
    *(
        (f"{name} --label-column kind", frame(COUNTED.rename(columns={"Id": column})), f"its rows under {column}, ")
        for column in ("Id", "row_id", "case")
        for name in ("a.csv", "a.parquet")
    ),
    ("a.csv --label-column kind", frame(COUNTED[::-3]), "rows under Id, which learning would take for a dimension"),
    ("a.csv", csv("id,d0", "p,\u00bd"), "a.csv has '\u00bd' under d0, which is no number: correct that cell, or"),
    ("a.csv", csv("id,d0,d1", "p,1,2", "q,3,"), "a.csv has NaN, infinity or an empty cell in the row of id q: give"),
    ("a.csv", content("id,d0\np,1\n\u00e4,2\n", "latin-1"), "is not written in UTF-8 (line 3) but perhaps in Latin-1"),
    ("a.csv", csv("id,d0,d1", "p,1,2,3"), "a.csv, line 2 has 4 fields, the header has 3: put quotation marks around"),
    ("a.csv", csv("id,d0,d0", "p,1,2"), "a.csv has 2 columns of the name d0"),
    *(("a.csv", csv(line, "1,2"), FIRST_LINE) for line in ("0.5,0.25", "3,1,2", "0,-1,-2", ",5,6")),
    ("a.csv", csv("id,d0,d1"), "a.csv holds float32 of shape (0, 2): save real numbers"),
    ("a.npy --labels l.npy", labels([Runs()] * 3), OBJECTS),
    ("a.npy --labels l.npy", labels(NO_LETTERS, "<U1"), "l.npy cannot be read ('utf-32-le' codec can't decode"),
]
ROWS = [(line, None, sentence) for line, sentence in MISTAKES]
ROWS += [(f"fit {line} --output new.lookalike", write, sentence) for line, write, sentence in WRONG_FILES]


@pytest.fixture(scope="module")
def mixed(place, tmp_path_factory):
    """Make a copy of that folder with models and files that do not go with each other."""
    folder = shutil.copytree(place, tmp_path_factory.mktemp("mistakes") / "place")
    with chdir(folder):
        for copy in ("cut", "moved/g"):
            shutil.copytree("g", copy)
        Path("cut/gallery.npy").write_bytes(Path("g/gallery.npy").read_bytes()[:500])
        shutil.copy("release/t0/Q.png", "q.png")
        model = lookalike.load("m.lookalike")
        model.learner_.W_ = model.learner_.W_ * 2
        model.save("other.lookalike")
        model.pipeline_.set_params(learner=lookalike.Euclidean().fit(np.eye(model.learner_.n_features_in_)))
        model.save("e.lookalike")
        Similarity(learner="DissimOASIS", parameters={"n_steps": 50}).fit("v.npy", "y.npy").save("dissim.lookalike")
        np.save("w.npy", X[:, :4])
    return folder


@pytest.mark.parametrize(("line", "write", "sentence"), ROWS)
def test_a_mistake_is_one_sentence_and_changes_no_file(line, write, sentence, mixed, tmp_path, refused, monkeypatch):
    network = lambda path: own_triplets.OwnNetwork(None, {}, path.stem)  # noqa: E731 (which need not be there)
    monkeypatch.setattr(own_triplets, "own_network", network)
    monkeypatch.chdir(shutil.copytree(mixed, tmp_path / "here"))
    Path("hard.csv").hardlink_to("ada.csv")
    links = {"linked.csv": "new.npy", "linked.pipe": "pipe", "loop": "loop", "photo.npy": "photos/red/2.png"}
    for link, target in links.items():
        Path(link).symlink_to(target)
    os.mkfifo("pipe")
    if write is not None:
        write(Path(line.split()[1]))
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    assert sentence in refused(line)
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before
