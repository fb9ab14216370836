"""The operators' roles: what each allows, and those of their own making (PLAT-TEN-30 to PLAT-TEN-34)."""

from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.pages.access import operator_page
from apps.identity.pages.roles import RolePages
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.role_functions import Side
from apps.identity.selectors import operator_role_get, operator_role_list
from apps.identity.services.operator_roles import operator_role_delete, operator_role_edit, operator_role_make

_PAGES = RolePages(
    Side.OPERATOR, "operators", P.MANAGE, P.GRANT, operator_role_list, operator_role_get,
    operator_role_make, operator_role_edit, operator_role_delete,
)  # fmt: skip
roles = operator_page("identity.view")(_PAGES.roles)
new = require_http_methods(["GET", "POST"])(operator_page("identity.manage")(_PAGES.new))
role = require_http_methods(["GET", "POST"])(operator_page("identity.view")(_PAGES.one))
delete = require_POST(operator_page("identity.manage")(_PAGES.remove))
