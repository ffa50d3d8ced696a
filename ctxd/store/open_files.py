"""Whether somebody has a file open to write, asked of the kernel. Blocking.

Linux grants a read lease on a file that nobody has open to write, and lets whoever opens it so wait until
the lease is given up. Elsewhere, and on file systems without leases, nothing is known.
"""

from __future__ import annotations

import errno
import fcntl
import signal
import sys
from typing import Literal, TypeAlias

Writers: TypeAlias = Literal["keptOut", "writing", "unknown"]


if sys.platform == "linux":

    def keep_writers_out(fd: int) -> Writers:
        """Make others who open the file to write wait, unless one has it open so. `fd` is open to read."""
        try:
            # The signal that asks for the lease back must not be SIGIO, which would end the process.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            return "writing" if error.errno == errno.EAGAIN else "unknown"
        return "keptOut"

    def let_writers_in(fd: int) -> None:
        """Give the lease up; closing the descriptor does too."""
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)

else:

    def keep_writers_out(fd: int) -> Writers:
        """Nothing is known of writers here."""
        return "unknown"

    def let_writers_in(fd: int) -> None:
        """There is nothing to give up."""


def is_being_written(fd: int) -> bool:
    """Whether somebody has the file open to write; False where nobody can tell."""
    match keep_writers_out(fd):
        case "keptOut":
            let_writers_in(fd)
            return False
        case "writing":
            return True
        case "unknown":
            return False
