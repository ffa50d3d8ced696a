"""What `session/open` and `session/update` say, checked and turned into events."""

from __future__ import annotations

import json
import os
from typing import Any, Literal, TypeAlias

import msgspec

from ctxd.core.facts import Weigher
from ctxd.dialects.base import BadShape, Dialect
from ctxd.model.errors import InvalidParams
from ctxd.model.events import Model, SessionCreated, SessionUpdated, WorkspaceMoved
from ctxd.service.environment import Environment, choice_of
from ctxd.service.session import Session, Written

Mode: TypeAlias = Literal["create", "resume", "openOrCreate"]


class Fixed(msgspec.Struct, frozen=True):
    """The fixed part of requests as the host gives it; None means not given.

    `system` is any JSON value of the dialect, `tools` a list of native declarations; both come
    with their JSON text, which is what is kept and handed back.
    """

    model: Model | None = None
    system: Any = None
    system_raw: str | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    tools_raw: str | None = None


async def created(
    environment: Environment, dialect: Dialect, session_id: str, workspace: str, fixed: Fixed
) -> SessionCreated:
    """The first event of a new session. Raises InvalidParams for a system or tools of wrong shape."""
    model = fixed.model or Model()
    choice = choice_of(model)
    system_tokens, tools_tokens = 0, 0
    if fixed.system_raw or fixed.tools:
        weigher = await environment.weigher(model, choice.encoding)
        system_tokens = weigh_system(dialect, fixed, weigher)
        tools_tokens = weigh_tools(dialect, fixed, weigher)
    return SessionCreated(
        session_id=session_id,
        workspace=workspace,
        dialect=dialect.name,
        model=model,
        encoding=choice.encoding,
        factor=choice.factor,
        system=fixed.system_raw or "",
        tools=fixed.tools_raw or "",
        system_tokens=system_tokens,
        tools_tokens=tools_tokens,
    )


async def follow_move(session: Session, path: str) -> None:
    """Note that the session's workspace lies at another path now than it did. The caller holds the lane."""
    created = session.state.created
    if created is not None and not _is_same_place(created.workspace, path):
        await session.commit([Written(WorkspaceMoved(workspace=path))])


async def update(session: Session, fixed: Fixed) -> bool:
    """Commit what differs from what the session knows; False when nothing does. The caller holds the lane."""
    state = session.state
    model = fixed.model if fixed.model is not None and fixed.model != state.model else None
    system = fixed.system_raw if fixed.system_raw is not None and fixed.system_raw != state.system else None
    tools = fixed.tools_raw if fixed.tools_raw is not None and fixed.tools_raw != state.tools else None
    if model is None and system is None and tools is None:
        return False
    system_tokens: int | None = None
    tools_tokens: int | None = None
    if system is not None or tools is not None:
        weigher = await session.weigher()
        system_tokens = weigh_system(session.dialect, fixed, weigher) if system is not None else None
        tools_tokens = weigh_tools(session.dialect, fixed, weigher) if tools is not None else None
    event = SessionUpdated(
        model=model,
        factor=choice_of(model).factor if model is not None else None,
        system=system,
        tools=tools,
        system_tokens=system_tokens,
        tools_tokens=tools_tokens,
    )
    await session.commit([Written(event)])
    return True


def weigh_system(dialect: Dialect, fixed: Fixed, weigher: Weigher) -> int:
    """Base tokens of the system prompt, 0 for none given. Raises InvalidParams for a wrong shape."""
    if fixed.system_raw is None:
        return 0
    try:
        return weigher.count(dialect.check_system(fixed.system))
    except BadShape as error:
        raise InvalidParams.at(_path("system", error), error.message) from error


def weigh_tools(dialect: Dialect, fixed: Fixed, weigher: Weigher) -> int:
    """Base tokens of the declarations: their JSON and 8 of framing each (E §1). Raises InvalidParams."""
    if not fixed.tools:
        return 0
    try:
        return sum(weigher.count(text) + 8 for text in dialect.check_tools(fixed.tools))
    except BadShape as error:
        raise InvalidParams.at(_path("tools", error), error.message) from error


def _is_same_place(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _path(field: str, error: BadShape) -> str:
    return f"{field}.{error.path}" if error.path else field


def tools_of(raw: str) -> list[bytes]:
    """The tools of a session, each as JSON text, byte for byte as they were given."""
    if not raw:
        return []
    try:
        return [bytes(part) for part in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except msgspec.DecodeError:
        return [json.dumps(tool).encode("ascii") for tool in json.loads(raw)]
