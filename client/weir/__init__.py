"""Weir from Python: `with weir.Client.from_config() as centre: centre.commodities()`, and a remote accelerator for
PyTorch: `with weir.session(compute_percent=30, memory_mib=4096) as session: model.to(session.device)`."""

from weir.api import Client
from weir.checkpoint import checkpointed
from weir.errors import ApiError, NotSignedIn, Unreachable, WeirClientError
from weir.session import SessionEnded, session
from weir.sizes import scaled

__all__ = [
    "ApiError",
    "Client",
    "NotSignedIn",
    "SessionEnded",
    "Unreachable",
    "WeirClientError",
    "checkpointed",
    "scaled",
    "session",
]
__version__ = "0.1.0"
