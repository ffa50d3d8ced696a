"""Which outputs are evidence of a contract, and that elision leaves just those whole."""

from __future__ import annotations

from ctxd.compaction import byte_budget
from ctxd.compaction.elision import Pressure, plan
from ctxd.compaction.evidence import evidence
from ctxd.model.contract import Artifact, ContractDeclared, Validator, ValidatorRecorded
from ctxd.model.settings import CacheOptions, ElisionOptions
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

WORK = """user: Make it.

call old Read path=out/a.csv
result old 9000

call fresh Read path=/project/out/a.csv
result fresh 9000

call other Read path=src/a.py
result other 9000

call failed Read path=out/b.csv
result! failed 9000

call tests Bash command=pytest
result tests 9000

call log Read path=reports/log.txt
result log 9000

call last Bash command=ls
result last 10"""


def contracted(*, verdicts: tuple[ValidatorRecorded, ...] = ()) -> Session:
    session = Session(WORK, window=200_000)
    session.apply(
        ContractDeclared(
            artifacts=(Artifact("table", "out/*.csv"),),
            invariants=(),
            validators=(Validator("tests", True, "completion"),),
        )
    )
    for verdict in verdicts:
        session.apply(verdict)
    return session


def outcome(validator: str = "tests", **fields: str) -> ValidatorRecorded:
    return ValidatorRecorded(validator_id=validator, status="pass", subject="", **fields)


def elided(session: Session) -> set[str]:
    """Calls whose outputs go when everything may go."""
    batch = plan(
        session.state,
        "full",
        Pressure(100_000, 1.0, None, 0),
        ElisionOptions(start_at=0.0, recent_files=0),
        CacheOptions(),
        count=count,
        expired=True,
        protected=evidence(session.state),
    )
    return {elision.call_id for elision in batch.elisions} if batch else set()


def test_without_a_contract_nothing_is_evidence() -> None:
    session = Session(WORK, window=200_000)
    assert evidence(session.state) == frozenset()
    assert elided(session) == {"old", "fresh", "other", "failed", "tests", "log"}


@behaviour("contract.evidence")
def test_the_newest_output_about_an_artifact_stays_and_older_and_failed_ones_go() -> None:
    session = contracted()
    assert evidence(session.state) == {"fresh"}
    assert elided(session) == {"old", "other", "failed", "tests", "log"}


@behaviour("contract.evidence")
def test_the_output_and_the_file_that_an_outcome_names_stay() -> None:
    session = contracted(verdicts=(outcome(call_id="tests", evidence_path="./reports/log.txt"),))
    assert evidence(session.state) == {"fresh", "tests", "log"}
    assert elided(session) == {"old", "other", "failed"}


def test_only_the_newest_outcome_of_a_declared_validator_holds_anything() -> None:
    session = contracted(
        verdicts=(outcome(call_id="tests"), outcome(call_id="log"), outcome("nobody", call_id="other"))
    )
    assert evidence(session.state) == {"fresh", "log"}


def test_the_byte_budget_takes_evidence_last() -> None:
    session = contracted()
    size = session.state.view_bytes
    first = byte_budget.plan(
        session.state, size, size - 20_000, count=count, protected=evidence(session.state)
    )
    assert first
    assert "fresh" not in {e.call_id for e in first}
    everything = byte_budget.plan(session.state, size, 100, count=count, protected=evidence(session.state))
    assert everything[-1].call_id == "fresh"
