"""`workspace/readFile`: the file as it is, within the budget, and never "see above" of what is not above."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service.files.test_restoring import Work
from tests.service.host import Answer, LocalHost, Refused
from tests.support.behaviour import behaviour


@pytest.fixture
def work(host: LocalHost, tmp_path: Path) -> Work:
    return Work(host, tmp_path / "ws")


def read(work: Work, path: str, **given: Any) -> Answer:
    found: Answer = work.session.call("workspace/readFile", path=path, **given)
    return found


def contains(work: Work, path: str) -> Answer:
    found: Answer = work.session.call("context/contains", path=path)
    return found


def test_a_file_is_read_by_relative_and_by_absolute_path(work: Work) -> None:
    work.put("src/a.py")
    for path in ("src/a.py", str(work.root / "src/a.py")):
        found = read(work, path, startLine=2, endLine=3)
        assert found["content"] == "line 0 of src/a.py\nline 1 of src/a.py\n"
        assert (found["startLine"], found["endLine"], found["totalLines"]) == (2, 3, 9)
        assert found["next"] == {"startLine": 4, "endLine": 9}


def test_above_the_budget_a_hint_comes_that_can_be_followed_to_the_end(host: LocalHost, work: Work) -> None:
    host.configure({"workspace": {"readBytes": 1000}})
    text = "".join(f"line {n}\n" for n in range(500))
    (work.root / "big.txt").write_text(text)
    hint = read(work, "big.txt")
    assert hint.keys() == {"rangeHint"}
    assert (hint["rangeHint"]["bytes"], hint["rangeHint"]["budgetBytes"]) == (len(text), 1000)
    got, at = "", hint["rangeHint"]["suggestion"]
    while at is not None:
        part = read(work, "big.txt", **at)
        assert len(part["content"]) <= 1000
        got, at = got + part["content"], part.get("next")
    assert got == text


def test_the_budget_is_never_above_what_a_result_may_show(host: LocalHost, work: Work) -> None:
    host.configure({"recall": {"spillBytes": 100}})
    (work.root / "a.txt").write_text("x" * 60 + "\n" + "y" * 60 + "\n")
    assert read(work, "a.txt")["rangeHint"]["budgetBytes"] == 100


@behaviour("read.never-evicted")
def test_what_was_evicted_is_not_said_to_be_in_context(work: Work) -> None:
    work.put("a.py")
    work.read("a.py")
    first = read(work, "a.py")
    assert (first["inContext"], "since" in first) == (True, True)
    assert first["content"] == (work.root / "a.py").read_text()
    work.talk()
    work.session.compact(strategy="deterministic", targetTokens=300)
    again = read(work, "a.py")
    assert (again["inContext"], again["content"]) == (False, first["content"])
    assert contains(work, "a.py")["inContext"] is False


def test_what_changed_behind_the_sessions_back_is_not_in_context(work: Work) -> None:
    work.put("a.py")
    work.read("a.py")
    (work.root / "a.py").write_text("# rewritten\n")
    assert read(work, "a.py")["inContext"] is False


@behaviour("contains.restored")
def test_a_restored_file_is_in_context_until_it_is_written(work: Work) -> None:
    work.put("a.py", "long.py")
    (work.root / "long.py").write_text("x\n" * 300)
    work.read("a.py", "long.py")
    work.talk()
    work.compact()
    shown = contains(work, "a.py")
    assert shown["inContext"] is True
    message = next(m for m in work.session.lines("model") if m["messageId"] == shown["since"])
    assert "line 3 of a.py" in str(message["message"])
    assert read(work, "a.py")["since"] == shown["since"]
    assert contains(work, "long.py") == {"inContext": False, "since": shown["since"], "reason": "partial"}
    (work.root / "a.py").write_text("# by somebody else\n")
    assert read(work, "a.py")["inContext"] is False
    work.edit("a.py", "somebody", "nobody")
    assert contains(work, "a.py") == {"inContext": False, "reason": "changed"}
    work.read("a.py")
    assert contains(work, "a.py")["inContext"] is True


def test_a_write_that_the_host_told_ends_a_restored_copy(work: Work) -> None:
    work.put("a.py")
    work.read("a.py")
    work.talk()
    work.compact()
    assert contains(work, "a.py")["inContext"] is True
    work.session.host.notify("workspace/touch", sessionId=work.session.id, path="a.py", op="edit")
    assert contains(work, "a.py")["inContext"] is False


def test_undoing_the_compaction_takes_the_copy_away(work: Work) -> None:
    work.put("a.py")
    work.read("a.py")
    work.talk()
    work.compact()
    copy = contains(work, "a.py")["since"]
    work.session.call("context/undo")
    assert contains(work, "a.py")["since"] != copy


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"startLine": 0}, "startLine"),
        ({"startLine": 99}, "startLine"),
        ({"startLine": 3, "endLine": 2}, "endLine"),
        ({"offset": -1}, "offset"),
    ],
)
def test_a_range_that_is_none_says_which_side_is_wrong(work: Work, given: Answer, path: str) -> None:
    work.put("a.py")
    with pytest.raises(Refused) as refused:
        read(work, "a.py", **given)
    assert (refused.value.kind, refused.value.paths) == ("invalidParams", [path])
