"""Posts of the computing centre, and which operators hold them."""

from apps.identity.models import OperatorPost, User
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules import posts
from apps.identity.services.operators import grant_check, operator_check, roles_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service


@service(P.MANAGE)
def operator_post_create(*, actor: Actor, name: str) -> OperatorPost:
    """A post that operators can be given; InvalidInput for a name that another one has."""
    row = OperatorPost()
    posts.post_keep(row, name)
    act_subject("post", row.uid, name=row.name)
    return row


@service(P.MANAGE)
def operator_post_rename(*, actor: Actor, post: OperatorPost, name: str) -> OperatorPost:
    """Another name; what is routed to the post stays routed to it."""
    act_subject("post", post.uid, before=post.name)
    posts.post_keep(post, name)
    return post


@service(P.MANAGE)
def operator_post_end(*, actor: Actor, post: OperatorPost) -> int:
    """End a post; whoever holds it holds none from now on. How many did."""
    act_subject("post", post.uid, name=post.name)
    return posts.post_end(post)


@service(P.MANAGE)
def operator_post_set(*, actor: Actor, user: User, post: OperatorPost | None) -> None:
    """The post that an operator holds from now on; None: none. Forbidden for one who may do more than the actor."""
    act_subject("user", user.uid, post=post.name if post else "")
    operator_check(user)
    grant_check(actor, roles_of(user))
    User.objects.filter(pk=user.pk).update(post=post)
