"""Conversations at large, for properties: every shape a session takes, sizes from nothing to huge."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.session import Session

DIALECTS = ("anthropic", "openai-chat")

_SIZES = st.sampled_from([1, 40, 300, 1_500, 4_000, 9_000, 40_000])
_WORDS = st.sampled_from(
    [
        "Never touch config.py.",
        "不要改端口 8081。",
        "Go on",
        "Use v1.2 only!\\nAnd say why.",
        "ok",
        "\U0001f600 fine",
    ]
)
_TOOLS = st.sampled_from(
    ["Read path=a.py", "Read path=b.py limit=9", "Edit path=a.py", "Bash command=make", "Grep"]
)


@st.composite
def transcripts(draw: st.DrawFn, *, most: int = 14, open_end: bool = True) -> str:
    """A conversation in short. The newest call may be waiting for its result."""
    parts: list[str] = []
    for number in range(draw(st.integers(1, most))):
        match draw(
            st.sampled_from(["user", "bulk", "image", "assistant", "turn", "turn", "parallel", "talk"])
        ):
            case "user":
                parts.append(f"user: {draw(_WORDS)}")
            case "bulk":
                parts.append(f"user {draw(_SIZES)}: paste{number}")
            case "image":
                parts.append("user: look\nimage 750x400")
            case "assistant":
                parts.append(f"think: hm\nassistant {draw(_SIZES)}: said{number}")
            case "turn":
                parts.append(_turn(draw, number))
            case "parallel":
                calls = f"call a{number} {draw(_TOOLS)}\ncall b{number} {draw(_TOOLS)}"
                results = [f"result a{number} {draw(_SIZES)}", f"result b{number} {draw(_SIZES)}"]
                if draw(st.booleans()):
                    results.reverse()
                parts.append(calls + "\n" + draw(st.sampled_from(["\n", "\n\n"])).join(results))
            case _:
                # A person writes while the tool runs.
                parts.append(f"call t{number} Bash\n\nuser: hurry\n\nresult t{number} {draw(_SIZES)}")
    if open_end and draw(st.booleans()):
        parts.append("assistant: let me see\ncall last Bash command=test")
    return "\n\n".join(parts)


@st.composite
def sessions(draw: st.DrawFn, *, most: int = 14, open_end: bool = True) -> Session:
    """A session of either dialect, any window, any ratio."""
    return Session(
        draw(transcripts(most=most, open_end=open_end)),
        dialect=draw(st.sampled_from(DIALECTS)),
        window=draw(st.sampled_from([None, 600, 6_000, 30_000, 200_000])),
        factor=draw(st.sampled_from([0.8, 1.0, 1.35])),
    )


def requested() -> st.SearchStrategy[int | None]:
    """Targets a host may ask for."""
    return st.none() | st.integers(1, 9_000)


def _turn(draw: st.DrawFn, number: int) -> str:
    mark = draw(st.sampled_from(["", "", "!"]))
    image = draw(st.sampled_from(["", "", " image 750x200"]))
    prose = draw(st.sampled_from(["", f"assistant: step {number}\n", "think!: hm\n"]))
    return f"{prose}call c{number} {draw(_TOOLS)}\nresult{mark} c{number} {draw(_SIZES)}{image}"
