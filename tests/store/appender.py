"""A process of its own that appends to a session and prints each id once it is acknowledged.

Run as `python -m tests.store.appender ROOT SID [--count N] [--from N] [--size BYTES]`. Without a
count it appends until it is killed; with one it then says `waiting` and ends when stdin does.
A refused append prints the error's kind instead.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from pathlib import Path

from ctxd.model.errors import StoreError
from ctxd.model.records import Draft
from ctxd.store.layout import open_layout
from ctxd.store.log.event_log import SessionLog, open_log
from ctxd.store.log.writer import Writer


async def append_all(log: SessionLog, begin: int, count: int | None, size: int) -> None:
    numbers = itertools.count(begin) if count is None else range(begin, begin + count)
    for number in numbers:
        draft = Draft(id=f"r{number}", type="said", data=b'"%s"' % (b"x" * size), facts=b'{"n":%d}' % number)
        try:
            (record,) = await log.append([draft])
            say(record.id)
        except StoreError as error:
            say(error.kind)


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("sid")
    parser.add_argument("--count", type=int)
    parser.add_argument("--from", type=int, default=0, dest="begin")
    parser.add_argument("--size", type=int, nargs="+", default=[100])
    options = parser.parse_args()
    layout = open_layout(options.root, "/somewhere/project")
    log = open_log(layout, options.sid, writer=Writer(), client="appender", create=True)
    begin = options.begin
    for size in options.size:
        asyncio.run(append_all(log, begin, options.count, size))
        begin += options.count or 0
    say("waiting")
    sys.stdin.read()


if __name__ == "__main__":
    main()
