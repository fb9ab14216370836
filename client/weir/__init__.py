"""Weir from Python: `with weir.Client.from_config() as centre: centre.commodities()`, and a remote accelerator for
PyTorch: `with weir.session(compute_percent=30, memory_mib=4096) as session: model.to(session.device)`; functions of
yours in the pool: `weir.submit(train, 0.1, compute_percent=30, memory_mib=4096).result()`; figures of work as it
runs: `weir.log({"loss": loss}, step=step)`.

What the client takes and answers has its types in `weir.api_types`, for type checkers and editors."""

from typing import TYPE_CHECKING, Any

from weir.api import Client
from weir.checkpoint import checkpointed
from weir.elastic_size import scaled
from weir.errors import ApiError, NotSignedIn, Unreachable, WeirClientError
from weir.functions import FunctionFailed, FunctionRun, job, submit
from weir.metrics import log
from weir.session import SessionEnded, session
from weir_wire.version import VERSION

__all__ = [
    "ApiError",
    "Client",
    "FunctionFailed",
    "FunctionRun",
    "NotSignedIn",
    "SessionEnded",
    "SessionLost",
    "Unreachable",
    "WeirClientError",
    "checkpointed",
    "job",
    "log",
    "scaled",
    "session",
    "submit",
]
__version__ = VERSION

if TYPE_CHECKING:
    from weir_wire.wire import SessionLost


def __getattr__(name: str) -> Any:
    """What the device raises, loaded where somebody asks for it."""
    if name == "SessionLost":
        from weir_wire.wire import SessionLost

        return SessionLost
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
