"""docs/database.md says which tables the database guards and which locks there are; both are held against the truth."""

import re
from collections import Counter
from pathlib import Path

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "database.md").read_text()
ROW = re.compile(r"^\| ([a-z_, ]+) \| ([a-z_, -]+) \| [^|]+ \|$", re.MULTILINE)
TRIGGERS = """
SELECT DISTINCT relname, tgname FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE NOT tgisinternal AND nspname IN ('public', 'acme')
"""


def documented() -> dict[str, set[str]]:
    """For each table, the triggers that the page names; `append-only` of the audit stands for a longer name."""
    found: dict[str, set[str]] = {}
    for tables, triggers in ROW.findall(TEXT):
        for table in tables.split(", "):
            names = {
                f"{table}_append_only" if name == "append-only" else name for name in triggers.split(", ")
            }
            found.setdefault(table, set()).update(names)
    return found


@pytest.mark.django_db
def test_every_trigger_is_told_of_and_none_is_made_up():
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS)
        there = {(table, name) for table, name in cursor.fetchall()}
    told = documented()
    assert {table for table, _ in there} == set(told)
    assert [(table, name) for table, name in sorted(there) if name not in told[table]] == []
    named = {name for names in told.values() for name in names}
    assert named == {name for _, name in there}


def test_every_advisory_lock_has_a_number_of_its_own_and_is_told_of():
    sources = [path for tree in ("apps", "portal") for path in (ROOT / tree).rglob("*.py")]
    numbers = Counter(
        int(number, 16)
        for path in sources
        if "migrations" not in path.parts
        for number in re.findall(r"^\w*LOCK(?:_SPACE)? = (0x[0-9A-Fa-f]+)$", path.read_text(), re.MULTILINE)
    )
    assert [hex(number) for number, count in numbers.items() if count > 1] == []
    assert set(numbers) == {
        int(number, 16) for number in re.findall(r"^\| (0x[0-9A-F]+)", TEXT, re.MULTILINE)
    }
