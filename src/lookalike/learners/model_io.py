"""Learners as the plain values and arrays that a model file holds: nothing of it can run code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import LookalikeError
from lookalike.core.files import LARGEST_MODEL, PathLike, check_finite
from lookalike.core.model_file import Arrays, Kind, fits_together, read_model, write_model
from lookalike.learners.registry import MODULES, learner_class

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner

LEARNER = Kind("lookalike model", 3, "name another model, or fit it again and save it")
CSR_PARTS = ("data", "indices", "indptr")
FILLED_PARTS = ("most", "places", "values")
DROPPED = {
    "LMNN": {"warm_start"},
    "MMC": {"solver"},
    "SOMLTG": {"truncate_every_step"},
    "SOMLDA": {"update_every_step", "count_updates"},
    "QPAO": {"fixed_sum"},
}
"""Learner to parameters that files of version 1.1 have and it no longer takes: they only said how it learned."""
SAMPLED = 997
"""One of so many values is looked at to see whether nearly all of an array are equal."""


def save(model: SimilarityLearner | str, path: PathLike, origin: Mapping[str, object] | None = None) -> None:
    """Write a fitted learner as a model file, or why there is none, which `load` says; the same one, the same bytes."""
    from lookalike import __version__

    kept, arrays = ({"reason": model}, {}) if isinstance(model, str) else to_state(model)
    versions = {"lookalike": __version__, "numpy": np.__version__}
    write_model(path, LEARNER, {**kept, "made_by": versions | dict(origin or {})}, arrays)


def load(path: PathLike) -> SimilarityLearner:
    """Load a learner that `SimilarityLearner.save` wrote; its similarities are the same bits.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    LookalikeError
        When the file is missing or damaged, holds no learner, or is of a version or learner that this version of the
        package does not know.
    """
    kept, arrays = read_model(path, LEARNER)
    if "reason" in kept:
        raise LookalikeError(f"{path} holds no model: {kept['reason']}")
    return from_state(kept, arrays, path)


def to_state(model: SimilarityLearner) -> tuple[dict[str, Any], Arrays]:
    """Return all that is kept of a fitted learner: plain values, as JSON holds them, and arrays."""
    # heavy, and `lookalike info` reads a model file without it
    from scipy.sparse import csr_array

    arrays: Arrays = {}
    values: dict[str, Any] = {}
    for name, value in sorted(model._fitted_values().items()):
        if isinstance(value, dict):
            values[name] = {"columns": list(value)}
            arrays |= {f"{name}/{column}": np.asarray(array) for column, array in value.items()}
        elif isinstance(value, csr_array):
            values[name] = {"csr": list(value.shape)}
            arrays |= {f"{name}/{part}": getattr(value, part) for part in CSR_PARTS}
        elif isinstance(value, np.ndarray) and value.dtype.kind in "OU":
            values[name] = {"names": value.astype(str).tolist()}
        elif isinstance(value, np.ndarray) and (exceptions := _exceptions(value)):
            values[name] = {"filled": list(value.shape)}
            arrays |= {f"{name}/{part}": array for part, array in exceptions.items()}
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            values[name] = value.item() if isinstance(value, np.generic) else value
    parameters = model.get_params(deep=False)
    # of any other, such as a random generator, the loaded model has the default
    kept = {name: _plain(value) for name, value in parameters.items() if _is_plain(value)}
    return {
        "learner": type(model).__name__,
        "parameters": kept,
        "parameters_not_kept": sorted(set(parameters) - set(kept)),
        "fitted": values,
    }, arrays


def from_state(kept: dict[str, Any], arrays: Arrays, path: PathLike, kind: Kind = LEARNER) -> SimilarityLearner:
    """Make a learner of what `to_state` returned, which a file holds."""
    # heavy, as above
    from scipy.sparse import csr_array

    with fits_together(path, kind):
        name = kept["learner"]
        if name not in MODULES:
            raise LookalikeError(
                f"{path} holds a {name!r}, which this version of lookalike does not know "
                f"(it knows {', '.join(sorted(MODULES))}): load it with the version that it names under made_by"
            )
        dropped = DROPPED.get(name, ())
        parameters = {key: _as_parameter(value) for key, value in kept["parameters"].items() if key not in dropped}
        try:
            model = learner_class(name)(**parameters)
        except TypeError as error:
            raise LookalikeError(
                f"{path} has parameters that {name} does not take ({error}): "
                "load it with the version of lookalike that it names under made_by"
            ) from error
        strange = [key for key in (*kept["fitted"], *arrays) if not is_fitted_name(key.partition("/")[0])]
        if strange:
            raise LookalikeError(
                f"{path} sets {strange[0]!r}, which no learner saves: "
                f"it was not written by lookalike, or was changed since; {kind.again}"
            )
        own = {key: _fitted_value(value, key, arrays) for key, value in kept["fitted"].items()}
        own |= {key: array.astype(object) if array.dtype.kind == "U" else array for key, array in arrays.items()}
        # curves, which are dicts, hold NaN
        numbers = {key: value.data if isinstance(value, csr_array) else value for key, value in own.items()}
        check_finite({key: value for key, value in numbers.items() if isinstance(value, np.ndarray)}, path, kind.again)
        model._restore(own)
    return model


def _fitted_value(value: Any, name: str, arrays: Arrays) -> Any:
    """Make a fitted value of what JSON holds of it and of its arrays, which are taken out of the others."""
    match value:
        case {"columns": names}:
            return {column: arrays.pop(f"{name}/{column}") for column in names}
        case {"csr": shape}:
            from scipy.sparse import csr_array

            matrix = csr_array(tuple(arrays.pop(f"{name}/{part}") for part in CSR_PARTS), shape=shape)
            matrix.check_format()  # compiled steps trust its places
            return matrix
        case {"names": names}:
            return np.array(names, dtype=object)
        case {"filled": shape}:
            most, places, values = (arrays.pop(f"{name}/{part}") for part in FILLED_PARTS)
            if math.prod(shape) * most.itemsize > LARGEST_MODEL:
                raise ValueError(f"{name} would take {math.prod(shape) * most.itemsize / 2**30:,.0f} GB of memory")
            array = np.full(shape, most)
            array.reshape(-1)[places] = values
            return array
    return value


def _exceptions(array: np.ndarray) -> Arrays:
    """Return the value that nearly all of an array have, to the bit, and the others; nothing where there is none."""
    bits = array.reshape(-1).view(f"u{array.itemsize}")
    found, counts = np.unique(bits[::SAMPLED], return_counts=True)
    if not len(bits) or 2 * counts.max() <= counts.sum():
        return {}
    most = found[counts.argmax()]
    places = np.flatnonzero(bits != most)
    values = np.array([most]).view(array.dtype), places, bits[places].view(array.dtype)
    is_smaller = len(places) * (places.itemsize + array.itemsize) < array.nbytes / 2
    return dict(zip(FILLED_PARTS, values, strict=True)) if is_smaller else {}


def is_fitted_name(name: str) -> bool:
    """Tell whether an attribute is a fitted one, by scikit-learn's convention: nothing else is saved or loaded."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def _is_plain(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str, np.integer, np.floating, np.bool_))


def _plain(value: object) -> object:
    """Return a plain value as JSON holds it; JSON has no tuples, so one becomes ``{"tuple": [...]}``."""
    if isinstance(value, (tuple, list)):
        items = [_plain(item) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    return value.item() if isinstance(value, np.generic) else value


def _as_parameter(value: Any) -> Any:
    """Undo `_plain`."""
    if isinstance(value, dict):
        return tuple(_as_parameter(item) for item in value["tuple"])
    return [_as_parameter(item) for item in value] if isinstance(value, list) else value
