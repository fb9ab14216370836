"""How the operators want centres chosen: every version that was ever in force."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.jointcloud.engine.types import MOST, MOST_COUNT, Settings, Weights

SECONDS_MOST = 7 * 86_400
FAILURES_MOST = 1_000
_USUAL = Settings()


class JointcloudSettings(models.Model):
    """One version of the settings. The last is in force, none is changed afterwards; without any the usual ones hold.

    `weights`: a list of [policy, permille], together 1000, in the order in which the policies are shown. Spans in
    seconds, sizes in bytes.
    """

    number = models.PositiveIntegerField(_("version"), unique=True)
    weights = models.JSONField(_("weights"))
    model = models.CharField(_("evaluation model"), max_length=48, default=_USUAL.model)
    stale_s = models.PositiveIntegerField(_("figures count for (s)"), default=_USUAL.stale_s)
    cool_off_failures = models.PositiveIntegerField(
        _("failed dispatches before a rest"), default=_USUAL.cool_off_failures
    )
    cool_off_s = models.PositiveIntegerField(_("rest after failures (s)"), default=_USUAL.cool_off_s)
    move_bytes = models.BigIntegerField(_("largest data that moves (bytes)"), default=_USUAL.move_bytes)
    usual_duration_s = models.PositiveIntegerField(
        _("duration where none is said (s)"), default=_USUAL.usual_duration_s
    )
    changed_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("changed by")
    )
    created_at = models.DateTimeField(_("in force since"), auto_now_add=True)

    class Meta:
        verbose_name = _("settings of the choice of centres")
        verbose_name_plural = _("settings of the choice of centres")
        ordering = ["-number"]
        constraints = [
            models.CheckConstraint(
                name="jointcloud_settings_bounds",
                condition=Q(
                    number__gte=1,
                    stale_s__range=(1, SECONDS_MOST),
                    cool_off_failures__range=(1, FAILURES_MOST),
                    cool_off_s__range=(0, SECONDS_MOST),
                    move_bytes__range=(0, MOST),
                    usual_duration_s__range=(1, MOST_COUNT),
                ),
            )
        ]

    def __str__(self) -> str:
        return str(self.number)

    @property
    def weights_read(self) -> Weights:
        """The weights as the engine takes them."""
        return tuple((policy, permille) for policy, permille in self.weights)

    @property
    def engine_settings(self) -> Settings:
        """All of it as the engine takes it."""
        return Settings(
            stale_s=self.stale_s,
            cool_off_failures=self.cool_off_failures,
            cool_off_s=self.cool_off_s,
            move_bytes=self.move_bytes,
            usual_duration_s=self.usual_duration_s,
            weights=self.weights_read,
            model=self.model,
        )
