"""Image sources: windows of stored squares, from arrays and from files, in this process and in others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from PIL import Image  # noqa: E402

from lookalike.core.errors import LookalikeError  # noqa: E402
from lookalike.deep.images import ArrayImages, FileImages, batches, fetch, load_pixels, load_square  # noqa: E402

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def pixels() -> np.ndarray:
    return RANDOM.integers(0, 256, (7, 12, 12, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def files(pixels: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{row}.png" for row in range(len(pixels))]
    for path, image in zip(paths, pixels, strict=True):
        Image.fromarray(image).save(path)
    return paths


def test_a_window_is_where_its_request_says(pixels: np.ndarray, files: list[Path]) -> None:
    requests = np.array([[3, 0, 0], [3, 4, 1], [0, 2, 2]])
    expected = np.stack([pixels[3, :8, :8], pixels[3, 4:12, 1:9], pixels[0, 2:10, 2:10]])
    for source in (ArrayImages(pixels, 8), FileImages(files, 8, 2)):
        assert (source.shift, source.stored_size, source.input_size, len(source)) == (2, 12, 8, 7)
        np.testing.assert_array_equal(source.windows(requests), expected)
        np.testing.assert_array_equal(source[0].numpy(), expected[2])


def test_shifts_are_uniform_over_all_windows_that_fit(pixels: np.ndarray) -> None:
    requests = ArrayImages(pixels, 8).shifted(np.zeros(25_000, int), np.random.default_rng(3))
    counts = np.bincount(requests[:, 1] * 5 + requests[:, 2])
    assert len(counts) == 25
    assert np.abs(counts - 1000).max() < 6 * np.sqrt(1000)


def test_of_a_memory_map_only_windows_are_read(pixels: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "pixels.npy", pixels)
    source = ArrayImages(np.load(tmp_path / "pixels.npy", mmap_mode="r"), 8)
    np.testing.assert_array_equal(torch.cat(list(batches(source, batch=3))).numpy(), pixels[:, 2:10, 2:10])
    assert source.fingerprint() == ArrayImages(pixels, 8).fingerprint()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_batches_come_in_order(pixels: np.ndarray, files: list[Path], n_workers: int) -> None:
    rows = [6, 0, 0, 3, 2]
    got = list(batches(FileImages(files, 8, 2), rows, batch=2, n_workers=n_workers))
    assert [tuple(part.shape) for part in got] == [(2, 8, 8, 3), (2, 8, 8, 3), (1, 8, 8, 3)]
    assert got[0].dtype == torch.uint8
    np.testing.assert_array_equal(torch.cat(got).numpy(), pixels[rows][:, 2:10, 2:10])


def test_reading_draws_nothing_from_the_stream_of_dropout(pixels: np.ndarray) -> None:
    before = torch.get_rng_state()
    list(batches(ArrayImages(pixels, 8)))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_file_that_is_broken_is_named_in_one_sentence(files: list[Path], tmp_path: Path, n_workers: int) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(files[0].read_bytes()[:60])
    source = FileImages([files[0], broken], 8, 2)
    requests = [source.central([0]), source.central([1])]
    with pytest.raises(LookalikeError, match=r"^broken\.png is damaged") as caught:
        list(fetch(source, requests, n_workers=n_workers, device=torch.device("cpu")))
    assert "Traceback" not in str(caught.value)


def test_load_pixels_squashes_to_a_square(tmp_path: Path) -> None:
    wide = np.zeros((20, 60, 3), dtype=np.uint8)
    wide[:, 30:] = 200  # the right half, of whatever width
    Image.fromarray(wide).save(tmp_path / "wide.png")
    told: list[tuple[int, int]] = []
    got = load_pixels(
        [tmp_path / "wide.png"] * 3, 10, n_threads=2, progress=lambda done, all_: told.append((done, all_))
    )
    assert got.shape == (3, 10, 10, 3)
    np.testing.assert_array_equal(got[0], got[2])
    assert (got[0, :, :4] == 0).all()
    assert (got[0, :, 6:] == 200).all()
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_shrinking_averages(tmp_path: Path) -> None:
    board = (np.indices((40, 40)).sum(0) % 2 * 255).astype(np.uint8)  # aliasing would leave black or white
    Image.fromarray(board).convert("RGB").save(tmp_path / "board.png")
    assert np.abs(load_square(tmp_path / "board.png", 10).astype(int) - 127).max() < 12


def test_fingerprints_tell_sources_apart(pixels: np.ndarray, files: list[Path]) -> None:
    other = pixels.copy()
    other[-1, 0, 0, 0] ^= 1
    assert ArrayImages(pixels, 8).fingerprint() != ArrayImages(other, 8).fingerprint()
    assert FileImages(files, 8, 2).fingerprint() != FileImages(files[::-1], 8, 2).fingerprint()
    assert FileImages(files, 8, 2).fingerprint() == FileImages([str(path) for path in files], 8, 2).fingerprint()


@pytest.mark.parametrize(
    ("pixels", "input_size"),
    [
        (np.zeros((2, 12, 12, 3)), 8),
        (np.zeros((2, 12, 11, 3), np.uint8), 8),
        (np.zeros((2, 12, 12, 3), np.uint8), 9),
        (np.zeros((2, 12, 12, 3), np.uint8), 14),
    ],
)
def test_arrays_that_are_no_images_are_refused(pixels: np.ndarray, input_size: int) -> None:
    with pytest.raises(ValueError, match=r"pixels|images must be"):
        ArrayImages(pixels, input_size)
