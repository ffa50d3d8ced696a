"""The handoff: what a model is told once per epoch, shortly before a compaction (E §4.4)."""

from __future__ import annotations

MAX_BYTES = 2_000

_TEXT = """<token-budget-handoff version="1">
This session's context will soon be compacted. Older messages will then be replaced by a summary; nothing on \
disk or in running processes changes. This note is from the host, not from the user.

In your next answers, make the state of the work explicit in plain words: the objective and the user's \
constraints; decisions and why; files changed; what was verified and how; work in the background; blockers; \
and the exact next action. Keep exact commands, arguments and constraints on the final answer word for word. \
Do not claim success for what was not verified. Do not create files or take notes for this that nobody asked \
for. Keep working on the task.
Remaining prompt-token headroom before compaction: {headroom}."""


def reminder(headroom: int) -> str:
    """The hidden user message; `headroom` is tokens left below the compaction threshold, at least 0."""
    text = _TEXT.format(headroom=max(0, headroom))
    assert len(text.encode("utf-8")) <= MAX_BYTES
    return text
