"""What an act of the operation log was done to, by kind; a test holds them to the kinds that services name."""

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_noop

SUBJECTS = {
    "access_key": gettext_noop("file access key"),
    "account": gettext_noop("account"),
    "address": gettext_noop("address"),
    "agent_token": gettext_noop("join token of a node"),
    "alarm": gettext_noop("alarm"),
    "alarm_route": gettext_noop("way of alarms"),
    "alarm_rule": gettext_noop("alarm rule"),
    "api_token": gettext_noop("API token"),
    "array": gettext_noop("array of workloads"),
    "asset": gettext_noop("asset"),
    "backup": gettext_noop("backup"),
    "bill": gettext_noop("bill"),
    "business_system": gettext_noop("business system"),
    "cart_line": gettext_noop("line of a cart"),
    "category": gettext_noop("category"),
    "center": gettext_noop("AI computing centre"),
    "centre": gettext_noop("computing centre"),
    "charge": gettext_noop("charge"),
    "commodity": gettext_noop("commodity"),
    "component": gettext_noop("component of prices"),
    "conformance_run": gettext_noop("acceptance test"),
    "coupon": gettext_noop("coupon"),
    "coupon_activity": gettext_noop("coupon activity"),
    "coupon_budget": gettext_noop("coupon budget"),
    "dataset": gettext_noop("data of jobs"),
    "default_spec": gettext_noop("default specification"),
    "default_system": gettext_noop("default business system"),
    "device": gettext_noop("device"),
    "environment": gettext_noop("environment"),
    "environment_template": gettext_noop("environment template"),
    "form": gettext_noop("application"),
    "form_template": gettext_noop("form template"),
    "hook_call": gettext_noop("call of a hook"),
    "image": gettext_noop("image"),
    "image_build": gettext_noop("build of an image"),
    "invitation": gettext_noop("invitation"),
    "job": gettext_noop("job over centres"),
    "jointcloud_settings": gettext_noop("choice of centres"),
    "message": gettext_noop("message"),
    "node": gettext_noop("node"),
    "order": gettext_noop("order"),
    "organization": gettext_noop("organization"),
    "post": gettext_noop("post"),
    "price_version": gettext_noop("price version"),
    "process_app": gettext_noop("process application"),
    "process_template": gettext_noop("process template"),
    "queue": gettext_noop("queue"),
    "queue_file": gettext_noop("file of queues"),
    "quota_hold": gettext_noop("hold of quota"),
    "release": gettext_noop("release"),
    "release_key": gettext_noop("key of releases"),
    "reservation": gettext_noop("reservation"),
    "resource_group": gettext_noop("resource group"),
    "resource_spec": gettext_noop("network specification"),
    "role": gettext_noop("role"),
    "rollout": gettext_noop("roll-out"),
    "scheduling_policy": gettext_noop("scheduling policy"),
    "secret": gettext_noop("secret"),
    "slice": gettext_noop("slice"),
    "spec": gettext_noop("specification"),
    "special_day": gettext_noop("special day"),
    "special_spec": gettext_noop("special specification"),
    "storage_class": gettext_noop("storage class"),
    "task": gettext_noop("approval"),
    "tenant": gettext_noop("tenant"),
    "ticket": gettext_noop("ticket"),
    "ticket_category": gettext_noop("ticket category"),
    "user": gettext_noop("user"),
    "user_group": gettext_noop("user group"),
    "validity_rule": gettext_noop("rule of validity"),
    "volume": gettext_noop("volume"),
    "what_if": gettext_noop("what-if"),
    "working_hours": gettext_noop("working hours"),
    "workload": gettext_noop("work"),
}


def subject_text(kind: str) -> str:
    """A kind in the reader's language; itself where it is one of earlier days."""
    return gettext(SUBJECTS[kind]) if kind in SUBJECTS else kind.replace("_", " ")


# What a person knows a thing by, the best first, among what was kept of an act.
_NAMES = ("no", "username", "name", "code", "number", "schema", "tenant")


def subject_name(detail: Mapping[str, object], subject_id: str) -> str:
    """What the subject of an act is called as far as its `detail` tells, else its identifier."""
    return next((str(detail[name]) for name in _NAMES if detail.get(name)), subject_id)
