"""A view of one tenant row that operators may also address from the provider plane, by identifier alone."""

from dataclasses import replace
from typing import Any, ClassVar

from django.db import connection
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from apps.cases.selectors import case_get
from apps.identity.api.base import ApiView
from apps.identity.pages.requests import inside
from apps.kernel.errors import InvalidInput


class CaseView(ApiView):
    """Enters the tenant of the case `case_kind` with the `uid` of the address, where no tenant is entered yet."""

    plane = "both"
    case_kind: ClassVar[str]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.tenant is None:
            self._enter(request, kwargs["uid"])

    def _enter(self, request: Request, uid: Any) -> None:
        if self.actor.kind != "operator":
            raise InvalidInput(
                _("This belongs to a tenant, and none is chosen."),
                cure=_("Send the header Weir-Tenant with the tenant's code."),
            )
        tenant = case_get(actor=self.actor, kind=self.case_kind, uid=uid).tenant
        connection.set_tenant(tenant)
        here = inside(request._request)
        here.entered_tenant = tenant
        here.actor = replace(self.actor, tenant=tenant.schema_name)
