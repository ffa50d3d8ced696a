"""What a session is to deliver."""

from __future__ import annotations

from ctxd.server.method import WRITE, Method, handled_by
from ctxd.server.wire import contracts
from ctxd.server.wire.base import Empty

METHODS = (
    Method(
        "contract/declare",
        contracts.ContractDeclareParams,
        Empty,
        "Say what must be preserved through every compaction, and what is to be delivered.",
        handler=handled_by("contracts", "declare"),
        errors=WRITE,
    ),
)
