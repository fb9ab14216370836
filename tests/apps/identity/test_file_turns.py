"""Long files are written for one person one at a time; others have theirs meanwhile."""

from contextlib import closing, contextmanager

import pytest
from django.db import connection

from apps.identity.pages.file_turns import _LOCK, one_at_a_time
from apps.kernel.errors import Conflict


@contextmanager
def elsewhere(user_id):
    """Another process writes a file for somebody."""
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [_LOCK, user_id])
        yield


def test_a_second_file_of_the_same_person_waits_for_the_first(db, member):
    ann, bea = member("acme", "tenant_operations_manager", "ann"), member("acme", "tenant_front_line", "bea")
    with elsewhere(ann.user.pk):
        for path in ("/billing/bills/?export=csv", "/people/?export=xlsx"):
            answer = ann.page().get(path)
            assert answer.status_code == 409, path
            assert "Another file is being written for you." in answer.content.decode()
        with pytest.raises(Conflict), one_at_a_time(ann.actor):
            pass
        assert bea.page().get("/orders/?export=csv").status_code == 200
    assert ann.page().get("/billing/bills/?export=csv").status_code == 200
