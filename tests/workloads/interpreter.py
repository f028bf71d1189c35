# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""interpreter.py - the workload python3: recursion, json and re for some CPU seconds."""

import json
import re
import sys
import time

TEXT = " ".join(f"user{i}@host{i % 7}.example {i * 7919 % 1000}" for i in range(400))
PATTERN = re.compile(r"(\w+)@(\w+)\.example (\d+)")


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def tree(depth):
    return {"depth": depth, "name": "x" * depth, "below": [tree(depth - 1)] * 2 if depth else []}


def depth_of(node):
    return 1 + max((depth_of(below) for below in node["below"]), default=0)


def one_round():
    total = fibonacci(18)
    total += depth_of(json.loads(json.dumps(tree(9))))
    total += sum(int(number) for _, _, number in PATTERN.findall(TEXT))
    return total + len(sorted(TEXT.split(), key=lambda word: (len(word), word[::-1])))


def main():
    seconds = float(sys.argv[1])
    total = 0
    while time.process_time() < seconds:
        total += one_round()
    print(total > 0)


main()
