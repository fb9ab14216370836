"""The operators change how centres are chosen: each change is a version of its own."""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.jointcloud.engine.model import model_of
from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.engine.reasons import BadInput
from apps.jointcloud.engine.submission import weights_read
from apps.jointcloud.engine.types import MOST, MOST_COUNT, Settings, Weights
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.models.settings import FAILURES_MOST, SECONDS_MOST
from apps.jointcloud.permissions import PlacementPermission as P
from apps.jointcloud.selectors.settings import settings_last
from apps.jointcloud.text import reason_text
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service

BOUNDS: Mapping[str, tuple[int, int]] = {
    "stale_s": (1, SECONDS_MOST),
    "cool_off_failures": (1, FAILURES_MOST),
    "cool_off_s": (0, SECONDS_MOST),
    "move_bytes": (0, MOST),
    "usual_duration_s": (1, MOST_COUNT),
}
"""The least and the most of each figure."""


@service(P.SET)
def jointcloud_settings_set(
    *, actor: Actor, changes: Mapping[str, Any], number: int | None = None
) -> JointcloudSettings:
    """Change how centres are chosen; the next cycle follows it, and the version before stays in the history.

    Args:
        changes: of `weights` (parts of 1 by policy, those that are not named 0), `model`, and what `BOUNDS` names; what
            is not named stays.
        number: the version that the changes are meant for, 0 where there is none yet; None for whichever is in force.

    Raises:
        InvalidInput: by field, with the cause; nothing is changed.
        Conflict: another version is in force by now.
    """
    last = settings_last()
    now = 0 if last is None else last.number
    if number is not None and number != now:
        raise _changed_meanwhile()
    values = _values(Settings() if last is None else last.engine_settings, changes)
    act_subject("jointcloud_settings", now + 1, **_logged(changes))
    try:
        with transaction.atomic():
            return JointcloudSettings.objects.create(number=now + 1, changed_by_id=actor.user_id, **values)
    except IntegrityError as error:
        raise _changed_meanwhile() from error


def weights_of(given: Mapping[str, Any]) -> Weights:
    """Weights of a request: one for each policy, in the order in which they are shown. Raises InvalidInput."""
    try:
        named = dict(weights_read(given))
    except BadInput as error:
        raise InvalidInput(fields={"weights": reason_text(error.reason)}) from error
    return tuple((policy, named.get(policy, 0)) for policy in POLICIES)


def _values(before: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """All columns of the next version."""
    wrong: dict[str, object] = {}
    values: dict[str, Any] = {name: getattr(before, name) for name in BOUNDS}
    values |= {"weights": list(map(list, before.weights)), "model": before.model}
    for name, value in changes.items():
        if name == "weights":
            try:
                values["weights"] = [list(pair) for pair in weights_of(value)]
            except InvalidInput as error:
                wrong |= error.fields
        elif name == "model":
            try:
                values["model"] = model_of(str(value)[:48]).id
            except BadInput as error:
                wrong["model"] = reason_text(error.reason)
        elif name in BOUNDS:
            least, most = BOUNDS[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                wrong[name] = _("A whole number from %(least)s to %(most)s.") % {"least": least, "most": most}
            values[name] = value
        else:
            wrong[name[:64]] = _("There is no such setting.")
    if wrong:
        raise InvalidInput(fields=wrong)
    return values


def _logged(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What the operation log keeps of a change."""
    told = {name: value for name, value in changes.items() if name != "weights"}
    if "weights" in changes:
        told["weights"] = ", ".join(f"{policy} {part}" for policy, part in changes["weights"].items())
    return told


def _changed_meanwhile() -> Conflict:
    return Conflict(
        _("Somebody has changed meanwhile how centres are chosen."),
        cure=_("Look at what stands there now, and try again."),
    )
