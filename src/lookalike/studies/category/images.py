"""What jobs of the category study that go from images to visterms read of the settings."""

from __future__ import annotations

from collections.abc import Mapping

from lookalike.core.settings.model import plain
from lookalike.core.settings.schema import Shared


def reads_of_images(job: str, shared: Shared, dataset: str, names: Mapping[str, str]) -> Mapping[str, object] | None:
    """Return what a job reads, by the wildcards of its rule; None of another job."""
    from lookalike.studies.recipes import painted_folder, reads_of_drawing

    data, seed = shared.datasets[dataset], {"seed": shared.seed}
    descriptor, representation = names.get("descriptor", ""), names.get("representation", "")
    match job:
        case "draw_images":
            return reads_of_drawing(shared, dataset)
        case "locate_images":
            drawn = {"root": painted_folder(shared, dataset)} if data.kind == "synthetic" else {}
            return {
                "data": plain(data, include={"kind", "path", "fetch", "classes"}),
                "drawn": drawn,
                "wants_words": False,
            }
        case "scan_images":
            return {"clutter": data.clutter, "classes": data.classes or []}
        case "draw_codebook_pool":
            return {"pool": data.pool, **seed}
        case "learn_palette":
            return {"descriptor": shared.descriptors[descriptor], **seed}
        case "describe_blocks":
            return {"n_shards": data.shards}
        case "learn_codebook":
            return {"representation": shared.representations[representation], **seed}
    return None
