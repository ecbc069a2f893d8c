"""The networks: the paper's sizes, what each path sees, lengths, dropout's share, initial values and pre-training."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from torch.nn import functional  # noqa: E402

from lookalike.deep.configuration import (  # noqa: E402
    PAPER,
    SMALL,
    ConvolutionLayer,
    LowResolutionPath,
    NetworkConfiguration,
    paper,
    small,
)
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork, input_statistics  # noqa: E402
from lookalike.deep.normalisation import local_response_normalisation  # noqa: E402

TINY = NetworkConfiguration(
    name="tiny",
    input_size=16,
    convolutions=(ConvolutionLayer(6, 5, stride=2, padding=2, normalised=True, pool=3, pool_stride=2),),
    fully_connected=(8, 8),
    low_resolution=(LowResolutionPath(4, 3, 4, 2, 3, 2), LowResolutionPath(8, 3, 4, 2, 3, 1)),
    embedding_width=5,
)


def images(n: int, side: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (n, side, side, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def paper_network() -> DeepRankingNetwork:
    return DeepRankingNetwork(PAPER).eval()


def test_the_papers_network_has_its_sizes(paper_network: DeepRankingNetwork) -> None:
    assert sum(parameter.numel() for parameter in paper_network.parameters()) == 86_269_504
    assert PAPER.map_side == 6
    assert PAPER.low_resolution_width == 3072
    assert [path.side(225) for path in PAPER.low_resolution] == [4, 4]
    assert PAPER.keep_probability == 0.6
    sizes = {}
    for name, module in paper_network.named_modules():
        module.register_forward_hook(lambda _, __, out, name=name: sizes.update({name: tuple(out.shape[1:])}))
    with torch.inference_mode():
        vector = paper_network(images(1, 225))
    assert vector.shape == (1, 4096)
    convnet = [sizes[f"convnet.convolutions.{i}"] for i in range(5)]
    assert convnet == [(96, 55, 55), (256, 27, 27), (384, 13, 13), (384, 13, 13), (256, 13, 13)]
    # 57 and 29 pixels a side, every 4th one of these
    assert [sizes[f"low_resolution.convolutions.{i}"] for i in range(2)] == [(96, 15, 15), (96, 8, 8)]
    assert sizes["low_resolution"] == (3072,)


def test_the_single_scale_network_is_the_convnet_path_alone() -> None:
    network = DeepRankingNetwork(small(multiscale=False)).eval()
    batch = images(4, 64)
    with torch.inference_mode():
        assert torch.equal(network(batch), functional.normalize(network.features(batch), dim=1))
    assert not [name for name, _ in network.named_parameters() if not name.startswith("convnet.")]
    assert paper(multiscale=False).width == 4096


@pytest.mark.parametrize("multiscale", [True, False])
def test_embeddings_have_length_1_in_training_too(multiscale: bool) -> None:
    network = DeepRankingNetwork(small(multiscale))
    vectors = network(images(6, 64))
    assert vectors.shape == (6, SMALL.width if multiscale else SMALL.fully_connected[-1])
    assert vectors.dtype == torch.float32
    assert torch.allclose(vectors.norm(dim=1), torch.ones(6), atol=1e-5)


def test_both_parts_have_length_1_before_the_linear_embedding() -> None:
    network = DeepRankingNetwork(SMALL).eval()
    seen = []
    assert network.linear is not None
    network.linear.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.inference_mode():
        network(images(5, 64))
    convnet, low = seen[0].split([SMALL.fully_connected[-1], SMALL.low_resolution_width], dim=1)
    assert torch.allclose(convnet.norm(dim=1), torch.ones(5), atol=1e-5)
    assert torch.allclose(low.norm(dim=1), torch.ones(5), atol=1e-5)


def test_low_resolution_paths_see_every_4th_and_8th_pixel_only() -> None:
    network = DeepRankingNetwork(SMALL).double().eval()
    assert network.low_resolution is not None
    pixels = torch.rand(1, 3, 64, 64, dtype=torch.float64, requires_grad=True)
    widths = [path.channels * path.side(64) ** 2 for path in SMALL.low_resolution]
    for every, part in zip((4, 8), network.low_resolution(pixels).split(widths, dim=1), strict=True):
        (gradient,) = torch.autograd.grad(part.sum(), pixels, retain_graph=True)
        seen = (gradient[0] != 0).any(dim=0)
        on_grid = torch.zeros(64, 64, dtype=torch.bool)
        on_grid[::every, ::every] = True
        assert not (seen & ~on_grid).any()
        assert (seen & on_grid).sum() > 0.5 * on_grid.sum()


def test_low_resolution_padding_is_same_with_the_odd_pixel_behind() -> None:
    network = DeepRankingNetwork(replace(TINY, input_size=225, low_resolution=PAPER.low_resolution)).eval()
    assert network.low_resolution is not None
    pixels = torch.rand(1, 3, 225, 225)
    convolution = network.low_resolution.convolutions[0]
    with torch.no_grad():
        # copies the value 3 right and 3 below its window's corner: with 3 of 7 pixels before, every 4th value
        convolution.weight.zero_()
        convolution.weight[:, 0, 3, 3] = 1
        values = network.low_resolution(pixels)[0, :1536].reshape(96, 4, 4)
    taken = pixels[0, 0, ::4, ::4][::4, ::4]
    assert taken.shape == (15, 15)
    assert torch.equal(values[0, 0, 0], taken[:3, :3].max())
    assert torch.equal(values[5, 3, 3], taken[12:, 12:].max())


def test_dropout_keeps_6_of_10() -> None:
    # torch takes the share to drop
    assert DeepRankingNetwork(SMALL).convnet.drop.p == pytest.approx(0.4)
    network = ClassificationNetwork(SMALL, 3)
    seen = []
    network.classes.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        network.convnet.fully_connected[-1].bias.fill_(100.0)
        torch.manual_seed(0)
        network(images(200, 64))
    assert (seen[0] > 0).float().mean().item() == pytest.approx(0.6, abs=0.02)


def test_dropout_is_off_in_evaluation_and_on_in_training() -> None:
    network = DeepRankingNetwork(SMALL)
    batch = images(3, 64)
    assert not torch.equal(network(batch), network(batch))
    network.eval()
    assert torch.equal(network(batch), network(batch))


def test_initial_values_come_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = DeepRankingNetwork(SMALL, random_state=5).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second = DeepRankingNetwork(SMALL, random_state=5).state_dict()
    other = DeepRankingNetwork(SMALL, random_state=6).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["linear.weight"], other["linear.weight"])


def test_initial_activations_neither_vanish_nor_explode() -> None:
    network = DeepRankingNetwork(SMALL).eval()
    network.set_input_statistics((127.5, 127.5, 127.5), 74.0)
    with torch.inference_mode():
        strength = network.features(images(50, 64)).square().mean().sqrt().item()
    assert 0.05 < strength < 20


def test_input_is_centred_on_the_training_images() -> None:
    pixels = images(8, 64).numpy()
    pixels[..., 0] //= 2
    mean, deviation = input_statistics(pixels)
    assert mean == pytest.approx(pixels.reshape(-1, 3).mean(axis=0), rel=1e-6)
    network = DeepRankingNetwork(SMALL)
    network.set_input_statistics(mean, deviation)
    values = network.input(torch.from_numpy(pixels))
    assert values.shape == (8, 3, 64, 64)
    assert values.mean(dim=(0, 2, 3)).abs().max() < 1e-4
    assert values.var(unbiased=False).item() == pytest.approx(1, rel=1e-3)
    # red stays the first channel and rows stay rows
    assert values[2, 0, 5, 7].item() == pytest.approx((pixels[2, 5, 7, 0] - mean[0]) / deviation, rel=1e-5)


def test_input_of_the_network_is_not_changed() -> None:
    batch = images(2, 16).double()
    before = batch.clone()
    DeepRankingNetwork(TINY).double()(batch)
    assert torch.equal(batch, before)


def test_pretrained_weights_move_into_the_ranking_network() -> None:
    classification = ClassificationNetwork(SMALL, 7, random_state=3).eval()
    classification.set_input_statistics((100.0, 90.0, 80.0), 50.0)
    network = DeepRankingNetwork(SMALL, random_state=4).eval()
    linear = network.linear.weight.clone()
    network.take_pretrained(classification)
    batch = images(3, 64)
    with torch.inference_mode():
        assert torch.equal(network.features(batch), classification.features(batch))
        assert classification(batch).shape == (3, 7)
    assert torch.equal(network.linear.weight, linear)
    with pytest.raises(ValueError, match="another ConvNet path"):
        DeepRankingNetwork(TINY).take_pretrained(classification)


def test_channels_last_and_batches_give_the_same_vectors() -> None:
    batch = images(6, 64)
    network = DeepRankingNetwork(SMALL).eval()
    with torch.inference_mode():
        expected = network(batch)
        assert torch.allclose(torch.cat([network(batch[:2]), network(batch[2:])]), expected, atol=1e-5)
        assert torch.allclose(network.to(memory_format=torch.channels_last)(batch), expected, atol=1e-5)


def test_half_precision_passes_give_vectors_of_length_1_in_float32() -> None:
    network = DeepRankingNetwork(SMALL).eval()
    batch = images(4, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors = network(batch)
    assert vectors.dtype == torch.float32
    assert torch.allclose(vectors.norm(dim=1), torch.ones(4), atol=1e-5)
    assert torch.allclose(vectors, network(batch), atol=0.05)


@pytest.mark.parametrize("configuration", [PAPER, SMALL, TINY, small(multiscale=False), small(keep_probability=1.0)])
def test_configurations_survive_json(configuration: NetworkConfiguration) -> None:
    assert NetworkConfiguration.from_dict(json.loads(json.dumps(asdict(configuration)))) == configuration


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keep_probability": 0.0}, "keep_probability"),
        ({"keep_probability": 1.1}, "keep_probability"),
        ({"input_size": 8}, "leave nothing"),
        ({"low_resolution": ()}, "needs"),
    ],
)
def test_impossible_configurations_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_foreign_configurations_and_images_are_refused() -> None:
    with pytest.raises(ValueError, match="not the configuration"):
        NetworkConfiguration.from_dict(asdict(SMALL) | {"depth": 3})
    with pytest.raises(ValueError, match=r"\(n, 64, 64, 3\)"):
        DeepRankingNetwork(SMALL)(images(2, 32))
    with pytest.raises(ValueError, match="input statistics"):
        DeepRankingNetwork(SMALL).set_input_statistics((1.0, 2.0), 3.0)
    with pytest.raises(ValueError, match="no images"):
        input_statistics(np.empty((0, 4, 4, 3), np.uint8))
    with pytest.raises(ValueError, match="at least 2 classes"):
        ClassificationNetwork(SMALL, 1)


@pytest.mark.parametrize("channels", [3, 6, 11])
def test_local_response_normalisation_is_that_of_torch_with_the_sum(channels: int) -> None:
    maps = 30 * torch.rand(2, channels, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = functional.local_response_norm(maps, 5, alpha=5e-4, beta=0.75, k=2.0)
    assert torch.allclose(local_response_normalisation(maps), expected, rtol=1e-12)
    assert not torch.allclose(
        functional.local_response_norm(maps, 5, alpha=1e-4, beta=0.75, k=2.0), expected, rtol=1e-3
    )


def test_local_response_normalisation_has_the_right_gradient() -> None:
    maps = 100 * torch.rand(1, 7, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(local_response_normalisation, maps.requires_grad_())


def test_local_response_normalisation_stays_finite_in_half_precision() -> None:
    maps = torch.full((1, 5, 1, 1), 6e4, dtype=torch.float16)
    assert torch.isfinite(local_response_normalisation(maps)).all()
    assert (local_response_normalisation(maps) > 0).all()
