"""Resource groups and specs: who may use what, and what a name stands for (POOL-12.13, POOL-12.14)."""

import pytest
from django.db import IntegrityError, transaction

from apps.audit.models import Record
from apps.fleet.errors import DeviceUnavailable, NoSuchGroup, NoSuchSpec
from apps.fleet.models import Device, Spec
from apps.fleet.selectors import group_allowed, spec_get
from apps.fleet.services.groups import group_devices_set, group_grant, group_make, group_remove, group_revoke
from apps.fleet.services.nodes.membership import node_remove
from apps.fleet.services.specs import spec_disable, spec_enable, spec_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from tests.apps.fleet.agent import Agent, desire

GROUP = pytest.mark.req("POOL-12.13")
SPEC = pytest.mark.req("POOL-12.14")


@pytest.fixture
def train(node):
    """The group `train` with node n1's device; n2's is in none."""
    Agent("n2")
    group_make(actor=SYSTEM, code="train", name_en="Training", name_zh="训练")
    return group_devices_set(actor=SYSTEM, code="train", devices=["n1-d0"])


@GROUP
def test_a_group_s_device_is_held_by_those_who_name_it_alone(train, acme):
    with pytest.raises(DeviceUnavailable, match="belongs to resource group Training"):
        desire(acme, "n1-d0")
    with pytest.raises(DeviceUnavailable, match="not in resource group train"):
        desire(acme, "n2-d0", resource_group="train")
    assert desire(acme, "n1-d0", resource_group="train").group_code == "train"
    assert desire(acme, "n2-d0").group_code == ""
    group_devices_set(actor=SYSTEM, code="train", devices=[])
    desire(acme, "n1-d0")


@GROUP
@pytest.mark.req("ELA-303")
def test_a_device_is_in_one_group_at_most(train):
    group_make(actor=SYSTEM, code="infer", name_en="Inference")
    with pytest.raises(Conflict, match="n1-d0 is in resource group Training"):
        group_devices_set(actor=SYSTEM, code="infer", devices=["n2-d0", "n1-d0"])
    with pytest.raises(InvalidInput, match="no device nobody"):
        group_devices_set(actor=SYSTEM, code="infer", devices=["n2-d0", "nobody"])
    assert list(Device.objects.filter(group__code="infer")) == []
    with pytest.raises(NoSuchGroup):
        group_devices_set(actor=SYSTEM, code="nobody", devices=[])


@GROUP
def test_a_group_is_granted_to_all_or_to_some_and_taken_back(train, acme, globex, member):
    alice, bob = member("acme", "tenant_front_line").user, member("acme", "tenant_front_line").user
    assert not group_allowed(group="train", tenant=acme, user_id=alice.pk)
    group_grant(actor=SYSTEM, code="train", tenant=acme)
    assert group_allowed(group="train", tenant=acme, user_id=bob.pk)
    assert not group_allowed(group="train", tenant=globex, user_id=bob.pk)
    group_grant(actor=SYSTEM, code="train", tenant=acme, members=[alice.username])
    assert group_allowed(group="train", tenant=acme, user_id=alice.pk)
    assert not group_allowed(group="train", tenant=acme, user_id=bob.pk)
    assert not group_allowed(group="train", tenant=acme, user_id=None)
    stranger = member("globex", "tenant_front_line").user
    for wrong in ([stranger.username], [alice.username, "nobody"], []):
        with pytest.raises(InvalidInput):
            group_grant(actor=SYSTEM, code="train", tenant=acme, members=wrong)
    assert group_allowed(group="train", tenant=acme, user_id=alice.pk)
    group_revoke(actor=SYSTEM, code="train", tenant=acme)
    assert not group_allowed(group="train", tenant=acme, user_id=alice.pk)
    with pytest.raises(NotFound):
        group_revoke(actor=SYSTEM, code="train", tenant=acme)


@GROUP
def test_a_group_ends_when_nothing_of_it_is_held(train, node, acme):
    row = desire(acme, "n1-d0", resource_group="train")
    with pytest.raises(Conflict, match="in use"):
        group_remove(actor=SYSTEM, code="train")
    node.sync(slices=[])
    Device.objects.filter(uid="n1-d0").update(held_percent=0, held_mib=0)
    group_remove(actor=SYSTEM, code="train")
    assert Device.objects.get(uid="n1-d0").group is None
    assert row.group_code == "train"


@pytest.mark.req("ELA-302")
@GROUP
def test_operators_keep_groups_by_the_api(train, operator, member, acme):
    admin, alice = operator("cluster_administrator").api(), member("acme", "tenant_front_line").user
    made = admin.post("/api/v1/resource-groups", {"code": "infer", "name_en": "Inference"}, format="json")
    assert (made.status_code, made.json()["devices"], made.json()["grants"]) == (201, [], [])
    assert (
        admin.post("/api/v1/resource-groups", {"code": "infer", "name_en": "X"}, format="json").status_code
        == 409
    )
    assert (
        admin.post("/api/v1/resource-groups", {"code": "In fer", "name_en": "X"}, format="json").status_code
        == 400
    )
    path = "/api/v1/resource-groups/infer"
    assert admin.put(f"{path}/devices", {"devices": ["n2-d0"]}, format="json").json()["devices"] == ["n2-d0"]
    body = {"tenant": "acme", "members": [alice.username]}
    granted = admin.post(f"{path}/grants", body, format="json").json()["grants"]
    assert [(one["tenant"], one["members"]) for one in granted] == [("acme", [alice.username])]
    assert admin.get(f"{path}/grants").json()[0]["tenant"] == "acme"
    assert admin.post(f"{path}/grants", {"tenant": "nobody"}, format="json").status_code == 400
    assert admin.delete(f"{path}/grants/acme").status_code == 204
    assert admin.delete(f"{path}/grants/acme").status_code == 404
    assert [one["code"] for one in admin.get("/api/v1/resource-groups").json()["results"]] == [
        "infer",
        "train",
    ]
    assert admin.get("/api/v1/devices").json()["results"][0]["group"] == "infer"
    assert admin.delete(path).status_code == 204
    assert admin.get(path).json()["error"]["code"] == "no_such_group"
    assert set(Record.objects.filter(subject_id="infer").values_list("name", flat=True)) >= {
        "group_make", "group_devices_set", "group_grant", "group_revoke", "group_remove",
    }  # fmt: skip


@SPEC
def test_a_spec_stands_for_one_share_and_ends(db):
    row = spec_make(actor=SYSTEM, code="quarter", name_en="Quarter", compute_percent=25, memory_mib=2048)
    assert spec_get("quarter") == row
    with pytest.raises(Conflict):
        spec_make(actor=SYSTEM, code="quarter", name_en="Other", compute_percent=1, memory_mib=1)
    for wrong in (
        {"compute_percent": 0},
        {"compute_percent": 101},
        {"memory_mib": 0},
        {"code": "Not a code"},
    ):
        given = {"code": "other", "name_en": "Other", "compute_percent": 1, "memory_mib": 1} | wrong
        with pytest.raises(InvalidInput):
            spec_make(actor=SYSTEM, **given)
    spec_disable(actor=SYSTEM, code="quarter")
    for gone in ("quarter", "nobody"):
        with pytest.raises(NoSuchSpec):
            spec_get(gone)
    spec_enable(actor=SYSTEM, code="quarter")
    assert spec_get("quarter").memory_mib == 2048
    with pytest.raises(IntegrityError), transaction.atomic():
        Spec.objects.update(compute_percent=101)


@SPEC
def test_operators_keep_specs_by_the_api(db, operator):
    admin, reader = operator("cluster_administrator").api(), operator("executive").api()
    body = {"code": "half", "name_en": "Half", "compute_percent": 50, "memory_mib": 4096}
    assert reader.post("/api/v1/specs", body, format="json").status_code == 403
    assert admin.post("/api/v1/specs", body, format="json").status_code == 201
    assert (
        admin.post("/api/v1/specs", {**body, "code": "x", "compute_percent": 101}, format="json").status_code
        == 400
    )
    assert [one["code"] for one in reader.get("/api/v1/specs").json()["results"]] == ["half"]
    assert admin.post("/api/v1/specs/half/disable").json()["is_enabled"] is False
    assert admin.post("/api/v1/specs/half/enable").json()["is_enabled"] is True
    assert admin.post("/api/v1/specs/nobody/disable").status_code == 404


@GROUP
def test_a_device_that_leaves_with_its_node_and_returns_is_in_its_group_still(train, node):
    node_remove(actor=SYSTEM, node_uid=node.uid)
    Agent("n1")
    assert Device.objects.get(uid="n1-d0").group.code == "train"
