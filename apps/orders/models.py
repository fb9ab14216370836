"""A tenant asks for something: cart, application form with lines and attachments, and the orders made of it."""

import uuid

from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.catalog.states import CommodityKind
from apps.kernel.attached_files import AttachedFile
from apps.kernel.money import MoneyField
from apps.kernel.planes import SharedForeignKey
from apps.orders.states import FormKind, FormState, OrderState


def _text(zh: str, en: str) -> str:
    return zh if (get_language() or "").startswith("zh") else en


class CartLine(models.Model):
    """A service that a user means to apply for (PLAT-APPLY-1)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = SharedForeignKey("identity.User")
    commodity = SharedForeignKey("catalog.Commodity", verbose_name=_("commodity"))
    amounts = models.JSONField(_("amounts"), default=dict)
    count = models.PositiveIntegerField(_("count"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("cart line")
        verbose_name_plural = _("cart lines")
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return str(self.uid)


class ApplicationForm(models.Model):
    """A request for one or several services, or to end or change an order (PLAT-APPLY-2 to -15, -22).
    Durations in seconds; None: without an end.

    `fields` are those of the form template as they were when it was begun, `data` what was filled in. `volumes` are
    mounted where the ordered work runs, as work asks for them: a name, then where, then `ro`.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("business number"), max_length=32, unique=True)
    kind = models.CharField(_("kind"), max_length=16, choices=FormKind, default=FormKind.NEW)
    state = models.CharField(_("state"), max_length=16, choices=FormState, default=FormState.DRAFT)
    applicant = SharedForeignKey("identity.User", verbose_name=_("applicant"))
    applicant_name = models.CharField(_("applicant"), max_length=120)
    organization = models.ForeignKey(
        "orgs.Organization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    organization_name = models.CharField(_("applying unit"), max_length=120, blank=True)
    business_system = models.ForeignKey(
        "orgs.BusinessSystem",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("business system"),
    )
    target_order = models.ForeignKey(
        "orders.Order",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="later_forms",
        verbose_name=_("order to end or change"),
    )
    duration_s = models.PositiveIntegerField(_("duration (s)"), null=True, blank=True, default=3600)
    remark = models.CharField(_("remark"), max_length=1000, blank=True)
    template_code = models.SlugField(_("form template"), max_length=48, blank=True)
    fields = models.JSONField(default=list)
    data = models.JSONField(_("further fields"), default=dict)
    volumes = models.JSONField(_("volumes"), default=list, blank=True)
    coupon_uid = models.UUIDField(_("coupon"), null=True, blank=True)
    total = MoneyField(_("quoted total"), null=True, blank=True)
    note = models.CharField(_("note"), max_length=500, blank=True)
    submitted_at = models.DateTimeField(_("application time"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("application form")
        verbose_name_plural = _("application forms")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="form_state_known", condition=models.Q(state__in=FormState.values)),
            models.CheckConstraint(
                name="form_target_order",
                condition=models.Q(kind__in=("termination", "change"), target_order__isnull=False)
                | (~models.Q(kind__in=("termination", "change")) & models.Q(target_order__isnull=True)),
            ),
        ]
        indexes = [models.Index(fields=["applicant", "-created_at"], name="form_by_applicant")]

    def __str__(self) -> str:
        return self.no

    @property
    def business_system_name(self) -> str:
        return self.business_system.name if self.business_system else ""

    @property
    def is_draft(self) -> bool:
        return self.state == FormState.DRAFT


class FormLine(models.Model):
    """One commodity of a form, with the buyer's own program where it runs that; of secrets it holds names and keys.

    At submitting, the commodity as it is and the quote are frozen; `hold_uid` names the
    quota held for it, from then until the order's resource is released."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    form = models.ForeignKey(ApplicationForm, on_delete=models.CASCADE, related_name="lines")
    commodity = SharedForeignKey("catalog.Commodity", verbose_name=_("commodity"))
    commodity_snapshot = models.JSONField(_("commodity as submitted"), default=dict)
    amounts = models.JSONField(_("amounts"), default=dict)
    count = models.PositiveIntegerField(_("count"), default=1)
    program = models.JSONField(_("program"), default=dict, blank=True)
    quote = models.JSONField(_("quote"), null=True, blank=True)
    hold_uid = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("form line")
        verbose_name_plural = _("form lines")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.form_id}: {self.commodity_id}"


class Attachment(AttachedFile):
    """A file that goes with a form through the whole process (PLAT-APPLY-5)."""

    form = models.ForeignKey(ApplicationForm, on_delete=models.CASCADE, related_name="attachments")


class Order(models.Model):
    """What an approved line became (PLAT-APPLY-16): its resource is a workload or a volume, or what a person did.
    `state_before` is where a refused termination leads back to;
    `ended_at` is when its resource was released, whatever the reason; `end_told_s` is the duration whose coming end its
    applicant was told of."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("business number"), max_length=32, unique=True)
    form = models.ForeignKey(ApplicationForm, on_delete=models.PROTECT, related_name="orders")
    line = models.OneToOneField(FormLine, on_delete=models.PROTECT, related_name="order")
    state = models.CharField(_("state"), max_length=16, choices=OrderState, default=OrderState.PENDING)
    state_before = models.CharField(max_length=16, blank=True)
    commodity_name_zh = models.CharField(_("commodity in Chinese"), max_length=120)
    commodity_name_en = models.CharField(_("commodity in English"), max_length=120)
    supplier = models.CharField(_("supplier"), max_length=120, blank=True)
    applicant = SharedForeignKey("identity.User", verbose_name=_("applicant"))
    applicant_name = models.CharField(_("applicant"), max_length=120)
    organization = models.ForeignKey(
        "orgs.Organization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    organization_name = models.CharField(_("applying unit"), max_length=120, blank=True)
    business_system = models.ForeignKey(
        "orgs.BusinessSystem",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("business system"),
    )
    duration_s = models.PositiveIntegerField(_("duration (s)"), null=True, blank=True)
    quote = models.JSONField(_("quote"))
    workload_uid = models.UUIDField(null=True, blank=True, unique=True)
    volume_uid = models.UUIDField(null=True, blank=True, unique=True)
    ticket_uid = models.UUIDField(null=True, blank=True)
    note = models.CharField(_("note"), max_length=500, blank=True)
    end_told_s = models.PositiveIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    end_reason_code = models.CharField(_("reason"), max_length=32, blank=True)
    end_reason = models.CharField(_("reason"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="order_state_known", condition=models.Q(state__in=OrderState.values)),
        ]
        indexes = [models.Index(fields=["applicant", "-created_at"], name="order_by_applicant")]

    def __str__(self) -> str:
        return self.no

    @property
    def commodity_name(self) -> str:
        """The commodity's name, as it was, in the language of the reader."""
        return _text(self.commodity_name_zh, self.commodity_name_en)

    @property
    def business_system_name(self) -> str:
        return self.business_system.name if self.business_system else ""

    @property
    def terminations(self) -> models.QuerySet[ApplicationForm]:
        return self.later_forms.filter(kind=FormKind.TERMINATION)

    @property
    def changes(self) -> models.QuerySet[ApplicationForm]:
        return self.later_forms.filter(kind=FormKind.CHANGE)

    @property
    def is_manual(self) -> bool:
        """Whether a person delivers it, by the answer on its ticket."""
        return bool(self.line.commodity_snapshot.get("kind") == CommodityKind.MANUAL)

    @property
    def charged_uid(self) -> uuid.UUID | None:
        """What its charge is kept by."""
        return self.workload_uid or self.volume_uid

    @property
    def is_ended(self) -> bool:
        return self.ended_at is not None


class OrderRemark(models.Model):
    """What somebody of the tenant, or an operator, said about an order; it stays as it was said (PLAT-APPLY-17)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="remarks")
    author = SharedForeignKey("identity.User", verbose_name=_("author"))
    author_name = models.CharField(_("author"), max_length=120)
    by_operator = models.BooleanField(_("by the computing centre"))
    text = models.CharField(_("remark"), max_length=2000)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("remark")
        verbose_name_plural = _("remarks")
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        return self.text[:40]
