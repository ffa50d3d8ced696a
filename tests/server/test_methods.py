"""The table: every entry can be served, described and generated from."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic.json_schema import models_json_schema

from ctxd.model import errors
from ctxd.server import tables
from ctxd.server.faults import CODES, code_of
from ctxd.server.method import Method, advertised, load_handlers, tabulate
from ctxd.server.methods import METHODS
from ctxd.server.wire.base import Wire, members
from ctxd.server.wire.errors import Kind
from tests.support.behaviour import behaviour

HANDLED = [m for m in METHODS.values() if m.handler is not None]


def all_models() -> list[type[Wire]]:
    found: list[type[Wire]] = []
    pending = [Wire]
    while pending:
        for model in pending.pop().__subclasses__():
            pending.append(model)
            if model.__module__.startswith("ctxd.server.wire"):
                found.append(model)
    return sorted(set(found), key=lambda m: m.__name__)


def test_every_method_is_named_once_and_only_handled_ones_are_offered() -> None:
    assert advertised(METHODS) == [m.name for m in HANDLED]
    assert "context/didChange" not in advertised(METHODS)
    method = METHODS["ctxd/status"]
    with pytest.raises(ValueError, match="ctxd/status"):
        tabulate([method, method])


def test_every_handler_named_in_the_table_exists_and_takes_its_models() -> None:
    handlers = {
        name: function
        for module in load_handlers().values()
        for name, function in vars(module).items()
        if inspect.iscoroutinefunction(function) and function.__module__ == module.__name__
    }
    served = {
        (_last(h.__annotations__["params"]), _last(h.__annotations__["return"])) for h in handlers.values()
    }
    for method in HANDLED:
        answers = "None" if method.result is None else method.result.__name__
        assert (method.params.__name__, answers) in served, method.name
    rows = "".join(path.read_text() for path in Path(tables.__path__[0]).glob("*.py"))
    assert sorted(re.findall(r'handled_by\("\w+", "(\w+)"\)', rows)) == sorted(handlers)


@behaviour("errors.kinds")
@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_a_method_names_only_kinds_that_exist(method: Method) -> None:
    assert set(method.errors) <= set(get_args(Kind))
    assert len(set(method.errors)) == len(method.errors)
    assert method.doc.endswith(".")


def test_every_kind_of_error_in_the_tree_is_one_of_the_wire() -> None:
    kinds = {e.kind for e in vars(errors).values() if inspect.isclass(e) and issubclass(e, errors.CtxdError)}
    assert kinds <= set(get_args(Kind))
    assert set(CODES) <= set(get_args(Kind))
    assert code_of("sessionNotFound") == -32803


def test_all_models_build_and_are_described() -> None:
    for method in METHODS.values():
        method.load()
    models = all_models()
    _, schema = models_json_schema([(m, "validation") for m in models], ref_template="#/$defs/{model}")
    assert len(schema["$defs"]) >= len(models)
    assert [m.__name__ for m in models if not m.__doc__] == []


def test_members_are_camel_case_on_the_wire() -> None:
    names = [name for model in all_models() for _, name, _ in members(model)]
    assert [n for n in names if not re.fullmatch(r"[a-z][a-zA-Z0-9]*", n)] == []


def test_native_values_are_marked_for_generators() -> None:
    schema = METHODS["session/open"].params.model_json_schema()["properties"]
    assert schema["tools"]["anyOf"][0]["items"]["title"] == "Native"
    assert schema["system"]["anyOf"][0]["title"] == "NativeValue"
    assert METHODS["context/prepare"].result is not None
    prepared = METHODS["context/prepare"].result.model_json_schema()["properties"]
    assert prepared["messages"]["items"]["title"] == "Native"


def _last(annotation: str) -> str:
    return annotation.rpartition(".")[2]
