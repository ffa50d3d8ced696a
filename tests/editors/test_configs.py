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
COMMAND = (sys.executable, "-m", "ctxd", "serve")


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
        env={**os.environ, "XDG_STATE_HOME": str(workspace.parent / "state"), "HOME": str(workspace.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def assert_shown(text: str) -> None:
    assert "gpt-4o  known" in text
    assert "tokens, between" in text
    assert "below the handoff band" in text
    assert re.search(r"^ +1\d{3}  user$", text, re.M), text


@behaviour("editors.configs")
def test_neovim_shows_the_newest_session_in_a_window_and_in_its_statusline(workspace: Path) -> None:
    command = "{" + ", ".join(f'"{part}"' for part in COMMAND) + "}"
    script = workspace.parent / "test.lua"
    script.write_text(
        f'package.path = "{EDITORS}/neovim/?.lua;" .. package.path\n'
        f'local ctxd = require("ctxd")\n'
        f"ctxd.setup({{ command = {command} }})\n"
        f'vim.cmd("Ctxd")\n'
        f'local shown = function() return vim.bo.buftype == "nofile" end\n'
        f"assert(vim.wait(30000, shown, 50), 'nothing was shown')\n"
        f'io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n"), "\\n")\n'
        f'io.stdout:write(ctxd.gauge(), "\\n")\n'
    )
    text = run(workspace, "nvim", "--headless", "-u", "NONE", "-c", f"luafile {script}", "-c", "qa!")
    assert_shown(text)
    assert "ctxd 1.2k/128k below" in text


@behaviour("editors.configs")
def test_emacs_shows_the_newest_session_in_a_buffer(workspace: Path) -> None:
    command = "'(" + " ".join(f'"{part}"' for part in COMMAND) + ")"
    show = '(progn (ctxd-show) (princ (with-current-buffer "*ctxd*" (buffer-string))))'
    text = run(
        workspace,
        *("emacs", "-Q", "--batch", "-l", str(EDITORS / "emacs/ctxd.el")),
        *("--eval", f"(setq ctxd-command {command})", "--eval", show),
    )
    assert_shown(text)
