"""What a network gives: vectors of images in batches of any kind, and its first filters."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from lookalike.deep.configuration import SMALL, small  # noqa: E402
from lookalike.deep.embedding import embed, first_layer_filters  # noqa: E402
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork  # noqa: E402

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 64, 64, 3), dtype=np.uint8)


def test_embeddings_are_those_of_the_network_without_dropout() -> None:
    network = DeepRankingNetwork(SMALL)
    vectors = embed(network, IMAGES, batch_size=3)
    assert vectors.dtype == np.float32
    assert vectors.shape == (7, SMALL.width)
    assert network.training
    with torch.no_grad():
        assert np.allclose(vectors, network.eval()(torch.from_numpy(IMAGES)).numpy(), atol=1e-6)
    embed(network, IMAGES)
    assert not network.training


def test_arrays_tensors_and_batches_give_the_same_rows() -> None:
    network = DeepRankingNetwork(SMALL)
    expected = embed(network, IMAGES, batch_size=3)
    assert np.array_equal(embed(network, torch.from_numpy(IMAGES), batch_size=3), expected)
    assert np.array_equal(embed(network, (IMAGES[i : i + 3] for i in range(0, 7, 3))), expected)
    assert embed(network, []).shape == (0, SMALL.width)


def test_a_memory_map_is_read_without_a_warning(tmp_path, recwarn: pytest.WarningsRecorder) -> None:
    np.save(tmp_path / "images.npy", IMAGES)
    network = DeepRankingNetwork(SMALL)
    assert np.array_equal(embed(network, np.load(tmp_path / "images.npy", mmap_mode="r")), embed(network, IMAGES))
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]


def test_a_classification_network_gives_what_its_softmax_layer_takes_in() -> None:
    network = ClassificationNetwork(SMALL, 3).eval()
    vectors = embed(network, IMAGES)
    assert vectors.shape == (7, SMALL.fully_connected[-1])
    with torch.no_grad():
        logits = network.classes(torch.from_numpy(vectors))
        assert torch.allclose(logits, network(torch.from_numpy(IMAGES)), atol=1e-5)
    assert embed(network, []).shape == (0, SMALL.fully_connected[-1])


def test_the_training_mode_comes_back_after_an_error() -> None:
    network = DeepRankingNetwork(SMALL)
    with pytest.raises(ValueError, match="uint8"):
        embed(network, IMAGES.astype(np.float32))
    with pytest.raises(ValueError, match="batch_size"):
        embed(network, IMAGES, batch_size=0)
    assert network.training


def test_filters_are_the_first_weights_of_every_path_as_pictures() -> None:
    network = DeepRankingNetwork(SMALL)
    filters = first_layer_filters(network)
    assert list(filters) == ["convnet", "every-4th-pixel", "every-8th-pixel"]
    assert filters["convnet"].shape == (SMALL.convolutions[0].channels, 7, 7, 3)
    weights = network.low_resolution.convolutions[1].weight
    assert filters["every-8th-pixel"][2, 1, 3, 0] == weights[2, 0, 1, 3].item()
    assert all(values.dtype == np.float32 for values in filters.values())
    assert list(first_layer_filters(DeepRankingNetwork(small(multiscale=False)))) == ["convnet"]
    assert list(first_layer_filters(ClassificationNetwork(SMALL, 2))) == ["convnet"]
