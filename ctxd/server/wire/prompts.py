"""`prompt/build`: a system prompt out of its layers (protocol.md, section 6)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, Input, Wire


class PromptExtra(Input):
    """A text of the host's own, behind everything else."""

    title: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        pattern=r"^[^\r\n]+$",
        description="Its heading. A later extra of the same title takes the place of an earlier.",
    )
    text: str


class PromptBuildParams(Input):
    """Parameters of `prompt/build`. A text that is given, a blank one too, is not looked for."""

    workspace: str = Field(min_length=1, description="URI of the workspace's folder.")
    base: str | None = Field(default=None, description="What the prompt begins with.")
    project_instructions: str | None = Field(
        default=None,
        description="Instead of `CLAUDE.md`, `.octos/instructions.md`, `.claude/instructions.md`.",
    )
    agents: str | None = Field(
        default=None, description="Instead of `AGENTS.md`, `.octos/agents.md` or `agents.md`."
    )
    extras: list[PromptExtra] | None = None


class PromptLayer(Wire):
    """One layer, in the order of the prompt."""

    kind: Literal["base", "projectInstructions", "agents", "extra", "memory"]
    path: str | None = Field(default=None, description="The file it comes from, relative to the workspace.")
    title: str | None = Field(default=None, description="The heading of an extra.")
    bytes: Count = Field(description="UTF-8 bytes of its text; of a file that is too large, of the file.")
    skipped: str | None = Field(
        default=None,
        description="Why it is not in the prompt: `blank`, `tooLarge` (above 64 KiB), `binary`, or an error "
        "kind such as `symlinkRefused`.",
    )
    volatile: bool | None = Field(default=None, description="True for what is in `volatile`, not in `text`.")


class PromptBuildResult(Wire):
    """The prompt in two parts: what stays the same, and what does not."""

    text: str = Field(description="For the system prompt; the same as long as the layers are.")
    volatile: str | None = Field(
        default=None,
        description="For a message behind the cached prefix: what changes from session to session.",
    )
    layers: list[PromptLayer]
