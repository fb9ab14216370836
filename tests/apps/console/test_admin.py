"""The operators' tables: who sees what, acts that call services, refusals that change nothing."""

import pytest
from django.contrib import admin
from django.urls import reverse

from apps.audit.models import Record
from apps.billing.selectors.accounts import balance_get
from apps.catalog.models import (
    Component,
)
from apps.fleet.models import Device, Node
from apps.identity.admin_base import OperatorAdmin
from apps.identity.models import AgentToken, User
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Queue, SchedulingPolicy, TenantQuota
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.quota.quotas import DEFAULTS
from apps.telemetry.models import Alarm
from apps.telemetry.services.alarms import alarm_raise
from apps.tenancy.models import Tenant
from apps.tenancy.services import tenant_provision
from tests.apps.billing.scene import charge_make, record
from tests.apps.fleet.agent import Agent

# They are looked for where the operators' addresses are, which no other process needs.
admin.autodiscover()
pytestmark = pytest.mark.django_db
OPERATOR_ROLES = (
    "executive", "operations_manager", "front_line", "system_administrator", "cluster_administrator",
)  # fmt: skip


def act(person, row, name, **given):
    opts = row._meta
    url = reverse(f"admin:{opts.app_label}_{opts.model_name}_act_{name}", args=[row.pk])
    return person.page().post(url, given)


def tenant_act(person, tenant, name, **given):
    return person.page().post(reverse(f"operator:tenant_{name}", args=[tenant.schema_name]), given)


def add(person, model, **given):
    return person.page().post(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add"), given)


def refused(response, status=400):
    """A page that says what is wrong, where the input still stands."""
    assert response.status_code == status, said(response)
    return " ".join(response.content.decode().split())


def done(response):
    assert response.status_code == 302, said(response)


def shown(response):
    """What an act made that is shown this once."""
    assert response.status_code == 200, said(response)
    return response.context["done"].secret


def said(response):
    context = getattr(response, "context", None) or {}
    return response.status_code, context.get("problem"), getattr(context.get("form"), "errors", None)


# --- who sees what ---------------------------------------------------------------------------------------------


def test_every_table_stands_on_the_one_base_and_none_saves_by_itself():
    for model, table in admin.site._registry.items():
        assert isinstance(table, OperatorAdmin), model
        assert table.view_permission, model
        assert type(table).save_model is admin.ModelAdmin.save_model


@pytest.mark.req("PLAT-TEN-32", "PLAT-AICFG-17")
@pytest.mark.parametrize("role", OPERATOR_ROLES)
def test_a_table_opens_for_roles_that_may_see_it_and_for_no_other(operator, role):
    person = operator(role)
    client = person.page()
    for model, table in admin.site._registry.items():
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        expected = 200 if table.view_permission in person.actor.permissions else 403
        assert client.get(url).status_code == expected, url


@pytest.mark.req("PLAT-TEN-32")
@pytest.mark.parametrize("role", OPERATOR_ROLES)
def test_adding_opens_for_roles_that_may_do_it_and_for_no_other(operator, role):
    person = operator(role)
    client = person.page()
    for model, table in admin.site._registry.items():
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
        wanted = table.add_page[0] if table.add_page else table.add_act and table.add_act.permission
        expected = 403 if wanted else 404
        if wanted in person.actor.permissions:
            expected = 302 if table.add_page else 200
        assert client.get(url).status_code == expected, url


@pytest.mark.req("PLAT-GEN-11")
def test_a_tenants_people_are_told_that_this_is_for_operators(member):
    client = member("acme", "tenant_decision_maker").page()
    client.defaults["HTTP_HOST"] = "localhost"
    answer = client.get("/admin/", headers={"host": "localhost"}, follow=True)
    assert answer.status_code == 403


def test_who_is_not_signed_in_signs_in_where_everybody_does(client):
    answer = client.get("/admin/catalog/commodity/", headers={"host": "localhost"}, follow=True)
    assert answer.redirect_chain[-1][0].startswith("/login/?next=")
    assert "admin%2Fcatalog" in answer.redirect_chain[-1][0]


def test_rows_are_not_changed_or_deleted_in_place(operator, acme):
    client = operator("system_administrator").page()
    change = reverse("admin:tenancy_tenant_change", args=[acme.pk])
    assert client.post(change, {"name": "Hacked"}).status_code == 403
    assert client.post(reverse("admin:tenancy_tenant_delete", args=[acme.pk])).status_code == 403
    assert Tenant.objects.get(pk=acme.pk).name == acme.name


@pytest.mark.req("PLAT-SEC-5")
def test_an_act_needs_its_permission_even_by_address(operator, acme):
    refused(tenant_act(operator("front_line"), acme, "suspend", reason="x"), 403)
    assert Tenant.objects.get(pk=acme.pk).is_active


def test_an_act_is_asked_about_first_and_never_done_by_a_mere_visit(operator, acme):
    url = reverse("operator:tenant_suspend", args=[acme.schema_name])
    assert operator("system_administrator").page().get(url).status_code == 405
    assert Tenant.objects.get(pk=acme.pk).is_active


def test_the_tables_stand_in_the_frame_of_every_page(operator, member):
    """Menu, switch of roles and bell; every table that there is has its name on the first page."""
    member("acme", "tenant_front_line")
    client = operator("system_administrator").page()
    first = client.get("/admin/").content.decode()
    for model in admin.site._registry:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert f'href="{url}"' in first, url
    user = User.objects.get(is_operator=False)
    row = client.get(reverse("admin:identity_user_change", args=[user.pk])).content.decode()
    table = client.get(reverse("admin:identity_user_changelist")).content.decode()
    for text in (first, row, table):
        for mark in ("nav-operator-home", "role-only-large", "bell-large"):
            assert f'data-test="{mark}"' in text, mark


# --- tenants, money, quota -------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-8")
def test_a_tenant_is_provisioned_suspended_resumed(operator):
    person = operator("system_administrator")
    assert add(person, Tenant)["Location"] == "/tenants/new/"
    tenant = tenant_provision(actor=person.actor, schema="initech", name="Initech")
    done(tenant_act(person, tenant, "suspend", reason="unpaid"))
    assert Tenant.objects.get(pk=tenant.pk).state == "suspended"
    done(tenant_act(person, tenant, "resume"))
    assert Tenant.objects.get(pk=tenant.pk).state == "active"
    acts = Record.objects.filter(user=person.user).values_list("name", flat=True)
    assert {"tenant_provision", "tenant_suspend", "tenant_resume"} <= set(acts)


def test_a_refusal_says_cause_and_cure_and_changes_nothing(operator, acme):
    person = operator("system_administrator")
    form = {"name_zh": "一", "name_en": "Again", "unit": "x", "per_unit": 1}
    add(person, Component, code="twice", **form)
    text = refused(add(person, Component, code="twice", **form))
    assert 'data-code="invalid_input"' in text
    assert "Again" in text
    assert Component.objects.filter(name_en="Again").count() == 1
    text = refused(tenant_act(person, acme, "resume"), 409)
    assert 'data-code="move_refused"' in text


@pytest.mark.req("PLAT-OPS-28", "PLAT-TEN-35")
def test_an_account_is_opened_and_credited_once_for_a_payment_number(operator, acme):
    person = operator("operations_manager")
    done(tenant_act(person, acme, "account"))
    for _again in range(2):
        done(tenant_act(person, acme, "deposit", amount="100.00", reference="P-1"))
    assert balance_get(acme) == 100
    refused(tenant_act(person, acme, "deposit", amount="-5", reference="P-2"))
    refused(tenant_act(person, acme, "deposit", amount="1.001", reference="P-3"))
    assert balance_get(acme) == 100


@pytest.mark.req("PLAT-TEN-10")
def test_a_tenants_quota_is_set_without_changing_anothers(operator, acme, globex):
    person = operator("cluster_administrator")
    done(
        tenant_act(
            person,
            acme,
            "quota",
            instances="4",
            compute_percent="200",
            gpu_memory_mib="",
            host_cpu_milli="2.5",
        )
    )
    assert dict(TenantQuota.plain.filter(tenant=acme).values_list("item", "total")) == {
        **DEFAULTS,
        "instances": 4,
        "compute_percent": 200,
        "host_cpu_milli": 2500,
    }
    assert dict(TenantQuota.plain.filter(tenant=globex).values_list("item", "total")) == DEFAULTS
    row = TenantQuota.plain.get(tenant=acme, item="instances")
    done(act(person, row, "set", total="6"))
    refused(act(person, row, "set", total="-1"))
    row.refresh_from_db()
    assert row.total == 6


# --- people ----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-27")
def test_a_user_is_disabled_and_enabled_everywhere(operator, member):
    person, user = operator("system_administrator"), member("acme", "tenant_front_line").user
    done(act(person, user, "disable"))
    assert not User.objects.get(pk=user.pk).is_active
    done(act(person, user, "enable"))
    assert User.objects.get(pk=user.pk).is_active
    # Operators have pages of their own, where nobody disables himself.
    refused(act(person, person.user, "disable"), 404)


def test_a_join_token_is_shown_once_and_revoked(operator):
    person = operator("cluster_administrator")
    assert add(person, AgentToken)["Location"] == "/pool/nodes/join/"
    made = person.page().post("/pool/nodes/join/", {"name": "rack4", "lifetime_s": "3600"})
    assert "weirjoin_" in made.content.decode()
    token = AgentToken.objects.get(note="rack4")
    change = person.page().get(reverse("admin:identity_agenttoken_change", args=[token.pk]))
    assert "weirjoin_" not in change.content.decode()
    assert token.digest not in change.content.decode()
    done(act(person, token, "revoke"))
    refused(act(person, token, "revoke"), 409)


# --- the pool --------------------------------------------------------------------------------------------------


def test_rows_with_a_page_of_their_own_lead_there_and_nothing_is_done_beside_it(operator):
    """D21: the same thing stood on two pages that looked and behaved differently."""
    Agent("n1")
    queue_ensure(actor=SYSTEM)
    alarm_raise(actor=SYSTEM, key="k", level="major", msgid="Node %(name)s is gone", params={"name": "n1"})
    client = operator("cluster_administrator").page()
    for model in (Node, Device, Queue, Alarm):
        row, opts = model.objects.get(), model._meta
        text = client.get(
            reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[row.pk])
        ).content.decode()
        own = admin.site.get_model_admin(model).page_of(row)
        assert f'href="{own}"' in text
        assert client.get(own).status_code == 200, own
        assert 'data-test="act-' not in text


@pytest.mark.req("PLAT-AICFG-18", "PLAT-AICFG-19", "PLAT-AICFG-21")
def test_the_scheduling_policy_changes_and_is_logged(operator):
    person = operator("cluster_administrator")
    given = {"placing": "best_fit", "ordering": "priority", "has_backfill": "on"}
    done(add(person, SchedulingPolicy, **given))
    policy = SchedulingPolicy.objects.get()
    done(act(person, policy, "change", **given | {"placing": "spread"}))
    refused(act(person, policy, "change", **given | {"placing": "anywhere"}))
    policy.refresh_from_db()
    assert (policy.placing, policy.ordering) == ("spread", "priority")
    names = set(Record.objects.filter(user=person.user).values_list("name", flat=True))
    assert "policy_set" in names


@pytest.mark.req("PLAT-OBS-18")
def test_an_alarm_is_acknowledged_once(operator):
    alarm_raise(actor=SYSTEM, key="k", level="major", msgid="Node %(name)s is gone", params={"name": "n1"})
    row = Alarm.objects.get()
    url = reverse("operator:acknowledge", args=[row.uid])
    done(operator("front_line").page().post(url))
    row.refresh_from_db()
    assert row.state == "acknowledged"
    assert operator("front_line").page().post(url).status_code == 409
    assert operator("executive").page().post(url).status_code == 403


def test_every_row_opens_read_only_with_its_details(operator, member, acme):
    """One row of each table that the journey fills, opened by who may see everything."""
    Agent("n1")
    record(charge_make(acme), [60])
    person = operator("system_administrator")
    client = person.page()
    opened = 0
    member("acme", "tenant_front_line")
    for model in admin.site._registry:
        rows = model._base_manager.all()
        # The operators' own accounts are not among those of tenants' people.
        row = (rows.filter(is_operator=False) if model is User else rows).first()
        if row is None:
            continue
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
        answer = client.get(url)
        assert answer.status_code == 200, url
        text = answer.content.decode()
        assert 'name="_save"' not in text, url
        # The row itself, not one of its acts.
        assert 'data-test="act-page"' not in text, url
        opened += 1
    assert opened >= 15
