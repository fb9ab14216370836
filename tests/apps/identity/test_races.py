"""Things that happen at the same time, on real connections."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connection

from apps.identity.models import OperatorOrganization, User
from apps.identity.services.operator_organizations import (
    operator_organization_create,
    operator_organization_update,
)
from apps.identity.services.password_reset import link_of, password_reset_ask, password_reset_use
from apps.identity.services.tokens import join_token_make, join_token_use
from apps.identity.services.users import LOCK_AFTER
from apps.kernel.actor import ANONYMOUS, SYSTEM
from apps.kernel.errors import InvalidInput, NotFound, Throttled, Unauthenticated


def test_of_parallel_uses_of_one_join_token_exactly_one_wins(committed):
    _token, secret = join_token_make(actor=SYSTEM, note="race")

    def use(number):
        try:
            return join_token_use(actor=SYSTEM, secret=secret, node_uid=f"n{number}")
        except Unauthenticated:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        won = [found for found in pool.map(use, range(8)) if found]
    assert len(won) == 1


def test_of_parallel_uses_of_one_reset_link_exactly_one_wins(committed, member):
    user = User.objects.get(pk=member("acme", "tenant_front_line", "bob").user.pk)
    secret = link_of(user).secret

    def use(number):
        try:
            password_reset_use(actor=ANONYMOUS, secret=secret, new_password=f"own-word-number-{number}")
        except NotFound:
            return None
        finally:
            connection.close()
        return number

    with ThreadPoolExecutor(4) as pool:
        won = [found for found in pool.map(use, range(8)) if found is not None]
    assert len(won) == 1
    user.refresh_from_db()
    assert user.check_password(f"own-word-number-{won[0]}")


def test_asked_in_parallel_no_more_mails_go_than_one_after_another(committed, settings):
    settings.WEIR_EMAIL_URL = "smtp://mail.example.org"

    def ask(_number):
        try:
            password_reset_ask(
                actor=ANONYMOUS,
                account="bob",
                schema="",
                address="192.0.2.1",
                portal="http://x/",
                language="en",
            )
        except Throttled:
            return 0
        finally:
            connection.close()
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ask, range(LOCK_AFTER + 5))) == LOCK_AFTER


def test_two_moves_at_once_close_no_circle(committed):
    first, second = (operator_organization_create(actor=SYSTEM, name=name) for name in ("One", "Two"))

    def move(pair):
        row, parent = pair
        try:
            operator_organization_update(actor=SYSTEM, organization=row, name=row.name, parent=parent)
        except InvalidInput:
            return 0
        finally:
            connection.close()
        return 1

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(move, [(first, second), (second, first)])) == 1
    assert OperatorOrganization.objects.filter(parent=None).count() == 1
