"""What operators choose reaches the engine: each setting it reads can be set on the page and over the API."""

from dataclasses import fields

import pytest

from apps.kernel.actor import SYSTEM
from apps.scheduling.api.serializers.queues import PolicyIn, PolicyOut
from apps.scheduling.engine.model.types import Ordering, Placing, Policy
from apps.scheduling.forms.queues import PolicyForm
from apps.scheduling.services.queues.queue_settings import policy_set
from apps.scheduling.snapshot.cluster import policy_read
from apps.scheduling.views.queues.queues import POLICY_SECTIONS

# None of them is what the engine takes where nothing is said.
OTHERS = {
    "placing": Placing.NODE_COMPACT.value, "ordering": Ordering.PRIORITY.value, "has_backfill": False,
    "reserved_starts": 3, "patience_s": 60, "aging_s": 30, "has_preemption": True, "has_reclaim": False,
    "grace_s": 7, "min_run_s": 11, "max_preemptions": 2, "consolidates": True, "max_moves": 9,
    "grows_elastic": False, "hysteresis_s": 13, "half_life_s": 3600, "ahead_s": 17,
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.req("PLAT-AICFG-18", "POOL-12.27")
def test_every_setting_of_the_engine_can_be_chosen_by_operators():
    policy_set(actor=SYSTEM, changes=OTHERS)
    told, default = policy_read(), Policy()
    unset = [each.name for each in fields(Policy) if getattr(told, each.name) == getattr(default, each.name)]
    assert unset == []


def test_page_and_api_have_the_same_settings():
    on_page = {name for _, names in POLICY_SECTIONS for name in names}
    assert on_page == set(PolicyForm.base_fields) - {"mark"}
    # What direct work is charged as is set by an act of its own.
    assert on_page | {"direct_commodity"} == set(PolicyIn().fields) == set(PolicyOut().fields)
    assert set(OTHERS) <= on_page
