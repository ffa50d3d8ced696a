"""Identity of a request: what it is made of, as one digest that a restart does not change."""

from __future__ import annotations

import hashlib

from ctxd.core.fold import SessionState


def fingerprint(state: SessionState, pending: bytes = b"") -> str:
    """sha256 hex over model, system, tools, history as shown, pending messages, and a dialect switched to."""
    seal = hashlib.sha256()
    for part in (
        state.model.id.encode("utf-8", "surrogatepass"),
        state.system.encode("utf-8", "surrogatepass"),
        state.tools.encode("utf-8", "surrogatepass"),
        state.view_digest(),
        pending,
        *((state.dialect.encode(),) if state.is_mixed else ()),
    ):
        seal.update(len(part).to_bytes(8, "big"))
        seal.update(part)
    return seal.hexdigest()
