from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_releases import HEADER, Row, draw, draw_triplet, sound_release, two_rows, write_csv

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.data.rated_triplets import RatedTriplets, read_release
from lookalike.data.relevance import RelevanceData


def reasons(release: RatedTriplets) -> dict[str, int]:
    return dict(zip(release.rejected["reason"], release.rejected["rows"], strict=True))


def by_path(release: RatedTriplets) -> set[tuple[str, str, str, str]]:
    """Triplets by the paths of their images, with their text query."""
    path = release.manifest["path"]
    return {
        (path[row.query], path[row.positive], path[row.negative], row.text_query)
        for row in release.triplets.itertuples()
    }


def of_folders(*names: str, text_query: str = "red car") -> set[tuple[str, str, str, str]]:
    return {(f"{name}/Q.jpg", f"{name}/P.jpg", f"{name}/N.jpg", text_query) for name in names}


def test_a_sound_release(tmp_path: Path) -> None:
    sound_release(tmp_path)
    seen: list[tuple[int, int]] = []
    release = read_release(tmp_path, n_threads=2, progress=lambda done, total: seen.append((done, total)))
    assert by_path(release) == of_folders("t0", "t1", "t2", "t3")
    assert release.rejected.empty
    assert list(release.rejected) == ["reason", "rows", "example"]
    manifest = release.manifest
    assert list(manifest["image_id"]) == list(range(12))  # the CSV file is no image that was considered
    assert set(manifest["part"]) == {"evaluation"}
    assert set(manifest["status"]) == {"ok"}
    assert set(manifest["label"]) == {"red car"}
    assert release.pool["source"].unique().tolist() == ["triplets"]
    assert len(release.pool) == 12
    assert release.relevance.n_images == 0
    assert seen[-1] == (13, 13)
    types = {"triplet": "int32", "query": "int32", "positive": "int32", "negative": "int32"}
    assert {name: str(release.triplets[name].dtype) for name in types} == types
    assert set(release.triplets["kind"]) == {"rated"}


def test_what_is_written_is_what_was_read(tmp_path: Path) -> None:
    sound_release(tmp_path / "in")
    draw(tmp_path / "in" / "training" / "cat" / "1.jpg", 90)
    release = read_release(tmp_path / "in")
    release.write(tmp_path / "out")
    for name in ("manifest", "triplets", "pool"):
        pd.testing.assert_frame_equal(read_table(tmp_path / "out" / f"{name}.parquet"), getattr(release, name))
    assert list(read_table(tmp_path / "out" / "rejected.csv")) == ["reason", "rows", "example"]
    assert RelevanceData.load(tmp_path / "out" / "relevance.npz").n_images == 1


@pytest.fixture(scope="module")
def crooked(tmp_path_factory: pytest.TempPathFactory) -> RatedTriplets:
    """One release with every defect that is counted and passed over."""
    root = tmp_path_factory.mktemp("crooked")
    for i, name in enumerate(["good", "other machine", "half", "broken", "missing", "alone", "twice", "both", "word"]):
        draw_triplet(root, name, (10 * i, 10 * i + 1, 10 * i + 2))
    rows: list[Row] = two_rows("good", "red car")
    rows += two_rows("other machine", "red  car", "C:\\Users\\Ada\\release\\")
    rows += two_rows("broken", "red car")
    (root / "broken" / "P.jpg").write_bytes((root / "broken" / "P.jpg").read_bytes()[:200])
    rows += two_rows("missing", "red car")
    (root / "missing" / "N.jpg").unlink()
    rows += two_rows("alone", "red car")[:1]
    rows += two_rows("twice", "red car") + two_rows("twice", "red car")[1:]
    rows += two_rows("both", "red car")
    rows += [(*row[:4], "-1" if row[4] == "1" else "1", row[5]) for row in two_rows("both", "red car")]
    rows += [(*row[:4], "similar", row[5]) for row in two_rows("word", "red car")]
    draw_triplet(root, "query again", (500, 500, 501))
    draw_triplet(root, "one answer", (510, 511, 511))
    draw_triplet(root, "same triplet", (0, 1, 2))
    draw_triplet(root, "turned round", (520, 521, 522))
    draw_triplet(root, "turned round 2", (520, 522, 521))
    for name in ("query again", "one answer", "same triplet", "turned round", "turned round 2"):
        rows += two_rows(name, "red car")
    rows += [("", "", "good", "good/P.jpg", "1", "red car"), ("good",)]
    write_csv(root / "a" / "ratings.csv", rows)
    write_csv(root / "notes.csv", [("1", "2")], header=("left", "right"))
    (root / "damaged.csv").write_bytes(b"\x00\xff" * 40)
    return read_release(root)


def test_everything_crooked_is_counted_and_the_rest_is_kept(crooked: RatedTriplets) -> None:
    assert by_path(crooked) == of_folders("good", "other machine", "twice")
    assert reasons(crooked) == {
        "CSV without the columns of ratings": 2,
        "positive and negative are the same picture": 2,
        "query is the same picture as the positive or negative": 2,
        "rated both ways": 4 + 4,
        "row that is there already": 1,
        "row without its counterpart": 1,
        "row without two images": 2,
        "similarity is neither 1 nor -1": 2,
        "triplet that is there already": 2,
        "triplet with an image that cannot be used": 2,
        "triplet with an image that is missing": 2,
    }
    assert (crooked.rejected["example"].str.len() > 5).all()


def test_missing_and_broken_files_are_rows_of_the_manifest(crooked: RatedTriplets) -> None:
    manifest = crooked.manifest.set_index("path")
    assert manifest.loc["missing/N.jpg", ["status", "reason", "bytes"]].tolist() == [
        "unreadable",
        "there is no such file",
        0,
    ]
    assert manifest.loc["broken/P.jpg", "status"] == "unreadable"
    assert "damaged" in manifest.loc["broken/P.jpg", "reason"]
    assert manifest["part"].eq("evaluation").all()
    assert not manifest.index.duplicated().any()


def test_equal_pictures_have_one_id_in_triplets_and_pool(crooked: RatedTriplets) -> None:
    used = crooked.manifest.loc[crooked.pool["image_id"], "sha256"]
    assert used.is_unique
    everywhere = pd.unique(crooked.triplets[["query", "positive", "negative"]].to_numpy().ravel())
    assert set(everywhere) == set(crooked.pool["image_id"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(10)), split=st.integers(0, 4))
def test_the_order_of_rows_does_not_matter(tmp_path: Path, order: list[int], split: int) -> None:
    plain, shuffled = tmp_path / "plain", tmp_path / "shuffled"
    if not plain.is_dir():
        rows = sound_release(plain, 5)
        (plain / "t3" / "P.jpg").unlink()
        shutil.copytree(plain, shuffled)
    else:
        rows = [row for i in range(5) for row in two_rows(f"t{i}", "red car")]
    write_csv(shuffled / "ratings.csv", [rows[place] for place in order])
    expected, found = read_release(plain), read_release(shuffled)
    for name in ("manifest", "triplets", "pool", "rejected"):
        one, other = getattr(expected, name), getattr(found, name)
        pd.testing.assert_frame_equal(
            one.drop(columns="example", errors="ignore"), other[one.columns.drop("example", errors="ignore")]
        )
    # the same over two files, each of which holds whole triplets
    write_csv(shuffled / "ratings.csv", rows[: 2 * split])
    write_csv(shuffled / "more" / "rest.CSV", rows[2 * split :])
    assert by_path(read_release(shuffled)) == by_path(expected)
    (shuffled / "more" / "rest.CSV").unlink()


def shared_rows(*triplets: tuple[str, str, str]) -> list[Row]:
    """Rows of triplets that share files, as a data set made by code writes them."""
    rows: list[Row] = []
    for query, positive, negative in triplets:
        rows.append((query, f"e/{query}.png", positive, f"e/{positive}.png", "1", "cup"))
        rows.append((query, f"e/{query}.png", negative, f"e/{negative}.png", "-1", "cup"))
    return rows


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    for number, name in enumerate("abcdef"):
        draw(tmp_path / "e" / f"{name}.png", number)
    return tmp_path


def names_of(release: RatedTriplets) -> set[str]:
    return {"".join(Path(path).stem for path in row[:3]) for row in by_path(release)}


def test_a_query_with_several_triplets(shared: Path) -> None:
    rows = shared_rows(("a", "b", "c"), ("a", "c", "d"), ("a", "b", "e"), ("d", "b", "c"))
    write_csv(shared / "r.csv", rows)
    assert names_of(read_release(shared)) == {"abc", "acd", "abe", "dbc"}
    # one row is lacking: its counterpart is left over, no triplet is made of two halves
    write_csv(shared / "r.csv", [row for i, row in enumerate(rows) if i != 2])
    release = read_release(shared)
    assert names_of(release) == {"abc", "abe", "dbc"}
    assert reasons(release) == {"row without its counterpart": 1}


def test_a_column_that_names_the_triplet_and_one_for_its_kind(shared: Path) -> None:
    rows = shared_rows(("a", "b", "c"), ("a", "c", "d"), ("a", "e", "f"))
    wide = [(*row, f"{i // 2}", ("In Class", "out_of_class", "")[i // 2]) for i, row in enumerate(rows)]
    write_csv(shared / "r.csv", [wide[place] for place in (0, 2, 4, 5, 1, 3)], header=(*HEADER, "triplet", "KIND"))
    release = read_release(shared)
    assert names_of(release) == {"abc", "acd", "aef"}
    assert release.triplets["kind"].tolist() == ["in-class", "out-of-class", "rated"]
    torn = [
        ("a", "e/a.png", "b", "e/b.png", "1", "cup", "9", ""),
        ("b", "e/b.png", "c", "e/c.png", "-1", "cup", "9", ""),
    ]
    write_csv(shared / "r.csv", wide + torn, header=(*HEADER, "triplet", "KIND"))
    assert reasons(read_release(shared)) == {"rows of one triplet with different queries": 2}


def test_an_image_rated_alike_and_not_alike_by_one_query(shared: Path) -> None:
    rows = shared_rows(("a", "b", "c"), ("a", "c", "b"))
    for order in ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 3, 1)):
        write_csv(shared / "r.csv", [*(rows[place] for place in order), *shared_rows(("d", "e", "f"))])
        release = read_release(shared)
        assert names_of(release) == {"def"}
        assert reasons(release) == {"rated both ways": 4}


@pytest.mark.parametrize(
    ("encoding", "separator"), [("utf-8-sig", ","), ("utf-16", ","), ("cp1252", ";"), ("utf-8", "\t")]
)
def test_encodings_separators_and_spelling_of_columns(tmp_path: Path, encoding: str, separator: str) -> None:
    rows = sound_release(tmp_path, 2, "café crème")
    header = (" IMAGE1", "image1 path", "Image2 ", "Image 2-Path", "similarity ", "text_query", "remark")
    spelt = [
        (*row[:4], {"1": " 1.0 ", "-1": "\u22121" if "utf" in encoding else "-1.0"}[row[4]], f" {row[5]} ", "x")
        for row in rows
    ]
    write_csv(tmp_path / "ratings.csv", spelt, header, encoding, separator)
    release = read_release(tmp_path)
    assert by_path(release) == of_folders("t0", "t1", text_query="café crème")
    assert release.rejected.empty


@pytest.mark.parametrize(
    "path",
    [
        "{0}\\{1}.jpg",
        "/data/release/{0}/{1}.jpg",
        "./{0}//{1}.JPG",
        "D:\\x\\{0}\\{1}.png",
        "'../{0}/{1}.jpeg'",
        "",
        "{1}.jpg",
    ],
)
def test_paths_of_other_machines(tmp_path: Path, path: str) -> None:
    sound_release(tmp_path / "inner" / "deep", 3)
    rows = []
    for name in ("t0", "t1", "t2"):
        for letter, similarity in (("P", "1"), ("N", "-1")):
            rows.append((name, path.format(name, "Q"), name, path.format(name, letter), similarity, "red car"))
    (tmp_path / "inner" / "deep" / "ratings.csv").unlink()
    write_csv(tmp_path / "inner" / "ratings.csv", rows)
    found = by_path(read_release(tmp_path))
    assert {row[0] for row in found} == {f"inner/deep/t{i}/Q.jpg" for i in range(3)}
    assert all(row[1].endswith("P.jpg") and row[2].endswith("N.jpg") for row in found)


def test_a_path_that_several_files_fit_is_none(tmp_path: Path) -> None:
    sound_release(tmp_path, 1)
    for place in ("one", "two"):
        draw_triplet(tmp_path / place, "dup", (50, 51, 52))
    write_csv(tmp_path / "more.csv", two_rows("dup", "red car", "elsewhere/"))
    release = read_release(tmp_path)
    assert by_path(release) == of_folders("t0")
    assert reasons(release) == {"triplet with an image that is missing": 2}


def test_a_pool_folder_and_a_pool_file(tmp_path: Path) -> None:
    sound_release(tmp_path, 2)
    draw_triplet(tmp_path, "u", (70, 71, 72))
    write_csv(tmp_path / "more.csv", two_rows("u", "blue cup"))
    draw(tmp_path / "pool" / "Red_Car" / "1.jpg", 60)
    draw(tmp_path / "pool" / "Red_Car" / "2.jpg", 60)
    draw(tmp_path / "pool" / "Red_Car" / "3.jpg", 0)  # the picture of t0/Q.jpg
    draw(tmp_path / "pool" / "Red_Car" / "4.jpg", 61).write_bytes(b"no picture")
    draw(tmp_path / "pool" / "nobody asked" / "1.jpg", 62)
    release = read_release(tmp_path)
    pools = release.pool.groupby("text_query")["image_id"].agg(list)
    path = release.manifest["path"]
    assert [path[image] for image in pools["red car"]] == ["pool/Red_Car/1.jpg", "pool/Red_Car/3.jpg"]
    assert release.pool.groupby("text_query")["source"].first().to_dict() == {"blue cup": "triplets", "red car": "pool"}
    # the copy has the least id, the triplet's query is the same id
    assert "pool/Red_Car/3.jpg" in {path[image] for image in release.triplets["query"]}
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


def test_training_never_holds_an_evaluation_image(tmp_path: Path) -> None:
    sound_release(tmp_path, 2)
    training = tmp_path / "training"
    for category, first in (("cat", 100), ("dog", 110)):
        for number in range(4):
            draw(training / category / f"{number}.jpg", first + number)
    draw(training / "cat" / "rated.jpg", 1)  # the picture of t0/P.jpg
    draw(training / "cat" / "again.jpg", 100)
    draw(training / "stray.jpg", 130)
    draw(training / "dog" / "cut.jpg", 131).write_bytes(b"\xff\xd8\xff")
    rows = [
        ("cat/0.jpg", "cat/1.jpg", "0.5"),
        ("cat/1.jpg", "cat/0.jpg", "0.75"),
        ("CAT\\2.JPG", "training/cat/3.jpg", "0.25"),
        ("cat/again.jpg", "cat/2.jpg", "0.1"),
        ("dog/0.jpg", "dog/1.jpg", "1"),
        ("cat/0.jpg", "dog/0.jpg", "1"),
        ("cat/0.jpg", "cat/rated.jpg", "1"),
        ("dog/0.jpg", "dog/cut.jpg", "1"),
        ("dog/2.jpg", "dog/3.jpg", "-1"),
        ("dog/2.jpg", "dog/3.jpg", "much"),
        ("dog/2.jpg", "dog/3.jpg", "1e39"),
        ("dog/2.jpg", "dog/2.jpg", "1"),
    ]
    write_csv(training / "relevance.csv", rows, header=("Image1", "Image2", "Relevance"))
    release = read_release(tmp_path)
    assert reasons(release) == {
        "relevance across two categories": 1,
        "relevance of an image that is not trained on": 2,
        "relevance of an image to itself": 1,
        "relevance that is no number from 0 on": 3,
        "training image in no category": 1,
        "training image that is an evaluation image": 1,
        "training image that is there already": 1,
    }
    relevance = release.relevance
    assert relevance.labels.tolist() == ["cat"] * 4 + ["dog"] * 4
    place = dict(zip(release.manifest["path"][relevance.image_id], range(relevance.n_images), strict=True))
    assert len(place) == 8
    matrix = relevance.relevance.toarray()
    assert "training/cat/again.jpg" not in place or "training/cat/0.jpg" not in place
    first = place.get("training/cat/0.jpg", place.get("training/cat/again.jpg"))
    assert matrix[first, place["training/cat/1.jpg"]] == pytest.approx(0.75)
    assert matrix[first, place["training/cat/2.jpg"]] == pytest.approx(0.1)
    assert matrix[place["training/cat/3.jpg"], place["training/cat/2.jpg"]] == pytest.approx(0.25)
    assert relevance.n_pairs == 4

    manifest = release.manifest
    rated = set(manifest.loc[manifest["part"] == "evaluation", "sha256"])
    trained = manifest[(manifest["part"] == "training") & (manifest["status"] == "ok")]
    assert not rated & set(trained["sha256"])
    assert set(relevance.image_id) <= set(trained["image_id"])
    assert set(trained["label"]) == {"cat", "dog"}
    assert "not trained on" in manifest.set_index("path").loc["training/cat/rated.jpg", "reason"]


def test_training_without_a_file_of_relevance_and_with_an_unusable_one(tmp_path: Path) -> None:
    sound_release(tmp_path, 1)
    for number in range(3):
        draw(tmp_path / "Training" / "cat" / f"{number}.jpg", 100 + number)
    relevance = read_release(tmp_path).relevance
    assert relevance.relevance.toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    write_csv(tmp_path / "Training" / "Relevance.csv", [("a", "b")], header=("left", "right"))
    release = read_release(tmp_path)
    assert release.relevance.n_pairs == 0
    assert reasons(release) == {"relevance file without image1, image2, relevance": 1}


def test_a_training_image_that_the_ratings_name(tmp_path: Path) -> None:
    sound_release(tmp_path, 1)
    for number in range(3):
        draw(tmp_path / "training" / "cat" / f"{number}.jpg", 100 + number)
    rows = [
        ("x", "training/cat/0.jpg", "y", "t0/P.jpg", "1", "cat"),
        ("x", "training/cat/0.jpg", "y", "t0/N.jpg", "-1", "cat"),
    ]
    write_csv(tmp_path / "more.csv", rows)
    release = read_release(tmp_path)
    assert len(release.triplets) == 2
    assert release.manifest["path"][release.relevance.image_id].tolist() == ["training/cat/1.jpg", "training/cat/2.jpg"]
    assert reasons(release) == {"training image that is an evaluation image": 1}


def one_sentence(error: pytest.ExceptionInfo[LookalikeError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_what_is_fatal_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match="does not exist: give the folder") as error:
        read_release(tmp_path / "nowhere")
    one_sentence(error)
    (tmp_path / "file").write_text("")
    with pytest.raises(LookalikeError, match="is a file"):
        read_release(tmp_path / "file")
    write_csv(tmp_path / "a.csv", [("1",)], header=("x",))
    with pytest.raises(LookalikeError, match="no CSV file with the columns Image1, Image1_Path") as error:
        read_release(tmp_path)
    one_sentence(error)
    write_csv(tmp_path / "a.csv", [])
    with pytest.raises(LookalikeError, match="holds no usable triplet: mend"):
        read_release(tmp_path)
    write_csv(tmp_path / "a.csv", two_rows("t", "cup"))
    draw(tmp_path / "other.png", 1)
    with pytest.raises(
        LookalikeError, match=r"no usable triplet: triplet with an image that is missing \(2\)"
    ) as error:
        read_release(tmp_path)
    one_sentence(error)
