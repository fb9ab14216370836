"""Things that happen at the same time, on real connections."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connection

from apps.identity.tokens import join_token_make, join_token_use
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Unauthenticated


def test_of_parallel_uses_of_one_join_token_exactly_one_wins(committed):
    _token, secret = join_token_make(actor=SYSTEM, note="race")

    def use(number):
        try:
            return join_token_use(actor=SYSTEM, secret=secret, node_uid=f"n{number}")
        except Unauthenticated:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        won = [found for found in pool.map(use, range(8)) if found]
    assert len(won) == 1
