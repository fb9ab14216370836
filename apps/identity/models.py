"""Who exists: users, their memberships in tenants, operators' roles, tokens, and the record of sign-ins."""

import uuid
from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _


def running_version() -> str:
    """The version of this portal."""
    return str(settings.WEIR_VERSION)


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(username__iexact=username)


class OperatorOrganization(models.Model):
    """A part of the computing centre itself, in a tree (PLAT-TEN-36)."""

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
                fields=["parent", "name"], name="operator_organization_name_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="operator_organization_not_own_parent",
                condition=models.Q(parent=None) | ~models.Q(parent=models.F("id")),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PostFields(models.Model):
    """A position that people hold, and by which work is routed to them: tickets, and the steps of processes."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=120, unique=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        abstract = True
        verbose_name = _("post")
        verbose_name_plural = _("posts")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class OperatorPost(PostFields):
    """A post of the computing centre itself."""


class User(AbstractBaseUser):
    """A natural person: login account, password, e-mail (PLAT-TEN-7). Disabled, never deleted."""

    class Density(models.TextChoices):
        """How close the lines of pages stand."""

        COMFORTABLE = "comfortable", _("Comfortable")
        COMPACT = "compact", _("Compact")

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    username = models.CharField(
        _("login account"), max_length=64, unique=True, validators=[UnicodeUsernameValidator()]
    )
    display_name = models.CharField(_("name"), max_length=120)
    email = models.EmailField(_("e-mail"), blank=True)
    language = models.CharField(_("language"), max_length=8, blank=True)
    is_active = models.BooleanField(_("enabled"), default=True)
    is_operator = models.BooleanField(_("operator side"), default=False)
    # An operator's one place in the centre; a tenant's person has his in the tenant.
    organization = models.ForeignKey(
        OperatorOrganization, null=True, blank=True, on_delete=models.PROTECT, related_name="operators"
    )
    post = models.ForeignKey(
        OperatorPost, null=True, blank=True, on_delete=models.PROTECT, related_name="holders"
    )
    must_change_password = models.BooleanField(_("must change the password"), default=False)
    # Roles whose guided tour was taken or waved away.
    tours_ended = ArrayField(models.CharField(max_length=64), default=list, editable=False)
    # The version of the portal up to which what is new was read; whoever comes later knows no older one.
    news_read = models.CharField(
        max_length=64, default=running_version, db_default="", blank=True, editable=False
    )
    density = models.CharField(
        _("density"),
        max_length=12,
        choices=Density,
        default=Density.COMFORTABLE,
        db_default=Density.COMFORTABLE,
        editable=False,
    )
    # Counted up to end every open session: each session is signed with the count of its day.
    session_epoch = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = UserManager()
    USERNAME_FIELD = "username"
    REQUIRED_FIELDS = ["display_name"]

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        ordering = ["username"]
        constraints = [models.UniqueConstraint(models.functions.Lower("username"), name="user_username_ci")]

    def __str__(self) -> str:
        return self.display_name or self.username

    def get_session_auth_hash(self) -> str:
        """What a session must carry to stay open: changes with the password and with `session_epoch`."""
        return self._session_hash(settings.SECRET_KEY)

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._session_hash, settings.SECRET_KEY_FALLBACKS)

    def _session_hash(self, secret: str) -> str:
        text = f"{self.session_epoch}:{self.password}"
        return salted_hmac("weir.session", text, secret=secret, algorithm="sha256").hexdigest()

    @property
    def password_state(self) -> str:
        """`own`, `first` (given by somebody else, to be changed) or `awaited` (a link to choose one was made)."""
        if not self.has_usable_password():
            return "awaited"
        return "first" if self.must_change_password else "own"

    # Django's admin asks these of its users; what they may do there is decided by services.
    @property
    def is_staff(self) -> bool:
        return self.is_operator

    is_superuser = False

    def has_perm(self, perm: str, obj: object = None) -> bool:
        return self.is_active and self.is_operator

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_active and self.is_operator


class Membership(models.Model):
    """A user belongs to a tenant. What the user may do there are role bindings in that tenant's own schema.

    Disabled (`is_active` false) the user stays on the tenant's list with his roles; after `left_at` he does not.
    """

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    tenant = models.ForeignKey("tenancy.Tenant", on_delete=models.PROTECT, related_name="memberships")
    is_active = models.BooleanField(_("enabled"), default=True)
    left_at = models.DateTimeField(_("left at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [models.UniqueConstraint(fields=["user", "tenant"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} @ {self.tenant}"


class OperatorRole(models.Model):
    """A role of the operator side (PLAT-TEN-34): a name for a set of permission codes. Built-in ones
    follow the code; a read-only one changes nothing whatever it holds."""

    code = models.SlugField(_("code"), max_length=48, unique=True)
    name_en = models.CharField(_("name in English"), max_length=80)
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    permissions = ArrayField(models.CharField(max_length=64), default=list, verbose_name=_("permissions"))
    is_builtin = models.BooleanField(_("built-in"), default=False)
    description = models.CharField(_("description"), max_length=500, blank=True)
    is_read_only = models.BooleanField(_("read-only"), default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("operator role")
        verbose_name_plural = _("operator roles")
        ordering = ["code"]

    def __str__(self) -> str:
        return self.name_en


class OperatorBinding(models.Model):
    """An operator holds a role; one of several is active at a time (PLAT-TEN-28)."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="operator_bindings")
    role = models.ForeignKey(OperatorRole, on_delete=models.PROTECT, related_name="bindings")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("operator role binding")
        verbose_name_plural = _("operator role bindings")
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["user", "role"], name="operator_binding_once")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class ApiToken(models.Model):
    """A key for the API: only its SHA-256 is kept; it expires; it may be tied to one tenant."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="api_tokens")
    tenant = models.ForeignKey(
        "tenancy.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    name = models.CharField(_("name"), max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(_("begins with"), max_length=12)
    expires_at = models.DateTimeField(_("expires at"))
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    used_at = models.DateTimeField(_("last used at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()


class AgentToken(models.Model):
    """What a node agent proves itself with: a one-time join token, then the node's own credential."""

    class Kind(models.TextChoices):
        JOIN = "join", _("Join token")
        NODE = "node", _("Node credential")

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind)
    node_uid = models.CharField(_("node"), max_length=64, blank=True)
    note = models.CharField(_("note"), max_length=120, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    used_at = models.DateTimeField(_("used at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("agent token")
        verbose_name_plural = _("agent tokens")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.note or self.node_uid}"


class SavedView(models.Model):
    """How a person keeps a list of the portal: under a name its filters, sort and columns as they stand in an address;
    without a name the columns alone that he last chose, in whatever tenant."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    # The page's name among the addresses (`operator:tenants`), and the tenant that it was kept in.
    page = models.CharField(max_length=80)
    schema = models.CharField(max_length=63, blank=True)
    name = models.CharField(_("name"), max_length=60, blank=True)
    query = models.CharField(max_length=2000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "page", "schema", "name"], name="saved_view_once")
        ]

    def __str__(self) -> str:
        return self.name


class SignIn(models.Model):
    """One attempt to sign in: the login log (PLAT-LOG) and what locks an account (PLAT-CFG-40)."""

    username = models.CharField(_("login account"), max_length=64)
    user = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    schema = models.CharField(_("tenant"), max_length=63, blank=True)
    address = models.GenericIPAddressField(_("address"), null=True)
    is_accepted = models.BooleanField(_("accepted"))
    at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("sign-in")
        verbose_name_plural = _("login log")
        ordering = ["-at"]
        indexes = [models.Index(fields=["username", "-at"], name="signin_by_username")]

    def __str__(self) -> str:
        return f"{self.username} {self.at}"


class PasswordResetRequest(models.Model):
    """Somebody asked for a link by mail with which to choose a new password: what is to be sent, and how often it was
    asked for."""

    account = models.CharField(_("login account or e-mail"), max_length=254)
    schema = models.CharField(_("tenant"), max_length=63, blank=True)
    address = models.GenericIPAddressField(_("address"), null=True)
    portal = models.CharField(max_length=300)
    language = models.CharField(max_length=8)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    handled_at = models.DateTimeField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["account", "-at"], name="password_reset_by_account"),
            models.Index(fields=["address", "-at"], name="password_reset_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.account} {self.at}"


class IdempotentCall(models.Model):
    """The answer to a POST that carried an `Idempotency-Key`, kept so that a repeat gets the same answer."""

    key = models.CharField(max_length=128)
    caller = models.CharField(max_length=96)
    method_path = models.CharField(max_length=200)
    body_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["caller", "key"], name="idempotent_call_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotent_call_age")]

    def __str__(self) -> str:
        return self.key
