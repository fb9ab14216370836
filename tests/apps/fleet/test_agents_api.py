"""The door for agents: who is let in, and how everybody else is refused."""

import json

import pytest

from apps.fleet.models import Device, Node
from apps.fleet.services.nodes.membership import node_remove
from apps.identity.models import AgentToken
from apps.identity.services.tokens import agent_token_revoke, join_token_make
from apps.kernel.actor import SYSTEM
from node_agent.protocol.errors import ErrorReply
from tests.apps.fleet.agent import Agent, desire, device_report, held, report

pytestmark = pytest.mark.req("PLAT-OPS-22")


def refused(response, status, code):
    body = ErrorReply.model_validate_json(response.content)
    assert (response.status_code, body.error.code) == (status, code)
    return body.error


@pytest.mark.req("ELA-102", "POOL-3.2")
def test_joining_makes_the_node_and_its_devices(node):
    row = Node.objects.get()
    assert (row.uid, row.name, row.state, row.info["labels"]) == (node.uid, "n1", "ready", {"zone": "a"})
    device = Device.objects.get()
    assert (device.uid, device.memory_mib, device.reported_mib, device.cores) == ("n1-d0", 8192, 8192, 4)


def test_a_join_token_lets_in_once(node, db):
    _token, secret = join_token_make(actor=SYSTEM, note="")
    assert Agent("n2", token=secret).joined.status_code == 200
    refused(Agent("n3", token=secret).joined, 401, "unauthenticated")
    refused(Agent("n4", token="weirjoin_wrong").joined, 401, "unauthenticated")
    assert set(Node.objects.values_list("name", flat=True)) == {"n1", "n2"}


def test_a_revoked_join_token_lets_nobody_in(db):
    token, secret = join_token_make(actor=SYSTEM, note="")
    agent_token_revoke(actor=SYSTEM, token=token)
    refused(Agent("n2", token=secret).joined, 401, "unauthenticated")


def test_a_revoked_credential_is_refused_and_changes_nothing(node, acme):
    row = desire(acme)
    node.sync()
    before = Node.objects.get().sync_seq
    agent_token_revoke(actor=SYSTEM, token=AgentToken.objects.get(kind="node"))
    refused(node.send(node.message(slices=[report(row, "exited")])), 401, "unauthenticated")
    assert Node.objects.get().sync_seq == before
    assert held() == (20, 1024, False)


def test_without_a_credential_nothing_is_heard(node):
    for credential in ("", "nonsense", "weirnode_" + "x" * 40):
        refused(node.post("sync", node.message().model_dump_json(), credential), 401, "unauthenticated")


@pytest.mark.parametrize("path", ["join", "sync"])
def test_an_unknown_version_is_told_as_such(node, path):
    body = json.dumps({"protocol": 99, "whatever": []})
    error = refused(node.post(path, body, node.credential), 426, "unknown_protocol")
    assert "99" in error.message
    assert error.cure


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nonsense",
        "[]",
        "null",
        '{"protocol": 1}',
        '{"protocol": "1"}',
        '{"protocol": true}',
        "[" * 100_000,
        b"\xff\xfe\x00",
        '{"protocol": NaN}',
    ],
)
def test_a_malformed_message_is_refused_and_changes_nothing(node, body):
    before = Node.objects.values().get()
    for path in ("join", "sync"):
        refused(node.post(path, body, node.credential), 400, "invalid_input")
    assert Node.objects.values().get() == before


def test_a_message_with_one_bad_field_changes_nothing(node, acme):
    row = desire(acme)
    node.sync()
    message = json.loads(node.message(slices=[report(row, "exited")]).model_dump_json())
    message["slices"][0]["delivered_percent"] = -5
    error = refused(node.post("sync", json.dumps(message), node.credential), 400, "invalid_input")
    assert "delivered_percent" in error.message
    message["slices"][0]["delivered_percent"] = 1
    message["surprise"] = 1
    refused(node.post("sync", json.dumps(message), node.credential), 400, "invalid_input")
    assert held() == (20, 1024, False)


def test_a_message_beyond_the_limit_is_refused(node, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    refused(node.send(node.message()), 413, "too_large")


def test_only_post_is_answered(node):
    assert node.client.get("/api/agent/v1/sync").status_code == 405


@pytest.mark.req("ELA-301")
def test_a_node_that_joins_again_is_the_same_node_with_a_new_credential(node, acme):
    row = desire(acme)
    node.sync()
    before = Device.objects.values_list("held_percent", "held_mib").get()
    again = Agent("n1")
    assert again.uid == node.uid
    assert Device.objects.values_list("held_percent", "held_mib").get() == before != (0, 0)
    refused(node.send(node.message()), 401, "unauthenticated")
    assert [wish.slice_uid for wish in again.sync().desired] == [str(row.uid)]
    assert Node.objects.count() == Device.objects.count() == 1


@pytest.mark.req("ELA-301")
def test_another_machine_cannot_take_a_name_or_a_device(node):
    class Stranger(Agent):
        def join_request(self, secret):
            return super().join_request(secret).model_copy(update={"devices": self.strange})

    Stranger.strange = (device_report("other", memory_mib=10),)
    refused(Stranger("n1").joined, 409, "node_name_taken")
    Stranger.strange = (device_report("n1-d0"),)
    refused(Stranger("n9").joined, 409, "device_taken")
    assert Node.objects.count() == Device.objects.count() == 1
    # A refused join spends no token.
    assert AgentToken.objects.filter(kind="join", used_at=None).count() == 2
    node.sync()


def test_the_devices_of_a_removed_node_may_join_elsewhere(node):
    node_remove(actor=SYSTEM, node_uid=node.uid)
    again = Agent("n1")
    assert again.uid != node.uid
    assert Device.objects.get().node.uid == again.uid
