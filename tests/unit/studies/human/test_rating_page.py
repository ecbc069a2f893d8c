from __future__ import annotations

import base64
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.page import write_page
from lookalike.studies.human.questionnaire import plan_fingerprint


def content_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def picture(uri: str) -> Image.Image:
    head, _, data = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_the_page_holds_its_pictures_and_nothing_of_the_network(
    tmp_path: Path, plan: pd.DataFrame, images: Path
) -> None:
    write_page(plan, images, tmp_path / "page.html", title="A </script> & @@CONTENT@@")
    page = (tmp_path / "page.html").read_text()
    content = content_of(page)
    assert content["title"] == "A </script> & @@CONTENT@@"
    assert content["plan"] == plan_fingerprint(plan)
    assert len(content["pictures"]) == plan["image"].nunique()
    assert len(content["query_pictures"]) == plan["query"].nunique()
    assert not re.search(r"https?:|//[a-z]|src=\"(?!data:)|@import|url\(", re.sub('base64,[^"]+', "", page))
    assert page.count("</script>") == 2


def test_pictures_are_numbered_as_they_come_up_whatever_their_ids(
    tmp_path: Path, plan: pd.DataFrame, images: Path
) -> None:
    write_page(plan, images, tmp_path / "page.html")
    content = content_of((tmp_path / "page.html").read_text())
    places = [candidate for query in content["queries"] for candidate in query["candidates"]]
    assert [position for position, _ in places] == plan["position"].tolist()
    assert [number for _, number in places] == pd.factorize(plan["image"])[0].tolist()
    assert len({content["pictures"][number] for _, number in places}) == plan["image"].nunique()
    # other ids of the same pictures give the same page, but for the plan's name
    renumbered = plan.assign(image=plan["image"] + 10**6, query_image=plan["query_image"] + 10**6)
    write_page(renumbered, images, tmp_path / "other.html")
    other = content_of((tmp_path / "other.html").read_text())
    assert {**other, "plan": ""} == {**content, "plan": ""}


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path, plan: pd.DataFrame, images: Path) -> None:
    for name in ("a.html", "b.html"):
        write_page(plan, images, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_pictures_are_small_upright_and_without_metadata(tmp_path: Path, plan: pd.DataFrame, images: Path) -> None:
    folder = tmp_path / "images"
    shutil.copytree(images, folder)
    query, candidate = plan["query_path"].iloc[0], plan["path"].iloc[0]
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    exif[0x010E] = "secret"
    gradient = np.zeros((300, 600, 3), dtype=np.uint8)
    gradient[:, :300] = 255
    for path in {query, candidate}:
        Image.fromarray(gradient).save(folder / path, "PNG", exif=exif)
    write_page(plan, folder, tmp_path / "page.html", thumbnail=100, query_thumbnail=200)
    content = content_of((tmp_path / "page.html").read_text())
    small = picture(content["pictures"][0])
    large = picture(content["query_pictures"][0])
    assert (small.size, large.size) == ((50, 100), (100, 200))
    assert not small.getexif()
    pixels = np.asarray(small)
    assert pixels[:40].mean() > 240
    assert pixels[60:].mean() < 15


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_an_image_that_cannot_be_shown_is_named(tmp_path: Path, plan: pd.DataFrame, images: Path, harm: str) -> None:
    folder = tmp_path / "images"
    shutil.copytree(images, folder)
    path = plan["path"].iloc[5]
    if harm == "missing":
        (folder / path).unlink()
    else:
        (folder / path).write_bytes((folder / path).read_bytes()[:200])
    with pytest.raises(LookalikeError, match=f"the image {path} of the plan cannot be shown"):
        write_page(plan, folder, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(LookalikeError, match="there is no folder of images"):
        write_page(plan, tmp_path / "nowhere", tmp_path / "page.html")
