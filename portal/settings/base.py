"""Settings shared by every way of running."""

import gc
import sys
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from portal.settings.env import ROOT, env
from portal.settings.logs import logging_settings
from portal.settings.planes import SHARED_APPS, TENANT_APPS
from weir_wire.version import VERSION

# Loading makes half a million objects that all stay, and a page thousands that go by themselves: to look for circles
# after each 700 new ones, as Python does, takes a tenth of a process's start.
gc.set_threshold(20_000, 20, 20)

ENV = env()
BASE_DIR: Path = ROOT
SECRET_KEY = ENV.secret_key.get_secret_value()
SECRET_KEY_FALLBACKS = [key.get_secret_value() for key in ENV.secret_key_fallbacks]
DEBUG = ENV.debug
ALLOWED_HOSTS = [*ENV.provider_hosts, f".{ENV.tenant_domain}"]

_db = ENV.database_url.hosts()[0]
_query = dict(ENV.database_url.query_params())
DATABASES = {
    "default": {
        "ENGINE": "django_tenants.postgresql_backend",
        "NAME": (ENV.database_url.path or "/").lstrip("/"),
        "USER": _db["username"] or "",
        "PASSWORD": _db["password"] or "",
        "HOST": _query.get("host", _db["host"] or ""),
        "PORT": str(_db["port"] or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
    }
}
DATABASE_ROUTERS = ("django_tenants.routers.TenantSyncRouter",)
INSTALLED_APPS = [*SHARED_APPS, *TENANT_APPS]
TENANT_MODEL = "tenancy.Tenant"
TENANT_DOMAIN_MODEL = "tenancy.Domain"
AUTH_USER_MODEL = "identity.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
GUARDIAN_MONKEY_PATCH_USER = False
# A unique SharedForeignKey is meant: OneToOneField would add a way back from provider rows to tenant rows.
SILENCED_SYSTEM_CHECKS = ["fields.W342"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = [
    "portal.middleware.request_id",
    "portal.compression.compressed",
    # What a browser is told to beware of stands on refusals, too.
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "portal.request_guard.sound",
    "portal.middleware.plane",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "portal.middleware.centre_defaults",
    "portal.middleware.set_up_first",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.middleware.signed_in_lately",
    "portal.middleware.acting",
    "portal.middleware.Problems",
]
ROOT_URLCONF = "portal.urls_provider"
WEIR_WIRING = "portal.wiring"
WEIR_ROLE_FUNCTIONS = "portal.role_functions.ROLE_FUNCTIONS"
WSGI_APPLICATION = "portal.wsgi.application"
ASGI_APPLICATION = "portal.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.page_context.portal",
            ],
        },
    }
]

# Before anybody has said so: see `portal.middleware.centre_defaults`.
LANGUAGE_CODE = "zh-hans"
LANGUAGES = [("zh-hans", _("Simplified Chinese")), ("en", _("English"))]
LOCALE_PATHS = [ROOT / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "Asia/Shanghai"

STATIC_URL = "/static/"
STATICFILES_DIRS = [path for path in (ROOT / "static" / "dist",) if path.is_dir()]
MEDIA_ROOT = ENV.var_dir / "media"
# Tenants' jobs may run on this machine, under accounts of their own.
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
WHITENOISE_USE_FINDERS = True
DATA_UPLOAD_MAX_MEMORY_SIZE = (ENV.upload_max_mib + 1) * 1024 * 1024
WEIR_UPLOAD_MAX_BYTES = ENV.upload_max_mib * 1024 * 1024
WEIR_ATTACHMENTS_TOTAL_BYTES = ENV.attachments_total_mib * 1024 * 1024
WEIR_AGENT_SYNC_S = ENV.agent_sync_s
# Kinds of centres whose adapters stand above `centers`.
WEIR_CENTER_KINDS = ("apps.jointcloud.local.kind.LOCAL",)
WEIR_CENTER_LOCAL_ADDRESSES = ENV.center_local_addresses
WEIR_NODE_LOST_AFTER_S = ENV.node_lost_after_s
WEIR_NODE_UPGRADE_S = max(ENV.node_upgrade_s, ENV.node_lost_after_s)
WEIR_SLICE_LOST_AFTER_S = ENV.slice_lost_after_s
WEIR_FOLDERS_DIR = ENV.folders_dir or ENV.var_dir / "folders"
WEIR_FOLDER_LIMIT_MIB = ENV.folder_limit_mib
WEIR_UPLOAD_LIMIT_MIB = ENV.upload_limit_mib
WEIR_UPLOADS_TOTAL_MIB = ENV.uploads_total_mib
WEIR_STORAGE_DIR = ENV.storage_dir or ENV.var_dir / "storage"
WEIR_ENDED_VOLUME_DAYS = ENV.ended_volume_days
WEIR_ENDED_JOB_DAYS = ENV.ended_job_days
WEIR_JOB_DECISION_DAYS = ENV.job_decision_days
WEIR_AUDIT_HEADS = ENV.var_dir / "audit" / "heads.jsonl"
WEIR_FUNDS_HOLD_S = ENV.funds_hold_s
WEIR_FUNDS_GRACE_S = ENV.funds_grace_s
WEIR_STORAGE_LOCAL_S3 = ENV.storage_local_s3
WEIR_WEBHOOK_LOCAL_ADDRESSES = ENV.webhook_local_addresses
WEIR_UNFUNDED_ORDER_DAYS = ENV.unfunded_order_days
WEIR_FUNDS_LOW_H = ENV.funds_low_h
WEIR_BACKUP_DIR = ENV.backup_dir or ENV.var_dir / "backups"
WEIR_BACKUP_EVERY_H = ENV.backup_every_h
WEIR_BACKUP_KEEP = ENV.backup_keep
WEIR_BACKUP_PASSPHRASE = ENV.backup_passphrase.get_secret_value()
WEIR_SETUP_TOKEN = ENV.var_dir / "run" / "setup.token"
WEIR_RELEASE_KEY = ENV.var_dir / "run" / "release.key"
# The help's documents: every way of installing brings the whole tree along.
WEIR_DOCS = ROOT / "docs"
WEIR_CLIENT_DIST = ROOT / "client" / "dist"
# What finds the volumes and assets that work asks for, and the volume for its outputs: they stand above the scheduler.
WEIR_VOLUME_MOUNTS = "apps.assets.mounts.mounts_of"
WEIR_OUTPUT_VOLUME = "apps.storage.mounts.outputs_volume"
WEIR_MOUNTS_AGAIN = "apps.assets.mounts.mounts_again"
# What says for which business system work is, and which there are to choose from: they belong to tenants.
WEIR_WORK_SYSTEM = "apps.orgs.services.default_systems.work_system_of"
WEIR_WORK_SYSTEMS = "apps.orgs.services.default_systems.work_systems_offered"
# What finds the image that work asks for: images stand above the scheduler.
WEIR_WORK_IMAGE = "apps.images.work.image_of"
WEIR_IMAGE_AGAIN = "apps.images.work.image_again"
WEIR_IMAGES_OFFERED = "apps.images.work.images_offered"
# What finds the archives in volumes that images are made from.
WEIR_VOLUME_FILE = "apps.storage.selectors.file_place"
WEIR_VOLUME_FILE_OPEN = "apps.storage.selectors.file_of_place"
WEIR_REGISTRY_URL = str(ENV.registry_url or "").rstrip("/")
WEIR_IMAGES_DIR = ENV.var_dir / "images"
WEIR_IMAGE_LIMIT_MIB = ENV.image_limit_mib
WEIR_TENANT_DOMAIN = ENV.tenant_domain
WEIR_WEB_DOMAIN = ENV.web_pages_domain
WEIR_S3_HOST = ENV.object_host
WEIR_PORT = ENV.port
# An image or a package may say that it is another build than the tree's version.
WEIR_VERSION = ENV.version or VERSION

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": str(ENV.redis_url)}
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [str(ENV.redis_url)], "prefix": "weir"},
    }
}

CELERY_BROKER_URL = str(ENV.redis_url)
CELERY_BROKER_TRANSPORT = "portal.broker:Transport"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 600,
    "socket_timeout": 5,
    "socket_connect_timeout": 5,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker keeps its connection to the database from task to task, as a web does from request to request
# (CONN_MAX_AGE): Celery would close it before and after each. `portal.celery` lets go of one that has gone bad.
CELERY_DB_REUSE_MAX = 2**31
CELERY_TASK_DEFAULT_QUEUE = "weir"
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "portal.beat:LeaderScheduler"
# Workers and beat log as LOGGING says, the pool's log with it.
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

REST_FRAMEWORK = {
    # Who may call is said by apps.identity.api.base.ApiView, on which every view of ours stands.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "apps.identity.api.parsers.SoundJSONParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_SCHEMA_CLASS": "apps.identity.api.schema.ApiSchema",
    "COERCE_DECIMAL_TO_STRING": True,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    # `?format=` belongs to exports: answers are JSON.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Weir API",
    "DESCRIPTION": "Pool, schedule, sell, meter and bill AI compute. Same rules and errors as the pages.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SORT_OPERATIONS": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.identity.api.schema.refusals_describe",
    ],
    # Fields of one name with other words in other places: each set of words has a name of its own.
    "ENUM_NAME_OVERRIDES": {
        "StorageKindEnum": "apps.centre.states.StorageKind.choices",
        "AssetKindEnum": "apps.assets.states.AssetKind",
        "FormKindEnum": "apps.orders.states.FormKind",
        "CommodityKindEnum": "apps.catalog.states.CommodityKind",
        "FormFieldKindEnum": "apps.catalog.states.FieldKind",
        "TargetKindEnum": "apps.rollouts.states.TargetKind",
        "AgentTokenKindEnum": "apps.identity.models.AgentToken.Kind",
        "WorkKindEnum": "apps.scheduling.states.WorkKind",
        "AlarmLevelEnum": "apps.telemetry.states.AlarmLevel",
        "LogLevelEnum": "apps.telemetry.states.LogLevel",
        "TenantStateEnum": "apps.tenancy.states.TenantState",
        "AlarmStateEnum": "apps.telemetry.states.AlarmState",
        "SliceStateEnum": "apps.fleet.states.SliceState",
        "NodeStateEnum": "apps.fleet.states.NodeState",
        "WorkloadStateEnum": "apps.scheduling.states.WorkloadState",
        "DesiredEnum": "apps.fleet.states.Desired",
        "RemoteTaskStateEnum": "apps.centers.states.RemoteState",
        "RemoteTaskWantedEnum": "apps.centers.states.Wanted",
        "QueueStateEnum": "apps.scheduling.models.queue.Queue.STATES",
        "BillStateEnum": "apps.billing.states.BillState",
        "FormStateEnum": "apps.orders.states.FormState",
        "OrderStateEnum": "apps.orders.states.OrderState",
        "ProcessStateEnum": "apps.approvals.states.InstanceState",
        "ProgressStateEnum": "apps.orgs.states.ReportState",
        "TaskStateEnum": "apps.approvals.states.TaskState",
        "RunStateEnum": "apps.conformance.states.RunState",
        "JobStateEnum": "apps.jointcloud.states.WorkState",
        "ReplicaStateEnum": "apps.jointcloud.states.ReplicaState",
        "JobDecisionKindEnum": "apps.jointcloud.states.DecisionKind",
        "DataScopeEnum": "apps.kernel.reach.Scope",
        "PlaceScopeEnum": "apps.orgs.api.serializers.PLACE_SCOPES",
        "OwnerEnum": "apps.storage.states.Owner",
        "ImageOwnerEnum": "apps.images.states.Owner",
        "ImageStateEnum": "apps.images.states.VersionState",
        "TicketStateEnum": "apps.tickets.states.TicketState",
        "TicketEntryKindEnum": "apps.tickets.states.EntryKind",
        "TicketSideEnum": "apps.ticketing.states.Side",
        "ReceiverKindEnum": "apps.ticketing.states.ReceiverKind",
        "TicketFieldKindEnum": "apps.ticketing.states.FieldKind",
        "TicketFieldStateEnum": "apps.ticketing.states.FieldState",
    },
}

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
PASSWORD_HASHERS = [
    "apps.identity.rules.passwords.Argon2idHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        # A name written twice is 0.63 of itself.
        "OPTIONS": {"user_attributes": ("username", "display_name", "email"), "max_similarity": 0.6},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# How long a link works with which a new password is chosen.
PASSWORD_RESET_TIMEOUT = 24 * 3600
HTTPS = bool(ENV.https)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = ENV.cookie_names(is_https=HTTPS)
SESSION_COOKIE_AGE = 7 * 24 * 3600
WEIR_SESSION_IDLE_S = ENV.session_idle_min * 60
WEIR_OPERATOR_SESSION_IDLE_S = ENV.operator_session_idle_min * 60
SESSION_COOKIE_HTTPONLY = True
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = ENV.origins(is_https=HTTPS)
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "object-src": ["'none'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
        "base-uri": ["'self'"],
    },
}
LOGGING = logging_settings(ENV.log_level, ENV.log_format, sys.argv)
# Tenants' migrations run one after another on the caller's connection: the same transaction as the tenant row.
TENANT_CREATION_FAKES_MIGRATIONS = False
# The search path is sent when it changes, not again before each query; a rollback or a new connection forgets it.
TENANT_LIMIT_SET_CALLS = True
TENANT_BASE_MIGRATE_COMMAND = "apps.tenancy.schema_migrate.Command"
SHOW_PUBLIC_IF_NO_TENANT_FOUND = False
EMAIL_BACKEND = "apps.centre.mail.Backend"
WEIR_EMAIL_URL = ENV.email_url
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENV.email_from
