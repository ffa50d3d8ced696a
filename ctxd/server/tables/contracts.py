"""What a session is to deliver."""

from __future__ import annotations

from ctxd.server.method import READ, WRITE, Method, handled_by

METHODS = (
    Method(
        "contract/declare",
        "contracts.ContractDeclareParams",
        "base.Empty",
        "Say what must be preserved through every compaction, and what is to be delivered.",
        handler=handled_by("contracts", "declare"),
        errors=WRITE,
    ),
    Method(
        "contract/record",
        "contracts.ContractRecordParams",
        "contracts.ContractRecordResult",
        "Say how a validator's run ended; the outcome holds while the files it was about do not change.",
        handler=handled_by("contracts", "record"),
        errors=(*WRITE, "notFound", "outsideWorkspace", "timeout"),
    ),
    Method(
        "contract/status",
        "contracts.ContractStatusParams",
        "contracts.ContractStatusResult",
        "Whether what was declared is there: files, and a pass of every required validator.",
        handler=handled_by("contracts", "status"),
        errors=(*READ, "outsideWorkspace", "timeout"),
    ),
)
