"""Streams of batches: every image once a pass, every image of a batch of triplets once, and where a state stands."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from made_networks import N, labels, sampler, source  # noqa: E402

from lookalike.deep.streams import BLOCK, LabelStream, TripletStream  # noqa: E402


def test_every_pass_has_every_image_once_in_another_order() -> None:
    rows = np.array([3, 4, 7, 8, 20, 21, 30])
    stream = LabelStream(source(), labels(), rows, 3, 5)
    batches = list(stream.batches(0, 14))  # 42 images, 6 passes
    drawn = np.concatenate([requests[:, 0] for requests, _ in batches]).reshape(6, 7)
    assert (np.sort(drawn, axis=1) == rows).all()
    assert len(np.unique(drawn, axis=0)) > 1
    for requests, target in batches:
        np.testing.assert_array_equal(target, labels()[requests[:, 0]])


def test_a_batch_may_be_larger_than_a_pass() -> None:
    (requests, _), *_ = LabelStream(source(), labels(), np.array([0, 1]), 7, 0).batches(0, 1)
    assert (np.bincount(requests[:, 0]) >= 3).all()


def test_labelled_batches_are_a_function_of_the_step() -> None:
    whole = [requests for requests, _ in LabelStream(source(), labels(), np.arange(N), 5, 1).batches(0, 20)]
    tail = [requests for requests, _ in LabelStream(source(), labels(), np.arange(N), 5, 1).batches(13, 20)]
    np.testing.assert_array_equal(np.concatenate(whole[13:]), np.concatenate(tail))


def test_triplets_are_those_of_the_sampler_and_images_are_distinct() -> None:
    rows = np.arange(N)[::-1]  # the source has the images in another order
    drawn = rows[sampler(4).draw(BLOCK * 6)].reshape(BLOCK, 6, 3)
    for (requests, places), triplets in zip(TripletStream(source(), sampler(4), rows, 6, 0).batches(0, 3), drawn):  # noqa: B905
        assert len(np.unique(requests[:, 0])) == len(requests)
        assert places.shape == (6, 3)
        np.testing.assert_array_equal(requests[places, 0], triplets)


@pytest.mark.parametrize("step", [0, 1, BLOCK - 1, BLOCK, BLOCK + 3, 3 * BLOCK])
@pytest.mark.parametrize("ahead", [0, 1, BLOCK, 2 * BLOCK])
def test_a_state_goes_on_at_its_step_however_far_was_drawn_ahead(step: int, ahead: int) -> None:
    def stream(seed: int) -> TripletStream:
        return TripletStream(source(), sampler(seed, capacity=4), np.arange(N), 2, 9)

    end = 5 * BLOCK + 1
    whole = list(stream(0).batches(0, end))
    first = stream(0)
    for _ in zip(range(step + ahead), first.batches(0, end)):  # noqa: B905
        pass
    second = stream(1)  # its own state is replaced
    second.resume(first.state(step))
    rest = list(second.batches(step, end))
    assert len(rest) == end - step
    for (requests, target), (requests_of_rest, target_of_rest) in zip(whole[step:], rest, strict=True):
        np.testing.assert_array_equal(requests, requests_of_rest)
        np.testing.assert_array_equal(target, target_of_rest)


def test_fingerprints_tell_streams_apart_and_draw_nothing() -> None:
    stream = TripletStream(source(), sampler(0), np.arange(N), 2, 9)
    mark = stream.fingerprint()
    assert mark == stream.fingerprint()
    assert mark != TripletStream(source(), sampler(1), np.arange(N), 2, 9).fingerprint()
    assert mark != TripletStream(source(), sampler(0), np.arange(N), 2, 8).fingerprint()
    assert mark != TripletStream(source(), sampler(0), np.arange(N)[::-1], 2, 9).fingerprint()
    assert mark != TripletStream(source(), sampler(0, margin=0.3), np.arange(N), 2, 9).fingerprint()
