"""From images to the rows of a table: windows of squares, what the study's runs measure, the linear embedding."""

import os
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.networks import Sampling
from lookalike.data.relevance import RelevanceData
from lookalike.deep.embedding import embed
from lookalike.deep.images import ArrayImages, FileImages, batches, load_pixels, load_square
from lookalike.deep.linear_embedding import LinearEmbedding, join_parts, train_linear_embedding
from lookalike.deep.model_io import load_network, read_about
from lookalike.deep.runs import (
    NetworkRun,
    run_linear_embedding,
    run_pretraining,
    run_ranking,
    stored_pixels,
)
from lookalike.deep.settings import NetworkSettings, RankingSettings
from lookalike.ranking.distances import pair_distances

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
    for source in (ArrayImages(PIXELS, 8), FileImages(files, 8, 2)):
        assert (source.shift, source.stored_size, source.input_size, len(source)) == (2, 12, 8, 7)
        np.testing.assert_array_equal(source.windows(requests), expected)
        got = list(batches(source, rows, batch=2))
        assert [len(part) for part in got] == [2, 2, 1]
        np.testing.assert_array_equal(torch.cat(got).numpy(), PIXELS[rows][:, 2:10, 2:10])
    assert torch.equal(before, torch.get_rng_state())
    shifts = source.shifted(np.zeros(25_000, int), np.random.default_rng(3))
    counts = np.bincount(shifts[:, 1] * 5 + shifts[:, 2])  # uniform over all windows that fit
    assert np.abs(counts - 1000).max() < 6 * np.sqrt(1000)


@pytest.mark.parametrize("n_workers", [0, 1])
def test_a_file_that_is_broken_is_named_in_one_sentence(files, tmp_path, n_workers):
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


def test_fingerprints_tell_sources_apart(files):
    other = PIXELS.copy()
    other[-1, 0, 0, 0] ^= 1
    marks = [ArrayImages(pixels, 8).fingerprint() for pixels in (PIXELS, PIXELS.copy(), other)]
    marks += [FileImages(paths, 8, 2).fingerprint() for paths in (files, [*map(str, files)], files[::-1])]
    assert (marks[0], marks[3]) == (marks[1], marks[4])
    assert len(set(marks)) == 4
    names = ["a/é.png", os.fsdecode(b"a/\xff.png")]  # the second is no UTF-8
    assert FileImages(names[:1], 8, 2).fingerprint() == 919460690
    assert FileImages(names, 8, 2).fingerprint() != FileImages(names[::-1], 8, 2).fingerprint()


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
    assert run.sampler().draw(50).max() < learned.n_images
    convnet = run_pretraining(run)
    convnet.save(tmp_path / "convnet.lookalike")
    single, multi = (
        run_ranking(run, name, tmp_path / "convnet.lookalike", multiscale=name == "x")
        for name in ("single-scale-ranking", "x")
    )
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


def test_a_repeat_changes_all_but_the_images():
    run = small_run()
    again = replace(run, repeat=2)
    assert np.array_equal(run.held_out[1], again.held_out[1])
    assert not np.array_equal(run.sampler().draw(50), again.sampler().draw(50))
    assert np.array_equal(run.held_out[0].image_id, again.held_out[0].image_id)


def test_pretraining_takes_a_folder_of_images_or_given_weights(tmp_path):
    def pretrained(share=0.4, **given):
        held_out = {"validation": VALIDATION | {"share": share}}
        return run_pretraining(small_run(settings=SETTINGS | held_out | {"pretraining": TRAINING | given}))

    classes = tmp_path / "classes"
    for place, image in enumerate(np.random.default_rng(1).integers(0, 256, (18, 70, 80, 3), dtype=np.uint8)):
        (classes / str(place % 3)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(classes / str(place % 3) / f"{place}.png")
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
        (tmp_path / "few" / str(label)).mkdir(parents=True)
        Image.fromarray(image).save(tmp_path / "few" / str(label) / "0.png")
    with pytest.raises(LookalikeError, match="give more images of each class"):
        pretrained(images=str(tmp_path / "few"), share=0.5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"relevance": RelevanceData.from_labels([], [])}, "no training image to hold out"),
        ({"settings": SETTINGS | {"validation": VALIDATION | {"share": 0.1}}}, "at most 1 images"),
        ({"sampling": SAMPLING | {"margin": 5.0}}, "lower the margin"),
    ],
)
def test_what_cannot_be_trained_is_told_in_a_sentence(changes, said):
    with pytest.raises(LookalikeError, match=said):
        small_run(**changes).sampler()


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


def train(vectors=VECTORS, **changes):
    arguments = {"width": 6, "validation": HELD_OUT, "learning_rates": (0.0003, 0.03, 300.0), "device": "cpu"} | changes
    sampler = SimpleNamespace(draw=partial(nearer, MEANING, 0, 200, 1))
    return train_linear_embedding(vectors, sampler, LINEAR, **arguments)


def test_a_linear_embedding_learns_which_directions_count():
    lines = []
    embedding = train(report=lines.append)
    test = nearer(MEANING, 250, 300, 3, 1000)
    embedded = embedding.transform(VECTORS)
    assert (embedded.dtype, embedded.shape) == (np.float32, (300, 6))
    assert np.allclose(np.linalg.norm(embedded, axis=1), 1, atol=1e-5)
    assert share_right(embedded, test) > share_right(VECTORS, test) + 0.08
    assert [row["step"] for row in embedding.curve] == [0, 30, 60, 90] * 3
    assert len(lines) == len(embedding.curve)
    best = min(embedding.curve, key=lambda row: row["validation_loss"])  # of all learning rates
    assert (best["learning_rate"], best["step"]) == (embedding.learning_rate, embedding.step)
    assert share_right(embedded, HELD_OUT) == pytest.approx(best["validation_precision"], abs=0.005)
    assert np.array_equal(embedding.matrix, train().matrix)
    order = np.random.default_rng(9).permutation(300)  # the sampler's numbers are looked up in rows
    shuffled = VECTORS[np.argsort(order)]
    other = train(shuffled, validation=order[HELD_OUT], rows=order, learning_rates=(0.03,))
    assert other.curve[-1]["validation_loss"] == pytest.approx(embedding.curve[7]["validation_loss"], abs=0.02)


def test_a_harmful_learning_rate_leaves_the_start():
    """At full width it measures as the joined vectors do, but for their length."""
    embedding = train(validation=HELD_OUT[:, [0, 2, 1]], width=20)
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


def test_a_linear_embedding_needs_a_vector_for_every_image_of_a_triplet():
    vectors = VECTORS.copy()
    vectors[210] = np.nan
    for triplet, message in (([0, 1, 300], "0 to 299; found 0 to 300"), ([200, 201, 210], "without a vector")):
        with pytest.raises(ValueError, match=message):
            train(vectors, validation=np.array([triplet]))
