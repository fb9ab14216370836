"""Alarms on the operator pages; the page `/alarms/` is where they are watched live."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from apps.identity.admin_base import Act, OperatorAdmin
from apps.kernel.actor import Actor
from apps.telemetry.models import Alarm
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.services.alarms import alarm_acknowledge
from apps.telemetry.states import AlarmState


def _acknowledge(actor: Actor, row: Alarm, given: Mapping[str, Any]) -> str:
    alarm_acknowledge(actor=actor, alarm_uid=row.uid)
    return _("The alarm is acknowledged.")


@admin.register(Alarm)
class AlarmAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "fired_at",
        "shown_level",
        "title",
        "shown_state",
        "source",
        "subject_id",
        "count",
        "resolved_at",
    ]
    list_display_links = ["title"]
    fields = [
        "title", "level", "state", "source", "subject_kind", "subject_id", "key", "count", "fired_at",
        "raised_at", "acknowledged_at", "acknowledged_by", "resolved_at",
    ]  # fmt: skip
    readonly_fields = ["title"]
    list_filter = ["level", "state", "source"]
    search_fields = ["key", "subject_id", "msgid"]
    row_acts = [
        Act(
            "acknowledge",
            gettext_lazy("Acknowledge"),
            P.MANAGE,
            _acknowledge,
            hint=gettext_lazy(
                "It stays open until its cause is gone; everybody sees that you look after it."
            ),
            icon="done",
            applies=lambda row: row.state == AlarmState.FIRING,
        )
    ]

    @display(description=gettext_lazy("alarm"))
    def title(self, row: Alarm) -> str:
        return row.title

    @display(
        description=gettext_lazy("level"),
        label={"critical": "danger", "major": "danger", "minor": "warning", "notice": "info"},
    )
    def shown_level(self, row: Alarm) -> tuple[str, str]:
        return row.level, row.get_level_display()

    @display(
        description=gettext_lazy("state"),
        label={"firing": "danger", "acknowledged": "warning", "resolved": "success"},
    )
    def shown_state(self, row: Alarm) -> tuple[str, str]:
        return row.state, row.get_state_display()
