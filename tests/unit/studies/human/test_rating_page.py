"""The rating page: one file with its pictures inside, which says nothing of what raters must not know."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.page import write_page
from lookalike.studies.human.questionnaire import plan_fingerprint


def content_of(page):
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1])


def test_the_page_holds_numbered_pictures_and_nothing_of_the_network_or_of_ids(tmp_path, plan, images):
    # other ids of the same pictures give the same page, but for the plan's name
    renumbered, title = plan.assign(image=plan["image"] + 10**6, query_image=plan["query_image"] + 10**6), "A </script>"
    contents = []
    for result in (plan, renumbered):
        write_page(result, images, tmp_path / "page.html", title=f"{title} & @@CONTENT@@")
        contents.append(content_of(tmp_path / "page.html"))
    page, content = (tmp_path / "page.html").read_text(), contents[0]
    assert [item["plan"] for item in contents] == [plan_fingerprint(plan), plan_fingerprint(renumbered)]
    assert content == contents[1] | {"plan": content["plan"]}
    assert content["title"] == "A </script> & @@CONTENT@@"
    assert page.count("</script>") == 2
    assert not re.search(r"https?:|//[a-z]|src=\"(?!data:)|@import|url\(", re.sub('base64,[^"]+', "", page))
    # nor does it tell which candidates were retrieved
    assert set(content) == {"plan", "title", "queries", "query_pictures", "pictures"}
    assert {name for query in content["queries"] for name in query} == {"query", "candidates"}
    assert not any(word in re.sub('base64,[^"]+', "", page) for word in ("retrieved", "random", "rank", ".png"))
    places = [candidate for query in content["queries"] for candidate in query["candidates"]]
    assert [position for position, _ in places] == plan["position"].tolist()
    assert [number for _, number in places] == pd.factorize(plan["image"])[0].tolist()
    assert len(set(content["pictures"])) == len(content["pictures"]) == plan["image"].nunique()


def test_pictures_are_small_upright_and_without_metadata(tmp_path, plan, images):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "secret"  # to be turned by a quarter
    halves = np.repeat(np.uint8([255, 0]), 400)[None, :, None] * np.ones((400, 1, 3), np.uint8)
    for path in {plan["query_path"].iloc[0], plan["path"].iloc[0]}:
        Image.fromarray(halves).save(images / path, "PNG", exif=exif)
    write_page(plan, images, tmp_path / "page.html")
    content = content_of(tmp_path / "page.html")
    drawn = [content["pictures"][0], content["query_pictures"][0]]
    assert {uri.partition(",")[0] for uri in drawn} == {"data:image/jpeg;base64"}
    small, large = (Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) for uri in drawn)
    assert (small.size, large.size) == ((100, 200), (200, 400))
    assert not small.getexif()
    pixels = np.asarray(small)
    assert pixels[:80].mean() > 240 > 15 > pixels[120:].mean()


def test_an_image_that_cannot_be_shown_is_named(tmp_path, plan, images):
    path = plan["path"].iloc[5]
    (images / path).write_bytes((images / path).read_bytes()[:200])
    with pytest.raises(LookalikeError, match=f"the image {path} of the plan cannot be shown"):
        write_page(plan, images, tmp_path / "page.html")
    (images / "loop").symlink_to("loop")
    for name, reason in {"x": "there is no such file", "loop": "loop cannot be opened: Too many levels"}.items():
        with pytest.raises(LookalikeError, match=f"the image {name} of the plan cannot be shown: {reason}"):
            write_page(plan.assign(path=name), images, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(LookalikeError, match=r"there is no folder .*: name the folder of images"):
        write_page(plan, tmp_path / "nowhere", tmp_path / "page.html")


@pytest.mark.parametrize("column", ["query_path", "path"])
@pytest.mark.parametrize("named", ["../secret.png", "{outside}/secret.png", "link.png", "linked/secret.png"])
def test_no_image_outside_the_folder_gets_into_a_page(tmp_path, plan, images, column, named):
    Image.new("RGB", (40, 40)).save(images.parent / "secret.png")
    (images / "link.png").symlink_to(images.parent / "secret.png")
    (images / "linked").symlink_to(images.parent)
    plan = plan.assign(**{column: named.format(outside=images.parent)})
    with pytest.raises(LookalikeError, match=f"of the plan cannot be shown: it lies outside {images}"):
        write_page(plan, images, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
