#!/usr/bin/env bash
# Makes VENV from the first Python >= 3.11 that can, and installs ctxd for development into it.
# usage: tools/bootstrap.sh VENV PYTHON...
set -euo pipefail
venv=$1
shift

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

if ! usable "$venv/bin/python"; then
  for python in "$@" python3.14 python3.13 python3.12 python3.11; do
    if usable "$python" && "$python" -m venv --clear "$venv" >/dev/null 2>&1; then break; fi
  done
fi
if ! usable "$venv/bin/python"; then
  echo "No Python 3.11 or newer that can make a virtual environment was found." >&2
  echo "Name one with 'make PYTHON=/path/to/python3 ...'; on Debian, 'apt-get install python3-venv' may be missing." >&2
  exit 1
fi

install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@"; }

if ! install --only-binary toktok-rs --editable '.[dev,fast]' 2>"$venv/fast.log"; then
  echo "setup: the 'fast' extra has no wheel for this Python or platform (see $venv/fast.log); going on without it."
  install --editable '.[dev]'
fi
echo "setup: $("$venv/bin/python" --version) in $venv"
