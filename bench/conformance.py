"""ctxd's deterministic compaction measured by the public compaction-conformance-kit.

    python -m bench.conformance [seeds]

The kit plants facts and rules of a user in a session, has it compacted five rounds within a budget of
characters, and looks which still stand. The adapter speaks to a real daemon: the kit's turns become
messages, a next request follows, each round is a `context/compact` of all that was said before it, and
what is scored is the model view, nothing added and nothing left out. The kit's budget is in
characters, so the target in tokens is found by trying, with `context/undo`.

The same sessions are measured once more with the kit's labels ("SAFETY RULE:" and the like) taken
off every statement: nothing in ctxd may hang on them.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from compaction_kit import benchmark as kit
from compaction_kit.compacted import CompactedContext
from compaction_kit.semantic import SemanticChecklistCompactor
from compaction_kit.session import SeededSession, Turn

from bench.harness import Workbench, workbench
from tools.peer import Peer

LABEL = re.compile(r"^[A-Z]+(?: [A-Z]+)?: ")
"""How the kit marks a statement's type."""

NEXT = "Go on."
"""The request after the kit's session: what is compacted is over."""

BUDGETS = (0.10, 0.20, 0.30)
ROUNDS = 5


class DaemonCompactor:
    """One session of the kit in one session of a daemon."""

    name = "ctxd"

    def __init__(self, scratch: Workbench, peer: Peer, session_id: str) -> None:
        self._scratch = scratch
        self._peer = peer
        self._id = session_id

    def compact(
        self, turns: list[Turn], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        """The model view after a compaction. From the second round on, the daemon has the session."""
        if round_num == 1:
            self._open(turns)
        text = self._shrink(budget_chars or sum(len(turn.text) for turn in turns) // 2)
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)

    def _open(self, turns: list[Turn]) -> None:
        system = [{"role": "system", "content": t.text} for t in turns if t.role == "system"]
        said = [{"role": t.role, "content": t.text} for t in turns if t.role != "system"]
        self._scratch.open(
            self._peer,
            self._id,
            dialect="openai-chat",
            system=system,
            model={"id": "gpt-4o", "contextWindow": 200_000},
        )
        self._call("session/append", messages=[*said, {"role": "user", "content": NEXT}])

    def _shrink(self, most: int) -> str:
        """Compact to the largest target whose view has at most `most` characters."""
        fits, above = 0, most
        while above - fits > 1:
            target = (fits + above) // 2
            report = self._compact(target)
            text = self._view()
            if report["outcome"] != "applied" and len(text) <= most:
                # It is compacted already: nothing was said since.
                return text
            if len(text) <= most:
                fits = target
            else:
                above = target
            if report["outcome"] == "applied":
                self._call("context/undo")
        self._compact(fits)
        return self._view()

    def _compact(self, target: int) -> Any:
        newest = self._call("session/history", view="model")["messages"][-2]["messageId"]
        return self._call("context/compact", strategy="deterministic", targetTokens=target, upTo=newest)

    def _view(self) -> str:
        """What the next request would carry as messages."""
        lines = self._call("session/history", view="model")["messages"]
        return "\n".join(line["message"]["content"] for line in lines)

    def _call(self, method: str, **params: object) -> Any:
        return self._peer.request(method, {"sessionId": self._id, **params})


def measure(scratch: Workbench, seeds: list[int], prefix: str) -> dict[str, Any]:
    """The kit's own benchmark over ctxd and the kit's best built-in."""
    with scratch.daemon(compaction={"auto": False}) as peer:
        numbers = itertools.count(1)
        factories: dict[str, Callable[[], Any]] = {
            DaemonCompactor.name: lambda: DaemonCompactor(scratch, peer, f"{prefix}{next(numbers)}"),
            SemanticChecklistCompactor.name: SemanticChecklistCompactor,
        }
        result: dict[str, Any] = kit.run_budget_benchmark(factories, BUDGETS, seeds, ROUNDS)
    return result


@contextmanager
def unlabelled() -> Iterator[None]:
    """The kit's sessions without its labels."""
    names = ("build_random_session", "build_semantic_session", "build_semantic_heldout_session")
    builders = {name: getattr(kit, name) for name in names}
    for name, build in builders.items():
        setattr(kit, name, _unlabel(build))
    try:
        yield
    finally:
        for name, build in builders.items():
            setattr(kit, name, build)


def main() -> int:
    """Print both tables; 1 when ctxd is above a budget, loses an update or shows a stale value."""
    seeds = list(range(1, 1 + int(sys.argv[1] if len(sys.argv) > 1 else "4")))
    cache = Path("build/bench-cache").absolute()
    good = True
    with workbench(cache) as scratch:
        for title, labels in (("as the kit has it", True), ("without labels", False)):
            if labels:
                result = measure(scratch, seeds, "labelled")
            else:
                with unlabelled():
                    result = measure(scratch, seeds, "bare")
            print(f"# {title}\n\n{kit.budget_benchmark_to_markdown(result)}")  # noqa: T201
            good &= all(_holds(entry) for entry in result["entries"] if entry["compactor"] == "ctxd")
    return 0 if good else 1


def _unlabel(build: Callable[[int], Any]) -> Callable[[int], Any]:
    def built(seed: int) -> Any:
        session, canaries, *rest = build(seed)
        turns = tuple(replace(turn, text=LABEL.sub("", turn.text)) for turn in session.turns)
        bare = SeededSession(turns=turns, canary_positions=session.canary_positions)
        return (bare, [replace(c, content=LABEL.sub("", c.content)) for c in canaries], *rest)

    return built


def _holds(entry: dict[str, Any]) -> bool:
    conflicts = entry["semantic"]["conflicts"]
    return (
        bool(entry["budget_compliant"]) and not conflicts["stale"] and entry["semantic"]["resolved_rate"] == 1
    )


if __name__ == "__main__":
    sys.exit(main())
