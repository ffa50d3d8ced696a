"""`prompt/build`: the layers of a system prompt, found in a workspace or given by the host."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from ctxd.core import prompt
from ctxd.core.prompt import Layer, Prompt
from ctxd.model.errors import Timeout
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.prompt_layers import Discovered, discover

READ_SECONDS = 5.0
"""A local file system answers in a thousandth of this."""


class Given(msgspec.Struct, frozen=True):
    """What the host gives. None is looked for in the workspace; a text, a blank one too, is not.

    `extras` are (title, text), "" for no title.
    """

    base: str = ""
    project_instructions: str | None = None
    agents: str | None = None
    extras: tuple[tuple[str, str], ...] = ()


async def build(workspace: str, asked: Given, *, memory: Layer | None = None) -> Prompt:
    """The prompt of a workspace. `memory` is the index of its memory, which is volatile.

    Raises NotFound where something is to be looked for and there is no such folder, OutsideWorkspace where
    the system has no way to look, Timeout where the files do not answer.
    """
    layers = [prompt.given("base", asked.base)] if asked.base else []
    wanted: list[Discovered] = []
    if asked.project_instructions is None:
        wanted.append("projectInstructions")
    if asked.agents is None:
        wanted.append("agents")
    found = await _discover(workspace, wanted) if wanted else {}
    layers += found.get("projectInstructions") or _explicit("projectInstructions", asked.project_instructions)
    layers += found.get("agents") or _explicit("agents", asked.agents)
    layers += prompt.supersede([prompt.given("extra", text, title) for title, text in asked.extras])
    if memory is not None:
        layers.append(memory)
    return prompt.compose(layers)


def _explicit(kind: Discovered, text: str | None) -> list[Layer]:
    return [] if text is None else [prompt.given(kind, text)]


async def _discover(workspace: str, kinds: Sequence[Discovered]) -> dict[Discovered, list[Layer]]:
    found: dict[Discovered, list[Layer]] | None = None
    with anyio.move_on_after(READ_SECONDS):
        found = await anyio.to_thread.run_sync(_look, workspace, kinds, abandon_on_cancel=True)
    if found is None:
        raise Timeout("the workspace's files do not answer", hint="give the texts instead")
    return found


def _look(workspace: str, kinds: Sequence[Discovered]) -> dict[Discovered, list[Layer]]:
    with Boundary(workspace) as boundary:
        return {kind: discover(boundary, kind) for kind in kinds}
