"""A centre is to serve named tenants alone while work is asked for there: nothing new is there once that is said."""

from threading import Thread

import pytest
from django.db import connection, transaction

from apps.centers.errors import CenterServesNot
from apps.centers.models import Center, RemoteTask
from apps.centers.services.tenants import center_serves_set
from apps.kernel.actor import SYSTEM
from tests.apps.centers.test_serving import ask

pytestmark = pytest.mark.req("PLAT-TEN-2")


def beside(act, found):
    """Begin an act in a thread and a connection of its own; what came of it is put into `found`."""

    def run():
        try:
            found.append(act() and "done")
        except Exception as error:
            found.append(type(error))
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


def narrow():
    return center_serves_set(actor=SYSTEM, ai_center_id="lake", serves="named")


def test_it_waits_for_work_that_is_asked_for(committed, join):
    join()
    found = []
    with transaction.atomic():
        ask("weir-1", "acme")
        thread = beside(narrow, found)
        thread.join(1)
        assert found == []
        # Who waits holds up nobody who goes on asking.
        ask("weir-2", "globex")
    thread.join(60)
    assert found == ["done"]
    assert Center.objects.get().serves == "named"
    assert RemoteTask.objects.count() == 2


def test_work_waits_for_it_and_is_refused(committed, join):
    join()
    found = []
    with transaction.atomic():
        narrow()
        thread = beside(lambda: ask("weir-1", "acme"), found)
        thread.join(1)
        assert found == []
    thread.join(60)
    assert found == [CenterServesNot]
    assert not RemoteTask.objects.exists()
