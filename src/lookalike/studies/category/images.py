"""What jobs of the category study that go from images to visterms read of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.settings.model import plain
from lookalike.core.settings.schema import Shared


def reads_of_images(job: str, shared: Shared, dataset: str, names: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return what a job reads, by the wildcards of its rule; None of another job."""
    data, seed = shared.datasets[dataset], {"seed": shared.seed}
    descriptor, representation = names.get("descriptor", ""), names.get("representation", "")
    match job:
        case "draw_images":
            painted = {"painted": data.synthetic, "folder": images_folder(shared, dataset)}
            return {**painted, "n_shards": data.shards, "seed": shared.drawing_seed(dataset)}
        case "locate_images":
            located = plain(data, include={"kind", "path", "fetch"})
            return {"data": located | {"path": images_folder(shared, dataset)}}
        case "scan_images":
            return {"clutter": data.clutter}
        case "draw_codebook_pool":
            return {"pool": data.pool, **seed}
        case "learn_palette":
            return {"descriptor": shared.descriptors[descriptor], **seed}
        case "describe_blocks":
            return {"n_shards": data.shards}
        case "learn_codebook":
            return {"representation": shared.representations[representation], **seed}
        case "count_visterms":
            return {"hellinger": shared.representations[representation].hellinger}
    return None


def images_folder(shared: Shared, dataset: str) -> str:
    """Return the folder of its images: that of the user's, or where code draws them by its settings."""
    from lookalike.studies.recipes import painted_folder

    data = shared.datasets[dataset]
    return painted_folder(shared, dataset) if data.kind == "synthetic" else data.path or ""
