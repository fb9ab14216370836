from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from apps.identity.models import AgentToken, ApiToken, SignIn, User
from apps.identity.services.tokens import (
    agent_authenticate,
    agent_token_revoke,
    api_token_make,
    api_token_revoke,
    api_token_user,
    join_token_make,
    join_token_use,
)
from apps.identity.services.users import (
    LOCK_AFTER,
    credentials_check,
    membership_add,
    membership_remove,
    password_change,
    user_create,
    user_disable,
)
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, Throttled, Unauthenticated
from apps.kernel.planes import in_tenant
from apps.orgs.models import RoleBinding
from apps.tenancy.services import tenant_suspend
from portal.settings import base
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def enter(username, password=PASSWORD, schema="acme"):
    return credentials_check(username=username, password=password, schema=schema, address="127.0.0.1")


@pytest.mark.req("PLAT-TEN-7")
def test_the_right_password_enters_and_is_logged(member):
    person = member("acme", "tenant_front_line", username="alice")
    assert enter("ALICE") == person.user
    assert SignIn.objects.filter(username="alice", is_accepted=True, schema="acme").count() == 1


def test_wrong_password_unknown_account_and_foreign_tenant_sound_the_same(member):
    member("acme", "tenant_front_line", username="alice")
    texts = set()
    for name, password, schema in (
        ("alice", "no", "acme"),
        ("nobody", "no", "acme"),
        ("alice", PASSWORD, "globex"),
    ):
        with pytest.raises(Unauthenticated) as refusal:
            enter(name, password, schema)
        texts.add(str(refusal.value.message))
    assert len(texts) == 1


@pytest.mark.req("PLAT-CFG-40")
@pytest.mark.req("PLAT-CFG-41")
def test_wrong_sign_ins_lock_the_account_until_the_time_is_over(member):
    member("acme", "tenant_front_line", username="alice")
    for _attempt in range(LOCK_AFTER):
        with pytest.raises(Unauthenticated):
            enter("alice", "wrong")
    with pytest.raises(Throttled):
        enter("alice")
    SignIn.objects.update(at=timezone.now() - timedelta(minutes=16))
    assert enter("alice").username == "alice"


@pytest.mark.req("PLAT-TEN-27")
def test_a_disabled_user_signs_in_no_more_and_loses_tokens(member):
    person = member("acme", "tenant_front_line", username="alice")
    _token, secret = api_token_make(actor=person.actor, user=person.user, name="x")
    user_disable(actor=SYSTEM, user=person.user)
    with pytest.raises(Unauthenticated):
        enter("alice")
    with pytest.raises(Unauthenticated):
        api_token_user(secret)


@pytest.mark.req("PLAT-TEN-8")
def test_nobody_enters_a_suspended_tenant(member, acme):
    member("acme", "tenant_front_line", username="alice")
    tenant_suspend(actor=SYSTEM, tenant=acme)
    with pytest.raises(Unauthenticated):
        enter("alice")


@pytest.mark.req("PLAT-TEN-26")
def test_password_change_wants_the_old_one_and_ends_it(member):
    person = member("acme", "tenant_front_line", username="alice")
    with pytest.raises(InvalidInput):
        password_change(
            actor=person.actor, user=person.user, old_password="wrong", new_password="new-password-77"
        )
    password_change(
        actor=person.actor, user=person.user, old_password=PASSWORD, new_password="new-password-77"
    )
    with pytest.raises(Unauthenticated):
        enter("alice")
    assert enter("alice", "new-password-77")


@pytest.mark.req("PLAT-TEN-26")
def test_a_new_password_ends_the_tokens_made_with_the_old_one(member):
    person = member("acme", "tenant_front_line", username="alice")
    _token, secret = api_token_make(actor=person.actor, user=person.user, name="x")
    password_change(
        actor=person.actor, user=person.user, old_password=PASSWORD, new_password="new-password-77"
    )
    with pytest.raises(Unauthenticated):
        api_token_user(secret)


@pytest.mark.req("PLAT-TEN-24")
def test_a_membership_ends_with_its_roles_and_comes_back_without_them(member, acme):
    person = member("acme", "tenant_front_line", username="alice")
    membership_remove(actor=SYSTEM, user=person.user, tenant=acme)
    membership_add(actor=SYSTEM, user=person.user, tenant=acme)
    with in_tenant("acme"):
        assert not RoleBinding.objects.filter(user_id=person.user.pk).exists()


def test_weak_passwords_and_taken_names_are_refused():
    user_create(actor=SYSTEM, username="bob", display_name="Bob", password=PASSWORD)
    with pytest.raises(InvalidInput):
        user_create(actor=SYSTEM, username="BOB", display_name="Bob", password=PASSWORD)
    with pytest.raises(InvalidInput):
        user_create(actor=SYSTEM, username="eve", display_name="Eve", password="12345")


def test_only_a_manager_makes_users(member):
    with pytest.raises(Forbidden):
        user_create(
            actor=member("acme", "tenant_front_line").actor, username="x", display_name="x", password=PASSWORD
        )


def test_a_token_is_kept_as_a_digest_expires_and_can_be_revoked(member):
    person = member("acme", "tenant_front_line")
    token, secret = api_token_make(actor=person.actor, user=person.user, name="ci", days=1)
    assert secret not in str(ApiToken.objects.values().get(pk=token.pk))
    assert api_token_user(secret).user == person.user
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    with pytest.raises(Unauthenticated):
        api_token_user(secret)
    token, secret = api_token_make(actor=person.actor, user=person.user, name="ci")
    api_token_revoke(actor=person.actor, token=token)
    with pytest.raises(Unauthenticated):
        api_token_user(secret)
    with pytest.raises(Conflict):
        api_token_revoke(actor=person.actor, token=token)


@pytest.mark.parametrize("days", [0, -1, 400])
def test_absurd_token_lives_are_refused(member, days):
    person = member("acme", "tenant_front_line")
    with pytest.raises(InvalidInput):
        api_token_make(actor=person.actor, user=person.user, name="x", days=days)


def test_leaving_a_tenant_ends_the_tokens_for_it(member, acme):
    person = member("acme", "tenant_front_line")
    _token, secret = api_token_make(actor=person.actor, user=person.user, name="x", tenant=acme)
    membership_remove(actor=SYSTEM, user=person.user, tenant=acme)
    with pytest.raises(Unauthenticated):
        api_token_user(secret)


def test_a_join_token_is_spent_once_and_gives_the_node_its_own_credential(operator):
    admin = operator("system_administrator").actor
    _token, secret = join_token_make(actor=admin, note="rack 1")
    credential = join_token_use(actor=SYSTEM, secret=secret, node_uid="n1")
    assert agent_authenticate(credential).node_uid == "n1"
    with pytest.raises(Unauthenticated):
        join_token_use(actor=SYSTEM, secret=secret, node_uid="n2")
    with pytest.raises(Unauthenticated):
        agent_authenticate(secret)


def test_a_node_whose_answer_was_lost_may_ask_again_until_it_has_used_its_credential():
    _token, secret = join_token_make(actor=SYSTEM, note="rack 1")
    lost = join_token_use(actor=SYSTEM, secret=secret, node_uid="n1")
    credential = join_token_use(actor=SYSTEM, secret=secret, node_uid="n1")
    with pytest.raises(Unauthenticated):
        agent_authenticate(lost)
    agent_authenticate(credential)
    with pytest.raises(Unauthenticated):
        join_token_use(actor=SYSTEM, secret=secret, node_uid="n1")


def test_a_revoked_credential_stops_working(operator):
    admin = operator("system_administrator").actor
    _token, secret = join_token_make(actor=admin, note="rack 1")
    credential = join_token_use(actor=SYSTEM, secret=secret, node_uid="n1")
    agent_token_revoke(actor=admin, token=agent_authenticate(credential))
    with pytest.raises(Unauthenticated):
        agent_authenticate(credential)


def test_an_expired_join_token_lets_nobody_in(operator):
    token, secret = join_token_make(actor=operator("system_administrator").actor, note="late")
    AgentToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    with pytest.raises(Unauthenticated):
        join_token_use(actor=SYSTEM, secret=secret, node_uid="n1")


def test_a_password_is_kept_by_argon2_and_one_kept_before_by_pbkdf2_still_enters(member, settings):
    settings.PASSWORD_HASHERS = base.PASSWORD_HASHERS
    person = member("acme", "tenant_front_line", "alice")
    assert User.objects.get(pk=person.user.pk).password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert enter("alice")
    User.objects.filter(pk=person.user.pk).update(password=make_password(PASSWORD, hasher="pbkdf2_sha256"))
    assert enter("alice")
    with pytest.raises(Unauthenticated):
        enter("alice", "another-password-9")
