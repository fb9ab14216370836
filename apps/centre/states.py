from django.db import models
from django.utils.translation import gettext_lazy as _


class MailSecurity(models.TextChoices):
    """How the way to the mail server is protected."""

    STARTTLS = "starttls", _("STARTTLS")
    TLS = "tls", _("TLS from the first byte")
    NONE = "none", _("None: only within your own network")


class StorageKind(models.TextChoices):
    """How a storage class keeps volumes."""

    MOUNTED = "mounted", _("A mounted path (NFS)")
    S3 = "s3", _("A bucket of an S3 server")
