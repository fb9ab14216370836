"""Tell who submitted work directly how it ended (POOL-12.11, POOL-12.12)."""

from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor
from apps.notices.services import notice_send
from apps.scheduling.models import Workload

_ENDED = gettext_noop("%(name)s (%(no)s) has ended and is released.")
_BY_CODE = {
    "idle_timeout": gettext_noop(
        "%(name)s (%(no)s) was released: nothing used its device for %(idle)s seconds."
    ),
    "run_timeout": gettext_noop(
        "%(name)s (%(no)s) was released: its run time of %(seconds)s seconds is over."
    ),
    "stopped": gettext_noop("%(name)s (%(no)s) was stopped and is released: %(said)s"),
    "lost": gettext_noop("%(name)s (%(no)s) was lost with its node."),
}
_FAILED = gettext_noop("%(name)s (%(no)s) has failed: %(said)s")


def workload_notify(row: Workload, actor: Actor) -> None:
    """A message to who submitted it, with the cause of its end."""
    if row.submitted_by_id is None:
        return
    msgid = _BY_CODE.get(row.reason_code) or (_FAILED if row.state == "failed" else _ENDED)
    notice_send(
        actor=actor,
        user_ids=[row.submitted_by_id],
        msgid=msgid,
        params={
            "name": row.name_en,
            "no": row.no,
            "idle": row.idle_timeout_s,
            "seconds": row.run_timeout_s,
            "said": row.reason.get("text", ""),
        },
        link=f"/resources/{row.uid}/",
        tenant=row.tenant,
    )
