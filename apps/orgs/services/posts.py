"""Posts of the tenant, and who holds them."""

from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules import posts
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict
from apps.kernel.service import service
from apps.orgs.models import Member, Post
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.services.placing import placing_check


@service(P.MANAGE)
def post_create(*, actor: Actor, name: str) -> Post:
    """A post that people can be given; InvalidInput for a name that another one has."""
    row = Post()
    posts.post_keep(row, name)
    act_subject("post", row.uid, name=row.name)
    return row


@service(P.MANAGE)
def post_rename(*, actor: Actor, post: Post, name: str) -> Post:
    """Another name: rules of tickets and steps of processes that name the post find it by the new one."""
    act_subject("post", post.uid, before=post.name)
    posts.post_keep(post, name)
    return post


@service(P.MANAGE)
def post_end(*, actor: Actor, post: Post) -> int:
    """End a post; whoever holds it holds none from now on. How many did."""
    act_subject("post", post.uid, name=post.name)
    return posts.post_end(post)


@service(P.MANAGE)
def person_post_set(*, actor: Actor, user: User, post: Post | None) -> None:
    """The post that somebody holds from now on; None: none. Forbidden as `person_move` is, since a post decides and
    receives work; Conflict for somebody who belongs to no organization."""
    act_subject("user", user.uid, post=post.name if post else "")
    member = Member.objects.select_for_update().filter(user=user).select_related("organization").first()
    if member is None:
        raise Conflict(
            _("%(user)s belongs to no organization.") % {"user": user},
            cure=_("Give the person an organization first: a post is held in one."),
        )
    placing_check(actor, member.organization, user=user)
    member.post = post
    member.save(update_fields=["post"])
