"""Both trainings: they learn, they repeat to the bit, and a run that was killed goes on to the same bits."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from made_networks import PER_CLASS, N, labels, pixels, relevance, source, tiny, weights

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.networks import Pretraining
from lookalike.deep import devices
from lookalike.deep.checkpoints import Checkpoint
from lookalike.deep.embedding import embed
from lookalike.deep.images import batches
from lookalike.deep.loop import optimiser_of
from lookalike.deep.network import DeepRankingNetwork
from lookalike.deep.plateau import Plateau
from lookalike.deep.pretraining import pretrain
from lookalike.deep.ranking import batch_loss, hold_out, train_ranking
from lookalike.deep.relevance_triplets import RelevanceTripletSampler
from lookalike.deep.settings import RankingSettings
from lookalike.deep.streams import LabelStream

PRETRAINING = Pretraining(n_steps=60, batch=12, learning_rate=0.02, validation_interval=20)
RANKING = RankingSettings(n_steps=40, batch=8, learning_rate=0.006, validation_interval=10, gap=0.3)


def changed(settings, **changes):
    return settings.model_copy(update=changes)


LABELS = labels()


def pretrained(settings=PRETRAINING, **options):
    return pretrain(tiny(), source(), LABELS, settings, validation_rows=np.arange(6), **({"device": "cpu"} | options))


def ranked(settings=RANKING, seed=0, **options):
    learned, validation = hold_out(relevance(), 0.34, 40, random_state=1)
    network = DeepRankingNetwork(options.pop("configuration", tiny()), random_state=2)
    draws = RelevanceTripletSampler(learned, random_state=seed)
    arguments = {"source": source(), "rows": learned.image_id, "validation": validation, "device": "cpu"} | options
    return train_ranking(network, sampler=draws, settings=settings, **arguments)


def same(first, second):
    """Tell whether weights and curve are equal to the bit, but for the seconds."""
    equal = all(np.array_equal(array, weights(second)[name]) for name, array in weights(first).items())
    curves = [trained.curve.drop(columns="seconds") for trained in (first, second)]
    return equal and curves[0].equals(curves[1])


def killed_at(step, run, **options):
    """Leave what a kill at a step would leave."""
    steps = iter(range(1, step))
    with pytest.raises(StopIteration):
        run(progress=lambda *_: next(steps), **options)


def test_pretraining_learns_the_classes():
    trained = pretrained()
    assert list(trained.curve["step"]) == [0, 20, 40, 60]
    assert trained.curve["loss"][3] < 0.6 * trained.curve["loss"][1]
    assert trained.curve["validation_accuracy"].max() > 0.9
    assert (trained.fit["classes"], trained.fit["n_images"]) == ([0, 1, 2], N - 6)
    assert not trained.network.training
    mean = trained.network.input.mean.numpy()
    np.testing.assert_allclose(mean, pixels()[6:, 2:-2, 2:-2].mean((0, 1, 2)), rtol=1e-4)


def test_ranking_learns_the_shades():
    trained = ranked(RankingSettings(n_steps=200, batch=16, learning_rate=0.004, validation_interval=50, gap=0.2))
    start, first, last = (trained.curve.iloc[row] for row in (0, 1, -1))
    assert np.isnan(start["loss"])
    assert last["loss"] < 0.6 * first["loss"]
    assert last["triplet_accuracy"] > first["triplet_accuracy"] + 0.1
    assert last["validation_loss"] < 0.75 * start["validation_loss"]
    assert (trained.fit["n_triplets"], trained.fit["n_validation_triplets"]) == (3200, 40)


@pytest.mark.parametrize("run", [pretrained, ranked])
def test_a_killed_run_goes_on_to_the_same_bits_and_leaves_torch_as_it_was(run, tmp_path):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    whole = run()
    assert torch.equal(state, torch.get_rng_state())
    assert (threads, False) == (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())
    assert not same(whole, run(random_state=6))
    for step in (1, 20, 37):
        keeping = {"checkpoint": tmp_path / f"{step}.pt", "checkpoint_seconds": 0.0}
        killed_at(step, run, **keeping)
        torch.rand(17)
        lines = []
        resumed = run(**keeping, report=lines.append)
        assert same(whole, resumed)
        goes_on = any("goes on from step" in line for line in lines)
        assert resumed.fit["resumed"] == goes_on == (step > 1)  # at step 1 nothing was written yet
    assert same(whole, run(**keeping, progress=lambda *_: 1 / 0))  # a finished run is there at once


@pytest.mark.parametrize("precisions", [("float32", "float16"), ("float16", "float32")])
def test_a_run_goes_on_where_passes_have_another_precision(tmp_path, monkeypatch, precisions):
    keeping, given = {"checkpoint": tmp_path / "run.pt", "checkpoint_seconds": 0.0}, iter(precisions)
    monkeypatch.setattr(devices, "choose_precision", lambda device: next(given))
    killed_at(20, pretrained, **keeping)
    trained = pretrained(**keeping)
    assert (trained.fit["resumed"], trained.fit["precision"]) == (1, precisions[1])
    assert trained.curve["validation_accuracy"].max() > 0.9


def test_a_first_step_that_overflows_leaves_no_trace(monkeypatch):
    monkeypatch.setattr(torch, "empty_like", lambda like: torch.full_like(like, torch.nan))  # as memory may be
    ends = []
    for enabled, factors in ((True, (3e38, 0.5, 0.25)), (False, (0.5, 0.25))):
        weight = torch.ones(4, requires_grad=True)
        optimiser = optimiser_of(iter([weight]), RANKING)
        scaler = torch.amp.GradScaler("cpu", 65_536.0, enabled=enabled)
        for factor in factors:
            optimiser.zero_grad()
            scaler.scale((factor * weight).sum()).backward()
            scaler.step(optimiser)
            scaler.update()
        ends.append(weight)
    assert torch.equal(*ends)


def test_auto_asks_for_the_accelerator_as_torch_2_6_lets(monkeypatch):
    for is_available, found in ((True, "meta"), (False, "cpu")):
        monkeypatch.setattr(torch.accelerator, "is_available", lambda there=is_available: there)
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("meta"))
        assert devices.choose_device().type == found


def test_the_checkpoint_of_another_run_is_ignored(tmp_path, monkeypatch):
    settings, file = changed(RANKING, n_steps=2), tmp_path / "run.pt"
    ranked(settings, checkpoint=file)
    whole = file.read_bytes()
    changes = [{"settings": changed(settings, gap=0.4)}, {"seed": 1}, {"random_state": 1}]
    changes += [{"validation": np.array([[0, 3, 1]])}, {"configuration": tiny(keep_probability=0.7)}]
    for change in changes:
        file.write_bytes(whole)
        lines = []
        trained = ranked(**{"settings": settings, "checkpoint": file, "report": lines.append} | change)
        assert trained.fit["resumed"] == 0
        assert "starts again" in lines[0]
    for version, said in ((f"{torch.__version__.partition('+')[0]}+other", "goes on"), ("2.0", "other torch version")):
        monkeypatch.setattr(torch, "__version__", version)
        file.write_bytes(whole)
        ranked(settings, checkpoint=file, report=lines.append)
        assert any(said in line for line in lines)


def test_a_checkpoint_that_is_damaged_or_cannot_be_written(tmp_path, monkeypatch):
    file, checkpoint, state = tmp_path / "run.pt", Checkpoint(tmp_path / "run.pt", 60, {}), {"step": 3}
    checkpoint.save(state)
    whole = file.read_bytes()
    with monkeypatch.context() as disk, open("/dev/full", "wb", buffering=0) as full:
        disk.setattr(Path, "write_bytes", lambda _, content: full.write(content))
        with pytest.raises(LookalikeError, match="No space left"):
            checkpoint.save(state)
    assert file.read_bytes() == whole  # the old one stays
    assert list(tmp_path.iterdir()) == [file]
    torch.save({"made_by": {}, "state": Path("/")}, file)  # a path is a class, which is not loaded
    for content in (file.read_bytes(), whole[:-200], b"not a checkpoint"):
        file.write_bytes(content)
        with pytest.raises(LookalikeError, match="remove that file to start again"):
            checkpoint.resume()


def test_held_out_images_are_scored_without_dropout():
    last = ranked()
    _, triplets = hold_out(relevance(), 0.34, 40, random_state=1)
    loss, right = batch_loss(torch.from_numpy(embed(last.network, batches(source()))), torch.from_numpy(triplets), 0.3)
    best = last.curve.set_index("step").loc[last.kept_step]
    assert best["validation_precision"] == pytest.approx(right.item())
    assert best["validation_loss"] == pytest.approx(loss.item(), rel=1e-5)


def test_the_rate_falls_and_training_ends_when_held_out_images_no_longer_improve():
    plateau = Plateau(patience=2, drops=1)
    # after the rate has fallen, looks are better or not than others at that rate
    looks = {"losses": [3.0, 2.0, 2.5, 2.0, 2.2, 2.1, 2.3, 2.1], "best": [True, True, False, False, True, True, False]}
    seen = []
    for loss, is_best in zip(looks["losses"], [*looks["best"], False], strict=True):
        assert not plateau.has_ended
        assert plateau.look(-loss) == is_best
        seen.append(plateau.share)
    assert seen[:7] == [1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1]
    assert plateau.has_ended


def test_a_training_ends_early_keeps_its_best_weights_and_says_so(tmp_path):
    settings = changed(RANKING, n_steps=400, learning_rate=0.05, validation_interval=2, patience=2)
    whole = ranked(settings)
    losses = whole.curve.set_index("step")["validation_loss"]
    assert whole.fit["finished"]
    assert whole.fit["n_steps"] == losses.index[-1] < 400
    # the best at the smaller rate, and two looks after it that were no better
    assert whole.kept_step in losses.index[-3:]
    assert whole.kept_step == losses.iloc[-3:].idxmin()
    assert whole.fit["n_triplets"] == 8 * whole.kept_step
    keeping = {"checkpoint": tmp_path / "run.pt", "checkpoint_seconds": 0.0}
    killed_at(losses.index[-1] - 1, partial(ranked, settings), **keeping)
    resumed = ranked(settings, **keeping)
    assert same(whole, resumed)
    assert resumed.kept_step == whole.kept_step
    # more looks are needed than there are steps
    assert not ranked(changed(settings, n_steps=4, patience=5)).fit["finished"]
    assert not ranked(changed(settings, n_steps=4), validation=None).fit["finished"]


def test_dropout_and_weight_decay_are_on():
    start = DeepRankingNetwork(tiny(), random_state=2).linear.weight.detach().numpy()
    step = {"n_steps": 1, "batch": 8, "learning_rate": 0.1, "momentum": 0}
    # without held-out images the last weights are kept, and not those of the best look
    none, strong = (ranked(RankingSettings(**step, regularisation=value), validation=None) for value in (0.0, 2.0))
    difference = weights(none)["linear.weight"] - weights(strong)["linear.weight"]
    np.testing.assert_allclose(difference, 0.1 * 2 * 2.0 * start, rtol=1e-3, atol=1e-6)
    plain, decayed = (
        weights(pretrained(Pretraining(**step, weight_decay=value)))["classes.weight"] for value in (0.0, 4.0)
    )
    assert np.corrcoef((plain - decayed).ravel(), plain.ravel())[0, 1] > 0.95
    assert Pretraining().weight_decay == 0.0005  # of Krizhevsky et al., not of eq. 4
    without = ranked(RankingSettings(**step, regularisation=0.0), configuration=tiny(keep_probability=1.0))
    assert (weights(without)["linear.weight"] != weights(none)["linear.weight"]).any()


def test_a_step_of_the_ranking_descends_along_the_sum_of_its_hinges():
    """Eight times the same triplet move the weights eight times as far as that triplet alone."""
    draws = SimpleNamespace(draw=lambda n: np.tile(np.int32([0, 3, 1]), (n, 1)), fingerprint=lambda: 0)
    moved = []
    for batch in (1, 8):
        network = DeepRankingNetwork(tiny(keep_probability=1.0), random_state=2)
        start = network.linear.weight.detach().numpy().copy()
        settings = RankingSettings(n_steps=1, batch=batch, learning_rate=1e-3, momentum=0, gap=5.0, regularisation=0)
        moved.append(weights(train_ranking(network, source(), draws, settings, device="cpu"))["linear.weight"] - start)
    np.testing.assert_allclose(moved[1], 8 * moved[0], rtol=1e-2, atol=1e-6)
    assert np.abs(moved[0]).max() > 1e-5


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"labels": np.zeros(N, int)}, "at least two"),
        ({"validation_rows": np.flatnonzero(LABELS == 2)}, "none of the 12 held-out images"),
        ({"rows": np.arange(10), "validation_rows": np.arange(5)}, "both learned from and held out"),
        ({"settings": Pretraining(n_steps=40, learning_rate=1e9)}, "make learning_rate smaller"),
        ({"device": "gpu"}, "cannot be used"),
    ],
)
def test_impossible_pretraining_is_refused(arguments, match):
    with pytest.raises((ValueError, LookalikeError), match=match):
        pretrain(tiny(), source(), **({"labels": LABELS, "device": "cpu"} | arguments))
    for name, value in {"n_steps": 0, "learning_rate": 0, "momentum": 1.0, "gap": 0}.items():
        with pytest.raises(ValueError, match=name):
            RankingSettings(**{name: value})


def test_images_are_held_out_whole_and_by_category():
    data = relevance(first=100)
    learned, triplets = hold_out(data, 0.25, 500, random_state=3)
    assert np.isin(triplets, np.setdiff1d(data.image_id, learned.image_id)).all()
    assert (np.bincount(learned.category) == PER_CLASS - 3).all()
    np.testing.assert_array_equal(triplets, hold_out(data, 0.25, 500, random_state=3)[1])
    with pytest.raises(ValueError, match="share"):
        hold_out(data, 1.0, 5)


def test_every_pass_has_every_image_once_in_another_order():
    rows = np.array([3, 4, 7, 8, 20, 21, 30])
    batches_of = list(LabelStream(source(), LABELS, rows, 3, 5).batches(0, 14))  # 42 images, 6 passes
    drawn = np.concatenate([requests[:, 0] for requests, _ in batches_of]).reshape(6, 7)
    assert (np.sort(drawn, axis=1) == rows).all()
    assert len(np.unique(drawn, axis=0)) > 1
    for requests, target in batches_of:
        np.testing.assert_array_equal(target, LABELS[requests[:, 0]])
    tail = LabelStream(source(), LABELS, rows, 3, 5).batches(9, 14)  # a batch is a function of the step
    for expected, got in zip(batches_of[9:], tail, strict=True):
        assert all(map(np.array_equal, expected, got))
    (large, _), *_ = LabelStream(source(), LABELS, np.array([0, 1]), 7, 0).batches(0, 1)  # larger than a pass
    assert (np.bincount(large[:, 0]) >= 3).all()
