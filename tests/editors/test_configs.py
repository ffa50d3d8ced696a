"""The one-file configs of editors/ in the editors themselves: start, project, show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.behaviour import behaviour
from tests.support.peer import Peer

EDITORS = Path(__file__).parents[2] / "editors"
COMMANDS = Path(sys.executable).parent
"""Where `ctxd` is, as it is installed."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with one session of a known size in the state folder of `environment`."""
    folder = tmp_path / "work space"
    folder.mkdir()
    with Peer.start() as peer:
        peer.initialize(options={"storage": {"root": str(tmp_path / "state/ctxd")}})
        session = peer.request(
            "session/open",
            {
                "workspace": folder.as_uri(),
                "sessionId": "known",
                "dialect": "openai-chat",
                "model": {"id": "gpt-4o"},
            },
        )["sessionId"]
        text = "one two three four " * 300
        peer.request(
            "session/append", {"sessionId": session, "messages": [{"role": "user", "content": text}]}
        )
        peer.shutdown()
    return folder


def run(workspace: Path, *command: str) -> str:
    """What the editor printed. Skips where it is not installed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on the path")
    done = subprocess.run(
        command,
        cwd=workspace,
        env={
            **os.environ,
            "PATH": f"{COMMANDS}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(workspace.parent / ".config"),
            "XDG_STATE_HOME": str(workspace.parent / "state"),
            "HOME": str(workspace.parent),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def config(editor: str, language: str) -> str:
    """What the README tells to put into the editor's own configuration."""
    readme = (EDITORS / editor / "README.md").read_text()
    found = re.search(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)
    assert found
    return found[1]


def install(workspace: Path, file: str, place: str) -> None:
    """Puts the file where the README says, in the home folder of the test."""
    folder = workspace.parent / place
    folder.mkdir(parents=True)
    shutil.copy(EDITORS / file, folder)


def assert_shown(text: str) -> None:
    assert "gpt-4o  known" in text
    assert "tokens, between" in text
    assert "below the handoff band" in text
    assert re.search(r"^ +1\d{3}  user$", text, re.M), text


@behaviour("editors.configs")
def test_neovim_shows_the_newest_session_in_a_window_and_in_its_statusline(workspace: Path) -> None:
    install(workspace, "neovim/ctxd.lua", ".config/nvim/lua")
    (workspace.parent / ".config/nvim/init.lua").write_text(config("neovim", "lua"))
    script = workspace.parent / "test.lua"
    script.write_text(
        'vim.cmd("Ctxd")\n'
        'local shown = function() return vim.bo.buftype == "nofile" end\n'
        "assert(vim.wait(30000, shown, 50), 'nothing was shown')\n"
        'io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n"), "\\n")\n'
        'io.stdout:write(vim.api.nvim_eval_statusline(vim.o.statusline, { fillchar = " " }).str, "\\n")\n'
    )
    text = run(workspace, "nvim", "--headless", "-c", f"luafile {script}", "-c", "qa!")
    assert_shown(text)
    assert "ctxd 1.2k/128k below" in text


@behaviour("editors.configs")
def test_emacs_shows_the_newest_session_in_a_buffer(workspace: Path) -> None:
    install(workspace, "emacs/ctxd.el", ".emacs.d/lisp")
    init = workspace.parent / ".emacs.d/init.el"
    init.write_text(config("emacs", "elisp"))
    show = '(progn (ctxd-show) (princ (with-current-buffer "*ctxd*" (buffer-string))))'
    text = run(
        workspace,
        *("emacs", "--batch", "-l", str(init), "--eval", show),
    )
    assert_shown(text)
