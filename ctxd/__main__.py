"""`python -m ctxd`: the command line."""

from __future__ import annotations

from ctxd.cli.main import main

main()
