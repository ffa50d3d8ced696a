"""What a provider would report for a request that was never sent to one.

Owns the fit of prompt size to what a recording reported. The recorded prompts hold things that the
recording does not: the system prompt, tool schemas, attachments. A host with a small window would not
carry a large window's worth of them, so that part is capped at a share of the window.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, assert_never

from ctxd.dialects import registry as dialects
from ctxd.importers.steps import Boundary, DialectName, Response, Results, Transcript, UserInput
from ctxd.report.figures import Simulation
from ctxd.report.host import Host

FIXED_SHARE = 4
"""The fixed part is at most one part in so many of the window."""


async def fit_simulation(host: Host, transcript: Transcript, window: int) -> Simulation:
    """Fit `prompt = fixed + density x o200k` to one recording.

    `density` is growth of the reported prompts over growth of the o200k counts, within epochs; `fixed`
    is what the first reported prompt leaves over. Without reported sizes the density is 1 and the fixed
    part is what the recording holds of system messages.
    """
    pairs = await _reported_sizes(host, transcript)
    growth = [
        (reported - before[2], counted - before[1])
        for before, (epoch, counted, reported) in pairwise(pairs)
        if before[0] == epoch
    ]
    counted_growth = sum(counted for _, counted in growth)
    reported_growth = sum(reported for reported, _ in growth)
    density = min(3.0, max(0.5, reported_growth / counted_growth)) if counted_growth > 0 else 1.0
    if pairs:
        recorded = max(0, round(pairs[0][2] - density * pairs[0][1]))
    else:
        system = transcript.system
        text = dialects.get(transcript.dialect).check_system(system) if system is not None else ""
        recorded = await host.count_text(text)
    return Simulation(density=density, fixed_recorded=recorded, fixed=min(recorded, window // FIXED_SHARE))


def simulate_usage(dialect: DialectName, prompt: int, completion: int) -> dict[str, Any]:
    """A native usage object that says these sizes, tokens."""
    match dialect:
        case "anthropic":
            return {"input_tokens": prompt, "output_tokens": completion}
        case "openai-chat":
            return {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }
        case "openai-responses":
            return {
                "input_tokens": prompt,
                "output_tokens": completion,
                "total_tokens": prompt + completion,
            }
        case "gemini":
            return {
                "promptTokenCount": prompt,
                "candidatesTokenCount": completion,
                "totalTokenCount": prompt + completion,
            }
        case _:
            assert_never(dialect)


async def _reported_sizes(host: Host, transcript: Transcript) -> list[tuple[int, int, int]]:
    """(epoch, o200k of the recorded messages, reported prompt) of every response that reported one."""
    sizes: list[tuple[int, int, int]] = []
    epoch = counted = 0
    for step in transcript.steps:
        match step:
            case Boundary():
                epoch += 1
                counted = await host.count_o200k(transcript.dialect, step.replacement)
                continue
            case Response():
                if step.prompt_reported:
                    sizes.append((epoch, counted, step.prompt_reported))
            case UserInput() | Results():
                pass
            case _:
                assert_never(step)
        counted += await host.count_o200k(transcript.dialect, step.messages)
    return sizes
