"""Class lists, the codebook pool and the partitions: disjoint, complete, and unmoved by other settings."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_place import TEXT, manifest_of
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data.splits import (
    class_labels,
    half_of,
    keep_large_enough,
    left_out,
    make_splits,
    read_published_subsets,
    resolve_subset,
    sample_codebook_pool,
    usable_counts,
)


@settings(deadline=None, max_examples=25)
@given(st.data(), st.integers(0, 2**32), st.floats(0, 1), st.integers(0, 12))
def test_pool_and_splits_are_of_streams_named_by_subset_fold_and_class(data, seed, share, keep):
    """So neither the order of classes nor other classes, folds and subsets change a line."""
    numbers = {
        name: data.draw(st.integers(1, most)) for name, most in (("n_folds", 4), ("n_train", 12), ("n_test", 12))
    }
    needed = numbers["n_train"] + numbers["n_test"]
    numbers["n_validation"] = data.draw(st.integers(0, numbers["n_train"] - 1))
    spare = data.draw(st.lists(st.integers(0, 10), min_size=2, max_size=4))
    sizes = {f"{i:03d}.class": {"ok": needed + more, "too_small": 2} for i, more in enumerate(spare)}
    manifest = manifest_of({**sizes, "few": {"ok": 3}, "257.clutter": {"clutter": 3, "too_small": 1}})
    usable = {label: own["image_id"].to_numpy() for label, own in manifest[manifest["status"] == "ok"].groupby("label")}
    chosen = set(manifest.loc[manifest["status"] == "clutter", "image_id"])
    for label, images in usable.items():
        n = max(0, min(round(share * len(images)), len(images) - needed - keep))
        chosen |= set(images[generator(seed, "codebook pool", label).permutation(len(images))[:n]])
    pool = sample_codebook_pool(manifest, share=share, keep=needed + keep, seed=seed)
    pd.testing.assert_frame_equal(pool, manifest.loc[sorted(chosen), ["image_id", "label"]].reset_index(drop=True))

    rows = []
    for fold, label in itertools.product(range(numbers["n_folds"]), sizes):
        left = np.setdiff1d(usable[label], pool["image_id"])
        order = left[generator(seed, "split", "toy", fold, label).permutation(len(left))]
        roles = ["train"] * numbers["n_train"] + ["test"] * numbers["n_test"]
        own = enumerate(zip(order, roles, strict=False))
        rows += [(fold, image, label, role, place < numbers["n_validation"]) for place, (image, role) in own]
    splits = make_splits(manifest, pool, data.draw(st.permutations(list(sizes))), **numbers, seed=seed, subset="toy")
    rows.sort(key=lambda row: (row[0], row[3], row[2], row[1]))
    types = {"fold": "int8", "image_id": "int32", "label": TEXT, "role": TEXT, "validation": "bool"}
    pd.testing.assert_frame_equal(splits, pd.DataFrame(rows, columns=list(types)).astype(types))


@pytest.mark.parametrize(
    ("images", "n", "n_cats"), [("auto", 500, 0), ("auto", 499, 8), ("classes", 500, 8), ("clutter", 1, 0)]
)
def test_enough_clutter_is_a_pool_by_itself(images, n, n_cats):
    manifest = manifest_of({"cat": {"ok": 80}, "c": {"clutter": n, "too_small": 9}})
    pool = sample_codebook_pool(manifest, share=0.1, keep=65, seed=0, images=images)
    assert ((pool["label"] == "c").sum(), (pool["label"] == "cat").sum()) == (n, n_cats)


RESOURCES = ROOT / "workflow" / "resources"
FOLDERS = {"003.backpack": {"ok": 3}, "041.coffee-mug": {"ok": 5, "too_small": 1}, "045.computer_keyboard": {"ok": 2}}
FOLDERS |= {"056.dog": {"unreadable": 2}, "198.notes": {"not_an_image": 4}}
FOLDERS |= {"257.clutter": {"clutter": 6, "too_small": 1}}
ARCHIVE = manifest_of(FOLDERS)
FOUR = ["003.backpack", "041.coffee-mug", "045.computer_keyboard", "056.dog"]
ALL = ", ".join(FOUR)


def test_the_published_lists_are_folders_of_the_archive():
    archive = pd.read_csv(RESOURCES / "caltech256-class-counts.csv", index_col="folder")["images"]
    assert (len(archive), archive.sum(), archive["257.clutter"]) == (257, 30_607, 827)
    assert [int(folder.split(".")[0]) for folder in archive.index] == list(range(1, 258))
    published = read_published_subsets(RESOURCES / "class-subsets.csv")
    sizes = {name: len(folders) for name, folders in published.items()}
    assert sizes == {"easy10": 10, "var10": 10, "var20": 20, "classes50": 50, "classes249": 249}
    numbers = sorted(int(folder.split(".")[0]) for folder in published["classes249"])
    assert numbers == [number for number in range(1, 251) if number != 129]
    manifest = manifest_of({folder: {"ok": 1} for folder in archive.index if folder != "257.clutter"})
    for folders in published.values():
        assert resolve_subset(folders, manifest) == folders
        assert archive[folders].min() >= 65
    printed = pd.read_csv(RESOURCES / "class-subsets.csv").drop_duplicates("name").set_index("name")["folder"]
    printed = printed.drop("star-fish-101")  # the only one that is printed in another spelling
    assert resolve_subset(printed.index.tolist(), manifest) == printed.tolist()


def test_halves_are_apart_and_depend_on_the_seed_alone_and_words_name_subsets():
    classes = [f"{number:03d}.class" for number in range(20)]
    halves = [half_of(classes, number, 2010) for number in range(1, 21)]
    assert all(len(half) == 10 and half == sorted(half) for half in halves)
    assert all(sorted(first + second) == classes for first, second in zip(halves[::2], halves[1::2], strict=True))
    assert {sum(name in half for half in halves) for name in classes} == {10}
    assert len({tuple(half) for half in halves}) == 20
    assert half_of(classes[::-1], 3, 2010) == halves[2] != half_of(classes, 3, 2011)
    assert resolve_subset("half 2", ARCHIVE, seed=1) == half_of(FOUR, 2, 1)
    assert class_labels(ARCHIVE) == resolve_subset("all", ARCHIVE) == FOUR, "labels with images that are not clutter"
    assert resolve_subset("first 2", ARCHIVE) == FOUR[:2]
    assert resolve_subset("published", ARCHIVE, FOUR[1:3]) == FOUR[1:3]
    assert [len(half_of(classes[:5], number, 1)) for number in (1, 2)] == [3, 2]


@pytest.mark.parametrize("mug", ["041.coffee-mug", "coffee-mug", "Coffee Mug", " 041.coffee_mug "])
@pytest.mark.parametrize("keyboard", ["computer_keyboard", "COMPUTER-KEYBOARD", "computer keyboard"])
def test_names_resolve_however_they_are_spelled(mug, keyboard):
    assert resolve_subset([mug, keyboard], ARCHIVE) == FOUR[1:3]
    assert resolve_subset([keyboard, mug], ARCHIVE) == FOUR[2:0:-1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["cofee-mug", "zebra"], f"no such class: cofee-mug, zebra; did you mean {FOUR[1]!r}? there are: {ALL}"),
        (
            ["backpack", "notes"],
            "198.notes has no usable image: none of its 4 files is an image (manifest.parquet says why of each); "
            "put images into it, or take it out of the subset",
        ),
        (["bat", "001.bat"], "the class name 'bat' fits 001.bat and 007.bat: write the folder's name in full"),
        (["dog", "056.dog"], "named more than once in one subset: 056.dog; name each class once"),
        (["dog"], f"a subset needs at least two classes, not 1; there are {', '.join(FOUR)}"),
        ("dog", "classes must be a list of class names, all, first N, half N or published, not 'dog'"),
        ("first 99", f"there are only 4 classes, not 99: {', '.join(FOUR)}"),
        ("published", "the papers print no class list of this subset's name: list its classes instead"),
    ],
)
def test_what_is_no_subset_is_one_sentence(spec, message):
    with pytest.raises(LookalikeError) as caught:
        resolve_subset(spec, manifest_of({"001.bat": {"ok": 1}, "007.bat": {"ok": 1}}) if "bat" in spec else ARCHIVE)
    assert str(caught.value) == message


def test_classes_that_are_too_small_are_an_error_or_dropped_and_listed():
    options = {"n_folds": 1, "n_train": 2, "n_test": 1, "n_validation": 0, "seed": 0, "subset": "toy"}
    for pool, words in ((ARCHIVE[:1], r"003\.backpack \(2\), 257\.clutter \(0\)"), (ARCHIVE[:0], ": 257.clutter")):
        with pytest.raises(LookalikeError, match=words):
            make_splits(ARCHIVE, pool, ["003.backpack", "041.coffee-mug", "257.clutter"], **options)
    with pytest.raises(LookalikeError, match=r"no class has more than 65 usable images .*add images"):
        sample_codebook_pool(manifest_of({"cat": {"ok": 65}, "dog": {"ok": 65}}), share=0.1, keep=65, seed=0)
    counts = {"a": 65, "b": 64, "c": 100}
    with pytest.raises(LookalikeError, match=r"needs 65 usable images .* fewer: b \(64\), d \(0\);"):
        keep_large_enough(["a", "b", "c", "d"], counts)
    with pytest.raises(LookalikeError, match="only 1 of 2 classes"):
        keep_large_enough(["a", "b"], counts, too_small="drop")
    assert keep_large_enough(["c", "b", "a"], counts, too_small="drop") == ["c", "a"]
    manifest = manifest_of(FOLDERS | {"060.duck": {"ok": 4}})
    pool = manifest[manifest["label"] == "060.duck"].head(1)[["image_id", "label"]]
    counts = usable_counts(manifest, pool)
    assert list(counts.values()) == [3, 5, 2, 0, 3]
    assert keep_large_enough(FOUR[:3], counts, needed=3, too_small="drop") == FOUR[:2]
    table = left_out([FOUR[2]], ["056.dog", "060.duck"], counts, needed=3)
    assert table.to_dict("records") == [
        {"label": "045.computer_keyboard", "usable": 2, "reason": "2 usable images, 3 needed"},
        {"label": "056.dog", "usable": 0, "reason": "not in the published list"},
        {"label": "060.duck", "usable": 3, "reason": "not in the published list"},
    ]
    assert table["usable"].dtype == "int64"
