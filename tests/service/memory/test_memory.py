"""`memory/*` as a host sees them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxd.store.files import names_in
from tests.core.test_topics import ATTACKS
from tests.service.host import Answer, LocalHost, Refused
from tests.support.behaviour import behaviour
from tests.support.credentials import credentials


class Remembering:
    """A daemon and one workspace's memory."""

    def __init__(self, folder: Path, options: dict[str, Any] | None = None) -> None:
        self.workspace = folder / "project"
        self.workspace.mkdir(exist_ok=True)
        self.host = LocalHost(folder / "state", options)
        self.files = folder / "state"

    def call(self, method: str, **params: Any) -> Any:
        return self.host.call(f"memory/{method}", workspace=self.workspace.as_uri(), **params)

    def write(self, topic: str, content: str, **fields: Any) -> Answer:
        answer: Answer = self.call("write", topic=topic, content=content, **fields)
        return answer

    def text(self, topic: str) -> str:
        return str(self.call("read", topic=topic)["text"])

    def refusal(self, method: str, **params: Any) -> Refused:
        with pytest.raises(Refused) as refused:
            self.call(method, **params)
        return refused.value

    @property
    def folder(self) -> Path:
        (found,) = self.files.glob("*/memory")
        return found


@pytest.fixture
def memory(folder: Path) -> Iterator[Remembering]:
    made = Remembering(folder)
    yield made
    made.host.close()


def words(text: str) -> list[str]:
    return [line.partition("] ")[2].rstrip("~") for line in text.split("\n") if "] " in line]


def test_nothing_is_remembered_at_first(memory: Remembering) -> None:
    assert memory.call("index") == {"text": "", "lines": 0, "omittedLines": 0, "bytes": 0, "tokens": 0}
    assert memory.call("list") == {"topics": []}
    refused = memory.refusal("read", topic="deploy")
    assert refused.kind == "notFound"
    assert refused.data["topics"] == []


def test_entries_are_added_once_and_in_order(memory: Remembering) -> None:
    first = memory.write("deploy", "We deploy with blue/green.")
    again = memory.write("deploy", "  we DEPLOY with   blue/green. ")
    assert again["digest"] == first["digest"]
    assert again["duplicates"] == 1
    memory.write("deploy", "- 数据库先备份\n- second\n")
    assert words(memory.text("deploy")) == ["We deploy with blue/green.", "数据库先备份", "second"]
    assert {topic["name"] for topic in memory.call("list")["topics"]} == {"MEMORY", "deploy"}


@behaviour("memory.provenance")
def test_an_entry_says_where_it_comes_from_and_a_persons_line_does_not(memory: Remembering) -> None:
    memory.write("deploy", "written by ctxd")
    with (memory.folder / "deploy.md").open("a") as file:
        file.write("- [2026-01-01] typed by a person\n")
    (entry,) = memory.call("read", topic="deploy")["entries"]
    assert (entry["line"], entry["author"]) == (1, "host")
    assert abs(entry["writtenAt"] - memory.host.registry.environment.now()) < 60_000


@behaviour("memory.supersession")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging port is 8443.", "The staging port is 9000."),
        ("测试端口是 8080", "测试端口是 9090"),
        ("We release on Mondays.", "We now release on Tuesdays."),
    ],
)
def test_an_entry_that_says_otherwise_takes_the_place_of_the_old_one_which_stays(
    memory: Remembering, old: str, new: str
) -> None:
    memory.write("facts", old)
    memory.write("facts", "The production port is 443.")
    assert memory.write("facts", new)["superseded"] == 1
    lines = memory.text("facts").split("\n")
    assert lines[0].startswith("- ~~[")
    assert words(memory.text("facts")) == [old, "The production port is 443.", new]
    read = memory.call("read", topic="facts")["entries"]
    assert [entry.get("superseded") for entry in read] == [True, None, None]
    texts = [hit["text"] for hit in memory.call("search", query=old)["hits"]]
    assert old not in texts
    assert new in texts


@behaviour("memory.supersession")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Issue 12 was fixed by raising the timeout.", "Issue 15 was fixed by raising the timeout."),
        ("PR 12 must be rebased.", "PR 13 must be rebased."),
        ("Server alpha is in Berlin.", "Server beta is in Paris."),
        ("entry number 12 about the deploy", "entry number 13 about the deploy"),
    ],
)
def test_entries_about_different_things_both_hold(memory: Remembering, one: str, other: str) -> None:
    memory.write("facts", one)
    assert "superseded" not in memory.write("facts", other)
    assert "~~" not in memory.text("facts")


def test_a_persons_line_is_never_struck(memory: Remembering) -> None:
    memory.write("facts", "x")
    with (memory.folder / "facts.md").open("a") as file:
        file.write("- [2026-01-01] The staging port is 8443.\n")
    memory.write("facts", "The staging port is 9000.")
    assert "~~" not in memory.text("facts")


@behaviour("memory.compare-and-swap")
def test_a_write_against_an_old_version_changes_nothing(memory: Remembering) -> None:
    first = memory.write("deploy", "one")["digest"]
    second = memory.write("deploy", "two", ifDigest=first)["digest"]
    for mode in ("append", "overwrite"):
        refused = memory.refusal("write", topic="deploy", content="three", mode=mode, ifDigest=first)
        assert refused.kind == "revisionConflict"
        assert (refused.data["expected"], refused.data["actual"]) == (first, second)
    assert memory.refusal("write", topic="deploy", content="x", ifDigest="").kind == "revisionConflict"
    assert memory.refusal("write", topic="other", content="x", ifDigest=first).data["actual"] == ""
    assert words(memory.text("deploy")) == ["one", "two"]
    memory.write("other", "made", ifDigest="")


def test_a_person_who_edits_makes_an_old_digest_stale(memory: Remembering) -> None:
    first = memory.write("deploy", "one")["digest"]
    with (memory.folder / "deploy.md").open("a") as file:
        file.write("typed\n")
    refused = memory.refusal("write", topic="deploy", content="all new", mode="overwrite", ifDigest=first)
    assert refused.kind == "revisionConflict"
    assert "typed" in memory.text("deploy")


@behaviour("memory.managed-block")
def test_the_index_lists_topics_and_leaves_a_persons_text_alone(memory: Remembering) -> None:
    memory.write("MEMORY", "# Mine\n\nBy hand.\n", mode="overwrite")
    memory.write("zeta", "x")
    memory.write("alpha", "x")
    assert memory.text("MEMORY").startswith("# Mine\n\nBy hand.\n\n<!-- ctxd:topics:start -->")
    assert memory.call("index")["text"] == "# Mine\n\nBy hand.\n\nTopics:\n- alpha\n- zeta"
    memory.write("memory.md", "# Other\n", mode="overwrite")
    assert "[alpha](alpha.md)" in memory.text("MEMORY")
    memory.write("MEMORY", "an entry")
    assert memory.text("MEMORY").index("an entry") < memory.text("MEMORY").index("ctxd:topics")
    memory.call("delete", topic="zeta")
    assert "zeta" not in memory.text("MEMORY")
    (memory.folder / "by hand.md").write_text("x")
    assert memory.call("index")["text"].endswith("Topics:\n- alpha\n- by hand")


@behaviour("memory.headroom")
def test_headroom_says_what_still_fits_and_counts_down(memory: Remembering) -> None:
    options = memory.host.registry.environment.settings.memory
    one = memory.write("deploy", "one")["headroom"]
    two = memory.write("deploy", "two words")["headroom"]
    added = len("- [2026-11-30] two words\n")
    assert one["lines"] == options.topic_lines - 1
    assert one["lines"] - two["lines"] == 1
    assert one["bytes"] - two["bytes"] == added
    assert 0 < one["tokens"] - two["tokens"] < added
    fresh = memory.write("deploy", memory.text("deploy"), mode="overwrite")["headroom"]
    assert fresh == two


@behaviour("memory.headroom")
def test_the_index_has_no_headroom_once_something_would_be_left_out(memory: Remembering) -> None:
    content = "\n".join(f"- entry {n}" for n in range(198))
    assert memory.write("MEMORY", content)["headroom"]["lines"] == 2
    assert memory.call("index")["omittedLines"] == 0
    room = memory.write("MEMORY", "- a\n- b\n- c")["headroom"]
    assert room["lines"] == 0
    index = memory.call("index")
    assert index["omittedLines"] > 0
    assert "Left out of MEMORY.md" in index["text"]
    assert "] c" in index["text"]


def test_an_index_that_just_fits_is_whole_whatever_ends_it(memory: Remembering) -> None:
    memory.write("MEMORY", "\n".join(f"line {n}" for n in range(200)) + "\n", mode="overwrite")
    index = memory.call("index")
    assert (index["lines"], index["omittedLines"]) == (200, 0)


def test_a_topic_cannot_grow_without_bound(folder: Path) -> None:
    memory = Remembering(folder, {"memory": {"topicLines": 3, "topicBytes": 200}})
    memory.write("a", "- 1\n- 2\n- 3")
    assert memory.refusal("write", topic="a", content="4").kind == "tooLarge"
    refused = memory.refusal("write", topic="b", content="字" * 100)
    assert (refused.kind, refused.data["limit"]) == ("tooLarge", 200)
    assert [t["name"] for t in memory.call("list")["topics"]] == ["MEMORY", "a"]
    memory.host.close()


@behaviour("memory.topic-names")
@pytest.mark.parametrize("name", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("method", ["read", "write", "delete"])
def test_no_method_takes_a_name_that_is_none(memory: Remembering, method: str, name: str) -> None:
    refused = memory.refusal(method, topic=name, **({"content": "x"} if method == "write" else {}))
    assert refused.kind == "invalidParams"
    assert refused.paths == ["topic"]
    assert list(memory.files.rglob("*.md")) == []


@behaviour("memory.secrets")
def test_what_holds_a_secret_is_refused_with_the_rules_name_and_written_nowhere(memory: Remembering) -> None:
    secrets = [one.secret for one in credentials()]
    for secret in secrets[:6]:
        for params in (
            {"topic": "a", "content": f"the key is {secret}"},
            {"topic": "a", "content": f"- fine\n- {secret}", "mode": "overwrite"},
        ):
            refused = memory.refusal("write", **params)
            assert refused.kind == "sensitive"
            assert refused.data["rule"]
            assert secret not in str(refused)
    memory.write("a", "fine")
    for path in memory.files.rglob("*"):
        assert not path.is_file() or not any(secret.encode() in path.read_bytes() for secret in secrets)
    memory.host.configure({"guard": {"secrets": False}})
    memory.write("a", f"the key is {secrets[0]}")


def test_appending_nothing_is_an_error_and_makes_no_topic(memory: Remembering) -> None:
    assert memory.refusal("write", topic="a", content=" \n").paths == ["content"]
    assert memory.call("list") == {"topics": []}


def test_deleting_what_is_not_there_names_what_is(memory: Remembering) -> None:
    memory.write("alpha", "x")
    refused = memory.refusal("delete", topic="beta")
    assert (refused.kind, refused.data["topics"]) == ("notFound", ["MEMORY", "alpha"])


@behaviour("memory.off")
def test_memory_that_is_off_shows_finds_and_writes_nothing(memory: Remembering) -> None:
    memory.write("deploy", "blue green")
    memory.host.configure({"memory": {"enabled": False}})
    assert memory.call("index")["text"] == ""
    assert memory.call("search", query="blue")["hits"] == []
    assert memory.refusal("write", topic="deploy", content="x").kind == "readOnly"
    assert memory.refusal("delete", topic="deploy").kind == "readOnly"
    assert "blue green" in memory.text("deploy")
    memory.host.configure({})
    assert memory.call("search", query="blue")["hits"] != []


@behaviour("memory.in-workspace")
def test_memory_can_lie_in_the_repository(folder: Path) -> None:
    memory = Remembering(folder, {"memory": {"location": "workspace"}})
    memory.write("deploy", "blue green")
    assert names_in(memory.workspace / ".ctxd/memory") == ["MEMORY.md", "deploy.md"]
    assert memory.call("search", query="blue")["hits"][0]["name"] == "deploy"
    assert memory.call("read", topic="deploy")["entries"][0]["author"] == "host"
    memory.call("delete", topic="deploy")
    assert [path.name for path in memory.files.rglob("*.md")] == []
    memory.host.close()


@behaviour("memory.in-workspace")
@pytest.mark.parametrize("where", [".ctxd", ".ctxd/memory"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_repository_cannot_lead_its_memory_elsewhere(folder: Path, where: str, kind: str) -> None:
    memory = Remembering(folder, {"memory": {"location": "workspace"}})
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "deploy.md").write_text("not the workspace's")
    planted = memory.workspace / where
    planted.parent.mkdir(exist_ok=True)
    if kind == "link":
        planted.symlink_to(elsewhere)
    else:
        planted.write_text("x")
    kinds = {"link": "symlinkRefused", "file": "notRegularFile"}
    for method, params in (
        ("read", {"topic": "deploy"}),
        ("write", {"topic": "deploy", "content": "x"}),
        ("list", {}),
        ("search", {"query": "workspace"}),
    ):
        assert memory.refusal(method, **params).kind == kinds[kind]
    assert (elsewhere / "deploy.md").read_text() == "not the workspace's"
    memory.host.close()


def test_workspaces_do_not_know_each_other(memory: Remembering, folder: Path) -> None:
    memory.write("deploy", "blue green")
    other = folder / "other"
    other.mkdir()
    found = memory.host.call("memory/search", workspace=other.as_uri(), query="blue")
    assert found == {"hits": []}
    assert memory.host.call("memory/list", workspace=other.as_uri()) == {"topics": []}


def test_a_link_to_the_workspace_is_the_workspace(memory: Remembering, folder: Path) -> None:
    memory.write("deploy", "blue green")
    (folder / "alias").symlink_to(memory.workspace)
    found = memory.host.call("memory/search", workspace=(folder / "alias").as_uri(), query="blue")
    assert len(found["hits"]) == 1


@behaviour("D14.previous-version")
def test_everything_is_there_after_a_restart(memory: Remembering) -> None:
    memory.write("facts", "The staging port is 8443.")
    memory.host.reopen()
    assert memory.write("facts", "The staging port is 9000.")["superseded"] == 1
    assert memory.write("facts", "The staging port is 9000.")["duplicates"] == 1
