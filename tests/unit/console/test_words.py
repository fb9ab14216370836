"""How amounts, times and states are written, without a database."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.utils import timezone, translation

from apps.console.navigation.selectors import navigation_for
from apps.console.templatetags import weir
from apps.kernel.actor import Actor
from apps.kernel.reach import Reach
from portal.roles import TENANT_ROLES


@pytest.fixture(autouse=True)
def _english():
    with translation.override("en"), timezone.override("Asia/Shanghai"):
        yield


@pytest.mark.parametrize(
    ("amount", "text"),
    [("1234.5", "¥1,234.50"), (Decimal("0.005"), "¥0.01"), ("-3.1", "−¥3.10"), (None, "–"), (0, "¥0.00")],
)
def test_money(amount, text):
    assert weir.money(amount) == text


def test_exact_money_hides_nothing():
    assert weir.exact_money(Decimal("0.0191111111")) == "¥0.0191111111"
    assert weir.exact_money(Decimal("3.0000000000")) == "¥3.00"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59, "59 s"), (3600, "1 h"), (5400, "1 h 30 min"), (90061, "1 d 1 h")]
)
def test_spans_show_their_two_largest_units(seconds, text):
    assert weir.span(seconds) == text


@pytest.mark.parametrize(
    ("mib", "text"), [(512, "512 MiB"), (4096, "4 GiB"), (1536, "1536 MiB"), (0, "0 MiB")]
)
def test_memory_is_written_without_rounding(mib, text):
    assert weir.mib(mib) == text


def test_instants_are_shown_in_the_readers_zone():
    assert weir.moment(datetime(2026, 11, 21, 16, 0, 1, tzinfo=UTC)) == "2026-11-22 00:00:01"


def test_amounts_come_in_the_order_of_the_labels():
    amounts = {"cpu": 2, "memory": 1024, "gpu_memory": 512, "compute_share": 25}
    wanted = "Compute share 25 % · Accelerator memory 512 MiB · CPU 2 cores · Memory 1 GiB"
    assert weir.amounts_text(amounts) == wanted


def test_a_state_is_escaped():
    assert "<script>" not in weir.badge("<script>", "<b>")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_names_follow_the_language(language):
    with translation.override(language):
        assert weir.named({"name_en": "Share", "name_zh": "份额"}) == (
            "Share" if language == "en" else "份额"
        )


def views_of(role: str) -> set[str]:
    row = next(row for row in TENANT_ROLES if row.code == role)
    actor = Actor("user", "x", 1, "acme", role, row.permissions, Reach(row.data))
    return {entry.view for group in navigation_for(actor, in_tenant=True) for entry in group.entries}


@pytest.mark.req("PLAT-TEN-28", "PLAT-GEN-10")
def test_the_navigation_shows_what_the_role_may_open():
    front_line, decision = views_of("tenant_front_line"), views_of("tenant_decision_maker")
    assert {"orders:cart", "workloads:workloads"} <= front_line
    assert "billing:bills" not in front_line
    assert "billing:bills" in decision
    assert "orders:cart" not in decision
    assert "console:home" in views_of("tenant_system_administrator")
