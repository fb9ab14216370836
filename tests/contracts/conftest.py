"""One living centre for all contracts of a module: committed once, looked at often, gone afterwards."""

from collections.abc import Iterator

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from tests.factories.world import World, world_make
from tests.harness.database import Baseline


@pytest.fixture(scope="module")
def world(baseline: Baseline, django_db_blocker: object) -> Iterator[World]:
    """Two tenants with everything they can have; what a test does to it is rolled back."""
    with django_db_blocker.unblock():
        connection.set_schema_to_public()
        made = world_make()
        connection.set_schema_to_public()
    yield made
    with django_db_blocker.unblock():
        connection.set_schema_to_public()
        connection.close()
        baseline.restore()
        ContentType.objects.clear_cache()
