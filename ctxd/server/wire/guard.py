"""`guard/sanitize` (protocol.md, section 7)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, Input, Wire


class GuardSanitizeParams(Input):
    """Parameters of `guard/sanitize`."""

    text: str = Field(description="Text from outside.")
    kind: Literal["toolOutput", "memory"] = Field(
        default="toolOutput", description="What it is to become: a memory with a secret in it is refused."
    )


class Passage(Wire):
    """Where something stands in the text as it was given: bytes of its UTF-8."""

    start: Count
    end: Count


class GuardFinding(Wire):
    """Something found in a text; never the text itself."""

    kind: str = Field(
        description="`secret.<rule>`, `data-uri`, `long-hex`, or a class of text that reads like orders to a "
        "model: `system-override`, `role-confusion`, `tool-call-injection`, `secret-extraction`, "
        "`instruction-injection`."
    )
    severity: Literal["low", "medium", "high"]
    span: Passage
    action: Literal["redacted", "refused", "shortened", "marked", "noted"] = Field(
        description="`refused`: cut out, and a memory with it would not be written. `noted`: left as it is."
    )


class GuardSanitizeResult(Wire):
    """The text as it may be shown to a model."""

    text: str
    findings: list[GuardFinding] = Field(description="In order of their places.")
