"""Ground truth in the format of the Oxford Buildings for a folder of class folders: each class stands for a landmark.

So the landmark study runs on any labelled photographs, such as a few classes of Caltech-256, to see whether what is
claimed of landmarks holds there. Each class gets five queries, whose rectangle is the whole image; the class's other
images are good, a share of them ok, none junk. Images are drawn by `--seed` and the class's name alone.

    python benchmarks/class_ground_truth.py IMAGES OUTPUT [--queries N] [--ok SHARE] [--seed N]

A data set of the kind `landmarks` then names the two folders: path: IMAGES, ground_truth: OUTPUT.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path, PurePosixPath

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data.ground_truth import GroundTruth, Query, write_ground_truth
from lookalike.data.scan import scan_photographs


def landmark_name(label: str) -> str:
    """Name of a class as a landmark: its folder's name without the number, ``003.backpack`` -> ``backpack``."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"^\d+\.", "", label)).strip("_")
    if not name:
        raise LookalikeError(
            f"the class folder {label} has no letter from A to Z and no digit to name a landmark by: rename it"
        )
    return name


def class_queries(
    images: pd.DataFrame, landmark: str, n_queries: int, ok_share: float, seed: int
) -> tuple[list[Query], dict[str, str]]:
    """Draw the queries of one class, and say which list each of its images is in.

    Parameters
    ----------
    images : DataFrame
        The class's rows of the manifest with the status ok.
    landmark : str
        Name of the class.
    n_queries : int
        How many of its images are queries; they are in the list of good images themselves, as in the Oxford Buildings.
    ok_share : float
        Share, 0..1, of the other images that are only ok.
    seed : int
        Root of the random stream.
    """
    if len(images) <= n_queries:
        raise LookalikeError(
            f"{landmark} has {len(images)} usable images: it needs more than {n_queries}, or leave it out"
        )
    order = generator(seed, "class ground truth", landmark).permutation(len(images))
    rows = [images.iloc[int(index)] for index in order]
    names = [PurePosixPath(row["path"]).stem for row in rows]
    queries = [
        Query(f"{landmark}_{n + 1}", landmark, n + 1, names[n], 0.0, 0.0, float(row["width"]), float(row["height"]))
        for n, row in enumerate(rows[:n_queries])
    ]
    n_ok = round(ok_share * (len(rows) - n_queries))
    return queries, {name: "ok" if at >= len(rows) - n_ok else "good" for at, name in enumerate(names)}


def check_names(paths: list[str]) -> None:
    """Refuse images whose names a ground truth cannot hold, or cannot tell apart."""
    found: dict[str, str] = {}
    for path in paths:
        name = PurePosixPath(path).stem
        if len(name.split()) != 1:
            raise LookalikeError(f"{path} has a blank in its name, and ground truth holds no blanks: rename the image")
        other = found.setdefault(name, path)
        if other != path:
            raise LookalikeError(f"{other} and {path} are both called {name} in ground truth: rename one of them")


def check_arguments(output: Path, n_queries: int, ok_share: float) -> None:
    """Refuse numbers out of range, and a folder whose files would mix with what is written."""
    if n_queries < 1:
        raise LookalikeError(f"--queries is {n_queries}: give 1 or more")
    if not 0 <= ok_share <= 1:
        raise LookalikeError(f"--ok is {ok_share}: give a share between 0 and 1")
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise LookalikeError(f"{output} is there and not an empty folder: give a new one, or remove it")


def class_ground_truth(manifest: pd.DataFrame, n_queries: int, ok_share: float, seed: int) -> GroundTruth:
    """Make queries and lists for every class of a manifest."""
    queries: list[Query] = []
    relevance: dict[str, dict[str, str]] = {}
    usable = manifest[(manifest["status"] == "ok") & (manifest["label"] != "")]
    check_names(usable["path"].tolist())
    # a class is the first folder of a path, as in the category study
    for label, images in usable.groupby(usable["label"].str.partition("/")[0], sort=True):
        landmark = landmark_name(str(label))
        if landmark in {query.landmark for query in queries}:
            raise LookalikeError(
                f"two class folders are called {landmark} without their numbers and with _ for what is no letter from "
                f"A to Z and no digit: rename {label}"
            )
        drawn, listed = class_queries(images, landmark, n_queries, ok_share, seed)
        queries += drawn
        relevance |= {query.name: listed for query in drawn}
    return GroundTruth(tuple(queries), relevance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", metavar="IMAGES", type=Path, help="folder that holds one folder of images per class")
    parser.add_argument("output", metavar="OUTPUT", type=Path, help="folder for the ground-truth files")
    parser.add_argument("--queries", type=int, default=5, help="queries of each class (default 5)")
    parser.add_argument("--ok", type=float, default=0.3, help="share of the other images that are ok (default 0.3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default 0)")
    arguments = parser.parse_args()
    try:
        check_arguments(arguments.output, arguments.queries, arguments.ok)
        found = class_ground_truth(scan_photographs(arguments.images), arguments.queries, arguments.ok, arguments.seed)
        write_ground_truth(arguments.output, *found)
    except LookalikeError as error:
        sys.exit(f"error: {error}")
    n_landmarks = len({query.landmark for query in found.queries})
    print(f"{len(found.queries)} queries of {n_landmarks} classes in {arguments.output}")


if __name__ == "__main__":
    main()
