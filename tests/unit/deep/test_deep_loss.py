"""The ranking loss: its value, its gradient, what public code gets wrong, and what weight decay stands for."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from made_networks import tiny  # noqa: E402

from lookalike.deep.loss import parameter_groups, squared_distances, triplet_hinges  # noqa: E402
from lookalike.deep.network import DeepRankingNetwork  # noqa: E402


def made(n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query, positive, negative = (torch.randn(n, d, dtype=torch.float64, generator=generator) for _ in range(3))
    return query, positive, negative


def test_the_loss_is_the_mean_of_the_printed_hinge() -> None:
    query, positive, negative = made(40, 3)
    expected = []
    for q, p, n in zip(query.numpy(), positive.numpy(), negative.numpy(), strict=True):
        expected.append(max(0.0, 0.7 + np.linalg.norm(q - p) ** 2 - np.linalg.norm(q - n) ** 2))
    assert min(expected) == 0 < max(expected)
    assert triplet_hinges(query, positive, negative, 0.7).numpy() == pytest.approx(np.array(expected))


def test_the_distance_is_squared() -> None:
    a, b = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
    assert squared_distances(a, b).tolist() == [25.0]


def test_the_gradient_of_the_loss_is_right() -> None:
    parts = [part.requires_grad_() for part in made(6, 3)]
    assert torch.autograd.gradcheck(lambda q, p, n: triplet_hinges(q, p, n, 1.5).mean(), parts)


@pytest.mark.parametrize("multiscale", [True, False])
def test_the_gradient_through_a_network_is_right(multiscale: bool) -> None:
    network = DeepRankingNetwork(tiny(multiscale=multiscale)).double().eval()
    images = torch.rand(6, 16, 16, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 255
    names = [name for name, _ in network.named_parameters()]

    def loss(*values: torch.Tensor) -> torch.Tensor:
        vectors = torch.func.functional_call(network, dict(zip(names, values, strict=True)), images)
        return triplet_hinges(*vectors.chunk(3), 0.5).mean()

    values = [parameter.detach().clone().requires_grad_() for parameter in network.parameters()]
    assert loss(*values) > 0
    assert torch.autograd.gradcheck(loss, values, fast_mode=True)
    # and every parameter takes part
    for name, gradient in zip(names, torch.autograd.grad(loss(*values), values), strict=True):
        assert gradient.abs().max() > 0, name


def test_weight_decay_is_twice_lambda() -> None:
    network = torch.nn.Linear(3, 2).double()
    groups = parameter_groups(network, 0.001)
    assert [group["weight_decay"] for group in groups] == [0.002]
    penalty = 0.001 * sum(parameter.square().sum() for parameter in network.parameters())
    gradients = torch.autograd.grad(penalty, list(network.parameters()))
    expected = [
        value.detach() - 0.1 * gradient for value, gradient in zip(network.parameters(), gradients, strict=True)
    ]
    optimiser = torch.optim.SGD(groups, lr=0.1)
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    for parameter, value in zip(network.parameters(), expected, strict=True):
        assert torch.allclose(parameter, value, rtol=1e-12)


def test_half_precision_is_taken_up_first() -> None:
    query, positive, negative = (part.to(torch.bfloat16) for part in made(4, 3))
    loss = triplet_hinges(query, positive, negative, 1.0).mean()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(
        triplet_hinges(query.double(), positive.double(), negative.double(), 1.0).mean().item(), rel=1e-5
    )


def test_what_has_no_loss_is_refused() -> None:
    query, positive, negative = made(4, 3)
    with pytest.raises(ValueError, match="one shape"):
        triplet_hinges(query, positive[:3], negative, 1.0)
    with pytest.raises(ValueError, match="gap must be positive"):
        triplet_hinges(query, positive, negative, 0.0)
