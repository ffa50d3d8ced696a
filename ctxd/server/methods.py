"""The one table of methods: what exists, with which models, and who handles it.

Nothing dispatches, advertises or documents a method that is not here.
"""

from __future__ import annotations

from ctxd.server.method import Table, tabulate
from ctxd.server.tables import (
    context,
    contracts,
    guard,
    hosts,
    memory,
    pins,
    prompts,
    recall,
    sessions,
    status,
    steering,
    tokens,
    tools,
    workspace,
)

METHODS: Table = tabulate(
    [
        *sessions.METHODS,
        *context.METHODS,
        *pins.METHODS,
        *tokens.METHODS,
        *recall.METHODS,
        *tools.METHODS,
        *memory.METHODS,
        *prompts.METHODS,
        *workspace.METHODS,
        *steering.METHODS,
        *contracts.METHODS,
        *guard.METHODS,
        *status.METHODS,
        *hosts.METHODS,
    ]
)
"""Version 1 of the protocol, as far as it is built."""
