"""Scaling rules in the reader's words."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.scheduling.models import ScalingRule
from apps.scheduling.queue_config.time_windows import weekly_text
from apps.scheduling.states import ScalingBy

# By what a rule looks at, and whether it grows when that is high.
_SENTENCES = {
    (ScalingBy.QUEUE_DEPTH, False): gettext_noop(
        "Shrinks by %(step)s while %(high)s or more wait in the queue, grows by %(step)s while %(low)s or fewer wait."
    ),
    (ScalingBy.QUEUE_DEPTH, True): gettext_noop(
        "Grows by %(step)s while %(high)s or more wait in the queue, shrinks by %(step)s while %(low)s or fewer wait."
    ),
    (ScalingBy.UTILISATION, True): gettext_noop(
        "Grows by %(step)s while %(high)s %% or more of its shares is used, shrinks by %(step)s at %(low)s %% and less."
    ),
    (ScalingBy.UTILISATION, False): gettext_noop(
        "Shrinks by %(step)s while %(high)s %% or more of its shares is used, grows by %(step)s at %(low)s %% and less."
    ),
}


def rule_sentence(rule: ScalingRule) -> str:
    """What the rule does, without its rest."""
    if rule.by == ScalingBy.WINDOW:
        spans = weekly_text((day, begin, end) for day, begin, end in rule.windows)
        return _("At most %(shares)s shares: %(windows)s.") % {
            "shares": rule.shares,
            "windows": spans.replace("\n", ", "),
        }
    figures: dict[str, Any] = {"step": rule.step, "low": rule.low, "high": rule.high}
    return _(_SENTENCES[ScalingBy(rule.by), rule.grows_when_high]) % figures
