"""Plots stay exact inside a page, montages become small."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lookalike.core.errors import LookalikeError
from lookalike.report.pictures import LONGEST_SIDE, Picture, encode


def decoded(picture: Picture) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(picture.address.partition(",")[2]))).convert("RGB")


def test_a_plot_is_exact_and_smaller(tmp_path: Path) -> None:
    plot = Image.new("RGBA", (1800, 700), (255, 255, 255, 0))
    pen = ImageDraw.Draw(plot)
    for step in range(60):
        pen.line((20 * step, 600, 20 * step + 300, 40 + 9 * step), fill=(0, 114, 178, 255), width=3)
    plot.save(tmp_path / "plot.png")
    picture = encode(tmp_path / "plot.png")
    on_white = Image.new("RGB", plot.size, "white")
    on_white.paste(plot, mask=plot.getchannel("A"))
    assert picture.is_plot
    assert picture.address.startswith("data:image/webp;base64,")
    assert (picture.width, picture.height) == plot.size
    assert np.array_equal(np.asarray(decoded(picture)), np.asarray(on_white))
    assert len(picture.address) < (tmp_path / "plot.png").stat().st_size


def test_a_montage_is_made_no_larger_than_a_page_shows_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (120, 240, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((2400, 1200), Image.Resampling.BICUBIC).save(tmp_path / "montage.png")
    picture = encode(tmp_path / "montage.png")
    assert not picture.is_plot
    assert (picture.width, picture.height) == (LONGEST_SIDE, LONGEST_SIDE // 2)
    assert decoded(picture).size == (picture.width, picture.height)
    assert len(picture.address) < (tmp_path / "montage.png").stat().st_size / 2


def test_what_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(LookalikeError, match=r"a\.png cannot be read"):
        encode(tmp_path / "a.png")
