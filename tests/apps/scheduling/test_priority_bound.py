"""What a tenant's user may name as priority where no operator has said anything (S20)."""

import pytest

from apps.identity.models import User
from apps.scheduling.errors import PriorityNotAllowed
from apps.scheduling.models.entitlements import MEMBER_MOST_PRIORITY, UserPriority
from apps.scheduling.services.workloads.admission import priority_of

pytestmark = pytest.mark.django_db


def test_a_member_is_bounded_and_an_operator_is_not(member, operator):
    """S20: any tenant's user might put his work before everybody else's with priority 1000."""
    alice, ops = member("acme", "tenant_front_line").actor, operator("operations_manager").actor
    assert priority_of(alice, None) == 0
    assert priority_of(alice, MEMBER_MOST_PRIORITY) == MEMBER_MOST_PRIORITY
    with pytest.raises(PriorityNotAllowed):
        priority_of(alice, MEMBER_MOST_PRIORITY + 1)
    assert priority_of(ops, 1000) == 1000


def test_what_an_operator_says_of_a_user_takes_its_place(member):
    """S20: the default bounds nobody who was given more."""
    alice = member("acme", "tenant_front_line").actor
    UserPriority.objects.create(user=User.objects.get(pk=alice.user_id), priority=5, most_priority=900)
    assert priority_of(alice, None) == 5
    assert priority_of(alice, 900) == 900
