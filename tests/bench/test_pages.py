"""How long the portal works on each main page of both sides with a large centre behind it, and what it asks.

    make bench ARGS="-k pages -s"

300 nodes with 2,400 cards, 1,000 tenants, 100,000 orders and 1,000,000 records of use
(`tests/factories/large_centre.py`).
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

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


class Spent(NamedTuple):
    """Seconds that half of a page's readers and nineteen of twenty wait at most, seconds of the portal's own processor
    time, which other work on the machine changes least, and queries."""

    median_s: float
    p95_s: float
    own_s: float
    queries: int


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
    print(f"\n{'page':24} {'p50':>8} {'p95':>8} {'own':>8}  queries")
    for page, found in spent.items():
        texts = (f"{seconds * 1000:5.0f} ms" for seconds in (found.median_s, found.p95_s, found.own_s))
        print(f"{page.name:24} {' '.join(texts)}  {found.queries}")
    slow = [page.name for page, found in spent.items() if found.p95_s > MOST_S]
    assert not slow, slow


def _timed(world: World, page: MainPage) -> Spent:
    client = world.page(page.username)
    path = page.path.removesuffix(">")
    if page.path.endswith(">"):
        path = html.fromstring(client.get(path).content.decode()).xpath(_FIRST_ROW)[0]
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(path)
    assert answer.status_code == 200, (path, answer.content[:500])
    queries = len(asked)
    took, own = [], []
    for _round in range(ROUNDS):
        begun, begun_own = time.perf_counter(), time.process_time()
        client.get(path)
        took.append(time.perf_counter() - begun)
        own.append(time.process_time() - begun_own)
    return Spent(
        sorted(took)[ROUNDS // 2], sorted(took)[ROUNDS * 19 // 20 - 1], sorted(own)[ROUNDS // 2], queries
    )
