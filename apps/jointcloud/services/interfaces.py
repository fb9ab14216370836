"""The interfaces A.5 and A.6 of Annex A, on the snapshot and by the functions of the cycle."""

from collections.abc import Sequence

from django.utils import timezone

from apps.centers.selectors import center_get, centers_sampled
from apps.jointcloud.engine.evaluate import final_score, policy_score
from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.permissions import PlacementPermission as P
from apps.jointcloud.selectors.settings import settings_now
from apps.jointcloud.selectors.snapshot import snapshot_now
from apps.jointcloud.text import reason_text
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound

_UNKNOWN = (Fault.CENTRE_UNKNOWN, Fault.POLICY_UNKNOWN)


def policy_score_get(*, actor: Actor, policy_id: str, center_id: str) -> int:
    """A.5: the score of a centre under a policy, 0 to 100, for the default request (JC-Q-9): one replica of the
    specification that most centres offer. Raises NotFound where there is no such policy or centre, nor one that serves
    the tenant who asks."""
    actor.require(P.TRY)
    try:
        found = policy_score(
            snapshot_now(tenant=actor.tenant), policy_id, center_id, now=int(timezone.now().timestamp())
        )
    except BadInput as error:
        kind = NotFound if error.reason.code in _UNKNOWN else InvalidInput
        raise kind(reason_text(error.reason)) from error
    return found.score


def final_score_get(*, actor: Actor, policy_ids: Sequence[str], scores: Sequence[int], center_id: str) -> int:
    """A.6: the final score of a centre from its scores under policies, by the weights and the model in force. Raises
    NotFound where there is no such centre, nor one that serves the tenant who asks, InvalidInput where the lists cannot
    be meant."""
    actor.require(P.TRY)
    center_get(center_id, rows=centers_sampled(actor.tenant))
    chosen = settings_now()
    try:
        return final_score(policy_ids, scores, chosen.weights, chosen.model)
    except BadInput as error:
        raise InvalidInput(reason_text(error.reason)) from error
