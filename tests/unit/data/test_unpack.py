"""Archives that mean harm, archives that are broken, and runs that were killed."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.data.unpack import unpack_tar


def member(name: str, content: bytes = b"content", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    info.size = len(content) if info.isreg() else 0
    return info, content


def folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.DIRTYPE, mode=0o755)


def make_tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return path


def unpack(path: Path, target: Path, **options: object) -> Path:
    bounds: dict[str, object] = {"max_bytes": 10_000, "max_members": 100, **options}
    return unpack_tar(path, target, **bounds)


def tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


GOOD = (folder("top"), folder("top/a"), member("top/a/1.jpg", b"one"), member("top/b/2.jpg", b"two"))


@pytest.mark.parametrize(("suffix", "mode"), [("tar", "w"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")])
def test_unpacks_plain_and_compressed(tmp_path: Path, suffix: str, mode: str) -> None:
    path = make_tar(tmp_path / f"x.{suffix}", *GOOD, mode=mode)
    assert unpack(path, tmp_path / "deep" / "out") == tmp_path / "deep" / "out"
    assert tree(tmp_path / "deep") == ["out", "out/a", "out/a/1.jpg", "out/b", "out/b/2.jpg"]
    assert (tmp_path / "deep/out/b/2.jpg").read_bytes() == b"two"


@pytest.mark.parametrize("top", ["", "./", "any_name/"])
def test_flat_archives_and_those_with_one_folder_give_the_same(tmp_path: Path, top: str) -> None:
    path = make_tar(tmp_path / "x.tgz", member(f"{top}a.jpg"), member(f"{top}b.jpg"), mode="w:gz")
    assert tree(unpack(path, tmp_path / "x")) == ["a.jpg", "b.jpg"]


def test_top_folder_becomes_the_target(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD)
    unpack(path, tmp_path / "out" / "images", top_folder="top")
    assert tree(tmp_path / "out") == ["images", "images/a", "images/a/1.jpg", "images/b", "images/b/2.jpg"]


@pytest.mark.parametrize("members", [(*GOOD[2:3], member("other/3.jpg")), (member("other/3.jpg"),), (member("top"),)])
def test_archive_without_the_one_top_folder(tmp_path: Path, members: tuple[tuple[tarfile.TarInfo, bytes], ...]) -> None:
    path = make_tar(tmp_path / "x.tar", *members)
    with pytest.raises(LookalikeError, match="does not hold the one folder top"):
        unpack(path, tmp_path / "out" / "images", top_folder="top")
    assert tree(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (member("/etc/evil"), "'/etc/evil' leads out"),
        (member("../evil"), "'../evil' leads out"),
        (member("top/../../evil"), "leads out"),
        (member("top/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "'top/link' is a link to '/etc/passwd'"),
        (member("top/link", type=tarfile.SYMTYPE, linkname="a"), "'top/link' is a link"),
        (member("top/hard", type=tarfile.LNKTYPE, linkname="top/a/1.jpg"), "'top/hard' is a link"),
        (member("top/fifo", type=tarfile.FIFOTYPE), "'top/fifo' is neither file nor folder"),
        (member("top/device", type=tarfile.CHRTYPE), "'top/device' is neither file nor folder"),
        (member("top/disk", type=tarfile.BLKTYPE), "'top/disk' is neither file nor folder"),
    ],
)
def test_malicious_members_are_named_and_nothing_stays(
    tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes], message: str
) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD, bad)
    with pytest.raises(LookalikeError, match=message):
        unpack(path, tmp_path / "in" / "out")
    assert tree(tmp_path) == ["in", "x.tar"]


def test_permissions_of_members_are_tamed(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "x.tar", member("top/tool", mode=0o6777))
    out = unpack(path, tmp_path / "out")
    assert (out / "tool").stat().st_mode & 0o7022 == 0


def test_bounds(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "x.tar", *(member(f"top/{i}", b"x" * 100) for i in range(10)))
    unpack(path, tmp_path / "fits", max_bytes=1000, max_members=10)
    with pytest.raises(LookalikeError, match=r"more than 999 bytes \(at top/9\)"):
        unpack(path, tmp_path / "out", max_bytes=999)
    with pytest.raises(LookalikeError, match="more than 9 members"):
        unpack(path, tmp_path / "out", max_members=9)
    assert tree(tmp_path / "fits") == [str(i) for i in range(10)]
    assert not (tmp_path / "out").exists()


def test_bomb_is_refused_before_it_is_written(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "bomb.tgz", member("top/zeros", bytes(20_000_000)), mode="w:gz")
    assert path.stat().st_size < 100_000
    with pytest.raises(LookalikeError, match="more than 10,000 bytes"):
        unpack(path, tmp_path / "out")


@pytest.mark.parametrize(
    "damage", [lambda b: b"no archive at all", lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b[:30]]
)
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_damaged_archives(tmp_path: Path, damage: Callable[[bytes], bytes], mode: str) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD, member("top/large", b"x" * 9000), mode=mode)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(LookalikeError, match="damaged or no tar archive"):
        unpack(path, tmp_path / "out")
    assert tree(tmp_path) == ["x.tar"]


def test_missing_archive(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match=r"cannot unpack .*No such file"):
        unpack(tmp_path / "none.tar", tmp_path / "out")


def test_file_and_folder_of_one_name(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "x.tar", member("top/a"), member("top/a/b"))
    with pytest.raises(LookalikeError, match="cannot unpack"):
        unpack(path, tmp_path / "out")
    assert tree(tmp_path) == ["x.tar"]


def test_target_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD)
    (tmp_path / "out").mkdir()
    unpack(path, tmp_path / "out")  # empty: fine
    before = tree(tmp_path)
    with pytest.raises(LookalikeError, match="already exists and is not empty"):
        unpack(path, tmp_path / "out")
    assert tree(tmp_path) == before


def test_killed_run_leaves_no_target_and_the_next_one_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD)
    extract = tarfile.TarFile.extract
    seen: list[list[str]] = []

    def killed(self: tarfile.TarFile, info: tarfile.TarInfo, *args: object, **options: object) -> None:
        if info.name.endswith("2.jpg"):
            seen.append(tree(tmp_path))
            raise KeyboardInterrupt
        extract(self, info, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extract", killed)
        with pytest.raises(KeyboardInterrupt):
            unpack(path, tmp_path / "out")
    assert ".out.unpacking/top/a/1.jpg" in seen[0]
    assert "out" not in seen[0]

    left_over = tmp_path / ".out.unpacking"  # as after kill -9, when nothing could clean up
    (left_over / "top").mkdir(parents=True)
    (left_over / "top" / "old.jpg").write_bytes(b"half")
    unpack(path, tmp_path / "out")
    assert tree(tmp_path / "out") == ["a", "a/1.jpg", "b", "b/2.jpg"]
    assert not left_over.exists()
