"""A finished tiny run that tests may edit, as long as they put everything back."""

import pytest


@pytest.fixture(scope="session")
def finished(changeable):
    """The project after the tiny run; tests leave its results as they found them."""
    return changeable("finished")
