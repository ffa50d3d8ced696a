"""Which tool outputs are evidence of what a session is to deliver; elision leaves them whole.

Of each file a contract's patterns name, and of each file where a validator left its evidence, the newest
output about it that is no error; and every output that a validator's newest outcome names (O §34.8).
"""

from __future__ import annotations

from functools import cache

from ctxd.compaction.preservation import translate
from ctxd.core.fold import SessionState
from ctxd.core.paths import normalize


def evidence(state: SessionState) -> frozenset[str]:
    """Call ids of the outputs of the view that are evidence, none without a contract. Linear in the view."""
    contract = state.contract
    if contract is None:
        return frozenset()
    root = state.created.workspace if state.created else ""
    patterns = [translate(artifact.pattern) for artifact in contract.artifacts]
    declared = {validator.id for validator in contract.validators}
    newest_outcomes = [verdict for name, verdict in state.verdicts.items() if name in declared]
    left = {normalize(verdict.evidence_path, root) for verdict in newest_outcomes if verdict.evidence_path}
    top = normalize(root, "/").rstrip("/") + "/"

    @cache
    def is_spoken_of(path: str) -> bool:
        below = path.removeprefix(top)
        return path in left or any(p.fullmatch(path) or p.fullmatch(below) for p in patterns)

    newest: dict[str, str] = {}
    for entry in state.view:
        for result in entry.facts.results:
            call = state.call_of(result.call_id, entry.facts.id)
            if call is None or not call.path or result.is_error:
                continue
            path = normalize(call.path, root)
            if is_spoken_of(path):
                newest[path] = result.call_id
    return frozenset((*newest.values(), *(verdict.call_id for verdict in newest_outcomes if verdict.call_id)))
