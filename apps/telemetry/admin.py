"""Alarms on the operator pages; the page `/alarms/` is where they are watched live."""

from django.contrib import admin
from django.utils.translation import gettext_lazy

from apps.identity.admin_base import OperatorAdmin, column
from apps.telemetry.models import Alarm
from apps.telemetry.permissions import AlarmPermission as P


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
    page = ("operator:alarm", "uid")

    @column(description=gettext_lazy("alarm"))
    def title(self, row: Alarm) -> str:
        return row.title

    @column(description=gettext_lazy("level"), is_state=True)
    def shown_level(self, row: Alarm) -> tuple[str, str]:
        return row.level, row.get_level_display()

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Alarm) -> tuple[str, str]:
        return row.state, row.get_state_display()
