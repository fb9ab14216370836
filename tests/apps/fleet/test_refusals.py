"""What the agents' endpoints refuse, and that a refused message changes nothing; nodes that fall silent."""

import json
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from apps.fleet.errors import DeviceUnavailable
from apps.fleet.models import LogChunk, Node, Slice, Watch
from apps.fleet.services.nodes.node_liveness import nodes_check
from apps.identity.models import AgentToken
from apps.identity.services.tokens import agent_token_revoke
from apps.kernel.actor import SYSTEM
from apps.telemetry.models import Alarm
from tests.apps.fleet.speaking import Speaker, desire, device, interval, printed, report


@pytest.fixture
def node(db):
    return Speaker()


def state():
    slices = list(Slice.objects.across().values_list("uid", "state", "usage_seq", "log_next"))
    return slices, LogChunk.objects.count(), list(Node.objects.values_list("sync_seq", "boot_id", "state"))


def error(answer):
    return answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("broken", "status"),
    [
        (lambda body: "{", 400),
        (lambda body: "[]", 400),
        (lambda body: "[" * 100_000, 400),
        (lambda body: json.dumps({**body, "protocol": 99}), 426),
        (lambda body: json.dumps({**body, "protocol": "one"}), 400),
        (lambda body: json.dumps({**body, "surprise": 1}), 400),
        (lambda body: json.dumps({**body, "seq": -1}), 400),
        (lambda body: json.dumps({**body, "sent_at": "yesterday"}), 400),
        (lambda body: json.dumps({**body, "node": {}}), 400),
        (lambda body: json.dumps(body).replace("half of", "\\ud800"), 400),
        (lambda body: json.dumps(body).replace("half of", "\\u0000"), 400),
    ],
    ids=["cut", "list", "deep", "version", "word", "extra", "negative", "time", "node", "surrogate", "nul"],
)
def test_a_message_that_makes_no_sense_is_refused_whole(node, acme, broken, status):
    row = desire(acme)
    good = node.message(
        slices=[report(row)], usage=[interval(row, 1)], logs=[printed(row, 0, "half of a word")]
    )
    before = state()
    answer = node.post(broken(json.loads(good.model_dump_json())))
    assert (answer.status_code, state()) == (status, before)
    assert error(answer) == ("unknown_protocol" if status == 426 else "invalid_input")
    assert node.post(good).status_code == 200
    assert state() != before


def test_a_revoked_credential_is_refused_at_the_next_message(node, acme):
    row = desire(acme)
    agent_token_revoke(actor=SYSTEM, token=AgentToken.objects.get(kind="node", node_uid=node.uid))
    before = state()
    answer = node.post(node.message(slices=[report(row)]))
    assert (answer.status_code, error(answer), state()) == (401, "unauthenticated", before)


@pytest.mark.parametrize("credential", ["weirnode_made-up", "x"])
def test_a_credential_nobody_gave_is_refused(node, credential):
    assert node.post(node.message(), credential=credential).status_code == 401


def silent(node, seconds=None):
    """Nothing was heard of the node for so long while somebody listened."""
    seconds = seconds or settings.WEIR_NODE_LOST_AFTER_S + 1
    now = timezone.now()
    Node.objects.filter(uid=node.uid).update(last_seen_at=now - timedelta(seconds=seconds))
    Watch.objects.update_or_create(
        is_only=True, defaults={"checked_at": now, "listening_since_at": now - timedelta(hours=2)}
    )


def test_a_silent_node_is_an_alarm_and_its_work_unvouched_until_it_returns(node, acme):
    row = desire(acme, percent=40)
    node.say(slices=[report(row)])
    silent(node)
    assert nodes_check(actor=SYSTEM).lost_nodes == 1
    assert nodes_check(actor=SYSTEM).lost_nodes == 0
    row = Slice.objects.of(acme).select_related("node").get()
    assert (row.state, row.is_vouched, row.node.state) == ("running", False, "lost")
    assert device().held_percent == 40
    assert [(alarm.state, alarm.subject_id) for alarm in Alarm.objects.all()] == [("firing", node.uid)]
    # The agent was restarted and found its work still running: adopted, not started a second time.
    reply = node.say(boot_id="e" * 32, seq=1, slices=[report(row)])
    row = Slice.objects.of(acme).select_related("node").get()
    assert (row.state, row.is_vouched, row.node.state) == ("running", True, "ready")
    assert [(one.slice_uid, one.generation) for one in reply.desired] == [(str(row.uid), row.generation)]
    assert [alarm.state for alarm in Alarm.objects.all()] == ["resolved"]
    silent(node)
    nodes_check(actor=SYSTEM)
    assert Alarm.objects.count() == 2


def test_a_node_that_was_heard_is_not_missed(node):
    silent(node, seconds=settings.WEIR_NODE_LOST_AFTER_S - 2)
    assert nodes_check(actor=SYSTEM).lost_nodes == 0


def test_a_lost_node_takes_no_new_work(node, acme):
    silent(node)
    nodes_check(actor=SYSTEM)
    with pytest.raises(DeviceUnavailable):
        desire(acme)
    assert device().held_percent == 0
