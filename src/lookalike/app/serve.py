"""The commands ``lookalike index`` and ``export``: a gallery that is described once, and one for a vector database."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from lookalike.app import options
from lookalike.app.commands import Model, facts, measure_lines, opened, taken
from lookalike.core.errors import LookalikeError

FilesOption = Annotated[list[Path] | None, Option(metavar="FILE", help="an image of the folder; may be repeated")]


@options.command("index")
def index(
    model: Model,
    folder: Annotated[Path, Argument(metavar="FOLDER", help="the images, at any depth")],
    output: Annotated[
        Path | None, Option(metavar="FILE.lookalike", help="default: FOLDER.gallery.lookalike, here")
    ] = None,
    add: FilesOption = None,
    remove: FilesOption = None,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe the images of a folder once, and keep their vectors in a file, which `lookalike rank` takes as gallery.

    It is of one model. `lookalike rank` leaves out images that were changed or are gone since, and says so.
    """
    import pandas as pd

    from lookalike.app.gallery import read_gallery, update_gallery
    from lookalike.app.model_file import SIMILARITY, fingerprint, read_parts
    from lookalike.app.vectors import is_vectors
    from lookalike.core.files import stamp_of
    from lookalike.core.model_file import SUFFIX, fits_together

    if is_vectors(folder):
        raise LookalikeError(f"{folder} is a file of vectors, which lookalike rank takes as it is: index a folder")
    output = output or options.default_output(folder, f".gallery{SUFFIX}")
    options.check_output(output, (SUFFIX,), model, folder)
    with fits_together(model, SIMILARITY):
        named = fingerprint(*read_parts(model))
    stamp = stamp_of(output)
    previous = read_gallery(output) if stamp else None
    if previous is not None:
        if previous.model != named:
            raise LookalikeError(f"{output} is of another model than {model}: name another file with --output")
        if os.path.exists(previous.root) and not (folder.exists() and previous.root.samefile(folder)):
            raise LookalikeError(f"{output} is of the images in {previous.root}: name another file with --output")
    elif add or remove:
        raise LookalikeError(f"there is no gallery {output} yet: make it without --add and --remove first")
    has = set() if previous is None else {file.path for file in previous.images}
    added = {_path_in(folder, file, has) for file in add or ()}
    removed = {_path_in(folder, file, has) for file in remove or ()}
    if strange := sorted(removed - has):
        raise LookalikeError(f"{output} has no image {strange[0]}: name one that it has after --remove")
    with opened(model, jobs, cache, no_cache, quiet) as (similarity, _):
        saved, changes = update_gallery(similarity, folder, previous, named, added, removed)
    saved.save(output, stamp)
    table = pd.DataFrame(saved.left_out, columns=["path", "reason"])
    table = table[table["path"].isin(added)] if added else table
    n_images, dimensions = saved.rows.shape
    size = f"{options.counted(n_images, 'image')} x {dimensions:,} dimensions, {output.stat().st_size / 1e6:.1f} MB"
    what = ", ".join(f"{number:,} {name}" for name, number in changes.items())
    lines = [f"{output}: {size}" + ("" if previous is None else f"; {what}"), *options.left_out_lines(table)]
    about = {"gallery": str(output), "model": str(model), "images": n_images, "dimensions": dimensions, **changes}
    options.tell_result(about | {"left_out": options.records(table)}, lines, as_json, quiet)


def _path_in(folder: Path, file: Path, known: Collection[str]) -> str:
    """Return the path from a folder of a file in it, which may be named from here or from there, through links too."""
    whole = Path(os.path.realpath(folder))
    from_here, from_there = (Path(os.path.realpath(path.parent), path.name) for path in (file, folder / file))
    paths = [path.relative_to(whole).as_posix() if whole in path.parents else ".." for path in (from_here, from_there)]
    there = [path for path in paths if path in known or os.path.isfile(whole / path)]
    if (found := [*there, paths[0]][0]) != "..":
        return found
    raise LookalikeError(f"{file} does not lie in {folder}: name files of this folder")


@options.command("export")
def export(
    model: Model,
    gallery: Annotated[Path, Argument(metavar="GALLERY", help="images at any depth, or a file of vectors")],
    to: Annotated[Literal["faiss", "npy"], Option(help="what the vectors are written as")] = "faiss",
    output: Annotated[Path | None, Option(metavar="FOLDER", help="default: GALLERY-faiss or GALLERY-npy, here")] = None,
    index: Annotated[str, Option(metavar="NAME", help="of FAISS's index_factory: Flat, HNSW32, IVF100,Flat")] = "Flat",
    rank: Annotated[int | None, Option(metavar="N", min=1, help="dimensions to keep; the loss is measured")] = None,
    labels: options.Labels = None,
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    jobs: options.Jobs = None,
    cache: options.CacheOption = None,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a gallery's vectors for a vector database, and the map that is applied to each query's vector.

    The database then finds the same neighbours as `lookalike rank`.
    """
    import pandas as pd

    from lookalike.app.gallery import ABOUT, GALLERIES, IDS, NAMES, QUERY_MAP
    from lookalike.app.gallery import export as write_export
    from lookalike.app.vectors import is_vectors
    from lookalike.core.files import refuse_folder

    if index != "Flat" and to != "faiss":
        raise typer.BadParameter(f"is for --to faiss, not for {to}", param_hint="'--index'")
    noun = "vector" if is_vectors(gallery) else "image"
    output = output or options.default_output(gallery, f"-{to}")
    refuse_folder(output, NAMES)
    options.check_output(output / ABOUT, (".json",), model, gallery, labels)
    columns: Any = {"id_column": id_column, "label_column": label_column}
    with opened(model, jobs, cache, no_cache, quiet) as (similarity, progress):
        rows = similarity.read(gallery, labels, gallery=labels is None, **columns)
        progress.note(taken(rows))
        about = write_export(similarity, rows, output, to=to, index=index, rank=rank)
    share = f"{about['same_neighbours']:.1%} of the first 10 neighbours of {about['queries']:,} {noun}s"
    metric = about["metric"].replace("_", " ")
    lines = [
        f"{output}: {options.counted(about['rows'], noun)} x {about['dimensions']:,} dimensions, by {metric}",
        f"{GALLERIES[to]}, {IDS}, {QUERY_MAP}, {ABOUT}; {share} are those of lookalike rank",
        *options.left_out_lines(similarity.left_out_, noun),
        *(measure_lines(pd.DataFrame(about["measures"])) if about["measures"] else []),
    ]
    result = {"export": str(output), "model": str(model), "source": facts(rows), **about}
    options.tell_result(result | {"left_out": options.records(similarity.left_out_)}, lines, as_json, quiet)
