"""A folder with everything odd that a class folder can hold, and the manifest that comes of it."""

import hashlib
import os
from functools import partial

import pandas as pd
import pytest
from made_place import TEXT, paint
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table, write_table
from lookalike.data.path_finder import locate
from lookalike.data.scan import image_paths, scan_folder, scan_photographs
from lookalike.data.splits import resolve_subset
from lookalike.data.visterm_folder import anonymous

LARGE = (300, 200)
picture = partial(paint, size=LARGE)


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory):
    """Caltech-256's oddities and some of a user's own."""
    root = tmp_path_factory.mktemp("odd") / "images"
    exif = Image.Exif()
    exif[0x0112] = 6
    sizes = {"001.cat/small.png": (128, 128), "001.cat/cut off.png": (200, 31), "257.clutter/b.png": (64, 64)}
    large = "001.cat/001_0001.jpg", "001.cat/cut.jpg", "257.clutter/a.png", "beside.png", ".cache/thumb.png"
    sizes |= dict.fromkeys([*large, "056.dog/.hidden.png", "056.dog/greg/vision309/056_0100.png"], LARGE)
    for name, size in sizes.items():
        picture(root / name, size=size)
    picture(root / "001.cat" / "001_0002.jpg", exif=exif)
    picture(root / "198.spider" / os.fsdecode(b"\xff.png"))
    os.truncate(root / "001.cat" / "cut.jpg", 2000)
    for name in ("056.dog/greg/empty", "empty_class/empty_inside", ".empty_hidden"):
        (root / name).mkdir(parents=True)
    (root / "198.spider" / "RENAME2").write_text("#!/bin/sh\n")
    (root / "198.spider" / "Thumbs.db").write_bytes(b"x")
    os.mkfifo(root / "198.spider" / "pipe.jpg")
    for name in ("@eaDir", "001.cat/@eaDir", "$RECYCLE.BIN", "System Volume Information", "056.dog/thumbs"):
        picture(root / name / "thumb.png")
    links = {"198.spider/link.jpg": "001.cat/001_0001.jpg", "198.spider/dangling": "nowhere", ".cache/link": "001.cat"}
    links |= dict.fromkeys(("198.spider/linked_folder", "linked_class"), "001.cat")
    links |= {"056.dog/up": ".", "loop": ".", "198.spider/itself": "198.spider/itself"}
    for name, target in links.items():
        (root / name).symlink_to(root / target)
    return root


@pytest.fixture(scope="module")
def manifest(odd_folder):
    with pytest.warns(UserWarning, match="^followed 3 links in ") as warned:
        found = scan_folder(odd_folder)
    assert len(warned) == 1
    return found


CAT = {
    "001_0001.jpg": ("ok", ""),
    "001_0002.jpg": ("ok", ""),
    "@eaDir": ("not_an_image", "a folder that a system makes"),
    "cut off.png": ("too_small", "200 x 31 pixels"),
    "cut.jpg": ("unreadable", "truncated"),
    "small.png": ("too_small", "128 x 128 pixels"),
}
SYSTEM, LOOP = ("not_an_image", "a folder that a system makes"), ("not_an_image", "a link to a folder that it lies in")
ODD = {
    "$RECYCLE.BIN": ("", *SYSTEM),
    ".cache/link": (".cache", "not_an_image", "hidden"),
    ".cache/thumb.png": (".cache", "not_an_image", "hidden"),
    **{f"001.cat/{name}": ("001.cat", *facts) for name, facts in CAT.items()},
    "056.dog/.hidden.png": ("056.dog", "not_an_image", "hidden"),
    "056.dog/greg/vision309/056_0100.png": ("056.dog", "ok", ""),
    "056.dog/thumbs": ("056.dog", *SYSTEM),
    "056.dog/up": ("056.dog", *LOOP),
    "198.spider/RENAME2": ("198.spider", "not_an_image", "not an image of a known format"),
    "198.spider/Thumbs.db": ("198.spider", "not_an_image", "made by a file manager"),
    "198.spider/\\udcff.png": ("198.spider", "not_an_image", "its name is not valid UTF-8: rename it"),
    "198.spider/dangling": ("198.spider", "not_an_image", "a link that leads nowhere"),
    "198.spider/itself": ("198.spider", "not_an_image", "a link that leads nowhere"),
    "198.spider/link.jpg": ("198.spider", "ok", ""),
    **{f"198.spider/linked_folder/{name}": ("198.spider", *facts) for name, facts in CAT.items()},
    "198.spider/pipe.jpg": ("198.spider", "not_an_image", "not a regular file"),
    "257.clutter/a.png": ("257.clutter", "clutter", ""),
    "257.clutter/b.png": ("257.clutter", "too_small", "64 x 64 pixels"),
    "@eaDir": ("", *SYSTEM),
    "System Volume Information": ("", *SYSTEM),
    "beside.png": ("", "not_an_image", "beside the class folders"),
    "empty_class": ("empty_class", "not_an_image", "an empty class folder"),
    **{f"linked_class/{name}": ("linked_class", *facts) for name, facts in CAT.items()},
    "loop": ("", *LOOP),
}


def test_every_file_is_a_row_with_its_status_and_reason(manifest, odd_folder):
    assert manifest["path"].tolist() == list(ODD)
    for row, (label, status, reason) in zip(manifest.itertuples(), ODD.values(), strict=True):
        assert (row.label, row.status) == (label, status)
        assert reason in row.reason
        assert (row.reason == "") == (status in ("ok", "clutter"))
        assert (row.width > 0) == (status in ("ok", "clutter", "too_small"))
        file = odd_folder / row.path
        content = file.read_bytes() if file.is_file() else b""
        assert row.bytes == len(content)
        assert row.sha256 == (hashlib.sha256(content).hexdigest() if content else "")
    numbers = {"image_id": "int32", "width": "int32", "height": "int32", "bytes": "int64"}
    texts = dict.fromkeys(["path", "label", "sha256", "status", "reason"], TEXT)
    assert manifest.dtypes.astype(str).to_dict() == numbers | texts
    assert manifest["image_id"].tolist() == list(range(len(ODD)))
    sizes = manifest.set_index("path")[["width", "height"]]
    assert tuple(sizes.loc["001.cat/001_0001.jpg"]) == LARGE
    assert tuple(sizes.loc["001.cat/001_0002.jpg"]) == LARGE[::-1]  # turned by EXIF
    usable = [str(path.relative_to(odd_folder)) for path in image_paths(manifest, odd_folder) if path]
    assert usable == [path for path, (_, status, _) in ODD.items() if status == "ok"]
    with pytest.raises(LookalikeError, match="empty_class has no usable image: an empty class folder; put"):
        resolve_subset(["001.cat", "empty_class"], manifest)


@pytest.mark.filterwarnings("ignore:followed 3 links")
def test_threads_progress_links_and_files_change_nothing(manifest, odd_folder, tmp_path, capsys):
    calls = []
    (tmp_path / "link").symlink_to(odd_folder)
    table = scan_folder(str(tmp_path / "link"), n_threads=4, progress=lambda *counts: calls.append(counts))
    pd.testing.assert_frame_equal(table, manifest)
    n_files = len(manifest) - 1  # but for the empty folder
    assert calls == [(done, n_files) for done in range(1, n_files + 1)]
    assert capsys.readouterr() == ("", "")
    write_table(manifest, tmp_path / "manifest.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "manifest.parquet"), manifest)
    named = scan_folder(odd_folder, classes=["257.clutter", "001.cat"])["path"].tolist()
    assert named == [path for path in ODD if path.startswith(("001.cat/", "257.clutter/"))]
    with pytest.raises(LookalikeError, match=r"has no class folder cow; .*there are: 001.cat, 056.dog, 198.spider, "):
        scan_folder(odd_folder, classes=["cow"])
    status = scan_folder(odd_folder, clutter_labels=["056.dog"]).set_index("path")["status"]
    assert status[["056.dog/greg/vision309/056_0100.png", "257.clutter/a.png"]].tolist() == ["clutter", "ok"]


CLASSES = ("001.cat/a.png", "002.dog/a.png")


@pytest.fixture
def wrong(tmp_path):
    wrappers = ("mac/photos", "deep/a b/c", "split/val", "split/train", "hidden/.cats", "tests/train2017")
    wrappers += ("years/train2017", "years/train2018")
    for name in ("flat/a.png", "tests/test2017/1.png", *(f"{outer}/{name}" for outer in wrappers for name in CLASSES)):
        picture(tmp_path / name)
    notes = {"mac/__MACOSX/photos/._a.png": b"", "deep/read me.txt": b"a", "deep/a b/.DS_Store": b"a"}
    notes |= {"phone/cat/1.heic": b"\0\0\0\x18ftypheic\0\0\0\0", "phone/cat/0.txt": b"a"}
    for name, content in notes.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    for name in ("empty", "texts/cat", "links/cat", "far/cat"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "texts" / "cat" / "a.txt").write_text("a")
    (tmp_path / "links" / "cat" / "a.png").symlink_to(tmp_path / "nowhere")
    (tmp_path / "far" / "cat" / "a.png").symlink_to("a" * 300)
    return tmp_path


WRONG = [
    ("none", "there is no folder .*none: give the folder"),
    ("empty", "holds no class folders: sort"),
    ("flat/a.png", "is a file"),
    ("flat", "holds no class folders"),
    ("texts", "no image that can be read"),
    ("links", r"no image that can be read among its 1 file \(cat/a.png: a link that leads nowhere\)"),
    ("mac", "holds only photos, which holds folders: give .*mac/photos instead"),
    ("deep", "give .*/deep/a b/c instead"),
    ("hidden", "holds no class folders: sort"),
    ("split", r"parts .* \(train, val\), not its classes: give one of them, such as \S*/split/train$"),
    ("tests", r"parts of a data set \(test2017, train2017\), not its classes: .* such as \S*/train2017$"),
    ("years", r"parts of a data set \(train2017, train2018\), not its classes"),
    ("far", r"cat/a.png: cannot be read: File name too long"),
    ("phone", r"read among its 2 files \(cat/1.heic: 1.heic is a HEIC image, .*: convert it to JPEG"),
]
PHOTOGRAPHS = [
    ("empty", "holds no photograph that can be read: put"),
    ("phone", r"no photograph that can be read among its 2 files \(cat/1.heic: .* convert it"),
]
SCANS = [*((scan_folder, *row) for row in WRONG), *((scan_photographs, *row) for row in PHOTOGRAPHS)]


@pytest.mark.parametrize(("scan", "name", "words"), SCANS)
def test_wrong_folders_are_explained(wrong, scan, name, words):
    with pytest.raises(LookalikeError, match=words):
        scan(wrong / name)


def test_what_looks_like_parts_or_a_class_and_is_none(tmp_path):
    # classes may be called train, and may hold folders of the same names
    for folder in ("bus/2019", "bus/2020", "train/2019", "train/2020", "steam train/1890"):
        picture(tmp_path / folder / "a.png")
    (tmp_path / "__MACOSX" / "bus").mkdir(parents=True)
    (tmp_path / "__MACOSX" / "bus" / "._a.png").write_bytes(b"\0\5\x16\7")
    for scan in (scan_folder, scan_photographs):
        found = scan(tmp_path).set_index("path")
        assert found["label"].str.partition("/")[0].tolist() == ["", "bus", "bus", "steam train", "train", "train"]
        assert found.loc["__MACOSX", "reason"].startswith("a folder that a system makes")


def test_photographs_lie_anywhere_and_are_large_enough_for_a_keypoint(odd_folder, tmp_path):
    with pytest.warns(UserWarning, match="^followed 3 links"):
        found = scan_photographs(odd_folder)
    photographs = {path for path in ODD if path.endswith("/small.png")}
    photographs |= {"257.clutter/a.png", "257.clutter/b.png", "beside.png"}
    expected = {path: "ok" if path in photographs else status for path, (_, status, _) in ODD.items()}
    del expected["empty_class"]
    assert dict(zip(found["path"], found["status"], strict=True)) == expected
    assert found["label"].tolist() == [path.rpartition("/")[0] for path in expected]
    reason = found.set_index("path").loc["001.cat/cut off.png", "reason"]
    assert reason == "200 x 31 pixels, and each side needs 32 or more"
    picture(tmp_path / "001.cat" / "1.png")
    pd.testing.assert_frame_equal(scan_folder(tmp_path), scan_photographs(tmp_path))


def test_photographs_without_names_keep_their_order():
    paths = ["gate/Peter at the gate.jpg", "gate/inside/unnamed.jpg", "old fort/unnamed.jpg", "unnamed.jpg"]
    labels = ["gate", "gate/inside", "old fort", ""]
    table = anonymous(pd.DataFrame({"path": paths, "label": labels, "sha256": "ab", "image_id": range(4)}))
    assert table["path"].tolist() == ["gate/0001.jpg", "gate/0002.jpg", "old fort/0001.jpg", "0001.jpg"]
    assert table["label"].tolist() == ["gate", "gate", "old fort", ""]
    assert set(table["sha256"]) == {""}
    assert table["image_id"].tolist() == [0, 1, 2, 3]


FILES = ("red/0.png", "red/a\u0308.png", "red/a.png", "red/A.png", "../beside.png")
SPELT = {
    "red\\0.png": "red/0.png",
    "/red/0.png": "red/0.png",
    " RED/0.PNG": "red/0.png",
    "photos/red/0.png": "red/0.png",
    "C:\\Ada\\photos\\red\\0.png": "red/0.png",
    "{photos}/red/0.png": "red/0.png",
    "red/\u00e4.png": "red/a\u0308.png",  # NFC of a file in NFD
    "red/A.png": "red/A.png",  # exact first
    "../beside.png": "../beside.png",  # a user's own table may name what lies elsewhere
    "LINKED/0.png": "linked/0.png",  # through a link to a folder
    "Red/a.png": "it may be red/A.png or red/a.png: write the one that is meant",
    "../gone/0.png": "there is no such file",
    "red/0.jpg": "there is no such file; red/0.png may be meant: write that",
}


@pytest.mark.parametrize(("text", "meant"), SPELT.items())
def test_a_file_is_found_however_a_table_spells_it(tmp_path, text, meant):
    photos = tmp_path / "photos"
    for name in FILES:
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).touch()
    (photos / "linked").symlink_to("red")
    text = text.format(photos=photos)
    found, lost = locate(photos, [text])
    assert (found.get(text), lost) in ((meant, []), (None, [(text, meant)]))
