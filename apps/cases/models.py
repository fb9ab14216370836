"""The operators' work-item index over all tenants' forms, orders, tickets and approval tasks."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.cases.types import CaseKind
from apps.kernel.money import MoneyField
from apps.kernel.planes import TenantOwned


class Case(TenantOwned):
    """One row per tenant row that operators page, filter, assign or count (PLAT-OPS-17). Written by `case_put`
    alone, in the transaction that changes the tenant row."""

    kind = models.CharField(_("kind"), max_length=8, choices=CaseKind)
    uid = models.UUIDField(_("identifier"))
    no = models.CharField(_("business number"), max_length=32)
    title_zh = models.CharField(_("title in Chinese"), max_length=200)
    title_en = models.CharField(_("title in English"), max_length=200)
    state = models.CharField(_("state"), max_length=16)
    applicant_id = models.BigIntegerField(_("applicant"), null=True)
    applicant_name = models.CharField(_("applicant"), max_length=120, blank=True)
    organization = models.CharField(_("organization"), max_length=120, blank=True)
    business_system = models.CharField(_("business system"), max_length=120, blank=True)
    category = models.CharField(_("category"), max_length=80, blank=True)
    side = models.CharField(_("side"), max_length=8, blank=True)
    roles = ArrayField(models.CharField(max_length=48), default=list, verbose_name=_("candidate roles"))
    candidate_ids = ArrayField(models.BigIntegerField(), default=list, verbose_name=_("candidates by name"))
    assignee_id = models.BigIntegerField(_("assignee"), null=True)
    worked_by_ids = ArrayField(models.BigIntegerField(), default=list, verbose_name=_("worked on by"))
    amount = MoneyField(_("amount"), null=True)
    due_at = models.DateTimeField(_("due at"), null=True)
    urged_at = models.DateTimeField(_("urged at"), null=True)
    link = models.CharField(_("link"), max_length=200)
    is_open = models.BooleanField(_("open"), default=True)
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("case")
        verbose_name_plural = _("cases")
        constraints = [models.UniqueConstraint(fields=["kind", "uid"], name="case_once")]
        indexes = [
            models.Index("kind", models.F("created_at").desc(), models.F("id").desc(), name="case_newest"),
            models.Index("tenant", "kind", models.F("created_at").desc(), name="case_of_tenant"),
            models.Index("kind", "tenant", name="case_open", condition=models.Q(is_open=True)),
            models.Index("no", name="case_no"),
            GinIndex(fields=["roles"], name="case_roles", condition=models.Q(is_open=True)),
            GinIndex(fields=["worked_by_ids"], name="case_worked_by"),
        ]

    def __str__(self) -> str:
        return f"{self.no} {self.title}"

    @property
    def title(self) -> str:
        """The title in the language of the reader."""
        return self.title_zh if (get_language() or "").startswith("zh") else self.title_en

    @property
    def is_overdue(self) -> bool:
        """Whether it is still open after it was due."""
        return self.is_open and self.due_at is not None and self.due_at < timezone.now()

    @property
    def operator_link(self) -> str:
        """The path of its page on the provider's host."""
        return f"/t/{self.tenant.schema_name}{self.link}"
