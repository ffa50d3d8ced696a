"""Timing, and what a bench hands back. Knows no bench."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from tools.peer import Peer

Step: TypeAlias = Callable[[], object]


class Ratio(msgspec.Struct, frozen=True):
    """`measured` over `baseline`, both seconds or both bytes. `limit` is the largest ratio that is fine."""

    name: str
    measured: float
    baseline: float
    limit: float
    against: str
    unit: Literal["s", "bytes"] = "s"

    @property
    def value(self) -> float:
        return self.measured / self.baseline

    @property
    def holds(self) -> bool:
        return self.value <= self.limit


class Workbench(msgspec.Struct, frozen=True):
    """A scratch folder with the state of all daemons of a bench run, and the cache they share."""

    root: Path
    cache: Path

    @property
    def workspace(self) -> Path:
        return self.root

    @contextmanager
    def daemon(self, **options: object) -> Iterator[Peer]:
        """A daemon that has answered `initialize`; ended in order."""
        with Peer() as peer:
            peer.initialize(self.workspace, self.options(**options))
            yield peer
            peer.shutdown()

    @contextmanager
    def ready_daemon(self, **options: object) -> Iterator[Peer]:
        """A daemon that has finished starting, the encoding included."""
        with self.daemon(**options) as peer:
            while not peer.request("ctxd/status", {})["store"]["encodings"]:
                time.sleep(0.02)
            yield peer

    def options(self, **options: object) -> dict[str, object]:
        """`initializationOptions` that keep everything inside the workbench."""
        return {"storage": {"root": str(self.root / "state"), "cache": str(self.cache)}, **options}

    def open(self, peer: Peer, session_id: str, **params: Any) -> dict[str, Any]:
        """A session of the workbench's workspace, made if it is not there."""
        result: dict[str, Any] = peer.request(
            "session/open",
            {
                "workspace": self.workspace.as_uri(),
                "sessionId": session_id,
                "dialect": "anthropic",
                "model": {"id": "claude-sonnet-4-5", "contextWindow": 1_000_000},
                **params,
            },
        )
        return result


@contextmanager
def workbench(cache: Path) -> Iterator[Workbench]:
    """A workbench on the disk that holds the repository: in memory, durability would cost nothing."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        yield Workbench(Path(folder), cache)


def elapsed(step: Step) -> float:
    """Seconds that `step` took."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def typical(times: Sequence[float]) -> float:
    """The lower quartile: what it takes when the machine does little else."""
    return statistics.quantiles(times, n=4, method="inclusive")[0]


def beside(measured: Step, baseline: Step, *, rounds: int) -> tuple[float, float]:
    """Typical seconds of both, taken in turns so that a noisy moment hits both alike."""
    pairs = [(elapsed(measured), elapsed(baseline)) for _ in range(rounds)]
    return typical([m for m, _ in pairs]), typical([b for _, b in pairs])
