"""Statements whose plans are kept, while an upgrade changes what they ask for."""

import pytest
from django.db import NotSupportedError, close_old_connections, connection

from apps.kernel.prepared_queries import prepared


def test_after_a_columns_type_was_changed_one_request_fails_and_the_next_asks_anew(committed):
    def ask():
        with prepared() as cursor:
            cursor.execute("SELECT amount FROM changing")
            return cursor.fetchall()

    def change(sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)

    change("CREATE TABLE changing AS SELECT 7 AS amount")
    try:
        assert [ask() for _ in range(3)] == [[(7,)]] * 3
        change("ALTER TABLE changing ALTER amount TYPE text")
        with pytest.raises(NotSupportedError, match="cached plan"):
            ask()
        close_old_connections()
        assert ask() == [("7",)]
    finally:
        change("DROP TABLE changing")
