"""From stored pixels to the rows of a table: which images may teach, what is measured, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from lookalike.core.errors import LookalikeError  # noqa: E402
from lookalike.data.relevance import RelevanceData  # noqa: E402
from lookalike.deep.model_io import load_network, read_about  # noqa: E402
from lookalike.deep.runs import (  # noqa: E402
    NetworkRun,
    run_linear_embedding,
    run_pretraining,
    run_ranking,
    sampler_arguments,
    stored_pixels,
)
from lookalike.ranking.distances import pair_distances  # noqa: E402

TRAINING = {"n_steps": 2, "batch": 4, "learning_rate": 0.01, "validation_interval": 1}
SAMPLING = {"out_of_class": 0.2, "weighted": True, "capacity": None, "positive_threshold": None}
N_TRAINING, N_IMAGES, SIDE = 16, 20, 64 + 2 * 2


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "size": "small",
        "shift": 2,
        "device": "cpu",
        "gap": 0.5,
        "pretraining": TRAINING,
        "ranking": TRAINING,
        "linear_embedding": {"width": 1000, "n_steps": 2},
        "validation": {"share": 0.4, "triplets": 20, "sampling": SAMPLING},
        **changes,
    }


def made_run(**changes: Any) -> NetworkRun:
    random = np.random.default_rng(0)
    blocks = {name: random.uniform(0.1, 1, (8, 8)) for name in ("a", "b")}
    for block in blocks.values():
        block[...] = (block + block.T) / 2
        np.fill_diagonal(block, 0)
    relevance = RelevanceData.from_blocks(np.arange(N_TRAINING), np.repeat(["a", "b"], 8), blocks)
    given = {
        "pixels": random.integers(0, 256, (N_IMAGES, SIDE, SIDE, 3), dtype=np.uint8),
        "relevance": relevance,
        "pairs": pd.DataFrame({"query": np.int32([16, 17]), "candidate": np.int32([17, 18])}),
        "settings": settings(),
        "sampling": SAMPLING,
        "seed": 1,
    }
    return NetworkRun(**(given | changes))


def test_rated_images_are_measured_and_never_held_out_or_learned_from() -> None:
    run = made_run()
    learned, validation = run.held_out
    assert set(learned.image_id).isdisjoint(validation.ravel())
    assert set(learned.image_id) | set(validation.ravel()) <= set(range(N_TRAINING))
    assert run.sampler().draw(50).max() < learned.n_images


def test_every_row_is_measured_by_its_own_vectors(tmp_path: Path) -> None:
    run = made_run()
    convnet = run_pretraining(run)
    convnet.save(tmp_path / "convnet.npz")
    ranked = {name: run_ranking(run, name, tmp_path / "convnet.npz") for name in ("single-scale-ranking", "x")}
    assert not ranked["single-scale-ranking"].trained.network.configuration.multiscale
    assert ranked["x"].trained.network.configuration.multiscale
    top = run_linear_embedding(run, [ranked["single-scale-ranking"].vectors, np.eye(N_IMAGES, 30, dtype=np.float32)])
    for result in (convnet, *ranked.values(), top):
        assert np.isnan(result.vectors[19]).all(), "nobody asks for this image"
        np.testing.assert_array_equal(result.distances, pair_distances(result.vectors, run.pairs, "l2"))
        assert result.curve["seen"].iloc[-1] == result.curve["step"].iloc[-1] * 4
    ranked["x"].save(tmp_path / "x.npz")
    assert read_about(tmp_path / "x.npz")["shift"] == 2
    assert load_network(tmp_path / "x.npz").configuration == ranked["x"].trained.network.configuration
    ranked["x"].save_filters(tmp_path / "filters.npz")
    paths = {"convnet", "every-4th-pixel", "every-8th-pixel"}
    assert set(np.load(tmp_path / "filters.npz")) == paths | {f"start/{path}" for path in paths}
    with pytest.raises(LookalikeError, match="no network for classification"):
        run_ranking(run, "x", tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"relevance": RelevanceData.empty()}, "no training image to hold out"),
        (
            {"settings": settings(validation={"share": 0.1, "triplets": 9, "sampling": SAMPLING})},
            "holds out at most 1 images of a category",
        ),
        ({"sampling": SAMPLING | {"capacity": 2}}, "raise capacity from 2"),
    ],
    ids=["no training", "share too small", "buffer too small"],
)
def test_what_cannot_be_trained_is_told_in_a_sentence(changes: dict[str, Any], said: str) -> None:
    run = made_run(**changes)
    with pytest.raises(LookalikeError, match=said):
        run.sampler()


def test_a_number_left_out_keeps_the_samplers_default() -> None:
    assert sampler_arguments(SAMPLING) == {"out_of_class": 0.2, "weighted": True}


def test_an_image_that_cannot_be_used_is_black(tmp_path: Path) -> None:
    Image.new("RGB", (90, 50), (10, 200, 30)).save(tmp_path / "a.png")
    manifest = pd.DataFrame({"path": ["a.png", "b.png"], "status": ["ok", "unreadable"]})
    pixels = stored_pixels(manifest, tmp_path, size="small", shift=2)
    assert pixels.shape == (2, SIDE, SIDE, 3)
    assert (pixels[0] == (10, 200, 30)).all()
    assert not pixels[1].any()
