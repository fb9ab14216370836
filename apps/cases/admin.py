"""The operators' index as a plain table; the page `/cases/` is where they work on it."""

from django.contrib import admin
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from apps.cases.models import Case
from apps.cases.permissions import CasesPermission as P
from apps.identity.admin_base import OperatorAdmin, column


@admin.register(Case)
class CaseAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "no", "kind", "tenant", "title_zh", "state", "applicant_name", "organization", "business_system",
        "created_at", "opens",
    ]  # fmt: skip
    list_filter = ["kind", "state", "is_open", "tenant"]
    list_select_related = ["tenant"]
    search_fields = ["no", "title_zh", "title_en", "applicant_name", "organization", "business_system"]
    ordering = ["-created_at", "-pk"]

    @column(description=_("page"))
    def opens(self, row: Case) -> str:
        return format_html('<a href="{}">{}</a>', row.operator_link, _("Open"))
