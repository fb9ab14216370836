"""The one way a case is written."""

from dataclasses import asdict
from uuid import UUID

from apps.cases.events import CaseChanged
from apps.cases.models import Case
from apps.cases.types import CaseData
from apps.kernel.actor import Actor
from apps.kernel.case_mirror import mirror_put
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service


@service(recorded=False)
def case_put(*, actor: Actor, data: CaseData) -> Case:
    """Write the case of a row of the current tenant: make it, or bring it to what the row says now (PLAT-OPS-17).

    Called in the transaction that changes the row. Raises PlaneError on the provider plane.
    """
    fields = asdict(data)
    fields["title_zh"], fields["title_en"] = data.title_zh[:200], data.title_en[:200]
    for name in ("roles", "candidate_ids", "worked_by_ids"):
        fields[name] = list(fields[name])
    kind, uid = fields.pop("kind"), fields.pop("uid")
    case, _made = Case.plain.update_or_create(
        kind=kind, uid=uid, defaults={**fields, "tenant": current_tenant()}
    )
    mirror_put(kind, uid)
    emit(CaseChanged(kind), actor=actor)
    return case


@service(recorded=False)
def case_drop(*, actor: Actor, kind: str, uid: UUID) -> None:
    """Forget the case of a row that is deleted: a draft that was submitted once and withdrawn."""
    Case.objects.of(current_schema()).filter(kind=kind, uid=uid).delete()
    mirror_put(kind, uid)
    emit(CaseChanged(kind), actor=actor)


@service(recorded=False)
def tenant_cases_forget(*, actor: Actor, schema: str) -> None:
    """Forget every case of a tenant whose rows are gone."""
    Case.objects.of(schema).delete()
