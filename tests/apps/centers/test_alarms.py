"""A silent centre is an alarm by the ordinary rules (JC-6.1.3-1)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.centers.models import Center
from apps.centers.services.sampling import center_sample_now
from apps.console.alarms.steps import alarm_link, alarm_steps
from apps.console.tasks import watch
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.telemetry.models import Alarm
from apps.telemetry.services.rules import rule_edit

pytestmark = [pytest.mark.django_db, pytest.mark.req("JC-6.1.3-1", "POOL-12.19")]


def open_alarms():
    watch()
    return list(Alarm.objects.exclude(state="resolved").filter(key__startswith="center-silent"))


def test_a_silent_centre_raises_an_alarm_that_its_answer_ends(join):
    join()
    assert open_alarms() == []
    Center.objects.update(answered_at=timezone.now() - timedelta(seconds=90))
    (alarm,) = open_alarms()
    assert (alarm.subject_kind, alarm.subject_id, alarm.level) == ("center", "lake", "major")
    assert alarm_link(alarm) == "/centers/lake/"
    assert alarm_steps(alarm)
    center_sample_now(actor=SYSTEM, ai_center_id="lake")
    assert open_alarms() == []


def test_the_rule_is_narrowed_to_a_centre_that_there_is(join):
    join()
    for subject in ("lake", "Lake"):
        assert rule_edit(actor=SYSTEM, code="center-silent", changes={"subject": subject}).subject == subject
    with pytest.raises(InvalidInput):
        rule_edit(actor=SYSTEM, code="center-silent", changes={"subject": "sea"})
