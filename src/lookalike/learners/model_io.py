"""Saved learners: arrays in ``.npz``, everything else in a JSON sidecar; no pickle, so a model file cannot run code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core import files
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.learners.registry import MODULES, learner_class

FORMAT_VERSION = 2
READ_VERSIONS = (1, 2)
"""Version 1 had no sparse matrices."""
CSR_PARTS = ("data", "indices", "indptr")
INDEX_TYPES = (np.int32, np.int64)
GONE = {"LMNN": ("accelerated",)}
"""Parameters that learners had, and that say nothing of what was learned."""
LARGEST_SIDECAR = 64 * 2**20
_AGAIN = "name another model, or save it again"


def save(model: Any, path: PathLike, made_by: dict[str, Any] | None = None) -> None:
    """Write a fitted learner as `path` (``.npz``) and a sidecar (``.json``); the same model gives the same bytes."""
    from lookalike import __version__

    path = files.named(path, ".npz")
    kept, arrays = take_apart(model)
    # deflated where most of a million weights are equal: numbers that differ would take long and stay as large
    sample = max((array.ravel() for array in arrays.values()), key=len, default=np.empty(0))[::997]
    files.write_npz(dict(sorted(arrays.items())), path, compressed=len(set(sample.tolist())) <= len(sample) / 2)
    sidecar = {
        "format": "lookalike model",
        "format_version": FORMAT_VERSION,
        **kept,
        "arrays": {name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in arrays.items()},
        "made_by": {"lookalike": __version__, "numpy": np.__version__} | (made_by or {}),
    }
    files.write_json(sidecar, path.with_suffix(".json"))


def take_apart(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return all that is kept of a fitted learner: plain values, as JSON holds them, and arrays."""
    arrays: dict[str, np.ndarray] = {}
    values: dict[str, Any] = {}
    for name, value in sorted(model._fitted_values().items()):
        if isinstance(value, dict):
            values[name] = {"columns": list(value)}
            arrays |= {f"{name}/{column}": np.asarray(array) for column, array in value.items()}
        elif hasattr(value, "indptr"):
            values[name] = {"csr": list(value.shape)}
            arrays |= {f"{name}/{part}": getattr(value, part) for part in CSR_PARTS}
        elif isinstance(value, np.ndarray):
            arrays[name] = value.astype(str) if value.dtype == object else value
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


def load(path: PathLike) -> Any:
    """Load a learner that `SimilarityLearner.save` wrote; its similarities are the same bits.

    Parameters
    ----------
    path : str or path
        The ``.npz`` file; its JSON sidecar must lie beside it.

    Raises
    ------
    LookalikeError
        When a file is missing or damaged, does not belong to the other, or is of a version or learner that this
        version of the package does not know.
    """
    path = files.named(path, ".npz")
    sidecar = _read_sidecar(path)
    try:
        return put_together(sidecar, _read_arrays(path, sidecar["arrays"]), path, path.with_suffix(".json"))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise LookalikeError(f"the parts of {path} and its sidecar do not fit ({error}): {_AGAIN}") from error


def put_together(kept: dict[str, Any], arrays: dict[str, np.ndarray], path: Path, told: Path) -> Any:
    """Make a learner of what `take_apart` returned, read from `path`; its plain values stand in `told`."""
    if kept["learner"] not in MODULES:
        raise LookalikeError(
            f"{path} holds a {kept['learner']!r}, which this version of lookalike does not know "
            f"(it knows {', '.join(sorted(MODULES))}): load it with the version that its sidecar names under made_by"
        )
    # curves, whose names have a slash, hold NaN
    files.check_finite({name: array for name, array in arrays.items() if "/" not in name}, path, _AGAIN)
    gone = GONE.get(kept["learner"], ())
    try:
        parameters = {name: _as_parameter(value) for name, value in kept["parameters"].items() if name not in gone}
        model = learner_class(kept["learner"])(**parameters)
    except TypeError as error:
        raise LookalikeError(
            f"{told} has parameters that {kept['learner']} does not take ({error}): "
            "load it with the version of lookalike that its sidecar names under made_by"
        ) from error
    strange = [name for name in (*kept["fitted"], *arrays) if not is_fitted_name(name.partition("/")[0])]
    if strange:
        raise LookalikeError(
            f"{told} sets {strange[0]!r}, which no learner saves: "
            f"it was not written by lookalike, or was changed since; {_AGAIN}"
        )
    fitted: dict[str, Any] = {}
    for name, value in kept["fitted"].items():
        if isinstance(value, dict) and "csr" in value:
            parts = {part: arrays.pop(f"{name}/{part}") for part in CSR_PARTS}
            files.check_finite({name: parts["data"]}, path, _AGAIN)
            fitted[name] = _csr(value["csr"], **parts)
        elif isinstance(value, dict):
            fitted[name] = {column: arrays.pop(f"{name}/{column}") for column in value["columns"]}
        else:
            fitted[name] = value
    for name, array in arrays.items():
        fitted[name] = array.astype(object) if array.dtype.kind == "U" else array
    model._restore(fitted)
    return model


def _csr(shape: list[int], data: Any, indices: Any, indptr: Any) -> Any:
    """Make a CSR matrix of parts from a file; raise ValueError unless they are those of one."""
    import scipy.sparse as sp

    n_rows, n_columns = shape
    kinds = data.dtype in (np.float32, np.float64), indices.dtype in INDEX_TYPES, indptr.dtype in INDEX_TYPES
    if not all(kinds) or indptr.shape != (n_rows + 1,) or data.shape != indices.shape or data.ndim != 1:
        raise ValueError("the parts of a sparse matrix are not of one size")
    steps = np.diff(indptr)
    if indptr[0] != 0 or indptr[-1] != len(data) or (steps < 0).any():
        raise ValueError("the rows of a sparse matrix do not follow each other")
    if len(data) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"a sparse matrix has no column beyond {n_columns}")
    return sp.csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is a fitted one, by scikit-learn's convention: nothing else is saved or loaded."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def _read_sidecar(path: Path) -> dict[str, Any]:
    sidecar_path = path.with_suffix(".json")
    try:
        with files.reading(
            sidecar_path, "model file", f"it belongs beside {path}, keep both together", LARGEST_SIDECAR
        ):
            sidecar = files.read_json(sidecar_path)
    except (ValueError, RecursionError) as error:
        raise LookalikeError(f"{sidecar_path} is not JSON ({error}): {_AGAIN}") from error
    if isinstance(sidecar, dict) and sidecar.get("format") == "no model":
        raise LookalikeError(f"{path} holds no model: {sidecar.get('reason')}")
    if not isinstance(sidecar, dict) or sidecar.get("format") != "lookalike model":
        raise LookalikeError(f"{sidecar_path} is not the sidecar of a lookalike model: give the path of a saved model")
    if sidecar.get("format_version") not in READ_VERSIONS:
        raise LookalikeError(
            f"{sidecar_path} is of format version {sidecar.get('format_version')!r} and this lookalike reads versions "
            f"{' and '.join(map(str, READ_VERSIONS))}: load it with the version of lookalike that wrote it"
        )
    missing = {"learner", "parameters", "fitted", "arrays"} - set(sidecar)
    if missing:
        raise LookalikeError(f"{sidecar_path} lacks {', '.join(sorted(missing))}: {_AGAIN}")
    return sidecar


def _read_arrays(path: Path, expected: dict[str, dict[str, Any]]) -> dict[str, np.ndarray]:
    with files.reading_npz(path, _AGAIN, files.LARGEST_MODEL) as stored:
        arrays = dict(stored)
    found = {name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in arrays.items()}
    if found != expected:
        raise LookalikeError(
            f"{path} does not hold the arrays that its sidecar lists, one of the two is of another model: {_AGAIN}"
        )
    return arrays


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str, np.integer, np.floating, np.bool_))


def _plain(value: Any) -> Any:
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
