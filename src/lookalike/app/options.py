"""What the commands share: the program itself, options that several have, progress, and how results are told."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from typer import Argument, Option

from lookalike import __version__
from lookalike.core.errors import LookalikeError, escaped, short_name
from lookalike.core.progress import Progress, progress_lines

if TYPE_CHECKING:
    import pandas as pd

Command = TypeVar("Command", bound=Callable[..., None])

STATUS = """\
exit status: 0 success; 1 a mistake in the input, explained in one sentence;
2 a mistake in the command line"""
TABLES, PAGES = (".csv", ".parquet"), (".html", ".htm")
"""What names of written files may end in."""
CACHE = ".lookalike-cache"
"""Name of the cache beside a model. Begins with a dot, so that a scan of the folder passes it over."""
_SHOWN = 10  # files that are named in a summary; --json names all

app = typer.Typer(
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"lookalike COMMAND --help says more, with examples.\n\n\b\n{STATUS}",
)

# options that several commands have
Source = Annotated[Path, Argument(metavar="SOURCE", help="a folder of images, or vectors (.npy, .npz, .parquet, .csv)")]
IdColumn = Annotated[str | None, Option(metavar="NAME", help="column of ids of vectors (default: id, or row numbers)")]
LabelColumn = Annotated[str | None, Option(metavar="NAME", help="column of the labels of vectors (default: label)")]
Labels = Annotated[Path | None, Option(metavar="FILE.csv", help="columns path (or id), label; of vectors also .npy")]
Triplets = Annotated[Path | None, Option(metavar="FILE.csv", help="columns query, positive, negative")]
Representation = Annotated[str | None, Option(metavar="NAME", help="how images are described (default: visterms)")]
Words = Annotated[int | None, Option(metavar="N", min=1, help="visterms in the codebook (default: 100 to 1,000)")]
Seed = Annotated[int, Option(metavar="N", min=0, help="seed of all random choices")]
Jobs = Annotated[int | None, Option(metavar="N", min=1, help="images read in parallel (default: one per processor)")]
CacheOption = Annotated[Path | None, Option(metavar="FOLDER", help=f"keeps descriptions of images (default: {CACHE})")]
NoCache = Annotated[bool, Option("--no-cache", help="do not keep descriptions of images")]
AsJson = Annotated[bool, Option("--json", help="print the result as one JSON object")]
Quiet = Annotated[bool, Option("--quiet", help="print no progress and no summary")]


@cache
def _examples() -> dict[str, str]:
    """Return the examples of each command, from ``examples.txt``."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.removeprefix("## ").split("\n## "))
    return {name: examples.strip() for name, _, examples in parts}


def command(name: str) -> Callable[[Command], Command]:
    """Add a command: its docstring is its help, with examples and the exit status below its options."""
    paragraphs = [*_examples()[name].split("\n\n"), STATUS]
    # the mark keeps the lines of a paragraph as they are
    epilog = "\n\n".join(f"\b\n{paragraph}" for paragraph in paragraphs)
    return app.command(name, epilog=epilog)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"lookalike {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, Option("--version", is_eager=True, callback=_print_version, help="print the version")
    ] = False,
) -> None:
    """Learn, use and judge image similarity."""


def cache_folder(cache: Path | None, no_cache: bool, beside: Path) -> Path | None:
    """Return where descriptions are kept: what was asked for, else the cache beside a file."""
    return None if no_cache else cache or beside.parent / CACHE


def default_output(source: Path, ending: str) -> Path:
    """Return the name of a source with an ending: here, or beside the source where here lies in it."""
    from lookalike.app.rows import VECTORS

    whole, here = (Path(os.path.realpath(path)) for path in (source, "."))
    name = f"{whole.stem if whole.suffix.lower() in VECTORS else whole.name}{ending}"
    return Path(os.path.relpath(whole.parent / name)) if here.is_relative_to(whole) else Path(name)


def check_output(output: Path, suffixes: Sequence[str], *inputs: Path | None) -> None:
    """Refuse, before anything is computed for it, a file that cannot be written, or would be over or in an input."""
    from lookalike.core.files import check_regular

    target = Path(os.path.realpath(output))
    for given in (path for path in inputs if path is not None):
        if os.path.isdir(given) and Path(os.path.realpath(given)) in target.parents:
            raise LookalikeError(f"{output} would lie in the folder {given}: name another place")
        is_there = os.path.exists(target) and os.path.exists(given)
        if os.path.samefile(target, given) if is_there else str(target) == os.path.realpath(given):
            raise LookalikeError(f"{output} would be written over {given}: name another file to write")
    new_folders = [folder for folder in target.parents if not os.path.exists(folder)]  # False where it may not look
    try:
        with suppress(FileNotFoundError):
            check_regular(output)
        if output.suffix.lower() not in suffixes:
            name = output.with_suffix(suffixes[0])
            raise LookalikeError(f"{output} must end in {' or '.join(suffixes)}: name it {name}")
        if target.suffix.lower() not in suffixes:
            raise LookalikeError(f"{output} is a link to {target}, which does not end so: name another file to write")
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target.parent):
            pass
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except IsADirectoryError:
        raise LookalikeError(f"{output} is a folder: name a file in it to write") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise LookalikeError(f"{output} cannot be written: {reason}; name another file, or mend its folder") from error
    finally:
        for folder in new_folders:
            with suppress(OSError):
                folder.rmdir()


def left_out_lines(left_out: pd.DataFrame, noun: str = "image") -> list[str]:
    """Say which files of images, or ids of vectors, were left out, and why."""
    if left_out.empty:
        return []
    lines = [f"left out: {counted(len(left_out), 'id' if noun == 'vector' else 'file')}"]
    lines += [f"  {short_name(str(row.path))}: {row.reason}" for row in left_out.head(_SHOWN).itertuples()]
    if len(left_out) > _SHOWN:
        lines.append(f"  and {len(left_out) - _SHOWN:,} more (--json names all)")
    return lines


def counted(number: int, what: str) -> str:
    """Return a number with its noun."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


class StageReport(ExitStack):
    """Progress on standard error: a bar where somebody watches, a line every so many seconds of long work elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__()
        self._quiet, self._what = quiet, ""
        self._report: Progress = lambda done, total: None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell how far a step is."""
        if not self._quiet and what != self._what:
            self.close()
            self._what, self._report = what, self._begin(what)
        self._report(done, total)

    def note(self, line: str) -> None:
        """Print a line on standard error, before what takes long."""
        if not self._quiet:
            self.close()
            print(escaped(line), file=sys.stderr, flush=True)

    def _begin(self, what: str) -> Progress:
        """Return what tells how far a new step is."""
        if not sys.stderr.isatty():
            return progress_lines(what, stream=sys.stderr)
        from tqdm import tqdm

        bar = self.enter_context(tqdm(desc=what, file=sys.stderr, leave=False, unit=""))

        def move(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            bar.refresh()

        return move


def tell_result(result: object, lines: Iterable[str], as_json: bool, quiet: bool = False) -> None:
    """Print a result as one JSON object, or else lines of it unless it is to be quiet.

    In JSON a table is a list of its rows, and what is not a number becomes null. What cannot be shown, or no terminal
    should be sent, is escaped.
    """
    if as_json:
        plain = json.dumps(result, default=lambda table: table.to_dict("records"))
        numbers = json.loads(plain, parse_constant=lambda _: None)
        text = json.dumps(numbers, indent=2, ensure_ascii=False)
        print(text if _encodable(escaped(text, keep="\n")) == text else json.dumps(numbers, indent=2))
    elif not quiet:
        for line in lines:
            print(_encodable(escaped(line)))


def _encodable(text: str) -> str:
    """Return text with what standard output cannot show escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
