"""What `fit` may make, every other command reads: images with little in them, and vectors of any size."""

import numpy as np
import pytest
from PIL import Image

from lookalike.app.similarity import Similarity
from lookalike.core.errors import LookalikeError

N = 6  # images of a class
FEW_PATCHES = "a codebook of 400 words cannot be learned from"
NO_PATCH = "there is no textured patch to learn SIFT words from"
REFUSED = {("flat", representation): NO_PATCH for representation in ("fisher", "sift-like")}
REFUSED |= {(kind, "sift-like"): FEW_PATCHES for kind in ("black", "blank", "tiny")}
REFUSED |= {("flat", "visterms"): "a palette of 20 colours cannot be learned from pixels of only"}
"""What cannot be learned, and is refused by `fit` itself."""


def painted_image(kind, label, random):
    """Return the pixels of an image: little of it differs from the rest."""
    size = {"tiny": (33, 32), "flat": (40, 40)}.get(kind, (64, 96))
    background = {"icons": 0, "black": 0, "flat": 120 * label}.get(kind, 255)
    image = np.full((*size, 3), background, np.uint8)
    if kind == "icons":
        y, x = random.integers(0, 40, 2)
        image[y : y + 16 + 8 * label, x : x + 16] = random.integers(60, 255, 3)
        image[y + 4 : y + 8, x + 4 : x + 8] = random.integers(0, 255, 3)
    elif kind == "tiny":
        image[:] = random.integers(0, 256, image.shape)
    elif kind != "flat":
        image[:2] = np.arange(96)[:, None]  # a palette has 20 shades
        image[random.integers(2, 64), random.integers(0, 96)] = 128
    return image


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::UserWarning")
@pytest.mark.parametrize("representation", ["visterms", "wavelet", "color", "sift-like", "fisher", "hog", "texton"])
@pytest.mark.parametrize("kind", ["icons", "blank", "black", "flat", "tiny"])
def test_images_with_little_in_them(tmp_path, monkeypatch, call, kind, representation):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    for number in range(2 * N):
        file = tmp_path / "photos" / "ab"[number % 2] / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = painted_image(kind, number % 2, random)
        # copies are left out: the colour of each flat image is its own, and so is the last pixel of the others
        pixels[-1, -1] = number
        Image.fromarray(pixels).save(file)
    words = "--words 60" if representation == "visterms" else ""
    how = f"--representation {representation} {words} --output m.lookalike --hold-out 0.25 --set n_steps=20"
    said = call("fit photos", how, "--no-cache")
    if sentence := REFUSED.get((kind, representation)):
        assert said.status == 1
        assert sentence in said.err
        return
    assert "next: " in said.out, said.err
    rank = "rank m.lookalike photos/a/0.png --no-cache --gallery photos"
    for command in ("evaluate m.lookalike photos --no-cache", rank, "index m.lookalike photos --no-cache"):
        assert call(command).status == 0


def vectors(kind):
    random = np.random.default_rng(0)
    rows = random.normal(size=(16, 3))
    equal, by_class = np.full((16, 3), 7.0), np.repeat(np.eye(2), 8, axis=0)
    scaled = {"short": rows * 1e-30, "long": rows * 1e30, "far": rows + 1e12, "equal and far": equal * 1e29}
    return (scaled | {"equal": equal, "zero": 0 * rows, "two": by_class, "one column": rows[:, :1]})[kind]


@pytest.mark.parametrize("kind", ["short", "long", "far", "equal and far", "equal", "zero", "two", "one column"])
def test_vectors_of_any_size(tmp_path, kind):
    file, model = tmp_path / "vectors.npy", tmp_path / "m.lookalike"
    np.save(file, vectors(kind))
    labels = np.repeat(["a", "b"], 8)
    fitted = Similarity(hold_out=0.25).fit(file, labels)
    fitted.save(model)
    before, after = (each.evaluate(file, labels) for each in (fitted, Similarity.load(model)))
    assert after.equals(before)


def test_a_model_that_cannot_be_read_back_has_no_next_step(here, call, monkeypatch):
    def refuse(path):
        raise LookalikeError(f"{path} lacks a part")

    monkeypatch.setattr("lookalike.app.similarity.Similarity.load", refuse)
    said = call("fit photos --representation color --output n.lookalike --set n_steps=5")
    assert (said.status, said.out) == (1, "")
    assert "n.lookalike lacks a part" in said.err
