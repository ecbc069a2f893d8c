"""Folders of rated triplets as people hand them on: what is read of them, and what is counted and passed over."""

import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_place import TEXT, paint

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.data.rated_triplets import read_release
from lookalike.data.relevance import RelevanceData

HEADER = ("Image1", "Image1_Path", "Image2", "Image2_Path", "Similarity", "Text Query")


def draw(root, numbers):
    """Write pictures, equal where their numbers are: PNG files whose names say JPEG, as in the public release."""
    for name, number in numbers.items():
        paint(root / name, seed=number, format="PNG")


def draw_triplet(root, name, *numbers):
    draw(root, {f"{name}/{letter}.jpg": number for letter, number in zip("QPN", numbers, strict=True)})


def write_csv(path, rows, header=HEADER, encoding="utf-8", by=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream, delimiter=by).writerows([header, *rows])


def two_rows(name, text_query="red car", path="{}/{}.jpg"):
    """The two rows of a triplet that has a folder of its own, as the public release writes them."""
    query = (name, path.format(name, "Q"), name)
    return [(*query, path.format(name, letter), sign, text_query) for letter, sign in (("P", "1"), ("N", "-1"))]


def sound_release(root, n=4):
    """Draw n triplets of pictures of their own and write their CSV file."""
    for i in range(n):
        draw_triplet(root, f"t{i}", 10 * i, 10 * i + 1, 10 * i + 2)
    write_csv(root / "ratings.csv", [row for i in range(n) for row in two_rows(f"t{i}")])


def reasons(release):
    return dict(zip(release.rejected["reason"], release.rejected["rows"], strict=True))


def by_path(release):
    """Triplets by the paths of their images, with their text query."""
    path = release.manifest["path"]
    return {(path[row[2]], path[row[3]], path[row[4]], row.text_query) for row in release.triplets.itertuples()}


def of_folders(*names, text_query="red car"):
    return {(f"{name}/Q.jpg", f"{name}/P.jpg", f"{name}/N.jpg", text_query) for name in names}


def test_a_sound_release_is_read_and_written(tmp_path):
    root = tmp_path / "in"
    sound_release(root)
    draw(root, {f"Training/cat/{number}.jpg": 100 + number for number in range(3)})
    seen = []
    release = read_release(root, n_threads=2, progress=lambda *counts: seen.append(counts))
    assert by_path(release) == of_folders("t0", "t1", "t2", "t3")
    manifest = release.manifest
    assert manifest["image_id"].tolist() == list(range(15))  # the CSV file is no image that was considered
    parts = manifest[["part", "label", "status"]].value_counts().to_dict()
    assert parts == {("evaluation", "red car", "ok"): 12, ("training", "cat", "ok"): 3}
    assert release.pool["source"].tolist() == ["triplets"] * 12
    assert seen[-1] == (16, 16)
    assert release.triplets.dtypes.astype(str).tolist() == ["int32"] * 4 + [TEXT] * 2
    assert set(release.triplets["kind"]) == {"rated"}
    release.write(tmp_path / "out")
    for name in ("manifest", "triplets", "pool"):
        pd.testing.assert_frame_equal(read_table(tmp_path / "out" / f"{name}.parquet"), getattr(release, name))
    assert (tmp_path / "out" / "rejected.csv").read_text() == "reason,rows,example\n"
    relevance = RelevanceData.load(tmp_path / "out" / "relevance.npz").relevance
    assert relevance.toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]], "without a file of it"
    write_csv(root / "Training" / "Relevance.csv", [("a", "b")], header=("left", "right"))
    release = read_release(root)
    assert release.relevance.n_pairs == 0
    assert reasons(release) == {"relevance file without image1, image2, relevance": 1}


def test_everything_crooked_is_counted_and_the_rest_is_kept(tmp_path):
    names = ("good", "other machine", "broken", "missing", "alone", "twice", "both", "word")
    numbers = {name: (10 * i, 10 * i + 1, 10 * i + 2) for i, name in enumerate(names)}
    odd = {"query again": (500, 500, 501), "one answer": (510, 511, 511), "same triplet": numbers["good"]}
    odd |= {"turned round": (520, 521, 522), "turned round 2": (520, 522, 521)}
    several = dict.fromkeys(("one/several", "two/several"), (530, 531, 532))
    for name, three in (numbers | odd | several).items():
        draw_triplet(tmp_path, name, *three)
    rows = two_rows("good") + two_rows("other machine", "red  car", "C:\\Users\\Ada\\release\\{}/{}.jpg")
    rows += two_rows("broken") + two_rows("missing") + two_rows("alone")[:1]
    rows += two_rows("twice") + two_rows("twice")[1:]
    rows += two_rows("both") + [(*row[:4], {"1": "-1", "-1": "1"}[row[4]], row[5]) for row in two_rows("both")]
    rows += [(*row[:4], "similar", row[5]) for row in two_rows("word")]
    os.truncate(tmp_path / "broken" / "P.jpg", 200)
    (tmp_path / "missing" / "N.jpg").unlink()
    rows += [row for name in odd for row in two_rows(name)] + two_rows("several", path="elsewhere/{}/{}.jpg")
    rows += [("", "", "good", "good/P.jpg", "1", "red car"), ("good",), ("a", "b, c", "good", "d", "1", "red car", "e")]
    write_csv(tmp_path / "a" / "ratings.csv", rows)
    write_csv(tmp_path / "notes.csv", [("1", "2")], header=("left", "right"))
    (tmp_path / "damaged.csv").write_bytes(b"\x00\xff" * 40)
    (tmp_path / "quoted.csv").write_text(f'{",".join(HEADER)}\n"a,b\n')
    os.mkfifo(tmp_path / "pipe.csv")
    crooked = read_release(tmp_path)
    assert by_path(crooked) == of_folders("good", "other machine", "twice")
    assert reasons(crooked) == {
        "CSV that cannot be read": 2,
        "CSV without the columns of ratings": 2,
        "positive and negative are the same picture": 2,
        "query is the same picture as the positive or negative": 2,
        "rated both ways": 4 + 4,
        "row that is there already": 1,
        "row with more fields than its header": 1,
        "row without its counterpart": 1,
        "row without two images": 2,
        "similarity is neither 1 nor -1": 2,
        "triplet that is there already": 2,
        "triplet with an image that cannot be used": 2,
        "triplet with an image that is missing": 2 + 2,
    }
    examples = crooked.rejected.set_index("reason")["example"]
    surplus = "a/ratings.csv: 7 fields, the header has 6: a,b, c,good,d,1,red car,e"
    assert examples["row with more fields than its header"] == surplus
    assert examples["similarity is neither 1 nor -1"] == "a/ratings.csv: word/Q.jpg | word/N.jpg | red car | 'similar'"

    # missing and broken files are rows of the manifest; equal pictures have one id in triplets and pool
    manifest = crooked.manifest.set_index("path")
    assert manifest.index.is_unique
    facts = manifest.loc["missing/N.jpg", ["part", "status", "reason", "bytes"]].tolist()
    assert facts == ["evaluation", "unreadable", "there is no such file", 0]
    assert manifest.loc["broken/P.jpg", "status"] == "unreadable"
    assert crooked.manifest.loc[crooked.pool["image_id"], "sha256"].is_unique
    assert set(crooked.triplets[["query", "positive", "negative"]].to_numpy().ravel()) == set(crooked.pool["image_id"])


def shared_rows(*triplets):
    """Rows of triplets that share files, as a data set made by code writes them."""
    rated = [(query, *rated) for query, *images in triplets for rated in zip(images, ("1", "-1"), strict=True)]
    return [(query, f"e/{query}.png", image, f"e/{image}.png", sign, "cup") for query, image, sign in rated]


THREE = shared_rows("abc", "acd", "abe", "dbc")
KINDS = ("In Class", "out_of_class", "")
NAMED = [(*row, str(i // 2), KINDS[i // 2]) for i, row in enumerate(shared_rows("abc", "acd", "aef"))]
TORN = [("a", "e/a.png", "b", "e/b.png", "1", "cup", "9", ""), ("b", "e/b.png", "c", "e/c.png", "-1", "cup", "9", "")]
BOTH = shared_rows("abc", "acb")
HALVES = {"positive and negative are the same picture": 2, "row without its counterpart": 2}


@pytest.mark.parametrize(
    ("rows", "found", "rejected"),
    [
        (THREE, {"abc": "rated", "acd": "rated", "abe": "rated", "dbc": "rated"}, {}),
        (THREE[1::-1], {"abc": "rated"}, {}),  # the one that is not alike first
        # one row is lacking: its counterpart is left over, no triplet is made of two halves
        (THREE[:2] + THREE[3:], {"abc": "rated", "abe": "rated", "dbc": "rated"}, {"row without its counterpart": 1}),
        # a column names the triplet, one its kind
        ([NAMED[i] for i in (0, 2, 4, 5, 1, 3)], {"abc": "in-class", "acd": "out-of-class", "aef": "rated"}, {}),
        (NAMED[:2] + TORN, {"abc": "in-class"}, {"rows of one triplet with different queries": 2}),
        # an image is rated alike and not alike by one query
        (BOTH + shared_rows("def"), {"def": "rated"}, {"rated both ways": 4}),
        # in another order no two rows belong together, and none of it is a triplet
        ([BOTH[i] for i in (2, 0, 3, 1)] + shared_rows("def"), {"def": "rated"}, HALVES),
    ],
)
def test_rows_of_one_query_or_name_are_paired(tmp_path, rows, found, rejected):
    draw(tmp_path, {f"e/{name}.png": number for number, name in enumerate("abcdef")})
    write_csv(tmp_path / "r.csv", rows, header=(*HEADER, "triplet", "KIND"))
    release = read_release(tmp_path)
    path = release.manifest["path"].map(lambda path: Path(path).stem)
    kinds = {path[row[2]] + path[row[3]] + path[row[4]]: row.kind for row in release.triplets.itertuples()}
    assert kinds == found
    assert reasons(release) == rejected


@pytest.mark.parametrize(
    ("encoding", "separator", "path"),
    [
        ("utf-8-sig", ",", "{0}\\{1}.jpg"),
        ("utf-16", ",", "/data/release/{0}/{1}.jpg"),
        ("cp1252", ";", "./{0}//{1}.JPG"),
        ("utf-8", "\t", "D:\\x\\{0}\\{1}.png"),
        ("utf-8", ",", "'../{0}/{1}.jpeg'"),
        ("utf-8", ";", "DEEP/{0}/{1}.jpg"),
        ("utf-8", ",", ""),
        ("utf-8", ",", "{1}.jpg"),
    ],
)
def test_files_columns_and_paths_are_spelt_in_many_ways(tmp_path, encoding, separator, path):
    sound_release(tmp_path / "inner" / "deep", 2)
    (tmp_path / "inner" / "deep" / "ratings.csv").unlink()
    header = (" IMAGE1", "image1 path", "Image2 ", "Image 2-Path", "similarity ", "text_query", "remark")
    signs = {"1": " 1.0 ", "-1": "\u22121" if "utf" in encoding else "-1.0"}
    rows = [row for name in ("t0", "t1") for row in two_rows(name, " café crème ", path)]
    spelt = [(*row[:4], signs[row[4]], row[5], "x") for row in rows]
    write_csv(tmp_path / "inner" / "ratings.csv", spelt, header, encoding, separator)
    release = read_release(tmp_path)
    assert by_path(release) == of_folders("inner/deep/t0", "inner/deep/t1", text_query="café crème")
    assert release.rejected.empty


def test_a_pool_folder_and_a_pool_file(tmp_path):
    sound_release(tmp_path, 2)
    draw_triplet(tmp_path, "u", 70, 71, 72)
    write_csv(tmp_path / "more.csv", two_rows("u", "blue cup"))
    # 2 is a copy of 1, 3 one of t0/Q.jpg
    draw(tmp_path / "pool", {"Red_Car/1.jpg": 60, "Red_Car/2.jpg": 60, "Red_Car/3.jpg": 0, "nobody asked/1.jpg": 62})
    (tmp_path / "pool" / "Red_Car" / "4.jpg").write_bytes(b"no picture")
    release = read_release(tmp_path)
    path = release.manifest["path"]
    assert release.pool.groupby("text_query")["source"].first().to_dict() == {"blue cup": "triplets", "red car": "pool"}
    pooled = release.pool.loc[release.pool["text_query"] == "red car", "image_id"]
    assert path[pooled].tolist() == ["pool/Red_Car/1.jpg", "pool/Red_Car/3.jpg"]
    # the copy has the least id, the triplet's query is the same id
    assert "pool/Red_Car/3.jpg" in set(path[release.triplets["query"]])
    assert reasons(release) == {"pool image of a text query without triplets": 1}
    assert release.manifest.set_index("path").loc["pool/Red_Car/1.jpg", "label"] == "red car"

    shutil.rmtree(tmp_path / "pool")
    rows = [("red car", "t0/P.jpg"), ("red car", "u/N.jpg"), ("red car", "nowhere.jpg"), ("blue cup", "u/P.jpg")]
    write_csv(tmp_path / "pool.csv", rows, header=("text_query", "path"))
    release = read_release(tmp_path)
    assert set(release.pool["source"]) == {"pool"}
    members = {(row.text_query, release.manifest["path"][row.image_id]) for row in release.pool.itertuples()}
    assert members == {("red car", "t0/P.jpg"), ("red car", "u/N.jpg"), ("blue cup", "u/P.jpg")}
    assert reasons(release) == {"pool image that is missing": 1}
    # an image in the pool of another text query keeps the one of its triplets: it is noise there
    assert release.manifest.set_index("path").loc["u/N.jpg", "label"] == "blue cup"


def test_training_never_holds_an_evaluation_image(tmp_path):
    sound_release(tmp_path, 2)
    training = tmp_path / "training"
    draw(training, {f"{name}/{i}.jpg": first + i for name, first in (("cat", 100), ("dog", 110)) for i in range(5)})
    draw(training, {"cat/rated.jpg": 1, "cat/again.jpg": 100, "stray.jpg": 130})  # the first is t0/P.jpg
    (training / "dog" / "cut.jpg").write_bytes(b"\xff\xd8\xff")
    # the ratings name an image of the training
    write_csv(tmp_path / "more.csv", [("x", "training/dog/4.jpg", *row[2:]) for row in two_rows("t0", "cat")])
    relevance = """Image1,Image2,Relevance
        cat/0.jpg, cat/1.jpg, 0.5
        cat/1.jpg, cat/0.jpg, 0.75
        cat/3.jpg, cat/4.jpg, 0
        CAT\\2.JPG, training/cat/3.jpg, 0.25
        cat/again.jpg, cat/2.jpg, 0.1
        dog/0.jpg, dog/1.jpg, 1
        cat/0.jpg, dog/0.jpg, 1
        cat/0.jpg, cat/rated.jpg, 1
        dog/0.jpg, dog/cut.jpg, 1
        dog/2.jpg, dog/3.jpg, -1
        dog/2.jpg, dog/3.jpg, much
        dog/2.jpg, dog/3.jpg, 1e39
        dog/2.jpg, dog/2.jpg, 1"""
    (training / "relevance.csv").write_text(relevance)
    release = read_release(tmp_path)
    assert reasons(release) == {
        "relevance across two categories": 1,
        "relevance of an image that is not trained on": 2,
        "relevance of an image to itself": 1,
        "relevance that is no number from 0 on": 3,
        "training image in no category": 1,
        "training image that is an evaluation image": 2,
        "training image that is there already": 1,
    }
    manifest, relevance = release.manifest, release.relevance
    assert len(release.triplets) == 3
    paths = manifest["path"][relevance.image_id].str.removeprefix("training/").tolist()
    assert paths == [f"cat/{i}.jpg" for i in range(5)] + [f"dog/{i}.jpg" for i in range(4)]
    assert relevance.labels.tolist() == [path[:3] for path in paths]
    expected = np.zeros((9, 9))
    for (row, column), value in {(0, 1): 0.75, (0, 2): 0.1, (2, 3): 0.25, (5, 6): 1}.items():
        expected[row, column] = expected[column, row] = value
    np.testing.assert_allclose(relevance.relevance.toarray(), expected, atol=1e-6)
    rated = set(manifest.loc[manifest["part"] == "evaluation", "sha256"])
    trained = manifest[(manifest["part"] == "training") & (manifest["status"] == "ok")]
    assert not rated & set(trained["sha256"])
    assert set(relevance.image_id) <= set(trained["image_id"])
    assert "not trained on" in manifest.set_index("path").loc["training/cat/rated.jpg", "reason"]


def test_what_is_fatal_is_one_sentence(tmp_path):
    def refuse(folder, words):
        with pytest.raises(LookalikeError, match=f"^.*{words}.*$"):
            read_release(tmp_path / folder)

    refuse("nowhere", "there is no folder .*nowhere: give the folder")
    write_csv(tmp_path / "a.csv", [("1",)], header=("x",))
    refuse("a.csv", "is a file")
    refuse("", "no CSV file with the columns Image1, Image1_Path")
    write_csv(tmp_path / "a.csv", [])
    refuse("", "holds no usable triplet: mend")
    write_csv(tmp_path / "a.csv", two_rows("t"))
    draw(tmp_path, {"other.png": 1})
    refuse("", r"no usable triplet: triplet with an image that is missing \(2\)")
