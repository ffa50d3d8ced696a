"""What a session is to deliver, and whether it is ready (protocol.md, section 7; O §30).

An outcome is bound to the workspace as it was when it was recorded: a pass does not outlive the files it
was about. Nothing is run here; the host runs its validators and says how they ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

import anyio
import msgspec

from ctxd.core.paths import normalize
from ctxd.core.recent import recent
from ctxd.model.contract import Artifact, ContractDeclared, Validator, ValidatorRecorded, Verdict
from ctxd.model.errors import CtxdError, InvalidParams, NotFound, Timeout
from ctxd.service.session import Session, Written
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.deliverables import Found, digest, find

LOOK_SECONDS = 10.0
"""How long a workspace's files may take to be looked at."""

T = TypeVar("T")
LackKind: TypeAlias = Literal["contract", "workspace", "artifact", "validator"]


class Lack(msgspec.Struct, frozen=True):
    """Something that keeps a session from being ready, or a warning.

    `name` is the artifact's or the validator's, `pattern` and `phase` what was declared of it, `detail`
    the host's own words of its outcome.
    """

    kind: LackKind
    reason: str
    name: str = ""
    pattern: str = ""
    phase: str = ""
    detail: str = ""


class Standing(msgspec.Struct, frozen=True):
    """Where a session stands against its contract; ready where nothing is missing."""

    missing: tuple[Lack, ...]
    warnings: tuple[Lack, ...]


async def declare(session: Session, contract: ContractDeclared) -> None:
    """Replace the contract. Raises InvalidParams for a validator named twice, and what committing raises."""
    seen: set[str] = set()
    for index, validator in enumerate(contract.validators):
        if validator.id in seen:
            raise InvalidParams.at(f"validators.{index}.id", "another validator has this id")
        seen.add(validator.id)
    async with session.lane:
        await session.commit([Written(contract)])


async def record(
    session: Session,
    validator_id: str,
    status: Verdict,
    *,
    reason: str = "",
    evidence_path: str = "",
    call_id: str = "",
    duration_ms: int | None = None,
) -> int:
    """Record how a validator's run ended; answers the revision.

    Raises NotFound for a validator nobody declared, an unknown call and evidence that can be no file,
    OutsideWorkspace for evidence elsewhere, Timeout, and what committing raises.
    """
    contract = session.state.contract
    if contract is None or all(validator.id != validator_id for validator in contract.validators):
        raise NotFound("no such validator", hint="contract/declare names them", field="validatorId")
    if call_id and call_id not in session.state.calls:
        raise NotFound("no such tool call", hint="recall/list names them", field="toolCallId")
    files = _Files(session, contract)
    survey = await _look(lambda: files.survey(evidence_path))
    async with session.lane:
        event = ValidatorRecorded(
            validator_id=validator_id,
            status=status,
            subject=survey.subject if survey else "",
            reason=reason,
            evidence_path=evidence_path,
            call_id=call_id,
            duration_ms=duration_ms,
        )
        await session.commit([Written(event)])
        return session.state.revision


async def status(session: Session) -> Standing:
    """Where the session stands: by the newest outcome of each validator and the files that are there.

    Raises Timeout where the workspace's files cannot be looked at in time.
    """
    session.refresh()
    contract = session.state.contract
    if contract is None:
        return Standing((Lack("contract", "undeclared"),), ())
    verdicts = dict(session.state.verdicts)
    warnings: list[Lack] = []
    survey = await _look(_Files(session, contract).survey)
    if survey is None:
        warnings.append(Lack("workspace", NotFound.kind))
        survey = _Survey((Found(refusal=NotFound.kind),) * len(contract.artifacts), "")
    found, subject = survey.found, survey.subject
    missing = [lack for pair in zip(contract.artifacts, found) if (lack := _lack_of_file(*pair)) is not None]
    for artifact, one in zip(contract.artifacts, found):
        if one.paths and one.refusal:
            warnings.append(Lack("artifact", one.refusal, artifact.name, artifact.pattern))
    for validator in contract.validators:
        lack = _lack_of_pass(validator, verdicts.get(validator.id), subject)
        if lack is not None:
            (missing if validator.required else warnings).append(lack)
    return Standing(tuple(missing), tuple(warnings))


def _lack_of_file(artifact: Artifact, found: Found) -> Lack | None:
    if found.paths:
        return None
    return Lack("artifact", found.refusal or "noFile", artifact.name, artifact.pattern)


def _lack_of_pass(validator: Validator, verdict: ValidatorRecorded | None, subject: str) -> Lack | None:
    """Why a validator's newest outcome is no pass of the files as they are; None where it is one."""
    if verdict is None:
        return Lack("validator", "notRun", validator.id, phase=validator.phase)
    if verdict.status != "pass":
        return Lack("validator", verdict.status, validator.id, phase=validator.phase, detail=verdict.reason)
    if verdict.subject != subject:
        return Lack("validator", "stale", validator.id, phase=validator.phase, detail=verdict.reason)
    return None


async def _look(work: Callable[[], T]) -> T:
    """Something that reads the workspace, in a thread, for as long as that may take. Raises Timeout."""
    found: list[T] = []
    with anyio.move_on_after(LOOK_SECONDS):
        found.append(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
    if not found:
        raise Timeout("the workspace's files do not answer", hint="try again")
    return found[0]


class _Survey(msgspec.Struct, frozen=True):
    """What each artifact's pattern finds, and the digest of that and of all the session wrote."""

    found: tuple[Found, ...]
    subject: str


class _Files:
    """The files a contract and a session speak of, as the session stood when this was made."""

    def __init__(self, session: Session, contract: ContractDeclared) -> None:
        self._root = session.state.created.workspace if session.state.created else ""
        self._artifacts = contract.artifacts
        self._touches = recent(session.state, self._root)

    def survey(self, evidence_path: str = "") -> _Survey | None:
        """The files as they are now; None where there is no workspace. Blocking.

        Raises OutsideWorkspace for evidence that lies elsewhere, NotFound for what can be no file.
        """
        try:
            boundary = Boundary(self._root)
        except NotFound:
            return None
        with boundary:
            if evidence_path:
                boundary.locate(evidence_path)
            found = tuple(find(boundary, artifact.pattern) for artifact in self._artifacts)
            paths = {path for one in found for path in one.paths}
            return _Survey(found, digest(boundary, paths | self._written(boundary)))

    def _written(self, boundary: Boundary) -> set[str]:
        """Files of the workspace that the session itself wrote."""
        paths: set[str] = set()
        for touch in self._touches:
            if touch.op == "read":
                continue
            try:
                paths.add(boundary.locate(normalize(touch.path, self._root)))
            except CtxdError:
                continue
        return paths
