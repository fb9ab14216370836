"""Access keys: one's own, shown once, good as long as its person may act in its role."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import Record
from apps.identity.models import User
from apps.identity.services.users import membership_remove, password_change, user_disable
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.orgs.models import RoleBinding
from apps.storage.models import AccessKey
from apps.storage.services.access_keys import (
    KEYS_MOST,
    access_key_holder,
    access_key_make,
    access_key_revoke,
    key_schema,
)
from apps.tenancy.models import Tenant
from tests.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-7")]


@pytest.fixture
def key(ann):
    with in_tenant("acme"):
        return access_key_make(actor=ann.actor, name="rclone")


def holder(row: AccessKey):
    assert key_schema(row.key_id) == "acme"
    with in_tenant("acme"):
        return access_key_holder(row.key_id)


def test_a_key_stands_for_its_person_in_the_role_it_was_made_in(ann, key):
    row, secret = key
    found = holder(row)
    assert found.secret == secret
    assert secret not in row.sealed
    assert (found.actor.user_id, found.actor.role) == (ann.actor.user_id, ann.actor.role)
    assert found.actor.permissions == ann.actor.permissions
    with in_tenant("acme"):
        row.refresh_from_db()
    assert row.used_at is not None


def test_a_read_only_key_changes_nothing(ann):
    with in_tenant("acme"):
        row, _secret = access_key_make(actor=ann.actor, name="mirror", is_read_only=True)
    assert holder(row).actor.is_read_only


def test_it_ends_by_being_revoked_and_is_its_persons_alone(ann, keeper, key):
    row, _secret = key
    with in_tenant("acme"):
        with pytest.raises(NotFound):
            access_key_revoke(actor=keeper.actor, uid=row.uid)
        access_key_revoke(actor=ann.actor, uid=row.uid)
        access_key_revoke(actor=ann.actor, uid=row.uid)
    assert holder(row) is None


def test_it_ends_by_the_clock(key):
    row, _secret = key
    with in_tenant("acme"):
        AccessKey.objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert holder(row) is None


def test_it_rests_while_the_tenant_is_suspended(key):
    row, _secret = key
    tenants = Tenant.objects.filter(schema_name="acme")
    tenants.update(state="suspended")
    assert holder(row) is None
    tenants.update(state="active")
    assert holder(row) is not None


@pytest.mark.parametrize("how", ["disabled", "gone", "password"])
def test_it_ends_with_its_persons_tokens_and_does_not_come_back(ann, key, how):
    row, _secret = key
    user = User.objects.get(pk=ann.actor.user_id)
    if how == "disabled":
        user_disable(actor=SYSTEM, user=user)
        User.objects.filter(pk=user.pk).update(is_active=True)
    elif how == "gone":
        membership_remove(actor=SYSTEM, user=user, tenant=Tenant.objects.get(schema_name="acme"))
    else:
        password_change(actor=ann.actor, user=user, old_password=PASSWORD, new_password="another-horse-10")
    assert holder(row) is None
    with in_tenant("acme"):
        assert AccessKey.objects.get(pk=row.pk).revoked_at is not None


def test_without_its_role_it_holds_no_longer(ann, key):
    row, _secret = key
    with in_tenant("acme"):
        RoleBinding.objects.filter(user_id=ann.actor.user_id).delete()
    assert holder(row) is None


def test_the_key_of_another_tenant_is_none_here(stranger, key):
    with in_tenant("globex"):
        assert access_key_holder(key[0].key_id) is None


def test_what_cannot_be_is_refused(ann):
    with in_tenant("acme"):
        for wrong in ({"name": " "}, {"name": "x", "days": 0}, {"name": "x", "days": 367}):
            with pytest.raises(InvalidInput):
                access_key_make(actor=ann.actor, **wrong)
        with pytest.raises(Forbidden):
            access_key_make(actor=SYSTEM, name="x")
        for number in range(KEYS_MOST):
            access_key_make(actor=ann.actor, name=f"key {number}")
        with pytest.raises(Conflict):
            access_key_make(actor=ann.actor, name="one more")
        AccessKey.objects.filter(name="key 1").update(revoked_at=timezone.now())
        with pytest.raises(InvalidInput):
            access_key_make(actor=ann.actor, name="key 2")


def test_the_page_shows_the_secret_once_and_revokes(ann):
    page = ann.page()
    page.cookies["django_language"] = "en"
    made = page.post("/files/access-keys/", {"name": "rclone", "days": 30, "is_read_only": "on"})
    with in_tenant("acme"):
        row = AccessKey.objects.get()
    secret = holder(row).secret
    assert row.is_read_only
    assert secret in made.content.decode()
    assert made["Cache-Control"].count("no-store") == 1
    again = page.get("/files/access-keys/").content.decode()
    assert row.key_id in again
    assert secret not in again
    page.post(f"/files/access-keys/{row.uid}/revoke/")
    assert row.key_id not in page.get("/files/access-keys/").content.decode()


def test_the_api_shows_the_secret_once_and_no_record_has_it(ann):
    api = ann.api()
    made = api.post("/api/v1/access-keys", {"name": "rclone"}, format="json").json()
    assert made["address"].startswith("http://s3.localhost")
    listed = api.get("/api/v1/access-keys").json()["results"]
    assert [row["key_id"] for row in listed] == [made["key_id"]]
    assert "secret" not in listed[0]
    assert made["secret"] not in str(list(Record.objects.values()))
    assert api.delete(f"/api/v1/access-keys/{made['uid']}").status_code == 204
    assert api.get("/api/v1/access-keys").json()["results"] == []
