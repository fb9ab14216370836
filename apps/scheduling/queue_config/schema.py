"""The queues as a file (ELA-1701): its words, what each means of a queue, and where it is wrong. No database.

    queues:
      - {name: normal, weight: 50, maxCapacity: 64, guaranteedCapacity: 16, preemptionPolicy: PreemptLowerPriority}
    fairShare: {enabled: true, preemptionPolicy: PreemptLowerPriority}

Capacities are cards, to the hundredth; a `maxCapacity` of 0, or none, is the whole pool (ELA-603).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import yaml
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apps.kernel.errors import InvalidInput
from apps.scheduling.errors import InvalidQueueFile
from apps.scheduling.models.oversubscription import PATTERN, mode_read
from apps.scheduling.models.tenant_shares import MOST_SHARE
from apps.scheduling.queue_config.time_windows import Span, weekly_read
from apps.scheduling.queue_config.yaml_lines import Document, NotYaml, Path, documents
from apps.scheduling.states import MOST_QUEUE_PRIORITY

PREEMPTS, NEVER = "PreemptLowerPriority", "Never"
KEY = "queues.yaml"
_MOST = 2**31 - 1

Model = TypeVar("Model", bound=BaseModel)

Preemption = Literal["PreemptLowerPriority", "Never"]
Cards = Annotated[Decimal, Field(ge=0, le=_MOST // 100, decimal_places=2, strict=False)]
Mib = Annotated[int, Field(ge=0, le=_MOST)]
Code = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]{1,48}$")]
Title = Annotated[str, Field(min_length=1, max_length=80)]
Words = list[Annotated[str, Field(min_length=1, max_length=63)]]


class Strict(BaseModel):
    """What has other settings, or values of other kinds, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class QueueIn(Strict):
    """A queue of the file. Of its first five settings what is not named has its default; the others are our own, and
    stay as they are where they are not named."""

    name: Code
    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    max_cards: Annotated[Cards | None, Field(alias="maxCapacity")] = None
    guaranteed_cards: Annotated[Cards, Field(alias="guaranteedCapacity")] = Decimal(0)
    preemption: Annotated[Preemption, Field(alias="preemptionPolicy")] = "PreemptLowerPriority"

    only_borrows: Annotated[bool, Field(alias="onlyBorrows")] = False
    parent: Code | None = None
    priority: Annotated[int, Field(ge=-MOST_QUEUE_PRIORITY, le=MOST_QUEUE_PRIORITY)] = 0
    ordering: Annotated[str, Field(max_length=16)] = ""
    placing: Annotated[str, Field(max_length=16)] = ""
    resource_group: Annotated[str, Field(alias="resourceGroup", max_length=48)] = ""
    borrow_cards: Annotated[Cards, Field(alias="borrowCapacity")] = Decimal(0)
    lend_cards: Annotated[Cards | None, Field(alias="lendCapacity")] = None
    max_mib: Annotated[Mib | None, Field(alias="maxMemoryMiB")] = None
    guaranteed_mib: Annotated[Mib, Field(alias="guaranteedMemoryMiB")] = 0
    borrow_mib: Annotated[Mib, Field(alias="borrowMemoryMiB")] = 0
    lend_mib: Annotated[Mib | None, Field(alias="lendMemoryMiB")] = None
    reclaims: bool = True
    title_en: Annotated[Title | None, Field(alias="titleEn")] = None
    title_zh: Annotated[Title | None, Field(alias="titleZh")] = None
    is_default: Annotated[bool, Field(alias="default")] = False
    max_run_s: Annotated[int | None, Field(alias="maxRunSeconds", ge=1, le=_MOST)] = None
    """None: UNLIMITED."""
    oversubscribe: Annotated[str, Field(pattern=PATTERN)] = "FORCE"
    tenants: Words | None = None
    windows: Words | None = None
    user_groups: Annotated[Words | None, Field(alias="userGroups")] = None

    def settings(self) -> dict[str, Any]:
        """The queue's columns that the entry decides, by their names; its parent is a code yet."""
        most = None if not self.max_cards else _percent(self.max_cards)
        found = {
            "weight": self.weight,
            "max_compute_percent": 0 if self.only_borrows else most,
            "guaranteed_compute_percent": _percent(self.guaranteed_cards),
            "preempts": self.preemption == PREEMPTS,
        }
        named = self.model_fields_set
        found |= {column: getattr(self, name) for name, column in _AS_IT_IS.items() if name in named}
        found |= {
            column: _percent(getattr(self, name)) for name, column in _IN_CARDS.items() if name in named
        }
        if "oversubscribe" in named:
            found["oversubscribe"], found["max_jobs"] = mode_read(self.oversubscribe)
        return {name: value for name, value in found.items() if not name.startswith("name_") or value}


_AS_IT_IS = {
    "priority": "priority", "parent": "parent", "ordering": "ordering", "placing": "placing",
    "resource_group": "resource_group", "reclaims": "reclaims", "title_en": "name_en", "title_zh": "name_zh",
    "max_mib": "max_memory_mib", "guaranteed_mib": "guaranteed_memory_mib", "borrow_mib": "borrow_memory_mib",
    "lend_mib": "lend_memory_mib", "is_default": "is_default", "max_run_s": "max_run_s",
}  # fmt: skip
_IN_CARDS = {"borrow_cards": "borrow_compute_percent", "lend_cards": "lend_compute_percent"}
_COLUMNS = {
    **_AS_IT_IS, **_IN_CARDS, "weight": "weight", "max_cards": "max_compute_percent",
    "guaranteed_cards": "guaranteed_compute_percent", "preemption": "preempts", "oversubscribe": "oversubscribe",
}  # fmt: skip
WORD_OF = {column: QueueIn.model_fields[name].alias or name for name, column in _COLUMNS.items()}
"""What a queue's column is called in the file."""


class FairShareIn(Strict):
    """Whether tenants are served by their shares, and whether work preempts then (ELA-1009)."""

    enabled: bool
    preemption: Annotated[Preemption, Field(alias="preemptionPolicy")] = "PreemptLowerPriority"
    shares: dict[Annotated[str, Field(max_length=63)], Annotated[int, Field(ge=0, le=MOST_SHARE)]] | None = (
        None
    )
    """Of tenants by code; who is not named has 1. None: they stay as they are."""


class FileIn(Strict):
    queues: Annotated[list[QueueIn], Field(min_length=1, max_length=5000)]
    fair_share: Annotated[FairShareIn | None, Field(alias="fairShare")] = None


def _percent(cards: Decimal | None) -> int | None:
    return None if cards is None else int(cards * 100)


def cards_of(percent: int | None) -> int | float | None:
    """Percent of a card as cards, as a file writes them."""
    if percent is None:
        return None
    return percent // 100 if percent % 100 == 0 else float(Decimal(percent) / 100)


@dataclass(frozen=True)
class Entry:
    """A queue of the file: columns by name, the parent's code, tenants' schemas, codes of user groups; None of what
    are lists is as it stands."""

    code: str
    settings: Mapping[str, Any]
    tenants: tuple[str, ...] | None = None
    windows: tuple[Span, ...] | None = None
    user_groups: tuple[str, ...] | None = None
    line: int = 1
    lines: Mapping[str, int] = field(default_factory=dict)
    """Of settings that are named, by the name that the file has for them."""

    def refusal(self, cause: object, cure: object, *columns: str) -> InvalidQueueFile:
        """The refusal of this entry, at the line of the first of the columns that the file names."""
        named = [WORD_OF.get(column, column) for column in columns]
        line = next((self.lines[name] for name in named if name in self.lines), self.line)
        return file_refusal([Fault(line, f"{self.code}: {cause}", str(cure))])


@dataclass(frozen=True)
class QueueFile:
    """What a file says. `notes`: what it says and nothing is made of."""

    entries: tuple[Entry, ...]
    fair_share: FairShareIn | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """Where a file is wrong: the line, counted from 1, why, and what to do."""

    line: int
    cause: str
    cure: str


def file_refusal(faults: Collection[Fault]) -> InvalidQueueFile:
    """The refusal of a file, by its first fault; `fields` has all of them by their lines."""
    first, *others = sorted(faults, key=lambda fault: fault.line)
    fields: dict[str, object] = {}
    for each in (first, *others):
        name = _("line %(line)s") % {"line": each.line}
        fields[name] = " ".join(filter(None, (str(fields.get(name, "")), each.cause, each.cure)))
    return InvalidQueueFile(
        _("Line %(line)s: %(cause)s") % {"line": first.line, "cause": first.cause},
        cure=first.cure,
        fields=fields,
    )


def documents_of(text: str) -> list[Document]:
    """The file's documents. Of a ConfigMap it is the text under `queues.yaml`. Raises InvalidQueueFile."""
    try:
        found = documents(text)
        for each in found:
            if isinstance(each.value, dict) and each.value.get("kind") == "ConfigMap":
                return _inner(each)
    except NotYaml as error:
        raise file_refusal([Fault(error.line, error.cause, error.cure)]) from error
    if not found:
        raise file_refusal([Fault(1, _("The file is empty."), _("List the queues under `queues`."))])
    return found


def _inner(config_map: Document) -> list[Document]:
    data = config_map.value.get("data")
    text = data.get(KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        cause = _("The ConfigMap has no %(key)s.") % {"key": KEY}
        raise file_refusal([Fault(config_map.line_of(("data",)), cause, _("Put the queues under it."))])
    return documents(text, after=config_map.line_of(("data", KEY)))


def queue_file_read(document: Document) -> QueueFile:
    """The file that a document is. Raises InvalidQueueFile with every fault that its text alone shows."""
    read = checked(FileIn, document)
    entries = [entry_of(each, document.under("queues", at)) for at, each in enumerate(read.queues)]
    once_check(entries)
    return QueueFile(tuple(entries), read.fair_share)


def entry_of(read: QueueIn, at: Document) -> Entry:
    """The queue that was read at this place of the file."""
    lines = {str(path[0]): line for path, line in at.lines.items() if len(path) == 1}
    windows = None
    try:
        if read.windows is not None:
            windows = tuple(weekly_read("\n".join(read.windows)))
    except InvalidInput as error:
        line = lines.get("windows", at.line)
        raise file_refusal([Fault(line, str(error.message), str(error.cure))]) from error
    tenants = None if read.tenants is None else tuple(read.tenants)
    groups = None if read.user_groups is None else tuple(read.user_groups)
    return Entry(read.name, read.settings(), tenants, windows, groups, at.line, lines)


def once_check(entries: Iterable[Entry]) -> None:
    """InvalidQueueFile for a queue that stands twice in the file (ELA-609)."""
    seen: dict[str, int] = {}
    for each in entries:
        if each.code in seen:
            cause = _("queue %(code)s stands on line %(line)s already") % {
                "code": each.code,
                "line": seen[each.code],
            }
            raise each.refusal(cause, _("Take one away."), "name")
        seen[each.code] = each.line


def checked(model: type[Model], document: Document) -> Model:
    """The document as the model reads it; InvalidQueueFile names every line that it does not take."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise file_refusal([_fault(each, document) for each in error.errors()]) from error


def _fault(error: Any, document: Document) -> Fault:
    """What pydantic says of a place, as a person corrects it."""
    line, kind, bounds = document.line_of(tuple(error["loc"])), error["type"], error.get("ctx", {})
    name = _named(tuple(error["loc"]), document, is_there=kind != "missing")
    if kind == "extra_forbidden":
        return Fault(
            line,
            _("There is no setting %(name)s here.") % {"name": name},
            _("Correct its name, or take it away."),
        )
    if kind == "missing":
        return Fault(line, _("%(name)s is missing.") % {"name": name}, _("Name it."))
    given = (
        error["input"] if isinstance(error["input"], (str, int, Decimal)) else type(error["input"]).__name__
    )
    cause = _("%(name)s cannot be %(given)s.") % {"name": name, "given": given}
    if kind == "literal_error":
        return Fault(line, cause, _("It is %(words)s.") % {"words": bounds["expected"]})
    for bound, cure in _BOUNDS.items():
        if bound in bounds and kind != "string_pattern_mismatch":
            return Fault(line, cause, _(cure) % {"bound": bounds[bound]})
    return Fault(line, cause, _(_KINDS[kind]) if kind in _KINDS else error["msg"])


def _named(path: Path, document: Document, *, is_there: bool) -> str:
    """The setting at the path; of a choice of kinds pydantic adds the kind, which no file has."""
    while is_there and path not in document.lines and path:
        path = path[:-1]
    return str(path[-1]) if path else _("the file")


_BOUNDS = {
    "ge": gettext_noop("It is at least %(bound)s."),
    "le": gettext_noop("It is at most %(bound)s."),
    "decimal_places": gettext_noop("It has at most %(bound)s decimal places."),
    "max_length": gettext_noop("It has at most %(bound)s characters or entries."),
    "min_length": gettext_noop("It has at least %(bound)s characters or entries."),
}
_KINDS = {
    "string_pattern_mismatch": gettext_noop(
        "Letters, digits and hyphens; of oversubscribe YES, NO, EXCLUSIVE, FORCE:4."
    ),
    "string_type": gettext_noop("It is a word: put it in quotation marks."),
    "int_type": gettext_noop("It is a whole number."),
    "decimal_parsing": gettext_noop("It is a number of cards."),
    "decimal_type": gettext_noop("It is a number of cards."),
    "bool_type": gettext_noop("It is true or false."),
    "list_type": gettext_noop("It is a list."),
    "model_type": gettext_noop("It is a group of settings: NAME: VALUE."),
}


def queue_file_text(entries: Sequence[Mapping[str, Any]], fair_share: Mapping[str, Any]) -> str:
    """The file that `queue_file_read` reads back to the same."""
    told = {"queues": [dict(each) for each in entries], "fairShare": dict(fair_share)}
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=110)
