"""How names, sentences and commands are shown."""

import os
import subprocess

import pytest

from lookalike.core.errors import command_line, first_reason, short_name


@pytest.mark.parametrize(
    "name", [b"plain", b"a b's", b"caf\xe9", b"tab\there", b"back\\slash \xff'", "é $(x)".encode()]
)
def test_a_command_can_be_pasted(name):
    line = command_line(["printf", "%s", os.fsdecode(name)])
    assert line.isprintable()
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout == name


def test_a_long_name_is_shown_without_its_middle():
    assert short_name("a" * 255) == "a" * 255
    name = "first" + "x" * 3000 + "last"
    for sentence in (short_name(name), first_reason([(name, "it is gone")])):
        assert "first" in sentence
        assert "xlast" in sentence
        assert len(sentence) < 300
