"""Data is removed while a job that reads it is submitted: one of both is refused."""

from threading import Thread

import pytest
from django.db import connection, transaction

from apps.jointcloud.errors import DatasetInUse
from apps.jointcloud.models import Dataset, TaskData
from apps.jointcloud.services.data import dataset_make, dataset_remove
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.types import DatasetFacts
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.tenancy.models import Tenant
from tests.apps.jointcloud.jobs import asked, other


@pytest.fixture
def acme(committed):
    return Tenant.objects.get(schema_name="acme")


@pytest.fixture
def row(acme):
    facts = DatasetFacts(size_bytes=1, files=1)
    return dataset_make(actor=SYSTEM, tenant=acme, data_name="imagenet", data_version="1", facts=facts)


def beside(act, found):
    """Begin an act in a thread and a connection of its own; what came of it is put into `found`."""

    def run():
        try:
            found.append(act() or "done")
        except Exception as error:
            found.append(type(error))
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


def submitted(acme):
    return job_submit(actor=SYSTEM, tenant=acme, asked=asked(other("train", data=("imagenet",))))


def test_a_removal_waits_for_a_submission_and_is_refused(acme, row, spec):
    spec()
    found = []
    with transaction.atomic():
        job = submitted(acme)
        thread = beside(lambda: dataset_remove(actor=SYSTEM, tenant=acme, data_id=row.data_id), found)
        thread.join(1)
        assert found == []
    thread.join(60)
    assert found == [DatasetInUse]
    assert TaskData.objects.get(task__job=job).dataset_id == row.pk


def test_a_submission_waits_for_a_removal_and_is_refused(acme, row, spec):
    spec()
    found = []
    with transaction.atomic():
        dataset_remove(actor=SYSTEM, tenant=acme, data_id=row.data_id)
        thread = beside(lambda: submitted(acme), found)
        thread.join(1)
        assert found == []
    thread.join(60)
    assert found == [InvalidInput]
    assert Dataset.objects.count() == TaskData.objects.count() == 0
