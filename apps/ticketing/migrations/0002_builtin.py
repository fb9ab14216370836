"""The three categories that every centre has. Only their forms, rules and targets are the operators'."""

from django.db import migrations

CATEGORIES = (
    ("service", "服务目录", "Service catalogue", "审批通过的订单的交付工单。", "The delivery of approved orders."),
    ("system", "系统工单", "System ticket", "门户、账号和权限方面的问题。", "Trouble with the portal, accounts and rights."),
    ("om", "运维工单", "O&M ticket", "算力资源的运行与维护。", "The running and repair of what computes."),
)


# Whom tickets go to that people open, until the operators say otherwise.
RECEIVER = "front_line"


def categories_add(apps, schema_editor):
    category = apps.get_model("ticketing", "TicketCategory")
    rule = apps.get_model("ticketing", "RoutingRule")
    for code, name_zh, name_en, hint_zh, hint_en in CATEGORIES:
        row, is_new = category.objects.get_or_create(
            builtin=code,
            defaults={
                "path": code, "name_zh": name_zh, "name_en": name_en, "hint_zh": hint_zh, "hint_en": hint_en,
            },
        )  # fmt: skip
        if is_new and code != "service":
            rule.objects.create(category=row, side="operator", kind="role", receiver=RECEIVER)


class Migration(migrations.Migration):
    dependencies = [("ticketing", "0001_initial")]
    operations = [migrations.RunPython(categories_add, migrations.RunPython.noop)]
