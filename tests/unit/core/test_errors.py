"""How names, sentences and commands are shown."""

import os
import subprocess

import pytest

from lookalike.core.errors import command_line


@pytest.mark.parametrize(
    "name", [b"plain", b"a b's", b"caf\xe9", b"tab\there", b"back\\slash \xff'", "é $(x)".encode()]
)
def test_a_command_can_be_pasted(name):
    line = command_line(["printf", "%s", os.fsdecode(name)])
    assert line.isprintable()
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout == name
