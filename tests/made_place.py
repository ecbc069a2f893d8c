"""A folder in which every command works: painted images of three classes that differ in colour, a model and tables."""

import numpy as np
import pandas as pd
from PIL import Image

from lookalike import ImageSimilarity
from lookalike.core.files import write_table
from lookalike.studies.human.questionnaire import plan_fingerprint, plan_from_neighbours
from lookalike.studies.human.ratings import FILE_COLUMNS

COLOURS = {"blue": (30, 60, 200), "green": (40, 180, 60), "red": (200, 40, 30)}


def paint(path, colour, seed, size=(72, 60)):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-40, 41, (size[1], size[0], 3))
    Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)).save(path)


def make_place(place):
    """Make photos, one of them damaged, a model of their colours, tables, rated triplets, and a plan with answers."""
    for number, (name, colour) in enumerate(COLOURS.items()):
        for image in range(8):
            paint(place / "photos" / name / f"{image}.png", colour, 100 * number + image)
    for folder in ("corrupt/red", "empty"):
        (place / folder).mkdir(parents=True)
    for folder in ("corrupt", "photos"):
        (place / folder / "red" / "broken.png").write_bytes((place / "photos/red/0.png").read_bytes()[:99])
    model = ImageSimilarity("color", hold_out=0.25, jobs=1, parameters={"n_steps": 300}).fit(place / "photos")
    model.save(place / "m.lookalike")
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
