"""The centre's own posts, and giving one to an operator."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.forms import PostGivenForm
from apps.identity.pages.access import cleaned, go, operator_page
from apps.identity.pages.posts import PostPages
from apps.identity.pages.requests import PortalRequest
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.posts import post_of
from apps.identity.selectors import operator_get, operator_post_list
from apps.identity.services.operator_posts import (
    operator_post_create,
    operator_post_end,
    operator_post_rename,
    operator_post_set,
)

_PAGES = PostPages(
    "operators", "operators:operators", P.MANAGE, operator_post_list,
    operator_post_create, operator_post_rename, operator_post_end,
)  # fmt: skip
posts = operator_page("identity.view")(_PAGES.posts)
add = require_POST(operator_page("identity.manage")(_PAGES.add))
rename = require_POST(operator_page("identity.manage")(_PAGES.change))
end = require_POST(operator_page("identity.manage")(_PAGES.remove))


@require_POST
@operator_page("identity.manage")
def held(request: PortalRequest, uid: UUID) -> HttpResponse:
    """The post that an operator holds from now on."""
    user = operator_get(actor=request.actor, uid=uid)
    chosen = cleaned(PostGivenForm(request.POST))["post"]
    post = post_of(operator_post_list(), chosen) if chosen else None
    operator_post_set(actor=request.actor, user=user, post=post)
    messages.success(request, _("The post of %(name)s is saved.") % {"name": user})
    return go(request, "operators:operator", uid)
