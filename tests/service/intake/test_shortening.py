"""The budget of tool results: what a turn shows when its results arrive, live and after a restart (E §12)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.dialects import registry
from tests.service.host import LocalHost, Session
from tests.support import natives
from tests.support.behaviour import behaviour

GO = {"role": "user", "content": "go"}
BUDGET = {"recall": {"spillBytes": 6_000, "turnBytes": 10_000, "headBytes": 1_000, "tailBytes": 500}}


def model(window: int) -> dict[str, Any]:
    return {"id": "claude-sonnet-4-5", "contextWindow": window}


def text(size: int, seed: str = "x") -> str:
    row = f"{seed} says something here\n"
    return (row * (size // len(row) + 1))[:size]


def call(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": i, "name": "Bash", "input": {"command": f"run {i}"}} for i in ids]
    return {"role": "assistant", "content": blocks}


def result(call_id: str, content: str, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    return {"role": "user", "content": [block]}


def results(*blocks: tuple[str, str]) -> dict[str, Any]:
    return {"role": "user", "content": [result(i, content)["content"][0] for i, content in blocks]}


def shown(session: Session, dialect: str = "anthropic") -> dict[str, str]:
    return dict(natives.results(dialect, session.messages("model")))


def size(content: str) -> int:
    return len(content.encode("utf-8", "replace"))


@behaviour("budget.turn")
def test_e12_parallel_results_together_stay_within_the_turns_limit(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    ids = [f"c{n}" for n in range(8)]
    done = session.append(GO, call(*ids), results(*[(i, text(5_000, i)) for i in ids]))
    seen = shown(session)
    assert sum(map(size, seen.values())) <= 10_000
    assert {s["toolCallId"] for s in done["spilled"]} == {i for i in ids if seen[i] != text(5_000, i)}
    assert len(done["spilled"]) >= 6
    for i in ids:
        assert session.fetch(i)["content"] == text(5_000, i)
        assert seen[i].startswith(f"{i} says")
        if seen[i] != text(5_000, i):
            assert "more than the results of this turn may show together" in seen[i]


@behaviour("budget.turn")
def test_e12_an_exhausted_turn_adds_no_preview_for_every_further_result(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    ids = [f"c{n}" for n in range(40)]
    session.append(GO, call(*ids))
    for i in ids:
        session.append(result(i, text(5_900, i)))
    assert sum(map(size, shown(session).values())) <= 10_000


@behaviour("budget.turn")
def test_e12_each_turn_has_its_own_limit(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    for number in range(4):
        pair = (f"a{number}", f"b{number}")
        session.append(GO, call(*pair), results(*[(i, text(4_900, i)) for i in pair]))
    assert all(content == text(4_900, i) for i, content in shown(session).items())


def test_e12_a_result_of_just_the_limit_passes_and_one_byte_more_does_not(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    session.append(GO, call("c1"), result("c1", text(6_000)))
    session.append(call("c2"), result("c2", text(6_001)))
    seen = shown(session)
    assert seen["c1"] == text(6_000)
    assert 1_500 < size(seen["c2"]) < 1_900
    assert "too large to show whole" in seen["c2"]


def test_e12_head_and_tail_are_shown_in_the_options_proportion(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    session.append(GO, call("c1"), result("c1", text(9_000)))
    head, tail = re.split(r"\n\[Bash [^\n]*\]\n", shown(session)["c1"])
    assert (len(head), len(tail)) == (1_000, 500)
    assert text(9_000).startswith(head) and text(9_000).endswith(tail)


@behaviour("budget.favours")
def test_e12_errors_and_the_newest_result_keep_most(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    ids = ["a", "b", "error", "d", "newest"]
    content = [result(i, text(5_000, i), is_error=i == "error")["content"][0] for i in ids]
    session.append(GO, call(*ids), {"role": "user", "content": content})
    sizes = {i: size(content) for i, content in shown(session).items()}
    assert sum(sizes.values()) <= 10_000
    assert min(sizes["error"], sizes["newest"]) > 2 * max(sizes[i] for i in "abd")


@behaviour("budget.favours")
def test_e12_the_last_of_results_that_come_one_by_one_still_has_room(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    ids = [f"c{n}" for n in range(5)]
    session.append(GO, call(*ids))
    for i in ids:
        session.append(result(i, text(5_900, i)))
    sizes = [size(shown(session)[i]) for i in ids]
    assert sum(sizes) <= 10_000
    assert sizes[-1] >= 10_000 // 5
    assert sizes[-1] >= sizes[0]


def test_e12_small_results_stay_whole_beside_large_ones(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    session.append(
        GO, call("a", "b", "c"), results(("a", "ok"), ("b", text(5_900, "b")), ("c", text(5_900, "c")))
    )
    seen = shown(session)
    assert seen["a"] == "ok"
    assert seen["b"] != text(5_900, "b")


@behaviour("budget.window")
@pytest.mark.parametrize(
    ("window", "whole"), [(8_192, False), (32_000, False), (200_000, True), (None, True)]
)
def test_e12_fifty_kilobytes_are_too_much_for_a_small_window_only(
    host: LocalHost, window: int | None, whole: bool
) -> None:
    given_model = {"id": "nobody-knows-it"} if window is None else model(window)
    session = host.open(model=given_model)
    session.append(GO, call("c1"), result("c1", text(50_000)))
    assert (shown(session)["c1"] == text(50_000)) is whole
    assert session.fetch("c1")["totalBytes"] == 50_000


def test_e12_a_small_window_is_not_overflowed_by_one_turn(host: LocalHost) -> None:
    session = host.open(model=model(8_192))
    ids = [f"c{n}" for n in range(6)]
    session.append(GO, call(*ids), results(*[(i, text(90_000, i)) for i in ids]))
    projection = session.project()
    assert projection["tokens"] < projection["compactionThreshold"]


@behaviour("budget.resume")
@pytest.mark.parametrize("dialect", registry.NAMES)
def test_e12_what_is_shown_is_the_same_after_resume_under_other_options(
    host: LocalHost, dialect: str
) -> None:
    host.configure(BUDGET)
    session = host.open(dialect=dialect)
    ids = [f"c{n}" for n in range(4)]
    session.append(natives.user(dialect, "go"), *natives.calling(dialect, ids))
    for i in ids:
        session.append(natives.answer(dialect, i, text(7_000 if i == "c1" else 5_000, i)))
    before = session.history_bytes(), session.project()["tokens"]
    assert sum(map(size, shown(session, dialect).values())) <= 10_000
    host.reopen({"recall": {"spillBytes": 50_000}})
    session = host.open(dialect=dialect)
    assert (session.history_bytes(), session.project()["tokens"]) == before
    for i in ids:
        whole = session.fetch(i)
        assert whole["totalBytes"] == (7_000 if i == "c1" else 5_000)


@behaviour("budget.resume")
def test_e12_one_append_or_many_show_no_more_than_the_limit(host: LocalHost) -> None:
    """A whole conversation at once, as an import gives it, and deferred counting change nothing."""
    host.configure(BUDGET)
    session = host.open()
    messages: list[dict[str, Any]] = []
    for number in range(80):
        ids = [f"t{number}.{n}" for n in range(4)]
        messages += [GO, call(*ids), results(*[(i, text(4_000, i)) for i in ids])]
    session.append(*messages)
    for message in session.messages("model"):
        if message["role"] == "user" and isinstance(message["content"], list):
            assert sum(size(block["content"]) for block in message["content"]) <= 10_000
    pieces = host.open("s2")
    for start in range(0, len(messages), 3):
        pieces.append(*messages[start : start + 3])
    assert pieces.messages("model") == session.messages("model")
    assert pieces.project()["tokens"] == session.project()["tokens"]


def test_e12_a_shortened_result_can_be_elided_further(host: LocalHost) -> None:
    host.configure({**BUDGET, "elision": {"startAt": 0}})
    session = host.open(model=model(200_000))
    ids = ["a", "b", "c"]
    session.append(GO, call(*ids), results(*[(i, text(5_900, i)) for i in ids]))
    for number in range(8):
        session.append({"role": "user", "content": f"next {number}"})
        session.append({"role": "assistant", "content": "done"})
    session.append(call("z"), result("z", "ok"))
    session.prepare()
    assert all("from an earlier turn" in shown(session)[i] for i in ids)
    assert session.call("context/contains", handle="a") == {"inContext": False, "reason": "stale"}


def test_what_contains_says_of_a_result_cut_for_its_turn(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    ids = ["a", "b", "c"]
    session.append(GO, call(*ids), results(*[(i, text(5_900, i)) for i in ids]))
    assert session.call("context/contains", handle="a") == {"inContext": False, "reason": "turnBudget"}


def test_e12_cuts_split_no_character(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    content = "值😀é" * 900
    session.append(GO, call("a", "b"), results(("a", content), ("b", content)))
    for seen in shown(session).values():
        head, tail = re.split(r"\n\[Bash [^\n]*\]\n", seen)
        assert content.startswith(head) and content.endswith(tail)


def test_e12_a_lone_surrogate_moves_no_offset(host: LocalHost) -> None:
    host.configure(BUDGET)
    session = host.open()
    content = "\ud83d" * 200 + text(8_000)
    session.append(GO, call("a"), result("a", content))
    seen = shown(session)["a"]
    offset = int(re.search(r"from offset (\d+)\]", seen)[1])  # type: ignore[index]  # every cut says it
    head = seen.split("\n[Bash")[0]
    rest = session.fetch("a", offset=offset, length=100)["content"]
    assert content.startswith(head.replace("\ufffd", "\ud83d").replace("?", "\ud83d") + rest)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=st.lists(st.integers(0, 7_000), min_size=1, max_size=14),
    errors=st.sets(st.integers(0, 13)),
    batches=st.lists(st.integers(1, 5), min_size=14, max_size=14),
    turn_bytes=st.integers(4_000, 12_000),
)
def test_e12_no_order_of_arrival_shows_more_than_the_limit(
    daemon: LocalHost, sizes: list[int], errors: set[int], batches: list[int], turn_bytes: int
) -> None:
    daemon.configure({"recall": {**BUDGET["recall"], "turnBytes": turn_bytes}})
    daemon.later += 1
    session = daemon.open(f"s{daemon.later}")
    ids = [f"c{n}" for n in range(len(sizes))]
    session.append(GO, call(*ids))
    waiting = [
        result(i, text(length, i), is_error=n in errors)["content"][0]
        for n, (i, length) in enumerate(zip(ids, sizes, strict=True))
    ]
    for batch in batches:
        if waiting:
            session.append({"role": "user", "content": waiting[:batch]})
            waiting = waiting[batch:]
    seen = shown(session)
    assert sum(map(size, seen.values())) <= turn_bytes
    for i, length in zip(ids, sizes, strict=True):
        assert size(seen.get(i, "")) <= length
        if i in seen:
            assert "".join(p["content"] for p in [session.fetch(i)]) == text(length, i)
