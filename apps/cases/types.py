"""What a tenant's row says about itself to the operators' index."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _


class CaseKind(models.TextChoices):
    FORM = "form", _("Application form")
    ORDER = "order", _("Order")
    TICKET = "ticket", _("Work ticket")
    TASK = "task", _("Approval task")


@dataclass(frozen=True, slots=True)
class CaseData:
    """The whole of one case. `case_put` writes every field: what is not given becomes empty.

    `roles` are the codes of the roles whose holders may act on it, `side` says whose roles they are,
    `candidate_ids` are users who may act by name;
    `category` is the path of a ticket's category; `worked_by_ids` are the users who decided or worked on it; `link` is
    its page, relative to the tenant's portal; `amount` is what it decides on, in CNY.
    """

    kind: str
    uid: UUID
    no: str
    title_zh: str
    title_en: str
    state: str
    created_at: datetime
    is_open: bool
    link: str
    applicant_id: int | None = None
    applicant_name: str = ""
    organization: str = ""
    business_system: str = ""
    category: str = ""
    side: str = ""
    roles: tuple[str, ...] = ()
    candidate_ids: tuple[int, ...] = ()
    assignee_id: int | None = None
    worked_by_ids: tuple[int, ...] = ()
    due_at: datetime | None = None
    urged_at: datetime | None = None
    amount: Decimal | None = None
