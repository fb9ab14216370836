from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import why_not

NAMES = ("vendor", "model", "memory_mib", "health", "is_enabled", "is_sliced")


class Devices(TestCase):
    """Cards are listed, switched between the classes, enabled and disabled (POOL-12.16)."""

    number = "12.16"

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        pool.device_kept(device)
        uid = device["uid"]
        shown = {name: pool.device(uid).get(name) for name in NAMES}
        say.step("S1", "the list of cards", f"{len(list(pool.operator.all('devices')))} cards", **shown)
        say.expect("E2", None not in shown.values(), f"a card is shown with {', '.join(NAMES)}")
        self._switch(pool, say, uid)
        body = {"device": uid, "compute_percent": 10, "memory_mib": 256}
        pool.operator.post(f"devices/{uid}/disable")
        is_off = not pool.device(uid)["is_enabled"]
        say.step("S3", "the card disabled", "disabled" if is_off else "still enabled")
        reason = why_not(pool, **body)
        say.expect("E2", bool(reason), f"disabled, the card takes no new task: {reason}")
        pool.operator.post(f"devices/{uid}/enable")
        work = pool.started(**body)
        say.step("S3", "the card enabled, a task on it", work["state"])
        say.expect("E2", is_off and work["state"] == "running", "disabled it takes no work, enabled it does")
        self._audited(pool, say, uid)

    @staticmethod
    def _switch(pool: CaseContext, say: Record, uid: str) -> None:
        for act, is_sliced in (("unslice", False), ("slice", True)):
            pool.operator.post(f"devices/{uid}/{act}")
            now = pool.device(uid)["is_sliced"]
            say.step("S2", f"virtualisation {'on' if is_sliced else 'off'}", "on" if now else "off")
            say.expect("E2", now == is_sliced, f"virtualisation is {'on' if now else 'off'}")

    @staticmethod
    def _audited(pool: CaseContext, say: Record, uid: str) -> None:
        rows = pool.operator.get("audit/acts", search=uid)["results"]
        acts = {row["name"] for row in rows}
        wanted = {"device_disable", "device_enable", "device_slicing_set"}
        say.expect("E2", wanted <= acts, f"the operation log keeps {', '.join(sorted(acts & wanted))}")
