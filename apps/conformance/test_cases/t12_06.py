from concurrent.futures import ThreadPoolExecutor

from weir import ApiError

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.people import QUOTA, SCHEMA
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase

LIMIT = {"compute_percent": 50, "gpu_memory_mib": 512}


class Quota(TestCase):
    """The tenant's limit: exactly met it succeeds, one more is refused with figures (POOL-12.6).

    It holds the whole tenant to its limit, so nothing of the tenant's runs beside it.
    """

    number = "12.6"
    is_alone = True

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        pool.note("quota", SCHEMA, **QUOTA)
        pool.until("the tenant to hold nothing", lambda: _is_free(pool))
        figures = pool.operator.call("PUT", f"tenants/{SCHEMA}/quota", LIMIT)
        say.step("S1", f"a quota of {LIMIT}", "set", **{row["item"]: row["total"] for row in figures})
        for body in ({"compute_percent": 51, "memory_mib": 512}, {"compute_percent": 50, "memory_mib": 513}):
            refusal = pool.refused(
                lambda body=body: pool.submit(device=device["uid"], **body), "quota_exceeded"
            )
            say.step("S2", f"a task asking {body}", f"{refusal.status} {refusal.code}: {refusal.message}")
            told = all(str(figure) in refusal.message for figure in _figures(body))
            say.expect("E2", told, f"the message names limit and what was asked: {refusal.message}")
        self._race(pool, say, device)

    @staticmethod
    def _race(pool: CaseContext, say: Record, device: dict) -> None:
        """Two that fit one by one, asked for at once: together they cannot pass the limit. Then the exact amount."""
        body = {"device": device["uid"], "compute_percent": 30, "memory_mib": 256}

        def ask(_number: int) -> dict | ApiError:
            try:
                return pool.submit(**body)
            except ApiError as error:
                return error

        with ThreadPoolExecutor(2) as both:
            answers = list(both.map(ask, range(2)))
        refused = [answer for answer in answers if isinstance(answer, ApiError)]
        text = f"{len(refused)} of two tasks of 30 % asked for at once is refused under a limit of 50 %"
        say.expect("E2", [error.code for error in refused] == ["quota_exceeded"], text)
        for answer in answers:
            if isinstance(answer, dict):
                pool.halt(answer)
        pool.until("the quota to be given back", lambda: _is_free(pool))
        exact = pool.started(device=device["uid"], compute_percent=50, memory_mib=512)
        say.step("S2", "a task asking exactly the quota", exact["state"])
        say.expect("E2", exact["state"] == "running", "a task of exactly the quota runs")


def _figures(body: dict) -> tuple[int, int]:
    """Limit and amount that the refusal must name."""
    return (50, 51) if body["compute_percent"] > 50 else (512, 513)


def _is_free(pool: CaseContext) -> bool:
    return all(not row["used"] and not row["in_process"] for row in pool.client.quota())
