"""Settings in the reader's words: what a what-if tries, and what was changed of the policy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from apps.audit.models import Record
from apps.audit.selectors import record_list
from apps.kernel.unit_fields import UnitField
from apps.scheduling.forms.queues import PolicyForm, WhatIfForm
from apps.scheduling.models import SchedulingPolicy
from apps.scheduling.selectors.workloads import queue_list
from apps.tenancy.selectors import tenant_list

HISTORY_SHOWN = 30
# Both languages' colon: what stands behind it explains the choice.
_COLONS = (":", "：")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its label, what it is, what and what it was ("" where nobody knows)."""

    label: str
    value: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """Settings of one subject that were, or would be, changed: the policy, a queue or a tenant's quota."""

    subject: str
    settings: list[Setting]


@dataclass(frozen=True, slots=True)
class Changed:
    """One change of the policy: by whom, when, and of what."""

    record: Record
    settings: list[Setting]


def policy_history() -> list[Changed]:
    """The last changes of the policy, newest first: who, when, and from what to what."""
    records = list(record_list(subject_kind="scheduling_policy")[: HISTORY_SHOWN + 1])
    before: dict[str, Any] = {}
    found = []
    for record in reversed(records):
        known = {name: value for name, value in record.detail.items() if hasattr(SchedulingPolicy, name)}
        settings = [
            setting(name, value, before.get(name), is_known=name in before)
            for name, value in known.items()
            if name not in before or before[name] != value
        ]
        before |= known
        found.append(Changed(record, settings))
    return [each for each in reversed(found) if each.settings][:HISTORY_SHOWN]


def changes_said(changes: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """What a what-if tries, subject by subject."""
    return list(_changes(changes))


def _changes(changes: Mapping[str, Mapping[str, Any]]) -> Iterator[Change]:
    if changes.get("policy"):
        yield Change(_("Policy"), _settings(changes["policy"]))
    queues = {row.code: row for row in queue_list()}
    for code, given in changes.get("queues", {}).items():
        yield Change(f"{_('Queue')} {queues.get(code, code)}", _settings(given))
    tenants = dict(tenant_list().values_list("schema_name", "name"))
    for schema, given in changes.get("quotas", {}).items():
        yield Change(f"{_('Quota')} {tenants.get(schema, schema)}", _settings(given))


def _settings(given: Mapping[str, Any]) -> list[Setting]:
    return [setting(name, value) for name, value in given.items()]


def setting(name: str, value: Any, before: Any = None, *, is_known: bool = False) -> Setting:
    """A setting as its form names it."""
    field = _field(name)
    return Setting(
        label=str(field.label) if field else name,
        value=_said(field, value),
        before=_said(field, before) if is_known else "",
    )


def _field(name: str) -> forms.Field | None:
    return PolicyForm.base_fields.get(name) or WhatIfForm.base_fields.get(name)


def _said(field: forms.Field | None, value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value in (None, ""):
        return _("none")
    if isinstance(field, UnitField):
        return field.scale.text(value)
    word = str(dict(getattr(field, "choices", ())).get(value, value))
    for colon in _COLONS:
        word = word.partition(colon)[0]
    return word
