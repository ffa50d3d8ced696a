"""Where a workspace's sessions are kept: by its path, and where it moved or is a worktree, with its own past.

The path decides where something is kept under it. Only a path never seen is looked for by what the folder
is: a folder that was renamed, or another worktree of the same repository (reports F.72). Knows too
which folders are roots of one workspace, by what the host announced. Blocking.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse

from ctxd.core.paths import of_uri
from ctxd.model.errors import InvalidParams
from ctxd.store.homes import Home, read_home, write_home
from ctxd.store.layout import Layout, find_layouts, open_layout, workspace_name
from ctxd.workspace.identity import Identity, identify, repository_root


def settle(root: Path, path: str, *, force_network: bool) -> Layout:
    """The layout of a workspace below the state folder, made if there is none.

    Raises StorageFailed and StorageFull as `open_layout` does.
    """
    real = os.path.realpath(path)
    me = identify(real)
    name = workspace_name(path)
    held = read_home(Layout(root / name))
    if not (root / name).is_dir() or (held is not None and _went(held, real)):
        known = None if me is None else _find(root, me)
        if known is not None:
            name = known.folder.name
        elif held is not None and me is not None:
            # Another folder stands where one stood that took its sessions along.
            name = f"{name}-{me.folder}"
    layout = open_layout(root, path, name=name, force_network=force_network)
    if me is not None:
        _note(layout, real, me)
    return layout


def workspace_path(uri: str) -> str:
    """The folder a workspace URI names. Raises InvalidParams for what is no local folder."""
    if uri.startswith("/"):
        return uri
    parsed = urlparse(uri)
    if parsed.scheme != "file" or parsed.netloc not in ("", "localhost") or not parsed.path.startswith("/"):
        raise InvalidParams.at(
            "workspace", "a file URI of a local folder is needed", hint="file:///path/to/folder"
        )
    path = unquote(parsed.path)
    return of_uri(path) if os.name == "nt" else path


def workspace_uri(path: str) -> str:
    """The URI of a workspace's folder."""
    return Path(path).as_uri() if path.startswith("/") else path


def announced(uris: Iterable[str]) -> list[str]:
    """The folders of a host's workspace that are on this machine."""
    found: list[str] = []
    for uri in uris:
        with contextlib.suppress(InvalidParams):
            found.append(workspace_path(uri))
    return found


def beside(workspace: str, uris: Iterable[str]) -> tuple[str, ...]:
    """The other roots of a workspace of several, whose files a session in one of them may be shown too.

    None where its own folder lies in none of them: it was opened apart from what the host announced.
    """
    real = os.path.realpath(workspace)
    folders = announced(uris)
    others = tuple(folder for folder in folders if os.path.realpath(folder) != real)
    own = len(others) < len(folders) or any(Path(real).is_relative_to(os.path.realpath(f)) for f in others)
    return others if own else ()


def kin(path: str, folders: Iterable[str]) -> list[str]:
    """Where a session opened at a path may have begun: above it in its repository, or in another root."""
    real = os.path.realpath(path)
    top = repository_root(real)
    above = [str(folder) for folder in Path(real).parents if top is not None and folder.is_relative_to(top)]
    return [*above, *folders]


def _went(held: Home, real: str) -> bool:
    """Whether the folder that something is kept for lies elsewhere now."""
    if held.path == real or not held.folder:
        return False
    there = identify(held.path)
    return there is not None and there.folder == held.folder


def _find(root: Path, me: Identity) -> Layout | None:
    """What is kept for this very folder, else for another worktree of its repository."""
    homes = [(layout, home) for layout in find_layouts(root) if (home := read_home(layout)) is not None]
    same = (layout for layout, home in homes if home.folder == me.folder)
    beside = (layout for layout, home in homes if me.repository and home.repository == me.repository)
    return next(same, None) or next(beside, None)


def _note(layout: Layout, real: str, me: Identity) -> None:
    """Write down who it is for, or where that is now; a worktree beside it changes nothing."""
    held = read_home(layout)
    now = Home(real, me.folder, me.repository)
    if held is None or (held != now and (held.folder == me.folder or held.path == real)):
        write_home(layout, now)
