"""Model files taken apart and put together again, as a stranger may do it."""

import json

from safetensors import safe_open
from safetensors.numpy import save

from lookalike.core.model_file import with_sums


def parts(path):
    """Return the JSON values and the arrays of a model file."""
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(file.metadata()["lookalike"])
        del about["sha256"]
        return about, arrays


def write_parts(path, about, arrays):
    """Write a model file of JSON values and arrays."""
    path.write_bytes(save(arrays, {"lookalike": with_sums(json.dumps(about), arrays)}))
