"""Tenants as a table; what is done with one is done on its own page."""

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.identity.admin_base import OperatorAdmin, OperatorInline, column
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
    list_display = ["name", "code", "shown_state", "timezone", "created_at"]
    list_filter = ["state"]
    search_fields = ["name", "schema_name"]
    fields = ["name", "code", "state", "timezone", "created_at"]
    readonly_fields = ["code"]
    inlines = [DomainInline, MemberInline]
    add_page = (P.MANAGE, "operator:tenant_new")
    page = ("operator:tenant", "schema_name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        return tenant_list()

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Tenant) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @column(description=gettext_lazy("code"), ordering="schema_name")
    def code(self, row: Tenant) -> str:
        return row.schema_name
