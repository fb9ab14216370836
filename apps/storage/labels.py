"""What people read of outputs of work."""

from django.utils.translation import gettext as _

from apps.storage.models import WorkOutput
from apps.storage.services.outputs import FILES_MAX, WAIT
from apps.storage.states import OutputState


def output_sentence(row: WorkOutput) -> str:
    """How far the outputs of a share are, and why they are not there."""
    if row.state == OutputState.KEPT:
        if not row.files:
            return _("It left no files.")
        return _("Kept in the volume until somebody deletes them.")
    return _problem(row) or _("They are fetched from the node.")


def _problem(row: WorkOutput) -> str:
    said = {"problem": row.problem, "days": WAIT.days, "most": FILES_MAX}
    sentences = {
        "volume_full": _(
            "They wait for room in the volume, for %(days)s days: delete files there, or make it larger."
        ),
        "storage_full": _("They wait for room in the centre's storage, for %(days)s days."),
        "storage_away": _("They wait until the centre's storage answers, for %(days)s days."),
        "lost": _("The node was lost, and they with it."),
        "silent": _("The node was not heard from for too long."),
        "refused": _("The node could not send them: %(problem)s."),
        "too_many": _("They are more than %(most)s files: pack them into an archive."),
        "path": _("Something else stands where they are to lie in the volume."),
        "volume_gone": _("The volume was deleted before they came."),
        "volume_ended": _("The order of the volume had ended before they came."),
        "gone": _("They are on the node no more."),
        "damaged": _("They arrived damaged."),
    }
    lost = {
        "volume_full": _("The volume had no room for them."),
        "storage_full": _("The centre's storage had no room for them."),
        "storage_away": _("The centre's storage did not answer for too long."),
    }
    found = (lost if row.state == OutputState.LOST else {}).get(row.problem_code)
    return (found or sentences.get(row.problem_code, "")) % said
