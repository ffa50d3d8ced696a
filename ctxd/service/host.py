"""The host as the service sees it: someone to ask for a summary, to warn, and to tell.

The wire side implements this; a daemon without a host that can answer has `NoHost`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from ctxd.compaction.sampling import Trouble

if TYPE_CHECKING:
    from ctxd.service.session import Session
    from ctxd.workspace.watcher import Change


class SampleRequest(msgspec.Struct, frozen=True):
    """One request for a summary. `messages` are (role, text) pairs."""

    session_id: str
    attempt: int
    system: str
    messages: tuple[tuple[Literal["user", "assistant"], str], ...]
    max_tokens: int


class SampleReply(msgspec.Struct, frozen=True):
    """A model's answer. `usage` is native; `is_text` false for an answer that is no text (a tool call)."""

    text: str
    model: str = ""
    stop_reason: str = ""
    usage: dict[str, Any] | None = None
    is_text: bool = True


class HookRequest(msgspec.Struct, frozen=True):
    """What a host is asked before a compaction."""

    session_id: str
    trigger: str
    reason: str
    messages_before: int
    tokens_before: int


class HookReply(msgspec.Struct, frozen=True):
    """The host's word: `instructions` go into the summary's prompt. `failure` says why there is none."""

    allow: bool = True
    reason: str = ""
    instructions: str = ""
    failure: Literal["", "hookTimeout", "hookFailed"] = ""


class SampleFailed(Exception):
    """Asking for a summary failed. `limit` is the context length that an overflow named, 0 for none."""

    def __init__(self, kind: Trouble, message: str, limit: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.limit = limit


class Host(Protocol):
    """What a host can do for its sessions. Notifications never block."""

    @property
    def can_sample(self) -> bool: ...

    @property
    def folders(self) -> tuple[str, ...]:
        """URIs of the workspaces it announced: the roots of one workspace, where there are several."""
        ...

    @property
    def follows_files(self) -> bool:
        """Whether it wants to be told of changes to touched files."""
        ...

    async def sample(self, request: SampleRequest, within: float) -> SampleReply:
        """Ask for a summary; `within` in seconds. Raises SampleFailed."""
        ...

    async def before_compaction(self, request: HookRequest, within: float) -> HookReply:
        """Ask whether a compaction may happen. A host without hook allows it; so does one that fails."""
        ...

    def view_changed(self, session: Session, cause: str) -> None:
        """Tell that a model view changed other than by an append of the host."""
        ...

    def session_changed(self, session: Session) -> None:
        """Tell that a session's access, durability or health is another now (D9)."""
        ...

    def warn(self, sentence: str) -> None:
        """Tell what a person should know of; no content."""
        ...

    def files_changed(self, workspace: str, changes: list[Change]) -> None:
        """Tell what became of files of a workspace that some session touched."""
        ...

    def phase(self, session: Session, stage: Literal["start", "complete"], numbers: dict[str, int]) -> None:
        """Tell that a compaction began or ended, with typed numbers."""
        ...


class NoHost:
    """Nobody to ask or tell."""

    can_sample = False
    folders: tuple[str, ...] = ()
    follows_files = False

    async def sample(self, request: SampleRequest, within: float) -> SampleReply:
        raise SampleFailed("unavailable", "no host to ask")

    async def before_compaction(self, request: HookRequest, within: float) -> HookReply:
        return HookReply()

    def view_changed(self, session: Session, cause: str) -> None:
        return

    def session_changed(self, session: Session) -> None:
        return

    def warn(self, sentence: str) -> None:
        return

    def files_changed(self, workspace: str, changes: list[Change]) -> None:
        return

    def phase(self, session: Session, stage: Literal["start", "complete"], numbers: dict[str, int]) -> None:
        return
