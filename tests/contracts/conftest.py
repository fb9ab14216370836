"""One living centre for all contracts: made once, and each module looks at a copy of its own."""

from collections.abc import Iterator
from copy import deepcopy

import psycopg
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.factories.world import World, world_make
from tests.harness import database


@pytest.fixture(scope="session")
def made_world(
    database_admin: psycopg.Connection, django_db_blocker: DjangoDbBlocker
) -> Iterator[tuple[str, World]]:
    """Two tenants with everything they can have, and the name of the database that holds them."""
    clean = connection.settings_dict["NAME"]
    name = f"{clean}_made"
    with database.clone(database_admin, clean, name):
        with django_db_blocker.unblock():
            connection.set_schema_to_public()
            world = world_make()
            connection.set_schema_to_public()
        database.use(clean)
        yield name, world


@pytest.fixture(scope="module")
def world(made_world: tuple[str, World], database_admin: psycopg.Connection) -> Iterator[World]:
    """A copy of that centre for one module. What a test with a transaction of its own does to it is rolled back."""
    name, made = made_world
    with database.clone(database_admin, name, name.replace("_made", "_world")):
        connection.set_schema_to_public()
        yield deepcopy(made)
        connection.set_schema_to_public()
