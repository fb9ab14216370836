"""Weir from Python: `with weir.Client.from_config() as centre: centre.commodities()`."""

from weir.api import Client
from weir.errors import ApiError, NotSignedIn, Unreachable, WeirClientError

__all__ = ["ApiError", "Client", "NotSignedIn", "Unreachable", "WeirClientError"]
__version__ = "0.1.0"
