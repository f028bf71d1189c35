#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""screenshots.py DIRECTORY PAGE... - pictures of pages in Chromium: each view, light and dark, large and
narrow, one and two device pixels each. docs/images has some of them."""

import os
import subprocess
import sys
import tempfile

SIZES = {"large": (1400, 900), "narrow": (400, 800)}
VIEWS = ("flame", "time", "callers", "sandwich", "table")


def main(directory, *pages):
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as profile:
        for page in pages:
            name = os.path.basename(page).rsplit(".", 1)[0]
            for size, (width, height) in SIZES.items():
                for theme, ratio in (("light", 1), ("dark", 2)):
                    for view in VIEWS:
                        options = ["--blink-settings=preferredColorScheme=0"] if theme == "dark" else []
                        output = os.path.join(directory, f"{name}-{view}-{size}-{theme}.png")
                        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                                        f"--window-size={width},{height}", f"--force-device-scale-factor={ratio}", *options,
                                        f"--user-data-dir={profile}", "--screenshot=" + os.path.abspath(output),
                                        f"file://{os.path.abspath(page)}#view={view}"],
                                       stderr=subprocess.DEVNULL, check=True, timeout=120)
                        print(output)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
