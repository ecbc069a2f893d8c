"""A folder of rated triplets of one's own: how well features, a network or vectors agree with the raters."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from lookalike.core.arrays import Bytes, Floats, Matrix
from lookalike.core.errors import LookalikeError, escaped
from lookalike.core.images import load_rgb
from lookalike.core.progress import counted
from lookalike.core.seeds import generator, integer_seed
from lookalike.data.rated_triplets import codebook_images, read_release
from lookalike.data.scan import scan_photographs
from lookalike.features.describers import Describer, StageProgress, describe_files
from lookalike.ranking import distances
from lookalike.ranking.triplet_metrics import Bootstrap, candidate_pairs, intervals, outcomes

if TYPE_CHECKING:
    from lookalike.core.model_file import About
    from lookalike.deep.network import Network

MAX_CODEBOOK_IMAGES = 2000
"""Images that codebooks are learned from at most: more are drawn from by the seed."""
_NETWORK_BATCH = 128
"""Images whose pixels are in memory at a time on the way to a network: 19 MB at 225 x 225 pixels."""
_INTERVAL = {"": "value", "_low": "low", "_high": "high"}


class System(NamedTuple):
    """What one system gives for a folder of rated triplets: a row an image, NaN of those that it need not describe."""

    name: str
    vectors: Floats
    distance: str = "l2"
    images_per_second: float = np.nan
    codebook_from: str = ""


class OwnNetwork(NamedTuple):
    """A network of a user's, what is written in its file of how it was made, and what its row is called."""

    network: Network
    about: About
    name: str


class OwnTriplets:
    """A folder of rated triplets of the form of the public release, read, and how its images are described."""

    def __init__(
        self, folder: Path, codebook_folder: Path | None, seed: int, n_threads: int, progress: StageProgress
    ) -> None:
        self._codebook_folder, self._seed, self._n_threads, self._progress = codebook_folder, seed, n_threads, progress
        self.rated = read_release(folder, n_threads=n_threads, progress=partial(progress, "reading images"))
        self._pairs = candidate_pairs(self.rated.triplets, self.rated.pool, self.rated.manifest)
        wanted = {*self._pairs["query"].tolist(), *self._pairs["candidate"].tolist()}
        paths = self.rated.manifest["path"]
        self._paths = [self.rated.root / path if image in wanted else None for image, path in enumerate(paths)]
        self._is_wanted = np.array([path is not None for path in self._paths])

    @cached_property
    def codebook(self) -> tuple[list[Path], str]:
        """Return files that codebooks are learned from, and what they are."""
        rated = self.rated
        if self._codebook_folder is None:
            rows, what = codebook_images(rated.manifest)
            files = [rated.root / path for path in rated.manifest["path"].iloc[rows]]
        else:
            folder, progress = self._codebook_folder, partial(self._progress, "reading codebook images")
            found = scan_photographs(folder, n_threads=self._n_threads, progress=progress)
            evaluated = rated.manifest.loc[rated.manifest["part"] == "evaluation", "sha256"]
            found = found[(found["status"] == "ok") & ~found["sha256"].isin(evaluated)]
            if found.empty:
                raise LookalikeError(f"{folder} holds only images that are evaluated: name another folder")
            files, what = [folder / path for path in found["path"]], f"images of {escaped(str(folder))}"
        if len(files) > MAX_CODEBOOK_IMAGES:
            order = generator(self._seed, "features", "codebook images").permutation(len(files))
            files = [files[place] for place in sorted(order[:MAX_CODEBOOK_IMAGES])]
        return files, f"{len(files):,} {what}"

    def by_feature(self, describer: Describer) -> System:
        """Describe the images by a hand-crafted feature, fitted to the files of the codebook."""
        name = describer.system
        files, learned_from = self.codebook if describer.needs_fit else ([], "")
        pictures = counted(map(load_rgb, files), len(files), partial(self._progress, f"{name}: codebook"))
        describer.fit(pictures, random_state=integer_seed(self._seed, "features", name))
        progress = partial(self._progress, name)
        vectors, seconds = describe_files(describer, self._paths, n_threads=self._n_threads, progress=progress)
        return System(name, vectors, describer.distance, self._is_wanted.sum() / seconds, learned_from)

    def by_network(self, network: OwnNetwork) -> System:
        """Describe the images by a network, some at a time."""
        from lookalike.deep.embedding import embed
        from lookalike.deep.images import load_pixels

        trained, about, name = network
        side, shift = trained.configuration.input_size, about.get("shift", 0)
        files = [path for path in self._paths if path is not None]

        def centres() -> Iterator[Bytes]:
            """Yield the centres of squares that are larger by the shift, as in training and evaluation of the study."""
            for first in range(0, len(files), _NETWORK_BATCH):
                batch = files[first : first + _NETWORK_BATCH]
                pixels = load_pixels(batch, side + 2 * shift, n_threads=self._n_threads)
                yield pixels[:, shift : shift + side, shift : shift + side]
                self._progress(name, first + len(pixels), len(files))

        start = time.perf_counter()
        found = embed(trained, centres())
        if not np.isfinite(found).all():
            raise LookalikeError(f"the network {name} describes images by NaN or infinity: train it again")
        return System(name, self._spread(found), images_per_second=len(files) / (time.perf_counter() - start))

    def by_vectors(self, file: Path, ids: Sequence[str], X: Matrix) -> System:
        """Take the vectors of the images from those of a file, whose ids are paths."""
        if hasattr(X, "indptr"):
            raise LookalikeError(f"{file} holds sparse vectors: write dense ones, with the paths of images as ids")
        row_of = {name: row for row, name in enumerate(ids)}
        names = self.rated.manifest["path"][self._is_wanted].tolist()
        if lacking := [name for name in names if name not in row_of]:
            raise LookalikeError(
                f"{file} has no vector of {len(lacking):,} of {len(names):,} images, such as {lacking[0]}: give each "
                "image one, with its path as id"
            )
        return System(escaped(file.stem), self._spread(X[[row_of[name] for name in names]]))

    def _spread(self, found: Matrix) -> Floats:
        """Return rows of the images that are described as rows of all images."""
        vectors = np.full((len(self._paths), found.shape[1]), np.nan, dtype=np.float32)
        vectors[self._is_wanted] = found
        return vectors

    def measured(self, systems: Sequence[System], k: int) -> pd.DataFrame:
        """Return one row per system and kind of triplets: similarity precision and score@K, with intervals."""
        rated, pairs = self.rated, self._pairs
        measures = {own.name: distances.pair_distances(own.vectors, pairs, own.distance) for own in systems}
        judged = outcomes(rated.triplets, pairs, measures, k=k)
        numbers = intervals(judged, rated.triplets, pairs, Bootstrap(self._seed, k, manifest=rated.manifest))
        by_name = {own.name: own for own in systems}
        rows = []
        for (name, subset), group in numbers.groupby(["system", "subset"], sort=False):
            own, metric = by_name[str(name)], group.set_index("metric").to_dict(orient="index")
            precision, score = metric["similarity_precision"], metric[f"score@{k}"]
            row = {"system": name, "subset": subset}
            row |= {f"similarity_precision{end}": precision[key] for end, key in _INTERVAL.items()}
            row |= {f"score{end}": score[key] for end, key in _INTERVAL.items()}
            row |= {"score_per_triplet": metric[f"score@{k}_per_triplet"]["value"], "k": k}
            row |= {key: int(precision[key]) for key in ("n_triplets", "n_queries", "n_ties")}
            row |= {key: int(score[key]) for key in ("n_in_top", "median_pool")}
            row |= {"pool_source": " and ".join(sorted(rated.pool["source"].unique()))}
            row |= {"images_per_second": own.images_per_second, "dimensions": own.vectors.shape[1]}
            rows.append(row | {"distance": own.distance, "codebook_from": own.codebook_from})
        return pd.DataFrame(rows)


def own_network(path: Path) -> OwnNetwork:
    """Read the network of a file."""
    try:
        from lookalike.deep.model_io import load_network, read_about
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise LookalikeError(
            f"{path} needs PyTorch, which is not installed: install the extra `deep` "
            "(pip install 'lookalike[deep]'), or measure only --features"
        ) from error
    about = read_about(path)
    return OwnNetwork(load_network(path), about, escaped(str(about.get("system", path.stem))))
