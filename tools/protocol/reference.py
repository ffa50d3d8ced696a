"""The generated parts of spec.md, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxd.server.method import Method
from tools.protocol import errors
from tools.protocol.typescript import Schema, type_of

_MARK = "<!-- generated: {name} -->\n{body}\n<!-- end generated -->"


def fill(spec: str, parts: Mapping[str, str]) -> str:
    """The page with each generated part put between its marks. Raises ValueError for a part without marks."""
    for name, body in parts.items():
        pattern = re.compile(_MARK.format(name=name, body=".*?").replace(".*?\n", ".*?"), re.S)
        if len(pattern.findall(spec)) != 1:
            raise ValueError(f"spec.md needs one pair of marks for {name!r}")
        filled = _MARK.format(name=name, body=f"\n{body}\n")
        before, after = pattern.split(spec)
        spec = before + filled + after
    return spec


def error_table() -> str:
    """Every kind, with code, meaning and facts."""
    rows = [
        f"| `{e['kind']}` | {e['code']} | {e['meaning']} | {', '.join(f'`{f}`' for f in e['facts'])} |"
        for e in errors.table()
    ]
    return "\n".join(["| kind | code | meaning | facts |", "| --- | --- | --- | --- |", *rows])


def methods(table: Iterable[Method], definitions: Mapping[str, Schema]) -> str:
    """Every method with its members and errors, then every type they use."""
    listed = list(table)
    named = {t.__name__ for m in listed for t in (m.params, m.result) if t is not None}
    shown: set[str] = set()
    sections = [section for m in listed for section in _method(m, definitions, shown)]
    shared = [
        section for name in definitions if name not in named for section in _type(name, definitions[name])
    ]
    always = ", ".join(f"`{kind}`" for kind in errors.ALWAYS)
    lead = f"Any request may also answer {always}; these are not repeated below."
    return "\n\n".join([lead, *sections, "## Types", *shared])


def _method(method: Method, definitions: Mapping[str, Schema], shown: set[str]) -> Iterator[str]:
    yield f"### `{method.name}`"
    where = {"toDaemon": "host → daemon", "toHost": "daemon → host"}[method.direction]
    yield f"{method.doc} ({method.kind}, {where}, since {method.since})"
    yield _members("Parameters", method.params.__name__, definitions, shown)
    if method.result is not None:
        yield _members("Result", method.result.__name__, definitions, shown)
    own = [kind for kind in dict.fromkeys(method.errors) if kind not in errors.ALWAYS]
    if own:
        yield f"Errors: {', '.join(f'`{kind}`' for kind in own)}."


def _members(role: str, name: str, definitions: Mapping[str, Schema], shown: set[str]) -> str:
    schema = definitions[name]
    if name in shown:
        return f"{role}: `{name}`, as above."
    shown.add(name)
    if not schema.get("properties"):
        return f"{role}: `{name}`, an empty object."
    return f"{role}: `{name}`\n\n{_table(schema)}"


def _type(name: str, schema: Schema) -> Iterator[str]:
    yield f"### `{name}`"
    if "description" in schema:
        yield schema["description"]
    if schema.get("properties"):
        yield _table(schema)


def _table(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [_row(key, member, key in required) for key, member in schema["properties"].items()]
    return "\n".join(["| member | type | |", "| --- | --- | --- |", *rows])


def _row(key: str, member: Mapping[str, Any], required: bool) -> str:
    shown = type_of(member) if required else type_of(member).removesuffix(" | null")
    words = [" ".join(member["description"].split())] if "description" in member else []
    if not required and member.get("default") not in (None, False):
        words.append(f"Default `{member['default']}`.")
    cell = " ".join(words).replace("|", "\\|")
    return f"| `{key}{'' if required else '?'}` | `{shown.replace('|', chr(92) + '|')}` | {cell} |"
