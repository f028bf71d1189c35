#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""coverage-of.py - prints the line coverage of a directory, in percent.

    coverage-of.py SUMMARY.json DIRECTORY/

Used by tools/check; the summary is gcovr's --json-summary.
"""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        files = [entry for entry in json.load(file)["files"]
                 if entry["filename"].startswith(sys.argv[2])]
    total = sum(entry["line_total"] for entry in files)
    covered = sum(entry["line_covered"] for entry in files)
    print(f"{100.0 * covered / total:.1f}" if total else "0")


if __name__ == "__main__":
    main()
