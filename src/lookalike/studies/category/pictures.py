"""The picture that explains the image representation: how a code is read off a pixel's neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.files import read_json
from lookalike.core.images import load_rgb
from lookalike.exhibits.model import Picture
from lookalike.exhibits.registry import exhibit
from lookalike.features import pyramid
from lookalike.studies.category.study import CategoryStudy

if TYPE_CHECKING:
    pass

Image = npt.NDArray[np.uint8]


@exhibit("oasis-jmlr-2010/fig2", title="A local binary pattern", needs=("images", "manifest", "pool"), shows=())
def local_binary_pattern(study: CategoryStudy) -> Picture:
    """How the local binary pattern LBP(8,2) of a pixel is read off its neighbours."""
    from lookalike.core.images import luma
    from lookalike.features import lbp
    from lookalike.studies.category import lbp_example

    patch = lbp_example.example_patch(luma(example_image(study)))
    _, bits = lbp_example.pattern_of(patch)
    frame = pd.DataFrame({"point": range(lbp.N_POINTS), "value": lbp_example.circle_values(patch), "bit": bits})
    return Picture(frame, lambda canvas: lbp_example.paint(canvas, patch), (6.4, 3.1))


def load_image(study: CategoryStudy, path: str) -> Image:
    """Return the pixels of one image of the manifest."""
    return load_rgb(Path(read_json(study.path("images"))["root"]) / path)


def example_image(study: CategoryStudy) -> Image:
    """Return the image of the codebook pool that is nearest to 400x300 in its number of blocks."""
    manifest = study.table("manifest")
    rows = manifest[manifest["image_id"].isin(study.table("pool")["image_id"])]
    n_blocks = [pyramid.count_blocks(w, h) for w, h in zip(rows["width"], rows["height"], strict=True)]
    nearest = int(np.argmin(np.abs(np.array(n_blocks) - pyramid.count_blocks(400, 300))))
    return load_image(study, str(rows["path"].iloc[nearest]))
