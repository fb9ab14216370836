"""A form about an order that is there: to change it, or to end it."""

from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.orders.models import ApplicationForm, Order
from apps.orders.services.drafts import REMARK_MAX
from apps.orders.states import FormKind
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.services.numbers import number_next


def later_form_make(
    actor: Actor, order: Order, kind: FormKind, reason: str, *, duration_s: int | None = None
) -> ApplicationForm:
    """The actor's draft about an order, with his reason for it. Raises InvalidInput without one."""
    act_subject("order", order.uid, no=order.no, reason=reason)
    reason = reason.strip()
    if not 1 <= len(reason) <= REMARK_MAX:
        raise InvalidInput(
            fields={"reason": _("Say why, in 1 to %(most)s characters.") % {"most": REMARK_MAX}}
        )
    user = User.objects.get(pk=actor.user_id)
    organization = organization_of(user.pk)
    return ApplicationForm.objects.create(
        no=number_next(actor=actor, letter="F"),
        kind=kind,
        applicant=user,
        applicant_name=str(user),
        organization=organization,
        organization_name=organization.name if organization else "",
        business_system=order.business_system,
        target_order=order,
        duration_s=order.duration_s if duration_s is None else duration_s,
        remark=reason,
    )
