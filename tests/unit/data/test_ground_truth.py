"""Ground truth in the format of the Oxford Buildings: the real files, a round trip, and every way to get it wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.data.ground_truth import (
    LISTS,
    OXFORD_LANDMARKS,
    GroundTruth,
    Query,
    landmarks_of,
    landmarks_with,
    read_ground_truth,
    read_lists,
    write_ground_truth,
)

ELEVEN = list(OXFORD_LANDMARKS)


@pytest.fixture(scope="session")
def real_ground_truth(shared_data: Path) -> Path:
    folder = shared_data / "oxford5k" / "gt_files_170407"
    if not folder.is_dir():
        pytest.skip(f"no ground truth of the Oxford Buildings at {folder}: set LOOKALIKE_TEST_DATA")
    return folder


def manifest_of(names: list[str], size: tuple[int, int] = (100, 80), status: str = "ok") -> pd.DataFrame:
    names = sorted(names)
    return pd.DataFrame(
        {
            "image_id": pd.Series(range(len(names)), dtype="int32"),
            "path": [f"{name}.jpg" for name in names],
            "width": size[0],
            "height": size[1],
            "status": status,
            "reason": "" if status == "ok" else "cut short",
        }
    )


def test_the_real_ground_truth(real_ground_truth: Path) -> None:
    truth = read_lists(real_ground_truth)
    assert landmarks_of(real_ground_truth) == ELEVEN
    assert [query.name for query in truth.queries] == [f"{name}_{n}" for name in ELEVEN for n in range(1, 6)]
    assert truth.queries[0] == Query("all_souls_1", "all_souls", 1, "all_souls_000013", 136.5, 34.1, 648.5, 955.7)
    assert not any(query.image.startswith("oxc1_") for query in truth.queries)
    counts = {name: Counter(truth.relevance[f"{name}_1"].values()) for name in ELEVEN}
    # all_souls_1_good.txt has 25 lines, of which one is repeated
    assert counts["all_souls"] == {"good": 24, "ok": 54, "junk": 33}
    assert counts["radcliffe_camera"] == {"good": 105, "ok": 116, "junk": 127}
    assert counts["pitt_rivers"] == {"good": 3, "ok": 3, "junk": 2}
    own = [truth.relevance[query.name][query.image] for query in truth.queries]
    assert Counter(own) == {"good": 41, "ok": 14}  # every query is in one of its own lists


def test_the_real_ground_truth_as_tables(real_ground_truth: Path) -> None:
    truth = read_lists(real_ground_truth)
    images = {query.image for query in truth.queries} | {name for listed in truth.relevance.values() for name in listed}
    queries, relevance = read_ground_truth(real_ground_truth, manifest_of(sorted(images), (1024, 1024)))
    assert queries.dtypes.astype(str).to_dict() | {"query": "", "landmark": ""} == {
        "query": "", "landmark": "", "image_id": "int32",
        "x_min": "float64", "y_min": "float64", "x_max": "float64", "y_max": "float64",
    }  # fmt: skip
    assert list(queries["query"]) == [query.name for query in truth.queries]
    assert list(relevance.columns) == ["query", "image_id", "relevance"]
    assert relevance["image_id"].dtype == "int32"
    assert len(relevance) == sum(len(listed) for listed in truth.relevance.values())
    assert not relevance.duplicated(["query", "image_id"]).any()
    names = sorted(images)
    first = relevance[relevance["query"] == "all_souls_1"]
    assert first["image_id"].is_monotonic_increasing
    assert {names[row.image_id]: row.relevance for row in first.itertuples()} == truth.relevance["all_souls_1"]


def test_landmarks_with_enough_images_are_the_paper_s_seven(real_ground_truth: Path, tmp_path: Path) -> None:
    seven = ["all_souls", "ashmolean", "bodleian", "christ_church", "hertford", "magdalen", "radcliffe_camera"]
    assert landmarks_with(real_ground_truth, 7) == seven
    assert landmarks_with(real_ground_truth, 6) == sorted([*seven, "balliol"])  # which has exactly 7
    assert landmarks_with(real_ground_truth, 0) == ELEVEN
    assert landmarks_with(real_ground_truth, 1000) == []
    assert landmarks_with(tmp_path / "nowhere", 7) == []


def test_queries_and_what_is_junk_for_another_query_are_not_learned_from(tmp_path: Path) -> None:
    boxes = [Query(f"hall_{n}", "hall", n, image, 0, 0, 9, 9) for n, image in ((1, "a"), (2, "b"))]
    listed = {"a": "good", "b": "good", "c": "good", "d": "ok"}
    write_ground_truth(tmp_path, boxes, {"hall_1": {**listed, "e": "ok"}, "hall_2": {**listed, "e": "junk"}})
    assert landmarks_with(tmp_path, 1) == ["hall"]
    assert landmarks_with(tmp_path, 2) == []


def test_the_real_files_come_back_as_they_were(real_ground_truth: Path, tmp_path: Path) -> None:
    truth = read_lists(real_ground_truth)
    write_ground_truth(tmp_path, *truth)
    assert read_lists(tmp_path) == truth
    assert len(list(tmp_path.iterdir())) == 220
    for query in truth.queries:
        name = f"{query.name}_query.txt"
        assert (tmp_path / name).read_bytes() == (real_ground_truth / name).read_bytes()


number = st.floats(-1e4, 1e4, allow_nan=False).map(lambda value: value + 0.0)  # no negative zero


@settings(max_examples=30, deadline=None)
@given(
    number,
    number,
    st.floats(0.01, 1e3),
    st.floats(0.01, 1e3),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(LISTS)),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, x: float, y: float, w: float, h: float, listed: dict[str, str]
) -> None:
    query = Query("town_hall_3", "town_hall", 3, "ä_1", x, y, x + w, y + h)
    folder = tmp_path_factory.mktemp("truth")
    write_ground_truth(folder, [query], {query.name: listed})
    assert read_lists(folder) == GroundTruth((query,), {query.name: listed})


GOOD = {"query": "oxc1_a 1 2 30 40\n", "good": "a\nb\n", "ok": "c\n", "junk": ""}


def write(folder: Path, **changes: str | bytes | None) -> Path:
    for kind, text in (GOOD | changes).items():
        if text is not None:
            content = text.encode() if isinstance(text, str) else text
            (folder / f"hall_1_{kind}.txt").write_bytes(content)
    return folder


def test_blank_lines_windows_line_ends_and_byte_order_marks_are_no_mistake(tmp_path: Path) -> None:
    write(tmp_path, query="\ufeffa 1 2 30 40\r\n", good="\r\na\r\n\r\nb", ok="c\n\n")
    (tmp_path / ".hidden.txt").write_text("x")
    (tmp_path / "README").write_text("x")
    truth = read_lists(tmp_path)
    assert truth.queries[0].image == "a"
    assert truth.relevance == {"hall_1": {"a": "good", "b": "good", "c": "ok"}}


@pytest.mark.parametrize(
    ("changes", "where", "words"),
    [
        ({"query": "oxc1_a 1 2 30\n"}, "hall_1_query.txt, line 1", "4 fields instead of 5"),
        ({"query": "\noxc1_a 1 2 30 40 50\n"}, "hall_1_query.txt, line 2", "6 fields instead of 5"),
        ({"query": "my photo 1 2 30 40\n"}, "hall_1_query.txt, line 1", "names hold no blanks: rename the image"),
        ({"query": "b 1 2 30 40\n", "good": "a\n", "junk": "b\n"}, "hall_1_query.txt, line 1", "image b is junk"),
        ({"good": "b\n"}, "hall_1_query.txt, line 1", "a is in none of its lists, and would be a mistake in every"),
        ({"good": "b\n"}, "hall_1_query.txt, line 1", "add it to hall_1_good.txt or hall_1_ok.txt"),
        ({"good": "a\nb c\n"}, "hall_1_good.txt, line 2", "names hold no blanks: rename the image"),
        ({"query": "oxc1_a 1 two 30 40\n"}, "hall_1_query.txt, line 1", "'two' is not a number"),
        ({"query": "oxc1_a 1 nan 30 40\n"}, "hall_1_query.txt, line 1", "'nan' is not a number"),
        ({"query": "oxc1_a 1 2 1 40\n"}, "hall_1_query.txt, line 1", "is empty"),
        ({"query": "oxc1_a 1 50 30 40\n"}, "hall_1_query.txt, line 1", "is empty"),
        ({"query": ""}, "hall_1_query.txt, line 1", "a query is one line"),
        ({"query": "a 1 2 3 4\nb 1 2 3 4\n"}, "hall_1_query.txt, line 2", "a query is one line"),
        ({"query": "oxc1_z 1 2 30 40\n"}, "hall_1_query.txt, line 1", "there is no image z"),
        ({"query": "oxc1_a 100 2 300 40\n"}, "hall_1_query.txt, line 1", "lies beyond a.jpg, which has 100 x 80"),
        ({"good": "a\n\nb c\n"}, "hall_1_good.txt, line 3", "2 fields instead of one"),
        ({"good": "a\nz\n"}, "hall_1_good.txt, line 2", "there is no image z"),
        ({"ok": "c\nb\n"}, "hall_1_ok.txt, line 2", "b is in hall_1_good.txt too (line 2)"),
        ({"junk": "a\n"}, "hall_1_junk.txt, line 1", "a is in hall_1_good.txt too (line 1)"),
        ({"ok": b"c\n\xff\n"}, "hall_1_ok.txt, line 2", "not UTF-8"),
        ({"ok": None}, "hall_1_good.txt", "no hall_1_ok.txt"),
        ({"query": None}, "hall_1_good.txt", "no hall_1_query.txt"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(
    tmp_path: Path, changes: dict[str, str | bytes | None], where: str, words: str
) -> None:
    write(tmp_path, **changes)
    with pytest.raises(LookalikeError) as caught:
        read_ground_truth(tmp_path, manifest_of(["a", "b", "c"]))
    message = str(caught.value)
    assert where in message
    assert words in message
    assert str(tmp_path) in message
    assert "\n" not in message


def test_files_that_belong_to_no_query(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "hall_2_great.txt").write_text("a\n")
    with pytest.raises(LookalikeError, match=r"hall_2_great.txt: .* is called"):
        read_lists(tmp_path)


@pytest.mark.parametrize("landmark", ["st mary", "st_mary's", "caf\u00e9", "a+b", "a{b}"])
def test_names_that_no_path_of_a_result_could_have(tmp_path: Path, landmark: str) -> None:
    for kind, text in GOOD.items():
        (tmp_path / f"{landmark}_1_{kind}.txt").write_text(text)
    for read in (read_lists, lambda folder: landmarks_with(folder, 1)):
        with pytest.raises(LookalikeError, match=r"digits, '\.', '_' and '-': rename the files") as caught:
            read(tmp_path)
        assert f"{landmark}_1_" in str(caught.value)


def test_a_folder_without_ground_truth(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match="holds no ground truth"):
        read_lists(tmp_path)
    with pytest.raises(LookalikeError, match="cannot list the ground truth"):
        read_lists(tmp_path / "nowhere")
    assert landmarks_of(tmp_path / "nowhere") == []


def test_an_image_that_cannot_be_used_is_named_with_its_reason(tmp_path: Path) -> None:
    manifest = manifest_of(["a", "b", "c"])
    manifest.loc[2, ["status", "reason"]] = ["unreadable", "cut short"]
    with pytest.raises(LookalikeError, match=r"hall_1_ok.txt, line 1: c.jpg .*unreadable \(cut short\)"):
        read_ground_truth(write(tmp_path), manifest)


def test_two_images_of_one_name_matter_where_ground_truth_names_them(tmp_path: Path) -> None:
    manifest = manifest_of(["a", "b", "c", "d", "e"])
    manifest.loc[4, "path"] = "other/d.png"
    queries, relevance = read_ground_truth(write(tmp_path), manifest)
    assert (len(queries), len(relevance)) == (1, 3)
    manifest.loc[4, "path"] = "other/b.png"
    with pytest.raises(LookalikeError, match=r"hall_1_good.txt, line 2: b.jpg and other/b.png are both called b"):
        read_ground_truth(tmp_path, manifest)
    manifest.loc[4, "status"] = "not_an_image"  # a note beside the image
    assert len(read_ground_truth(tmp_path, manifest)[1]) == 3
