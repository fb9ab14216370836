"""Centres join, change, get no new work, and leave.

`center_join`, `center_change` and `center_credential_set` try the centre first, outside of the transaction that keeps
what they were given: what it does not take is refused with its cause, and nothing has changed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q
from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterError, CenterRefused
from apps.centers.adapters.kinds import CenterKind
from apps.centers.errors import CenterInUse, CenterSaysNo
from apps.centers.events import CenterRemoved
from apps.centers.models import Center
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import center_get
from apps.centers.services.calls import Answer, account_tried, center_tried, error_text, refusal_of
from apps.centers.services.checks import facts_check, faults_raise, id_fault, kind_check, values_check
from apps.centers.services.credentials import credential_open, credential_put
from apps.centers.services.sampling import answer_keep
from apps.centers.services.tenants import serves_check, serves_usual, tenants_put
from apps.centers.states import OPEN_STATES, CenterStatus, Serves
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, ReadOnly
from apps.kernel.events import emit
from apps.kernel.service import service

FACTS = ("name", "region", "longitude", "latitude", "security_grade", "stale_after_s", "lost_after_s")
# Of a centre: its tenants' codes, each with its account there.
Accounts = list[tuple[str, dict[str, str]]]
_USUAL: dict[str, Any] = {
    "region": "",
    "longitude": None,
    "latitude": None,
    "security_grade": 1,
    "stale_after_s": 30,
    "lost_after_s": 300,
}


def center_join(
    *,
    actor: Actor,
    ai_center_id: str,
    kind: str,
    settings: Mapping[str, Any],
    secrets: Mapping[str, Any],
    facts: Mapping[str, Any],
    serves: str | None = None,
    may_share: bool = False,
    tenants: Collection[str] = (),
) -> Center:
    """Join a centre that answers: it is asked first what it holds.

    Args:
        settings: values of the kind's fields that are not secret.
        secrets: values of those that are; sealed, never shown again.
        facts: of `FACTS`; only the name has to be said.
        serves: whose work is sent there (`Serves`); None: all tenants' where its kind keeps them apart, else only that
            of `tenants`, and nobody's where none is named.
        may_share: said where a kind that does not keep tenants apart is to serve all.
        tenants: codes of tenants that it serves under its own account.

    Raises:
        InvalidInput: a field is wrong, by its name; CenterSaysNo: the centre refuses.
        NotFound: there is no such tenant.
        CenterSilent, CenterNonsense: it does not answer, or not as such a centre does.
        Conflict: the code or the name is in use.
    """
    _may(actor)
    facts = _USUAL | dict(facts)
    faults_raise({"ai_center_id": id_fault(ai_center_id)})
    facts_check(facts)
    found = kind_check(kind)
    if serves is None:
        serves = Serves.NAMED if tenants else serves_usual(found)
    serves_check(found, serves, may_share=may_share)
    open_values = values_check(found, settings, are_secret=False)
    secret_values = values_check(found, secrets, are_secret=True)
    _free_check(ai_center_id, facts["name"])
    answer = _tried(kind, open_values, secret_values)
    return center_add(
        actor=actor,
        ai_center_id=ai_center_id,
        name=facts["name"],
        kind=kind,
        given=(open_values, secret_values, facts),
        answer=answer,
        serves=serves,
        tenants=tenants,
    )


@service(P.MANAGE)
def center_add(
    *,
    actor: Actor,
    ai_center_id: str,
    name: str,
    kind: str,
    given: tuple[Mapping[str, str], Mapping[str, str], Mapping[str, Any]],
    answer: Answer,
    serves: str,
    tenants: Collection[str],
) -> Center:
    """Keep a centre that was tried; `given`: its settings, its secrets and its facts, checked. Raises Conflict,
    NotFound."""
    settings, secrets, facts = given
    act_subject("center", ai_center_id, name=name, of_kind=kind, serves=serves, tenants=", ".join(tenants))
    row = Center(ai_center_id=ai_center_id, kind=kind, settings=dict(settings), serves=serves)
    for fact in FACTS:
        setattr(row, fact, facts[fact])
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise _taken(ai_center_id, name) from error
    credential_put(row, secrets, actor.user_id)
    tenants_put(row, tenants, actor.user_id)
    answer_keep(row, answer, actor=actor)
    return row


def center_change(
    *,
    actor: Actor,
    ai_center_id: str,
    facts: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    secrets: Mapping[str, Any] | None = None,
) -> Center:
    """Change what is said of a centre, and with `settings` how it is reached: it is tried with the new ones first.

    With another place (its address, its authority) `secrets` are given anew: those that are kept go nowhere else.
    Raises what `center_join` does, and NotFound.
    """
    _may(actor)
    row = center_get(ai_center_id)
    _merged(row, facts)
    values, answer, given = None, None, None
    accounts: Accounts = []
    if settings is not None:
        kind = kind_check(row.kind)
        values = values_check(kind, settings, are_secret=False)
        given = values_check(kind, secrets, are_secret=True) if secrets and any(secrets.values()) else None
        if values == row.settings and given is None:
            values = None
        else:
            _place_check(kind, row, values, given)
            _work_check(kind, row, values)
            secret_values = credential_open(row) if given is None else given
            answer = _tried(row.kind, values, secret_values)
            accounts = _accounts_check(row, values, secret_values)
    return center_set(
        actor=actor,
        ai_center_id=ai_center_id,
        facts=facts,
        values=values,
        answer=answer,
        revision=row.revision,
        accounts=accounts,
        secrets=given,
    )


def _place_check(
    kind: CenterKind, row: Center, values: Mapping[str, str], secrets: Mapping[str, str] | None
) -> None:
    """InvalidInput where the credential that is kept would go to another place than it was given for."""
    if secrets is not None or not kind.has_secrets:
        return
    moved = [
        each.name
        for each in kind.fields
        if each.is_place and values.get(each.name) != row.settings.get(each.name)
    ]
    faults_raise(
        dict.fromkeys(moved, _("Give the credential anew beside it: the one that is kept goes nowhere else."))
    )


def _work_check(kind: CenterKind, row: Center, values: Mapping[str, str]) -> None:
    """CenterInUse where work that is there would be looked for elsewhere, not be found, and be sent again."""
    moved = any(
        each.holds_work and values.get(each.name) != row.settings.get(each.name) for each in kind.fields
    )
    if moved and row.remote_tasks.filter(state__in=OPEN_STATES).exists():
        raise CenterInUse(_("There is work of %(center)s.") % {"center": row})


@service(P.MANAGE)
def center_set(
    *,
    actor: Actor,
    ai_center_id: str,
    facts: Mapping[str, Any],
    values: Mapping[str, str] | None,
    answer: Answer | None,
    revision: int,
    accounts: Sequence[tuple[str, dict[str, str]]] = (),
    secrets: Mapping[str, str] | None = None,
) -> Center:
    """Keep what was checked, and tried with these `accounts` where `values` are others.

    Raises Conflict, also where somebody has changed meanwhile how the centre is reached or what accounts there are.
    """
    row = _locked(ai_center_id)
    act_subject("center", ai_center_id, **{name: str(value)[:63] for name, value in facts.items()})
    # Of a row that nobody changes now: what somebody else has said meanwhile stays.
    for fact, value in _merged(row, facts).items():
        setattr(row, fact, value)
    if values is not None and answer is not None:
        _unchanged_check(row, revision, accounts)
        _work_check(kind_check(row.kind), row, values)
        row.settings, row.revision = dict(values), row.revision + 1
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise _taken(ai_center_id, row.name) from error
    if secrets is not None:
        credential_put(row, secrets, actor.user_id)
    if answer is not None:
        answer_keep(row, answer, actor=actor)
    return row


def center_credential_set(*, actor: Actor, ai_center_id: str, secrets: Mapping[str, Any]) -> Center:
    """Give a centre another credential, once it was let in with it. Raises what `center_join` does, and NotFound."""
    _may(actor)
    row = center_get(ai_center_id)
    kind = credential_check(row)
    values = values_check(kind, secrets, are_secret=True)
    answer = _tried(row.kind, row.settings, values)
    accounts = _accounts_check(row, row.settings, values)
    return center_credential_keep(
        actor=actor,
        ai_center_id=ai_center_id,
        secrets=values,
        answer=answer,
        revision=row.revision,
        accounts=accounts,
    )


def credential_check(row: Center) -> CenterKind:
    """Its kind. Raises Conflict where centres of that kind have no credential."""
    kind = kind_check(row.kind)
    if not kind.has_secrets:
        raise Conflict(
            _("%(center)s has no credential.") % {"center": row},
            cure=_("Change how it is reached instead."),
        )
    return kind


@service(P.MANAGE)
def center_credential_keep(
    *,
    actor: Actor,
    ai_center_id: str,
    secrets: Mapping[str, str],
    answer: Answer,
    revision: int,
    accounts: Accounts,
) -> Center:
    """Seal the credential that was tried, with these `accounts` too. Raises Conflict where the way to the centre or
    the accounts were changed meanwhile."""
    row = _locked(ai_center_id)
    act_subject("center", ai_center_id, name=row.name)
    _unchanged_check(row, revision, accounts)
    row.revision += 1
    row.save(update_fields=["revision", "updated_at"])
    credential_put(row, secrets, actor.user_id)
    answer_keep(row, answer, actor=actor)
    return row


@service(P.MANAGE)
def center_drain(*, actor: Actor, ai_center_id: str) -> Center:
    """Send no new work there; what is there goes on."""
    return _drained_set(ai_center_id, is_drained=True)


@service(P.MANAGE)
def center_undrain(*, actor: Actor, ai_center_id: str) -> Center:
    """Send work there again."""
    return _drained_set(ai_center_id, is_drained=False)


@service(P.MANAGE)
def center_remove(*, actor: Actor, ai_center_id: str) -> None:
    """Take a centre off the network. Raises CenterInUse while a specification is offered there or work holds it."""
    row = _locked(ai_center_id)
    act_subject("center", ai_center_id, name=row.name)
    offers = [offer.spec.resource_spec_name for offer in row.offers.select_related("spec")[:5]]
    if offers:
        raise CenterInUse(
            _("%(center)s offers specifications: %(specs)s.") % {"center": row, "specs": ", ".join(offers)}
        )
    # What is left there of tasks that are lost is stopped, as long as the centre can be reached.
    held = Q(state__in=OPEN_STATES)
    if row.status == CenterStatus.AVAILABLE:
        held |= Q(is_left=True)
    if row.remote_tasks.filter(held).exists():
        raise CenterInUse(_("There is work of %(center)s.") % {"center": row})
    emit(CenterRemoved(ai_center_id=ai_center_id), actor=actor)
    try:
        # What is over is no reason to keep a centre; who stands above has records of its own.
        row.remote_tasks.all().delete()
        row.delete()
    except ProtectedError as error:
        raise CenterInUse(_("There is work of %(center)s.") % {"center": row}) from error


def _may(actor: Actor) -> None:
    """Before anything is asked of the centre."""
    actor.require(P.MANAGE)
    if actor.is_read_only:
        raise ReadOnly()


def _merged(row: Center, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a centre would be said to be with these facts; InvalidInput where that cannot be."""
    merged = {fact: facts.get(fact, getattr(row, fact)) for fact in FACTS}
    facts_check(merged)
    return merged


def _tried(kind: str, settings: Mapping[str, str], secrets: Mapping[str, str]) -> Answer:
    try:
        return center_tried(kind, settings, secrets)
    except CenterError as error:
        raise refusal_of(error) from error


def _accounts(row: Center) -> Accounts:
    named = row.tenants.exclude(holder="").order_by("pk")
    return [(code, account) for code, account in named.values_list("tenant__schema_name", "account")]


def _accounts_check(row: Center, settings: Mapping[str, str], secrets: Mapping[str, str]) -> Accounts:
    """The tenants' accounts at a centre, each tried by this way to it: what was true of them where it was reached until
    now need not be there. CenterSaysNo, with all that it does not take."""
    accounts, faults = _accounts(row), []
    for tenant, account in accounts:
        try:
            account_tried(row.kind, settings, secrets, account)
        except CenterRefused as error:
            faults.append(
                _("%(tenant)s as %(account)s: %(cause)s")
                % {"tenant": tenant, "account": ", ".join(account.values()), "cause": error_text(error)}
            )
        except CenterError as error:
            raise refusal_of(error) from error
    if faults:
        raise CenterSaysNo(
            _("It does not take these tenants' accounts so. %(faults)s") % {"faults": " ".join(faults)},
            cure=_(
                "Put them right there, or give these tenants other accounts, or take them off the centre."
            ),
        )
    return accounts


def _free_check(ai_center_id: str, name: str) -> None:
    if Center.objects.filter(ai_center_id=ai_center_id).exists() or Center.objects.filter(name=name).exists():
        raise _taken(ai_center_id, name)


def _taken(ai_center_id: str, name: str) -> Conflict:
    return Conflict(
        _("There is a centre %(code)s or one named %(name)s already.") % {"code": ai_center_id, "name": name},
        cure=_("Give it another code and another name."),
    )


def _unchanged_check(row: Center, revision: int, accounts: Sequence[tuple[str, dict[str, str]]]) -> None:
    if row.revision != revision or _accounts(row) != list(accounts):
        raise Conflict(
            _("Somebody has changed meanwhile how %(center)s is reached.") % {"center": row},
            cure=_("Look at what stands there now, and try again."),
        )


def _drained_set(ai_center_id: str, *, is_drained: bool) -> Center:
    row = _locked(ai_center_id)
    act_subject("center", ai_center_id, name=row.name)
    row.is_drained = is_drained
    row.save(update_fields=["is_drained", "updated_at"])
    return row


def _locked(ai_center_id: str) -> Center:
    """NotFound where there is none."""
    act_subject("center", ai_center_id[:64])
    return center_get(ai_center_id, rows=Center.objects.select_for_update())
