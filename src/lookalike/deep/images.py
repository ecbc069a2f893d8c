"""Pixels for the networks: images in memory, or files decoded by worker processes, a batch at a time."""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.images import load_rgb

PREFETCH = 4
"""Batches that every worker process prepares ahead."""


def load_square(path: PathLike, size: int) -> NDArray[np.uint8]:
    """Read an image file and squash it to a square, by a triangle filter as wide as a new pixel: shrinking averages."""
    image = load_rgb(path)
    if image.shape[:2] == (size, size):
        return image
    scaled = Image.fromarray(image).resize((size, size), Image.Resampling.BILINEAR)
    return np.ascontiguousarray(np.asarray(scaled, dtype=np.uint8))


def files_by_class(folder: PathLike) -> tuple[list[Path], NDArray[np.int64]]:
    """Return the files of a folder of class folders, such as ImageNet's, in order of names, and each one's class."""
    files = sorted(path for path in Path(folder).glob("[!.]*/[!.]*") if path.is_file())
    folders, classes = np.unique([str(file.parent) for file in files], return_inverse=True)
    if len(folders) < 2:
        raise LookalikeError(f"{folder} does not hold two folders of images: give a folder that has one for each class")
    return files, classes


def load_pixels(
    paths: Sequence[PathLike], size: int, n_threads: int = 1, progress: Callable[[int, int], None] | None = None
) -> NDArray[np.uint8]:
    """Read image files, in `n_threads` threads, into one array of shape (n, size, size, 3)."""
    pixels = np.empty((len(paths), size, size, 3), dtype=np.uint8)
    with ThreadPoolExecutor(max(1, n_threads)) as pool:
        for row, image in enumerate(pool.map(lambda path: load_square(path, size), paths)):
            pixels[row] = image
            if progress is not None:
                progress(row + 1, len(paths))
    return pixels


class ImageSource(Dataset[torch.Tensor], ABC):
    """Images by row number, each kept as a square of `stored_size` pixels and given as a window of `input_size`.

    A window may lie `shift` pixels off the centre: the random pixel shift of the training (Deep Ranking, section 5). A
    *request* is the row of an image and the top left corner of its window, so a run draws the same whatever reads it.
    """

    def __init__(self, input_size: int, stored_size: int) -> None:
        self.input_size, self.stored_size = int(input_size), int(stored_size)
        self.shift = (self.stored_size - self.input_size) // 2

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of images."""

    @abstractmethod
    def stored(self, row: int) -> NDArray[np.uint8]:
        """Return one image at the size at which it is kept."""

    def windows(self, requests: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the windows of requests (image, top, left), uint8 of shape (b, input_size, input_size, 3)."""
        size = self.input_size
        batch = np.empty((len(requests), size, size, 3), dtype=np.uint8)
        for image, (row, top, left) in zip(batch, requests.tolist(), strict=True):
            image[:] = self.stored(row)[top : top + size, left : left + size]
        return batch

    @abstractmethod
    def fingerprint(self) -> int:
        """Return a number that tells these images from others, without reading them all."""

    def __getitems__(self, requests: NDArray[np.int64]) -> torch.Tensor | str:
        """Return a batch (called by torch), or the sentence that says which image cannot be read."""
        # an error that leaves a worker process arrives wrapped into its traceback; a sentence arrives as it is
        try:
            return torch.from_numpy(self.windows(requests))
        except LookalikeError as error:
            return str(error)

    def central(self, rows: ArrayLike) -> NDArray[np.int64]:
        """Return the requests for the central windows of these rows."""
        rows = np.asarray(rows, dtype=np.int64)
        return np.column_stack([rows, np.full((len(rows), 2), self.shift)])

    def shifted(self, rows: ArrayLike, random: np.random.Generator) -> NDArray[np.int64]:
        """Return requests for windows whose corners are uniform over all that fit."""
        rows = np.asarray(rows, dtype=np.int64)
        return np.column_stack([rows, random.integers(0, 2 * self.shift + 1, (len(rows), 2))])


class ArrayImages(ImageSource):
    """Images in an array or a memory map of shape (n, stored_size, stored_size, 3); of a map only windows are read."""

    def __init__(self, pixels: NDArray[np.uint8], input_size: int) -> None:
        super().__init__(input_size, pixels.shape[1])
        self._pixels = pixels

    def __len__(self) -> int:
        return len(self._pixels)

    def stored(self, row: int) -> NDArray[np.uint8]:
        """Return one image at the size at which it is kept."""
        return np.asarray(self._pixels[row])

    def fingerprint(self) -> int:
        """Return a checksum of the shape and of up to 64 images."""
        some = self._pixels[np.linspace(0, len(self) - 1, min(len(self), 64)).astype(np.int64)]
        return zlib.crc32(np.ascontiguousarray(some).tobytes(), zlib.crc32(repr(self._pixels.shape).encode()))


class FileImages(ImageSource):
    """Image files, decoded when they are asked for; a row that is never asked for may be of a damaged file."""

    def __init__(self, paths: Sequence[PathLike], input_size: int, shift: int) -> None:
        super().__init__(input_size, input_size + 2 * shift)
        # one array of fixed width: a list of objects would be copied into every worker by its reference counts
        self._paths = np.array([os.fspath(path) for path in paths], dtype=str)

    def __len__(self) -> int:
        return len(self._paths)

    def stored(self, row: int) -> NDArray[np.uint8]:
        """Return one image at the size at which it is kept."""
        return load_square(str(self._paths[row]), self.stored_size)

    def fingerprint(self) -> int:
        """Return a checksum of the names of all files and the sizes of up to 64."""
        some = self._paths[np.linspace(0, len(self) - 1, min(len(self), 64)).astype(np.int64)]
        sizes = [Path(path).stat().st_size if Path(path).is_file() else -1 for path in some]
        names = os.fsencode("\0".join(self._paths))  # a name may be no UTF-8
        return zlib.crc32(repr((sizes, self.stored_size)).encode(), zlib.crc32(names))


def _unchanged(batch: object) -> object:
    """Return what `ImageSource.__getitems__` made: it is a batch already."""
    return batch


def fetch(
    source: ImageSource, requests: Iterable[NDArray[np.int64]], *, n_workers: int = 0, device: torch.device
) -> Iterator[torch.Tensor]:
    """Yield the windows of every array of requests, with `n_workers` processes that read ahead."""
    is_accelerator = device.type == "cuda"
    asked: Any = requests  # torch's annotation knows only lists of row numbers
    loader: DataLoader[torch.Tensor] = DataLoader(
        source,
        batch_sampler=asked,
        num_workers=n_workers,
        collate_fn=_unchanged,
        pin_memory=is_accelerator,
        prefetch_factor=PREFETCH if n_workers else None,
        # of its own, or starting to read would take a number from the stream that dropout draws from
        generator=torch.Generator(),
    )
    for batch in loader:
        if isinstance(batch, str):
            raise LookalikeError(f"{batch}; scan the images again, or replace that file, and start again")
        yield batch.to(device, non_blocking=is_accelerator)


def batches(
    source: ImageSource,
    rows: ArrayLike | None = None,
    *,
    batch: int = 128,
    n_workers: int = 0,
    device: str | torch.device = "cpu",
) -> Iterator[torch.Tensor]:
    """Yield the central windows of `rows` (by default all), in order, at most `batch` at a time, on `device`."""
    asked = source.central(np.arange(len(source)) if rows is None else rows)
    parts = (asked[start : start + batch] for start in range(0, len(asked), batch))
    return fetch(source, parts, n_workers=n_workers, device=torch.device(device))
