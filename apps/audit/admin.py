"""The operation log and its seals, on the operator pages: read, never written."""

from django.contrib import admin

from apps.audit.models import Record, Seal
from apps.audit.permissions import AuditPermission as P
from apps.identity.admin_base import OperatorAdmin


@admin.register(Record)
class RecordAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("operation_log:record", "uid")
    list_display = ["at", "actor_name", "actor_kind", "role", "schema", "name", "subject_kind", "subject_id"]
    list_filter = ["actor_kind", "schema", "subject_kind"]
    search_fields = ["name", "actor_name", "=subject_id", "=request_id"]


@admin.register(Seal)
class SealAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["at", "count", "until_txid", "digest", "previous"]
    search_fields = ["=digest"]
