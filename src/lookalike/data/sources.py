"""Published archives: where each lies, how large it is and by which checksum to know it.

The facts are in ``workflow/resources/archives.yaml``; `lookalike.data.fetch` downloads and verifies by them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from lookalike.core.errors import LookalikeError


@dataclass(frozen=True)
class Archive:
    """One published archive: where its file is, how to know it, and what it unpacks to."""

    name: str
    url: str
    filename: str
    size: int | None
    """In bytes; None where the publisher does not state it."""
    md5: str
    top_folder: str
    page: str
    """Address of the page that describes it."""
    flat: bool = False
    """Whether its files have no folder around them, so that `top_folder` is made for them."""
    files: int = 0
    """Least number of files in the unpacked folder; 0 where this is not known."""
    unpacked_limit: int | None = None
    """Most bytes that its files may take together; twice `size` where None."""
    licence: str = ""
    doi: str = ""

    @property
    def max_bytes(self) -> int:
        """Most bytes that its files may take together."""
        return self.unpacked_limit or 2 * (self.size or 0)

    def put_in_place(self, folder: str | os.PathLike[str]) -> str:
        """Say what the user may put into a folder instead of a download, as the rest of a sentence."""
        size = "" if self.size is None else f"{self.size:,} bytes, "
        return (
            f"put {self.filename} from {self.url} ({size}md5 {self.md5}) or the folder {self.top_folder} "
            f"into {os.fspath(folder)}"
        )


def load_archives(path: str | os.PathLike[str]) -> dict[str, Archive]:
    """Read the archives' facts from a YAML file that maps names to the other attributes of `Archive`."""
    facts = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    archives = {name: Archive(**{"name": name, "size": None} | entry) for name, entry in facts.items()}
    for archive in archives.values():
        if not archive.max_bytes:  # what a damaged or foreign archive may write has to have a bound
            raise LookalikeError(f"{path}: {archive.name} needs its size or an unpacked_limit")
    return archives
