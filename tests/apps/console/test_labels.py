"""Every state that a table may show has its colour: without one the kit shows the bare code."""

import pytest
from django.contrib import admin

# They are looked for where the operators' addresses are, which no other process needs.
admin.autodiscover()
PLACES = [
    (model, name)
    for model, table in admin.site._registry.items()
    for name in ("shown_state", "shown_health", "shown_level")
    if hasattr(table, name)
]
FIELDS = {"shown_state": "state", "shown_health": "health", "shown_level": "level"}


@pytest.mark.req("PLAT-OBS-13")
@pytest.mark.parametrize(("model", "name"), PLACES, ids=[f"{m.__name__}.{n}" for m, n in PLACES])
def test_every_state_has_its_colour(model, name):
    field = next((f for f in model._meta.fields if f.name == FIELDS[name]), None)
    colours = getattr(admin.site._registry[model], name).label
    if field is None:
        assert colours
        return
    assert {code for code, _label in field.choices} <= set(colours)
