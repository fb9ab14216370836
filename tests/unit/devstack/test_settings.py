"""The server's environment: typed, and described in full where operators read of it."""

import pytest
from pydantic import ValidationError

from portal.settings.env import ROOT, Env

GIVEN = {
    "database_url": "postgresql://weir@localhost/weir",
    "redis_url": "redis://localhost:6379/0",
    "secret_key": "kJ8s-2nVq0ZtYw4Lr7Xc1Pd5Hg9Mb3Fa6Ue",
}


def test_every_variable_and_its_default_stand_in_the_operators_guide():
    guide = (ROOT / "docs" / "operating.md").read_text()
    rows = [line for line in guide.splitlines() if line.startswith("| `WEIR_")]
    for name, field in Env.model_fields.items():
        row = next((row for row in rows if f"`WEIR_{name.upper()}`" in row.split("|")[1]), "")
        assert row, f"WEIR_{name.upper()} is not described"
        if isinstance(field.default, (int, float)) and not isinstance(field.default, bool):
            assert row.rstrip(" |").endswith(f"| {field.default:g}"), row


@pytest.mark.parametrize("seconds", ["0", "-5", "never"])
def test_a_wrong_wait_for_lost_slices_is_refused_by_its_name(seconds):
    with pytest.raises(ValidationError, match="slice_lost_after_s"):
        Env(**GIVEN, slice_lost_after_s=seconds)
