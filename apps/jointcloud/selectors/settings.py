"""Reading how the operators want centres chosen."""

from django.db.models import QuerySet

from apps.jointcloud.engine.types import Settings
from apps.jointcloud.models import JointcloudSettings


def settings_last() -> JointcloudSettings | None:
    """The version in force; None where nobody has changed anything yet."""
    return JointcloudSettings.objects.select_related("changed_by").order_by("-number").first()


def settings_now() -> Settings:
    """The settings in force, the usual ones where nobody has changed anything yet."""
    last = settings_last()
    return Settings() if last is None else last.engine_settings


def settings_history() -> QuerySet[JointcloudSettings]:
    """All versions with who made them, the one in force first."""
    return JointcloudSettings.objects.select_related("changed_by").order_by("-number")
