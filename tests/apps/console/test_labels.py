"""Every state that a table may show has its colour, and on every page the same."""

import pytest
from django.contrib import admin

from apps.console.labels import STATE_COLOURS
from apps.identity.admin_base import column

# They are looked for where the operators' addresses are, which no other process needs.
admin.autodiscover()
FIELDS = {
    "shown_state": "state",
    "shown_health": "health",
    "shown_level": "level",
    "shown_funds": "funds_level",
}
STATES = [
    (model, field)
    for model, table in admin.site._registry.items()
    for name, named in FIELDS.items()
    if hasattr(table, name)
    for field in model._meta.fields
    if field.name == named and field.choices
]


@pytest.mark.req("PLAT-OBS-13")
@pytest.mark.parametrize(("model", "field"), STATES, ids=[f"{m.__name__}.{f.name}" for m, f in STATES])
def test_every_state_has_its_colour(model, field):
    assert {code for code, _label in field.choices} <= set(STATE_COLOURS)


def test_a_state_in_a_table_has_the_colour_that_it_has_on_every_page():
    """D22: "Ended" was green in the portal and blue in the operators' tables."""
    shown = column(description="state", is_state=True)(lambda row: ("lost", "Lost"))
    assert f"bg-{STATE_COLOURS['lost']}-lt" in shown(None)
