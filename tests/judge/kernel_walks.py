# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""kernel_walks.py - why stacks are not walked in the kernel: a reason to skip a test, or a fault of the program.

A machine may lack the rights, or a kernel that can do it. But if the kernel's verifier has looked at
our program and refused it, then the program is wrong, or has been compiled into something wrong.
"""

import subprocess

REFUSED = "the kernel's verifier refused the BPF program"
TIME_LIMIT = 50


def reason_to_skip(said):
    """Returns in one line what a recorder has said that cannot walk in the kernel. Raises AssertionError if this is a
    fault of the program."""
    text = " ".join(said.split())
    if REFUSED in text:
        raise AssertionError(text)
    return text


def why_not(recorder, *arguments):
    """Why stacks cannot be walked in the kernel here, or None. Raises AssertionError as reason_to_skip()."""
    run = subprocess.run([recorder, "-q", "--engine", "bpf", *arguments, "-o", "/dev/null", "-f", "--", "true"],
                         capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    return None if run.returncode == 0 else reason_to_skip(run.stderr) or f"exit status {run.returncode}"
