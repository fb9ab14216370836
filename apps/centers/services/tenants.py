"""Which tenants a centre serves, and under which account their work runs there.

Who is taken off gets nothing new there; what is there goes on, under the account that it was asked for with.
"""

from collections.abc import Collection, Mapping
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterError
from apps.centers.adapters.kinds import CenterKind
from apps.centers.errors import CenterServesNot
from apps.centers.models import Center, CenterHolder, CenterTenant
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import center_get
from apps.centers.services.calls import center_tried, refusal_of
from apps.centers.services.checks import faults_raise, kind_check
from apps.centers.services.credentials import credential_open
from apps.centers.states import Serves
from apps.kernel.actor import Actor, act_subject
from apps.kernel.control_characters import control_fault
from apps.kernel.errors import Conflict, InvalidInput, NotFound, ReadOnly
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list
from apps.tenancy.states import ENDED

# Of a value of an account: a name of a user at the centre.
ACCOUNT_MOST = 63
# docs/database.md, "Order of locks".
_SERVING_LOCK = 0x5765694E


@service(P.MANAGE)
def center_serves_set(*, actor: Actor, ai_center_id: str, serves: str, may_share: bool = False) -> Center:
    """Send a centre the work of all tenants, or of those that are named alone (`Serves`).

    `may_share`: that tenants may share it is said in words, which a kind that does not keep them apart wants before it
    serves all. Raises InvalidInput, NotFound.
    """
    act_subject("center", ai_center_id[:64])
    # Before its row: whoever asks for work waits for that of no centre.
    serving_lock(center_get(ai_center_id).pk, is_shared=False)
    row = _locked(ai_center_id)
    serves_check(kind_check(row.kind), serves, may_share=may_share)
    act_subject("center", ai_center_id, name=row.name, serves=serves, may_share=may_share)
    row.serves = serves
    row.save(update_fields=["serves", "updated_at"])
    return row


def center_tenant_set(
    *, actor: Actor, ai_center_id: str, tenant: str, account: Mapping[str, Any] | None = None
) -> CenterTenant:
    """Have a centre serve the tenant of this code, its work running there under `account`: values by the names of the
    kind's `account_fields`, none for the centre's own account. The centre is asked first whether it takes the account.

    Raises:
        NotFound: there is no such centre or tenant.
        InvalidInput: a field is wrong, by its name; CenterSaysNo: the centre does not take the account.
        CenterSilent, CenterNonsense: it does not answer, or not as such a centre does.
        Conflict: the account is or ever was another tenant's there, or the way to the centre was changed meanwhile.
    """
    actor.require(P.MANAGE)
    if actor.is_read_only:
        raise ReadOnly()
    row = center_get(ai_center_id)
    kind = kind_check(row.kind)
    served = _tenant(tenant)
    values = account_check(kind, account or {})
    if values:
        _holder_check(row, served, _holder(kind, values))
        try:
            center_tried(row.kind, row.settings, credential_open(row), values)
        except CenterError as error:
            raise refusal_of(error) from error
    return center_tenant_keep(
        actor=actor, ai_center_id=ai_center_id, tenant=served, account=values, revision=row.revision
    )


@service(P.MANAGE)
def center_tenant_keep(
    *, actor: Actor, ai_center_id: str, tenant: Tenant, account: Mapping[str, str], revision: int
) -> CenterTenant:
    """Keep a tenant of a centre with an account that was tried. Raises Conflict."""
    row = _locked(ai_center_id)
    act_subject("center", ai_center_id, name=row.name, tenant=tenant.schema_name, **account)
    if account and row.revision != revision:
        raise Conflict(
            _("Somebody has changed meanwhile how %(center)s is reached.") % {"center": row},
            cure=_("Look at what stands there now, and try again."),
        )
    holder = _holder(kind_check(row.kind), account)
    if holder:
        _holder_check(row, tenant, holder)
        CenterHolder.objects.get_or_create(
            ai_center_id=ai_center_id, holder=holder, defaults={"tenant": tenant}
        )
    values: dict[str, Any] = {
        "account": dict(account),
        "holder": holder,
        "changed_by_id": actor.user_id,
        "changed_at": timezone.now(),
    }
    try:
        with transaction.atomic():
            found, _is_new = CenterTenant.objects.update_or_create(center=row, tenant=tenant, defaults=values)
    except IntegrityError as error:
        raise _held(row, holder) from error
    return found


@service(P.MANAGE)
def center_tenant_remove(*, actor: Actor, ai_center_id: str, tenant: str) -> None:
    """Take a tenant off a centre: nothing new of its is sent there, what is there goes on. At a centre that serves all
    tenants only the account goes that it had there. Raises NotFound."""
    row = _locked(ai_center_id)
    act_subject("center", ai_center_id, name=row.name, tenant=tenant[:63])
    gone, _by_model = CenterTenant.objects.filter(center=row, tenant__schema_name=tenant).delete()
    if not gone:
        raise NotFound(
            _("The tenant %(tenant)s is not named at %(center)s.") % {"tenant": tenant[:63], "center": row}
        )


def serving_lock(center: int, *, is_shared: bool) -> None:
    """Until the transaction ends whom a centre serves stays as it is for those who share the lock. An advisory one:
    who gives work to several centres locks other rows in between. Internal to the app's services."""
    how = "_shared" if is_shared else ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock{how}(%s, %s)", [_SERVING_LOCK, center])


def serves_check(kind: CenterKind, serves: str, *, may_share: bool) -> None:
    """InvalidInput unless a centre of the kind may serve so. Internal to the app's services."""
    if serves not in Serves.values:
        text = _("There are: %(known)s.") % {"known": ", ".join(Serves.values)}
        raise InvalidInput(fields={"serves": text})
    if serves == Serves.ALL and not (kind.keeps_apart or may_share):
        raise InvalidInput(
            fields={
                "may_share": _(
                    "A centre of this kind does not keep tenants apart: say that they may share it, or name those that"
                    " it serves."
                )
            }
        )


def serves_usual(kind: CenterKind) -> Serves:
    """Whom a new centre of a kind serves where nobody says it: all tenants where it keeps them apart itself, nobody
    else. Whoever joins one does not know yet that what he does lets tenants read each other's work."""
    return Serves.ALL if kind.keeps_apart else Serves.NAMED


def tenants_put(row: Center, tenants: Collection[str], user_id: int | None) -> None:
    """Name tenants at a new centre, without accounts. Internal to the app's services."""
    for code in dict.fromkeys(tenants):
        CenterTenant.objects.create(
            center=row, tenant=_tenant(code), changed_by_id=user_id, changed_at=timezone.now()
        )


def account_of(center: Center, tenant: str) -> dict[str, str]:
    """The account at a centre that a tenant's work is sent under from now on, none for the centre's own. Whoever takes
    the tenant off meanwhile waits until the caller's transaction ends. Raises CenterServesNot."""
    rows = CenterTenant.objects.filter(center=center, tenant__schema_name=tenant).order_by()
    found = rows.select_for_update(of=("self",)).first()
    if found is not None:
        account: dict[str, str] = found.account
        return account
    if center.serves != Serves.ALL:
        raise CenterServesNot(_("%(center)s does not serve this tenant.") % {"center": center})
    return {}


def account_check(kind: CenterKind, given: Mapping[str, Any]) -> dict[str, str]:
    """The values of an account of a kind, without the empty ones. InvalidInput by field."""
    faults: dict[str, str] = {}
    found: dict[str, str] = {}
    known = {field.name for field in kind.account_fields}
    for name, value in given.items():
        if name not in known:
            faults[str(name)[:48]] = _("An account at a centre of this kind has no such field.")
        elif not isinstance(value, str) or len(value) > ACCOUNT_MOST:
            faults[name] = _("A text of at most %(most)s characters.") % {"most": ACCOUNT_MOST}
        elif fault := control_fault(value):
            faults[name] = fault
        elif value.strip():
            found[name] = value.strip()
    for field in kind.account_fields if found else ():
        if field.is_required and field.name not in found:
            faults.setdefault(field.name, _("Fill this in."))
    faults_raise(faults)
    return found


def _holder(kind: CenterKind, account: Mapping[str, str]) -> str:
    """Whose an account is: its first field says it."""
    return account.get(kind.account_fields[0].name, "") if kind.account_fields else ""


def _holder_check(row: Center, tenant: Tenant, holder: str) -> None:
    """Conflict where it is or ever was another tenant's: that one's jobs, logs and files may still be there."""
    held = CenterHolder.objects.filter(ai_center_id=row.ai_center_id, holder=holder)
    if held.exclude(tenant=tenant).exists():
        raise _held(row, holder)


def _held(row: Center, holder: str) -> Conflict:
    return Conflict(
        _(
            "%(holder)s is, or was, another tenant's account at %(center)s: that tenant's work may still be there."
        )
        % {"holder": holder, "center": row},
        cure=_("Name another, which no other tenant's work ever ran under."),
    )


def _tenant(code: str) -> Tenant:
    found = (
        tenant_list().exclude(state__in=ENDED).filter(schema_name=code).first()
        if code.isprintable()
        else None
    )
    if found is None:
        raise NotFound(_("There is no tenant with the code %(code)s.") % {"code": code[:63]})
    return found


def _locked(ai_center_id: str) -> Center:
    act_subject("center", ai_center_id[:64])
    return center_get(ai_center_id, rows=Center.objects.select_for_update(no_key=True))
