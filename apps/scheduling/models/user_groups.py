"""Groups of users, by which operators say who may submit to a queue (PLAT-CLU-61)."""

from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _


class UserGroup(models.Model):
    """Users of any tenants under one name. It is the operators': what a tenant's own organizations are, the tenant
    may change."""

    code = models.SlugField(_("code"), max_length=48, unique=True)
    name_en = models.CharField(_("name in English"), max_length=80)
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    users = models.ManyToManyField("identity.User", related_name="+", blank=True, verbose_name=_("users"))
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("user group")
        verbose_name_plural = _("user groups")
        ordering = ["code"]

    def __str__(self) -> str:
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en
