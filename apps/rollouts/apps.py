from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RolloutsConfig(AppConfig):
    name = "apps.rollouts"
    label = "rollouts"
    verbose_name = _("Components and roll-outs")
