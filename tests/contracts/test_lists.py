"""Every list of the portal can do what a list can: it is sorted, its columns are chosen, and all of it is exported.

A table that is none of these lists is named with the reason, and there are only ever fewer of them.
"""

import csv
import io
import re
from pathlib import Path

import pytest
from openpyxl import load_workbook

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
_TABLE = re.compile(r"\{% table ")
_KEYED = re.compile(r"\{% column key=\"(\w+)\"")

# Where each list is opened, and by whom.
LISTS = {
    "assets/_assets.html": ("alice", "/assets/"),
    "audit/_records.html": ("admin", "/operation-log/"),
    "billing/_account.html": ("olga", "/billing/account/"),
    "billing/_bills.html": ("olga", "/billing/bills/"),
    "catalog/_coupons.html": ("alice", "/coupons/"),
    "catalog/operator/_activities.html": ("ops", "/coupons/"),
    "catalog/operator/_claimed.html": ("ops", "/coupons/claimed/"),
    "catalog/operator/_commodities.html": ("admin", "/catalogue/"),
    "centers/_centers.html": ("admin", "/centers/"),
    "centers/_mapping.html": ("admin", "/network-specs/mapping/"),
    "centers/_specs.html": ("admin", "/network-specs/"),
    "fleet/_devices.html": ("admin", "/pool/devices/"),
    "fleet/_node_table.html": ("admin", "/pool/nodes/?layout=table"),
    "fleet/_slices.html": ("admin", "/pool/slices/"),
    "identity/_operators.html": ("admin", "/operators/"),
    "images/_builds.html": ("alice", "/images/builds/"),
    "images/_rows.html": ("alice", "/images/"),
    "jointcloud/_datasets.html": ("alice", "/datasets/"),
    "jointcloud/_jobs.html": ("alice", "/jobs/"),
    "notices/_messages.html": ("alice", "/messages/"),
    "operator/_alarms.html": ("admin", "/alarms/?state=all"),
    "operator/_cases.html": ("ops", "/cases/?kind=order"),
    "operator/_tenants.html": ("admin", "/tenants/"),
    "orders/_forms.html": ("alice", "/forms/"),
    "orders/_orders.html": ("alice", "/orders/"),
    "orgs/_people.html": ("sam", "/people/"),
    "scheduling/_all_work.html": ("admin", "/scheduling/workloads/"),
    "scheduling/_resources.html": ("alice", "/resources/"),
    "settlement/_accounts.html": ("ops", "/accounts/"),
    "settlement/_bills.html": ("ops", "/bills/"),
    "storage/_volumes.html": ("alice", "/files/"),
    "telemetry/_logs.html": ("admin", "/logs/"),
    "tickets/_tickets.html": ("alice", "/tickets/"),
}

# Parts of a page about one thing: a few rows in an order that says something.
_PART = "the parts of one thing, read in their own order"
# What is set by hand, a handful of rows beside the form that makes them.
_SET = "a handful of rows that people set on the same page"
_FIGURES = "figures reckoned for the page; its own button exports them, or the page is about them"
_STEP = "a step of something that is being done, and gone after it"
NO_LISTS = {
    "approvals/_inbox.html": "approvals are a queue: what has waited longest, with its own tabs",
    "operator/_inbox.html": "approvals are a queue: what has waited longest, with its own tabs",
    "assets/_all_assets.html": "rows of every tenant's own schema, which no one query sorts",
    "assets/_asset.html": _PART,
    "assets/_files.html": _PART,
    "billing/_costs.html": _FIGURES,
    "catalog/operator/_process_version.html": _PART,
    "centers/_center.html": _PART,
    "centers/_served.html": _PART,
    "centers/_spec.html": _PART,
    "console/_components.html": "what a list looks like, for who writes pages",
    "console/help/_fields.html": _PART,
    "jointcloud/_dataset.html": _PART,
    "jointcloud/_job.html": _PART,
    "jointcloud/_settings.html": _SET,
    "jointcloud/_try.html": _FIGURES,
    "operator/_revenue.html": _FIGURES,
    "operator/_sold.html": _FIGURES,
    "orders/_weighed.html": _PART,
    "ticketing/_steps.html": _PART,
    "billing/_line.html": _PART,
    "catalog/_commodities.html": "the shop: cards, and one table of what is compared",
    "catalog/operator/_activity.html": _PART,
    "catalog/operator/_budgets.html": _SET,
    "catalog/operator/_commodity.html": _PART,
    "catalog/operator/_coupon.html": _PART,
    "catalog/operator/_form_templates.html": _SET,
    "catalog/operator/_processes.html": _SET,
    "conformance/_home.html": "runs of an examination, of which there are few",
    "conformance/_run.html": _PART,
    "console/_storage.html": _SET,
    "fleet/_device_rows.html": _PART,
    "fleet/_slice.html": _PART,
    "fleet/_slice_rows.html": _PART,
    "fleet/_specs.html": _SET,
    "identity/_import_rows.html": _STEP,
    "identity/_operator_organization.html": _PART,
    "identity/_people_import_done.html": _STEP,
    "identity/_person_functions.html": _PART,
    "identity/_posts.html": _SET,
    "identity/_roles.html": _SET,
    "identity/_sign_in_way.html": _STEP,
    "identity/_tokens.html": _SET,
    "images/_saved.html": _PART,
    "images/_versions.html": _PART,
    "operator/_capacity.html": _FIGURES,
    "operator/_pool.html": _PART,
    "operator/_tenant_forms.html": _PART,
    "operator/_tenant_quota.html": _PART,
    "operator/_tenant_work.html": _PART,
    "operator/coupon_totals.html": _FIGURES,
    "orders/_cart.html": _STEP,
    "orders/_parts.html": _PART,
    "orgs/_organization.html": _PART,
    "orgs/_organizations.html": "a tree",
    "orgs/people.html": _SET,
    "rollouts/_components.html": "what runs now, in the order of what stands on what",
    "rollouts/_releases.html": _SET,
    "scheduling/_environment_templates.html": _SET,
    "scheduling/_group_queues.html": _SET,
    "scheduling/_hooks.html": _SET,
    "scheduling/_my_tickets.html": _SET,
    "scheduling/_priorities.html": _SET,
    "scheduling/_queues.html": "a tree",
    "scheduling/_reservations.html": _SET,
    "scheduling/_resource.html": _PART,
    "scheduling/_secrets.html": _SET,
    "scheduling/_service_keys.html": _SET,
    "scheduling/_specials.html": _SET,
    "scheduling/_start_estimates.html": _FIGURES,
    "scheduling/_story.html": _PART,
    "scheduling/_tickets.html": _SET,
    "scheduling/_user_groups.html": _SET,
    "scheduling/_validity.html": _SET,
    "scheduling/_what_if.html": _FIGURES,
    "storage/_access_keys.html": _SET,
    "storage/_outputs.html": _PART,
    "storage/_volume.html": "files of a folder, as a folder shows them",
    "telemetry/_deliveries.html": _PART,
    "telemetry/_routes.html": _SET,
    "telemetry/_rules.html": _SET,
    "ticketing/_categories.html": "a tree",
    "ticketing/_category.html": _PART,
    "ticketing/_hours.html": _SET,
}


def test_every_table_is_a_list_or_says_why_it_is_none():
    tables = {
        str(path.relative_to(TEMPLATES))
        for path in TEMPLATES.rglob("*.html")
        if _TABLE.search(path.read_text())
    }
    lists = {name for name in tables if _KEYED.search((TEMPLATES / name).read_text())}
    assert lists == set(LISTS), "each list is opened by this test"
    assert tables - lists == set(NO_LISTS), "a new table is a list; one that became a list is named no more"


def content(answer):
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


@pytest.mark.django_db
@pytest.mark.xdist_group("world")
@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_list_sorts_by_its_heads_offers_its_columns_and_is_exported(world, name):
    who, path = LISTS[name]
    page = world.page(who)
    page.cookies["django_language"] = "en"
    join = "&" if "?" in path else "?"
    keys = list(dict.fromkeys(_KEYED.findall((TEMPLATES / name).read_text())))
    text = page.get(f"{path}{join}columns={','.join(keys)}").content.decode()
    if 'data-test="export-menu"' in text:
        _is_a_list(page, path, join, text)
    rows = list(csv.reader(io.StringIO(content(page.get(f"{path}{join}export=csv")).decode("utf-8-sig"))))
    sheet = load_workbook(io.BytesIO(content(page.get(f"{path}{join}export=xlsx")))).active
    assert len(rows) == sheet.max_row
    assert [cell.value for cell in sheet[1]] == rows[0]
    assert all(rows[0])
    page.cookies["django_language"] = "zh-hans"
    head = next(csv.reader(io.StringIO(content(page.get(f"{path}{join}export=csv")).decode("utf-8-sig"))))
    assert [word for word in head if word.isascii()] == [], "a head in the reader's language"


def _is_a_list(page, path, join, text):
    assert 'data-test="columns-menu"' in text
    assert 'data-test="views-menu"' in text
    sorts = re.findall(r'data-test="sort-(\w+)"', text)
    assert sorts or "operation-log" in path or "/logs/" in path
    for key in {*sorts} - {"menu"}:
        for sign in ("", "-"):
            answer = page.get(f"{path}{join}sort={sign}{key}&columns={key}")
            assert answer.status_code == 200
            direction = "descending" if sign else "ascending"
            assert f'aria-sort="{direction}"' in answer.content.decode(), key
