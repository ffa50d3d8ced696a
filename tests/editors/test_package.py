"""What can be told of the VS Code extension without building it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.behaviour import behaviour

EXTENSION = Path(__file__).parents[2] / "editors/vscode"


@behaviour("editors.lock")
def test_the_lock_names_every_package_exactly_and_no_registry() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if not entry.get("integrity")] == []
    wanted = json.loads((EXTENSION / "package.json").read_text())["devDependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


@behaviour("editors.commands")
def test_every_command_of_the_extension_is_declared_and_registered_and_every_menu_names_one() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())["contributes"]
    declared = {command["command"] for command in package["commands"]}
    source = (EXTENSION / "src/extension.ts").read_text()
    registered = {f"ctxd.{name}" for name in re.findall(r'(?:register|changing)\("(\w+)",', source)}
    assert declared <= registered
    assert {entry["command"] for menu in package["menus"].values() for entry in menu} <= declared
    linked = {
        name
        for view in package["viewsWelcome"]
        for name in re.findall(r"command:(ctxd\.\w+)", view["contents"])
    }
    assert linked <= registered
