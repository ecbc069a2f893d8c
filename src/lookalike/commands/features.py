"""``lookalike features``: the images of a folder as vectors, for use with other software."""

from __future__ import annotations

import argparse
from pathlib import Path

from lookalike.commands.fit import add_representation
from lookalike.commands.options import (
    Commands,
    Told,
    add_command,
    add_common,
    cache_folder,
    completed,
    counted,
    left_out_lines,
    make_folder,
    print_json,
    records,
    refuse_same,
    tell,
)
from lookalike.core.errors import LookalikeError

_DESCRIPTION = """\
Describe all images of a folder and write their vectors, rows of unit length, and beside
them a table that says which row is which image."""

_EXAMPLES = """\
examples:
  lookalike features photos --output vectors.npz
  lookalike features photos --output hog.npy --representation hog --paths hog.parquet
  lookalike features photos --output vectors.npz --representation pets.lookalike

.npz is a sparse matrix of SciPy (scipy.sparse.load_npz) and for visterms only, .npy an
array of NumPy. Columns of the table: path, label, sha256, width, height. Codebooks are
learned from these images unless a model is named, whose codebook is then taken."""

_COLUMNS = ("path", "label", "sha256", "width", "height")


def add_features(commands: Commands) -> None:
    """Add ``lookalike features``."""
    parser = add_command(
        commands, "features", help="write images as vectors", description=_DESCRIPTION, examples=_EXAMPLES
    )
    completed(parser.add_argument("folder", metavar="FOLDER", type=Path, help="the images, at any depth"), "directory")
    completed(
        parser.add_argument(
            "--output", metavar="FILE", type=Path, required=True, help="vectors to write: .npz or .npy"
        ),
        "file",
    )
    completed(
        parser.add_argument(
            "--paths", metavar="TABLE", type=Path, help="table to write: .csv or .parquet (default: .csv beside them)"
        ),
        "file",
    )
    add_representation(parser)
    add_common(parser, cache=".lookalike-cache beside the vectors")
    parser.set_defaults(run=_features)


def _features(options: argparse.Namespace) -> None:
    """Describe and write."""
    from lookalike.core.files import write_array, write_csr, write_table
    from lookalike.own_images.similarity import ImageSimilarity

    table_path = options.paths or options.output.with_suffix(".csv")
    if options.output.suffix not in (".npz", ".npy"):
        raise LookalikeError(f"{options.output} must end in .npz or .npy: name the vectors so")
    if table_path.suffix not in (".csv", ".parquet"):
        raise LookalikeError(f"{table_path} must end in .csv or .parquet: name the table so")
    if options.output.suffix == ".npz":
        _check_sparse(options)
    if options.paths is None:
        _check_default(table_path)
    for path in (options.output, table_path):
        refuse_same(path, Path(options.representation))
        make_folder(path)
    with Told(options.quiet) as told:
        described = ImageSimilarity(
            str(options.representation),
            words=options.words,
            random_state=options.seed,
            jobs=options.jobs,
            cache=cache_folder(options, options.output),
            progress=told,
        )
        vectors, images = described.vectors(options.folder)
    if hasattr(vectors, "indptr") and options.output.suffix == ".npz":
        write_csr(vectors, options.output)
    else:
        write_array(vectors.toarray() if hasattr(vectors, "indptr") else vectors, options.output)
    write_table(images[list(_COLUMNS)], table_path)
    if options.json:
        print_json(
            {
                "output": str(options.output),
                "paths": str(table_path),
                "n_images": len(images),
                "dimensions": int(vectors.shape[1]),
                "representation": described.representation_.name,
                "left_out": records(described.left_out_),
            }
        )
    elif not options.quiet:
        name = described.representation_.name
        first = f"{options.output}: {counted(len(images), 'image')} x {vectors.shape[1]:,} dimensions of {name}"
        tell([first, f"{table_path}: which row is which image", *left_out_lines(described.left_out_)])


def _check_sparse(options: argparse.Namespace) -> None:
    """Refuse, before anything is described, to write dense vectors as a sparse matrix."""
    from lookalike.own_images.model_file import SUFFIX
    from lookalike.own_images.representations import make_representation
    from lookalike.own_images.saved import read_about
    from lookalike.own_images.visterms import VISTERMS

    asked = str(options.representation)
    if asked.endswith(SUFFIX):
        name = read_about(asked)["representation"]["name"]
    else:
        name = make_representation(asked, options.words).name
    if name != VISTERMS:
        raise LookalikeError(f"vectors of {name} are dense: let {options.output} end in .npy")


def _check_default(table: Path) -> None:
    """Refuse to write over a table that nobody named, unless it is one of these tables."""
    if not table.is_file():
        return
    with table.open("rb") as stream:
        first = stream.readline(1000).strip()
    if first != ",".join(_COLUMNS).encode():
        raise LookalikeError(
            f"{table} exists and was not written by lookalike features: name the table by --paths, or other vectors"
        )
