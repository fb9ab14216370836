from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import BEGIN_APART, NETWORKS, Script, session, transports
from apps.conformance.test_cases.work_observation import devices_of, nodes_of

ALL = (
    BEGIN_APART
    + """
torch.set_num_threads(1)
count = int(os.environ['SHARES'])
x = torch.arange(4096.0).reshape(64, 64) / 4096
parts = [(x.to(f'weir:{i}') * (i + 1)) @ x.to(f'weir:{i}') for i in range(count)]
sums = [float(p.cpu().double().sum()) for p in parts]
right = [float(((x * (i + 1)) @ x).double().sum()) for i in range(count)]
print('RESULT', json.dumps({'count': count, 'devices': [str(p.device) for p in parts], 'sums': sums, 'right': right}),
      flush=True)
until = time.time() + 120
while time.time() < until and not os.path.exists(os.environ['STOP']):
    for p in parts:
        for _ in range(20): q = p @ p
    float(q[0, 0])
print('DONE', flush=True)
"""
)


class Aggregation(TestCase):
    """One script has more cards than one node holds, all of them at once (POOL-12.4)."""

    number = "12.4"
    seconds = 30

    def run(self, pool: CaseContext, say: Record) -> None:
        devices = pool.take(3, nodes=2)
        group = pool.group(devices)
        body = {"resource_group": group, "shares": 3, "distinct_devices": True}
        body |= {"compute_percent": 20, "memory_mib": 256}
        work, shares = session(pool, **body)
        found = pool.work(work)
        say.step(
            "S1", "three cards of two nodes for one script", ", ".join(nodes_of(found)), shares=len(shares)
        )
        spread = len(set(nodes_of(found))) >= 2 and len(set(devices_of(found))) == 3
        say.expect("E2", spread, f"three cards of {' and '.join(sorted(set(nodes_of(found))))} are granted")
        script = Script(pool, ALL, shares, SHARES=str(len(shares)))
        seen = script.result()
        use = self._watch(pool, script, work)
        ways = transports(pool, work)
        script.finish()
        say.step("S2", "the use of each card", ", ".join(f"{node} {percent} %" for node, percent in use))
        right = seen["count"] == 3 and seen["sums"] == seen["right"]
        say.expect("E2", right, f"the script has {', '.join(seen['devices'])}; each computed what it should")
        over_network = len(ways) == 3 and set(ways) <= set(NETWORKS)
        say.expect("E2", over_network, f"the script reaches them by {', '.join(ways)}, over the network")
        say.expect("E2", all(percent > 0 for _node, percent in use), f"work reached all of them: {use}")
        pool.halt(work)
        self._whole(pool, say, group)

    @staticmethod
    def _watch(pool: CaseContext, script: Script, work: dict) -> list[tuple[str, float]]:
        """The highest use of each card while the script computes: until all are used, or its time is over."""
        peaks: dict[str, tuple[str, float]] = {}
        while script.is_alive and not (peaks and all(percent > 0 for _node, percent in peaks.values())):
            for grant in pool.work(work)["grants"]:
                old = peaks.get(grant["device_uid"], ("", 0.0))[1]
                peaks[grant["device_uid"]] = (grant["node"], max(old, float(grant["delivered_percent"] or 0)))
            pool.sleep(0.5)
        return list(peaks.values())

    @staticmethod
    def _whole(pool: CaseContext, say: Record, group: str) -> None:
        """All shares are granted together or none: with one card taken, three of three wait."""
        holder = pool.started(resource_group=group, compute_percent=100, memory_mib=256)
        work = pool.submit(
            resource_group=group, shares=3, distinct_devices=True, compute_percent=20, memory_mib=256
        )
        waiting = pool.considered(work)
        text = f"{waiting['state']} with {len(waiting['grants'])} grants: {waiting['reason']}"
        say.step("S1", "three cards where only two are free", text)
        say.expect(
            "E2", waiting["state"] == "pending" and not waiting["grants"], f"all together or none: {text}"
        )
        pool.halt(work)
        pool.halt(holder)
