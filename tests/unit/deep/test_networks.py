"""The networks: the paper's sizes, what each path sees, lengths, dropout's share, their loss and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from made_networks import tiny  # noqa: E402
from torch.nn import functional  # noqa: E402

from lookalike.deep.configuration import PAPER, SMALL, NetworkConfiguration, paper, small  # noqa: E402
from lookalike.deep.embedding import embed, first_layer_filters  # noqa: E402
from lookalike.deep.loss import triplet_hinges  # noqa: E402
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork, input_statistics  # noqa: E402
from lookalike.deep.normalisation import local_response_normalisation  # noqa: E402


def images(n: int, side: int = 64, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (n, side, side, 3), dtype=np.uint8))


def inputs_of(module: torch.nn.Module) -> list[torch.Tensor]:
    """Return a list to which every input of a module is added."""
    seen: list[torch.Tensor] = []
    module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    return seen


def random_triplets(n: int, d: int, kind: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, d, dtype=torch.float64, generator=generator).to(kind) for _ in range(3)]


def test_the_papers_network_has_its_sizes() -> None:
    network = DeepRankingNetwork(PAPER).eval()
    assert sum(parameter.numel() for parameter in network.parameters()) == 86_269_504
    assert (PAPER.map_side, PAPER.low_resolution_width, PAPER.keep_probability) == (6, 3072, 0.6)
    sizes = {}
    for name, module in network.named_modules():
        module.register_forward_hook(lambda _, __, out, name=name: sizes.update({name: tuple(out.shape[1:])}))
    with torch.inference_mode():
        assert network(images(1, 225)).shape == (1, 4096)
    convnet = [sizes[f"convnet.convolutions.{i}"] for i in range(5)]
    assert convnet == [(96, 55, 55), (256, 27, 27), (384, 13, 13), (384, 13, 13), (256, 13, 13)]
    # 57 and 29 pixels a side, every 4th one of these
    assert [sizes[f"low_resolution.convolutions.{i}"] for i in range(2)] == [(96, 15, 15), (96, 8, 8)]
    assert sizes["low_resolution"] == (3072,)


def test_the_single_scale_network_is_the_convnet_path_alone() -> None:
    network, batch = DeepRankingNetwork(small(multiscale=False)).eval(), images(4)
    with torch.inference_mode():
        assert torch.equal(network(batch), functional.normalize(network.features(batch), dim=1))
    assert not [name for name, _ in network.named_parameters() if not name.startswith("convnet.")]
    assert paper(multiscale=False).width == 4096


def test_every_part_has_length_1_in_training_and_in_half_precision_too() -> None:
    for multiscale in (True, False):
        vectors = DeepRankingNetwork(small(multiscale))(images(6))
        assert vectors.shape == (6, small(multiscale).width)
        assert torch.allclose(vectors.norm(dim=1), torch.ones(6), atol=1e-5)
    network = DeepRankingNetwork(SMALL).eval()
    seen = inputs_of(network.linear)
    exact = network(images(6))
    for part in seen[0].split([SMALL.fully_connected[-1], SMALL.low_resolution_width], dim=1):
        assert torch.allclose(part.norm(dim=1), torch.ones(6), atol=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = network(images(6))
    assert half.dtype == torch.float32
    assert torch.allclose(half.norm(dim=1), torch.ones(6), atol=1e-5)
    assert torch.allclose(half, exact, atol=0.05)


def test_low_resolution_paths_see_every_4th_and_8th_pixel_only() -> None:
    network = DeepRankingNetwork(SMALL).double().eval()
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
    network = DeepRankingNetwork(tiny(input_size=225, low_resolution=PAPER.low_resolution)).eval()
    pixels = torch.rand(1, 3, 225, 225)
    convolution = network.low_resolution.convolutions[0]
    with torch.no_grad():
        # copies the value 3 right and 3 below its window's corner: with 3 of 7 pixels before, every 4th value
        convolution.weight.zero_()
        convolution.weight[:, 0, 3, 3] = 1
        values = network.low_resolution(pixels)[0, :1536].reshape(96, 4, 4)
    taken = pixels[0, 0, ::4, ::4][::4, ::4]
    assert torch.equal(values[0, 0, 0], taken[:3, :3].max())
    assert torch.equal(values[5, 3, 3], taken[12:, 12:].max())


def test_dropout_keeps_6_of_10_in_training_alone() -> None:
    assert DeepRankingNetwork(SMALL).convnet.drop.p == pytest.approx(0.4)  # torch takes the share to drop
    network = ClassificationNetwork(SMALL, 3)
    seen = inputs_of(network.classes)
    with torch.no_grad():
        network.convnet.fully_connected[-1].bias.fill_(100.0)
        torch.manual_seed(0)
        network(images(200))
        assert (seen[0] > 0).float().mean().item() == pytest.approx(0.6, abs=0.02)
        network.eval()
        assert torch.equal(network(images(3)), network(images(3)))


def test_initial_values_come_from_the_seed_alone_and_neither_vanish_nor_explode() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = DeepRankingNetwork(SMALL, random_state=5)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second = DeepRankingNetwork(SMALL, random_state=5).state_dict()
    assert all(torch.equal(value, second[name]) for name, value in first.state_dict().items())
    assert not torch.equal(second["linear.weight"], DeepRankingNetwork(SMALL, random_state=6).linear.weight)
    first.set_input_statistics((127.5, 127.5, 127.5), 74.0)
    with torch.inference_mode():
        assert 0.05 < first.eval().features(images(50)).square().mean().sqrt().item() < 20


def test_input_is_centred_on_the_training_images_and_not_changed() -> None:
    pixels = images(8).numpy()
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
    batch = images(2, 16).double()
    DeepRankingNetwork(tiny()).double()(batch)
    assert torch.equal(batch, images(2, 16).double())


def test_pretrained_weights_move_into_the_ranking_network() -> None:
    classification = ClassificationNetwork(SMALL, 7, random_state=3).eval()
    classification.set_input_statistics((100.0, 90.0, 80.0), 50.0)
    network = DeepRankingNetwork(SMALL, random_state=4).eval()
    linear = network.linear.weight.clone()
    network.take_pretrained(classification)
    with torch.inference_mode():
        assert torch.equal(network.features(images(3)), classification.features(images(3)))
        assert classification(images(3)).shape == (3, 7)
    assert torch.equal(network.linear.weight, linear)


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (lambda: small(keep_probability=0.0), "keep_probability"),
        (lambda: small(keep_probability=1.1), "keep_probability"),
        (lambda: small(input_size=8), "leave nothing"),
        (lambda: small(low_resolution=()), "needs"),
        (lambda: NetworkConfiguration.from_dict(asdict(SMALL) | {"depth": 3}), "not the configuration"),
        (lambda: DeepRankingNetwork(SMALL)(images(2, 32)), r"\(n, 64, 64, 3\)"),
        (lambda: DeepRankingNetwork(SMALL).set_input_statistics((1.0, 2.0), 3.0), "input statistics"),
        (lambda: input_statistics(np.empty((0, 4, 4, 3), np.uint8)), "no images"),
        (lambda: ClassificationNetwork(SMALL, 1), "at least 2 classes"),
        (lambda: DeepRankingNetwork(tiny()).take_pretrained(ClassificationNetwork(SMALL, 2)), "another ConvNet path"),
        (lambda: triplet_hinges(torch.ones(4, 3), torch.ones(3, 3), torch.ones(4, 3), 1.0), "one shape"),
        (lambda: triplet_hinges(*random_triplets(4, 3), 0.0), "gap must be positive"),
    ],
)
def test_what_cannot_be_is_refused(do: Callable[[], Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        do()


@pytest.mark.parametrize("channels", [3, 6, 11])
def test_local_response_normalisation_is_that_of_torch_with_the_sum(channels: int) -> None:
    maps = 30 * torch.rand(2, channels, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = functional.local_response_norm(maps, 5, alpha=5e-4, beta=0.75, k=2.0)
    assert torch.allclose(local_response_normalisation(maps), expected, rtol=1e-12)
    small_maps = maps[:1, :, :2, :2].clone().requires_grad_()
    assert torch.autograd.gradcheck(local_response_normalisation, small_maps)
    half = local_response_normalisation(torch.full((1, channels, 1, 1), 6e4, dtype=torch.float16))
    assert torch.isfinite(half).all()
    assert (half > 0).all()


def test_the_loss_is_the_printed_hinge_of_squared_distances() -> None:
    query, positive, negative = random_triplets(40, 3)
    triplets = zip(query.numpy(), positive.numpy(), negative.numpy(), strict=True)
    expected = [max(0.0, 0.7 + ((q - p) ** 2).sum() - ((q - n) ** 2).sum()) for q, p, n in triplets]
    assert min(expected) == 0 < max(expected)
    assert triplet_hinges(query, positive, negative, 0.7).numpy() == pytest.approx(np.array(expected))
    half = random_triplets(4, 3, torch.bfloat16)  # is taken up to float32 first
    loss = triplet_hinges(*half, 1.0)
    assert loss.dtype == torch.float32
    assert torch.allclose(loss.double(), triplet_hinges(*(part.double() for part in half), 1.0), rtol=1e-5)


@pytest.mark.parametrize("multiscale", [True, False])
def test_the_gradient_through_a_network_is_right(multiscale: bool) -> None:
    network = DeepRankingNetwork(tiny(multiscale=multiscale)).double().eval()
    batch = torch.rand(6, 16, 16, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 255
    names = [name for name, _ in network.named_parameters()]

    def loss(*values: torch.Tensor) -> torch.Tensor:
        vectors = torch.func.functional_call(network, dict(zip(names, values, strict=True)), batch)
        return triplet_hinges(*vectors.chunk(3), 0.5).mean()

    values = [parameter.detach().clone().requires_grad_() for parameter in network.parameters()]
    assert torch.autograd.gradcheck(loss, values, fast_mode=True)
    # and every parameter takes part
    for name, gradient in zip(names, torch.autograd.grad(loss(*values), values), strict=True):
        assert gradient.abs().max() > 0, name


def test_embeddings_are_those_of_the_network_without_dropout(tmp_path: Any, recwarn: pytest.WarningsRecorder) -> None:
    network, batch = DeepRankingNetwork(SMALL), images(7)
    vectors = embed(network, batch.numpy(), batch_size=3)
    assert (vectors.dtype, vectors.shape) == (np.float32, (7, SMALL.width))
    assert network.training  # as before
    np.save(tmp_path / "images.npy", batch.numpy())
    same = [batch, (batch[i : i + 3] for i in range(0, 7, 3)), np.load(tmp_path / "images.npy", mmap_mode="r")]
    for given in same:
        assert np.array_equal(embed(network, given, batch_size=3), vectors)
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]
    assert embed(network, []).shape == (0, SMALL.width)
    for wrong, told in (({"images": batch.float()}, "uint8"), ({"images": batch, "batch_size": 0}, "batch_size")):
        with pytest.raises(ValueError, match=told):
            embed(network, **wrong)
        assert network.training
    with torch.no_grad():
        assert np.allclose(vectors, network.eval()(batch).numpy(), atol=1e-6)
        # channels last is a matter of speed
        assert np.allclose(vectors, network.to(memory_format=torch.channels_last)(batch).numpy(), atol=1e-5)
    classifier = ClassificationNetwork(SMALL, 3).eval()
    features = embed(classifier, batch)  # what its soft-max layer takes in
    assert features.shape == (7, SMALL.fully_connected[-1])
    with torch.no_grad():
        assert torch.allclose(classifier.classes(torch.from_numpy(features)), classifier(batch), atol=1e-5)


def test_filters_are_the_first_weights_of_every_path_as_pictures() -> None:
    network = DeepRankingNetwork(SMALL)
    filters = first_layer_filters(network)
    assert list(filters) == ["convnet", "every-4th-pixel", "every-8th-pixel"]
    assert filters["convnet"].shape == (SMALL.convolutions[0].channels, 7, 7, 3)
    weights = network.low_resolution.convolutions[1].weight
    assert filters["every-8th-pixel"][2, 1, 3, 0] == weights[2, 0, 1, 3].item()
    for alone in (DeepRankingNetwork(replace(SMALL, multiscale=False)), ClassificationNetwork(SMALL, 2)):
        assert list(first_layer_filters(alone)) == ["convnet"]
