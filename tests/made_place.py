"""A folder in which every command works: painted images and vectors of three classes, models and tables."""

from contextlib import chdir

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from PIL import Image

from lookalike import ImageSimilarity, Similarity
from lookalike.cli import main
from lookalike.core.files import write_table
from lookalike.studies.human.questionnaire import plan_fingerprint, plan_from_neighbours
from lookalike.studies.human.ratings import FILE_COLUMNS

COLOURS = {"blue": (30, 60, 200), "green": (40, 180, 60), "red": (200, 40, 30)}
TEXT = str(pd.Series(["text"]).dtype)
"""Type of a column of text: str, or object up to pandas 2."""
JUDGED = ["query", "positive", "negative"]
PAIRS = (("red", "blue"), ("blue", "green"), ("green", "red"))
PATHS = [(f"{a}/{i}.png", f"{a}/{(i + 1) % 8}.png", f"{b}/{i}.png") for a, b in PAIRS for i in range(8)]
IMAGE_TRIPLETS = pd.DataFrame(PATHS, columns=JUDGED)

D = 6
RANDOM = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 12)
X = (RANDOM.normal(size=(36, D)) + 3 * np.eye(3, D)[np.repeat(range(3), 12)]).round(3).astype(np.float32)
IDS = [f"x{row}" for row in range(36)]
TABLE = pd.DataFrame(X, columns=[f"d{place}" for place in range(D)])
LABELS = pd.DataFrame({"id": IDS, "label": Y})
NUMBERS = np.array([(i, (i // 12) * 12 + (i + 1) % 12, (i + 12) % 36) for i in range(36)])
TRIPLETS = pd.DataFrame(np.array(IDS)[NUMBERS], columns=JUDGED)
COUNTED = pd.DataFrame({"d0": 0.5, "kind": [*"ab"] * 10, "Id": range(1, 21)})


def paint(path, colour=(128, 128, 128), seed=0, size=(72, 60), **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-40, 41, (size[1], size[0], 3))
    Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)).save(path, **options)


def make_place(place):
    """Make photos, one of them damaged, vectors, models, a gallery, tables, rated triplets, and a plan with answers."""
    for number, (name, colour) in enumerate(COLOURS.items()):
        for image in range(8):
            paint(place / "photos" / name / f"{image}.png", colour, 100 * number + image)
    for folder in ("corrupt/red", "empty"):
        (place / folder).mkdir(parents=True)
    for folder in ("corrupt", "photos"):
        (place / folder / "red" / "broken.png").write_bytes((place / "photos/red/0.png").read_bytes()[:99])
    model = ImageSimilarity("color", hold_out=0.25, jobs=1, parameters={"n_steps": 300}).fit(place / "photos")
    model.save(place / "m.lookalike")
    model = ImageSimilarity(words=20, hold_out=0.25, jobs=1, parameters={"n_steps": 400}).fit(place / "photos")
    model.save(place / "w.lookalike")
    names = [f"{name}/{image}.png" for name in COLOURS for image in range(8)]
    labels = [(path, "warm" if path.startswith("red") else "cold") for path in names]
    pd.DataFrame(labels, columns=["path", "label"]).to_csv(place / "labels.csv", index=False)
    nearest = [(f"{a}/0.png", f"{a}/{rank}.png", rank) for a in COLOURS for rank in (1, 2, 3)]
    neighbours = pd.DataFrame(nearest, columns=["query_path", "path", "rank"])
    neighbours.to_csv(place / "neighbours.csv", index=False)
    plan = plan_from_neighbours(neighbours, seed=0, n_queries=3, n_retrieved=3, n_random=3)
    write_table(plan, place / "plan.csv")
    marks = {True: ("good", "true", "true"), False: ("not_good", "false", "true")}
    name = (plan_fingerprint(plan), "Ada")
    answers = [(*name, row.query, row.position, *marks[row.rank == 1]) for row in plan.itertuples()]
    pd.DataFrame(answers, columns=list(FILE_COLUMNS)).to_csv(place / "ada.csv", index=False)
    rate_triplets(place / "release")
    IMAGE_TRIPLETS.to_csv(place / "judged.csv", index=False)
    with chdir(place):
        write_vectors()
        model = Similarity(learner="OASIS", scaling="length", parameters={"n_steps": 50})
        model.fit("v.npy", "y.npy").save("v.lookalike")
        assert main(["index", "m.lookalike", "photos", "--output", "g", "--quiet", "--no-cache"]) == 0


def write_vectors():
    """Write the same vectors in every kind of file, with labels and triplets."""
    np.save("v.npy", X)
    np.save("y.npy", Y)
    sp.save_npz("v.npz", sp.coo_array(X))
    pd.DataFrame({"emb": list(X), "label": Y}, index=IDS).to_parquet("v.parquet")
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel().astype(np.float64)), D)
    pq.write_table(pa.table({"id": IDS, "emb": fixed, "label": Y, "note": IDS}), "fixed.parquet", row_group_size=10)
    TABLE.assign(label=Y, id=IDS).to_parquet("wide.parquet")
    TABLE.assign(sku=IDS, kind=Y).to_csv("v.csv", index=False)
    TABLE.set_index(pd.Index(IDS)).to_csv("pandas.csv")
    LABELS.to_csv("classes.csv", index=False)
    LABELS.assign(id=range(36)).to_csv("numbers.csv", index=False)
    TRIPLETS.to_csv("triplets.csv", index=False)


def rate_triplets(root):
    """Six queries whose positive has their colour and whose negative another, and one that is rated the wrong way."""
    rows = []
    names = list(COLOURS)
    for i in range(7):
        mine, other = names[i % 3], names[(i + 1) % 3]
        for j, (letter, colour) in enumerate((("Q", mine), ("P", mine), ("N", other))):
            paint(root / f"t{i}" / f"{letter}.png", COLOURS[colour], 1000 + 10 * i + j)
        kind = "in-class" if i % 2 else "out-of-class"
        for letter, similarity in (("P", -1 if i == 6 else 1), ("N", 1 if i == 6 else -1)):
            rows.append((f"t{i}", f"t{i}/Q.png", f"t{i}", f"t{i}/{letter}.png", similarity, kind))
    rows.append(("t9", "t9/Q.png", "t9", "t9/P.png", 1, ""))
    table = pd.DataFrame(rows, columns=["Image1", "Image1_Path", "Image2", "Image2_Path", "Similarity", "Kind"])
    table.assign(**{"Text Query": "paint"}).to_csv(root / "ratings.csv", index=False)


# writers of one file, which take its path
def csv(header, *lines):
    return content("\n".join([header, *lines, ""]))


def content(text, encoding="utf-8"):
    return lambda path: path.write_bytes(text.encode(encoding))


def array(values):
    return lambda path: np.save(path, values)


def arrow(**columns):
    return lambda path: pq.write_table(pa.table(columns), path)


def frame(rows):
    return lambda path: rows.to_csv(path, index=False) if path.suffix == ".csv" else rows.to_parquet(path)


def manifest_of(counts):
    """Rows in path order: `counts` maps a label to its number of files of each status."""
    rows = []
    for label, statuses in counts.items():
        listed = [status for status, times in statuses.items() for _ in range(times)]
        rows += [(f"{label}/{n:04d}.jpg", label, 300, 200, 1000, "00", status, "") for n, status in enumerate(listed)]
    columns = ["path", "label", "width", "height", "bytes", "sha256", "status", "reason"]
    table = pd.DataFrame(sorted(rows), columns=columns).rename_axis("image_id").reset_index()
    return table.astype({"image_id": "int32", "width": "int32", "height": "int32"})
