"""Our own pool as a kind of centre: what is to be said of it. `settings.WEIR_CENTER_KINDS` names it."""

from django.utils.translation import gettext_lazy as _

from apps.centers.adapters.kinds import CenterKind, KindField
from apps.tenancy.selectors import tenant_active_list

CODE = "local"


def tenants_offered() -> list[tuple[str, str]]:
    """The tenants in whose name jobs may run, by code and name, for a form."""
    return [
        (row.schema_name, f"{row.name} ({row.schema_name})") for row in tenant_active_list().order_by("name")
    ]


LOCAL = CenterKind(
    code=CODE,
    label=_("Own pool"),
    path="apps.jointcloud.local.adapter:LocalAdapter",
    sharing=_(
        "On the nodes each job is kept from all others. But all of them run in the name of one tenant: whoever of it"
        " may see all its resources reads the commands and the output of every tenant's jobs here."
    ),
    charges_itself=True,
    fields=(
        KindField(
            "tenant",
            _("Tenant"),
            help=_("In whose name jobs run here: it is charged for them, and its quotas bound them."),
            is_required=True,
            choices=tenants_offered,
            holds_work=True,
        ),
        KindField(
            "user",
            _("Login account"),
            help=_(
                "Of a person of that tenant who submits the jobs, best of an account that nobody else works with."
            ),
            is_required=True,
            holds_work=True,
        ),
        KindField("queue", _("Queue"), help=_("Where jobs wait. Empty: the default one.")),
    ),
)
