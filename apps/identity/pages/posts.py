"""The page of posts, the same for a tenant's and the operators': all of them, a new one, another name, the end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.identity.forms import PostForm
from apps.identity.pages.access import cleaned, go, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.identity.rules.posts import post_of


@dataclass(frozen=True, slots=True)
class PostPages:
    """The pages of one side's posts.

    Attributes:
        urls, people: the namespace of their addresses, and the page of that side's people.
        manage: the permission to keep posts.
        rows: a selector of all of them.
        create, rename, end: the services.
    """

    urls: str
    people: str
    manage: str
    rows: Callable[[], QuerySet[Any]]
    create: Callable[..., Any]
    rename: Callable[..., Any]
    end: Callable[..., int]

    def posts(self, request: PortalRequest) -> HttpResponse:
        context = {
            "rows": paged(request, self.rows()),
            "may_manage": request.actor.may(self.manage),
            "people_url": self.people,
            "post_add_url": f"{self.urls}:post_add",
            "post_rename_url": f"{self.urls}:post_rename",
            "post_end_url": f"{self.urls}:post_end",
        }
        return show(request, "identity/posts", context)

    def add(self, request: PortalRequest) -> HttpResponse:
        row = self.create(actor=request.actor, **cleaned(PostForm(request.POST)))
        messages.success(request, _("Post %(name)s created: give it to people now.") % {"name": row.name})
        return go(request, f"{self.urls}:post_list")

    def change(self, request: PortalRequest, uid: UUID) -> HttpResponse:
        row = post_of(self.rows(), uid)
        self.rename(actor=request.actor, post=row, **cleaned(PostForm(request.POST)))
        messages.success(request, _("The post is called %(name)s now.") % {"name": row.name})
        return go(request, f"{self.urls}:post_list")

    def remove(self, request: PortalRequest, uid: UUID) -> HttpResponse:
        row = post_of(self.rows(), uid)
        name, held = row.name, self.end(actor=request.actor, post=row)
        text = ngettext(
            "The post %(name)s is ended; %(count)s person held it.",
            "The post %(name)s is ended; %(count)s people held it.",
            held,
        )
        messages.success(request, text % {"name": name, "count": held})
        return go(request, f"{self.urls}:post_list")
