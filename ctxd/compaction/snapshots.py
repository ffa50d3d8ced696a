"""The plan an agent keeps with its host's todo or plan tool: typed state, as it stood last (O §5).

A plan is read from the arguments of the model's own call, with its provenance; text that looks like
a plan is none, wherever it stands. A call that failed changed no plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ctxd.compaction.extract import Item
from ctxd.model.blocks import ToolCall, ToolResult
from ctxd.model.summary import PlanSnapshot, PlanStep, StepStatus

TITLE_BYTES = 120
BODY_BYTES = 1_500
"""UTF-8 bytes of one step's title, and of a whole plan as it is shown."""

TRUNCATED = "- (plan truncated: {} more steps)"

PLAN_TOOLS = frozenset(
    {
        "todowrite",
        "todo_write",
        "write_todos",
        "updatetodos",
        "update_todos",
        "update_todo_list",
        "manage_todo_list",
        "todo",
        "todos",
        "set_todos",
        "update_plan",
        "updateplan",
        "plan",
        "set_plan",
        "write_plan",
        "exitplanmode",
        "exit_plan_mode",
    }
)
"""Todo and plan tools, by lower-cased name without a server's prefix."""

_LISTS = ("todos", "plan", "todoList", "todo_list", "items", "steps", "tasks")
_TITLES = ("content", "step", "title", "text", "description", "task", "name")
_STATUSES: dict[str, StepStatus] = {
    "completed": "completed",
    "complete": "completed",
    "done": "completed",
    "finished": "completed",
    "x": "completed",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "skipped": "cancelled",
    "in_progress": "inProgress",
    "inprogress": "inProgress",
    "active": "inProgress",
    "started": "inProgress",
    "doing": "inProgress",
    "current": "inProgress",
    "-": "inProgress",
    ">": "inProgress",
    "~": "inProgress",
}
_MARKS: dict[StepStatus, str] = {"completed": "x", "inProgress": ">", "pending": " ", "cancelled": "-"}
_CHECKBOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*\[([ xX>~-])\]\s*(.+)$")


def follow(known: PlanSnapshot | None, items: Sequence[Item]) -> PlanSnapshot | None:
    """The plan after the calls of `items`, in order. What does not parse or names no step changes nothing."""
    failed = {b.call_id for b in _blocks(items) if isinstance(b, ToolResult) and b.is_error}
    plan = known
    for item in items:
        if item.entry.facts.role != "assistant" or item.entry.facts.inserted:
            continue
        for call in item.view.calls:
            if call.name.lower().rsplit("__", 1)[-1] in PLAN_TOOLS and call.call_id not in failed:
                plan = _apply(plan, call, item.entry.facts.id) or plan
    return plan


def render_plan(plan: PlanSnapshot) -> list[str]:
    """The plan as lines, at most BODY_BYTES of them; what is done gives way to what is to do."""
    lines = [f"- [{_MARKS[step.status]}] {step.title}" for step in plan.steps]
    if plan.text:
        return ["- Plan agreed on:\n  " + _cut(plan.text, BODY_BYTES).replace("\n", "\n  ")]
    finished = [line for line, step in zip(lines, plan.steps) if step.status in ("completed", "cancelled")]
    if _size(lines) > BODY_BYTES and len(finished) > 1:
        rest = [line for line in lines if line not in finished]
        lines = [f"- [x] ({len(finished)} steps done)", *rest]
    if _size(lines) <= BODY_BYTES:
        return lines
    room = BODY_BYTES - len(TRUNCATED.encode()) - 4
    kept: list[str] = []
    while _size([*kept, lines[len(kept)]]) <= room:
        kept.append(lines[len(kept)])
    return [*kept, TRUNCATED.format(len(lines) - len(kept))]


def _apply(known: PlanSnapshot | None, call: ToolCall, message_id: str) -> PlanSnapshot | None:
    arguments = _decode(call.arguments)
    if isinstance(arguments, list):
        arguments = {"todos": arguments}
    if not isinstance(arguments, dict):
        return None
    given = next((arguments[name] for name in _LISTS if name in arguments), None)
    text = given if isinstance(given, str) else ""
    listed = _decode(given) if isinstance(given, str) else given
    if isinstance(listed, list):
        steps = [step for entry in listed if (step := _step(entry)) is not None]
    else:
        boxes = [box for line in text.splitlines() if (box := _CHECKBOX.match(line))]
        steps = [PlanStep(_title(box[2]), _status(box[1])) for box in boxes if _title(box[2])]
        if not steps:
            # A plan in prose, as it was agreed on when planning ended.
            prose = text.strip() if call.name.lower().startswith("exit") else ""
            return PlanSnapshot(message_id=message_id, text=prose) if prose else None
    if not steps:
        return None
    if arguments.get("merge") is True and known is not None:
        steps = _merged(known.steps, steps)
    return PlanSnapshot(message_id=message_id, steps=tuple(steps))


def _merged(known: Iterable[PlanStep], changed: Iterable[PlanStep]) -> list[PlanStep]:
    """Known steps with those that changed in their places, new ones behind."""
    steps = {step.id or step.title: step for step in known}
    steps.update({step.id or step.title: step for step in changed})
    return list(steps.values())


def _step(entry: Any) -> PlanStep | None:
    if isinstance(entry, str):
        title = _title(entry)
        return PlanStep(title, "pending") if title else None
    if not isinstance(entry, dict):
        return None
    found = next((entry[name] for name in _TITLES if isinstance(entry.get(name), str)), "")
    title = _title(found)
    if not title:
        return None
    done = entry.get("completed") is True or entry.get("done") is True
    status = "completed" if done else _status(str(entry.get("status", entry.get("state", ""))))
    return PlanStep(title, status, str(entry.get("id", "")))


def _status(text: str) -> StepStatus:
    spelled = text.strip().lower().replace("-", "_") if len(text.strip()) > 1 else text.strip().lower()
    return _STATUSES.get(spelled, "pending")


def _title(text: str) -> str:
    clean = "".join(char if char.isprintable() else " " for char in text)
    return _cut(" ".join(clean.split()), TITLE_BYTES)


def _cut(text: str, size: int) -> str:
    """At most `size` bytes of UTF-8, an ellipsis where something is missing."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= size:
        return text
    return encoded[: size - 3].decode("utf-8", "ignore").rstrip() + "…"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _decode(text: Any) -> Any:
    """JSON of a string, and of a string inside it; None for anything else."""
    for _ in range(2):
        if not isinstance(text, str):
            return text
        try:
            text = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None
    return text


def _blocks(items: Sequence[Item]) -> Iterable[object]:
    return (block for item in items for block in item.view.blocks)
