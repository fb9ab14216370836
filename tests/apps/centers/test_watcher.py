"""The processes that watch centres: each centre is asked by one of them, and the other takes over when it dies."""

import os

import pytest
from django.utils import timezone

from apps.centers.models import Center, CenterSample
from apps.centers.services.centers import center_remove
from apps.kernel.actor import SYSTEM
from tests.apps.centers.telling import until


@pytest.mark.req("JC-6.1.3-1", "JC-5a", "JC-6.5-2")
def test_one_process_asks_a_centre_and_the_other_takes_over_when_it_is_killed(crew, join, telling):
    join()
    telling.say(used={"gpu": 1})
    first = crew()
    until(lambda: CenterSample.objects.get().used_gpu == 1)
    second = crew()
    # Long enough for the second to have asked, did it not wait for the lock.
    begun = len(telling.calls)
    until(lambda: len(telling.calls) >= begun + 3)
    assert {call.split()[1] for call in telling.calls[1:] if call.split()[1] != str(os.getpid())} == {
        str(first.pid)
    }
    first.kill()
    telling.say(used={"gpu": 2})
    until(lambda: CenterSample.objects.get().used_gpu == 2)
    assert telling.calls[-1].split()[1] == str(second.pid)
    joined = join("sea", facts={"name": "Sea"})
    was = CenterSample.objects.get(center=joined).asked_at
    until(lambda: CenterSample.objects.get(center=joined).asked_at > was)
    telling.say(trouble="broken")
    until(lambda: set(Center.objects.values_list("status", flat=True)) == {2})
    for code in ("lake", "sea"):
        center_remove(actor=SYSTEM, ai_center_id=code)
    second.terminate()
    assert second.wait(timeout=30) == 0


def test_a_slow_centre_holds_up_no_other_and_no_transaction(crew, join, telling, tmp_path):
    slow = type(telling)(tmp_path / "slow.json").say()
    join("slow", settings={"address": str(slow.path)})
    join()
    slow.say(slow_s=15)
    crew()
    began = timezone.now()
    until(lambda: len(slow.calls) >= 3)
    until(lambda: CenterSample.objects.get(center__ai_center_id="lake").asked_at > began)
    assert CenterSample.objects.get(center__ai_center_id="slow").asked_at < began
