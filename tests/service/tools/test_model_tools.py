"""The table of tools: who is listed, who answers, and how far an answer may go."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.model.errors import NotFound, OutsideWorkspace, Sensitive, StorageFull
from ctxd.model.tools import Parameter, ToolAnswer, ToolDeclaration
from ctxd.service import session as sessions
from ctxd.service.tools.arguments import Arguments, BadArguments
from ctxd.service.tools.toolbox import ModelTool, Toolbox
from tests.service.host import LocalHost
from tests.support.behaviour import behaviour

SAY = ToolDeclaration("say", "Say it.", (Parameter("word", "string", "What.", required=True),))


def tool(declaration: ToolDeclaration, outcome: ToolAnswer | Exception) -> ModelTool:
    async def run(session: sessions.Session, arguments: Arguments) -> ToolAnswer:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return ModelTool(declaration, run)


def call(host: LocalHost, box: Toolbox, arguments: Any = None) -> ToolAnswer:
    opened = host.registry.get(host.open().id)
    given = {"word": "w"} if arguments is None else arguments

    async def ask() -> ToolAnswer:
        return await box.call(opened, "say", given)

    return host.run(ask)


def test_tools_are_listed_in_the_order_of_the_table_and_only_those_there_are() -> None:
    rest = ToolDeclaration("rest", "", ())
    box = Toolbox([tool(SAY, ToolAnswer("")), tool(rest, ToolAnswer(""))])
    assert [t["name"] for t in box.declared("anthropic")] == ["say", "rest"]
    assert Toolbox([]).declared("gemini") == []


@behaviour("tools.bounded")
@pytest.mark.parametrize("text", ["x" * 50_000, "值" * 20_000, "😀" * 9_000])
def test_no_answer_of_any_tool_is_larger_than_a_result_may_be(host: LocalHost, text: str) -> None:
    host.configure({"recall": {"pageBytes": 5_000}})
    answer = call(host, Toolbox([tool(SAY, ToolAnswer(text))]))
    assert 4_900 < len(answer.content.encode()) <= 5_000
    assert answer.content.endswith("[cut here: ask for a smaller part]")
    assert text.startswith(answer.content.split("\n")[0])


@behaviour("tools.mistakes")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotFound("no such topic", hint="memory/list names them"), "No such topic; memory/list names them."),
        (Sensitive("this holds a secret", rule="x"), "This holds a secret."),
        (OutsideWorkspace("the path leaves the workspace"), "The path leaves the workspace."),
        (BadArguments("word is odd."), "word is odd."),
    ],
)
def test_what_a_tool_refuses_is_an_answer(host: LocalHost, error: Exception, said: str) -> None:
    assert call(host, Toolbox([tool(SAY, error)])) == ToolAnswer(said, is_error=True)


def test_a_storage_that_fails_is_the_hosts_to_know(host: LocalHost) -> None:
    with pytest.raises(StorageFull):
        call(host, Toolbox([tool(SAY, StorageFull("no room"))]))


@behaviour("tools.mistakes")
def test_many_mistakes_are_a_short_answer(host: LocalHost) -> None:
    host.configure({"recall": {"pageBytes": 5_000}})
    answer = call(host, Toolbox([tool(SAY, ToolAnswer(""))]), {f"argument{n}" * 50: n for n in range(5_000)})
    assert answer.is_error
    assert len(answer.content.encode()) <= 5_000
