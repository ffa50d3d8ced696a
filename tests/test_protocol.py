"""protocol/ says what the daemon says: generated files are fresh, examples fit, transcripts replay."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from ctxd.model import errors as model_errors
from ctxd.model.settings import Settings
from ctxd.server.wire.errors import ErrorData, Kind
from tests.support import transcript
from tests.support.behaviour import behaviour
from tools.peer import DAEMON
from tools.protocol import artefacts, errors, extension, reference, schema, typescript

ROOT = Path(__file__).parent.parent
PROTOCOL = ROOT / "protocol"
V1 = PROTOCOL / "v1"
MODELS: dict[str, type[BaseModel]] = {m.__name__: m for m in artefacts.models()}
FRESH = artefacts.render(PROTOCOL)
EXTENSION = ROOT / "editors/vscode"
TRANSCRIPTS = sorted((V1 / "transcripts").glob("*.jsonl"))


def files(folder: str) -> list[Any]:
    """Every JSON file below the folder of v1, as a test parameter."""
    return [
        pytest.param(path, id=f"{path.parent.name}/{path.stem}")
        for path in sorted((V1 / folder).rglob("*.json"))
    ]


def read(path: Path) -> object:
    """The file as the type that its folder names. Raises the ValidationError of that type's library."""
    value = json.loads(path.read_text())
    if path.parent.name == "Options":
        return msgspec.convert(value, Settings)
    return MODELS[path.parent.name].model_validate(value, by_alias=True, by_name=False)


def node() -> str:
    """Node's path; skips the test where there is none."""
    return shutil.which("node") or pytest.skip("Node is not on the path")


@behaviour("protocol.generated")
@pytest.mark.parametrize("path", FRESH, ids=str)
def test_a_generated_file_is_what_make_protocol_would_write(path: Path) -> None:
    assert (PROTOCOL / path).read_text() == FRESH[path], f"protocol/{path} is stale: run 'make protocol'"


@behaviour("protocol.generated")
@pytest.mark.parametrize(("path", "text"), extension.render(EXTENSION, FRESH).items(), ids=str)
def test_a_generated_file_of_the_extension_is_what_make_protocol_would_write(path: Path, text: str) -> None:
    assert (EXTENSION / path).read_text() == text, f"editors/vscode/{path} is stale: run 'make protocol'"


def test_no_setting_of_the_extension_lets_a_workspace_choose_who_gets_its_content() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())
    (section,) = [s for s in package["contributes"]["configuration"] if s["title"] == extension.SECTION]
    settings = section["properties"]
    assert "ctxd.summarizer.apiKey" not in settings
    for name in ("summarizer.baseUrl", "storage.root"):
        assert settings[f"ctxd.{name}"]["scope"] == "machine"
    assert settings["ctxd.budget.compactionRatio"]["default"] == Settings().budget.compaction_ratio


@behaviour("protocol.examples")
@pytest.mark.parametrize("path", files("examples"))
def test_an_example_fits_its_type(path: Path) -> None:
    read(path)


@behaviour("protocol.examples")
@pytest.mark.parametrize("path", files("invalid"))
def test_an_invalid_example_is_refused(path: Path) -> None:
    with pytest.raises((ValidationError, msgspec.ValidationError)):
        read(path)


@pytest.mark.parametrize("name", [*sorted(MODELS), "Options"])
def test_every_type_of_a_method_has_an_example(name: str) -> None:
    assert list((V1 / "examples" / name).glob("*.json")) != []


def test_the_schema_alone_tells_examples_from_invalid_ones() -> None:
    checked = subprocess.run([node(), PROTOCOL / "validate.mjs"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(files('examples')) + len(files('invalid'))} passed, 0 failed" in checked.stdout


def test_the_typescript_compiles_strictly(tmp_path: Path) -> None:
    compiler = shutil.which("tsc") or pytest.skip("the TypeScript compiler is not on the path")
    use = (
        'import type { RequestsToDaemon } from "./methods.js";\nexport type Names = keyof RequestsToDaemon;\n'
    )
    (tmp_path / "use.ts").write_text(use)
    for source in ("types.ts", "methods.ts"):
        shutil.copy(V1 / source, tmp_path)
    options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "use.ts"]
    compiled = subprocess.run([compiler, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout


def test_every_error_said_to_be_possible_for_any_request_is_a_kind() -> None:
    assert set(errors.ALWAYS) | set(errors.LIFECYCLE) <= set(get_args(Kind))


@behaviour("errors.facts")
def test_every_fact_of_an_error_is_documented() -> None:
    documented = {*ErrorData.model_fields} | {field.alias for field in ErrorData.model_fields.values()}
    kinds = {name for name, value in vars(model_errors).items() if isinstance(value, type)} | {"Fault"}
    stray = [
        f"{path.relative_to(ROOT)}:{call.lineno} {keyword.arg}"
        for path in (ROOT / "ctxd").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kinds
        for keyword in call.keywords
        if keyword.arg not in documented
    ]
    assert stray == []


@behaviour("protocol.transcripts")
@pytest.mark.parametrize("recorded", TRANSCRIPTS, ids=lambda p: p.stem)
def test_a_golden_transcript_replays_against_the_daemon(recorded: Path, tmp_path: Path) -> None:
    assert transcript.replay(recorded, tmp_path) > 0


@behaviour("protocol.transcripts")
def test_the_golden_transcripts_replay_from_another_language() -> None:
    command = [node(), PROTOCOL / "replay.mjs", *TRANSCRIPTS, "--", *DAEMON]
    replayed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert replayed.stdout.count("PASS") == len(TRANSCRIPTS) > 0


def test_both_replayers_notice_a_daemon_that_answers_something_else(tmp_path: Path) -> None:
    lines = [
        {"c2s": {"jsonrpc": "2.0", "id": 1, "method": "session/list", "params": {}}},
        {"s2c": {"id": 1, "result": {"sessions": []}}},
    ]
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(AssertionError, match=r"step 2: mismatch at \$\.result"):
        transcript.replay(wrong, tmp_path)
    replayed = subprocess.run(
        [node(), PROTOCOL / "replay.mjs", wrong, "--", *DAEMON], capture_output=True, text=True, check=False
    )
    assert replayed.returncode == 1
    assert "step 2: mismatch at $.result" in replayed.stdout


@pytest.mark.parametrize(
    ("pattern", "value", "path"),
    [
        ({"a": "$int"}, {"a": 1, "b": 2}, None),
        ({"a": "$int"}, {"a": True}, "$.a"),
        ({"a": "$any"}, {"b": 1}, "$.a"),
        (["$string", {"b": None}], ["x", {"b": None}], None),
        (["$string"], ["x", "y"], "$"),
        ({"a": "$bind:x", "b": "$ref:x"}, {"a": [1], "b": [1]}, None),
        ({"a": "$bind:x", "b": "$ref:x"}, {"a": 1, "b": 2}, "$.b"),
        ({"a": 1}, {"a": 1.0}, "$.a"),
    ],
)
def test_a_pattern_names_the_members_it_cares_about(pattern: Any, value: Any, path: str | None) -> None:
    assert transcript.mismatch(pattern, value, {}) == path


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (list[int | None], "(number | null)[]"),
        (dict[str, bool], "Record<string, boolean>"),
        (tuple[int, str], "[number, string]"),
        (dict[str, Any], "Record<string, unknown>"),
    ],
)
def test_a_schema_becomes_the_typescript_a_person_would_write(annotation: Any, expected: str) -> None:
    assert typescript.type_of(TypeAdapter(annotation).json_schema()) == expected


def test_a_keyword_that_typescript_cannot_say_is_refused() -> None:
    with pytest.raises(typescript.Unsupported, match="not"):
        typescript.type_of({"not": {"type": "string"}})


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks for 'errors'"):
        reference.fill("# nothing here", {"errors": "| kind |"})


def test_the_schema_has_no_invented_titles() -> None:
    document = schema.render(artefacts.models())
    assert [path for path in titles(document["$defs"]) if not path.endswith("properties.title")] == []


def titles(value: Any, path: str = "") -> list[str]:
    """Where members named `title` are."""
    match value:
        case dict():
            here = [f"{path}.title"] if "title" in value else []
            return here + [found for name, item in value.items() for found in titles(item, f"{path}.{name}")]
        case list():
            return [found for item in value for found in titles(item, path)]
        case _:
            return []
