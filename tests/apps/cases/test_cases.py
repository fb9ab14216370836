"""The operators' index: written in the tenant, read across all tenants, by operators only."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone, translation

from apps.cases.models import Case
from apps.cases.selectors import case_get, case_inbox, case_list, schemas_with_open
from apps.cases.services import case_drop, case_put
from apps.cases.types import CaseData
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import PlaneError, in_tenant

pytestmark = pytest.mark.django_db


def put(schema: str, **changes: object) -> CaseData:
    given = {
        "kind": "form",
        "uid": uuid4(),
        "no": "F20260101-0001",
        "title_zh": "开发环境",
        "title_en": "Development environment",
        "state": "submitted",
        "created_at": timezone.now(),
        "is_open": True,
        "link": "/forms/x/",
        **changes,
    }
    data = CaseData(**given)
    with in_tenant(schema):
        case_put(actor=SYSTEM, data=data)
    return data


@pytest.mark.req("PLAT-OPS-17")
def test_forms_of_every_tenant_show_to_operators_and_nobody_else(operator, member):
    put("acme", no="F1")
    put("globex", no="F2")
    manager = operator("operations_manager").actor
    assert {case.no for case in case_list(actor=manager)} == {"F1", "F2"}
    assert not case_list(actor=member("acme", "tenant_decision_maker").actor).exists()


@pytest.mark.req("PLAT-OPS-18")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("organization", "phys"),
        ("applicant", "curie"),
        ("business_system", "spectra"),
        ("no", "0042"),
        ("state", "approving"),
        ("tenant", "globex"),
        ("search", "Curie"),
        ("is_open", "false"),
    ],
)
def test_each_filter_narrows(operator, name, value):
    put("acme", no="F1")
    wanted = put(
        "globex",
        no="F20260101-0042",
        organization="Physics",
        applicant_name="Marie Curie",
        business_system="Spectra",
        state="approving",
        is_open=False,
    )
    found = case_list(actor=operator("front_line").actor, filters={name: value})
    assert [case.uid for case in found] == [wanted.uid]


@pytest.mark.req("PLAT-OPS-18")
def test_filters_combine(operator):
    put("acme", no="F1", state="approving")
    put("globex", no="F1", state="draft")
    filters = {"state": "approving", "tenant": "globex"}
    assert not case_list(actor=operator("front_line").actor, filters=filters).exists()


def test_putting_again_writes_every_field_and_keeps_one_case():
    data = put("acme", applicant_name="Ann", roles=("a",), due_at=timezone.now())
    put("acme", uid=data.uid, state="approved", is_open=False)
    case = Case.objects.across().get(uid=data.uid)
    assert (case.state, case.is_open, case.applicant_name, case.roles, case.due_at) == (
        "approved",
        False,
        "",
        [],
        None,
    )


def test_one_case_for_a_row(acme):
    data = put("acme")
    case = Case.objects.across().get(uid=data.uid)
    case.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        case.save()


def test_no_case_is_written_without_a_tenant():
    data = CaseData("form", uuid4(), "F1", "一", "one", "draft", timezone.now(), True, "/")
    with pytest.raises(PlaneError):
        case_put(actor=SYSTEM, data=data)
    assert not Case.objects.across().exists()


def test_a_dropped_case_is_gone_and_only_from_its_own_tenant():
    data = put("acme")
    with in_tenant("globex"):
        case_drop(actor=SYSTEM, kind="form", uid=data.uid)
    assert Case.objects.across().filter(uid=data.uid).exists()
    with in_tenant("acme"):
        case_drop(actor=SYSTEM, kind="form", uid=data.uid)
    assert not Case.objects.across().filter(uid=data.uid).exists()


@pytest.mark.req("PLAT-TODO-1", "PLAT-TODO-2", "PLAT-TODO-3")
def test_the_inbox_asks_the_active_role_and_forgets_what_is_decided(operator):
    manager = operator("operations_manager").actor
    task = {"kind": "task", "side": "operator", "roles": ("operations_manager",), "state": "waiting"}
    mine = put("acme", **task)
    put("globex", **{**task, "roles": ("executive",)})
    put("globex", **{**task, "side": "tenant"})
    assert [case.uid for case in case_inbox(actor=manager)] == [mine.uid]
    assert not case_inbox(actor=manager, tab="urged").exists()
    put("acme", uid=mine.uid, **task, urged_at=timezone.now())
    assert [case.uid for case in case_inbox(actor=manager, tab="urged")] == [mine.uid]
    put("acme", uid=mine.uid, **task, worked_by_ids=(manager.user_id,))
    assert not case_inbox(actor=manager).exists()
    assert [case.uid for case in case_inbox(actor=manager, tab="done")] == [mine.uid]
    with pytest.raises(InvalidInput):
        case_inbox(actor=manager, tab="everything")


def test_who_is_asked_by_name_has_it_in_the_inbox(operator):
    person = operator("executive").actor
    put("acme", kind="task", side="operator", candidate_ids=(person.user_id,), state="waiting")
    assert case_inbox(actor=person).count() == 1


def test_a_case_is_found_by_kind_and_uid(operator, member):
    data = put("acme")
    actor = operator("front_line").actor
    assert case_get(actor=actor, kind="form", uid=data.uid).tenant.schema_name == "acme"
    for kind, uid, who in [("order", data.uid, actor), ("form", uuid4(), actor)]:
        with pytest.raises(NotFound):
            case_get(actor=who, kind=kind, uid=uid)
    with pytest.raises(NotFound):
        case_get(actor=member("acme", "tenant_decision_maker").actor, kind="form", uid=data.uid)


def test_a_sweep_visits_only_tenants_with_open_cases():
    put("acme", kind="order")
    put("globex", kind="order", is_open=False)
    assert schemas_with_open("order") == ["acme"]


def test_the_title_follows_the_reader():
    data = put("acme")
    case = Case.objects.across().get(uid=data.uid)
    with translation.override("zh-hans"):
        assert case.title == "开发环境"
    with translation.override("en"):
        assert case.title == "Development environment"


def test_the_list_over_the_api(operator, member):
    put("acme", no="F1")
    put("globex", no="F2")
    client = operator("operations_manager").api()
    body = client.get("/api/v1/cases", {"tenant": "acme"}).json()
    assert [(one["no"], one["tenant"], one["link"]) for one in body["results"]] == [
        ("F1", "acme", "/t/acme/forms/x/")
    ]
    refused = member("acme", "tenant_front_line").api().get("/api/v1/cases")
    assert refused.status_code == 403
