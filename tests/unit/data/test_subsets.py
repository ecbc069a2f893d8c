"""Class lists: the papers' against the archive's folders, a user's against the manifest."""

import pandas as pd
import pytest
from made_manifests import manifest_of
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.data import subsets

RESOURCES = ROOT / "workflow" / "resources"
CLASSES = {
    "003.backpack": {"ok": 3},
    "041.coffee-mug": {"ok": 5, "too_small": 1},
    "045.computer_keyboard": {"ok": 2},
    "056.dog": {"unreadable": 2},
    "198.notes": {"not_an_image": 4},
    "257.clutter": {"clutter": 6, "too_small": 1},
}
MANIFEST = manifest_of(CLASSES)
FOUR = ["003.backpack", "041.coffee-mug", "045.computer_keyboard", "056.dog"]
ALL = ", ".join(FOUR)


def test_the_published_lists_are_folders_of_the_archive():
    archive = pd.read_csv(RESOURCES / "caltech256-class-counts.csv", index_col="folder")["images"]
    assert (len(archive), archive.sum(), archive["257.clutter"]) == (257, 30_607, 827)
    assert [int(folder.split(".")[0]) for folder in archive.index] == list(range(1, 258))
    published = subsets.read_published_subsets(RESOURCES / "class-subsets.csv")
    sizes = {name: len(folders) for name, folders in published.items()}
    assert sizes == {"easy10": 10, "var10": 10, "var20": 20, "classes50": 50, "classes249": 249}
    numbers = sorted(int(folder.split(".")[0]) for folder in published["classes249"])
    assert numbers == [number for number in range(1, 251) if number != 129]
    manifest = manifest_of({folder: {"ok": 1} for folder in archive.index if folder != "257.clutter"})
    for folders in published.values():
        assert subsets.resolve_subset(folders, manifest) == folders
        assert archive[folders].min() >= 65
    printed = pd.read_csv(RESOURCES / "class-subsets.csv").drop_duplicates("name").set_index("name")["folder"]
    printed = printed.drop("star-fish-101")  # the only one that is printed in another spelling
    assert subsets.resolve_subset(printed.index.tolist(), manifest) == printed.tolist()


def test_classes_are_labels_with_images_that_are_not_clutter():
    assert subsets.class_labels(MANIFEST) == subsets.resolve_subset("all", MANIFEST) == FOUR
    assert subsets.resolve_subset("first 2", MANIFEST) == FOUR[:2]
    assert subsets.resolve_subset("published", MANIFEST, FOUR[1:3]) == FOUR[1:3]


def test_halves_of_one_halving_are_apart_and_depend_on_the_seed_alone():
    classes = [f"{number:03d}.class" for number in range(20)]
    halves = [subsets.half_of(classes, number, 2010) for number in range(1, 21)]
    assert all(len(half) == 10 and half == sorted(half) for half in halves)
    assert all(sorted(first + second) == classes for first, second in zip(halves[::2], halves[1::2], strict=True))
    assert {sum(name in half for half in halves) for name in classes} == {10}
    assert len({tuple(half) for half in halves}) == 20
    assert subsets.half_of(classes[::-1], 3, 2010) == halves[2] != subsets.half_of(classes, 3, 2011)
    assert subsets.resolve_subset("half 2", MANIFEST, seed=1) == subsets.half_of(FOUR, 2, 1)
    assert [len(subsets.half_of(classes[:5], number, 1)) for number in (1, 2)] == [3, 2]


@pytest.mark.parametrize("mug", ["041.coffee-mug", "coffee-mug", "Coffee Mug", " 041.coffee_mug "])
@pytest.mark.parametrize("keyboard", ["computer_keyboard", "COMPUTER-KEYBOARD", "computer keyboard"])
def test_names_resolve_however_they_are_spelled(mug, keyboard):
    assert subsets.resolve_subset([mug, keyboard], MANIFEST) == FOUR[1:3]
    assert subsets.resolve_subset([keyboard, mug], MANIFEST) == FOUR[2:0:-1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["cofee-mug", "zebra"], f"no such class: cofee-mug, zebra; did you mean {FOUR[1]!r}? there are: {ALL}"),
        (
            ["backpack", "notes"],
            "198.notes has no usable image: none of its 4 files is an image (manifest.parquet says why of each); "
            "put images into it, or take it out of the subset",
        ),
        (["dog", "056.dog"], "named more than once in one subset: 056.dog; name each class once"),
        (["dog"], f"a subset needs at least two classes, not 1; there are {', '.join(FOUR)}"),
        ("dog", "classes must be a list of class names, all, first N, half N or published, not 'dog'"),
        ("first 99", f"there are only 4 classes, not 99: {', '.join(FOUR)}"),
        ("published", "the papers print no class list of this subset's name: list its classes instead"),
    ],
)
def test_what_is_no_subset_is_one_sentence(spec, message):
    with pytest.raises(LookalikeError) as caught:
        subsets.resolve_subset(spec, MANIFEST)
    assert str(caught.value) == message


def test_a_bare_name_of_two_folders_is_ambiguous():
    two = manifest_of({"001.bat": {"ok": 1}, "007.bat": {"ok": 1}})
    with pytest.raises(LookalikeError, match=r"'bat' fits 001\.bat and 007\.bat"):
        subsets.resolve_subset(["bat", "001.bat"], two)
    assert subsets.resolve_subset(["007.bat", "001.bat"], two) == ["007.bat", "001.bat"]


def test_classes_that_are_too_small_are_an_error_or_dropped_and_listed():
    counts = {"a": 65, "b": 64, "c": 100}
    with pytest.raises(LookalikeError, match=r"needs 65 usable images .* fewer: b \(64\), d \(0\);"):
        subsets.keep_large_enough(["a", "b", "c", "d"], counts)
    with pytest.raises(LookalikeError, match="only 1 of 2 classes"):
        subsets.keep_large_enough(["a", "b"], counts, too_small="drop")
    assert subsets.keep_large_enough(["c", "b", "a"], counts, too_small="drop")[0] == ["c", "a"]
    manifest = manifest_of(CLASSES | {"060.duck": {"ok": 4}})
    pool = manifest[manifest["label"] == "060.duck"].head(1)[["image_id", "label"]]
    counts = subsets.usable_counts(manifest, pool)
    assert list(counts.values()) == [3, 5, 2, 0, 3]
    kept, dropped = subsets.keep_large_enough(FOUR[:3], counts, needed=3, too_small="drop")
    assert kept == FOUR[:2]
    table = subsets.left_out(FOUR[:3], manifest, pool, dropped)
    assert table.to_dict("records") == [
        {"label": "045.computer_keyboard", "usable": 2, "reason": "2 usable images, 3 needed"},
        {"label": "056.dog", "usable": 0, "reason": "not in the published list"},
        {"label": "060.duck", "usable": 3, "reason": "not in the published list"},
    ]
    assert table["usable"].dtype == "int64"
