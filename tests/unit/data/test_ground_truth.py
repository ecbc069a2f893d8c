"""Ground truth of landmarks: the real files of the Oxford Buildings, every way to get such files wrong, and folders."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from made_place import TEXT

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data import ground_truth

COLUMNS = ["query", "landmark", "image_id", "x_min", "y_min", "x_max", "y_max"]
ELEVEN = list(ground_truth.OXFORD_LANDMARKS)
GOOD = {"hall_1_query": "oxc1_a 1 2 30 40\n", "hall_1_good": "a\nb\n", "hall_1_ok": "c\n", "hall_1_junk": ""}


def manifest_of(names, size=(100, 80)):
    paths = [f"{name}.jpg" for name in sorted(names)]
    facts = {"width": size[0], "height": size[1], "status": "ok", "reason": ""}
    return pd.DataFrame({"image_id": np.arange(len(paths), dtype=np.int32), "path": paths, **facts})


def write(folder, **changes):
    """Write ground truth of one query; `changes` are the texts of files, None of one that is away."""
    for name, text in (GOOD | changes).items():
        if text is not None:
            (folder / f"{name}.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def test_the_real_ground_truth(real_data, tmp_path):
    real_ground_truth = real_data("oxford5k/gt_files_170407")
    truth = ground_truth.read_lists(real_ground_truth)
    assert ground_truth.landmarks_of(real_ground_truth) == ELEVEN
    assert [query.name for query in truth] == [f"{name}_{n}" for name in ELEVEN for n in range(1, 6)]
    first, *_ = truth
    assert first == ground_truth.Query("all_souls_1", "all_souls", 1, "all_souls_000013", 136.5, 34.1, 648.5, 955.7)
    # all_souls_1_good.txt has 25 lines, of which one is repeated
    assert Counter(truth[first].values()) == {"good": 24, "ok": 54, "junk": 33}
    own = [listed[query.image] for query, listed in truth.items()]
    assert Counter(own) == {"good": 41, "ok": 14}  # every query is in one of its own lists

    ground_truth.write_ground_truth(tmp_path, truth)
    assert ground_truth.read_lists(tmp_path) == truth
    assert len(list(tmp_path.iterdir())) == 220
    for file in (f"{query.name}_query.txt" for query in truth):
        assert (tmp_path / file).read_bytes() == (real_ground_truth / file).read_bytes()

    seven = ["all_souls", "ashmolean", "bodleian", "christ_church", "hertford", "magdalen", "radcliffe_camera"]
    assert ground_truth.landmarks_with(real_ground_truth, 7) == seven  # those of the SOML paper
    assert ground_truth.landmarks_with(real_ground_truth, 6) == sorted([*seven, "balliol"])  # which has exactly 7


def test_queries_and_what_is_junk_for_another_query_are_not_learned_from(tmp_path):
    boxes = [ground_truth.Query(f"hall_{n}", "hall", n, image, 0, 0, 9, 9) for n, image in ((1, "a"), (2, "b"))]
    listed = {"a": "good", "b": "good", "c": "good", "d": "ok"}
    truth = {box: {**listed, "e": kind} for box, kind in zip(boxes, ("ok", "junk"), strict=True)}
    ground_truth.write_ground_truth(tmp_path, truth)
    assert [ground_truth.landmarks_with(tmp_path, n_positives) for n_positives in (1, 2)] == [["hall"], []]
    assert ground_truth.landmarks_with(tmp_path / "nowhere", 1) == ground_truth.landmarks_of(tmp_path / "nowhere") == []


def test_blank_lines_windows_line_ends_and_byte_order_marks_are_no_mistake(tmp_path):
    write(tmp_path, hall_1_query="\ufeffa 1 2 30 40\r\n", hall_1_good="\r\na\r\n\r\nb", hall_1_ok="c\n\n")
    (tmp_path / ".hidden.txt").write_text("x")
    (tmp_path / "README").write_text("x")
    ((query, listed),) = ground_truth.read_lists(tmp_path).items()
    assert (query.image, listed) == ("a", {"a": "good", "b": "good", "c": "ok"})


FIRST_LINES = ("oxc1_a 1 2 30", "oxc1_a 1 two 30 40", "oxc1_a 1 2 1 40", "oxc1_a 1 2 inf 40", "a 1 2 3 4\nb 1 2 3 4")
BAD = [*((f"{text}\n", ", line 1") for text in FIRST_LINES), ("\nmy photo 1 2 30 40\n", ", line 2"), ("", "")]
FORM = "a query is one line, .*mend the file"
OTHER_B = {"hall_1_query": "b 1 2 30 40\n", "hall_1_good": "a\n", "hall_1_junk": "b\n"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        *(({"hall_1_query": text}, f"hall_1_query.txt{line}: {FORM}") for text, line in BAD),
        (OTHER_B, "hall_1_query.txt, line 1: .*image b is junk"),
        ({"hall_1_good": "b\n"}, "hall_1_query.txt, line 1: .*a is in none of its lists, .*put it into hall_1_good"),
        ({"hall_1_query": "oxc1_a 100 2 300 40\n"}, "hall_1_query.txt, line 1: .*beyond a.jpg, which has 100 x 80"),
        ({"hall_1_good": "a\nz\n"}, "hall_1_good.txt, line 2: there is no image z"),
        ({"hall_1_good": "a\nmy photo\n"}, "hall_1_good.txt, line 2: there is no image my photo"),
        ({"hall_1_junk": "a\n"}, "hall_1_junk.txt, line 1: a is in .*hall_1_good.txt, line 1 too"),
        ({"st mary's_1_ok": "a"}, r"st mary's_1_ok.txt: .*digits, '\.', '_' and '-': rename"),
        (dict.fromkeys(GOOD), " holds no ground truth"),
        ({"hall_1_ok": None}, r"hall_1_ok\.txt: add it"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(tmp_path, changes, words):
    write(tmp_path, **changes)
    with pytest.raises(LookalikeError, match=f"^(there is no file of ground truth )?{tmp_path}/?{words}[^\n]*$"):
        ground_truth.read_ground_truth(tmp_path, manifest_of("abc"))
    with pytest.raises(LookalikeError, match="there is no folder"):
        ground_truth.read_lists(tmp_path / "nowhere")


def test_images_that_cannot_be_used_or_told_apart_matter_where_they_are_named(tmp_path):
    manifest = manifest_of("abcde")
    manifest.loc[4, "path"] = "other/d.png"
    queries, relevance = ground_truth.read_ground_truth(write(tmp_path), manifest)
    types = (TEXT, TEXT, "int32", *["float64"] * 4)
    assert list(queries.dtypes.astype(str).items()) == list(zip(COLUMNS, types, strict=True))
    assert queries.to_numpy().tolist() == [["hall_1", "hall", 0, 1, 2, 30, 40]]
    assert (list(relevance), relevance["image_id"].dtype) == (["query", "image_id", "relevance"], np.int32)
    assert relevance.to_numpy().tolist() == [
        ["hall_1", image, kind] for image, kind in enumerate(("good", "good", "ok"))
    ]
    manifest.loc[4, "path"] = "other/b.png"
    with pytest.raises(LookalikeError, match=r"hall_1_good.txt, line 2: several images are called b"):
        ground_truth.read_ground_truth(tmp_path, manifest)
    manifest.loc[4, "status"] = "not_an_image"  # a note beside the image
    manifest.loc[2, ["status", "reason"]] = ["unreadable", "cut short"]
    with pytest.raises(LookalikeError, match=r"hall_1_ok.txt, line 1: c.jpg .*unreadable \(cut short\)"):
        ground_truth.read_ground_truth(tmp_path, manifest)
    manifest.loc[3, ["status", "reason"]] = ["not_an_image", "empty"]
    write(tmp_path, hall_1_ok="", hall_1_junk="c\nd\n")  # junk does not count, so that it need not be read
    words = r"(c|d)\.jpg cannot be used \((cut short|empty)\): it is junk, and passed"
    with pytest.warns(UserWarning, match=words) as warned:
        assert ground_truth.read_ground_truth(tmp_path, manifest)[1]["image_id"].tolist() == [0, 1]
    assert len(warned) == 2
    write(tmp_path, hall_1_ok="", hall_1_junk="z\n")
    with pytest.raises(LookalikeError, match=r"hall_1_junk.txt, line 1: there is no image z"):
        ground_truth.read_ground_truth(tmp_path, manifest)


SIZES = {"gate": 9, "old fort": 8, "distractors": 6}


def photographs(*, sizes=SIZES, name="photograph of {folder} {place:03d}.jpg"):
    """A manifest of photographs in folders, and one beside them."""
    paths = [f"{folder}/{name.format(folder=folder, place=place)}" for folder, n in sizes.items() for place in range(n)]
    table = pd.DataFrame({"path": sorted([*paths, "unnamed.jpg"])})
    table["label"] = table["path"].str.rpartition("/")[0]
    return table.assign(image_id=np.arange(len(table), dtype=np.int32), width=100, height=80, status="ok")


def drawn(manifest, landmarks=("gate", "old_fort"), distractors=("distractors",), n_queries=3, seed=0):
    return ground_truth.sample_ground_truth(manifest, landmarks, distractors, n_queries, seed=seed)


@pytest.mark.parametrize("name", ["photograph of {folder} {place:03d}.jpg", "unnamed {place}.jpg"])
def test_a_folder_of_photographs_is_a_landmark_whose_queries_are_drawn(name):
    """By a stream named after it; equal names of files in two folders are two images."""
    manifest = photographs(name=name)
    manifest.loc[7, "status"] = "unreadable"
    queries, relevance = [], []
    for landmark in ("gate", "old_fort"):
        own = manifest.loc[manifest["label"].eq(landmark.replace("_", " ")) & (manifest["status"] == "ok"), "image_id"]
        order = generator(5, "landmark", landmark, "queries").permutation(len(own))[:3]
        queries += [(f"{landmark}_{n}", landmark, own.iloc[place], 0, 0, 100, 80) for n, place in enumerate(order, 1)]
        relevance += [(f"{landmark}_{n}", image, "good") for n in (1, 2, 3) for image in own]
    found = drawn(manifest.sample(frac=1, random_state=0), seed=5)
    assert [list(table) for table in found] == [COLUMNS, ["query", "image_id", "relevance"]]
    assert [list(table.itertuples(index=False, name=None)) for table in found] == [queries, relevance]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_queries": 8}, "the folder old fort has 8 usable images, and 8 queries need more than that: add images, "),
        ({"distractors": ["distractor"]}, "`distractors` names the folder 'distractor', .*did you mean 'distractors'?"),
        ({"landmarks": ["old fort"]}, "no folder of a landmark 'old fort'; did you mean 'old_fort'?"),
        ({"sizes": {"old fort": 8, "old_fort": 9, "distractors": 6}}, "old fort and old_fort are both called old_fort"),
        ({"sizes": {"\u98de\u673a": 8, "distractors": 6}}, "\u98de\u673a has no letter from A to Z and no digit"),
    ],
)
def test_folders_that_are_no_landmarks_are_refused_in_one_sentence(changes, words):
    manifest = photographs(sizes=changes.pop("sizes", SIZES))
    with pytest.raises(LookalikeError, match=f"^[^\n]*{words}[^\n]*$"):
        drawn(manifest, **changes)


def test_numbers_of_classes_and_hidden_folders_are_no_part_of_landmarks(tmp_path):
    for folder in ("003.backpack", "taj mahal/inside", ".git", "@eaDir", "others"):
        (tmp_path / folder).mkdir(parents=True)
    folders = ground_truth.folders_in(tmp_path)
    assert ground_truth.name_landmarks(folders, ["others"]) == {"backpack": "003.backpack", "taj_mahal": "taj mahal"}
    assert ground_truth.folders_in(tmp_path / "nowhere") == []
