"""Contracts: what is declared is preserved, and how far a session is with it is said truly."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reports.checks import results, talk
from tests.service.host import LocalHost, Refused, Session
from tests.support.behaviour import behaviour

INVARIANT = "The public API must stay backwards compatible."


def turn(number: int, path: str) -> list[dict[str, Any]]:
    """One tool turn that writes a file and prints a lot."""
    call_id = f"call_{number}"
    use = {"type": "tool_use", "id": call_id, "name": "Write", "input": {"file_path": path, "content": "x"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": f"wrote {path}\n" + "line\n" * 400}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def test_what_a_contract_names_stands_after_every_compaction(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 20_000})
    session.call(
        "contract/declare",
        artifacts=[{"name": "slides", "pattern": "out/slide-*.png"}],
        invariants=[INVARIANT, "This sentence was never said."],
        validators=[{"id": "lint"}],
    )
    session.append({"role": "user", "content": "Make the slides."})
    session.append({"role": "assistant", "content": f"Noted. {INVARIANT} I begin."})
    for number in range(12):
        session.append(*turn(number, f"out/slide-{number:02}.png"))
    for _ in range(3):
        report = session.call("context/compact", strategy="deterministic")
        assert report["outcome"] == "applied"
        audit = report["audit"]
        assert audit["invariants"]["total"] == 1, "what was never said cannot be lost"
        assert audit["artifacts"]["total"] == 12
        assert audit["artifacts"]["referenced"] + audit["artifacts"]["reinjected"] == 12
        shown = json.dumps(session.call("session/history", view="model")["messages"])
        assert INVARIANT in shown
        assert all(f"out/slide-{number:02}.png" in shown for number in range(12))
        session.append({"role": "user", "content": "Go on. " + "more words " * 2000})
        session.append({"role": "assistant", "content": "Going on."})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "out").mkdir(parents=True)
    return folder


def declared(host: LocalHost, workspace: Path, **contract: Any) -> Session:
    session = host.open(workspace=workspace.as_uri(), model={"id": "claude-sonnet-4-5"})
    contract = {
        "artifacts": [{"name": "slides", "pattern": "out/slide-*.png"}],
        "invariants": [],
        "validators": [{"id": "tests"}, {"id": "lint", "required": False, "phase": "turn_end"}],
        **contract,
    }
    assert session.call("contract/declare", **contract) == {}
    return session


def record(session: Session, validator: str, status: str, **fields: Any) -> int:
    return int(session.call("contract/record", validatorId=validator, status=status, **fields)["revision"])


def standing(session: Session) -> tuple[bool, list[tuple[str, str]], list[tuple[str, str]]]:
    """Ready; (name, reason) of what is missing and of what warns."""
    found = session.call("contract/status")
    return (
        found["ready"],
        [(lack.get("name", lack["kind"]), lack["reason"]) for lack in found["missing"]],
        [(lack.get("name", lack["kind"]), lack["reason"]) for lack in found["warnings"]],
    )


def test_a_session_without_a_contract_is_not_ready(host: LocalHost, workspace: Path) -> None:
    session = host.open(workspace=workspace.as_uri())
    assert session.call("contract/status") == {
        "ready": False,
        "missing": [{"kind": "contract", "reason": "undeclared"}],
        "warnings": [],
    }


@behaviour("contract.ready")
def test_ready_is_a_file_of_every_artifact_and_a_pass_of_every_required_validator(
    host: LocalHost, workspace: Path
) -> None:
    session = declared(host, workspace, validators=[{"id": "tests"}, {"id": "style", "phase": "turn_end"}])
    expected = [("slides", "noFile"), ("tests", "notRun"), ("style", "notRun")]
    assert standing(session) == (False, expected, [])
    (workspace / "out" / "slide-1.png").write_text("one")
    assert standing(session) == (False, expected[1:], [])
    revision = session.revision
    assert record(session, "tests", "pass", durationMs=812) == revision + 1
    assert standing(session) == (False, expected[2:], [])
    record(session, "style", "pass")
    assert standing(session) == (True, [], [])


@behaviour("contract.ready")
@pytest.mark.parametrize("status", ["fail", "timeout", "error"])
def test_the_newest_outcome_counts_even_within_one_millisecond(
    host: LocalHost, workspace: Path, status: str
) -> None:
    (workspace / "out" / "slide-1.png").write_text("one")
    session = declared(host, workspace)
    host.registry.environment.now = lambda: 1_000
    record(session, "tests", "pass")
    record(session, "tests", status, reason="3 of 40")
    found = session.call("contract/status")
    assert found["missing"] == [
        {"kind": "validator", "reason": status, "name": "tests", "phase": "completion", "detail": "3 of 40"}
    ]
    record(session, "tests", "pass")
    assert standing(session)[0] is True


@behaviour("contract.optional")
def test_an_optional_validator_only_warns(host: LocalHost, workspace: Path) -> None:
    (workspace / "out" / "slide-1.png").write_text("one")
    session = declared(host, workspace)
    record(session, "tests", "pass")
    assert standing(session) == (True, [], [("lint", "notRun")])
    record(session, "lint", "fail", reason="long line")
    found = session.call("contract/status")
    assert (found["ready"], found["missing"]) == (True, [])
    assert found["warnings"] == [
        {"kind": "validator", "reason": "fail", "name": "lint", "phase": "turn_end", "detail": "long line"}
    ]


@behaviour("contract.bound")
def test_a_pass_goes_stale_with_an_artifact_and_comes_back_with_it(host: LocalHost, workspace: Path) -> None:
    slide = workspace / "out" / "slide-1.png"
    slide.write_text("one")
    session = declared(host, workspace)
    record(session, "tests", "pass")
    slide.write_text("two")
    assert standing(session)[:2] == (False, [("tests", "stale")])
    slide.write_text("one")
    assert standing(session)[0] is True
    (workspace / "out" / "slide-2.png").write_text("one")
    assert standing(session)[:2] == (False, [("tests", "stale")])
    record(session, "tests", "pass")
    assert standing(session)[0] is True
    slide.unlink()
    assert standing(session)[:2] == (False, [("tests", "stale")])


@behaviour("contract.bound")
def test_a_pass_goes_stale_with_a_file_the_session_wrote_and_not_with_others(
    host: LocalHost, workspace: Path
) -> None:
    (workspace / "out" / "slide-1.png").write_text("one")
    session = declared(host, workspace)
    session.append({"role": "user", "content": "Go."}, *turn(1, "src.py"))
    (workspace / "src.py").write_text("x = 1")
    record(session, "tests", "pass")
    (workspace / "notes.md").write_text("nobody's business")
    read = {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": "notes.md"}}
    result = {"type": "tool_result", "tool_use_id": "r", "content": "nobody's business"}
    session.append({"role": "assistant", "content": [read]}, {"role": "user", "content": [result]})
    assert standing(session)[0] is True
    (workspace / "src.py").write_text("x = 2")
    assert standing(session)[:2] == (False, [("tests", "stale")])


def test_a_touch_without_a_change_leaves_a_pass_as_it_is(host: LocalHost, workspace: Path) -> None:
    slide = workspace / "out" / "slide-1.png"
    slide.write_text("one")
    session = declared(host, workspace)
    record(session, "tests", "pass")
    os.utime(slide, ns=(10**18, 10**18))
    assert standing(session)[0] is True


@behaviour("contract.inside")
def test_artifacts_outside_the_workspace_or_behind_links_are_not_there(
    host: LocalHost, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "slide-1.png").write_text("secret")
    (workspace / "out" / "slide-1.png").symlink_to(outside / "slide-1.png")
    (workspace / "linked").symlink_to(outside)
    artifacts = [
        {"name": "link", "pattern": "out/slide-*.png"},
        {"name": "above", "pattern": "../outside/*.png"},
        {"name": "absolute", "pattern": f"{outside}/*.png"},
        {"name": "folder", "pattern": "linked/*.png"},
    ]
    session = declared(host, workspace, artifacts=artifacts, validators=[])
    assert standing(session) == (
        False,
        [
            ("link", "noFile"),
            ("above", "outsideWorkspace"),
            ("absolute", "outsideWorkspace"),
            ("folder", "symlinkRefused"),
        ],
        [],
    )


def test_a_workspace_that_is_not_there_warns_and_has_no_artifacts(host: LocalHost, tmp_path: Path) -> None:
    session = declared(host, tmp_path / "gone")
    record(session, "tests", "pass")
    assert standing(session) == (
        False,
        [("slides", "notFound")],
        [("workspace", "notFound"), ("lint", "notRun")],
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"validatorId": "nobody"}, "validatorId"), ({"toolCallId": "nothing"}, "toolCallId")],
)
def test_what_nobody_declared_or_called_cannot_be_recorded(
    host: LocalHost, workspace: Path, fields: dict[str, str], field: str
) -> None:
    session = declared(host, workspace)
    revision = session.revision
    with pytest.raises(Refused) as refused:
        session.call("contract/record", **{"validatorId": "tests", "status": "pass", **fields})
    assert (refused.value.kind, refused.value.data["field"]) == ("notFound", field)
    assert session.revision == revision


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc/passwd", "outsideWorkspace"),
        ("../outside.txt", "outsideWorkspace"),
        ("~/evidence", "outsideWorkspace"),
        ("a\0b", "notFound"),
    ],
)
def test_evidence_elsewhere_is_refused(host: LocalHost, workspace: Path, path: str, kind: str) -> None:
    session = declared(host, workspace)
    revision = session.revision
    with pytest.raises(Refused) as refused:
        record(session, "tests", "pass", evidencePath=path)
    assert (refused.value.kind, session.revision) == (kind, revision)
    record(session, "tests", "pass", evidencePath="reports/tests.xml")


def test_a_validator_is_declared_once_and_an_invariant_says_something(
    host: LocalHost, workspace: Path
) -> None:
    for contract, path in (
        ({"validators": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}, "validators.2.id"),
        ({"invariants": ["Keep it.", ""]}, "invariants.1"),
        ({"artifacts": [{"name": "x", "pattern": ""}]}, "artifacts.0.pattern"),
    ):
        with pytest.raises(Refused) as refused:
            declared(host, workspace, **contract)
        assert (refused.value.kind, refused.value.paths) == ("invalidParams", [path])


def test_a_new_contract_keeps_the_outcomes_of_validators_it_still_has(
    host: LocalHost, workspace: Path
) -> None:
    (workspace / "out" / "slide-1.png").write_text("one")
    session = declared(host, workspace)
    record(session, "tests", "pass")
    declared(host, workspace, validators=[{"id": "tests"}, {"id": "more"}])
    assert standing(session)[:2] == (False, [("more", "notRun")])


def test_outcomes_survive_a_restart_a_compaction_and_a_fork(host: LocalHost, workspace: Path) -> None:
    (workspace / "out" / "slide-1.png").write_text("one")
    session = declared(host, workspace)
    record(session, "tests", "pass")
    record(session, "lint", "fail", reason="long line")
    expected = session.call("contract/status")
    talk(session, 14)
    assert session.compact(strategy="deterministic")["outcome"] == "applied"
    assert session.call("contract/status") == expected
    host.reopen()
    session = host.open(workspace=workspace.as_uri())
    assert session.call("contract/status") == expected
    assert Session(host, session.call("session/fork")).call("contract/status") == expected


@behaviour("contract.torn")
def test_a_torn_record_loses_no_outcome_before_it(host: LocalHost, workspace: Path, tmp_path: Path) -> None:
    (workspace / "out" / "slide-1.png").write_text("one")
    session = declared(host, workspace)
    record(session, "lint", "pass")
    record(session, "tests", "pass")
    assert standing(session) == (True, [], [])
    crashed = tmp_path / "crashed"
    shutil.copytree(host.root, crashed)
    (segment,) = [path for path in crashed.rglob("*.jsonl") if "validatorRecorded" in path.read_text()]
    os.truncate(segment, segment.stat().st_size - 7)
    with LocalHost(crashed) as other:
        again = other.open(workspace=workspace.as_uri(), dialect=None)
        assert standing(again) == (False, [("tests", "notRun")], [])


@behaviour("contract.evidence")
def test_evidence_stays_whole_while_everything_around_it_is_elided(host: LocalHost, workspace: Path) -> None:
    session = declared(host, workspace, artifacts=[{"name": "report", "pattern": "out/report.md"}])
    session.call("session/update", model={"id": "claude-sonnet-4-5", "contextWindow": 40_000})
    read = {"type": "tool_use", "id": "report", "name": "Read", "input": {"file_path": "out/report.md"}}
    run = {"type": "tool_use", "id": "pytest", "name": "Bash", "input": {"command": "pytest"}}
    session.append(
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [read, run]},
        results(("report", "report line\n" * 500), ("pytest", "40 passed\n" * 500)),
    )
    record(session, "tests", "pass", toolCallId="pytest")
    talk(session, 12, words=1_800)
    made = session.prepare()
    assert "elision" in [stage["stage"] for stage in made["report"]["stages"]]
    text = str(made["messages"])
    assert (text.count("report line"), text.count("40 passed")) == (500, 500)
    bare = Session(host, session.call("session/fork"))
    bare.call("contract/declare", artifacts=[], invariants=[])
    bare.append({"role": "user", "content": "more " * 4_000}, {"role": "assistant", "content": "ok"})
    talk(bare, 3, words=900, name="x")
    text = str(bare.prepare()["messages"])
    assert "40 passed\n40 passed" not in text


def test_a_path_that_stands_in_arguments_alone_is_preserved(host: LocalHost) -> None:
    """O section 15, weakness: only contents were looked at."""
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 20_000})
    session.call(
        "contract/declare", artifacts=[{"name": "deck", "pattern": "out/**/slide-*.png"}], invariants=[]
    )
    make = {"type": "tool_use", "id": "m", "name": "Bash", "input": {"command": "mk out/deck/slide-7.png"}}
    session.append(
        {"role": "user", "content": "Go."}, {"role": "assistant", "content": [make]}, results(("m", "ok"))
    )
    talk(session, 16)
    report = session.compact(strategy="deterministic", targetTokens=2_500)
    assert report["outcome"] == "applied"
    assert report["audit"]["artifacts"]["total"] == 1
    assert "out/deck/slide-7.png" in str(session.messages("model"))


NUMBERS = itertools.count()


@behaviour("contract.preserved")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(2, 6_000), min_size=1, max_size=4),
    paths=st.integers(0, 40),
    target=st.integers(500, 9_000),
)
def test_a_compaction_preserves_all_of_a_contract_or_does_not_happen(
    daemon: LocalHost, sizes: list[int], paths: int, target: int
) -> None:
    """O section 15: the error came after the messages had changed, and there was no way back."""
    invariants = [f"Invariant {n} holds: " + "word " * size for n, size in enumerate(sizes)]
    session = daemon.open(f"c{next(NUMBERS)}", model={"id": "m", "contextWindow": 60_000})
    session.call("contract/declare", artifacts=[{"name": "x", "pattern": "out/*.png"}], invariants=invariants)
    session.append({"role": "user", "content": "Go."})
    for line in invariants:
        session.append({"role": "assistant", "content": f"Noted: {line}"})
    for number in range(paths):
        session.append(*turn(number, f"out/{number}.png"))
    talk(session, 6, words=200)
    before = session.history_bytes("model")
    report = session.compact(strategy="deterministic", targetTokens=target)
    if report["outcome"] != "applied":
        assert session.history_bytes("model") == before
        return
    shown = json.dumps(session.messages("model"))
    assert all(line in shown for line in invariants)
    assert all(f"out/{number}.png" in shown for number in range(paths))
