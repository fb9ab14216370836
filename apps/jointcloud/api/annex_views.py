"""The interfaces A.5 and A.6 of Annex A."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.jointcloud.api.serializers import WireScoreOut
from apps.jointcloud.api.wire import WireView, length_check
from apps.jointcloud.permissions import PlacementPermission as P
from apps.jointcloud.services.interfaces import final_score_get, policy_score_get
from apps.kernel.errors import InvalidInput

ID_BYTES = 32
# What is believed to be meant: no more policies than anybody has.
POLICIES_MOST = 64


class PolicyScoreView(WireView):
    permission = P.TRY
    pagination_class = None

    @extend_schema(operation_id="annex_policy_score", responses=WireScoreOut)
    def get(self, request: Request, algorithm_id: str, center_id: str) -> Response:
        """A.5: the score of a centre under a policy, 0 to 100, for one replica of the specification that most centres
        offer; 0 where the centre would be refused or the policy knows no figure of it."""
        length_check({"algorithmId": algorithm_id, "centerId": center_id}, ID_BYTES)
        _no_job_check(request)
        score = policy_score_get(actor=self.actor, policy_id=algorithm_id, center_id=center_id)
        return self.answer({"score": score})


class FinalScoreView(WireView):
    permission = P.TRY
    pagination_class = None

    @extend_schema(
        operation_id="annex_final_score",
        parameters=[
            OpenApiParameter("algorithmIds", str, many=True, required=True),
            OpenApiParameter("algorithmScores", int, many=True, required=True),
        ],
        responses=WireScoreOut,
    )
    def get(self, request: Request, center_id: str) -> Response:
        """A.6: the final score of a centre from its scores under policies, by the weights in force. The two lists are
        repeated parameters, or one with commas."""
        length_check({"centerId": center_id}, ID_BYTES)
        policies, scores = (_listed(request, name) for name in ("algorithmIds", "algorithmScores"))
        score = final_score_get(
            actor=self.actor, policy_ids=policies, scores=_whole(scores), center_id=center_id
        )
        return self.answer({"score": score})


def _no_job_check(request: Request) -> None:
    """Scores of a job that waits are not told here: the default request's must not pass for them."""
    if "jobId" in request.query_params:
        raise InvalidInput(fields={"jobId": _("Scores are told of the default request alone. Leave it out.")})


def _listed(request: Request, name: str) -> list[str]:
    """The elements of a list of the query (JC-Q-8). Raises InvalidInput."""
    found = [
        part.strip()
        for text in request.query_params.getlist(name)
        for part in text.split(",")
        if part.strip()
    ]
    if not found:
        raise InvalidInput(fields={name: _("It is needed.")})
    if len(found) > POLICIES_MOST:
        raise InvalidInput(fields={name: _("At most %(most)s elements.") % {"most": POLICIES_MOST}})
    for each in found:
        length_check({name: each}, ID_BYTES)
    return found


def _whole(texts: list[str]) -> list[int]:
    for text in texts:
        if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 9:
            raise InvalidInput(fields={"algorithmScores": _("Whole numbers from 0 to 100.")})
    return [int(text) for text in texts]
