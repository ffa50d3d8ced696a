"""A method of the protocol, and what rows of the table are made of. Knows no single method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from ctxd.server.wire.base import Wire, build

Noun = Literal[
    "context",
    "contracts",
    "guard",
    "memory",
    "pins",
    "prompts",
    "recall",
    "sessions",
    "status",
    "steering",
    "tokens",
    "tools",
    "workspace",
]
"""Names of the modules of handlers."""

STORE = ("storageFull", "storageFailed", "damaged")
READ = ("sessionNotFound", *STORE)
WRITE = (*READ, "sessionLocked", "readOnly")

Handler = Callable[[Any, Any, Any], Awaitable[Wire | None]]
"""`async def handler(daemon, params, call) -> result`: the app's daemon, the model, a `calls.Call`."""


Model: TypeAlias = str | type[Wire]
"""A wire model: `context.ContextPrepareParams` is that of `ctxd.server.wire.context`, imported and built when
it is first asked for. `initialize` must not wait for the models of every method (70 ms)."""


class Method(msgspec.Struct, frozen=True):
    """One method of the protocol.

    `errors` are the kinds it may answer beside those every request may (`invalidParams`,
    `cancelled`, `internal` and the kinds of the lifecycle). Without `handler` a request is answered
    `unknownMethod`, and the method is not advertised.
    """

    name: str
    takes: Model
    gives: Model | None
    doc: str
    handler: Handler | None = None
    kind: Literal["request", "notification"] = "request"
    direction: Literal["toDaemon", "toHost"] = "toDaemon"
    since: str = "0.1"
    errors: tuple[str, ...] = ()

    def load(self) -> None:
        """Import and build both models, for the thread that decodes: the first time takes milliseconds."""
        _ = self.params, self.result

    @property
    def params(self) -> type[Wire]:
        """The model of the parameters."""
        return _load(self.takes)

    @property
    def result(self) -> type[Wire] | None:
        """The model of the answer; None for a notification."""
        return None if self.gives is None else _load(self.gives)


Table = Mapping[str, Method]


def tabulate(methods: Iterable[Method]) -> Table:
    """The methods by name. Raises ValueError on a name given twice."""
    table: dict[str, Method] = {}
    for method in methods:
        if method.name in table:
            raise ValueError(f"two methods named {method.name}")
        table[method.name] = method
    return table


def advertised(table: Table) -> list[str]:
    """Names a host may call, in the table's order."""
    return [m.name for m in table.values() if m.direction == "toDaemon" and m.handler is not None]


@cache
def _load_wire() -> dict[str, Any]:
    from ctxd.server.wire import (
        base,
        compactions,
        context,
        contracts,
        guard,
        hosts,
        memory,
        pins,
        projections,
        prompts,
        recall,
        sessions,
        status,
        steering,
        tokens,
        tools,
        workspace,
    )

    return {
        "base": base,
        "compactions": compactions,
        "context": context,
        "contracts": contracts,
        "guard": guard,
        "hosts": hosts,
        "memory": memory,
        "pins": pins,
        "projections": projections,
        "prompts": prompts,
        "recall": recall,
        "sessions": sessions,
        "status": status,
        "steering": steering,
        "tokens": tokens,
        "tools": tools,
        "workspace": workspace,
    }


@cache
def _load(model: Model) -> type[Wire]:
    found: type[Wire]
    if isinstance(model, str):
        module, _, name = model.partition(".")
        found = getattr(_load_wire()[module], name)
    else:
        found = model
    build(found)
    return found


@cache
def load_handlers() -> dict[Noun, Any]:
    """The modules of handlers by noun. Their first import is heavy and belongs in a thread."""
    from ctxd.server.handlers import (
        context,
        contracts,
        guard,
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

    return {
        "context": context,
        "contracts": contracts,
        "guard": guard,
        "memory": memory,
        "pins": pins,
        "prompts": prompts,
        "recall": recall,
        "sessions": sessions,
        "status": status,
        "steering": steering,
        "tokens": tokens,
        "tools": tools,
        "workspace": workspace,
    }


def handled_by(noun: Noun, name: str) -> Handler:
    """A handler that is imported when it is first called: `initialize` must not wait for what it needs."""

    async def handle(daemon: Any, params: Any, call: Any) -> Wire | None:
        found: Handler = getattr(load_handlers()[noun], name)
        return await found(daemon, params, call)

    return handle
