"""Published archives: where each lies, how large it is and by which checksum to know it.

The facts are in ``workflow/resources/archives.yaml``; `lookalike.datasets.fetch` downloads and verifies by them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lookalike.core.errors import LookalikeError


@dataclass(frozen=True)
class Archive:
    """One published archive.

    Attributes
    ----------
    name : str
        What the configuration calls it.
    url : str
        Address of the file.
    filename : str
        Name of the file on disk.
    size : int or None
        Its size in bytes; None where the publisher does not state it.
    md5 : str
        MD5 of the file in lower-case hexadecimal, as its publisher states it.
    top_folder : str
        The folder that the archive unpacks to.
    page : str
        Address of the page that describes it.
    flat : bool
        Whether the archive's files have no folder around them, so that `top_folder` is made for them.
    files : int
        Least number of files in the unpacked folder; 0 where this is not known.
    unpacked_limit : int or None
        Most bytes that its files may take together; twice `size` where None.
    licence, doi : str
        Its terms and its identifier, empty where unknown.
    """

    name: str
    url: str
    filename: str
    size: int | None
    md5: str
    top_folder: str
    page: str
    flat: bool = False
    files: int = 0
    unpacked_limit: int | None = None
    licence: str = ""
    doi: str = ""

    @property
    def max_bytes(self) -> int:
        """Most bytes that its files may take together."""
        return self.unpacked_limit or 2 * (self.size or 0)


def load_archives(path: str | os.PathLike[str]) -> dict[str, Archive]:
    """Read the archives' facts.

    Parameters
    ----------
    path : str or path-like
        YAML file: a mapping of names to the other attributes of `Archive`.

    Returns
    -------
    dict of str to Archive

    Raises
    ------
    LookalikeError
        When the file is missing or an entry lacks a fact, has an unknown one, or one of the wrong type.
    """
    import yaml

    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LookalikeError(f"cannot read the list of archives {path}: {os.strerror(error.errno or 0)}") from error
    except yaml.YAMLError as error:
        raise LookalikeError(f"{path} is not valid YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(entries, dict):
        raise LookalikeError(f"{path} must map names of archives to their facts")
    return {str(name): _archive(str(name), facts, path) for name, facts in entries.items()}


def _archive(name: str, facts: Any, path: str | os.PathLike[str]) -> Archive:
    """Check one entry and make an `Archive` of it."""
    if not isinstance(facts, dict):
        raise LookalikeError(f"{path}: {name} must map facts to values")
    known = {field.name for field in fields(Archive)} - {"name"}
    required = known - {"size", "flat", "files", "unpacked_limit", "licence", "doi"}
    if "unpacked_limit" not in facts:
        required |= {"size"}  # one of the two bounds what a damaged or foreign archive may write
    wrong = sorted(str(key) for key in set(facts) - known) + sorted(required - set(facts))
    if wrong:
        raise LookalikeError(
            f"{path}: {name} lacks, or has in excess, {', '.join(wrong)}; its facts are {', '.join(sorted(known))}"
        )
    for key, value in facts.items():
        expected = {"size": int, "files": int, "unpacked_limit": int, "flat": bool}.get(key, str)
        if type(value) is not expected:
            raise LookalikeError(f"{path}: {key} of {name} must be of type {expected.__name__}, not {value!r}")
    return Archive(name=name, size=facts.get("size"), **{key: facts[key] for key in facts if key != "size"})
