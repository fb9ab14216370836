"""The same content uploaded again: a digest goes over the network, not the bytes."""

import hashlib

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.execution.cache import UploadCache  # noqa: E402
from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.proxy import Proxy  # noqa: E402
from tests.sessions.served import served  # noqa: E402
from weir_wire.wire import SessionFault  # noqa: E402

MIB = 1 << 20


@pytest.mark.req("ELA-1207")
def test_the_third_time_only_a_digest_is_sent_and_a_changed_byte_all_of_it():
    with served(quota_mib=8) as worker:
        proxy = Proxy(worker.listener.port)
        link = worker.link(port=proxy.port, is_local=False)
        hand = Hand(link)
        batch = torch.randint(0, 256, (MIB,), dtype=torch.uint8)

        def sent_by(tensor) -> tuple[int, int]:
            link.stat()
            before = proxy.carried_bytes
            handle = hand.up(tensor)
            link.stat()
            return handle, proxy.carried_bytes - before

        costs = []
        for _ in range(4):
            handle, cost = sent_by(batch)
            costs.append(cost)
            assert hand.down(handle).equal(batch)
            hand.free(handle)
        assert min(costs[:2]) > MIB
        assert max(costs[2:]) < 4096

        handle, _cost = sent_by(batch)
        hand.run("aten::add_.Scalar", [handle], ["c", 1])
        again, cost = sent_by(batch)
        assert cost < 4096
        assert hand.down(again).equal(batch), "what was remembered does not change with the tensor made of it"

        changed = batch.clone()
        changed[77] ^= 1
        other, cost = sent_by(changed)
        assert cost > MIB
        assert hand.down(other).equal(changed)
        link.close()
        proxy.close()


@pytest.mark.req("ELA-1207", "POOL-7.3b")
def test_what_is_remembered_counts_when_it_is_made_again():
    with served(quota_mib=3) as worker:
        link = worker.link(is_local=False)
        hand = Hand(link)
        batch = torch.ones(MIB, dtype=torch.uint8)
        held = [hand.up(batch) for _ in range(3)]
        over = hand.up(batch)
        with pytest.raises(SessionFault, match="in use of the session's 3 MiB"):
            hand.down(over)
        hand.free(over)
        assert hand.down(held[2]).equal(batch)
        link.close()


def test_the_cache_is_bounded_and_forgets_the_oldest():
    cache = UploadCache(limit_bytes=100)
    digests = []
    for n in range(5):
        data = bytes([n]) * 30
        cache.remember(memoryview(data))
        cache.remember(memoryview(data))
        digests.append(hashlib.sha256(data).digest())
        cache.find(digests[0])
    assert cache.used_bytes <= 100
    assert [cache.find(digest) is not None for digest in digests] == [True, False, False, True, True]
    cache.remember(memoryview(bytes(101)))
    assert cache.used_bytes <= 100
