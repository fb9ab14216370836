"""Tenants as a table; what is done with one is done on its own page."""

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from apps.identity.admin_base import OperatorAdmin, OperatorInline
from apps.identity.models import Membership
from apps.tenancy.models import Domain, Tenant
from apps.tenancy.permissions import TenancyPermission as P
from apps.tenancy.selectors import tenant_list

# What an operator may do is the active role; Django's own groups decide nothing here.
admin.site.unregister(Group)


class DomainInline(OperatorInline):
    model = Domain
    fields = ["domain", "is_primary"]


class MemberInline(OperatorInline):
    model = Membership
    fields = ["user", "is_active", "created_at"]


@admin.register(Tenant)
class TenantAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["name", "code", "shown_state", "timezone", "created_at", "opens"]
    list_filter = ["state"]
    search_fields = ["name", "schema_name"]
    fields = ["name", "code", "state", "timezone", "created_at", "opens"]
    readonly_fields = ["code", "opens"]
    inlines = [DomainInline, MemberInline]
    add_page = (P.MANAGE, "operator:tenant_new")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        return tenant_list()

    @display(
        description=gettext_lazy("state"),
        label={"active": "success", "suspended": "warning", "closed": "danger", "deleted": "danger"},
    )
    def shown_state(self, row: Tenant) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @display(description=gettext_lazy("code"), ordering="schema_name")
    def code(self, row: Tenant) -> str:
        return row.schema_name

    @display(description=gettext_lazy("page"))
    def opens(self, row: Tenant) -> str:
        url = reverse("operator:tenant", args=[row.schema_name])
        return format_html('<a href="{}">{}</a>', url, _("Open its page"))
