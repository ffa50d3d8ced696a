"""A place to work with logs in tests: a state folder, a writer, and an event loop to append with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ctxd.model.records import Draft, Record
from ctxd.store.layout import Layout, open_layout
from ctxd.store.ledger import Ledger
from ctxd.store.log.event_log import SEGMENT_BYTES, Mode, SessionLog, open_log
from ctxd.store.log.writer import Writer

SID = "session-1"


class Desk:
    """One workspace of one state folder, as one process sees it."""

    def __init__(self, root: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.root = root
        self.segment_bytes = segment_bytes
        self.writer = Writer()
        self._runner = asyncio.Runner()
        self._open: list[SessionLog] = []

    def layout(self) -> Layout:
        return open_layout(self.root, "/somewhere/project")

    def ledger(self) -> Ledger:
        return Ledger(self.layout())

    def open(self, mode: Mode = "write", *, create: bool = True, sid: str = SID) -> SessionLog:
        log = open_log(
            self.layout(),
            sid,
            writer=self.writer,
            client="tests",
            mode=mode,
            create=create,
            segment_bytes=self.segment_bytes,
        )
        self._open.append(log)
        return log

    def append(self, log: SessionLog, *ids: str, size: int = 20) -> list[Record]:
        """Append a batch of drafts with these ids."""
        return self.append_drafts(log, [draft(name, size=size) for name in ids])

    def append_drafts(self, log: SessionLog, drafts: Sequence[Draft]) -> list[Record]:
        return self._runner.run(log.append(drafts))

    def append_together(self, log: SessionLog, batches: Sequence[Sequence[Draft]]) -> list[object]:
        """Several appends at the same time; each one's records or error."""

        async def together() -> list[object]:
            return list(await asyncio.gather(*map(log.append, batches), return_exceptions=True))

        return self._runner.run(together())

    def segments(self, sid: str = SID) -> list[Path]:
        return sorted((self.layout().sessions / sid).glob("*.jsonl"))

    def close(self) -> None:
        for log in self._open:
            log.close()
        self.writer.close()
        self._runner.close()


def draft(name: str, *, size: int = 20) -> Draft:
    """A draft whose body and facts tell which one it is."""
    return Draft(
        id=name,
        type="said",
        data=json.dumps([{"text": name + "é\u2028" * size}], ensure_ascii=False).encode(),
        facts=json.dumps({"name": name}).encode(),
    )


def names(records: Iterable[Record]) -> list[str]:
    """The ids of the callers' own records, lease records left out."""
    return [record.id for record in records if record.type != "lease"]


def check_bodies(log: SessionLog, records: Iterable[Record]) -> None:
    """Every record's body on disk is what its id says."""
    for record in records:
        if record.type != "lease":
            body = json.loads(log.read(record.location))
            assert body[0]["text"].startswith(record.id + "é")
            assert json.loads(record.facts) == {"name": record.id}
