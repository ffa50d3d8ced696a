"""What else happens while a compaction runs: other calls, messages, and being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.service.host import HookReply, HookRequest
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.service.talks import MODEL, Message, call, chat, result, said, user, view_of, work
from tests.support.behaviour import behaviour
from tests.support.scripted_host import Held, ScriptedHost, plausible, summary

SUMMARY = summary(decisions=["use sqlite"], exact=["go on"])
PARAMS = {"sessionId": "s1", "strategy": "model"}


@pytest.fixture
def script() -> ScriptedHost:
    return ScriptedHost(plausible)


@pytest.fixture
def host(tmp_path: Path, script: ScriptedHost) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "state", {"summarizer": {"retryDelayMs": 0}}, answers=script) as made:
        yield made


def filled(host: LocalHost, messages: list[Message] | None = None, **fields: Any) -> Session:
    session = host.open(**{"model": MODEL, **fields})
    session.append(*(messages or work()))
    return session


# Other calls


async def while_held(host: LocalHost, held: Held, meanwhile: Callable[[], Awaitable[Any]]) -> tuple[Any, Any]:
    """A compaction whose summary is held while something else happens; both results."""
    task = asyncio.create_task(host.ask("context/compact", PARAMS))
    await held.reached.wait()
    try:
        found = await meanwhile()
    finally:
        held.go.set()
    return await task, found


@behaviour("compaction.single-flight")
def test_a_second_compaction_is_busy_and_the_first_goes_on(host: LocalHost, script: ScriptedHost) -> None:
    """Reports B.28: both completed and appended two entries."""
    session = filled(host)
    plan = session.compact(strategy="deterministic", dryRun=True)["planId"]

    async def overlap() -> list[str]:
        kinds = []
        for method, params in (
            ("context/compact", PARAMS),
            ("context/compact", {"sessionId": "s1", "strategy": "deterministic"}),
            ("context/commit", {"sessionId": "s1", "planId": plan}),
        ):
            with pytest.raises(Refused) as refused:
                await host.ask(method, params)
            kinds.append(refused.value.kind)
        return kinds

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held]
        return await while_held(host, held, overlap)

    report, kinds = host.run(both)
    assert kinds == ["busy"] * 3
    assert report["outcome"] == "applied"
    assert len(host.registry.get("s1").state.checkpoints) == 1


def test_other_sessions_compact_meanwhile(host: LocalHost, script: ScriptedHost) -> None:
    filled(host)
    host.open("s2", model=MODEL).append(*work())

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held, plausible]
        return await while_held(
            host, held, lambda: host.ask("context/compact", {"sessionId": "s2", "strategy": "model"})
        )

    assert [report["outcome"] for report in host.run(both)] == ["applied", "applied"]


@behaviour("compaction.single-flight")
def test_a_request_prepared_meanwhile_compacts_nothing_and_spoils_nothing(
    host: LocalHost, script: ScriptedHost
) -> None:
    session = filled(host, work(24), model={"id": "m", "contextWindow": 44_000})
    assert session.project()["phase"] == "compaction_due"
    before = session.messages("model")

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held]
        prepare = {"sessionId": "s1", "phase": "turnStart"}
        return await while_held(host, held, lambda: host.ask("context/prepare", prepare))

    report, prepared = host.run(both)
    assert prepared["report"]["stages"] == []
    assert prepared["messages"] == before
    assert (report["outcome"], report["strategy"]) == ("applied", "model")
    assert len(script.asked) == 1


@behaviour("compaction.meanwhile")
@pytest.mark.parametrize("way", ["append", "report"])
def test_messages_that_arrive_meanwhile_stay_behind_the_replacement_in_order(
    host: LocalHost, script: ScriptedHost, way: str
) -> None:
    """Reports E.59: user messages during compaction were lost."""
    session = filled(host)
    prepared = session.prepare()
    late = [call(90), result(90, 100), said("Late answer."), user("late question")]

    async def arrive() -> None:
        if way == "append":
            for message in late:
                await host.ask("session/append", {"sessionId": "s1", "messages": [message]})
            return
        fields = {"requestId": prepared["requestId"], "outcome": "ok", "messages": late[:1]}
        await host.ask("context/report", {"sessionId": "s1", **fields})
        await host.ask("session/append", {"sessionId": "s1", "messages": late[1:]})

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held]
        return await while_held(host, held, arrive)

    report, _ = host.run(both)
    assert (report["outcome"], report["strategy"]) == ("applied", "model")
    assert session.messages("model")[-4:] == late
    assert "use sqlite" in str(session.messages("model")[0])
    assert session.messages()[-4:] == late
    sent = session.prepare()["messages"]
    verdict = host.call("context/validate", dialect="anthropic", messages=sent)
    assert verdict["ok"], verdict["violations"]
    view = session.history_bytes("model")
    host.reopen()
    host.open("s1", None)
    assert session.history_bytes("model") == view


@behaviour("compaction.meanwhile")
def test_results_of_a_call_that_waited_come_right_behind_it(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host, [*work(), user("more"), call(70)])

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held]
        append = {"sessionId": "s1", "messages": [result(70, 100), said("ok")]}
        return await while_held(host, held, lambda: host.ask("session/append", append))

    assert host.run(both)[0]["outcome"] == "applied"
    assert session.messages("model")[-3:] == [call(70), result(70, 100), said("ok")]
    verdict = host.call("context/validate", dialect="anthropic", messages=session.prepare()["messages"])
    assert verdict["ok"]


@behaviour("compaction.view-changed")
@pytest.mark.parametrize("change", ["undo", "unpin"])
def test_a_view_that_changed_meanwhile_is_left_as_it_is(
    host: LocalHost, script: ScriptedHost, change: str
) -> None:
    session = filled(host)
    session.compact(strategy="deterministic")
    session.append(*work(start=40))
    pin = session.call("context/pin", text="keep this")["pinId"]
    params: Answer = {"sessionId": "s1"} if change == "undo" else {"sessionId": "s1", "pinId": pin}

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held]
        return await while_held(host, held, lambda: host.ask(f"context/{change}", params))

    script.told.clear()
    report, _ = host.run(both)
    assert (report["outcome"], report["failureReason"]) == ("failed", "viewChanged")
    assert report["attempts"] == 1
    assert "use sqlite" not in str(session.messages("model"))
    assert [told.split()[0] for told in script.told] == ["start", "changed", "complete"]
    script.replies = [SUMMARY]
    assert session.compact(strategy="model")["outcome"] == "applied"


def test_a_pin_set_meanwhile_is_kept(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host)

    async def both() -> tuple[Any, Any]:
        held = Held(SUMMARY)
        script.replies = [held]
        pin = {"sessionId": "s1", "text": "never force-push"}
        return await while_held(host, held, lambda: host.ask("context/pin", pin))

    assert host.run(both)[0]["outcome"] == "applied"
    assert "never force-push" in str(session.messages("model"))


def test_a_session_closed_meanwhile_is_not_written_to(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host)
    before = session.messages("model")

    async def both() -> Any:
        held = Held(SUMMARY)
        script.replies = [held]
        task = asyncio.create_task(host.ask("context/compact", PARAMS))
        await held.reached.wait()
        await host.ask("session/close", {"sessionId": "s1"})
        held.go.set()
        return await asyncio.gather(task, return_exceptions=True)

    (ended,) = host.run(both)
    assert isinstance(ended, Refused)
    assert ended.kind in ("sessionNotFound", "readOnly", "checkpointFailed")
    assert script.told == ["start", "complete"]
    host.open("s1", None)
    assert session.messages("model") == before


def test_a_handoff_of_an_old_epoch_is_not_carried_into_the_next(host: LocalHost) -> None:
    """E §4: out of the view with its epoch, and out of compaction input."""
    session = filled(host, chat(13), model={"id": "m", "contextWindow": 44_000})
    prepared = session.prepare()
    assert [s["stage"] for s in prepared["report"]["stages"]] == ["handoff"]
    assert "token-budget-handoff" in str(session.messages("model"))
    session.append(said("noted"))
    assert session.compact(strategy="model")["outcome"] == "applied"
    assert "token-budget-handoff" not in str(session.messages("model"))


# Events


@behaviour("compaction.events")
def test_begin_and_end_come_in_pairs_and_a_new_view_is_told_between(
    host: LocalHost, script: ScriptedHost
) -> None:
    session = filled(host)
    session.compact(strategy="model")
    assert script.told == ["start", "changed compaction 1", "complete"]
    script.told.clear()
    session.compact(strategy="deterministic", dryRun=True)
    assert script.told == ["start", "complete"]
    session.append(*work(start=50))
    script.told.clear()
    plan = session.compact(strategy="deterministic", dryRun=True)["planId"]
    session.call("context/commit", planId=plan)
    assert script.told == ["start", "complete", "start", "changed compaction 2", "complete"]
    session.append(*work(start=80))
    script.told.clear()
    plan = session.compact(strategy="model", delivery="inline")["planId"]
    session.call("context/commit", planId=plan, summary=SUMMARY)
    assert script.told == ["start", "complete", "start", "changed compaction 3", "complete"]


# Cancelled


class Stopped:
    """Awaits a coroutine and cancels its task at its n-th suspension; `count` is how many there were."""

    def __init__(self, work: Awaitable[Any], at: int) -> None:
        self.count = 0
        self._work = work
        self._at = at

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._work.__await__()
        value: Any = None
        while True:
            try:
                waited = inner.send(value)
            except StopIteration as end:
                return end.value
            self.count += 1
            if self.count == self._at:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                value = yield waited
            except BaseException as error:  # noqa: BLE001 - handed on to whom it was meant for
                while True:
                    try:
                        waited = inner.throw(error)
                    except StopIteration as end:
                        return end.value
                    self.count += 1
                    try:
                        value = yield waited
                        break
                    except BaseException as again:  # noqa: BLE001 - as above
                        error = again


@behaviour("compaction.cancelled")
@pytest.mark.parametrize(("strategy", "awaits"), [("model", 7), ("deterministic", 5), ("auto", 1)])
def test_cancelled_at_any_await_a_session_has_its_old_view_or_its_new_one(
    host: LocalHost, script: ScriptedHost, strategy: str, awaits: int
) -> None:
    script.hook = slow_hook
    script.replies = [slow]
    ends: list[str] = []
    for at in range(1, 200):
        name = f"{strategy}{at}"
        session = host.open(name, model=MODEL)
        session.append(*work())
        before = view_of(session)
        script.told.clear()
        stopped, ended = host.run(lambda: compact_stopped(host, name, strategy, at))  # noqa: B023 - run at once
        ends.append(ended)
        assert script.told[0::2][:1] == ["start"] or script.told == []
        assert script.told.count("start") == script.told.count("complete")
        live = host.registry.get(name)
        assert not live.compacting
        if ended == "cancelled":
            assert view_of(session) == before
            assert not any(told.startswith("changed") for told in script.told)
        else:
            assert view_of(session) != before
            assert sum(told.startswith("changed") for told in script.told) == 1
        after = session.history_bytes("model")
        host.call("session/close", sessionId=name)
        host.open(name, None)
        assert session.history_bytes("model") == after
        if ended == "cancelled":
            assert session.compact(strategy=strategy)["outcome"] == "applied"
        if stopped.count < at:
            break
    assert ends[-1] == "applied"
    assert ends.count("cancelled") >= awaits
    assert "cancelled" not in ends[ends.index("applied") :], "once on its way to the disk it is done"


async def compact_stopped(host: LocalHost, name: str, strategy: str, at: int) -> tuple[Stopped, str]:
    stopped = Stopped(host.ask("context/compact", {"sessionId": name, "strategy": strategy}), at)

    async def run() -> Any:
        return await stopped

    task = asyncio.create_task(run())
    try:
        report = await task
    except asyncio.CancelledError:
        return stopped, "cancelled"
    return stopped, str(report["outcome"])


async def slow_hook(request: HookRequest) -> HookReply:
    await anyio.lowlevel.checkpoint()
    return HookReply()


async def slow(request: Any) -> str:
    await anyio.lowlevel.checkpoint()
    return plausible(request)


def test_a_cancelled_compaction_is_no_failure_for_the_breaker(host: LocalHost, script: ScriptedHost) -> None:
    filled(host)

    async def cancel() -> None:
        for _ in range(4):
            held = Held(SUMMARY)
            script.replies = [held]
            task = asyncio.create_task(host.ask("context/compact", PARAMS))
            await held.reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    host.run(cancel)
    script.replies = [SUMMARY]
    assert host.call("context/compact", **PARAMS)["strategy"] == "model"
