"""Whose tables a query sees, where the search path is sent only when it changes (PLAT-TEN-2)."""

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError
from django.test.utils import CaptureQueriesContext

from apps.kernel.planes import in_public, in_tenant

pytestmark = [pytest.mark.req("PLAT-TEN-2"), pytest.mark.usefixtures("committed")]


def path() -> str:
    """What the database itself says, by a query as any other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('search_path')")
        return str(cursor.fetchone()[0])


ACME = "acme, public"
PUBLIC = "public"


def test_it_is_sent_once_and_not_before_each_query():
    with in_tenant("acme"), CaptureQueriesContext(connection) as seen:
        assert [path() for _again in range(3)] == [ACME] * 3
    assert len([one for one in seen if one["sql"].startswith("SET search_path")]) == 1


def test_each_plane_is_followed_by_the_one_it_was_entered_from():
    with in_tenant("acme"):
        path()
        with in_tenant("globex"):
            assert path() == "globex, public"
            with in_public():
                assert path() == PUBLIC
        assert path() == ACME
    assert path() == PUBLIC


@pytest.mark.parametrize("how", ["raised", "refused by the database", "marked"])
def test_a_transaction_rolled_back_takes_its_path_with_it_and_the_next_query_sends_it_anew(how):
    path()
    with in_tenant("acme"):
        rolled_back(how)
        assert path() == ACME


@pytest.mark.parametrize("how", ["raised", "refused by the database", "marked"])
def test_so_does_a_savepoint(how):
    path()
    with transaction.atomic():
        path()
        with in_tenant("acme"):
            rolled_back(how)
            assert path() == ACME


def rolled_back(how: str) -> None:
    """A transaction, or a savepoint of one, in which the path is first sent, and which then ends in vain."""
    try:
        with transaction.atomic():
            assert path() == ACME
            if how == "marked":
                transaction.set_rollback(True)
            elif how == "raised":
                raise LookupError
            else:
                connection.cursor().execute("SELECT 1 / 0")
    except (LookupError, DatabaseError):
        pass


def test_a_commit_that_is_refused_takes_the_path_with_it():
    """A deferred rule is looked at by the commit itself."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE one (number int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    path()
    with in_tenant("acme"):
        with pytest.raises(DatabaseError):
            twice_put()
        assert path() == ACME


def twice_put() -> None:
    with transaction.atomic():
        assert path() == ACME
        connection.cursor().execute("INSERT INTO one VALUES (1), (1)")


def test_a_connection_that_was_cut_is_followed_by_one_with_its_own_path():
    with in_tenant("acme"):
        assert path() == ACME
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        connection.close_if_unusable_or_obsolete()
        assert path() == ACME
