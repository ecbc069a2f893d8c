"""``python -m lookalike.deep``: train the networks by hand, on one device or under torchrun on several.

The workflow calls the same functions; here they are for large sets of images, which are decoded while the network
trains, and for more than one accelerator. A mistake in the input ends in one sentence and exit status 1, one in the
command line in 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from lookalike.datasets.relevance import RelevanceData
    from lookalike.deep.loop import Trained
    from lookalike.deep.network import NetworkConfiguration

OK, FAILED = 0, 1

_ABOUT = """\
Train the networks of the fine-grained study. STUDY is a folder with manifest.parquet (which
images there are) and relevance.npz (how relevant training images are to one another), such
as results/triplets; IMAGES is the folder that the manifest's paths start from."""

_EXAMPLES = """\
examples:
  python -m lookalike.deep pretrain results/triplets images --size paper --output convnet.npz
  python -m lookalike.deep rank results/triplets images --start convnet.npz --output ranking.npz
  python -m lookalike.deep embed results/triplets images --model ranking.npz --output vectors.npy

on two accelerators of one machine, each with a batch of its own and 6 processes that read images:
  torchrun --nproc_per_node 2 -m lookalike.deep rank results/triplets images \\
      --start convnet.npz --output ranking.npz --workers 6

A training that was stopped, in whatever way, goes on where it was when the same command is
given again. Beside MODEL.npz it writes MODEL.json (how it was made) and MODEL.parquet (its
curve)."""

_PRETRAINING = "soft-max pre-training of the ConvNet path on the categories of the training images"
_RANKING = "ranking training of the whole network on triplets of the training images"
_EMBEDDING = "write the vector of every image of the manifest; rows of images that cannot be used are NaN"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default that of the process.

    Returns
    -------
    int
        0, or 1 after a mistake in the input, told in one sentence on standard error.

    Raises
    ------
    SystemExit
        With status 2 after a mistake in the command line, as argparse does.
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (LookalikeError, ValueError) as error:
        print(f"lookalike.deep: {error}", file=sys.stderr)
        return FAILED
    return OK


def _parser() -> argparse.ArgumentParser:
    """Parser of all subcommands."""
    looks: dict[str, Any] = {"epilog": _EXAMPLES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(prog="python -m lookalike.deep", description=_ABOUT, **looks)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    pretraining = commands.add_parser("pretrain", help=_PRETRAINING, description=_PRETRAINING, **looks)
    _add_data(pretraining, "MODEL.npz")
    _add_training(pretraining, "PretrainingSettings", "images")
    pretraining.set_defaults(run=_pretrain)

    ranking = commands.add_parser("rank", help=_RANKING, description=_RANKING, **looks)
    _add_data(ranking, "MODEL.npz")
    _add_training(ranking, "RankingSettings", "triplets")
    ranking.add_argument("--start", metavar="MODEL.npz", type=Path, help="a pre-trained network (default: none)")
    ranking.add_argument("--single-scale", action="store_true", help="without the low-resolution paths")
    ranking.add_argument("--gap", type=float, help="g of the hinge loss (default: that of the package)")
    sampling = ranking.add_argument_group("triplets")
    sampling.add_argument("--out-of-class", type=float, default=0.2, help="their share (default: %(default)s)")
    sampling.add_argument("--uniform", action="store_true", help="sample uniformly, not by relevance")
    sampling.add_argument("--margin", type=float, default=0.05, help="least margin of relevance (default: %(default)s)")
    sampling.add_argument("--capacity", type=_positive, help="images that a buffer holds (default: all)")
    sampling.add_argument(
        "--validation-triplets", type=_positive, default=1000, help="of held-out images (default: %(default)s)"
    )
    ranking.set_defaults(run=_rank)

    embedding = commands.add_parser("embed", help=_EMBEDDING, description=_EMBEDDING, **looks)
    _add_data(embedding, "VECTORS.npy")
    embedding.add_argument("--model", metavar="MODEL.npz", type=Path, required=True, help="a trained network")
    embedding.add_argument("--batch", type=_positive, default=128, help="images at a time (default: %(default)s)")
    embedding.set_defaults(run=_embed)
    return parser


def _add_data(parser: argparse.ArgumentParser, output: str) -> None:
    parser.add_argument("study", metavar="STUDY", type=Path, help="folder with manifest.parquet and relevance.npz")
    parser.add_argument("images", metavar="IMAGES", type=Path, help="folder that the manifest's paths start from")
    parser.add_argument("--output", metavar=output, type=Path, required=True, help="the file to write")
    parser.add_argument("--device", default="auto", help="a device of torch (default: an accelerator if there is one)")
    parser.add_argument("--threads", type=_positive, default=1, help="on a processor (default: %(default)s)")
    parser.add_argument("--workers", type=_natural, default=0, help="processes that read images (default: %(default)s)")


def _add_training(parser: argparse.ArgumentParser, settings: str, unit: str) -> None:
    parser.add_argument(
        "--size", choices=("small", "paper"), default="small", help="of the network (default: %(default)s)"
    )
    parser.add_argument(
        "--shift", type=_natural, default=4, help="random pixel shift to either side (default: %(default)s)"
    )
    parser.add_argument(
        "--held-out", type=float, default=0.1, help="share of the training images that score (default: %(default)s)"
    )
    parser.add_argument("--seed", type=_natural, default=0, help="root of every random draw (default: %(default)s)")
    parser.add_argument("--checkpoint-seconds", type=float, default=300.0, help="how often (default: %(default)s)")
    group = parser.add_argument_group("gradient descent", "defaults are those of the package")
    group.add_argument("--steps", dest="n_steps", type=_positive)
    group.add_argument("--batch", type=_positive, help=f"{unit} of a step, of every process")
    group.add_argument("--learning-rate", type=float)
    group.add_argument("--momentum", type=float)
    group.add_argument("--regularisation", type=float, help="lambda; the weight decay is twice as large")
    group.add_argument("--schedule", choices=("cosine", "constant"))
    group.add_argument("--warm-up", type=_natural, help="steps")
    group.add_argument("--validation-interval", type=_positive, help="steps")
    group.add_argument("--keep", choices=("best", "last"))
    group.add_argument("--precision", choices=("auto", "float32", "bfloat16", "float16"))
    parser.set_defaults(settings=settings)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def _pretrain(options: argparse.Namespace) -> None:
    """Train the ConvNet path."""
    from lookalike.core.seeds import integer_seed
    from lookalike.deep.pretraining import pretrain

    manifest, relevance = _read_study(options)
    labels = np.full(len(manifest), -1, dtype=np.int64)
    labels[relevance.image_id] = relevance.category
    random = np.random.default_rng(integer_seed(options.seed, "networks", "held out"))
    held_out = np.sort(random.permutation(relevance.image_id)[: round(options.held_out * relevance.n_images)])
    with _machine(options) as machine:
        configuration = _configuration(options)
        source = _source(options, manifest, configuration)
        seed = integer_seed(options.seed, "networks", "convnet")
        trained = pretrain(
            configuration,
            source,
            labels,
            _settings(options),
            validation_rows=held_out,
            random_state=seed,
            **machine,
        )
        _write(trained, options.output, {"classes": relevance.category_names.tolist()})


def _rank(options: argparse.Namespace) -> None:
    """Train the whole network."""
    from lookalike.core.seeds import integer_seed
    from lookalike.deep import devices
    from lookalike.deep.model_io import load_network
    from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork
    from lookalike.deep.pretraining import training_statistics
    from lookalike.deep.ranking import hold_out, train_ranking
    from lookalike.learners.relevance_triplets import RelevanceTripletSampler

    manifest, relevance = _read_study(options)
    seed = integer_seed(options.seed, "networks", "ranking")
    sampling = {"out_of_class": options.out_of_class, "weighted": not options.uniform, "margin": options.margin}
    learned, validation = hold_out(
        relevance, options.held_out, options.validation_triplets, random_state=seed, **sampling
    )
    with _machine(options) as machine:
        configuration = _configuration(options)
        source = _source(options, manifest, configuration)
        network = DeepRankingNetwork(configuration, random_state=integer_seed(options.seed, "networks", "weights"))
        if options.start is not None:
            pretrained = load_network(options.start)
            if not isinstance(pretrained, ClassificationNetwork):
                raise LookalikeError(f"{options.start} is a network that ranks: --start takes one of `pretrain`")
            network.take_pretrained(pretrained)
        else:
            network.set_input_statistics(*training_statistics(source, learned.image_id.astype(np.int64)))
        # every process draws triplets of its own
        stream = integer_seed(options.seed, "networks", "triplets", devices.rank())
        trained = train_ranking(
            network,
            source,
            RelevanceTripletSampler(learned, random_state=stream, capacity=options.capacity, **sampling),
            _settings(options),
            rows=learned.image_id,
            validation=validation,
            random_state=seed,
            **machine,
        )
        _write(trained, options.output, {"sampling": sampling | {"capacity": options.capacity}})


def _embed(options: argparse.Namespace) -> None:
    """Write the vectors of all images."""
    import torch

    from lookalike.core.files import write_array
    from lookalike.deep import devices
    from lookalike.deep.embedding import embed
    from lookalike.deep.images import FileImages, batches
    from lookalike.deep.model_io import load_network

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise LookalikeError("embed runs in one process: start it with python -m, without torchrun")
    manifest = _read_manifest(options.study)
    torch.set_num_threads(options.threads)
    device = devices.choose_device(options.device)
    network = load_network(options.model, device)
    usable = np.flatnonzero(manifest["status"] == "ok")
    paths = [options.images / path for path in manifest["path"]]
    source = FileImages(paths, network.configuration.input_size, 0)
    parts = batches(source, usable, batch=options.batch, n_workers=options.workers, device=device)
    with _bar(len(usable), "image") as advance:
        rows = embed(network, _counted(parts, advance))
    vectors = np.full((len(manifest), rows.shape[1]), np.nan, dtype=np.float32)
    vectors[usable] = rows
    write_array(vectors, options.output)
    print(f"{options.output}: {len(usable):,} vectors of {rows.shape[1]} dimensions")


def _counted(parts: Iterator[Any], advance: Callable[[int], None]) -> Iterator[Any]:
    for part in parts:
        yield part
        advance(len(part))


def _read_manifest(study: Path) -> pd.DataFrame:
    """Manifest of a study's folder."""
    from lookalike.core.files import read_table

    path = study / "manifest.parquet"
    if not path.is_file():
        raise LookalikeError(f"there is no {path}: name the folder of a study, such as results/triplets")
    table: pd.DataFrame = read_table(path)
    return table


def _read_study(options: argparse.Namespace) -> tuple[pd.DataFrame, RelevanceData]:
    """Manifest and training relevance of a study's folder."""
    from lookalike.datasets.relevance import RelevanceData

    manifest = _read_manifest(options.study)
    if not (options.study / "relevance.npz").is_file():
        raise LookalikeError(f"there is no {options.study / 'relevance.npz'}: name the folder of a study that has one")
    relevance = RelevanceData.load(options.study / "relevance.npz")
    if not relevance.n_images:
        raise LookalikeError(f"{options.study} has no training relevance: add training images to the data set")
    if relevance.image_id.max() >= len(manifest):
        raise LookalikeError(f"relevance.npz in {options.study} names images that manifest.parquet does not have")
    return manifest, relevance


def _configuration(options: argparse.Namespace) -> NetworkConfiguration:
    from lookalike.deep.network import paper, small

    make = {"paper": paper, "small": small}[options.size]
    return make(multiscale=not getattr(options, "single_scale", False))


def _source(options: argparse.Namespace, manifest: pd.DataFrame, configuration: NetworkConfiguration) -> Any:
    from lookalike.deep.images import FileImages

    paths = [options.images / path for path in manifest["path"]]
    return FileImages(paths, configuration.input_size, options.shift)


def _settings(options: argparse.Namespace) -> Any:
    """Settings with what the command line says otherwise."""
    from lookalike.deep import settings

    kind = getattr(settings, options.settings)
    given = {field.name: getattr(options, field.name, None) for field in fields(kind)}
    return kind(**{name: value for name, value in given.items() if value is not None})


@contextmanager
def _machine(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Join the processes of torchrun, and show progress on a terminal; yield what both trainings take."""
    from tqdm import tqdm

    from lookalike.deep import devices

    device = devices.choose_device(options.device)
    with devices.process_group(device), _bar(None, "step") as advance:
        start = time.monotonic()

        def report(line: str) -> None:
            tqdm.write(f"[{time.monotonic() - start:7.1f} s] {line}", file=sys.stderr)

        yield {
            "device": device,
            "n_threads": options.threads,
            "n_workers": options.workers,
            "checkpoint": _checkpoint(options.output),
            "checkpoint_seconds": options.checkpoint_seconds,
            "report": report,
            "progress": lambda done, total: advance(done, total),
        }


def _checkpoint(output: Path) -> Path:
    return output.with_name(f"{output.stem}.checkpoint.pt")


@contextmanager
def _bar(total: int | None, unit: str) -> Iterator[Callable[..., None]]:
    """Yield a callable that moves a bar on a terminal: by so many, or to so many of all."""
    from tqdm import tqdm

    from lookalike.deep import devices

    # None: only on a terminal
    with tqdm(total=total, unit=unit, disable=None if devices.rank() == 0 else True) as bar:

        def advance(number: int, of: int | None = None) -> None:
            if of is None:
                bar.update(number)
                return
            bar.total = of
            bar.update(number - bar.n)

        yield advance


def _write(trained: Trained, output: Path, about: dict[str, Any]) -> None:
    """Write network, numbers and curve, in the first process, and remove the checkpoint that they make needless."""
    from lookalike.core.files import write_json, write_table
    from lookalike.deep import devices
    from lookalike.deep.model_io import save_network

    if devices.rank() != 0:
        return
    save_network(trained.network, output, {"settings": trained.fit["settings"], **about})
    write_table(trained.curve, output.with_suffix(".parquet"))
    write_json({**trained.fit, **about}, output.with_suffix(".json"))
    _checkpoint(output).unlink(missing_ok=True)
    print(f"{output}: step {trained.fit['chosen_step']:,} of {trained.fit['n_steps']:,} is kept")


if __name__ == "__main__":
    sys.exit(main())
