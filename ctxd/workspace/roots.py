"""The roots of a workspace that has several: each with its own boundary, and which of them a path lies in.

Nothing is confined to less than one root: a path that goes through a link or upwards is refused in each of
them. Must not know who announced them. Blocking; belongs in a worker thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from ctxd.model.errors import CtxdError, OutsideWorkspace
from ctxd.workspace.boundary import Boundary


class Roots:
    """A session's own folder, and others its host has open beside it: only absolute paths lead to those.

    What lies in another root is named by an absolute path, what lies in the own one relative to it.
    """

    def __init__(self, own: str, others: Iterable[str] = ()) -> None:
        """Raises as `Boundary` does for the own folder; of the others each is opened when it is needed."""
        self.key = (own, *others)
        self._own = Boundary(own)
        self._others: dict[str, Boundary] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let all of them go; calling again does nothing."""
        for boundary in (self._own, *self._others.values()):
            boundary.close()
        self._others.clear()

    def is_replaced(self) -> bool:
        """Whether another folder stands where one of them was."""
        return any(boundary.is_replaced() for boundary in (self._own, *self._others.values()))

    def of(self, path: str) -> Boundary:
        """The boundary of the root that a path lies in, the own one before others.

        Raises OutsideWorkspace where it lies in none, NotFound for what can be no file's name.
        """
        try:
            self._own.locate(path)
        except OutsideWorkspace:
            for root in self.key[1:] if path.startswith("/") else ():
                if (boundary := self._reach(root, path)) is not None:
                    return boundary
            raise
        return self._own

    def name(self, boundary: Boundary, located: str, asked: str) -> str:
        """How a file is named that one of the boundaries located: in another root as it was asked for."""
        return located if boundary is self._own else asked

    def _reach(self, root: str, path: str) -> Boundary | None:
        """A root's boundary, if the path lies in it. A root that cannot be opened holds nothing."""
        try:
            if root not in self._others:
                self._others[root] = Boundary(root)
            self._others[root].locate(path)
        except CtxdError:
            return None
        return self._others[root]
