"""Options become settings: the workspace's file, `initializationOptions`, later changes, in rising order.

A layer that holds a bad value is refused whole and what stood before stays. Knows `Settings` and
nothing of what settings do.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from ctxd.model.errors import CtxdError, InvalidParams, NotFound
from ctxd.model.settings import Settings
from ctxd.server.faults import invalid_params

FILE_NAME = ".ctxd.toml"
MAX_FILE_BYTES = 65_536

TRUSTED_ONLY = frozenset({"memory", "storage", "summarizer"})
"""Groups that a workspace's file cannot set: a cloned repository must not choose where sessions are
kept and what is remembered of them, nor whom they are sent to for a summary (with a key from the
host's environment)."""

Layer = Literal["file", "init", "change"]
_ORDER: tuple[Layer, ...] = ("file", "init", "change")


class Options:
    """The layers and the settings that come of them."""

    def __init__(self) -> None:
        self.settings = Settings()
        self._layers: dict[Layer, Mapping[str, Any]] = {}

    def set(self, layer: Layer, options: object) -> list[str]:
        """Replace a layer; None empties it. Names the options that are unknown, or not the file's to set.

        Raises InvalidParams with the dotted path of every bad value, and changes nothing then.
        """
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise invalid_params([{"path": "", "message": "options must be an object"}])
        refused: list[str] = []
        if layer == "file":
            refused = sorted(f"{group} (not from a file)" for group in given if group in TRUSTED_ONLY)
            given = {group: options for group, options in given.items() if group not in TRUSTED_ONLY}
        if errors := list(_find_errors(given)):
            raise invalid_params(errors, hint="the settings are as they were")
        self._layers[layer] = given
        merged: dict[str, dict[str, Any]] = {}
        for name in _ORDER:
            _merge(merged, self._layers.get(name, {}))
        self.settings = msgspec.convert(merged, Settings)
        return [*refused, *_find_unknown(given)]


def unwrap(settings: object) -> object:
    """The options inside `workspace/didChangeConfiguration`: under `ctxd`, or bare."""
    return settings["ctxd"] if isinstance(settings, Mapping) and "ctxd" in settings else settings


def read_file(folder: Path) -> Mapping[str, Any]:
    """The options of a workspace's `.ctxd.toml`; empty where there is none.

    Raises InvalidParams when it is no regular file of its own, larger than 64 KiB, unreadable or no TOML.
    """
    if not os.path.lexists(folder / FILE_NAME):
        return {}
    # The answer to `initialize` waits for it only where there is such a file.
    from ctxd.workspace.boundary import Boundary

    try:
        with Boundary(str(folder)) as boundary:
            found = boundary.read(FILE_NAME, MAX_FILE_BYTES)
    except NotFound as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return {}
        raise InvalidParams.at(FILE_NAME, "cannot be opened") from None
    except CtxdError as error:
        raise InvalidParams.at(
            FILE_NAME, "is no regular file of the workspace's own", hint=error.hint
        ) from None
    if found.truncated:
        raise InvalidParams.at(FILE_NAME, f"is larger than {MAX_FILE_BYTES} bytes")
    try:
        return tomllib.loads(found.data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InvalidParams.at(FILE_NAME, "is not TOML") from None


def _groups() -> dict[str, dict[str, Any]]:
    """Group name to option name to type, as hosts spell them."""
    return {
        group.encode_name: {f.encode_name: f.type for f in msgspec.structs.fields(group.type)}
        for group in msgspec.structs.fields(Settings)
    }


def _merge(into: dict[str, dict[str, Any]], layer: Mapping[str, Any]) -> None:
    for group, known in _groups().items():
        for name, value in (layer.get(group) or {}).items():
            if name in known and value is not None:
                into.setdefault(group, {})[name] = value


def _find_errors(layer: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for group, known in _groups().items():
        options = layer.get(group)
        if options is None:
            continue
        if not isinstance(options, Mapping):
            yield {"path": group, "message": "expected an object"}
            continue
        for name, value in options.items():
            if name in known and value is not None:
                yield from _check(f"{group}.{name}", value, known[name])


def _check(path: str, value: Any, kind: Any) -> Iterator[dict[str, str]]:
    if isinstance(value, Mapping) and getattr(kind, "__origin__", None) is dict:
        for key, item in value.items():
            yield from _check(f"{path}.{key}", item, kind.__args__[1])
        return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        yield {"path": path, "message": re.sub(r" - at `.*`$", "", str(error))}


def _find_unknown(layer: Mapping[str, Any]) -> Iterator[str]:
    groups = _groups()
    for group, options in layer.items():
        if group not in groups:
            yield group
        elif isinstance(options, Mapping):
            yield from (f"{group}.{name}" for name in options if name not in groups[group])
