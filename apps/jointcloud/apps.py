from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class JointcloudConfig(AppConfig):
    name = "apps.jointcloud"
    label = "jointcloud"
    verbose_name = _("Jointcloud")
