"""Which messages cannot be taken at all: the laws of a dialect that no mending satisfies.

Must not know sessions: whoever appends or replaces gives the whole list.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.base import Dialect
from ctxd.dialects.rules.pairing import Paired
from ctxd.model.blocks import MessageView, Violation


def refused(dialect: Dialect, messages: Sequence[MessageView]) -> list[Violation]:
    """Violations that say `refuse`, in order of index. Laws that never refuse are not asked."""
    given = Paired(messages)
    found = [
        violation
        for rule in dialect.rules
        if rule.refuses
        for violation in rule.violations(given)
        if violation.mend == "refuse"
    ]
    return sorted(found, key=lambda violation: violation.index)
