"""Triplets made by machine from photographs in class folders: the baselines of the fine-grained study on real images.

Nobody rated these. How like each other two photographs of a class are is measured on thumbnails of 8 x 8 pixels: a
machine's measure, which favours whatever describes colour and layout, and which exhibits must name. Relevance is
exp(-distance / scale) within a class, 0 across classes. A triplet's text query is the class of its query. Kind
"out-of-class": a positive of that class, a negative from any other. Kind "in-class": the positive is the
nearest photograph of the class (in the second triplet the second nearest, and so on), the negative one whose relevance
is less by the margin or more.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from lookalike.core.arrays import Bytes, Doubles, Floats, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.progress import Progress
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import ClassTriplets
from lookalike.data.rated_triplets import RatedTriplets, contents, pool_table, triplet_table
from lookalike.data.release_files import Rejections
from lookalike.data.relevance import RelevanceData
from lookalike.data.scan import scan_folder

Triplet = tuple[str, int, int, int, str]
"""Text query, query, positive, negative and kind."""
SIDE = 8
"""Pixels that a thumbnail has a side."""


def make_class_triplets(
    folder: PathLike, settings: ClassTriplets, seed: int = 0, n_threads: int = 1, progress: Progress | None = None
) -> RatedTriplets:
    """Make triplets, pools and training relevance of class folders."""
    root, small = Path(folder), dict[str, Floats]()
    manifest = scan_folder(
        root, n_threads=n_threads, progress=progress, seen=lambda path, image: small.update({path: _thumbnail(image)})
    )
    # each content once; a content in two classes is of none
    usable, rejections = manifest[manifest["status"] == "ok"], Rejections()
    in_two = usable.groupby("sha256")["label"].transform("nunique") > 1
    is_copy = contents(manifest)[usable["image_id"]] != usable["image_id"]
    rules = {"photograph in two classes": in_two, "photograph that is there already": is_copy}
    usable = rejections.sort_out(usable.assign(example=usable["path"]), rules)
    members = {str(label): rows.to_numpy(dtype=np.int64) for label, rows in usable.groupby("label")["image_id"]}
    if len(members) < 2:
        raise LookalikeError(f"{root} has usable photographs of {len(members)} class: triplets need two or more")
    training, evaluation = _split(members, settings, seed)
    thumbnails = np.full((len(manifest), 3 * SIDE * SIDE), np.nan)
    thumbnails[usable["image_id"]] = [small[path] for path in usable["path"]]
    distances = {label: _distances(thumbnails[images]) for label, images in training.items()}
    pairs = np.concatenate([np.empty(0), *(table[np.triu_indices(len(table), 1)] for table in distances.values())])
    scale = float(np.median(pairs)) if len(pairs) else 0.0
    if not scale > 0:
        raise LookalikeError("the classes have too few different photographs to learn from: add some")

    triplets: set[Triplet] = set()
    pools = []
    for label, images in evaluation.items():
        others = np.concatenate([evaluation[other] for other in evaluation if other != label])
        alike = np.exp(-_distances(thumbnails[images]) / scale)
        of_class = _class_triplets(label, images, others, alike, settings, seed)
        triplets.update(of_class)
        if of_class:
            order = generator(seed, "class triplets", "pool", label).permutation(len(others))
            pool = np.concatenate([images, others[order[: settings.pool_noise]]])
            pools.append(pd.DataFrame({"text_query": label, "image_id": pool, "source": "pool"}))
    if not triplets:
        raise LookalikeError(f"no triplet can be made of {root}: its classes need three photographs or more")
    names = np.repeat(list(training), [len(images) for images in training.values()])
    learned = np.concatenate([*training.values()])
    relevance = {label: np.exp(-distance / scale) for label, distance in distances.items()}
    # copies of a photograph that is trained on go with it, so that no part holds a content of the other
    is_seen = np.isin(contents(manifest), learned)
    manifest.insert(3, "part", np.where(is_seen, "training", "evaluation"))
    tables = triplet_table(sorted(triplets)), rejections.table(), pool_table(pd.concat(pools))
    graded = RelevanceData.from_blocks(learned, names, relevance)
    return RatedTriplets(root, manifest.astype({"part": "str"}), *tables, graded)


def _split(members: dict[str, Longs], settings: ClassTriplets, seed: int) -> tuple[dict[str, Longs], dict[str, Longs]]:
    """Return image ids of each class for training (held-out classes have none) and for evaluation, sorted."""
    if settings.held_out >= len(members):
        raise LookalikeError(f"held_out must leave a class of the {len(members)} to learn from: make it smaller")
    order = generator(seed, "class triplets", "held out").permutation(len(members))
    held_out = {list(members)[place] for place in order[: settings.held_out]}
    training, evaluation = {}, {}
    for label, images in members.items():
        order = images[generator(seed, "class triplets", "split", label).permutation(len(images))]
        n_training = 0 if label in held_out else round(settings.training_share * len(images))
        if n_training:
            training[label] = np.sort(order[:n_training])
        evaluation[label] = np.sort(order[n_training:])
    return training, evaluation


def _thumbnail(image: Bytes) -> Floats:
    """Return a Lab thumbnail, L 0..100 and a and b as defined, of shape (3 * SIDE * SIDE,)."""
    small = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.ravel(cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)).astype(np.float32)


def _distances(thumbnails: Doubles) -> Doubles:
    """Return root mean squares, over the pixels, of Euclidean distances in Lab; shape (n, n)."""
    # differences, not the expanded square: equal pictures have distance 0, and no BLAS is used
    squares = [((thumbnails - thumbnail) ** 2).sum(axis=1) for thumbnail in thumbnails]
    return np.sqrt(np.reshape(squares, (len(thumbnails), len(thumbnails))) / (SIDE * SIDE))


def _class_triplets(
    label: str, images: Longs, others: Longs, alike: Doubles, settings: ClassTriplets, seed: int
) -> list[Triplet]:
    """Return triplets of the queries of one class; `alike` is the relevance of `images` to each other."""
    if len(images) < 2:
        return []
    rng = generator(seed, "class triplets", "triplets", label)
    triplets: list[Triplet] = []
    for query in np.sort(rng.permutation(len(images))[: settings.queries]):
        rest = np.delete(np.arange(len(images)), query)
        nearest = rest[np.argsort(-alike[query, rest], kind="stable")]
        for positive in nearest[: settings.in_class]:
            is_farther = alike[query, rest] <= alike[query, positive] - settings.margin
            farther = rest[is_farther & (rest != positive)]
            if len(farther):
                chosen = images[[query, positive, rng.choice(farther)]].tolist()
                triplets.append((label, chosen[0], chosen[1], chosen[2], "in-class"))
        for _ in range(settings.out_of_class):
            positive, negative = images[rng.choice(rest)], rng.choice(others)
            triplets.append((label, int(images[query]), int(positive), int(negative), "out-of-class"))
    return triplets
