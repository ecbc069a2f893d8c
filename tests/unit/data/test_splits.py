"""Class lists, the codebook pool and the partitions: disjoint, complete, and unmoved by other settings."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_place import TEXT, manifest_of
from project import ROOT

from lookalike.core.errors import LookalikeError
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

PAPER = {"n_folds": 5, "n_train": 40, "n_test": 25, "n_validation": 8, "seed": 0, "subset": "toy"}
CLASSES = {"001.cat": {"ok": 80, "too_small": 9}, "002.dog": {"ok": 90, "unreadable": 4}, "003.cow": {"ok": 75}}
CLASSES |= {"004.elk": {"ok": 72, "not_an_image": 1}}
NAMES = list(CLASSES)
CLASSES |= {"257.clutter": {"clutter": 30, "too_small": 2}}
MANIFEST = manifest_of(CLASSES)
POOL = sample_codebook_pool(MANIFEST, share=0.1, keep=65, seed=0)
SEED, SHARE = st.integers(0, 2**32), st.floats(0, 1)
SIZES = st.tuples(st.integers(0, 11), st.integers(1, 12), st.integers(1, 12)).filter(lambda sizes: sizes[0] < sizes[1])


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), SHARE, st.integers(0, 20), SEED)
def test_the_pool_takes_all_clutter_and_leaves_every_class_what_it_must_keep(sizes, share, keep, seed):
    counts = {f"{i:03d}": {"ok": size, "unreadable": 1} for i, size in enumerate(sizes)}
    manifest = manifest_of(counts | {"c": {"clutter": 2, "too_small": 1}})
    pool = sample_codebook_pool(manifest, share=share, keep=keep, seed=seed)
    taken = pool["label"].value_counts()
    assert taken["c"] == 2
    for i, size in enumerate(sizes):
        assert taken.get(f"{i:03d}", 0) == max(0, min(round(share * size), size - keep))
    assert (list(pool), pool["image_id"].dtype) == (["image_id", "label"], "int32")
    assert pool["image_id"].tolist() == sorted(set(pool["image_id"]))
    rows = manifest.set_index("image_id").loc[pool["image_id"]]
    assert rows["label"].tolist() == pool["label"].tolist()
    assert set(rows["status"]) <= {"ok", "clutter"}


@pytest.mark.parametrize(
    ("images", "n", "n_cats"), [("auto", 500, 0), ("auto", 499, 8), ("classes", 500, 8), ("clutter", 1, 0)]
)
def test_enough_clutter_is_a_pool_by_itself(images, n, n_cats):
    manifest = manifest_of({"cat": {"ok": 80}, "c": {"clutter": n, "too_small": 9}})
    pool = sample_codebook_pool(manifest, share=0.1, keep=65, seed=0, images=images)
    assert ((pool["label"] == "c").sum(), (pool["label"] == "cat").sum()) == (n, n_cats)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 4), SIZES, st.lists(st.integers(0, 10), min_size=2, max_size=4), SHARE, SEED)
def test_splits_are_disjoint_complete_and_free_of_the_pool(n_folds, roles, spare, share, seed):
    n_validation, n_train, n_test = roles
    sizes = {f"{i:03d}.class": {"ok": n_train + n_test + more, "too_small": 2} for i, more in enumerate(spare)}
    manifest = manifest_of({**sizes, "257.clutter": {"clutter": 3}})
    pool = sample_codebook_pool(manifest, share=share, keep=n_train + n_test, seed=seed)
    numbers = {"n_folds": n_folds, "n_train": n_train, "n_test": n_test, "n_validation": n_validation}
    splits = make_splits(manifest, pool, list(sizes), **numbers, seed=seed, subset="toy")
    assert not splits.duplicated(["fold", "image_id"]).any()
    assert not set(splits["image_id"]) & set(pool["image_id"])
    rows = manifest.set_index("image_id").loc[splits["image_id"]]
    assert set(rows["status"]) == {"ok"}
    assert list(rows["label"]) == list(splits["label"])
    sums = splits.groupby(["fold", "label", "role"]).agg(images=("image_id", "size"), flagged=("validation", "sum"))
    assert len(sums) == 2 * n_folds * len(sizes)
    assert set(sums.xs("train", level="role").itertuples(index=False, name=None)) == {(n_train, n_validation)}
    assert set(sums.xs("test", level="role").itertuples(index=False, name=None)) == {(n_test, 0)}
    types = {"fold": "int8", "image_id": "int32", "label": TEXT, "role": TEXT, "validation": "bool"}
    assert splits.dtypes.astype(str).to_dict() == types
    order = splits.sort_values(["fold", "role", "label", "image_id"], ignore_index=True)
    pd.testing.assert_frame_equal(splits, order)


def drawn(counts, classes, **changes):
    """Return what classes have in pool and splits: path, label, fold, role and whether an image validates."""
    manifest = manifest_of(counts)
    pool = sample_codebook_pool(manifest, share=0.1, keep=65, seed=0).assign(fold=-1, role="pool", validation=False)
    rows = pd.concat([pool[pool["label"].isin(classes)], make_splits(manifest, pool, classes, **PAPER | changes)])
    path = rows["image_id"].map(manifest.set_index("image_id")["path"])
    return set(zip(path, rows["label"], rows["fold"], rows["role"], rows["validation"], strict=True))


@settings(deadline=None, max_examples=10)
@given(classes=st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True), seed=st.integers(0, 999))
def test_neither_order_nor_other_classes_and_folds_change_a_line(classes, seed):
    few = drawn({label: CLASSES[label] for label in classes}, classes, seed=seed, n_folds=2)
    many = drawn({"000.ant": {"ok": 80}, **CLASSES}, ["000.ant", *NAMES], seed=seed, n_folds=3)
    assert few == {line for line in many if line[1] in classes and line[2] < 2}


def test_folds_classes_seeds_and_subsets_are_drawn_independently():
    def tests(**changes):
        lines = drawn({"001.cat": {"ok": 80}, "002.dog": {"ok": 80}}, ["001.cat", "002.dog"], **changes)
        groups = {(label, fold) for _, label, fold, role, _ in lines if role == "test"}
        return [frozenset(line[0][-8:] for line in lines if line[1:4] == (*group, "test")) for group in sorted(groups)]

    assert tests() == tests()
    assert len({*tests(), *tests(seed=1), *tests(subset="other")}) == 3 * 5 * 2


def test_every_image_tests_and_validates_equally_often():
    options = {**PAPER, "n_folds": 127, "n_train": 20, "n_test": 20, "n_validation": 5}
    splits = make_splits(MANIFEST, POOL.head(0), ["001.cat", "003.cow"], **options)
    cats = splits[splits["label"] == "001.cat"]
    for part, share in ((cats["role"] == "test", 20 / 80), (cats["validation"], 5 / 80)):
        times = cats[part]["image_id"].value_counts().reindex(cats["image_id"].unique(), fill_value=0)
        assert abs(times - 127 * share).max() < 4.5 * (127 * share * (1 - share)) ** 0.5


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
    for label, n_test, words in (("004.elk", 26, r"004\.elk \(65\)"), ("257.clutter", 25, r"257\.clutter \(0\)")):
        with pytest.raises(LookalikeError, match=words):
            make_splits(MANIFEST, POOL, ["001.cat", label], **{**PAPER, "n_test": n_test})
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
