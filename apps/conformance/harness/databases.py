"""Databases beside the portal's own, on its server."""

import psycopg
from django.db import connection
from psycopg import sql


def connect(name: str) -> psycopg.Connection:
    """A connection to another database of the portal's server."""
    found = connection.settings_dict
    return psycopg.connect(
        host=found["HOST"] or None,
        port=found["PORT"] or None,
        user=found["USER"],
        password=found["PASSWORD"] or None,
        dbname=name,
        autocommit=True,
    )


def database_drop(name: str) -> None:
    """Remove one that a test made; nothing where it is gone."""
    admin = connect("postgres")
    try:
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
    finally:
        admin.close()
