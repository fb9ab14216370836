"""The centre's own settings: opened once, changed by who may, read by pages and clocks."""

from datetime import UTC, datetime

import pytest
from django.db import OperationalError
from django.utils.translation import override

from apps.billing.selectors.costs import cost_by_day
from apps.centre import selectors
from apps.centre.errors import AlreadySetUp
from apps.centre.models import Centre
from apps.centre.selectors import centre_is_set_up, centre_now, centre_shown, centre_zone
from apps.centre.services import centre_change, centre_open
from apps.identity.models import OperatorRole
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput
from apps.scheduling.snapshot.cluster import windows_of
from apps.tenancy.services import tenant_provision
from tests.apps.centre.empty import centre_empty

pytestmark = pytest.mark.django_db


def changed(actor=SYSTEM, **given):
    return centre_change(
        actor=actor, **{"name": "Lakeside", "language": "en", "timezone": "Europe/Berlin"} | given
    )


def test_it_opens_once_and_brings_its_operators_roles():
    centre_empty()
    OperatorRole.objects.all().delete()
    assert not centre_is_set_up()
    centre_open(actor=SYSTEM, name="  Lake   side ", language="zh-hans", timezone="Asia/Shanghai")
    assert (centre_is_set_up(), centre_now().name) == (True, "Lake side")
    assert OperatorRole.objects.filter(code="system_administrator", is_builtin=True).exists()
    with pytest.raises(AlreadySetUp):
        centre_open(actor=SYSTEM, language="en", timezone="UTC")
    assert Centre.objects.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": ""}, "timezone"),
        ({"language": "tlh"}, "language"),
        ({"name": "x" * 81}, "name"),
    ],
)
def test_what_it_may_not_be_is_refused_by_field_and_nothing_is_kept(wrong, field):
    with pytest.raises(InvalidInput) as refusal:
        changed(**wrong)
    assert list(refusal.value.fields) == [field]
    assert Centre.objects.get().name == ""


def test_who_may_not_keep_it_changes_nothing(operator):
    with pytest.raises(Forbidden):
        changed(actor=operator("operations_manager").actor)
    assert changed(actor=operator("system_administrator").actor).name == "Lakeside"


def test_without_a_name_it_is_called_weir_in_the_readers_language():
    with override("zh-hans"):
        assert str(centre_shown()) == "堰 Weir"
    assert str(changed()) == "Lakeside"


def test_clocks_and_new_tenants_go_by_its_zone():
    changed()
    assert str(centre_zone()) == "Europe/Berlin"
    assert tenant_provision(actor=SYSTEM, schema="newco", name="New").timezone == "Europe/Berlin"
    span = type("Span", (), {"weekday": 0, "from_minute": 540, "to_minute": 600})
    monday = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)
    first = windows_of([span], monday)[0]
    assert first.from_s == int(datetime(2026, 1, 5, 8, tzinfo=UTC).timestamp())
    assert cost_by_day(actor=SYSTEM, tenant=None, since=monday) == []


def test_a_process_keeps_what_it_read_for_seconds_and_its_own_change_shows_at_once(
    django_assert_num_queries, monkeypatch
):
    centre_shown()
    with django_assert_num_queries(0):
        assert centre_shown().name == ""
    Centre.objects.update(name="Elsewhere changed")
    assert centre_shown().name == ""
    later_s = selectors.time.monotonic() + 6
    with monkeypatch.context() as patched:
        patched.setattr(selectors.time, "monotonic", lambda: later_s)
        assert centre_shown().name == "Elsewhere changed"
    changed()
    assert centre_shown().name == "Lakeside"


def test_a_page_has_a_frame_while_the_database_is_away(monkeypatch):
    def away():
        raise OperationalError("the database is away")

    monkeypatch.setattr(selectors, "centre_find", away)
    assert str(centre_shown()) == "Weir"
