"""Which app's tables live in which schema. Moving one is a one-way door: see docs/decisions/."""

SHARED_APPS = [
    "django_tenants",
    "apps.centre",
    "apps.tenancy",
    "apps.identity",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    # Its pages are found with the addresses of the provider, not by every process that starts.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.humanize",
    "guardian",
    "rest_framework",
    "drf_spectacular",
    "channels",
    "django_htmx",
    "apps.audit",
    "apps.notices",
    "apps.cases",
    "apps.telemetry",
    "apps.catalog",
    "apps.ticketing",
    "apps.billing",
    "apps.fleet",
    "apps.scheduling",
    "apps.images",
    "apps.rollouts",
    "apps.console",
    "apps.conformance",
    "portal",
]

TENANT_APPS = [
    "apps.orgs",
    "apps.storage",
    "apps.assets",
    "apps.approvals",
    "apps.tickets",
    "apps.orders",
]
