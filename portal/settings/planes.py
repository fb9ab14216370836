"""Which app's tables live in which schema. Moving one is a one-way door: see docs/decisions/."""

SHARED_APPS = [
    "django_tenants",
    "apps.tenancy",
    "apps.identity",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
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
    "apps.billing",
    "apps.fleet",
    "apps.scheduling",
    "apps.rollouts",
    "apps.console",
    "portal",
]

TENANT_APPS = [
    "apps.orgs",
    "apps.approvals",
    "apps.tickets",
    "apps.orders",
]
