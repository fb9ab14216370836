"""Query budgets: what each page and list may ask of the database, committed beside this file.

A change that needs more must say so in `budgets.json`, where a reviewer sees it.
"""

import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]
BUDGETS = json.loads((Path(__file__).parent / "budgets.json").read_text())


@pytest.mark.parametrize("name", sorted(BUDGETS))
def test_budget(name, world):
    side, path = name.split(" ", 1)
    client = world.client(side)
    path = world.fill(path)
    client.get(path)
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(path)
    assert answer.status_code == 200, (path, answer.content[:500])
    count = len([query for query in queries if not str(query["sql"]).startswith("SET ")])
    assert count <= BUDGETS[name], f"{name}: {count} queries, {BUDGETS[name]} allowed"
