"""The operators' index says what the tenants' rows say, after every step of a whole story."""

import pytest

from apps.approvals.models import HumanTask
from apps.approvals.selectors import case_of as case_of_task
from apps.cases.models import Case
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm, Order
from apps.orders.selectors import case_of_form, case_of_order
from apps.tickets.models import Ticket
from apps.tickets.selectors import case_of as case_of_ticket
from tests.factories.world import CREW

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]


def mirrored(schema):
    with in_tenant(schema):
        forms = [case_of_form(row) for row in ApplicationForm.objects.exclude(submitted_at=None)]
        orders = [case_of_order(row) for row in Order.objects.all()]
        tasks = [case_of_task(row) for row in HumanTask.objects.all()]
        return [*forms, *orders, *tasks, *(case_of_ticket(row) for row in Ticket.objects.all())]


def test_every_case_equals_its_row(world):
    for schema in CREW:
        wanted = {(case.kind, case.uid): case for case in mirrored(schema)}
        kept = {(row.kind, row.uid): row for row in Case.objects.of(schema)}
        assert set(wanted) == set(kept)
        for key, case in wanted.items():
            for name in ("no", "state", "title_en", "applicant_name", "is_open"):
                assert getattr(kept[key], name) == getattr(case, name), (key, name)
