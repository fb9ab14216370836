"""The tenant's own map: organizations, posts, members, roles, and business systems with who takes part in them."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from guardian.models import UserObjectPermissionBase

from apps.centre.mail_address import MAIL_TRIES_MAX
from apps.identity.models import PostFields
from apps.kernel.planes import SharedForeignKey
from apps.kernel.reach import DataPermission, Records, Scope
from apps.orgs.states import ReportState, Stage

TAKE_PART = "take_part"


class Organization(models.Model):
    """A department in the tenant's tree (PLAT-TEN-14, PLAT-TEN-15)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=120)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    description = models.CharField(_("description"), max_length=500, blank=True)
    attributes = models.JSONField(_("attributes"), default=dict, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("organization")
        verbose_name_plural = _("organizations")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["parent", "name"], name="organization_name_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="organization_not_own_parent",
                condition=models.Q(parent=None) | ~models.Q(parent=models.F("id")),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Post(PostFields):
    """A post of the tenant."""


class Member(models.Model):
    """A user's one place in the tenant: exactly one organization (PLAT-TEN-29)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = SharedForeignKey("identity.User", unique=True)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="members")
    post = models.ForeignKey(Post, null=True, blank=True, on_delete=models.PROTECT, related_name="holders")
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        ordering = ["pk"]

    def __str__(self) -> str:
        return str(self.user)


class TenantRole(models.Model):
    """A role of the tenant side: a name for a set of permission codes, and whose records it reaches. Built-in ones
    follow the code; a read-only one changes nothing whatever it holds."""

    code = models.SlugField(_("code"), max_length=48, unique=True)
    name_en = models.CharField(_("name in English"), max_length=80)
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    permissions = ArrayField(models.CharField(max_length=64), default=list, verbose_name=_("permissions"))
    is_builtin = models.BooleanField(_("built-in"), default=False)
    description = models.CharField(_("description"), max_length=500, blank=True)
    is_read_only = models.BooleanField(_("read-only"), default=False)
    orders_scope = models.CharField(max_length=12, default=Scope.OWN.value)
    resources_scope = models.CharField(max_length=12, default=Scope.OWN.value)
    systems_scope = models.CharField(max_length=12, default=Scope.OWN.value)
    costs_scope = models.CharField(max_length=12, default=Scope.OWN.value)
    people_scope = models.CharField(max_length=12, default=Scope.OWN.value)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("role")
        verbose_name_plural = _("roles")
        ordering = ["code"]
        constraints = [
            models.CheckConstraint(
                name="tenant_role_scopes",
                condition=models.Q(
                    orders_scope__in=list(Scope),
                    resources_scope__in=list(Scope),
                    systems_scope__in=list(Scope),
                    costs_scope__in=list(Scope),
                    people_scope__in=list(Scope),
                ),
            )
        ]

    def __str__(self) -> str:
        return self.name_en

    @property
    def data_permission(self) -> DataPermission:
        """Whose records it reaches (PLAT-TEN-32)."""
        return DataPermission(
            **{records.value: getattr(self, f"{records.value}_scope") for records in Records}
        )


class RoleBinding(models.Model):
    """A user holds a role in this tenant; one of several is active at a time (PLAT-TEN-28)."""

    user = SharedForeignKey("identity.User")
    role = models.ForeignKey(TenantRole, on_delete=models.PROTECT, related_name="bindings")
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("role binding")
        verbose_name_plural = _("role bindings")
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["user", "role"], name="role_binding_once")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class Invitation(models.Model):
    """A link with which one person joins this tenant once, within its time. Only the secret's SHA-256 is kept."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    digest = models.CharField(max_length=64, unique=True)
    display_name = models.CharField(_("name"), max_length=120)
    email = models.EmailField(_("e-mail"), blank=True)
    organization = models.ForeignKey(
        Organization, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    roles = models.ManyToManyField(TenantRole, related_name="+", verbose_name=_("roles"))
    made_by = SharedForeignKey("identity.User", null=True)
    expires_at = models.DateTimeField(_("expires at"))
    withdrawn_at = models.DateTimeField(_("withdrawn at"), null=True)
    used_at = models.DateTimeField(_("used at"), null=True)
    used_by = SharedForeignKey("identity.User", null=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.display_name

    @property
    def state(self) -> str:
        """`open`, `used`, `withdrawn` or `expired`."""
        if self.used_at:
            return "used"
        if self.withdrawn_at:
            return "withdrawn"
        return "open" if self.expires_at > timezone.now() else "expired"

    @property
    def mail_state(self) -> str:
        """`waiting`, `sent` or `failed`; "" where no mail was asked for."""
        mail = getattr(self, "mail", None)
        return mail.state if mail else ""


class InvitationMail(models.Model):
    """An invitation's link is sent by mail: how often that was tried, and when it was done."""

    invitation = models.OneToOneField(Invitation, on_delete=models.CASCADE, related_name="mail")
    portal = models.CharField(max_length=300)
    language = models.CharField(max_length=8)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    sent_at = models.DateTimeField(_("mail sent at"), null=True)

    def __str__(self) -> str:
        return f"{self.invitation}: {self.state}"

    @property
    def state(self) -> str:
        """`waiting`, `sent`, or `failed` after the last try."""
        if self.sent_at:
            return "sent"
        is_over = self.tries >= MAIL_TRIES_MAX and self.next_try_at <= timezone.now()
        return "failed" if is_over else "waiting"


class BusinessSystem(models.Model):
    """Unit in which resources are managed and separated: two levels, one owning organization (PLAT-TEN-21)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("information system name"), max_length=120, unique=True)
    number = models.CharField(_("system service number"), max_length=48, unique=True)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="business_systems")
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    is_enabled = models.BooleanField(_("enabled"), default=True)
    stage = models.CharField(_("stage"), max_length=16, choices=Stage, default=Stage.PLANNING)
    done_percent = models.PositiveSmallIntegerField(_("done, %"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("business system")
        verbose_name_plural = _("business systems")
        ordering = ["number"]
        permissions = [(TAKE_PART, "Can take part in the business system")]
        constraints = [
            models.CheckConstraint(name="business_system_stage", condition=models.Q(stage__in=Stage.values)),
            models.CheckConstraint(name="business_system_done", condition=models.Q(done_percent__lte=100)),
        ]

    def __str__(self) -> str:
        return self.name


class ProgressReport(models.Model):
    """Somebody says how far a business system is; confirmed by who decides, that is where it stands (PLAT-TEN-23)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("business number"), max_length=32, unique=True)
    business_system = models.ForeignKey(BusinessSystem, on_delete=models.PROTECT, related_name="reports")
    stage = models.CharField(_("stage"), max_length=16, choices=Stage)
    done_percent = models.PositiveSmallIntegerField(_("done, %"))
    note = models.CharField(_("what was done"), max_length=1000)
    state = models.CharField(_("state"), max_length=16, choices=ReportState, default=ReportState.WAITING)
    reported_by = SharedForeignKey("identity.User", verbose_name=_("reported by"))
    reporter_name = models.CharField(_("reported by"), max_length=120)
    comment = models.CharField(_("comment"), max_length=1000, blank=True)
    decided_at = models.DateTimeField(_("decided at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("progress report")
        verbose_name_plural = _("progress reports")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["business_system"], condition=models.Q(state="waiting"), name="progress_waits_once"
            ),
            models.CheckConstraint(name="progress_state", condition=models.Q(state__in=ReportState.values)),
            models.CheckConstraint(name="progress_stage", condition=models.Q(stage__in=Stage.values)),
            models.CheckConstraint(name="progress_done", condition=models.Q(done_percent__lte=100)),
        ]

    def __str__(self) -> str:
        return self.no


class BusinessSystemUser(UserObjectPermissionBase):
    """A user takes part in a business system, of his own organization or another (PLAT-TEN-20, PLAT-TEN-22)."""

    content_object = models.ForeignKey(BusinessSystem, on_delete=models.CASCADE, related_name="user_grants")
    user = SharedForeignKey("identity.User")
    permission = SharedForeignKey("auth.Permission")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(UserObjectPermissionBase.Meta):
        verbose_name = _("business system member")
        verbose_name_plural = _("business system members")


class DefaultSystem(models.Model):
    """The business system that a user's work and applications are for where they name none. It stays when he takes part
    in it no longer, and is refused then."""

    user = SharedForeignKey("identity.User", unique=True)
    business_system = models.ForeignKey(BusinessSystem, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("default business system")
        verbose_name_plural = _("default business systems")

    def __str__(self) -> str:
        return f"{self.user}: {self.business_system}"


class NumberSequence(models.Model):
    """The last business number given out under a prefix, such as `F20261121`."""

    prefix = models.CharField(max_length=16, unique=True)
    last = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("number sequence")
        verbose_name_plural = _("number sequences")

    def __str__(self) -> str:
        return f"{self.prefix}-{self.last}"
