"""The one format of models: what is too large is neither read nor written, and a long text stands beside the header."""

import numpy as np
import pytest
from safetensors import safe_open

from lookalike.core import model_file
from lookalike.core.errors import LookalikeError
from lookalike.core.model_file import Kind, read_about, read_model, write_model

KIND = Kind("thing", 1, "make it again")
ABOUT, ARRAYS = {"names": [f"row {i}" for i in range(300)]}, {"a": np.arange(6.0)}


@pytest.fixture
def whole(tmp_path):
    write_model(tmp_path / "whole.lookalike", KIND, ABOUT, ARRAYS)
    return tmp_path / "whole.lookalike"


@pytest.mark.parametrize("limit", ["LARGEST_MODEL", "LARGEST_TEXT"])
def test_a_model_that_is_too_large_is_neither_read_nor_written(whole, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, limit, 1000)
    for read in (read_model, read_about):
        with pytest.raises(LookalikeError, match=r"at most 0 MB are read|more than any model"):
            read(whole, KIND)
    if limit == "LARGEST_TEXT":
        with pytest.raises(LookalikeError, match=r"the names of all rows .*: give fewer rows"):
            write_model(tmp_path / "large.lookalike", KIND, ABOUT, ARRAYS)
        assert list(tmp_path.iterdir()) == [whole]


def test_a_text_that_no_header_holds_is_an_array_and_says_the_same(whole, tmp_path, monkeypatch):
    long = tmp_path / "long.lookalike"
    with monkeypatch.context() as patch:
        patch.setattr(model_file, "LARGEST_HEADER", 1000)
        write_model(long, KIND, ABOUT, ARRAYS)
    with safe_open(long, framework="numpy") as file:
        assert not file.metadata()
    assert read_about(long, KIND) == read_about(whole, KIND)
    about, arrays = read_model(long, KIND)
    write_model(tmp_path / "short.lookalike", KIND, about, arrays)
    assert (tmp_path / "short.lookalike").read_bytes() == whole.read_bytes()
    monkeypatch.setattr(model_file, "LARGEST_TEXT", 1000)
    with pytest.raises(LookalikeError, match="more than any model"):
        read_about(long, KIND)
