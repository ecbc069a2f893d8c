"""The synthetic landmarks: the same bits whoever draws them, a ground truth that the geometry bears out."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.data.ground_truth import read_ground_truth, read_lists
from lookalike.data.landmark_models import landmark
from lookalike.data.landmark_plans import relevance_of
from lookalike.data.landmark_views import Camera, Occluder, Visibility, measure, quad
from lookalike.data.scan import scan_photographs
from lookalike.data.synthetic_landmarks import (
    DISTRACTOR,
    MAX_LANDMARKS,
    N_QUERIES,
    SyntheticLandmarks,
    draw_image,
    ground_truth,
    image_name,
    landmark_name,
    visibility_table,
    write_ground_truth_files,
    write_images,
)

SPEC = SyntheticLandmarks(
    n_landmarks=2, images_per_landmark=10, n_distractors=4, width=160, height=120, difficulty=0.7, seed=4
)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("landmarks")
    assert write_images(SPEC, root / "images") == 24
    write_ground_truth_files(SPEC, root / "ground_truth")
    return root


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_shards_and_processes_write_the_same_bytes(drawn: Path, tmp_path: Path) -> None:
    assert write_images(SPEC, tmp_path / "images", 1, 2) == 12
    code = (
        "import sys; from lookalike.data.synthetic_landmarks import *; "
        f"spec = SyntheticLandmarks(**{vars(SPEC)!r}); write_images(spec, sys.argv[1] + '/images', 0, 2); "
        "write_ground_truth_files(spec, sys.argv[1] + '/ground_truth')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)
    for folder in ("images", "ground_truth"):
        assert contents(tmp_path / folder) == contents(drawn / folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ground_truth", "images"]


def test_the_study_s_own_reader_reads_it(drawn: Path) -> None:
    manifest = scan_photographs(drawn / "images")
    assert set(manifest["status"]) == {"ok"}
    assert len(manifest) == 24
    assert set(zip(manifest["width"], manifest["height"], strict=True)) == {(160, 120)}
    queries, relevance = read_ground_truth(drawn / "ground_truth", manifest)
    assert len(queries) == 2 * N_QUERIES
    assert sorted(queries["landmark"].unique()) == SPEC.landmark_names()
    assert (queries["x_min"] >= 0).all()
    assert (queries["x_max"] <= 160).all()
    assert (queries["y_max"] <= 120).all()
    listed = relevance[relevance["query"] == queries["query"][0]]
    assert listed["relevance"].value_counts().to_dict() == {"good": 6, "ok": 3, "junk": 1}  # 10 x 0.55, 0.27, the rest
    own = queries.merge(relevance, on=["query", "image_id"])
    assert list(own["relevance"]) == ["good"] * len(queries)  # a query is in its own list
    assert queries.groupby("landmark")["image_id"].nunique().tolist() == [N_QUERIES] * 2
    assert read_lists(drawn / "ground_truth") == ground_truth(SPEC)


def test_the_ground_truth_follows_from_what_is_visible() -> None:
    table = visibility_table(SPEC)
    shown = table[table["landmark"] != ""]
    junk, listed = shown["relevance"] == "junk", shown["share"] >= 0.25
    assert (junk == ~listed).all()
    good = shown[shown["relevance"] == "good"]
    assert good["share"].min() >= 0.6
    assert good["coverage"].min() >= 0.1
    assert (table.loc[table["landmark"] == "", "relevance"] == "").all()


@pytest.mark.parametrize(
    ("share", "coverage", "relevance"),
    [
        (1.0, 0.3, "good"),
        (0.6, 0.1, "good"),
        (0.59, 0.3, "ok"),
        (1.0, 0.09, "ok"),
        (0.25, 0.3, "ok"),
        (0.24, 0.5, "junk"),
        (0.03, 0.5, ""),
        (1.0, 0.001, ""),
    ],
)
def test_lists_by_visible_share(share: float, coverage: float, relevance: str) -> None:
    assert relevance_of(Visibility(share, coverage, (0, 0, 1, 1))) == relevance


def test_what_is_in_the_way_is_not_visible() -> None:
    building = landmark(SPEC.seed, 0, 6, 0.5)
    width, height = SPEC.width, SPEC.height
    camera = Camera((0.0, 3.0, 60.0), (0.0, 6.0, 0.0), 0.0, float(width), (width, height))
    free = measure(building, camera, (), ())
    assert free.share == pytest.approx(1.0)
    bus = Occluder(3, width / 2, height * 1.2, height * 1.2, 0)
    assert measure(building, camera, (), (bus,)).share < 0.1
    assert measure(building, camera, (building,), ()).share < 0.02  # another one painted over it
    away = replace(camera, target=(1.1 * building.width, 6.0, 0.0))
    assert measure(building, away, (), ()).share < free.share
    behind = replace(camera, position=(0.0, 3.0, -60.0), target=(0.0, 6.0, -100.0))
    assert measure(building, behind, (), ()).share == 0.0


def test_planes_move_apart_as_the_camera_moves() -> None:
    """Parallax: no one homography takes one view of a landmark to another."""

    exchange = landmark(SPEC.seed, 2, 6, 0.5)  # columns before the front
    cameras = [Camera((x, 3.0, 50.0), (0.0, 6.0, 0.0), 0.0, 320.0, (320, 240)) for x in (0.0, 20.0)]
    by_depth = sorted((plane.corners[:, 2].mean(), index) for index, plane in enumerate(exchange.planes))
    front = next(i for z, i in by_depth if np.ptp(exchange.planes[i].corners[:, 2]) == 0 and abs(z) < 0.01)
    columns = by_depth[-1][1]
    views = [[quad(exchange.planes[index], camera) for index in (front, columns)] for camera in cameras]
    import cv2

    onto = cv2.getPerspectiveTransform(views[0][0].astype(np.float32), views[1][0].astype(np.float32))
    moved = cv2.perspectiveTransform(views[0][1][None].astype(np.float64), onto)[0]
    assert np.abs(moved - views[1][1]).max() > 5  # pixels


def test_images_do_not_depend_on_how_many_others_there_are() -> None:
    more = replace(SPEC, n_landmarks=3, n_distractors=9)
    for which, number in ((1, 3), (DISTRACTOR, 2)):
        assert np.array_equal(draw_image(more, which, number), draw_image(SPEC, which, number))
        assert image_name(more, which, number) == image_name(SPEC, which, number)
    assert not np.array_equal(draw_image(SPEC, DISTRACTOR, 0), draw_image(SPEC, DISTRACTOR, 1))


@pytest.mark.parametrize("size", [(320, 240), (200, 260)])
def test_images_have_enough_keypoints(size: tuple[int, int]) -> None:
    import cv2

    spec = replace(SPEC, width=size[0], height=size[1])
    images = [draw_image(spec, which, 0) for which in (0, 1, DISTRACTOR)]
    assert all(image.shape == (size[1], size[0], 3) and image.dtype == np.uint8 for image in images)
    sift = cv2.SIFT_create()
    assert np.median([len(sift.detect(image)) for image in images]) > 100


def test_any_change_changes_the_fingerprint() -> None:
    changes = {
        "n_landmarks": 3, "images_per_landmark": 11, "n_distractors": 5, "good": 0.6, "ok": 0.2, "width": 161,
        "height": 121, "difficulty": 0.71, "seed": 5,
    }  # fmt: skip
    prints = {SPEC.fingerprint()} | {replace(SPEC, **{name: value}).fingerprint() for name, value in changes.items()}
    assert len(prints) == len(changes) + 1
    assert replace(SPEC, difficulty=1).fingerprint() == replace(SPEC, difficulty=1.0).fingerprint()


def test_settings_of_the_configuration() -> None:
    settings = {
        "landmarks": 2, "images_per_landmark": 10, "distractors": 4, "good": 0.55, "ok": 0.27, "width": 160,
        "height": 120, "difficulty": 0.7,
    }  # fmt: skip
    assert SyntheticLandmarks.from_settings(settings, 4) == SPEC


def test_landmarks_have_names_of_their_own() -> None:
    names = [landmark_name(4, number) for number in range(MAX_LANDMARKS)]
    assert len(set(names)) == MAX_LANDMARKS
    assert SPEC.landmark_names() == sorted(names[:2])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_landmarks": MAX_LANDMARKS + 1}, "landmarks is"),
        ({"good": 0.9}, "ok is"),
        ({"good": 0.3}, "one for each query"),
        ({"width": 128, "height": 1024}, "width / height is 0.125; choose a value from 0.5 to 2.5"),
        ({"width": 1000, "height": 240}, "width / height is 4.1"),
    ],
)
def test_numbers_out_of_range(change: dict[str, float], words: str) -> None:
    with pytest.raises(LookalikeError, match=words):
        replace(SPEC, **change)


@pytest.mark.parametrize("size", [(120, 240), (300, 120)])
def test_the_narrowest_and_widest_images_can_be_planned(size: tuple[int, int]) -> None:
    table = visibility_table(replace(SPEC, width=size[0], height=size[1], difficulty=1.0))
    assert set(table["relevance"]) == {"good", "ok", "junk", ""}


def test_files_are_whole_jpegs(drawn: Path) -> None:
    for path in (drawn / "images").iterdir():
        with Image.open(path) as image:
            image.load()
            assert image.format == "JPEG"
