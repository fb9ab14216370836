"""Roles of earlier days after the functions were parted: built-in ones as decided, others keep what they could do."""

from importlib import import_module

import pytest
from django.apps import apps

from apps.identity.models import OperatorRole

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-30", "PLAT-SEC-4")]
PARTED = import_module("apps.identity.migrations.0004_functions_parted")


def own(code, *permissions, is_read_only=False):
    return OperatorRole.objects.create(
        code=code, name_en=code, name_zh=code, permissions=list(permissions), is_read_only=is_read_only
    )


def after(row):
    row.refresh_from_db()
    return set(row.permissions)


def test_a_role_of_peoples_own_keeps_what_it_could_do_and_gets_no_more():
    watcher = own("watcher", "alarms.view", "alarms.manage")
    planner = own("planner", "scheduling.view")
    auditor = own("auditor", "scheduling.view", "centre.manage", is_read_only=True)
    seller = own("seller", "catalog.manage")
    for _again in range(2):
        PARTED.part(apps, None)
        assert after(watcher) == {"alarms.view", "alarms.manage", "alarms.acknowledge"}
        assert after(planner) == {"scheduling.view", "resources.view"}
        assert after(auditor) == {"scheduling.view", "centre.manage", "resources.view"}
        assert after(seller) == {"catalog.manage"}


def test_built_in_roles_are_as_they_were_decided():
    for code in PARTED.BUILTIN:
        OperatorRole.objects.update_or_create(
            code=code, defaults={"permissions": ["fleet.view"], "is_builtin": True}
        )
    PARTED.part(apps, None)
    assert {row.code: set(row.permissions) for row in OperatorRole.objects.filter(is_builtin=True)} == {
        code: set(permissions) for code, permissions in PARTED.BUILTIN.items()
    }
