"""Business numbers: one series for each kind and day of the tenant."""

from zoneinfo import ZoneInfo

from django.db import connection
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.planes import current_tenant
from apps.kernel.service import service

_NEXT = """
INSERT INTO orgs_numbersequence AS s (prefix, last) VALUES (%s, 1)
ON CONFLICT (prefix) DO UPDATE SET last = s.last + 1 RETURNING last
"""


@service(recorded=False)
def number_next(*, actor: Actor, letter: str) -> str:
    """The tenant's next business number of a kind and day, such as `F20261121-0001` (a refused transaction gives
    its number back; gaps may still occur). The day is the tenant's own."""
    today = timezone.now().astimezone(ZoneInfo(current_tenant().timezone))
    prefix = f"{letter}{today:%Y%m%d}"
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [prefix])
        last = cursor.fetchone()[0]
    return f"{prefix}-{last:04d}"
