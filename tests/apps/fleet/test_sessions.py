"""Sessions: keys of their own, what their worker reports, and how a client gets there (POOL-12.3)."""

import pytest

from apps.fleet.models import Slice
from apps.fleet.selectors import session_connection_get, session_list
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.fleet.session_keys import seal, unseal
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from tests.apps.fleet.agent import desire, fresh, report, session_desire, session_report

pytestmark = pytest.mark.req("POOL-12.3")


def test_a_session_has_a_key_of_its_own_that_only_its_node_is_told(node, acme):
    one, two = session_desire(acme), session_desire(acme, idle_timeout_s=30, driver="session")
    program = desire(acme)
    wishes = {wish.slice_uid: wish for wish in node.sync().desired}
    keys = [wishes[str(row.uid)].session.token for row in (one, two)]
    assert len(set(keys)) == 2
    assert all(len(key) >= 43 for key in keys)
    assert wishes[str(program.uid)].session is None
    work = wishes[str(two.uid)].work
    assert (work.kind, work.argv, work.idle_timeout_s) == ("session", (), 30)
    assert wishes[str(two.uid)].driver == "session"
    assert [unseal(row.session_key) for row in (one, two)] == keys
    assert not any(key in str(row) for key in keys for row in Slice.plain.values())


def test_a_key_sealed_with_a_lost_secret_opens_nothing(settings):
    sealed = seal("the key of a session")
    assert seal("the key of a session") != sealed
    old = settings.SECRET_KEY
    settings.SECRET_KEY = "another secret key of the portal"
    assert unseal(sealed) == ""
    settings.SECRET_KEY_FALLBACKS = [old]
    assert unseal(sealed) == "the key of a session"


@pytest.mark.req("ELA-408")
def test_a_client_is_led_to_each_share_once_its_worker_listens(node, acme):
    row = session_desire(acme)
    (before,) = session_connection_get(row.workload_uid)
    assert not before.is_open
    seen = {
        "attached": True,
        "transport": "tcp",
        "bandwidth_mib_s": 900.5,
        "latency_us": 80.0,
        "operators": 7,
    }
    node.sync(slices=[session_report(row, **seen)])
    (there,) = session_connection_get(row.workload_uid)
    assert (there.host, there.port, there.fingerprint, there.index) == ("10.0.0.1", 4000, "ab" * 32, 0)
    assert there.token == unseal(row.session_key)
    assert there.is_open
    assert fresh(row).session | seen == fresh(row).session
    assert list(session_list()) == [row]
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="")
    assert session_connection_get(row.workload_uid) == []


def test_a_program_is_no_session_and_a_session_runs_no_program(node, acme):
    row = desire(acme)
    assert session_connection_get(row.workload_uid) == []
    with pytest.raises(InvalidInput):
        desire(acme, kind="session")
    with pytest.raises(InvalidInput):
        desire(acme, work={})
    with pytest.raises(InvalidInput):
        session_desire(acme, idle_timeout_s=0)


@pytest.mark.req("POOL-7.6c")
def test_held_is_not_mounted_until_the_node_says_so(node, acme):
    row = session_desire(acme)
    node.sync(slices=[report(row, driver="session")])
    assert (fresh(row).is_mounted, fresh(row).driver_enforced) == (False, "session")
    node.sync(slices=[report(row, mounted=True)])
    assert fresh(row).is_mounted
