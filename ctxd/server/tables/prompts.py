"""System prompts."""

from __future__ import annotations

from ctxd.server.method import Method, handled_by

METHODS = (
    Method(
        "prompt/build",
        "prompts.PromptBuildParams",
        "prompts.PromptBuildResult",
        "Put a system prompt together: given texts, the workspace's instruction files, extras, memory apart.",
        handler=handled_by("prompts", "build"),
        errors=("notFound", "outsideWorkspace", "timeout"),
    ),
)
