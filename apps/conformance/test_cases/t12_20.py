import time

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.upgrading import Releases, component, rolled, versions
from apps.conformance.test_cases.waiting import node_ready

WANTED = {"web", "worker", "beat", "agent"}
# A process tells of itself once it has started, which takes a busy machine a while.
STARTED_S = 45.0


class Components(TestCase):
    """Components are seen, upgraded and configured on one node and on two; a bad release goes back (POOL-12.20)."""

    number = "12.20"
    has_work = False
    seconds = 60

    def run(self, pool: CaseContext, say: Record) -> None:
        self._state(pool, say)
        releases = Releases(pool)
        agents = [pool.agent(devices="1x1:512", release_gate_s="120") for _node in range(2)]
        nodes = [node_ready(pool, a.name) for a in agents]
        names, uids = [row["name"] for row in nodes], [row["uid"] for row in nodes]
        self._upgrade(pool, say, releases, names, uids)
        self._configure(pool, say, names, uids)
        self._back(pool, say, releases, names[0], uids[0])

    @staticmethod
    def _state(pool: CaseContext, say: Record) -> None:
        until_s = time.monotonic() + STARTED_S
        while True:
            rows = list(pool.operator.all("components"))
            kinds = {row["component"] for row in rows}
            if kinds >= WANTED or time.monotonic() > until_s:
                break
            pool.sleep(1)
        say.step("S1", "the list of components", f"{len(rows)} of {len(kinds)} kinds")
        states = ", ".join(sorted({f"{row['component']} {row['version']} {row['state']}" for row in rows}))
        say.step("S2", "their versions and states", states)
        say.expect("E2", kinds >= WANTED, f"shown are {', '.join(sorted(kinds))}")
        say.expect("E2", all(row["state"] for row in rows), "each tells its state")

    @staticmethod
    def _upgrade(pool: CaseContext, say: Record, releases: Releases, names: list, uids: list) -> None:
        before = versions(pool, *names)
        one, both = releases.add(f"{pool.label}-1"), releases.add(f"{pool.label}-2")
        found = rolled(pool, release=one, nodes=uids[:1])
        after = versions(pool, *names)
        old, new = before[names[0]], after[names[0]]
        text = f"{found['state']}: {names[0]} from {old} to {new}, {names[1]} stays {after[names[1]]}"
        say.step("S3", f"release {one} on one node", text)
        say.expect("E3", after == {names[0]: one, names[1]: before[names[1]]}, f"on one node: {text}")
        found = rolled(pool, release=both, nodes=uids, batch=2)
        after = versions(pool, *names)
        say.step("S3", f"release {both} on both nodes in batch", f"{found['state']}: {after}")
        say.expect("E3", set(after.values()) == {both}, f"in batch: {found['state']}, {after}")

    @staticmethod
    def _configure(pool: CaseContext, say: Record, names: list, uids: list) -> None:
        for count, config in ((1, {"log_level": "debug"}), (2, {"log_level": "warning", "meter_s": 2})):
            found = rolled(pool, config=config, nodes=uids[:count], batch=count)
            rows = [component(pool, name) for name in names[:count]]
            told = ", ".join(f"{row['name']} runs generation {row['config_generation']}" for row in rows)
            say.step("S4", f"{config} on {count} node{'s' * (count > 1)}", f"{found['state']}: {told}")
            met = all(row["config_generation"] == row["wanted_generation"] > 0 for row in rows)
            held = all(config.items() <= row["config"].items() for row in rows)
            say.expect("E4", found["state"] == "done" and met and held, f"{config} arrived: {told}")

    @staticmethod
    def _back(pool: CaseContext, say: Record, releases: Releases, name: str, uid: str) -> None:
        """A release that cannot start is rolled back and reported; one with a wrong signature gets in nowhere."""
        refusal = releases.forged(f"{pool.label}-forged")
        say.expect("E3", bool(refusal), f"a wrong signature is refused: {refusal}")
        before = versions(pool, name)[name]
        bad = releases.add(f"{pool.label}-bad", is_broken=True)
        found = rolled(pool, release=bad, nodes=[uid])
        after = pool.until("the node to be back", lambda: versions(pool, name).get(name))
        reason = "; ".join(step["reason"] for step in found["steps"] if step["reason"]) or found["reason"]
        say.step("S3", "a release that cannot start", f"{found['state']}: {reason}")
        met = found["state"] == "rolled_back" and after == before and bool(reason)
        say.expect("E3", met, f"it is rolled back to {after} and reported: {reason}")
