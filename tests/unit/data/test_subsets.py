"""Class lists: the papers' against the archive's folders, a user's against the manifest."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from made_manifests import manifest_of

from lookalike.core.errors import LookalikeError
from lookalike.data.subsets import (
    class_labels,
    keep_large_enough,
    left_out,
    read_published_subsets,
    resolve_subset,
    usable_counts,
)

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"
CLASSES = {
    "003.backpack": {"ok": 3},
    "041.coffee-mug": {"ok": 5, "too_small": 1},
    "045.computer_keyboard": {"ok": 2},
    "056.dog": {"unreadable": 2},
    "198.notes": {"not_an_image": 4},
    "257.clutter": {"clutter": 6, "too_small": 1},
}


@pytest.fixture
def manifest() -> pd.DataFrame:
    return manifest_of(CLASSES)


@pytest.fixture(scope="module")
def published() -> dict[str, list[str]]:
    return read_published_subsets(RESOURCES / "class-subsets.csv")


@pytest.fixture(scope="module")
def archive_counts() -> dict[str, int]:
    with (RESOURCES / "caltech256-class-counts.csv").open(newline="") as stream:
        return {row["folder"]: int(row["images"]) for row in csv.DictReader(stream)}


def test_archive_counts_are_those_published(archive_counts: dict[str, int]) -> None:
    assert len(archive_counts) == 257
    assert sum(archive_counts.values()) == 30_607
    assert archive_counts["257.clutter"] == 827
    assert [int(folder.split(".")[0]) for folder in archive_counts] == list(range(1, 258))


def test_published_sizes(published: dict[str, list[str]]) -> None:
    sizes = {name: len(folders) for name, folders in published.items()}
    assert sizes == {"easy10": 10, "var10": 10, "var20": 20, "classes50": 50, "classes249": 249}


def test_published_names_exist_in_the_archive_with_enough_images(
    published: dict[str, list[str]], archive_counts: dict[str, int]
) -> None:
    for folders in published.values():
        assert len(set(folders)) == len(folders)
        assert set(folders) <= set(archive_counts) - {"257.clutter"}
        assert min(archive_counts[folder] for folder in folders) >= 65


def test_249_classes_are_1_to_250_without_129(published: dict[str, list[str]], archive_counts: dict[str, int]) -> None:
    numbers = sorted(int(folder.split(".")[0]) for folder in published["classes249"])
    assert numbers == [number for number in range(1, 251) if number != 129]
    assert "129.leopards-101" in archive_counts


def test_printed_names_resolve_to_their_folders_but_for_one_misspelling(archive_counts: dict[str, int]) -> None:
    manifest = manifest_of({folder: {"ok": 1} for folder in archive_counts if folder != "257.clutter"})
    with (RESOURCES / "class-subsets.csv").open(newline="") as stream:
        rows = [(row["name"], row["folder"]) for row in csv.DictReader(stream)]
    misspelled = {name for name, folder in rows if name != folder.split(".", 1)[1]}
    assert misspelled == {"star-fish-101"}
    spelled_well = {name: folder for name, folder in rows if name not in misspelled}
    assert resolve_subset(list(spelled_well), manifest) == list(spelled_well.values())


def test_published_folders_resolve_to_themselves(
    published: dict[str, list[str]], archive_counts: dict[str, int]
) -> None:
    manifest = manifest_of({folder: {"ok": 1} for folder in archive_counts})
    for folders in published.values():
        assert resolve_subset(folders, manifest) == folders


def test_classes_are_labels_with_images_that_are_not_clutter(manifest: pd.DataFrame) -> None:
    assert class_labels(manifest) == ["003.backpack", "041.coffee-mug", "045.computer_keyboard", "056.dog"]
    assert resolve_subset("all", manifest) == class_labels(manifest)


@pytest.mark.parametrize(
    "names",
    [
        ["041.coffee-mug", "045.computer_keyboard"],
        ["coffee-mug", "computer_keyboard"],
        ["Coffee Mug", "COMPUTER-KEYBOARD"],
        [" 041.coffee_mug ", "computer keyboard"],
    ],
)
def test_names_resolve_however_they_are_spelled(manifest: pd.DataFrame, names: list[str]) -> None:
    assert resolve_subset(names, manifest) == ["041.coffee-mug", "045.computer_keyboard"]
    assert resolve_subset(names[::-1], manifest) == ["045.computer_keyboard", "041.coffee-mug"]


def test_unknown_names_list_what_exists_nearest_first(manifest: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError) as caught:
        resolve_subset(["backpack", "cofee-mug", "zebra"], manifest)
    assert str(caught.value) == (
        "no such class: cofee-mug, zebra; did you mean 041.coffee-mug? "
        "the others are 003.backpack, 045.computer_keyboard, 056.dog"
    )
    with pytest.raises(LookalikeError, match=r"no such class: zebra; the classes are 003\.backpack, 041"):
        resolve_subset(["zebra", "dog"], manifest)


def test_a_class_without_images_is_not_called_unknown(manifest: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError) as caught:
        resolve_subset(["backpack", "notes"], manifest)
    assert str(caught.value) == (
        "198.notes has no usable image: none of its 4 files is an image (manifest.parquet says why of each); "
        "put images into it, or take it out of the subset"
    )
    with pytest.raises(LookalikeError, match="no such class: zebra; "):
        resolve_subset(["zebra", "notes"], manifest)
    assert "198.notes" not in resolve_subset("all", manifest)


def test_clutter_is_no_class(manifest: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError, match="no such class: clutter"):
        resolve_subset(["backpack", "clutter"], manifest)


def test_duplicates_ambiguity_and_too_few(manifest: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError, match=r"named more than once in one subset: 056\.dog"):
        resolve_subset(["dog", "056.dog", "backpack"], manifest)
    two = manifest_of({"001.bat": {"ok": 1}, "007.bat": {"ok": 1}})
    with pytest.raises(LookalikeError, match=r"'bat' fits 001\.bat and 007\.bat"):
        resolve_subset(["bat", "001.bat"], two)
    assert resolve_subset(["007.bat", "001.bat"], two) == ["007.bat", "001.bat"]
    with pytest.raises(LookalikeError, match="at least two classes, not 1"):
        resolve_subset(["dog"], manifest)
    with pytest.raises(LookalikeError, match="not 'dog'"):
        resolve_subset("dog", manifest)


def test_usable_counts_leave_the_pool_out(manifest: pd.DataFrame) -> None:
    pool = manifest[manifest["label"] == "041.coffee-mug"].head(2)[["image_id", "label"]]
    counts = usable_counts(manifest, pool)
    assert counts == {"003.backpack": 3, "041.coffee-mug": 3, "045.computer_keyboard": 2, "056.dog": 0}
    assert list(counts) == sorted(counts)


def test_too_small_classes_are_an_error_that_names_each() -> None:
    counts = {"a": 65, "b": 64, "c": 100}
    with pytest.raises(LookalikeError, match=r"needs 65 usable images .* fewer: b \(64\), d \(0\);"):
        keep_large_enough(["a", "b", "c", "d"], counts)


def test_too_small_classes_are_dropped_and_listed() -> None:
    kept, dropped = keep_large_enough(["c", "b", "a"], {"a": 65, "b": 64, "c": 100}, too_small="drop")
    assert kept == ["c", "a"]
    assert dropped.to_dict("records") == [{"label": "b", "usable": 64, "reason": "64 usable images, 65 needed"}]
    kept, dropped = keep_large_enough(["a", "b"], {"a": 65, "b": 65})
    assert kept == ["a", "b"]
    assert list(dropped.columns) == ["label", "usable", "reason"]
    assert dropped.empty


def test_classes_outside_the_published_list_are_left_out_with_a_reason() -> None:
    manifest = manifest_of(CLASSES | {"060.duck": {"ok": 4}})
    pool = manifest[manifest["label"] == "060.duck"].head(1)[["image_id", "label"]]
    wanted = ["003.backpack", "041.coffee-mug", "045.computer_keyboard"]
    kept, dropped = keep_large_enough(wanted, usable_counts(manifest, pool), needed=3, too_small="drop")
    assert kept == wanted[:2]
    table = left_out(wanted, manifest, pool, dropped)
    assert table.to_dict("records") == [
        {"label": "045.computer_keyboard", "usable": 2, "reason": "2 usable images, 3 needed"},
        {"label": "056.dog", "usable": 0, "reason": "not in the published list"},
        {"label": "060.duck", "usable": 3, "reason": "not in the published list"},
    ]
    assert table["usable"].dtype == "int64"


def test_the_249_classes_leave_seven_out(published: dict[str, list[str]], archive_counts: dict[str, int]) -> None:
    statuses = {folder: {"clutter" if folder == "257.clutter" else "ok": 1} for folder in archive_counts}
    manifest = manifest_of(statuses)
    pool = manifest.loc[manifest["status"] == "clutter", ["image_id", "label"]]
    wanted = resolve_subset("published", manifest, published["classes249"])
    kept, dropped = keep_large_enough(wanted, usable_counts(manifest, pool), needed=1, too_small="drop")
    assert kept == wanted
    table = left_out(wanted, manifest, pool, dropped)
    assert [int(label[:3]) for label in table["label"]] == [129, 251, 252, 253, 254, 255, 256]
    assert set(table["reason"]) == {"not in the published list"}


def test_dropping_needs_two_classes_left() -> None:
    with pytest.raises(LookalikeError, match="only 1 of 2 classes"):
        keep_large_enough(["a", "b"], {"a": 65, "b": 64}, too_small="drop")


def test_first_n_and_published_stand_for_lists(manifest: pd.DataFrame) -> None:
    everything = resolve_subset("all", manifest)
    assert resolve_subset("first 2", manifest) == everything[:2]
    assert resolve_subset("published", manifest, everything[1:3]) == everything[1:3]


@pytest.mark.parametrize(
    ("spec", "words"), [("first 99", "only"), ("published", "no class list"), ("some", "first N or published")]
)
def test_words_that_stand_for_nothing(manifest: pd.DataFrame, spec: str, words: str) -> None:
    with pytest.raises(LookalikeError, match=words):
        resolve_subset(spec, manifest)
