"""Many tasks that a centre's accounts say nothing of hold up no other's use."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from apps.centers.adapters.base import Ability, CenterBroken, CenterRefused, Quantities, UsageRecord
from apps.centers.models import Center, CenterUsage, RemoteTask
from apps.centers.services.accounts import accounts_follow

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-OPS-38")]
# As many as a centre is asked for at once.
MANY = 500


class Accounts:
    """Accounts that tell of these tasks alone."""

    abilities = frozenset({Ability.USAGE})

    def __init__(self, *rows):
        self.rows = rows

    def usage(self, since):
        for row in self.rows:
            yield UsageRecord(
                key=row.key,
                native_id=row.native_id,
                started_at=row.running_at,
                ended_at=row.state_at,
                quantities=Quantities(cpu=1),
                raw="{}",
            )


def over(key, state, user):
    now = timezone.now()
    return RemoteTask(
        center=Center.objects.get(),
        key=key,
        owner="o",
        account={"user": user},
        state=state,
        state_at=now,
        sent_at=now - timedelta(seconds=60),
        running_at=now - timedelta(seconds=50),
        native_id=key,
    )


def put(user):
    """Tasks of a user that are lost, and after them one of bob's that has run."""
    RemoteTask.objects.bulk_create(over(f"lost-{number}", "lost", user) for number in range(MANY))
    RemoteTask.objects.bulk_create([over("bobs", "succeeded", "bob")])
    RemoteTask.objects.update(created_at=timezone.now() - timedelta(seconds=70))
    return RemoteTask.objects.get(key="bobs")


def test_an_account_that_is_let_in_no_more_holds_up_no_other(join):
    center = join()
    row = put("ann")

    def adapter_of(account):
        if account["user"] == "ann":
            raise CenterRefused("The centre knows no user ann.")
        return Accounts(row)

    with pytest.raises(CenterRefused):
        list(accounts_follow(center, adapter_of, {}))
    assert list(RemoteTask.objects.filter(is_accounted=True)) == [row]


def test_what_is_lost_holds_up_nothing_that_has_run(join):
    center = join()
    row = put("bob")
    assert list(accounts_follow(center, lambda _account: Accounts(row), {})) == []
    assert list(RemoteTask.objects.filter(is_accounted=True)) == [row]


def test_what_was_never_asked_for_is_asked_for_before_it_is_given_up(join):
    """A watch that was away for long asks first."""
    center = join()
    row = put("bob")
    ago = timedelta(days=3)
    RemoteTask.objects.update(
        **{name: F(name) - ago for name in ("created_at", "sent_at", "running_at", "state_at")}
    )
    row.refresh_from_db()
    assert list(accounts_follow(center, lambda _account: Accounts(row), {})) == []
    assert CenterUsage.objects.get().key == "bobs"
    # Those that were asked for at once; of these no more is waited.
    assert RemoteTask.objects.filter(is_accounted=True).count() == MANY


def test_what_was_lost_in_a_long_silence_is_asked_for_since_it_began(join):
    center = join()
    row = put("bob")
    since = []

    class Told(Accounts):
        def usage(self, begin):
            since.append(begin)
            return iter(())

    running_at = timezone.now() - timedelta(days=6)
    RemoteTask.objects.filter(state="lost").update(running_at=running_at)
    list(accounts_follow(center, lambda _account: Told(), {}))
    assert since[0] <= running_at
    assert not CenterUsage.objects.filter(key=row.key).exists()


def test_nonsense_of_one_account_holds_up_no_other_and_all_take_turns(join):
    center = join()
    row = put("ann")
    asked = {}

    class Nonsense(Accounts):
        def usage(self, since):
            raise CenterBroken("It ended before it began.")

    def adapter_of(account):
        return Nonsense() if account["user"] == "ann" else Accounts(row)

    with pytest.raises(CenterBroken):
        list(accounts_follow(center, adapter_of, asked))
    assert list(RemoteTask.objects.filter(is_accounted=True)) == [row]
    assert set(asked) == {(("user", "ann"),), (("user", "bob"),)}
