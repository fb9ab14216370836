"""The tenant's posts, and giving one to a person."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.forms import PostGivenForm
from apps.identity.pages.access import cleaned, go, page
from apps.identity.pages.posts import PostPages
from apps.identity.pages.requests import TenantRequest
from apps.identity.rules.posts import post_of
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.people import person_get, post_list
from apps.orgs.services.posts import person_post_set, post_create, post_end, post_rename

_PAGES = PostPages("people", "people:people", P.MANAGE, post_list, post_create, post_rename, post_end)
posts = page("orgs.view")(_PAGES.posts)
add = require_POST(page("orgs.manage")(_PAGES.add))
rename = require_POST(page("orgs.manage")(_PAGES.change))
end = require_POST(page("orgs.manage")(_PAGES.remove))


@require_POST
@page("orgs.manage")
def held(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The post that a person holds from now on."""
    user = person_get(actor=request.actor, uid=uid).user
    chosen = cleaned(PostGivenForm(request.POST))["post"]
    person_post_set(actor=request.actor, user=user, post=post_of(post_list(), chosen) if chosen else None)
    messages.success(request, _("The post of %(name)s is saved.") % {"name": user})
    return go(request, "people:person", uid)
