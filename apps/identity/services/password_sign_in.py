"""The way in by account and password, as pages and API take it."""

from apps.identity.models import User
from apps.identity.services.users import credentials_check
from apps.kernel.actor import ANONYMOUS, Act
from apps.kernel.errors import Throttled
from apps.kernel.service import act_keep


def sign_in_check(*, username: str, password: str, schema: str | None, address: str | None) -> User:
    """See `credentials_check`. A try on a locked account counts for nothing and leaves a record (PLAT-CFG-40)."""
    try:
        return credentials_check(username=username, password=password, schema=schema, address=address)
    except Throttled:
        detail = {"address": address or "", "tenant": schema or ""}
        account = username.strip()[:64]
        act_keep(Act("sign_in_locked", ANONYMOUS, subject_kind="account", subject_id=account, detail=detail))
        raise
