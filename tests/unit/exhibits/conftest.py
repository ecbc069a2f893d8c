"""The printed numbers, for the studies whose exhibits are not functions of the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.exhibits.reference import load

RESOURCE = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "reference-values.csv"


@pytest.fixture(scope="session")
def reference():
    return load(RESOURCE)
