"""A finished tiny run that tests may edit, as long as they put everything back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from project import Project


@pytest.fixture(scope="session")
def finished(changeable: Callable[[str], Project]) -> Project:
    """The project after the tiny run; tests leave its results as they found them."""
    return changeable("finished")
