from collections.abc import Iterator
from itertools import pairwise

from weir import ApiError

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import CaseFailed, NotRun, Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import CHECKSUM, Script, session, session_of
from apps.conformance.test_cases.waiting import node_ready
from apps.conformance.test_cases.work_observation import devices_of, nodes_of

STEPS = 400


class Migration(TestCase):
    """A running script's share moves to another node; its sums stay those of an unmoved run (POOL-12.23)."""

    number = "12.23"
    seconds = 45

    def run(self, pool: CaseContext, say: Record) -> None:
        source, target = self._pair(pool)
        body = {"compute_percent": 60, "memory_mib": 512, "device": source["uid"]}
        work, shares = session(pool, **body)
        script = Script(pool, CHECKSUM, shares, STEPS=str(STEPS), REST="0.02")
        script.says("SUM 50 ")
        say.step(
            "S1", f"a task on {source['node']}", f"process {script.pid} computes", **_place(pool.work(work))
        )
        asked_step = int(script.sums()[-1][0])
        pool.client.post(f"workloads/{work['uid']}/migrate", {"device": target["uid"]})
        say.step("S2", f"hot migration to {target['node']} at step {asked_step}", "accepted")
        moved = pool.until("the task to be moved", lambda: self._moved(pool, work, target))
        at_step = int(script.sums()[-1][0])
        script.says("MOVED", patience_s=600)
        self._watched(pool, say, script, work, moved, (asked_step, at_step))
        self._equal(pool, say, script)
        self._freed(pool, say, source)
        self._refusals(pool, say, work, source)
        script.finish()

    @staticmethod
    def _pair(pool: CaseContext) -> tuple[dict, dict]:
        """Two cards of one model and driver on two nodes, as the standard demands."""
        kinds = {(row["model"], row["driver_version"]) for row in pool.operator.all("devices")}
        for model, driver in sorted(kinds):
            try:
                source, target = pool.take(
                    2,
                    nodes=2,
                    fits=lambda row, model=model, driver=driver: (
                        (row["model"], row["driver_version"]) == (model, driver)
                    ),
                )
            except NotRun:
                continue
            return source, target
        raise NotRun("needs two nodes with cards of the same model and driver")

    @staticmethod
    def _moved(pool: CaseContext, work: dict, target: dict) -> dict | None:
        found = pool.work(work)
        if found["state"] in ("failed", "lost", "finished"):
            raise CaseFailed(f"the task is {found['state']}: {found['reason']}")
        return found if devices_of(found) == [target["uid"]] else None

    @staticmethod
    def _watched(
        pool: CaseContext, say: Record, script: Script, work: dict, moved: dict, steps: tuple[int, int]
    ) -> None:
        rows = script.sums()
        gaps = [float(b[2]) - float(a[2]) for a, b in pairwise(rows)]
        usual = sorted(gaps)[len(gaps) // 2]
        processes = {row[3] for row in rows}
        found = next(iter(session_of(pool, work)), {})
        say.step(
            "S3",
            "the task during migration",
            f"longest pause {max(gaps) * 1000:.0f} ms, usually {usual * 1000:.0f} ms between lines",
            pause_ms=found.get("pause_ms"),
            steps=list(steps),
        )
        went_on = int(rows[-1][0]) == STEPS and processes == {str(script.pid)}
        say.expect(
            "E2", went_on, f"all {STEPS} steps were computed by the one process {', '.join(processes)}"
        )
        say.expect(
            "E3", True, f"it is on {', '.join(nodes_of(moved))} now, card {', '.join(devices_of(moved))}"
        )

    @staticmethod
    def _equal(pool: CaseContext, say: Record, script: Script) -> None:
        script.says("DONE", patience_s=600)
        mine, right = ([row[:2] for row in script.sums(word)] for word in ("SUM", "HERE"))
        same = mine == right
        say.expect(
            "E2", same, f"its {len(mine)} sums are those of a run that never moved, the last {right[-1][1]}"
        )

    @staticmethod
    def _freed(pool: CaseContext, say: Record, source: dict) -> None:
        pool.until("the source to be free", lambda: not pool.device(source["uid"])["held_percent"])
        say.expect("E3", True, f"the card of {source['node']} is free again")

    @staticmethod
    def _refusals(pool: CaseContext, say: Record, work: dict, source: dict) -> None:
        """Targets that may not be are refused, each with its reason."""
        for what, target in _bad_targets(pool, source):
            try:
                pool.client.post(f"workloads/{work['uid']}/migrate", target)
            except ApiError as refusal:
                say.step("S2", f"migration to {what}", f"{refusal.code}: {refusal.message}")
                say.expect("E3", True, f"{what} is refused: {refusal.message}")
            else:
                say.expect("E3", False, f"{what} was accepted as a target")


def _bad_targets(pool: CaseContext, source: dict) -> Iterator[tuple[str, dict]]:
    """A card of another model, a disabled card and a disabled node, each as it is when its turn comes."""
    other = next((row for row in pool.operator.all("devices") if row["model"] != source["model"]), None)
    if other is not None:
        yield f"another model, {other['model']}", {"device": other["uid"]}
    node = node_ready(pool, pool.agent(devices="1x1:512").name)
    card = next(row for row in pool.operator.all("devices", node=node["uid"]))
    pool.operator.post(f"devices/{card['uid']}/disable")
    yield "a disabled card", {"device": card["uid"]}
    pool.operator.post(f"devices/{card['uid']}/enable")
    pool.operator.post(f"nodes/{node['uid']}/drain")
    yield "a disabled node", {"node": node["uid"]}


def _place(work: dict) -> dict:
    return {"nodes": nodes_of(work), "cards": devices_of(work)}
