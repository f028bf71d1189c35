#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""landing_pads.py FILE - prints the landing pads of an ELF file, one address a line.

Only exceptions lead to landing pads, by tables that are there only beside CFI; code that was built
without CFI has none.  The reader of these tables is the judge's.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "judge"))
import elf  # noqa: E402, pylint: disable=wrong-import-position


def main():
    for pad in sorted(elf.Elf(sys.argv[1]).landing_pads()):
        print(f"{pad:#x}")


if __name__ == "__main__":
    main()
