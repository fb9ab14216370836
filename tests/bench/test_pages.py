"""How long the portal works on each main page of both sides with a large centre behind it, and what it asks.

    make bench ARGS="-k pages -s"

300 nodes with 2,400 cards, 1,000 tenants, 100,000 orders and 1,000,000 records of use
(`tests/factories/large_centre.py`).
"""

import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from lxml import html

from tests.factories.large_centre import centre_enlarge
from tests.factories.world import World, world_make
from tests.harness import database
from tests.harness.main_pages import MAIN_PAGES, MainPage

ROUNDS, MOST_S = 20, 0.15
# What the operators' home asks for by itself, once it is there.
PARTS = (MainPage("ops", "operations: revenue", "/revenue/"), MainPage("ops", "operations: sold", "/sold/"))
_FIRST_ROW = (
    "//main//*[substring(@data-test, string-length(@data-test) - 3) = '-row']//a[starts-with(@href, '/')]/@href"
    " | //main//*[@data-test = 'apply']/@href"
)


@pytest.fixture(scope="module")
def large(database_admin: psycopg.Connection, django_db_setup: None, django_db_blocker) -> Iterator[World]:
    """A living centre with many rows around it, in a database of its own."""
    clean = connection.settings_dict["NAME"]
    with django_db_blocker.unblock(), database.clone(database_admin, clean, f"{clean}_large"):
        connection.set_schema_to_public()
        world = world_make()
        centre_enlarge()
        yield world
        connection.set_schema_to_public()


def test_main_pages(large: World) -> None:
    spent = {page: _timed(large, page) for page in (*MAIN_PAGES, *PARTS)}
    print(f"\n{'page':24} {'p50':>7} {'p95':>7}  queries")
    for page, (median_s, p95_s, queries) in spent.items():
        print(f"{page.name:24} {median_s * 1000:4.0f} ms {p95_s * 1000:4.0f} ms  {queries}")
    slow = [page.name for page, (_median_s, p95_s, _queries) in spent.items() if p95_s > MOST_S]
    assert not slow, slow


def _timed(world: World, page: MainPage) -> tuple[float, float, int]:
    """Seconds of a page that half of its readers and nineteen of twenty wait at most, and its queries."""
    client = world.page(page.username)
    path = page.path.removesuffix(">")
    if page.path.endswith(">"):
        path = html.fromstring(client.get(path).content.decode()).xpath(_FIRST_ROW)[0]
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(path)
    assert answer.status_code == 200, (path, answer.content[:500])
    queries = len(asked)
    took = []
    for _round in range(ROUNDS):
        begun = time.perf_counter()
        client.get(path)
        took.append(time.perf_counter() - begun)
    took.sort()
    return took[ROUNDS // 2], took[ROUNDS * 19 // 20 - 1], queries
