#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""reuse-pid.py - runs two programs one after the other with the same pid.

    reuse-pid.py SECOND ARGUMENT… :: FIRST ARGUMENT…

A workload of weaknesses.py; needs root for kernel.ns_last_pid.  Exit status 3 if other processes
took the pid each time.
"""

import os
import sys

LAST_PID = "/proc/sys/kernel/ns_last_pid"
TRIES = 300


def run(command):
    pid = os.fork()
    if pid == 0:
        os.execv(command[0], command)
    os.waitpid(pid, 0)
    return pid


def run_as(pid, command):
    """Forks until a child has @pid; only that one becomes @command."""
    for _ in range(TRIES):
        with open(LAST_PID, "w", encoding="ascii") as file:
            file.write(str(pid - 1))
        child = os.fork()
        if child == 0:
            if os.getpid() != pid:
                os._exit(0)
            os.execv(command[0], command)
        os.waitpid(child, 0)
        if child == pid:
            return True
    return False


def main(argv):
    middle = argv.index("::")
    pid = run(argv[middle + 1:])
    return 0 if run_as(pid, argv[:middle]) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
