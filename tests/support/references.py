"""Names that a document puts between backticks, and whether the project still has them."""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cached_property
from pathlib import Path

_FENCED = re.compile(r"^```.*?^```", re.M | re.S)
_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(
    r"[\w.@-]*/[\w./*@-]*|[\w-]+\.(?:py|md|toml|json|jsonl|ts|mjs|txt|sh)|\.[\w-]+(?:/[\w.-]+)*"
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_WORD = re.compile(r"[A-Za-z_]\w*")


class Project:
    """The repository at `root`, as far as documents may name things in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self, document: Path) -> list[str]:
        """Every path, dotted name or identifier between backticks, call parentheses left off.

        Phrases, commands with arguments and fenced blocks are not names.
        """
        quoted = _QUOTED.findall(_FENCED.sub("", document.read_text()))
        bare = (re.sub(r"\(.*\)$", "", q.strip()) for q in quoted)
        return [b for b in bare if any(p.fullmatch(b) for p in (_PATH, _DOTTED, _WORD))]

    def knows(self, name: str) -> bool:
        """True when `name` is a wire method, a path, an importable symbol or a word of the code."""
        if name in self._methods:
            return True
        if _PATH.fullmatch(name) and self._has_path(name):
            return True
        if _DOTTED.fullmatch(name):
            return _resolves(name) or _resolves(f"ctxd.{name}") or self._has_option(name)
        return bool(_WORD.fullmatch(name)) and name in self._words

    def _has_path(self, name: str) -> bool:
        """A path from the root, or from anywhere in the package; a module may leave out its suffix."""
        spelled = name.strip("/")
        if not spelled:
            return False
        package = self.root / "ctxd"
        return any(
            any(found)
            for found in (
                self.root.glob(spelled),
                package.rglob(spelled),
                package.glob(f"{spelled}.py"),
            )
        )

    def _has_option(self, name: str) -> bool:
        from ctxd.model.settings import Settings  # the option names are its fields, in camelCase

        value: object = Settings()
        for part in name.split("."):
            snake = re.sub(r"[A-Z]", lambda m: "_" + m[0].lower(), part)
            if not hasattr(value, snake):
                return False
            value = getattr(value, snake)
        return True

    @cached_property
    def _methods(self) -> set[str]:
        from ctxd.server.methods import METHODS

        return set(METHODS)

    @cached_property
    def _words(self) -> set[str]:
        """Every word of the code and its configuration, and the names of its files and folders."""
        files = [*(self.root / "ctxd").rglob("*.py"), self.root / "pyproject.toml", self.root / "Makefile"]
        words = {w for f in files for w in _WORD.findall(f.read_text())}
        return (
            words | {p.stem for p in (self.root / "ctxd").rglob("*")} | {p.name for p in self.root.iterdir()}
        )


def _resolves(dotted: str) -> bool:
    """True when a prefix of `dotted` imports and the rest are attributes of it."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part) and part not in getattr(value, "__annotations__", {}):
                return False
            value = getattr(value, part, None)
        return True
    return False
