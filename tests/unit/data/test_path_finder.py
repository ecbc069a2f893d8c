"""Which file of a folder a table means, however it spells the path."""

import pytest

from lookalike.data.path_finder import locate

FILES = ("red/0.png", "red/a\u0308.png", "red/a.png", "red/A.png", "../beside.png")
SPELT = {
    "red\\0.png": "red/0.png",
    "/red/0.png": "red/0.png",
    " RED/0.PNG": "red/0.png",
    "photos/red/0.png": "red/0.png",
    "C:\\Ada\\photos\\red\\0.png": "red/0.png",
    "{photos}/red/0.png": "red/0.png",
    "red/\u00e4.png": "red/a\u0308.png",  # NFC of a file in NFD
    "red/A.png": "red/A.png",  # exact first
    "../beside.png": "../beside.png",  # a user's own table may name what lies elsewhere
    "LINKED/0.png": "linked/0.png",  # through a link to a folder
    "Red/a.png": "it may be red/A.png or red/a.png: write the one that is meant",
    "../gone/0.png": "there is no such file",
    "red/0.jpg": "there is no such file; red/0.png may be meant: write that",
}


@pytest.mark.parametrize(("text", "meant"), SPELT.items())
def test_a_file_is_found_however_a_table_spells_it(tmp_path, text, meant):
    photos = tmp_path / "photos"
    for name in FILES:
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).touch()
    (photos / "linked").symlink_to("red")
    text = text.format(photos=photos)
    found, lost = locate(photos, [text])
    assert (found.get(text), lost) in ((meant, []), (None, [(text, meant)]))
