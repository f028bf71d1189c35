#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_lines.py PRINT_LINES - is the line of each instruction what CPython itself says?

For each CPython that is installed here, lines.py prints the tables of lines of some of its own modules and what
they mean; print-lines has to read them in the same way."""

import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["argparse", "ast", "asyncio.base_events", "decimal", "inspect", "typing", "turtle", "unittest.mock"]


def modules(python):
    script = ("import importlib.util as u, sys\n"
              "for name in sys.argv[1:]:\n  spec = u.find_spec(name)\n  print(spec.origin if spec else '')")
    run = subprocess.run([python, "-c", script, *MODULES], capture_output=True, text=True, check=True)
    return [name for name in run.stdout.split("\n") if name]


def test(print_lines, python):
    """(instructions, [problems])."""
    run = subprocess.run([python, os.path.join(HERE, "lines.py"), *modules(python)], capture_output=True, text=True,
                         check=True)
    questions, answers = zip(*(line.split("\t") for line in run.stdout.strip().split("\n")))
    found = subprocess.run([print_lines], input="\n".join(line.strip() for line in questions) + "\n",
                           capture_output=True, text=True, check=True).stdout.strip().split("\n")
    problems = [f"{python}: {question[:200]}: expected {answer}, found {line}"
                for question, answer, line in zip(questions, answers, found) if answer.split() != line.split()]
    return sum(len(answer.split()) for answer in answers), problems


def main():
    pythons = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))) + ["/usr/bin/python3"]
    failed = False
    for python in pythons:
        if not os.access(python, os.X_OK):
            continue
        n, problems = test(sys.argv[1], python)
        print(f"{python}: {n} instructions, {len(problems)} functions wrong")
        print("\n".join(problem[:2000] for problem in problems[:3]))
        failed |= bool(problems) or n == 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
