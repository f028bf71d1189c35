#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""screenshots.py DIRECTORY PAGE... - pictures of pages in Chromium: each view, light and dark, large and
narrow, one and two device pixels each. docs/images has some of them."""

import os
import sys

import chromium

SIZES = {"large": (1400, 900), "narrow": (400, 800)}
VIEWS = ("flame", "time", "callers", "sandwich", "table")


def main(directory, *pages):
    os.makedirs(directory, exist_ok=True)
    with chromium.Chromium() as browser:
        for page in pages:
            name = os.path.basename(page).rsplit(".", 1)[0]
            for size, (width, height) in SIZES.items():
                for theme, ratio in (("light", 1), ("dark", 2)):
                    browser.look(width, height, ratio, theme)
                    for view in VIEWS:
                        output = os.path.join(directory, f"{name}-{view}-{size}-{theme}.png")
                        browser.open(page, f"#view={view}")
                        browser.picture(output)
                        print(output)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
