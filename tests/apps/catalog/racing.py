"""Several threads, each with its own connection and transaction, let go at one moment."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

from django.db import connections


def race(*runners: Callable[[], Any]) -> list[Any]:
    """Run all at once; what each returned, or the exception it raised."""
    barrier = Barrier(len(runners))
    results: list[Any] = [None] * len(runners)

    def run(number: int, runner: Callable[[], Any]) -> None:
        try:
            barrier.wait(timeout=120)
            results[number] = runner()
        except Exception as error:
            results[number] = error
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=(number, runner)) for number, runner in enumerate(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs: a deadlock?"
    return results
