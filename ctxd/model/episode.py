"""An episode: what one compaction knew of the work, as data, for later sessions of the workspace."""

from __future__ import annotations

import msgspec

from ctxd.model.summary import SessionSummary


class Episode(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One compaction's typed state, schema version 1. `at` is ms since 1970.

    `redacted` are items that were left out because they held a secret.
    """

    checkpoint_id: str
    session_id: str
    at: int
    summary: SessionSummary
    schema_version: int = 1
    redacted: int = 0
