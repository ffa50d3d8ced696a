"""`make protocol`: write every generated file of protocol/ and say which ones changed."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.protocol import artefacts

PROTOCOL = Path(__file__).parents[2] / "protocol"


def main() -> None:
    """Write what differs."""
    for path, text in artefacts.render(PROTOCOL).items():
        target = PROTOCOL / path
        before = target.read_text() if target.exists() else None
        if before != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        sys.stdout.write(f"{'same   ' if before == text else 'written'} protocol/{path}\n")


if __name__ == "__main__":
    main()
