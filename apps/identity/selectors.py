from uuid import UUID

from django.db.models import QuerySet

from apps.identity.models import AgentToken, ApiToken, OperatorBinding, User
from apps.kernel.acts import Actor
from apps.kernel.errors import NotFound


def user_names(ids: set[int]) -> dict[int, str]:
    """Display names by primary key, one query."""
    return {user.pk: str(user) for user in User.objects.filter(pk__in=ids)}


def operators_with_role(role_code: str) -> list[int]:
    """The primary keys of enabled operators who hold a role."""
    bindings = OperatorBinding.objects.filter(role__code=role_code, user__is_active=True)
    return list(bindings.values_list("user_id", flat=True))


def api_token_list(actor: Actor) -> QuerySet[ApiToken]:
    """The caller's own tokens."""
    return ApiToken.objects.filter(user_id=actor.user_id)


def api_token_get(actor: Actor, uid: UUID) -> ApiToken:
    row = api_token_list(actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def agent_token_list() -> QuerySet[AgentToken]:
    return AgentToken.objects.all()


def agent_token_get(uid: UUID) -> AgentToken:
    row = AgentToken.objects.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row
