"""Plans as data: `cases/*.txt`, each a budget, a conversation and the plan it must give.

    window: 6000            budget, one `name: value` a line (window, target, keep, factor, dialect)
    ---
    user: …                 the conversation (tests/support/conversation.py)
    --- compact             compacts here, and goes on
    assistant: …
    ===
    …                       the plans, in order

`UPDATE_GOLDEN=1` writes the plans anew; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxd.compaction.fallback import ACTIVE_TASK, Plan
from ctxd.compaction.ledger import NOTICE
from tests.support.session import Session

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.txt"))

_LINE_CHARS = 120


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_is_the_recorded_one(name: str) -> None:
    check(CASES / f"{name}.txt")


def check(path: Path) -> None:
    """Compare the plans of a case with those recorded in it, or record them."""
    given, _, expected = path.read_text().partition("\n===\n")
    made = "\n\n".join(plans(given)) + "\n"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(f"{given}\n===\n{made}")
        return
    assert made == expected


def plans(given: str) -> list[str]:
    """The rendered plans of a case's input, one for each place where it compacts."""
    head, _, talk = given.partition("\n---\n")
    options = dict(line.split(": ", 1) for line in head.splitlines())
    session = Session(
        dialect=options.get("dialect", "anthropic"),
        window=int(options["window"]) if "window" in options else None,
        factor=float(options.get("factor", "1")),
    )
    target = int(options["target"]) if "target" in options else None
    made: list[str] = []
    for part in talk.split("\n--- compact\n"):
        session.say(part)
        plan = session.plan(requested=target, keep_messages=int(options.get("keep", "6")))
        made.append(render(plan, session))
        session.commit(plan)
    return made


def render(plan: Plan, session: Session) -> str:
    """A plan as text: sizes, what is placed, what is kept, what became of each unit."""
    lines = [f"{plan.before} -> {plan.after} tokens, target {plan.target}", "", "summary:"]
    lines += _quoted(plan.summary.text.replace(NOTICE, "[notice]"))
    kept = session.state.view[plan.tail :]
    if plan.task and plan.task_first:
        lines += ["task:", *_quoted(plan.task.text.replace(ACTIVE_TASK, "[task] "))]
    lines.append(f"kept: {' '.join(entry.facts.id for entry in kept) or 'nothing'}")
    for elision in plan.elisions:
        lines.append(f"clipped: {elision.call_id} in {elision.message_id}, {elision.saved} tokens less")
        lines += _quoted(elision.placeholder)
    if plan.task and not plan.task_first:
        lines += ["task:", *_quoted(plan.task.text.replace(ACTIVE_TASK, "[task] "))]
    lines.append("units:")
    for fate in plan.units:
        handle = f", recall {fate.handle}" if fate.handle else ""
        lines.append(f"  {' '.join(fate.message_ids)}: {fate.fidelity}{handle}")
    return "\n".join(lines)


def _quoted(text: str) -> list[str]:
    return [f"  | {_short(line)}".rstrip() for line in text.split("\n")]


def _short(line: str) -> str:
    if len(line) <= _LINE_CHARS:
        return line
    return f"{line[:70]} ({len(line) - 90} more) {line[-20:]}"


def test_there_are_cases() -> None:
    assert len(NAMES) >= 10


def test_a_plan_that_differs_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UPDATE_GOLDEN", raising=False)
    path = tmp_path / "case.txt"
    path.write_text("window: 6000\n---\nuser: hi\n===\nsomething else\n")
    with pytest.raises(AssertionError):
        check(path)


def test_updating_writes_what_then_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "case.txt"
    path.write_text("window: 6000\n---\nuser: hi\n===\nsomething else\n")
    monkeypatch.setenv("UPDATE_GOLDEN", "1")
    check(path)
    monkeypatch.delenv("UPDATE_GOLDEN")
    check(path)
