"""Which files a session touched last: by path, newest first, failed calls left out."""

from __future__ import annotations

import pytest

from ctxd.core.recent import Touch, recent
from ctxd.core.transcript import Transcript
from ctxd.model.messages import CallFacts, MessageFacts, ResultFacts

ROOT = "/project"


class Story:
    """A transcript of calls, each answered at once unless said otherwise."""

    def __init__(self) -> None:
        self.known = Transcript()
        self.transcript = self.known.transcript

    def call(
        self,
        name: str,
        path: str,
        *,
        size: int = 1000,
        failed: bool = False,
        answered: bool = True,
        span: str = "",
        call_id: str = "",
    ) -> str:
        number = len(self.transcript)
        call_id = call_id or f"t{number}"
        effect = "read" if name == "Read" else "write"
        call = CallFacts(call_id=call_id, name=name, effect=effect, path=path, span=span)  # type: ignore[arg-type]  # one of both
        self._add(
            MessageFacts(id=f"c{number}", role="assistant", bytes=1, digest="", tokens=1, calls=(call,))
        )
        if answered:
            result = ResultFacts(
                call_id=call_id, bytes=size, tokens=1, digest=f"sha256:{number}", is_error=failed
            )
            self._add(
                MessageFacts(id=f"r{number}", role="user", bytes=1, digest="", tokens=1, results=(result,))
            )
        return call_id

    def touches(self) -> list[Touch]:
        return recent(self.known, ROOT)

    def _add(self, facts: MessageFacts) -> None:
        self.transcript.append(facts)


@pytest.fixture
def story() -> Story:
    return Story()


def test_the_newest_touch_comes_first_and_each_path_once(story: Story) -> None:
    for path in ("a.py", "b.py", "c.py", "a.py"):
        story.call("Read", path)
    assert [touch.path for touch in story.touches()] == ["/project/a.py", "/project/c.py", "/project/b.py"]


def test_two_spellings_of_a_path_are_one_file(story: Story) -> None:
    story.call("Read", "/project/src/a.py")
    story.call("Read", "b.py")
    story.call("Edit", "src/../src/a.py")
    assert [(touch.path, touch.op) for touch in story.touches()] == [
        ("/project/src/a.py", "edit"),
        ("/project/b.py", "read"),
    ]


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("Read", "read"),
        ("Edit", "edit"),
        ("MultiEdit", "edit"),
        ("apply_patch", "edit"),
        ("Write", "write"),
        ("create_file", "write"),
    ],
)
def test_an_operation_is_named_after_what_the_tool_does(story: Story, name: str, op: str) -> None:
    story.call(name, "a.py")
    assert [touch.op for touch in story.touches()] == [op]


def test_a_failed_call_touches_nothing(story: Story) -> None:
    story.call("Read", "a.py")
    story.call("Edit", "b.py", failed=True)
    story.call("Edit", "a.py", failed=True)
    assert [(touch.path, touch.op) for touch in story.touches()] == [("/project/a.py", "read")]


def test_an_unanswered_call_touches_nothing(story: Story) -> None:
    story.call("Write", "a.py", answered=False)
    assert story.touches() == []


def test_a_call_id_that_is_used_again_belongs_to_its_own_call(story: Story) -> None:
    story.call("Read", "a.py", call_id="same")
    story.call("Read", "b.py", call_id="same", failed=True)
    assert [touch.path for touch in story.touches()] == ["/project/a.py"]


def test_no_touch_is_left_out_for_being_elsewhere(story: Story) -> None:
    """E §8: the newest few are taken by whoever knows which may be shown."""
    story.call("Read", "inside.py")
    for n in range(9):
        story.call("Read", f"/elsewhere/{n}.py")
    assert story.touches()[-1].path == "/project/inside.py"
    assert len(story.touches()) == 10


def test_the_newest_whole_read_is_what_the_session_saw(story: Story) -> None:
    story.call("Read", "a.py")
    story.call("Read", "a.py")
    story.call("Read", "a.py", span="10-20")
    story.call("Edit", "a.py")
    (touch,) = story.touches()
    assert touch.op == "edit"
    assert touch.seen is not None
    assert (touch.seen.message_id, touch.seen.result.digest) == ("r2", "sha256:2")


def test_a_file_only_written_was_not_seen(story: Story) -> None:
    story.call("Write", "a.py")
    assert [touch.seen for touch in story.touches()] == [None]


def test_a_stub_is_not_what_the_session_saw(story: Story) -> None:
    """O §11: "file unchanged since" is not the file."""
    story.call("Read", "a.py", size=8000)
    story.call("Read", "a.py", size=60)
    (touch,) = story.touches()
    assert touch.seen is not None
    assert touch.seen.message_id == "r0"
    assert touch.answered == "r2"


def test_a_small_read_behind_a_write_is_a_small_file(story: Story) -> None:
    story.call("Read", "a.py", size=8000)
    story.call("Write", "a.py")
    story.call("Read", "a.py", size=60)
    (touch,) = story.touches()
    assert touch.seen is not None
    assert touch.seen.message_id == "r4"


def test_a_touch_names_the_messages_of_its_call_and_result(story: Story) -> None:
    call_id = story.call("Edit", "a.py")
    (touch,) = story.touches()
    assert (touch.called, touch.answered, touch.call_id) == ("c0", "r0", call_id)
