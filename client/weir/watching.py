"""What operators watch: the pool's log, alarms with their rules and routes, reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import (
        AlarmDetailOut,
        AlarmOut,
        DeliveryOut,
        LogOut,
        PatchedRouteEditIn,
        PatchedRuleEditIn,
        ReportOut,
        RouteIn,
        RouteOut,
        RuleIn,
        RuleOut,
    )


class Watching(Calls):
    """The part of a client that watches. Times are ISO 8601 with a zone; a period is from an instant up to another."""

    def logs(self, *, from_at: str = "", to_at: str = "", **filters: Any) -> Iterator[LogOut]:
        """The log's lines, newest first. `filters`: level, component, node, task, tenant, priority, search."""
        return self.all("logs", **_during(from_at, to_at), **filters)

    def log_entry(self, number: int) -> LogOut:
        return self.call("GET", f"logs/{number}")

    def logs_export(self, form: str = "jsonl", *, from_at: str = "", to_at: str = "", **filters: Any) -> str:
        """Exactly the lines that `logs` finds, as one text: `csv` or `jsonl`."""
        return self.text("logs/export", format=form, **_during(from_at, to_at), **filters)

    def alarms(
        self, state: str = "", *, from_at: str = "", to_at: str = "", **filters: Any
    ) -> list[AlarmOut]:
        """The alarms, newest first. `filters`: level, rule, source, subject, search."""
        return list(self.all("alarms", state=state, **_during(from_at, to_at), **filters))

    def alarm(self, uid: str) -> AlarmDetailOut:
        """One alarm, with whom it was told."""
        return self.call("GET", f"alarms/{uid}")

    def alarm_acknowledge(self, uid: str) -> AlarmOut:
        return self.call("POST", f"alarms/{uid}/acknowledge", {})

    def alarm_rules(self) -> list[RuleOut]:
        return list(self.all("alarm-rules"))

    def alarm_rule(self, code: str) -> RuleOut:
        return self.call("GET", f"alarm-rules/{code}")

    def alarm_rule_make(self, **rule: Unpack[RuleIn]) -> RuleOut:
        """Raise an alarm whenever a metric passes a threshold for a time."""
        return self.call("POST", "alarm-rules", rule)

    def alarm_rule_edit(self, code: str, **changes: Unpack[PatchedRuleEditIn]) -> RuleOut:
        """Change what is given of a rule; it holds at once."""
        return self.call("PATCH", f"alarm-rules/{code}", changes)

    def alarm_routes(self) -> list[RouteOut]:
        return list(self.all("alarm-routes"))

    def alarm_route_make(self, **route: Unpack[RouteIn]) -> RouteOut:
        """Send alarms on: by `email` to addresses, or `in_site` to roles."""
        return self.call("POST", "alarm-routes", route)

    def alarm_route_edit(self, uid: str, **changes: Unpack[PatchedRouteEditIn]) -> RouteOut:
        return self.call("PATCH", f"alarm-routes/{uid}", changes)

    def alarm_route_remove(self, uid: str) -> None:
        self.call("DELETE", f"alarm-routes/{uid}")

    def alarm_deliveries(self, alarm: str = "", state: str = "") -> list[DeliveryOut]:
        return list(self.all("alarm-deliveries", alarm=alarm, state=state))

    def report(self, name: str, *, from_at: str = "", to_at: str = "") -> ReportOut:
        """`resources`, `tasks`, `operations` or `energy`: totals and sections of named rows."""
        return self.call("GET", f"reports/{name}", **_during(from_at, to_at))

    def report_csv(self, name: str, *, from_at: str = "", to_at: str = "") -> str:
        """A report as CSV, a line for each figure."""
        return self.text(f"reports/{name}", format="csv", **_during(from_at, to_at))


def _during(from_at: str, to_at: str) -> dict[str, str]:
    return {"from": from_at, "to": to_at}
