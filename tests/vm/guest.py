# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""guest.py - a small system in memory, and one run of a kernel with it under qemu's emulation.

Used by `run`.  The initramfs holds init, busybox, the recorder, the programs and every library they
need, each at the path it has on this machine, symbolic links on the way included: a capture made in
the guest then names files that are here too.  No module, disk or network is needed: what Debian's
kernels have built in suffices, and the results come out of a serial port.
"""

import gzip
import io
import json
import os
import re
import stat
import subprocess
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BUSYBOX = Path("/bin/busybox")
LIBRARY = re.compile(r"(?:=> |^\s*)(/\S+) \(0x")

QEMU = ["-nodefaults", "-display", "none", "-no-reboot"]
# Software emulation, also where /dev/kvm exists: it may be there and not work.
CPUS = ["-accel", "tcg,thread=multi", "-smp", "2"]
# One CPU whose clock advances by 1 ns with each instruction, and stands still in between, so that times are counts.
COUNTING_CPU = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1"]


class Machine(NamedTuple):
    """The differences between emulated machines.  @results: qemu's words for the port of the results,
    the last before the path of the file; @port: how the kernel names it."""
    name: str
    debian: str     # Debian's name of the architecture
    qemu: list
    package: str    # that has qemu
    console: str
    results: list
    port: str


X86_64 = Machine("x86_64", "amd64", ["qemu-system-x86_64", "-cpu", "max"], "qemu-system-x86", "ttyS0",
                 ["-serial", "file:"], "ttyS1")
# The usual algorithm of authentication codes takes half of all emulated time.
AARCH64 = Machine("aarch64", "arm64", ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"],
                  "qemu-system-arm", "ttyAMA0",
                  ["-device", "pci-serial,chardev=results", "-chardev", "file,id=results,path="], "ttyS0")
MACHINES = {machine.name: machine for machine in (X86_64, AARCH64)}


class GuestError(Exception):
    """The guest gave no results; the message says why."""


class Archive:
    """A cpio archive ("newc") as the kernel unpacks it; knows which paths it already has."""

    def __init__(self):
        self._out = io.BytesIO()
        self._paths = set()

    def _add(self, path, mode, data=b""):
        """One entry: 6 bytes of magic, 13 fields of 8 hex digits, the name, the contents."""
        self._paths.add(path)
        name = str(path).lstrip("/").encode() + b"\0"
        inode = len(self._paths)
        fields = [inode, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, len(data), 0, 0, 0, 0,
                  len(name), 0]
        self._out.write(b"070701" + "".join(f"{n:08X}" for n in fields).encode() + name)
        self._pad()
        self._out.write(data)
        self._pad()

    def _pad(self):
        self._out.write(bytes(-self._out.tell() % 4))

    def add_directory(self, path):
        path = PurePosixPath(path)
        for directory in [*reversed(path.parents), path]:
            if directory not in self._paths and directory != PurePosixPath("/"):
                self._add(directory, stat.S_IFDIR | 0o755)

    def add_data(self, path, data, mode=0o644):
        self.add_directory(PurePosixPath(path).parent)
        self._add(PurePosixPath(path), stat.S_IFREG | mode, data)

    def add_host_file(self, path, root=""):
        """A file of this machine and the symbolic links its path goes through.  Paths are as seen
        in the directory @root, where links do not lead out of it."""
        seen = PurePosixPath("/")
        parts = list(PurePosixPath(path).parts[1:])
        while parts:
            seen = seen / parts.pop(0)
            if os.path.islink(f"{root}{seen}"):
                target = os.readlink(f"{root}{seen}")
                if seen not in self._paths:
                    self.add_directory(seen.parent)
                    self._add(seen, stat.S_IFLNK | 0o777, target.encode())
                whole = PurePosixPath(os.path.normpath(seen.parent / target))
                parts = [*whole.parts[1:], *parts]
                seen = PurePosixPath("/")
        if seen not in self._paths:
            self.add_data(seen, Path(f"{root}{seen}").read_bytes(), 0o755)

    def finish(self):
        """The whole archive, compressed."""
        self._add(PurePosixPath("TRAILER!!!"), 0)
        return gzip.compress(self._out.getvalue(), 1)


def needed_by(file):
    """The dynamic linker and the names of libraries that an ELF file asks for."""
    text = subprocess.run(["readelf", "-dlW", str(file)], capture_output=True, text=True, check=False).stdout
    return re.findall(r"interpreter: (/[^]]+)", text), re.findall(r"\(NEEDED\)\s.*\[(.+)\]", text)


def libraries_in(root, program):
    """The dynamic linker and all libraries of a program, as paths in the directory of another system."""
    found, waiting = [], [program]
    directories = sorted((path for path in Path(root, "usr/lib").glob("*-linux-gnu")), key=str)
    while waiting:
        linkers, names = needed_by(waiting.pop())
        paths = [Path(root, linker[1:]) for linker in linkers]
        paths += [directory / name for name in names for directory in directories if (directory / name).exists()]
        for path in paths:
            inside = "/" + str(path.relative_to(root))
            if inside not in found:
                found.append(inside)
                waiting.append(path)
    return found


def libraries_of(program):
    """The dynamic linker and all libraries of a program; none of a static one."""
    run = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return [m.group(1) for line in run.stdout.splitlines() if (m := LIBRARY.search(line))]


def begin(recorder, programs, commands, tests=None, machine=X86_64, root=""):
    """The initramfs, to which more can be added.  @commands maps a name to the words behind `RECORDER
    -o FILE`, @tests one to a command of its own.  Libraries and busybox are those of the system in
    the directory @root."""
    archive = Archive()
    for directory in ("/proc", "/sys", "/dev", "/tmp", "/bin", "/sbin"):
        if not os.path.islink(f"{root}{directory}"):
            archive.add_directory(directory)
    for path in [recorder, *programs]:
        archive.add_host_file(path)
        for library in libraries_in(root, path) if root else libraries_of(path):
            archive.add_host_file(library, root)
    archive.add_host_file(BUSYBOX, root)
    archive.add_data("/init", (HERE / "init").read_bytes(), 0o755)
    archive.add_data("/recorder", f"{recorder}\n".encode())
    archive.add_data("/port", f"{machine.port}\n".encode())
    for path, table in (("/commands", commands), ("/tests", tests or {})):
        lines = (" ".join([name, *words]) + "\n" for name, words in table.items())
        archive.add_data(path, "".join(lines).encode())
    return archive


def build(*arguments):
    """The initramfs of begin(), compressed."""
    return begin(*arguments).finish()


def stats_in(log):
    """The recorder's statistics (--stats json) in what it wrote to standard error, or None."""
    return next((json.loads(line) for line in log.splitlines() if line.startswith("{")), None)


def run(kernel, initramfs, directory, time_limit, machine=X86_64, memory=1024, only=(), cpus=CPUS):
    """Boots @kernel in @memory MiB; returns its results as {file name: bytes}, of the cases @only if there are
    any.  The console stays in @directory."""
    console, results = directory / "console", directory / "results.tar.gz"
    with open(directory / "qemu.log", "wb") as log:
        machine = subprocess.Popen(
            [*machine.qemu, *cpus, *QEMU, "-kernel", str(kernel), "-initrd", str(initramfs),
             "-append", f"console={machine.console} panic=-1 quiet{only and ' only=' + ','.join(only) or ''}",
             "-serial", f"file:{console}",
             *machine.results[:-1], f"{machine.results[-1]}{results}", "-m", str(memory)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            status = machine.wait(time_limit)
        except subprocess.TimeoutExpired:
            raise GuestError(f"not done after {time_limit} s{said(console)}") from None
        finally:
            machine.kill()
            machine.wait()
    if status != 0:
        last = (directory / "qemu.log").read_text(errors="replace").strip().splitlines()[-1:]
        raise GuestError(f"qemu ended with {status}: {' '.join(last)}")
    try:
        whole = io.BytesIO(gzip.decompress(results.read_bytes()))
        with tarfile.open(fileobj=whole) as tar:
            return {m.name.removeprefix("./"): tar.extractfile(m).read()
                    for m in tar if m.isfile()}
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise GuestError(f"no whole results ({error}){said(console)}") from None


def said(console):
    """The end of what the guest wrote to its console, for a message."""
    if not console.exists():
        return "; nothing on the console"
    lines = console.read_text(errors="replace").splitlines()
    return "; last on the console:" + "".join(f"\n# {line}" for line in lines[-20:])
