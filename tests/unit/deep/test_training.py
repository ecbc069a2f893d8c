"""Trainings learn, repeat to the bit and go on after a kill; windows of images, a study's runs, a linear embedding."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from made_networks import LABELS, PER_CLASS, SIZE, N, pixels, relevance, source, tiny, weights
from made_place import paint
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.networks import Pretraining, Sampling
from lookalike.data.relevance import RelevanceData
from lookalike.deep import devices
from lookalike.deep.checkpoints import Checkpoint
from lookalike.deep.embedding import embed
from lookalike.deep.images import ArrayImages, FileImages, batches, load_pixels, load_square
from lookalike.deep.linear_embedding import LinearEmbedding, join_parts, train_linear_embedding
from lookalike.deep.loop import optimiser_of
from lookalike.deep.model_io import load_network, read_about
from lookalike.deep.network import DeepRankingNetwork
from lookalike.deep.plateau import Plateau
from lookalike.deep.pretraining import pretrain
from lookalike.deep.ranking import batch_loss, hold_out, train_ranking
from lookalike.deep.relevance_triplets import RelevanceTripletSampler
from lookalike.deep.runs import NetworkRun, run_linear_embedding, run_pretraining, run_ranking, stored_pixels
from lookalike.deep.settings import NetworkSettings, RankingSettings
from lookalike.deep.streams import LabelStream
from lookalike.ranking.distances import pair_distances

PRETRAINING = Pretraining(n_steps=60, batch=12, learning_rate=0.02, validation_interval=20)
RANKING = RankingSettings(n_steps=40, batch=8, learning_rate=0.006, validation_interval=10, gap=0.3)


def changed(settings, **changes):
    return settings.model_copy(update=changes)


def pretrained(settings=PRETRAINING, **options):
    arguments = {"labels": LABELS, "validation_rows": np.arange(6), "device": "cpu"} | options
    return pretrain(tiny(), source(), settings=settings, **arguments)


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


EARLY = RANKING.model_copy(update={"n_steps": 400, "learning_rate": 0.05, "validation_interval": 2, "patience": 2})


@pytest.mark.parametrize("run", [pretrained, ranked, partial(ranked, EARLY)])
def test_a_killed_run_goes_on_to_the_same_bits_and_leaves_torch_as_it_was(run, tmp_path):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    whole = run()
    assert torch.equal(state, torch.get_rng_state())
    assert (threads, False) == (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())
    assert not same(whole, run(random_state=6))
    last = whole.curve["step"].iloc[-1]
    for step in (1, last // 2, last - 1):
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
    changes += [{"source": ArrayImages(pixels() // 2 * 2, SIZE)}]
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
    # at the smaller rate, looks are better or not than others at that rate
    looks = {1.0: [(3.0, True), (2.0, True), (2.5, False), (2.0, False)], 0.1: [(2.2, True), (2.1, True), (2.3, False)]}
    for share, at_rate in looks.items():
        for loss, is_best in at_rate:
            assert (plateau.share, plateau.look(-loss), plateau.has_ended) == (share, is_best, False)
    assert not plateau.look(-2.1)
    assert plateau.has_ended


def test_a_training_ends_early_keeps_its_best_weights_and_says_so():
    whole = ranked(EARLY)
    losses = whole.curve.set_index("step")["validation_loss"]
    assert whole.fit["finished"]
    assert whole.fit["n_steps"] == losses.index[-1] < 400
    # the best at the smaller rate, and two looks after it that were no better
    assert whole.kept_step in losses.index[-3:]
    assert whole.kept_step == losses.iloc[-3:].idxmin()
    assert whole.fit["n_triplets"] == 8 * whole.kept_step
    # more looks are needed than there are steps
    assert not ranked(changed(EARLY, n_steps=4, patience=5)).fit["finished"]
    assert not ranked(changed(EARLY, n_steps=4), validation=None).fit["finished"]


def test_dropout_and_weight_decay_are_on():
    start = DeepRankingNetwork(tiny(), random_state=2).linear.weight.detach().numpy()
    step = {"n_steps": 1, "batch": 8, "learning_rate": 0.1, "momentum": 0}
    # without held-out images the last weights are kept, and not those of the best look
    none, strong = (ranked(RankingSettings(**step, regularisation=value), validation=None) for value in (0.0, 2.0))
    difference = weights(none)["linear.weight"] - weights(strong)["linear.weight"]
    np.testing.assert_allclose(difference, 0.1 * 2 * 2.0 * start, rtol=1e-3, atol=1e-6)
    networks = (pretrained(Pretraining(**step, weight_decay=value)) for value in (0.0, 4.0))
    plain, decayed = (weights(network)["classes.weight"] for network in networks)
    assert np.corrcoef((plain - decayed).ravel(), plain.ravel())[0, 1] > 0.95
    assert Pretraining().weight_decay == 0.0005  # of Krizhevsky et al., not of eq. 4
    without = ranked(RankingSettings(**step, regularisation=0.0), configuration=tiny(keep_probability=1.0))
    assert (weights(without)["linear.weight"] != weights(none)["linear.weight"]).any()


def test_a_step_of_the_ranking_descends_along_the_sum_of_its_hinges():
    """Eight times the same triplet move the weights eight times as far as that triplet alone."""
    draws = SimpleNamespace(sample=lambda n: np.tile(np.int32([0, 3, 1]), (n, 1)), fingerprint=lambda: 0)
    moved = []
    for batch in (1, 8):
        network = DeepRankingNetwork(tiny(keep_probability=1.0), random_state=2)
        start = {name: parameter.detach().numpy().copy() for name, parameter in network.named_parameters()}
        settings = RankingSettings(n_steps=1, batch=batch, learning_rate=1e-3, momentum=0, gap=5.0, regularisation=0)
        found = weights(train_ranking(network, source(), draws, settings, device="cpu"))
        moved.append({name: found[name] - value for name, value in start.items()})
    for name, alone in moved[0].items():
        np.testing.assert_allclose(moved[1][name], 8 * alone, rtol=1e-2, atol=1e-5, err_msg=name)
        assert np.abs(alone).max() > 1e-7, "every path learns"


def test_images_are_held_out_whole_and_by_category():
    data = relevance(first=100)
    learned, triplets = hold_out(data, 0.25, 500, random_state=3)
    assert np.isin(triplets, np.setdiff1d(data.image_id, learned.image_id)).all()
    assert (np.bincount(learned.category) == PER_CLASS - 3).all()
    np.testing.assert_array_equal(triplets, hold_out(data, 0.25, 500, random_state=3)[1])


def test_every_pass_has_every_image_once_in_another_order():
    rows = np.array([3, 4, 7, 8, 20, 21, 30])
    batches_of = list(LabelStream(source(), LABELS, rows, 3, 5).batches(0, 14))  # 42 images, 6 passes
    drawn = np.concatenate([requests[:, 0] for requests, _ in batches_of]).reshape(6, 7)
    assert (np.sort(drawn, axis=1) == rows).all()
    assert len(np.unique(drawn, axis=0)) > 1
    for requests, target in batches_of:
        np.testing.assert_array_equal(target, LABELS[requests[:, 0]])
    (large, _), *_ = LabelStream(source(), LABELS, np.array([0, 1]), 7, 0).batches(0, 1)  # larger than a pass
    assert (np.bincount(large[:, 0]) >= 3).all()


PIXELS = np.random.default_rng(0).integers(0, 256, (7, 12, 12, 3), dtype=np.uint8)
TRAINING = {"n_steps": 2, "batch": 4, "learning_rate": 0.01, "validation_interval": 1}
SAMPLING = {"out_of_class": 0.2, "weighted": True}
VALIDATION = {"share": 0.4, "triplets": 20}
SETTINGS = {"size": "small", "shift": 2, "device": "cpu", "pretraining": TRAINING, "ranking": TRAINING}
SETTINGS |= {"gap": 0.5, "linear_embedding": {"width": 1000, "n_steps": 2}, "validation": VALIDATION}
N_TRAINING, N_IMAGES, SIDE = 16, 20, 64 + 2 * 2
LINEAR = RankingSettings(n_steps=90, batch=32, gap=0.3, regularisation=0.0, validation_interval=30)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{row}.png" for row in range(len(PIXELS))]
    for path, image in zip(paths, PIXELS, strict=True):
        Image.fromarray(image).save(path)
    return paths


def test_windows_and_batches_are_where_requests_say_and_draw_nothing_of_dropout(files):
    requests = np.array([[3, 0, 0], [3, 4, 1], [0, 2, 2]])
    expected = np.stack([PIXELS[3, :8, :8], PIXELS[3, 4:12, 1:9], PIXELS[0, 2:10, 2:10]])
    before, rows = torch.get_rng_state(), [6, 0, 0, 3, 2]
    for given in (ArrayImages(PIXELS, 8), FileImages(files, 8, 2)):
        assert (given.shift, given.stored_size, given.input_size, len(given)) == (2, 12, 8, 7)
        np.testing.assert_array_equal(given.windows(requests), expected)
        got = list(batches(given, rows, batch=2))
        assert [len(part) for part in got] == [2, 2, 1]
        np.testing.assert_array_equal(torch.cat(got).numpy(), PIXELS[rows][:, 2:10, 2:10])
    assert torch.equal(before, torch.get_rng_state())
    shifts = given.shifted(np.zeros(25_000, int), np.random.default_rng(3))
    counts = np.bincount(shifts[:, 1] * 5 + shifts[:, 2])  # uniform over all windows that fit
    assert np.abs(counts - 1000).max() < 6 * np.sqrt(1000)


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_file_that_is_broken_is_named_in_one_sentence(files, tmp_path, n_workers):
    assert FileImages(["a/é.png", os.fsdecode(b"a/\xff.png")], 8, 2).fingerprint(), "names need not be UTF-8"
    broken = tmp_path / "broken.png"
    broken.write_bytes(files[0].read_bytes()[:60])
    with pytest.raises(LookalikeError, match=r"^broken\.png is damaged.*again$"):
        list(batches(FileImages([files[0], broken], 8, 2), batch=1, n_workers=n_workers))


def test_images_are_squashed_to_a_square_by_averages_and_unusable_ones_black(tmp_path):
    wide = np.zeros((20, 60, 3), dtype=np.uint8)
    wide[:, 30:] = 200  # the right half, of whatever width
    Image.fromarray(wide).save(tmp_path / "wide.png")
    steps = []
    got = load_pixels([tmp_path / "wide.png"] * 3, 10, n_threads=2, progress=lambda *step: steps.append(step))
    assert (got[0, :, :4] == 0).all()
    assert (got[2, :, 6:] == 200).all()
    assert steps == [(1, 3), (2, 3), (3, 3)]
    board = (np.indices((40, 40)).sum(0) % 2 * 255).astype(np.uint8)  # aliasing would leave black or white
    Image.fromarray(board).convert("RGB").save(tmp_path / "board.png")
    assert np.abs(load_square(tmp_path / "board.png", 10).astype(int) - 127).max() < 12
    manifest = pd.DataFrame({"path": ["gone.png", "wide.png"], "status": ["unreadable", "ok"]})
    stored = stored_pixels(manifest, tmp_path, size="small", shift=2)
    assert stored.shape == (2, SIDE, SIDE, 3)
    assert stored.max(axis=(1, 2, 3)).tolist() == [0, 200]


def small_run(**changes):
    random = np.random.default_rng(0)
    upper = {name: np.triu(random.uniform(0.1, 1, (8, 8)), 1) for name in ("a", "b")}
    blocks = {name: block + block.T for name, block in upper.items()}
    given = {
        "pixels": random.integers(0, 256, (N_IMAGES, SIDE, SIDE, 3), dtype=np.uint8),
        "relevance": RelevanceData.from_blocks(np.arange(N_TRAINING), np.repeat(["a", "b"], 8), blocks),
        "pairs": pd.DataFrame({"query": np.int32([16, 17]), "candidate": np.int32([17, 18])}),
    }
    settings, sampling = changes.pop("settings", SETTINGS), changes.pop("sampling", SAMPLING)
    given |= {"settings": NetworkSettings(**settings), "sampling": Sampling(**sampling), "seed": 1}
    return NetworkRun(**(given | changes))


def test_every_row_is_measured_by_its_own_vectors_and_rated_images_teach_nothing(tmp_path):
    run = small_run()
    learned, validation = run.held_out
    assert set(learned.image_id).isdisjoint(validation.ravel())
    assert set(learned.image_id) | set(validation.ravel()) <= set(range(N_TRAINING))
    again, drawn = replace(run, repeat=2), run.sampler().sample(50)
    assert drawn.max() < learned.n_images
    assert not np.array_equal(drawn, again.sampler().sample(50)), "a repeat changes all but the images"
    assert np.array_equal(learned.image_id, again.held_out[0].image_id)
    assert np.array_equal(validation, again.held_out[1])
    convnet = run_pretraining(run)
    convnet.save(tmp_path / "convnet.lookalike")
    names, start = ("single-scale-ranking", "x"), tmp_path / "convnet.lookalike"
    single, multi = (run_ranking(run, name, start, multiscale=name == "x") for name in names)
    assert [run.trained.network.configuration.multiscale for run in (single, multi)] == [False, True]
    top = run_linear_embedding(run, [single.vectors, np.eye(N_IMAGES, 30, dtype=np.float32)])
    for result in (convnet, single, multi, top):
        assert np.isnan(result.vectors[19]).all(), "nobody asks for this image"
        np.testing.assert_array_equal(result.distances, pair_distances(result.vectors, run.pairs, "l2"))
        assert result.curve["seen"].iloc[-1] == result.curve["step"].iloc[-1] * 4
    windows = run.images.windows(run.images.central(range(19)))
    multi.save(tmp_path / "x.lookalike")
    np.testing.assert_allclose(multi.vectors[:19], embed(load_network(tmp_path / "x.lookalike"), [windows]), atol=1e-5)
    assert read_about(tmp_path / "x.lookalike")["shift"] == 2
    assert load_network(tmp_path / "x.lookalike").configuration == multi.trained.network.configuration
    multi.save_filters(tmp_path / "filters.npz")
    paths = {"convnet", "every-4th-pixel", "every-8th-pixel"}
    assert set(np.load(tmp_path / "filters.npz")) == paths | {f"start/{path}" for path in paths}
    with pytest.raises(LookalikeError, match="no network for classification"):
        run_ranking(run, "x", tmp_path / "x.lookalike", multiscale=True)


def test_pretraining_takes_a_folder_of_images_or_given_weights(tmp_path):
    def pretrained(share=0.4, **given):
        held_out = {"validation": VALIDATION | {"share": share}}
        return run_pretraining(small_run(settings=SETTINGS | held_out | {"pretraining": TRAINING | given}))

    classes = tmp_path / "classes"
    for place in range(18):
        paint(classes / str(place % 3) / f"{place}.png", seed=place)
    (classes / ".hidden").mkdir()
    (classes / ".hidden" / "0.png").write_bytes(b"")
    found = pretrained(images=str(classes))
    assert (found.fit["classes"], found.fit["codebook_from"]) == ([0, 1, 2], str(classes))
    assert found.fit["n_images"] + found.fit["n_validation_images"] == 18
    found.save(tmp_path / "convnet.lookalike")
    given = pretrained(weights=str(tmp_path / "convnet.lookalike"))
    np.testing.assert_array_equal(given.vectors, found.vectors)
    assert (given.fit["n_steps"], len(given.curve)) == (0, 0)
    given.save(tmp_path / "again.lookalike")
    run_ranking(small_run(), "x", tmp_path / "again.lookalike", multiscale=True).save(tmp_path / "ranked.lookalike")
    with pytest.raises(LookalikeError, match="no network for classification"):
        pretrained(weights=str(tmp_path / "ranked.lookalike"))
    with pytest.raises(LookalikeError, match="one for each class"):
        pretrained(images=str(classes / "0"))
    for label in range(6):
        paint(tmp_path / "few" / str(label) / "0.png")
    with pytest.raises(LookalikeError, match="give more images of each class"):
        pretrained(images=str(tmp_path / "few"), share=0.5)


def nearer(meaning, first, last, seed, n):
    """Draw triplets of rows from first to last: of two random others, the nearer in what counts is the positive."""
    rows = first + np.random.default_rng(seed).random((n, last - first)).argsort(axis=1)[:, :3]
    near, far = (np.linalg.norm(meaning[rows[:, 0]] - meaning[rows[:, i]], axis=1) for i in (1, 2))
    rows[near > far] = rows[near > far][:, [0, 2, 1]]
    return rows.astype(np.int32)


RANDOM = np.random.default_rng(0)
MEANING = RANDOM.standard_normal((300, 3))  # 3 of 20 dimensions count
VECTORS = join_parts([np.hstack([MEANING, RANDOM.standard_normal((300, 9))]), RANDOM.standard_normal((300, 8))])
HELD_OUT = nearer(MEANING, 200, 250, 2, 300)


def share_right(vectors, triplets):
    near, far = (np.linalg.norm(vectors[triplets[:, 0]] - vectors[triplets[:, i]], axis=1) for i in (1, 2))
    return float((near < far).mean())


def embedded(vectors=VECTORS, **changes):
    arguments = {"width": 6, "validation": HELD_OUT, "learning_rates": (0.0003, 0.03, 300.0), "device": "cpu"} | changes
    sampler = SimpleNamespace(sample=partial(nearer, MEANING, 0, 200, 1))
    return train_linear_embedding(vectors, sampler, LINEAR, **arguments)


def test_a_linear_embedding_learns_which_directions_count():
    lines = []
    embedding = embedded(report=lines.append)
    test = nearer(MEANING, 250, 300, 3, 1000)
    found = embedding.transform(VECTORS)
    assert (found.dtype, found.shape) == (np.float32, (300, 6))
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert share_right(found, test) > share_right(VECTORS, test) + 0.08
    assert [row["step"] for row in embedding.curve] == [0, 30, 60, 90] * 3
    assert len(lines) == len(embedding.curve)
    best = min(embedding.curve, key=lambda row: row["validation_loss"])  # of all learning rates
    assert (best["learning_rate"], best["step"]) == (embedding.learning_rate, embedding.step)
    assert share_right(found, HELD_OUT) == pytest.approx(best["validation_precision"], abs=0.005)
    assert np.array_equal(embedding.matrix, embedded().matrix)
    order = np.random.default_rng(9).permutation(300)  # the sampler's numbers are looked up in rows
    shuffled = VECTORS[np.argsort(order)]
    other = embedded(shuffled, validation=order[HELD_OUT], rows=order, learning_rates=(0.03,))
    assert other.curve[-1]["validation_loss"] == pytest.approx(embedding.curve[7]["validation_loss"], abs=0.02)


def test_a_harmful_learning_rate_leaves_the_start():
    """At full width it measures as the joined vectors do, but for their length."""
    embedding = embedded(validation=HELD_OUT[:, [0, 2, 1]], width=20)
    assert embedding.step == 0
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    assert share_right(embedding.transform(VECTORS), HELD_OUT) == pytest.approx(share_right(unit, HELD_OUT), abs=0.005)


def test_parts_are_joined_at_length_1_each():
    parts = [np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0]]), np.array([[2.0], [-5.0], [1.0]])]
    joined = join_parts(parts)
    assert joined.dtype == np.float32
    assert joined[:2] == pytest.approx(np.array([[0.6, 0.8, 1.0], [0.0, 0.0, -1.0]]))
    embedding = LinearEmbedding(np.eye(3, 2, dtype=np.float32), [], 0.1, 0, True)
    assert np.isnan(embedding.transform(joined)).any(axis=1).tolist() == [False, False, True]


GAP = np.where(np.arange(300)[:, None] == 210, np.nan, VECTORS)
NO_IMAGES, TENTH = RelevanceData.from_labels([], []), SETTINGS | {"validation": VALIDATION | {"share": 0.1}}
REFUSED = [
    ("at least two", lambda: pretrained(labels=np.zeros(N, int))),
    ("none of the 12 held-out images", lambda: pretrained(validation_rows=np.flatnonzero(LABELS == 2))),
    ("both learned from and held out", lambda: pretrained(rows=np.arange(10))),
    ("make learning_rate smaller", lambda: pretrained(Pretraining(n_steps=40, learning_rate=1e9))),
    ("cannot be used", lambda: pretrained(device="gpu")),
    ("share", lambda: hold_out(relevance(), 1.0, 5)),
    ("no training image to hold out", lambda: small_run(relevance=NO_IMAGES).sampler()),
    ("at most 1 images", lambda: small_run(settings=TENTH).sampler()),
    ("lower the margin", lambda: small_run(sampling=SAMPLING | {"margin": 5.0}).sampler()),
    ("0 to 299; found 0 to 300", lambda: embedded(GAP, validation=np.array([[0, 1, 300]]))),
    ("without a vector", lambda: embedded(GAP, validation=np.array([[200, 201, 210]]))),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_what_cannot_be_trained_is_refused_in_a_sentence(sentence, call):
    with pytest.raises((ValueError, LookalikeError), match=sentence):
        call()
