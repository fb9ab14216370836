"""Redis as Celery's broker, by kombu's transport, with one fault of it mended."""

from typing import Any

import redis.exceptions
from kombu.transport import redis as kombu_redis


class Channel(kombu_redis.Channel):
    """Says of a connection that is gone what kombu expects to hear of one.

    A worker that loses Redis closes its connection twice. Where Redis was lost while the channel waited for a message,
    the first closing stops half way, and the second wants to give back the messages that are not done over a
    connection that has no address any more: an AttributeError, which ended the worker. The messages come back by
    themselves, after the broker's visibility time-out.
    """

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise redis.exceptions.ConnectionError("the connection to the broker is closed")
        parameters: dict[str, Any] = super()._connparams(  # type: ignore[no-untyped-call]
            asynchronous=asynchronous
        )
        return parameters


class Transport(kombu_redis.Transport):
    """kombu's transport with the channel above; named by CELERY_BROKER_TRANSPORT."""

    Channel = Channel
