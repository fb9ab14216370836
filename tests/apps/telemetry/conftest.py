import pytest
from django.utils import translation


@pytest.fixture(autouse=True)
def _english():
    """Refusals are compared by their words."""
    with translation.override("en"):
        yield
