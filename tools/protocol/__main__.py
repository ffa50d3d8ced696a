"""`make protocol`: write every generated file of protocol/ and of the extension, say which ones changed."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.protocol import artefacts, extension

ROOT = Path(__file__).parents[2]
PROTOCOL = ROOT / "protocol"
EXTENSION = ROOT / "editors/vscode"


def main() -> None:
    """Write what differs."""
    written = artefacts.render(PROTOCOL)
    _write(PROTOCOL, written)
    _write(EXTENSION, extension.render(EXTENSION, written))


def _write(folder: Path, files: dict[Path, str]) -> None:
    for path, text in files.items():
        target = folder / path
        before = target.read_text() if target.exists() else None
        if before != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        sys.stdout.write(f"{'same   ' if before == text else 'written'} {target.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
