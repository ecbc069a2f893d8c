"""A finished tiny run for the tests of the category study."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from project import Project


@pytest.fixture(scope="session")
def finished(changeable: Callable[[str], Project]) -> Project:
    """The project after the tiny run; tests must leave its results as they are."""
    return changeable("finished")
