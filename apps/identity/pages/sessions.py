"""How long a browser stays signed in: while it is used, and a week at most."""

import time
from collections.abc import Iterable
from importlib import import_module

from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user, login
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from apps.identity.models import User
from apps.identity.services.users import tenants_of

_BEGAN, _USED = "weir_began_s", "weir_used_s"
_BACKEND = "django.contrib.auth.backends.ModelBackend"
# Written once in this many seconds of use: a session is a row.
_WRITE_EVERY_S = 60
# With this header a page says that it brings itself up to date, and that nobody asked it to.
REFRESH_HEADER = "Weir-Refresh"


def session_begin(request: HttpRequest, user: User) -> None:
    """Sign this browser in."""
    login(request, user, backend=_BACKEND)
    request.session[_BEGAN] = request.session[_USED] = int(time.time())


def is_over(request: HttpRequest) -> bool:
    """Whether the session of this request has ended by idleness or age; otherwise it counts as used now.

    A page that refreshes itself is not use: the session of a browser that was left open ends too.
    """
    if _has_ended(request.session, is_operator=getattr(request.user, "is_operator", False)):
        return True
    used_s, now_s = request.session.get(_USED), int(time.time())
    is_use = REFRESH_HEADER not in request.headers
    if used_s is not None and is_use and now_s - used_s >= _WRITE_EVERY_S:
        request.session[_USED] = now_s
    return False


def watcher_id(session_key: str, schemas: Iterable[str] = ()) -> int | None:
    """The user whom a browser's session belongs to; to ask is no use of it.

    None where there is no such session or it has ended, where the account is disabled, and where it may not enter one
    of the tenants `schemas`.
    """
    if not session_key:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    if not isinstance(user, User) or _has_ended(request.session, is_operator=user.is_operator):
        return None
    wanted = set(schemas)
    if wanted and not user.is_operator and not wanted <= {tenant.schema_name for tenant in tenants_of(user)}:
        return None
    return user.pk


def _has_ended(session: SessionBase, *, is_operator: bool) -> bool:
    used_s = session.get(_USED)
    if used_s is None or SESSION_KEY not in session:
        return False
    now_s = int(time.time())
    idle_s = settings.WEIR_OPERATOR_SESSION_IDLE_S if is_operator else settings.WEIR_SESSION_IDLE_S
    return bool(now_s - session[_BEGAN] > settings.SESSION_COOKIE_AGE or now_s - used_s > idle_s)
