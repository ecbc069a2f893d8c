"""The networks of the fine-grained study (Deep Ranking, sections 6.4 and 6.5), each from pixels to distances.

All are trained on training relevance only; the same part of the training images is held out for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, write_npz
from lookalike.core.instructions import processor_name
from lookalike.core.seeds import generator, integer_seed
from lookalike.core.settings.model import plain
from lookalike.core.settings.networks import Sampling
from lookalike.data.relevance import RelevanceData
from lookalike.data.scan import image_paths
from lookalike.deep.configuration import PAPER, SMALL, NetworkConfiguration
from lookalike.deep.embedding import embed, first_layer_filters
from lookalike.deep.images import ArrayImages, FileImages, batches, files_by_class, load_pixels
from lookalike.deep.linear_embedding import LEARNING_RATES, join_parts, train_linear_embedding
from lookalike.deep.loop import Curve, Trained
from lookalike.deep.model_io import load_network, save_network
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork, Network
from lookalike.deep.pretraining import pretrain
from lookalike.deep.ranking import hold_out, train_ranking
from lookalike.deep.relevance_triplets import RelevanceTripletSampler, warm_up
from lookalike.deep.settings import NetworkSettings
from lookalike.ranking.distances import pair_distances

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

SIZES = {"paper": PAPER, "small": SMALL}
"""Configurations by the name that settings give them."""


@dataclass(frozen=True)
class TrainedSystem:
    """What a job writes of a system, each part to the file of its name."""

    vectors: Floats
    distances: Floats
    fit: dict[str, object]
    curve: pd.DataFrame


@dataclass(frozen=True)
class NetworkSystem(TrainedSystem):
    """What a job writes of a network."""

    trained: Trained
    start: dict[str, Floats]
    """Filters of the first layers before training; empty where that began from nothing."""

    def save(self, path: Path) -> None:
        """Write the network with what its `fit` records of how it was trained."""
        about = {key: self.fit[key] for key in ("system", "settings", "n_steps", "shift")}
        save_network(self.trained.network, path, about)

    def save_filters(self, path: Path) -> None:
        """Write the filters of the first layers (Figure 5), which are drawn where there is no torch."""
        before = {f"start/{name}": filters for name, filters in self.start.items()}
        write_npz(first_layer_filters(self.trained.network) | before, path, compressed=False)


@dataclass(frozen=True, kw_only=True)
class RankingRun:
    """What everything that is trained by the ranking loss on a data set shares."""

    relevance: RelevanceData
    """Training relevance."""
    pairs: pd.DataFrame
    """``query`` and ``candidate``: image ids of the pairs that are measured."""
    settings: NetworkSettings
    sampling: Sampling
    seed: int
    repeat: int = 1
    """Number of the seed, from 1: each gives other weights, batches and triplets, of the same images."""
    n_threads: int = 1
    report: Callable[[str], None] | None = field(default=None, compare=False)

    def seed_of(self, purpose: str) -> int:
        """Return the seed of one purpose, the same for all networks of a repeat: only what their names say differs."""
        return integer_seed(self.seed, "networks", purpose, self.repeat)

    @cached_property
    def held_out(self) -> tuple[RelevanceData, npt.NDArray[np.int32]]:
        """Relevance of the images that are learned from, and triplets of image ids of the others."""
        wanted, seed = self.settings.validation, integer_seed(self.seed, "networks", "validation")
        with refused_in_a_sentence("validation"):
            # of the network's own mix of negatives: by another one, a network with few in-class ones stops at its start
            own = plain(self.sampling)
            return hold_out(self.relevance, wanted.share, wanted.triplets, random_state=seed, **own)

    @property
    def held_out_images(self) -> npt.NDArray[np.int32]:
        """Ids of the images that held-out triplets name, the same whatever is learned from."""
        return np.unique(self.held_out[1])

    def sampler(self) -> RelevanceTripletSampler:
        """Return the source of triplets."""
        warm_up()
        learned, seed = self.held_out[0], self.seed_of("triplets")
        with refused_in_a_sentence("sampler"):
            return RelevanceTripletSampler(learned, random_state=seed, **plain(self.sampling))

    def facts(self, system: str, vectors: Floats) -> dict[str, object]:
        """Return what `fit` says of every system."""
        return {
            "system": system,
            "repeat": self.repeat,
            "dimensions": vectors.shape[1],
            "distance": "l2",
            "codebook_from": "training relevance",
            "sampling": plain(self.sampling),
            "processor": processor_name(),
        }


@dataclass(frozen=True, kw_only=True)
class NetworkRun(RankingRun):
    """What every network of a data set is trained on, and how."""

    pixels: Bytes
    """All images, (n_images, side, side, 3), larger than the network's input by twice the shift; row = image id."""
    checkpoint: Path | None = None
    """File that an interrupted training goes on from; the caller removes it."""
    checkpoint_seconds: float = 60.0

    @cached_property
    def images(self) -> ArrayImages:
        """The images as torch takes them."""
        return ArrayImages(self.pixels, self.configuration(multiscale=True).input_size)

    def configuration(self, *, multiscale: bool) -> NetworkConfiguration:
        """Return the shapes of the network of the size that is asked for."""
        return replace(SIZES[self.settings.size], multiscale=multiscale)

    def training(self) -> dict[str, Any]:
        """Return the arguments that both trainings take."""
        names = ("n_threads", "checkpoint", "checkpoint_seconds", "report")
        return {"device": self.settings.device, **{name: getattr(self, name) for name in names}}

    def measured(
        self, system: str, trained: Trained, batch: int, codebook_from: str = "", start: dict[str, Floats] | None = None
    ) -> NetworkSystem:
        """Measure all pairs, and record how the network came about."""
        started = time.perf_counter()
        vectors, distances = self.distances(trained.network)
        n_images = int(np.isfinite(vectors[:, 0]).sum())
        fit = {
            **trained.fit,
            "images_per_second": n_images / (time.perf_counter() - started),
            "training_images_per_second": trained.fit["images_per_second"],
            "held_out_images": self.held_out_images.tolist(),
            "shift": self.images.shift,
            **self.facts(system, vectors),
        }
        if codebook_from:
            fit["codebook_from"] = codebook_from
        curve = trained.curve.assign(seen=trained.curve["step"] * batch)
        return NetworkSystem(vectors, distances, fit, curve, trained, start or {})

    def distances(self, network: Network) -> tuple[Floats, Floats]:
        """Return vectors of the images that somebody asks for, the others NaN, and the distances of all pairs."""
        needed = np.unique(np.concatenate([self.pairs["query"], self.pairs["candidate"], self.relevance.image_id]))
        found = embed(network, (images.numpy() for images in batches(self.images, needed)))
        vectors = np.full((len(self.pixels), found.shape[1]), np.nan, dtype=np.float32)
        vectors[needed] = found
        return vectors, pair_distances(vectors, self.pairs, "l2")


@contextmanager
def refused_in_a_sentence(settings: str) -> Iterator[None]:
    """Make of what the settings and the data of a user do not allow an error that a job tells without a traceback."""
    try:
        yield
    except ValueError as error:
        raise LookalikeError(f"{error} (settings of `{settings}`)") from error


def stored_pixels(
    manifest: pd.DataFrame,
    folder: PathLike,
    *,
    size: str,
    shift: int,
    n_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Bytes:
    """Return all images of a manifest at the network's input plus twice the shift; unusable ones are zero."""
    side = SIZES[size].input_size + 2 * shift
    paths = image_paths(manifest, folder)
    usable = {row: path for row, path in enumerate(paths) if path is not None}
    pixels = np.zeros((len(paths), side, side, 3), dtype=np.uint8)
    pixels[list(usable)] = load_pixels(list(usable.values()), side, n_threads=n_threads, progress=progress)
    return pixels


def run_pretraining(run: NetworkRun, system: str = "convnet") -> NetworkSystem:
    """Train the ConvNet path to tell classes apart (section 6.1) or take it as given; measure by its features (6.5)."""
    given, configuration = run.settings.pretraining, run.configuration(multiscale=False)
    if given.weights:
        network = _classifier(given.weights)
        with refused_in_a_sentence("network.pretraining.weights"):
            DeepRankingNetwork(configuration).take_pretrained(network)
        curve = Curve("accuracy", "validation_accuracy").table().astype(float)
        fit = {"settings": {"weights": given.weights}, "n_steps": 0, "seconds": 0.0, "images_per_second": 0.0}
        trained = Trained(network, curve, fit | {"finished": True}, 0)
    else:
        images = _images_of(run, given.images) if given.images else _training_images(run)
        seed = run.seed_of("convnet")
        trained = pretrain(configuration, settings=given, random_state=seed, **images, **run.training())
    return run.measured(system, trained, given.batch, given.weights or given.images or "")


def _training_images(run: NetworkRun) -> dict[str, Any]:
    """Return images and labels of the training categories, as `pretrain` takes them."""
    learned, _ = run.held_out
    if learned.n_categories < 2:
        raise LookalikeError("pre-training needs at least two categories of training images: add folders to training/")
    labels = np.full(len(run.pixels), -1, dtype=np.int64)
    labels[run.relevance.image_id] = np.unique(run.relevance.labels, return_inverse=True)[1]
    rows = {"rows": learned.image_id, "validation_rows": run.held_out_images}
    return {"source": run.images, "labels": labels, **rows}


def _images_of(run: NetworkRun, folder: str) -> dict[str, Any]:
    """Return images and labels of a user's class folders; as large a share is held out as of the training images."""
    files, labels = files_by_class(folder)
    random = generator(run.seed, "networks", "pre-training images")
    drawn = random.random(len(files)) < run.settings.validation.share
    source = FileImages(files, run.configuration(multiscale=False).input_size, run.settings.shift)
    workers = {"n_workers": run.n_threads if run.n_threads > 1 else 0}
    return {"source": source, "labels": labels, "validation_rows": np.flatnonzero(drawn), **workers}


def _classifier(path: PathLike) -> ClassificationNetwork:
    """Read a network that tells classes apart."""
    network = load_network(path)
    if not isinstance(network, ClassificationNetwork):
        raise LookalikeError(f"{path} holds no network for classification: pre-train one")
    return network


def run_ranking(run: NetworkRun, system: str, pretrained: PathLike, *, multiscale: bool) -> NetworkSystem:
    """Fine-tune the network of `run_pretraining` by the ranking loss, and measure by its embedding."""
    configuration = run.configuration(multiscale=multiscale)
    network = DeepRankingNetwork(configuration, random_state=run.seed_of("weights"))
    network.take_pretrained(_classifier(pretrained))
    start = {path: filters.copy() for path, filters in first_layer_filters(network).items()}
    learned, validation = run.held_out
    settings = run.settings.of_ranking()
    trained = train_ranking(
        network,
        run.images,
        run.sampler(),
        settings,
        rows=learned.image_id,
        validation=validation,
        random_state=run.seed_of("ranking"),
        **run.training(),
    )
    return run.measured(system, trained, settings.batch, start=start)


def run_linear_embedding(run: RankingRun, parts: Sequence[Floats]) -> TrainedSystem:
    """Train one linear layer on the vectors of other systems (section 6.5), and measure by its embedding."""
    sampler = run.sampler()
    started = time.perf_counter()
    learned, validation = run.held_out
    wanted = run.settings.linear_embedding
    settings = run.settings.of_ranking(n_steps=wanted.n_steps)
    # the visual features come as their L1HashKPCA embedding: side by side they have so many dimensions that a layer of
    # the paper's width would hold more weights than the network
    joined = join_parts(parts)
    embedding = train_linear_embedding(
        joined,
        sampler,
        settings,
        width=min(wanted.width, joined.shape[1]),
        validation=validation,
        rows=learned.image_id,
        random_state=run.seed_of("linear"),
        device=run.settings.device,
        n_threads=run.n_threads,
        report=run.report,
    )
    vectors = embedding.transform(joined)
    fit = {
        **run.facts("single-scale-and-visual-feature", vectors),
        "seconds": time.perf_counter() - started,
        "n_images": len(learned.image_id),
        "n_steps": embedding.step,
        "n_triplets": embedding.step * settings.batch,
        "finished": embedding.finished,
        "learning_rate": embedding.learning_rate,
        "settings": {"learning_rates": list(LEARNING_RATES), "n_steps": settings.n_steps, "batch": settings.batch},
    }
    # the curve of the learning rate that was chosen; the others only chose it
    rows = [row | {"seen": row["step"] * settings.batch} for row in embedding.curve]
    chosen = pd.DataFrame([row for row in rows if row["learning_rate"] == embedding.learning_rate])
    return TrainedSystem(vectors, pair_distances(vectors, run.pairs, "l2"), fit, chosen)
