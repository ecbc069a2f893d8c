"""What tests of several studies share: the project's settings."""

import pytest
from project import own_settings

from lookalike.studies.settings import checked


@pytest.fixture
def settings():
    """The project's settings."""
    return checked(own_settings())
