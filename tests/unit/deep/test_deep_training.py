"""Both trainings: they learn, they repeat to the bit, and a run that was killed goes on to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from made_networks import PER_CLASS, N, labels, pixels, relevance, sampler, source, tiny  # noqa: E402
from PIL import Image  # noqa: E402

from lookalike.core.errors import LookalikeError  # noqa: E402
from lookalike.deep import devices  # noqa: E402
from lookalike.deep.embedding import embed  # noqa: E402
from lookalike.deep.images import FileImages, batches  # noqa: E402
from lookalike.deep.loop import Trained  # noqa: E402
from lookalike.deep.network import DeepRankingNetwork  # noqa: E402
from lookalike.deep.pretraining import pretrain  # noqa: E402
from lookalike.deep.ranking import Objective, hold_out, train_ranking  # noqa: E402
from lookalike.deep.settings import PretrainingSettings, RankingSettings  # noqa: E402

PRETRAINING = PretrainingSettings(n_steps=60, batch=12, learning_rate=0.02, validation_interval=20)
RANKING = RankingSettings(n_steps=40, batch=8, learning_rate=0.05, validation_interval=10, gap=0.3)


def pretrained(settings: PretrainingSettings = PRETRAINING, **options: Any) -> Trained:
    return pretrain(tiny(), source(), labels(), settings, validation_rows=np.arange(6), **({"device": "cpu"} | options))


def ranked(settings: RankingSettings = RANKING, seed: int = 0, **options: Any) -> Trained:
    learned, validation = hold_out(relevance(), 0.34, 40, random_state=1)
    network = DeepRankingNetwork(options.pop("configuration", tiny()), random_state=2)
    draws = sampler_of(learned, seed)
    arguments = {"rows": learned.image_id, "validation": validation, "device": "cpu"} | options
    return train_ranking(network, source(), draws, settings, **arguments)


def sampler_of(data: Any, seed: int) -> Any:
    from lookalike.learners.relevance_triplets import RelevanceTripletSampler

    return RelevanceTripletSampler(data, random_state=seed)


def weights(trained: Trained) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in trained.network.state_dict().items()}


def assert_same(one: Trained, other: Trained) -> None:
    """Weights and curve to the bit, but for the seconds."""
    for name, array in weights(one).items():
        np.testing.assert_array_equal(array, weights(other)[name], err_msg=name)
    drop = {"columns": "seconds"}
    assert one.curve.drop(**drop).equals(other.curve.drop(**drop))
    assert one.fit["chosen_step"] == other.fit["chosen_step"]


class Killed(Exception):
    """Stands for a kill in this process."""


def kill_at(step: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done == step:
            raise Killed

    return progress


def test_pretraining_learns_the_classes() -> None:
    trained = pretrained()
    assert list(trained.curve["step"]) == [0, 20, 40, 60]
    assert np.isnan(trained.curve["loss"][0])
    assert trained.curve["loss"].iloc[-1] < 0.6 * trained.curve["loss"][1]
    assert trained.curve["validation_accuracy"].max() > 0.9
    assert trained.fit["classes"] == [0, 1, 2]
    assert trained.fit["n_images"] == N - 6
    assert not trained.network.training
    mean = trained.network.input.mean.numpy()
    np.testing.assert_allclose(mean, pixels()[6:, 2:-2, 2:-2].mean((0, 1, 2)), rtol=1e-4)


def test_ranking_learns_the_shades() -> None:
    trained = ranked(RankingSettings(n_steps=200, batch=16, learning_rate=0.1, validation_interval=50, gap=0.2))
    first, last = trained.curve.iloc[1], trained.curve.iloc[-1]
    assert last["loss"] < 0.6 * first["loss"]
    assert last["triplet_accuracy"] > first["triplet_accuracy"] + 0.1
    assert last["validation_loss"] < 0.75 * trained.curve["validation_loss"][0]
    assert trained.fit["n_triplets"] == 3200
    assert trained.fit["n_validation_triplets"] == 40


@pytest.mark.parametrize("run", [pretrained, ranked])
def test_the_same_seed_gives_the_same_bits_and_leaves_torch_as_it_was(run: Callable[..., Trained]) -> None:
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    one = run(random_state=5)
    assert torch.equal(state, torch.get_rng_state())
    assert (threads, False) == (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())
    torch.rand(3)
    assert_same(one, run(random_state=5))
    other = run(random_state=6)
    assert any((array != weights(other)[name]).any() for name, array in weights(one).items())


@pytest.mark.parametrize("run", [pretrained, ranked])
@pytest.mark.parametrize("step", [1, 13, 20, 37])
def test_a_killed_run_goes_on_to_the_same_bits(run: Callable[..., Trained], step: int, tmp_path: Path) -> None:
    whole = run()
    keeping = {"checkpoint": tmp_path / "run.pt", "checkpoint_seconds": 0.0}
    with pytest.raises(Killed):
        run(**keeping, progress=kill_at(step))
    torch.rand(17)
    told: list[str] = []
    resumed = run(**keeping, report=told.append)
    assert_same(whole, resumed)
    assert resumed.fit["resumed"] == (step > 1)
    assert any("goes on from step" in line for line in told) == (step > 1)  # at step 1 nothing was written yet


def test_workers_and_files_change_no_bit_also_across_a_kill(tmp_path: Path) -> None:
    paths = [tmp_path / f"{row}.png" for row in range(N)]
    for path, image in zip(paths, pixels(), strict=True):
        Image.fromarray(image).save(path)

    def run(images: Any, **options: Any) -> Trained:
        network = DeepRankingNetwork(tiny(), random_state=2)
        return train_ranking(network, images, sampler(3, capacity=5), RANKING, device="cpu", **options)

    whole = run(source())
    files = FileImages(paths, 16, 2)
    assert_same(whole, run(files))
    keeping = {"checkpoint": tmp_path / "run.pt", "checkpoint_seconds": 0.0, "n_workers": 2}
    with pytest.raises(Killed):
        run(files, progress=kill_at(18), **keeping)
    assert_same(whole, run(files, **keeping))


def test_a_process_that_was_really_killed_goes_on(tmp_path: Path) -> None:
    script = (
        "import os, sys, time, test_deep_training as t\n"
        "def slow(done, total):\n"
        "    print(done, flush=True)\n"
        "    time.sleep(0.02)\n"
        "t.ranked(checkpoint=sys.argv[1], checkpoint_seconds=0.0, progress=slow)\n"
    )
    here = Path(__file__).parent
    checkpoint = tmp_path / "run.pt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(checkpoint)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "15":
            process.send_signal(signal.SIGKILL)
            break
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    told: list[str] = []
    resumed = ranked(checkpoint=checkpoint, checkpoint_seconds=1000, report=told.append)
    assert resumed.fit["resumed"] == 1, told[0]
    assert_same(ranked(), resumed)


def test_a_finished_run_that_is_started_again_is_there_at_once(tmp_path: Path) -> None:
    keeping = {"checkpoint": tmp_path / "run.pt", "checkpoint_seconds": 1000}
    whole = ranked(**keeping)
    assert_same(whole, ranked(**keeping, progress=kill_at(1)))


@pytest.mark.parametrize(
    "change",
    [
        {"settings": RankingSettings(n_steps=40, batch=8, learning_rate=0.05, validation_interval=10, gap=0.4)},
        {"seed": 1},
        {"random_state": 1},
        {"validation": np.array([[0, 3, 1]])},
        {"configuration": tiny(keep_probability=0.7)},
    ],
    ids=["settings", "triplets", "shifts", "held out", "network"],
)
def test_the_checkpoint_of_another_run_is_ignored(tmp_path: Path, change: dict[str, Any]) -> None:
    keeping = {"checkpoint": tmp_path / "run.pt", "checkpoint_seconds": 1000}
    ranked(**keeping)
    told: list[str] = []
    other = ranked(**keeping, **change, report=told.append)
    assert other.fit["resumed"] == 0
    assert "starts anew" in told[0]


def test_the_best_weights_are_kept_or_the_last() -> None:
    settings = {"n_steps": 30, "batch": 8, "learning_rate": 0.5, "validation_interval": 3, "gap": 0.3}
    best = ranked(RankingSettings(**settings, keep="best"))
    last = ranked(RankingSettings(**settings, keep="last"))
    precision = best.curve["validation_precision"]
    assert best.curve.drop(columns="seconds").equals(last.curve.drop(columns="seconds"))
    assert best.fit["chosen_step"] == best.curve["step"][precision.idxmax()]
    assert last.fit["chosen_step"] == 30 != best.fit["chosen_step"]  # else this run shows nothing
    assert any((array != weights(last)[name]).any() for name, array in weights(best).items())


def test_held_out_images_are_scored_without_dropout() -> None:
    settings = {"n_steps": 10, "batch": 8, "validation_interval": 5, "gap": 0.3, "keep": "last"}
    trained = ranked(RankingSettings(**settings))
    _, triplets = hold_out(relevance(), 0.34, 40, random_state=1)
    vectors = embed(trained.network, batches(source())).astype(np.float64)
    query, positive, negative = (vectors[triplets[:, column]] for column in range(3))
    margins = ((query - negative) ** 2).sum(1) - ((query - positive) ** 2).sum(1)
    assert trained.curve["validation_precision"].iloc[-1] == pytest.approx((margins > 0).mean())
    assert trained.curve["validation_loss"].iloc[-1] == pytest.approx(np.maximum(0.3 - margins, 0).mean(), rel=1e-5)


def test_without_held_out_images_the_last_weights_are_kept() -> None:
    trained = ranked(validation=None)
    assert trained.fit["chosen_step"] == 40
    assert trained.curve["validation_precision"].isna().all()


def test_the_objective_is_that_of_three_towers() -> None:
    embeddings = torch.nn.functional.normalize(torch.randn(6, 4, dtype=torch.float64), dim=1).requires_grad_()
    triplets = torch.tensor([[0, 1, 2], [3, 1, 4], [0, 5, 1]])
    objective = Objective(0.7)
    loss, right = objective(embeddings, triplets)
    q, p, n = (embeddings[triplets[:, column]] for column in range(3))
    margins = ((q - n) ** 2).sum(1) - ((q - p) ** 2).sum(1)
    assert loss.item() == pytest.approx((0.7 - margins).clamp(min=0).mean().item())
    assert right.item() == pytest.approx(float((margins > 0).double().mean()))
    assert torch.autograd.gradcheck(lambda x: objective(x, triplets)[0], embeddings)


def test_dropout_and_weight_decay_are_on() -> None:
    decayed = ranked(RankingSettings(n_steps=10, batch=8, learning_rate=1e-12, validation_interval=10))
    start = DeepRankingNetwork(tiny(), random_state=2).state_dict()
    assert np.allclose(weights(decayed)["linear.weight"], start["linear.weight"].numpy())
    strong = RankingSettings(n_steps=1, batch=8, learning_rate=0.1, regularisation=2.0, momentum=0, keep="last")
    none = RankingSettings(n_steps=1, batch=8, learning_rate=0.1, regularisation=0.0, momentum=0, keep="last")
    difference = weights(ranked(none))["linear.weight"] - weights(ranked(strong))["linear.weight"]
    np.testing.assert_allclose(difference, 0.1 * 2 * 2.0 * start["linear.weight"].numpy(), rtol=1e-3, atol=1e-6)
    without = ranked(none, configuration=tiny(keep_probability=1.0))
    assert (weights(without)["linear.weight"] != weights(ranked(none))["linear.weight"]).any()


def test_a_learning_rate_that_is_too_large_is_told() -> None:
    with pytest.raises(LookalikeError, match="make learning_rate smaller"):
        pretrained(PretrainingSettings(n_steps=40, batch=12, learning_rate=1e9, validation_interval=10))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"labels": np.zeros(N, int)}, "at least two"),
        ({"labels": np.zeros(3, int)}, "one whole number for each"),
        ({"rows": np.arange(10), "validation_rows": np.arange(5)}, "both learned from and held out"),
        ({"rows": [N]}, "rows must be rows of the image source"),
        ({"labels": np.where(np.arange(N) == 3, -1, labels()), "rows": [3, 4]}, "no label"),
    ],
)
def test_impossible_pretraining_is_refused(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        pretrain(tiny(), source(), **({"labels": labels()} | arguments), device="cpu")


def test_images_are_held_out_whole_and_by_category() -> None:
    data = relevance(first=100)
    learned, triplets = hold_out(data, 0.25, 500, random_state=3)
    assert triplets.shape == (500, 3)
    assert not np.isin(triplets, learned.image_id).any()
    assert np.isin(triplets, data.image_id).all()
    assert (np.bincount(learned.category) == PER_CLASS - 3).all()
    again, same = hold_out(data, 0.25, 500, random_state=3)
    np.testing.assert_array_equal(triplets, same)
    np.testing.assert_array_equal(learned.image_id, again.image_id)
    with pytest.raises(ValueError, match="share"):
        hold_out(data, 1.0, 5)


@pytest.mark.parametrize("name", ["gpu", "cuda:77"])
def test_a_device_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(LookalikeError, match="cannot be used"):
        devices.choose_device(name)
