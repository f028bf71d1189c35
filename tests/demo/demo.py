# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""A Python program worth profiling, for tools/quickstart: recursion, sorting, json and regular
expressions, so that the interpreter and several C extensions show up in the capture."""

import json
import re
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def round_trip(rows):
    return json.loads(json.dumps(rows))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    word = re.compile(r"(\w+)-(\d+)")
    rows = [{"key": f"k{i}", "text": f"item-{i} " * 4} for i in range(400)]
    while time.process_time() < seconds:
        fib(17)
        for row in round_trip(rows):
            word.findall(row["text"])
        rows.sort(key=lambda row: hash(row["text"]))
    print(f"demo.py: {time.process_time():.2f} s of CPU time used")


if __name__ == "__main__":
    main()
