"""The tools that models may call, as one table: declared in every dialect, called by name.

A tool that is not in the table is neither declared nor called. Whatever a model gets wrong is an answer it
can read; only what the host has to know is an error. No answer is larger than what is shown of one result.
Must not know what any tool does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from ctxd.compaction.placeholder import cut
from ctxd.dialects import registry as dialects
from ctxd.dialects.declarations import declare
from ctxd.model.errors import Corrupt, CtxdError, Expired, StoreError
from ctxd.model.tools import ToolAnswer, ToolDeclaration
from ctxd.service.intake.shortening import result_limits
from ctxd.service.session import Session
from ctxd.service.tools.arguments import Arguments, BadArguments, read_arguments

Run: TypeAlias = Callable[[Session, Arguments], Awaitable[ToolAnswer]]
"""What a tool does with arguments that fit its declaration. It may raise CtxdError and BadArguments."""


_CUT = "\n[cut here: ask for a smaller part]"


def answer_bytes(session: Session) -> int:
    """The largest answer of a tool: a recall page, and no more than is shown of one result."""
    return min(session.environment.settings.recall.page_bytes, result_limits(session).result)


class ModelTool(msgspec.Struct, frozen=True):
    """One tool: how it is declared, and what it does."""

    declaration: ToolDeclaration
    run: Run


class Toolbox:
    """The tools of a daemon, by name and in order."""

    def __init__(self, tools: Sequence[ModelTool]) -> None:
        self._tools = {tool.declaration.name: tool for tool in tools}

    def declared(self, dialect: str) -> list[dict[str, Any]]:
        """Native declarations of all tools. Raises UnknownDialect."""
        return declare(dialects.get(dialect).name, [tool.declaration for tool in self._tools.values()])

    async def call(self, session: Session, name: str, arguments: Any) -> ToolAnswer:
        """What a tool says, within `answer_bytes`. Raises the store's errors where the storage fails."""
        answer = await self._call(session, name, arguments)
        most = answer_bytes(session)
        if len(answer.content) * 4 <= most or len(answer.content.encode("utf-8", "replace")) <= most:
            return answer
        room = max(0, most - len(_CUT))
        return ToolAnswer(cut(answer.content, room, 0)[0] + _CUT, answer.is_error)

    async def _call(self, session: Session, name: str, arguments: Any) -> ToolAnswer:
        tool = self._tools.get(name)
        if tool is None:
            return ToolAnswer(f"There is no such tool. Tools: {', '.join(self._tools)}.", is_error=True)
        try:
            return await tool.run(session, read_arguments(tool.declaration, arguments))
        except BadArguments as error:
            return ToolAnswer(str(error), is_error=True)
        except CtxdError as error:
            if isinstance(error, StoreError) and not isinstance(error, Corrupt | Expired):
                raise
            said = f"{error.message}; {error.hint}" if error.hint else error.message
            return ToolAnswer(f"{said[:1].upper()}{said[1:]}.", is_error=True)
