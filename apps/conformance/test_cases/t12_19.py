from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.people import OPERATOR, OPERATOR_ROLE
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase

ADDRESS = f"{OPERATOR}@example.org"
HIGH_W = 1_000_000
RULE = {"metric": "pool_power", "comparison": "ge", "threshold": 0, "severity": "minor", "for_s": 0}


class Alarms(TestCase):
    """A rule on power use fires, is told in-site and by e-mail, is edited and disabled (POOL-12.19)."""

    number = "12.19"
    has_work = False
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        self._routes(pool, say)
        code = _rule(pool)
        alarm = pool.until("the alarm", lambda: _firing(pool, code))
        say.step("S1", f"rule {code} on power use: {RULE}", alarm["title"], fired_at=alarm["fired_at"])
        self._records(pool, say, code, alarm)
        self._delivered(pool, say, alarm)
        self._edited(pool, say, code, alarm)

    @staticmethod
    def _routes(pool: CaseContext, say: Record) -> None:
        for channel in ("in_site", "email"):
            name = pool.name("route")
            pool.note("alarm route", name)
            body = {"name": name, "channel": channel, "severities": ["minor"]}
            body |= {"roles": [OPERATOR_ROLE]} if channel == "in_site" else {"addresses": [ADDRESS]}
            made = pool.operator.post("alarm-routes", body)
            say.step(
                "S4", f"notification of minor alarms by {channel}", str(made["addresses"] or made["roles"])
            )
            found = next(
                (row for row in pool.operator.all("alarm-routes") if row["uid"] == made["uid"]), None
            )
            say.expect("E4", bool(found and found["is_enabled"]), f"a route by {channel} is configured")

    @staticmethod
    def _records(pool: CaseContext, say: Record, code: str, alarm: dict) -> None:
        mine = list(pool.operator.all("alarms", rule=code))
        others = list(pool.operator.all("alarms", rule=code, level="critical"))
        detail = pool.operator.get(f"alarms/{alarm['uid']}")
        say.step("S2", f"alarms of rule {code}, all and critical", f"{len(mine)} and {len(others)}")
        fits = bool(mine) and all(row["rule"] == code for row in mine) and not others
        say.expect(
            "E2", fits, f"the filter gives {len(mine)} records of this rule and {len(others)} critical ones"
        )
        say.expect("E2", detail["uid"] == alarm["uid"], f"its details: {detail['title']}")

    @staticmethod
    def _delivered(pool: CaseContext, say: Record, alarm: dict) -> None:
        def look() -> dict | None:
            rows = list(pool.operator.all("alarm-deliveries", alarm=alarm["uid"]))
            # Other routes of this portal may tell other people, or fail to: they are not the test's.
            mine = [row for row in rows if row["roles"] == [OPERATOR_ROLE] or row["addresses"] == [ADDRESS]]
            sent = {row["channel"]: row for row in mine if row["state"] == "sent"}
            return sent if {"in_site", "email"} <= set(sent) else None

        sent = pool.until("both notifications", look)
        say.step("S4", "who was told", ", ".join(f"{name} at {row['sent_at']}" for name, row in sent.items()))
        say.expect("E4", True, "the alarm was told in-site and by e-mail")
        texts = [f"{row}" for row in pool.operator.get("messages")["results"]]
        found = any(alarm["title"] in text for text in texts)
        say.expect("E4", found, f"{OPERATOR} has the in-site message: {alarm['title']}")

    @staticmethod
    def _edited(pool: CaseContext, say: Record, code: str, alarm: dict) -> None:
        """A higher threshold ends the alarm, the old one brings it back, disabled the rule is silent."""
        pool.operator.call("PATCH", f"alarm-rules/{code}", {"threshold": HIGH_W})
        pool.until("the alarm to end", lambda: _firing(pool, code) is None)
        say.step("S3", f"threshold {HIGH_W} W", "the alarm has ended")
        say.expect("E3", True, "the edited threshold holds: the alarm has ended")
        pool.operator.call("PATCH", f"alarm-rules/{code}", {"threshold": 0})
        again = pool.until("the alarm again", lambda: _firing(pool, code))
        say.step("S3", "threshold 0 W again", again["title"])
        pool.operator.call("PATCH", f"alarm-rules/{code}", {"is_enabled": False})
        pool.until("silence", lambda: _firing(pool, code) is None)
        other = _rule(pool)
        pool.until("an alarm of another rule like it", lambda: _firing(pool, other))
        quiet = _firing(pool, code) is None
        text = f"{'silent' if quiet else 'it fires'}, while {other}, made after it and like it, fires"
        say.step("S3", "the rule disabled", text)
        say.expect("E3", quiet, "disabled, the rule is silent though its threshold is passed")


def _rule(pool: CaseContext) -> str:
    """A new rule that is always broken; its code."""
    code = pool.name("rule")[:48]
    pool.note("alarm rule", code)
    pool.operator.post("alarm-rules", {"code": code, **RULE, "is_enabled": True})
    return code


def _firing(pool: CaseContext, code: str) -> dict | None:
    return next(iter(pool.operator.all("alarms", rule=code, state="open")), None)
