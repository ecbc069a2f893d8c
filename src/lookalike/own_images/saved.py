"""An `ImageSimilarity` as JSON and arrays: what is said of it, what goes into its model file and comes out again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lookalike.core.errors import LookalikeError
from lookalike.own_images.model_file import FORMAT, FORMAT_VERSION, read_header, read_model, write_model
from lookalike.own_images.roles import TRAIN
from lookalike.own_images.said import ABOUT, check_said

if TYPE_CHECKING:
    from lookalike.own_images.similarity import ImageSimilarity

Model = TypeVar("Model", bound="ImageSimilarity")
PathLike = str | os.PathLike[str]


def describe(model: ImageSimilarity) -> dict[str, Any]:
    """Return what can be said of a fitted model, as JSON holds it."""
    train = model.images_[model.images_["role"] == TRAIN]
    learner, representation, components = model.learner_, model.representation_, model.reduction_.get("components")
    fitted = {
        name.rstrip("_"): getattr(learner, name)
        for name in ("n_steps_", "n_updates_", "n_iter_", "metric_")
        if hasattr(learner, name)
    }
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "representation": {
            "name": representation.name,
            "dimensions": representation.n_dimensions,
            "settings": representation.settings(),
            "learned_components": None if components is None else len(components),
        },
        "learner": {
            "name": type(learner).__name__,
            "parameters": {name: _plain(value) for name, value in learner.get_params(deep=False).items()},
            **{name: _plain(value) for name, value in fitted.items()},
        },
        "learned_from": "triplets" if model.n_triplets_ else "labels",
        "n_images": len(train),
        "n_held_out": len(model.images_) - len(train),
        "n_left_out": len(model.left_out_),
        "n_triplets": model.n_triplets_,
        "triplets_left_out": model.triplets_left_out_,
        "hold_out": model.hold_out,
        "classes": {str(name): int(n) for name, n in train["label"].value_counts().sort_index().items() if name},
        "seed": int(model.random_state),
        "seconds": {name: round(seconds, 3) for name, seconds in model.seconds_.items()},
        "made_by": model.made_,
    }


def read_about(path: PathLike) -> dict[str, Any]:
    """Read of a model file what `describe` said of the model; its arrays and its learner are not opened.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict

    Raises
    ------
    LookalikeError
        As of `lookalike.own_images.model_file.read_model`.
    """
    header = read_header(path)
    with _told_of(path):
        check_said(header)
    return {name: header[name] for name in ABOUT}


def write_similarity(model: ImageSimilarity, path: PathLike) -> None:
    """Write a fitted model as a model file, whole or not at all.

    Raises
    ------
    LookalikeError
        When it cannot be written.
    """
    about = describe(model)
    about["images"] = {name: model.images_[name].tolist() for name in model.images_.columns}
    about["left_out"] = model.left_out_.to_dict(orient="list")
    arrays = {f"representation.{name}": array for name, array in model.representation_.arrays().items()}
    arrays |= {f"reduction.{name}": array for name, array in model.reduction_.items()}
    write_model(path, about, arrays, model.learner_)


def read_similarity(kind: type[Model], path: PathLike, how: Mapping[str, Any]) -> Model:
    """Read a model file.

    Parameters
    ----------
    kind : type
        `ImageSimilarity` or what is derived from it.
    path : path-like
    how : mapping
        Further arguments of its constructor.

    Returns
    -------
    ImageSimilarity
        Of type `kind`, fitted.

    Raises
    ------
    LookalikeError
        When the file is missing, damaged, none of ours, or of a later version.
    """
    import pandas as pd

    from lookalike.own_images.representations import restore_representation

    stored = read_model(path)
    about = stored.about
    with _told_of(path):
        check_said(about)
        described, learned = about["representation"], about["learner"]
        model = kind(
            described["name"], learned["name"], hold_out=about["hold_out"], random_state=int(about["seed"]), **how
        )
        arrays = _part(stored.arrays, "representation.")
        model.representation_ = restore_representation(described["name"], described["settings"], arrays)
        model.reduction_ = _part(stored.arrays, "reduction.")
        model.learner_ = stored.learner
        model.images_ = pd.DataFrame(about["images"])[["path", "label", "sha256", "role"]].astype(str)
        model.left_out_ = pd.DataFrame(about["left_out"], columns=["path", "reason"])
        model.n_triplets_, model.triplets_left_out_ = about["n_triplets"], about["triplets_left_out"]
        model.seconds_, model.made_ = dict(about["seconds"]), about["made_by"]
        _check_consistent(model)
        _check_learner(model)
        said, found = (json.dumps(_facts(one), sort_keys=True) for one in (about, describe(model)))
        if said != found:
            raise ValueError("what it says of itself is not what it holds")
    return model


def made_now() -> dict[str, Any]:
    """Return the time, and the versions that decide a model's numbers."""
    from importlib.metadata import PackageNotFoundError, version

    from lookalike import __version__

    found = {"lookalike": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "faiss-cpu", "numba", "pillow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), **found}


@contextmanager
def _told_of(path: PathLike) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise LookalikeError(
            f"{path} lacks a part of a model, or its parts do not fit ({error}): fit the model anew"
        ) from error


def _facts(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says that its parts decide; settings may be written in another way by another version."""
    facts: dict[str, Any] = {name: about[name] for name in ABOUT if name not in ("seconds", "made_by")}
    facts["representation"] = {name: value for name, value in about["representation"].items() if name != "settings"}
    facts["learner"] = {name: value for name, value in about["learner"].items() if name != "parameters"}
    return facts


def _check_learner(model: ImageSimilarity) -> None:
    """Refuse parameters that are not of the kind that the learner takes."""
    from lookalike.own_images.learning import is_like, learner_defaults

    name = type(model.learner_).__name__
    defaults = learner_defaults(name)
    for key, value in model.learner_.get_params(deep=False).items():
        if not is_like(value, defaults[key]):
            raise ValueError(f"{key} of {name} cannot be {value!r}")


def _check_consistent(model: ImageSimilarity) -> None:
    """Refuse parts that are not of one model."""
    n_rows = model.representation_.n_dimensions
    if model.reduction_:
        mean, components = model.reduction_["mean"], model.reduction_["components"]
        if mean.shape != (n_rows,) or components.ndim != 2 or components.shape[1] != n_rows:
            raise ValueError("the components are not of the representation")
        n_rows = len(components)
    if getattr(model.learner_, "n_features_in_", n_rows) != n_rows:
        raise ValueError("the learner is not of the representation")


def _part(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
