"""An async Python client for the daemon. This is the package's face; the rest is its own affair."""

from ctxd.client.connection import Client, ClientError
from ctxd.client.session import Session

__all__ = ["Client", "ClientError", "Session"]
