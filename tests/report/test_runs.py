"""The two passes on small made-up recordings, against the real daemon: what they see and what they judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from ctxd.importers.steps import Boundary, Message, Response, Results, Step, Transcript, UserInput
from ctxd.report.figures import Managed
from ctxd.report.host import Host
from ctxd.report.managed_run import ManagedRun
from ctxd.report.recorded_run import OPTIONS, run_recorded
from ctxd.report.simulation import fit_simulation, simulate_usage
from ctxd.report.tool_outputs import OutputBook, Recovery

T = TypeVar("T")
BIG = "wörd " * 60_000


def with_host(folder: Path, work: Callable[[Host], Awaitable[T]], options: dict[str, Any] | None = None) -> T:
    async def main() -> T:
        async with Host.start(folder, options or {}) as host:
            return await work(host)

    return anyio.run(main)


def said(text: str) -> UserInput:
    return UserInput(messages=({"role": "user", "content": text},), line=1)


def answered(text: str, prompt: int | None = None, calls: tuple[str, ...] = ()) -> Response:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": call, "name": "Read", "input": {}} for call in calls]
    usage = {"input_tokens": prompt, "output_tokens": 10} if prompt else None
    return Response(
        messages=({"role": "assistant", "content": blocks},),
        line=2,
        usage=usage,
        prompt_reported=prompt,
        completion_reported=10 if prompt else None,
    )


def gave(call: str, content: Any) -> Results:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return Results(messages=({"role": "user", "content": [block]},), line=3)


def recording(*steps: Step) -> Transcript:
    return Transcript(
        format="claude-code", dialect="anthropic", name="made up", model="", steps=steps, notes=()
    )


def test_each_epoch_is_predicted_on_its_own_and_anchors_on_its_own_usage(tmp_path: Path) -> None:
    summary = {"role": "user", "content": "Summary of what was."}
    transcript = recording(
        said("go"),
        answered("one", 1000, ("c1",)),
        gave("c1", "fine"),
        answered("two", 1050),
        Boundary(line=4, replacement=(summary,)),
        answered("three", 900),
        said("more"),
        answered("four"),
        said("and more"),
        answered("five", 960),
    )
    advanced: list[int] = []

    async def work(host: Host) -> Any:
        return await run_recorded(host, transcript, 200_000, lambda: advanced.append(1))

    comparisons, violations = with_host(tmp_path, work, OPTIONS)
    assert violations == []
    assert [c.reported for c in comparisons] == [1000, 1050, 900, 960]
    assert [c.anchored for c in comparisons] == [False, True, False, True]
    assert [c.baseline is None for c in comparisons] == [True, False, True, False]
    assert all(c.baseline > before for c, before in zip(comparisons[1::2], (1010, 910)) if c.baseline)
    assert len(advanced) == 5


def test_a_recorded_compaction_is_left_out_and_nothing_goes_missing(tmp_path: Path) -> None:
    transcript = recording(
        said("go"),
        answered("one", calls=("c1",)),
        gave("c1", "fine"),
        answered("two"),
        Boundary(line=4, replacement=({"role": "user", "content": "never sent"},)),
        answered("three", calls=("c2",)),
        gave("c2", BIG),
        answered("four"),
    )
    managed = manage(tmp_path, transcript, 30_000)
    assert managed.ok
    assert managed.requests == 4
    assert managed.outputs == Recovery(outputs=2, evicted=1, recovered=1, lost=())


def test_a_prompt_that_cannot_fit_is_announced_and_counted_apart(tmp_path: Path) -> None:
    managed = manage(tmp_path, recording(said(BIG), answered("one")), 20_000)
    assert managed.largest > 20_000
    assert (managed.over_budget, managed.overflows) == (1, ())


def test_a_request_no_provider_takes_is_a_violation_with_its_place(tmp_path: Path) -> None:
    steps = (said("go"), answered("one", calls=("c1",)), answered("asked before the tool was done"))
    managed = manage(tmp_path, recording(*steps), 200_000)
    assert managed.violations == ("made up, line 2: 1: 1 call(s) without a result at the end",)
    assert not managed.ok


def test_an_output_that_was_never_given_to_the_daemon_counts_as_lost(tmp_path: Path) -> None:
    kept, missing = gave("c1", "fine").messages, gave("ghost", "gone").messages
    transcript = recording(said("go"))

    async def work(host: Host) -> Recovery:
        session = await host.open_session(transcript, 200_000)
        history: list[Message] = [*said("go").messages, *answered("one", calls=("c1",)).messages, *kept]
        await host.call("session/append", {"sessionId": session, "messages": history})
        book = OutputBook()
        book.add([*kept, *missing])
        return await book.recover(host, session)

    assert with_host(tmp_path, work) == Recovery(outputs=2, evicted=1, recovered=0, lost=("ghost",))


def test_an_output_above_the_spill_limit_comes_back_over_several_pages(tmp_path: Path) -> None:
    content = gave("c1", BIG).messages

    async def work(host: Host) -> tuple[Recovery, int]:
        session = await host.open_session(recording(), 200_000)
        history: list[Message] = [*said("go").messages, *answered("one", calls=("c1",)).messages, *content]
        await host.call("session/append", {"sessionId": session, "messages": history})
        book = OutputBook()
        book.add(content)
        return await book.recover(host, session), len(host.times["recall/fetch"])

    recovery, fetches = with_host(tmp_path, work)
    assert recovery == Recovery(outputs=1, evicted=1, recovered=1, lost=())
    assert fetches > 1


def test_a_simulation_is_fitted_inside_epochs_and_its_fixed_part_capped(tmp_path: Path) -> None:
    text = "word " * 1000
    transcript = recording(
        said("go"), answered("a", 40_000), said(text), answered("b", 42_000), Boundary(line=4),
        said("go"), answered("c", 70_000), said(text), answered("d", 72_000),
    )  # fmt: skip

    async def work(host: Host) -> Any:
        return [await fit_simulation(host, transcript, window) for window in (200_000, 60_000)], [
            await host.count_o200k("anthropic", said(text).messages),
            await host.count_o200k("anthropic", answered("a").messages),
        ]

    (wide, narrow), counts = with_host(tmp_path, work)
    assert wide.density == pytest.approx(2000 / sum(counts))
    assert wide.fixed == wide.fixed_recorded == narrow.fixed_recorded
    assert 39_900 < wide.fixed < 40_000
    assert narrow.fixed == 15_000


def test_without_reported_sizes_the_fixed_part_is_the_recorded_system(tmp_path: Path) -> None:
    transcript = Transcript(
        format="openai-chat",
        dialect="openai-chat",
        name="chat",
        model="",
        steps=(said("go"),),
        notes=(),
        system=[{"role": "system", "content": "policy " * 100}],
    )

    async def work(host: Host) -> Any:
        return await fit_simulation(host, transcript, 60_000)

    simulation = with_host(tmp_path, work)
    assert simulation.density == 1.0
    assert 100 <= simulation.fixed < 120


def test_simulated_usage_is_native_to_its_dialect() -> None:
    assert simulate_usage("anthropic", 7, 2) == {"input_tokens": 7, "output_tokens": 2}
    assert simulate_usage("openai-chat", 7, 2) == {
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "total_tokens": 9,
    }
    assert simulate_usage("openai-responses", 7, 2) == {
        "input_tokens": 7,
        "output_tokens": 2,
        "total_tokens": 9,
    }
    assert simulate_usage("gemini", 7, 2) == {
        "promptTokenCount": 7,
        "candidatesTokenCount": 2,
        "totalTokenCount": 9,
    }


def manage(folder: Path, transcript: Transcript, window: int) -> Managed:
    async def work(host: Host) -> Managed:
        run = ManagedRun(host, window, cross_check=True)
        await run.replay(transcript, lambda: None)
        return run.figures()

    return with_host(folder, work)
