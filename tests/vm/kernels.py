# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""kernels.py - gets Debian's kernels, each from the suite that has it; nothing is installed.

Used by `run`.  The mirror is the one apt uses on this machine.  Each series gets package lists of
its own in the cache directory; apt's are never touched, so what this machine installs stays the same.  A kernel that was unpacked once stays in the cache directory under its package's name.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

# Seconds; a mirror that does not answer must not hold up the rest.
COMMAND_LIMIT = 120
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Series(NamedTuple):
    """A line of kernels, and where Debian has them."""
    name: str
    version: str        # start of the version; "" for the newest
    suites: tuple       # (label of the archive, suite)


SERIES = [
    Series("6.1", "6.1.", (("Debian", "bookworm"), ("Debian-Security", "bookworm-security"))),
    Series("5.10", "5.10.", (("Debian", "bullseye"), ("Debian-Security", "bullseye-security"))),
    Series("6.12", "6.12.", (("Debian", "trixie"), ("Debian-Security", "trixie-security"))),
    Series("newest", "", (("Debian", "trixie-backports"),)),
]


class NoKernel(Exception):
    """This kernel cannot be had here; the message says why."""


def run(*command, **options):
    """Standard output of a command; NoKernel with the end of what it said if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=COMMAND_LIMIT, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoKernel(str(error)) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NoKernel(f"{Path(command[0]).name}: {' '.join(said) or done.returncode}")
    return done.stdout


def mirrors():
    """Label of each of Debian's archives -> address, as this machine's apt is set up."""
    targets = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
                  "Identifier: Packages")
    found = {}
    for line in targets.splitlines():
        origin, label, address = line.split("|", 2)
        if origin == "Debian":
            found.setdefault(label, address)
    return found


class Apt:
    """apt with the package lists of one series, for one of Debian's architectures, and nothing else.
    To it no package is installed."""

    def __init__(self, series, directory, architecture="amd64"):
        self._directory = directory
        self._architecture = architecture
        known = mirrors()
        lines = [f"deb [signed-by={KEYRING}] {known[label]} {suite} main\n"
                 for label, suite in series.suites if label in known]
        if not lines:
            raise NoKernel("apt has no mirror of Debian in its lists (apt-get update?)")
        if not KEYRING.exists():
            raise NoKernel(f"no {KEYRING}")
        for name in ("lists/partial", "cache/archives/partial"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        (directory / "sources.list").write_text("".join(lines))

    def run(self, command, *arguments, cwd=None):
        return run(command, "-q", "-o", f"APT::Architecture={self._architecture}",
                   "-o", f"APT::Architectures={self._architecture}",
                   "-o", "Dir::State::status=/dev/null", "-o", "pkgCacheGen::Essential=none",
                   "-o", f"Dir::State::lists={self._directory}/lists",
                   "-o", f"Dir::Cache={self._directory}/cache",
                   "-o", f"Dir::Etc::sourcelist={self._directory}/sources.list",
                   "-o", "Dir::Etc::sourceparts=/dev/null", "-o", "Acquire::Languages=none",
                   "-o", "Acquire::Check-Valid-Until=false", "-o", "Acquire::Retries=3",
                   "-o", "APT::Sandbox::User=", *arguments, cwd=cwd or self._directory)

    def update(self):
        self.run("apt-get", "update", "--error-on=any")


def numbers(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def newest(names, version, architecture="amd64"):
    """The package with the image of the newest kernel; linux-binary where the image moved there."""
    pattern = re.compile(rf"linux-(image|binary)-({re.escape(version)}"
                         rf"\d[\w.]*(?:-\d[\w.]*)?(?:\+deb\d+)?)-{architecture}")
    found = [m for m in map(pattern.fullmatch, names) if m]
    if not found:
        raise NoKernel(f"the suite has no linux-image-{version}…-{architecture}")
    return min(found, key=lambda m: ([-n for n in numbers(m[2])], m[1])).group(0)


def unpack(package, directory):
    """The kernel image out of a package; the rest is not even decompressed."""
    for path in Path(directory).glob("vmlinuz*"):
        path.unlink()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as archive:
        subprocess.run(["tar", "-x", "-C", str(directory), "--wildcards", "--occurrence=1",
                        "--transform=s,.*/,,", "./boot/vmlinuz-*",
                        "./usr/lib/modules/*/vmlinuz"],
                       stdin=archive.stdout, stderr=subprocess.DEVNULL, check=False)
        archive.stdout.close()
    found = [p for p in Path(directory).glob("vmlinuz*") if p.stat().st_size > 1 << 20]
    if not found:
        raise NoKernel(f"{package.name} has no vmlinuz")
    return found[0]


def get(series, cache, architecture="amd64"):
    """Path of the series' newest kernel image, downloaded unless @cache has it."""
    directory = cache / (series.name if architecture == "amd64" else f"{series.name}-{architecture}")
    apt = Apt(series, directory, architecture)
    apt.update()
    package = newest(apt.run("apt-cache", "pkgnames", "linux-").split(), series.version, architecture)
    version = re.search(r"^Version: (\S+)", apt.run("apt-cache", "show", "--no-all-versions",
                                                    package), re.MULTILINE).group(1)
    kernel = cache / f"{package}_{version.replace(':', '%3a')}"
    if not kernel.exists():
        for old in directory.glob("*.deb"):
            old.unlink()
        apt.run("apt-get", "download", package)
        downloaded = next(directory.glob("*.deb"))
        shutil.move(unpack(downloaded, directory), kernel)
        downloaded.unlink()
    return kernel
