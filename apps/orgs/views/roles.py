"""The tenant's roles: what each allows, and those of its own making (PLAT-TEN-30 to PLAT-TEN-34)."""

from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.pages.access import page
from apps.identity.pages.roles import RolePages
from apps.identity.rules.role_functions import Side
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.roles import role_get, role_list
from apps.orgs.services.own_roles import role_delete, role_edit, role_make

_PAGES = RolePages(
    Side.TENANT, "people", P.MANAGE, P.GRANT, role_list, role_get, role_make, role_edit, role_delete
)
roles = page("orgs.view")(_PAGES.roles)
new = require_http_methods(["GET", "POST"])(page("orgs.manage")(_PAGES.new))
role = require_http_methods(["GET", "POST"])(page("orgs.view")(_PAGES.one))
delete = require_POST(page("orgs.manage")(_PAGES.remove))
