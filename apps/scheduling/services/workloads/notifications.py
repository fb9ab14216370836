"""Tell who submitted work directly how it ended (POOL-12.11, POOL-12.12)."""

from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor
from apps.notices.services import notice_send
from apps.scheduling.models import Workload
from apps.scheduling.text.end_reasons import end_message

_ENDED = gettext_noop("%(name)s (%(no)s) has ended and is released.")
_ENDED_BECAUSE = gettext_noop("%(name)s (%(no)s) has ended and is released. %(why)s")
_FAILED_BECAUSE = gettext_noop("%(name)s (%(no)s) has failed. %(why)s")


def workload_notify(row: Workload, actor: Actor) -> None:
    """A message to who submitted it, with the cause of its end."""
    if row.submitted_by_id is None:
        return
    why = end_message(
        row.reason_code,
        row.reason.get("text", ""),
        seconds=row.run_timeout_s,
        idle_s=row.idle_timeout_s,
        mib=row.memory_mib,
    )
    if row.reason_code == "completed" or not why:
        msgid = _ENDED
    else:
        msgid = _FAILED_BECAUSE if row.state == "failed" else _ENDED_BECAUSE
    notice_send(
        actor=actor,
        user_ids=[row.submitted_by_id],
        msgid=msgid,
        params={
            "name": row.name_en,
            "no": row.no,
            "why": why,
        },
        link=f"/resources/{row.uid}/",
        tenant=row.tenant,
    )
