from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import devices_of


class DualPool(TestCase):
    """Physical cards and virtual resources are two classes, and a card changes between them (POOL-12.15)."""

    number = "12.15"
    seconds = 15

    def run(self, pool: CaseContext, say: Record) -> None:
        whole, sliced = pool.take(2)
        for device in (whole, sliced):
            pool.device_kept(device)
        group = pool.group([whole, sliced])
        pool.operator.post(f"devices/{whole['uid']}/unslice")
        state = pool.device(whole["uid"])
        say.step("S1", f"virtualisation of {whole['uid']} off", _word(state))
        say.expect("E2", not state["is_sliced"], f"{whole['uid']} is a {_word(state)}")
        # Off and on again, so that it is really switched.
        pool.operator.post(f"devices/{sliced['uid']}/unslice")
        pool.operator.post(f"devices/{sliced['uid']}/slice")
        state = pool.device(sliced["uid"])
        say.step("S2", f"virtualisation of {sliced['uid']} on", _word(state))
        say.expect("E2", state["is_sliced"], f"{sliced['uid']} is a {_word(state)}")
        card = pool.started(
            resource_group=group, whole_cards=True, compute_percent=100, memory_mib=whole["memory_mib"]
        )
        part = pool.started(resource_group=group, compute_percent=30, memory_mib=256)
        landed = (devices_of(card), devices_of(part))
        say.step("S3", "a whole card and a share of 30 %", f"on {landed[0]} and {landed[1]}")
        text = f"the whole card is {landed[0]}, the share is of {landed[1]}"
        say.expect("E3", landed == ([whole["uid"]], [sliced["uid"]]), text)
        used = [pool.device(device["uid"]) for device in (whole, sliced)]
        held = " and ".join(f"{row['held_percent']} %" for row in used)
        say.expect("E3", all(row["held_percent"] for row in used), f"both are shown as used: {held}")
        self._busy(pool, say, sliced)

    @staticmethod
    def _busy(pool: CaseContext, say: Record, device: dict) -> None:
        refusal = pool.refused(lambda: pool.operator.post(f"devices/{device['uid']}/unslice"))
        say.step("S2", "switching a card that is in use", f"{refusal.code}: {refusal.message}")
        say.expect(
            "E2", pool.device(device["uid"])["is_sliced"], f"a card in use is not switched: {refusal.message}"
        )


def _word(device: dict) -> str:
    return "virtual resource" if device["is_sliced"] else "physical card"
