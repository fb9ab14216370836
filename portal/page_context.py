"""What every page's frame shows."""

from functools import cache, partial

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language

from apps.centre.selectors import centre_shown
from apps.console.navigation.selectors import menu_counts, menu_topics
from apps.identity.models import User
from apps.identity.pages.requests import inside
from apps.notices.push import topics_sign
from apps.notices.selectors import message_unread_count


def portal(request: HttpRequest) -> dict[str, object]:
    """The actor, the tenant, the roles to switch between, the unread count and the frame's own live topics."""
    actor = getattr(request, "actor", None)
    if actor is None or not actor.is_user:
        entered = getattr(request, "entered_tenant", None)
        return {"actor": actor, "centre": centre_shown(), "entered_tenant": entered}
    is_zh = (get_language() or "").startswith("zh")
    roles = [
        {
            "code": role.code,
            "name": role.name_zh if is_zh else role.name_en,
            "is_active": role.code == actor.role,
        }
        for role in inside(request).held_roles
    ]
    tenant = inside(request).entered_tenant
    user = request.user
    topics = [f"user.{actor.user_id}", *menu_topics(actor, tenant)]
    return {
        "actor": actor,
        "centre": centre_shown(),
        "entered_tenant": tenant,
        "held_roles": roles,
        "active_role": next((role["name"] for role in roles if role["is_active"]), ""),
        "news_is_unread": isinstance(user, User) and user.news_read != settings.WEIR_VERSION,
        # Of the frame alone: a part of a page asks for neither, and a page once, however often it shows them.
        "unread_count": cache(partial(message_unread_count, actor)),
        "menu_counts": cache(partial(menu_counts, actor, tenant)),
        "menu_topics": menu_topics(actor, tenant),
        "frame_topics": partial(topics_sign, topics, actor.user_id, since_s=inside(request).began_at_s),
    }
