"""The networks: sizes, what each path sees, lengths, dropout's share, loss and gradient; the files of saved ones."""

import resource
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_networks import tiny
from model_files import parts, write_parts
from torch.nn import functional

from lookalike.core.errors import LookalikeError
from lookalike.deep.configuration import PAPER, SMALL, NetworkConfiguration
from lookalike.deep.embedding import embed, first_layer_filters
from lookalike.deep.loss import triplet_hinges
from lookalike.deep.model_io import load_network, read_about, save_network
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork, input_statistics
from lookalike.deep.network import local_response_normalisation as normalisation
from lookalike.deep.ranking import batch_loss

FIRST = asdict(SMALL)["convolutions"][0]


def images(n, side=64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (n, side, side, 3), dtype=np.uint8))


def inputs_of(module):
    seen = []
    module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    return seen


def test_the_papers_network_has_its_sizes():
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
    assert replace(PAPER, multiscale=False).width == 4096


def test_every_part_has_length_1_in_training_and_in_half_precision_too():
    network = DeepRankingNetwork(SMALL)
    seen = inputs_of(network.linear)
    in_training, exact = network(images(6)), network.eval()(images(6))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = network(images(6))
    assert half.dtype == torch.float32
    assert torch.allclose(half, exact, atol=0.05)
    parts = seen[0].split([SMALL.fully_connected[-1], SMALL.low_resolution_width], dim=1)
    for part in (in_training, half, *parts, DeepRankingNetwork(replace(SMALL, multiscale=False))(images(6))):
        assert torch.allclose(part.norm(dim=1), torch.ones(6), atol=1e-5)


def test_low_resolution_paths_see_every_4th_and_8th_pixel_with_padding_same_and_the_odd_one_behind():
    network = DeepRankingNetwork(tiny(input_size=225, low_resolution=PAPER.low_resolution)).eval()
    pixels, low = torch.rand(1, 3, 225, 225), network.low_resolution
    with torch.no_grad():
        for convolution in low.convolutions:
            # copies the value 3 right and 3 below its window's corner: with 3 of 7 pixels before, every 4th value
            convolution.weight.zero_()
            convolution.weight[:, 0, 3, 3] = 1
        parts = low(pixels)[0].reshape(2, 96, 4, 4)
    for every, first, last, values in zip((4, 8), (3, 5), (12, 4), parts, strict=True):  # pooled over 3 x 3, and 7 x 7
        taken = pixels[0, 0, ::every, ::every][::4, ::4]
        assert torch.equal(values[0, 0, 0], taken[:first, :first].max())
        assert torch.equal(values[5, 3, 3], taken[last:, last:].max())


@pytest.mark.parametrize("layer", ["classes", "linear"])
def test_dropout_keeps_6_of_10_in_training_alone(layer):
    network = DeepRankingNetwork(SMALL) if layer == "linear" else ClassificationNetwork(SMALL, 3)
    seen = inputs_of(network.get_submodule(layer))
    with torch.no_grad():
        network.convnet.fully_connected[-1].bias.fill_(100.0)
        torch.manual_seed(0)
        network.train()(images(200))
        assert (seen[0][:, : SMALL.fully_connected[-1]] > 0).float().mean().item() == pytest.approx(0.6, abs=0.02)
        assert torch.equal(network.eval()(images(3)), network(images(3)))


def test_initial_values_come_from_the_seed_alone_and_neither_vanish_nor_explode():
    before = torch.get_rng_state()
    first = DeepRankingNetwork(SMALL, random_state=5)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second = DeepRankingNetwork(SMALL, random_state=5).state_dict()
    assert all(torch.equal(value, second[name]) for name, value in first.state_dict().items())
    assert not torch.equal(second["linear.weight"], DeepRankingNetwork(SMALL, random_state=6).linear.weight)
    filters = first.low_resolution.convolutions[0].weight  # a tenth of He's, or they keep their random start
    assert filters.std().item() == pytest.approx(0.1 * (2 / filters[0].numel()) ** 0.5, rel=0.1)
    with torch.inference_mode():
        assert 0.05 < first.eval().features(images(50)).square().mean().sqrt().item() < 20


def test_input_is_centred_on_the_training_images_and_not_changed():
    pixels = images(8).numpy()
    pixels[..., 0] //= 2
    network, (mean, deviation) = DeepRankingNetwork(SMALL), input_statistics(pixels)
    assert mean == pytest.approx(pixels.reshape(-1, 3).mean(axis=0), rel=1e-6)
    network.set_input_statistics(mean, deviation)
    values = network.input(torch.from_numpy(pixels)).numpy()
    assert values.var() == pytest.approx(1, rel=1e-3)
    np.testing.assert_allclose(values, np.moveaxis((pixels - mean) / deviation, 3, 1), rtol=1e-4, atol=1e-5)
    batch = images(2, 16).double()
    DeepRankingNetwork(tiny()).double()(batch)
    assert torch.equal(batch, images(2, 16).double())


def test_pretrained_weights_move_into_the_ranking_network():
    classification = ClassificationNetwork(SMALL, 7, random_state=3)
    classification.set_input_statistics((100.0, 90.0, 80.0), 50.0)
    network = DeepRankingNetwork(SMALL, random_state=4)
    linear = network.linear.weight.clone()
    network.take_pretrained(classification)
    assert np.array_equal(network.eval().features(images(3)).tolist(), embed(classification, [images(3)]))
    assert torch.equal(network.linear.weight, linear)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(SMALL, keep_probability=0.0), "keep_probability"),
        (lambda: replace(SMALL, low_resolution=()), "needs a low-resolution path"),
        (lambda: DeepRankingNetwork(SMALL)(images(2, 32)), r"\(n, 64, 64, 3"),
        (lambda: NetworkConfiguration(**asdict(SMALL) | {"depth": 3}), "depth"),
        (lambda: DeepRankingNetwork(tiny()).take_pretrained(ClassificationNetwork(SMALL, 2)), "another ConvNet path"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("channels", [3, 11])
def test_local_response_normalisation_is_that_of_torch_with_the_sum(channels):
    maps = 30 * torch.rand(2, channels, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = functional.local_response_norm(maps, 5, alpha=5e-4, beta=0.75, k=2.0)
    assert torch.allclose(normalisation(maps), expected, rtol=1e-12)
    small_maps = maps[:1, :, :2, :2].clone().requires_grad_()
    assert torch.autograd.gradcheck(normalisation, small_maps)
    half = normalisation(torch.full((1, channels, 1, 1), 6e4, dtype=torch.float16))
    assert ((half > 0) & half.isfinite()).all()


def test_the_loss_is_the_printed_hinge_of_squared_distances():
    triplets = torch.randn(3, 40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    query, positive, negative = triplets.numpy()
    expected = np.maximum(0, 0.7 + ((query - positive) ** 2).sum(axis=1) - ((query - negative) ** 2).sum(axis=1))
    assert expected.min() == 0 < expected.max()
    assert triplet_hinges(*triplets, 0.7).numpy() == pytest.approx(expected)
    loss, right = batch_loss(triplets.reshape(-1, 3), torch.arange(120).reshape(3, 40).T, 0.7)
    assert (loss.item(), right.item()) == pytest.approx((expected.mean(), (expected < 0.7).mean()))
    half = triplets.to(torch.bfloat16)  # is taken up to float32 first
    loss = triplet_hinges(*half, 1.0)
    assert loss.dtype == torch.float32
    assert torch.allclose(loss.double(), triplet_hinges(*half.double(), 1.0), rtol=1e-5)


def test_embeddings_are_those_of_the_network_without_dropout(tmp_path, recwarn):
    network, batch = DeepRankingNetwork(SMALL), images(7)
    vectors = embed(network, [batch.numpy()])
    assert (vectors.dtype, vectors.shape) == (np.float32, (7, SMALL.width))
    assert network.training  # as before
    np.save(tmp_path / "images.npy", batch.numpy())
    for given in ([batch], [np.load(tmp_path / "images.npy", mmap_mode="r")]):
        assert np.array_equal(embed(network, given), vectors)
    np.testing.assert_allclose(embed(network, (batch[i : i + 3] for i in range(0, 7, 3))), vectors, atol=1e-6)
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]
    assert embed(network, []).shape == (0, SMALL.width)
    with pytest.raises(ValueError, match="uint8"):
        embed(network, [batch.float()])
    classifier = ClassificationNetwork(SMALL, 3).eval()
    features = embed(classifier, [batch])  # what its soft-max layer takes in
    with torch.no_grad():
        assert np.allclose(vectors, network.eval()(batch).numpy(), atol=1e-6)
        assert np.allclose(vectors, network.to(memory_format=torch.channels_last)(batch).numpy(), atol=1e-5)
        assert torch.allclose(classifier.classes(torch.from_numpy(features)), classifier(batch), atol=1e-5)


def test_filters_are_the_first_weights_of_every_path_and_a_single_scale_network_has_one():
    network = DeepRankingNetwork(SMALL)
    filters = first_layer_filters(network)
    assert list(filters) == ["convnet", "every-4th-pixel", "every-8th-pixel"]
    weights = network.low_resolution.convolutions[1].weight
    assert filters["every-8th-pixel"][2, 1, 3, 0] == weights[2, 0, 1, 3].item()
    single, batch = DeepRankingNetwork(replace(SMALL, multiscale=False)).eval(), images(4)
    assert torch.equal(single(batch), functional.normalize(single.features(batch), dim=1))
    assert {name.partition(".")[0] for name, _ in single.named_parameters()} == {"convnet"}
    for alone in (single, ClassificationNetwork(SMALL, 2)):
        assert list(first_layer_filters(alone)) == ["convnet"]


CONFIGURATIONS = [{"convolutions": [FIRST | bad]} for bad in ({"stride": 0}, {"kernel": 10**6}, {"channels": 10**7})]
CONFIGURATIONS += [{"input_size": 10**9}, {"fully_connected": [128, 60_000]}, {"low_resolution": [{"every": 0}]}]


@pytest.mark.parametrize(
    "network",
    [DeepRankingNetwork(replace(SMALL, multiscale=False, keep_probability=0.9)), ClassificationNetwork(SMALL, 9)],
)
def test_a_network_comes_back_bit_for_bit(tmp_path, network):
    network.set_input_statistics((101.0, 102.5, 99.25), 61.5)
    save_network(network, tmp_path / "model.lookalike", {"classes": ["a", "é"]})
    save_network(network.to(memory_format=torch.channels_last), tmp_path / "same.lookalike", {"classes": ["a", "é"]})
    assert (tmp_path / "same.lookalike").read_bytes() == (tmp_path / "model.lookalike").read_bytes()
    loaded = load_network(tmp_path / "model.lookalike")
    assert (type(loaded), loaded.configuration, loaded.training) == (type(network), network.configuration, False)
    assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in network.state_dict().items())
    assert read_about(tmp_path / "model.lookalike") == {"classes": ["a", "é"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format_version": 3}, "format version 3, and this lookalike reads 2"),
        ({"format": "other"}, "not a lookalike network but a 'other'"),
        ({"configuration": asdict(replace(SMALL, multiscale=False))}, "do not fit"),
        ({"linear.bias": np.zeros(3, np.float32)}, "do not fit"),
        *(({"configuration": asdict(SMALL) | changes}, "do not fit") for changes in CONFIGURATIONS),
        ({"n_classes": 10**12}, "do not fit"),
        ({"input.deviation": np.zeros((), np.float32)}, "do not fit"),
        ({"linear.bias": np.full(64, np.inf, np.float32)}, r"holds NaN or infinity in linear\.bias"),
        *[({"about": {"shift": shift}}, "a shift of") for shift in (20_000, -1, "far")],
    ],
)
def test_what_is_not_a_network_of_this_version_is_refused_in_little_memory(tmp_path, values, message):
    saved = tmp_path / "model.lookalike"
    save_network(DeepRankingNetwork(SMALL, random_state=1), saved, {"gap": 0.5})
    description, arrays = parts(saved)
    weights = {name: value for name, value in values.items() if name in arrays}
    description |= {name: value for name, value in values.items() if name not in weights}
    write_parts(saved, description, arrays | weights)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**28, limits[1]))
    try:
        with pytest.raises(LookalikeError, match=message):
            (read_about if "about" in values else load_network)(saved)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
