"""The messages of a session, and where things are in them, by their ids.

What is found by id is built when first asked for, over what is new since: opening a session asks for
none of it. Safe to ask from a worker thread while nothing is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import msgspec

from ctxd.model.events import SnapshotTaken
from ctxd.model.messages import CallFacts, FileOp, MessageFacts


class Touched(msgspec.Struct, frozen=True):
    """A file the host said was touched at `at` (milliseconds), after the message `after` ("" for none).

    `checkpoint` is the newest that stood then, "" for none.
    """

    path: str
    op: FileOp
    after: str
    at: int
    checkpoint: str


class Transcript:
    """Messages in order; `transcript` only grows at its end, facts in it may be filled in."""

    def __init__(self) -> None:
        self.transcript: list[MessageFacts] = []
        self.snapshots: dict[str, str] = {}
        """Message id to the snapshot of the workspace's files that was taken with it."""
        self.files_at = ("", "")
        """The newest snapshot, or the one that was restored since: (message id it stands behind, tree)."""
        self.withdrawn: set[str] = set()
        """Digests of what held secrets and was taken out of the ledger since."""
        self.gone: set[str] = set()
        """Messages that were rewound."""
        self.touched: list[Touched] = []
        self.former: tuple[str, ...] = ()
        """Where the workspace lay before, oldest first."""
        self._lock = Lock()
        self._positions: dict[str, int] = {}
        self._calls: dict[str, list[tuple[str, CallFacts]]] = {}
        self._results: dict[str, list[str]] = {}
        self._items: dict[str, list[str]] = {}
        self._digests: dict[str, tuple[str, str]] = {}
        self._positioned = 0
        self._read = 0
        self._unscanned: set[str] = set()
        self._looked = 0

    @property
    def positions(self) -> dict[str, int]:
        """Message id to its place in the transcript."""
        if self._positioned < len(self.transcript):
            with self._lock:
                start, stop = self._positioned, len(self.transcript)
                fresh = [facts.id for facts in self.transcript[start:stop]]
                self._positions.update(zip(fresh, range(start, stop)))
                self._positioned = stop
        return self._positions

    @property
    def calls(self) -> dict[str, list[tuple[str, CallFacts]]]:
        """Call id to (message id, call) of everyone who used it, oldest first."""
        self._read_on()
        return self._calls

    @property
    def results(self) -> dict[str, list[str]]:
        """Call id to the messages that answer it, oldest first."""
        self._read_on()
        return self._results

    @property
    def items(self) -> dict[str, list[str]]:
        """The provider's id of an item to the messages that have it, oldest first."""
        self._read_on()
        return self._items

    @property
    def digests(self) -> dict[str, tuple[str, str]]:
        """Digest of a result's stored form to the newest (message id, call id) that has it."""
        self._read_on()
        return self._digests

    def keep_snapshot(self, event: SnapshotTaken) -> None:
        """Take in a snapshot of the workspace's files."""
        self.files_at = (event.message_id, event.tree)
        if not event.restored:
            self.snapshots[event.message_id] = event.tree

    def find(self, message_id: str) -> MessageFacts | None:
        """Facts of a message."""
        position = self.positions.get(message_id)
        return None if position is None else self.transcript[position]

    def call_of(self, call_id: str, message_id: str | None = None) -> CallFacts | None:
        """The call a result answers: the newest owner of the id that was made before the message."""
        owners = self.calls.get(call_id)
        if not owners:
            return None
        if message_id is not None and message_id in self.positions:
            limit = self.positions[message_id]
            for owner, call in reversed(owners):
                if self.positions[owner] < limit:
                    return call
            return None
        return owners[-1][1]

    @property
    def unscanned(self) -> set[str]:
        """Messages nobody could scan for secrets yet."""
        if self._looked < len(self.transcript):
            self._unscanned.update([f.id for f in self.transcript[self._looked :] if f.unscanned])
            self._looked = len(self.transcript)
        return self._unscanned

    def digest_anew(self, changed: Sequence[MessageFacts]) -> None:
        """Find the results of messages by the digests they have now, and no more by older ones."""
        ids = {facts.id for facts in changed}
        for digest in [digest for digest, owner in self.digests.items() if owner[0] in ids]:
            del self._digests[digest]
        for facts in changed:
            self._digests.update({result.digest: (facts.id, result.call_id) for result in facts.results})

    def _read_on(self) -> None:
        if self._read == len(self.transcript):
            return
        with self._lock:
            start, stop = self._read, len(self.transcript)
            for facts in self.transcript[start:stop]:
                if facts.item:
                    self._items.setdefault(facts.item, []).append(facts.id)
                for call in facts.calls:
                    self._calls.setdefault(call.call_id, []).append((facts.id, call))
                for result in facts.results:
                    self._results.setdefault(result.call_id, []).append(facts.id)
                    self._digests[result.digest] = (facts.id, result.call_id)
            self._read = stop
