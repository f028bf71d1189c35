# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""stacks.py - names the frames of a capture and compares whole stacks with patterns.

Used by check.py.  A frame becomes a label: `hot` for a function of one of our programs, `libc:exit`
or `ldso:?` for one of another file, `[truncated stack copy]` for a synthetic frame.  A pattern is a
list of tokens, leaf first; it has to account for every frame of the stack.

    hot         that label            a|b         either
    LIBC LDSO VDSO PLT ANON           any frame there; in a static program LIBC is its start-up code
    GENFILE                           in the file `generated`
    GENERATED                         in that file, or in memory without a file
    ANY         any frame of code     [name]      that synthetic frame
    ? * + {5} {5,} {5,9} behind a token: as in regular expressions

Invariant: a frame is looked up exactly as stored, against the mapping of the sample's time, and a
function ends where its symbol says: an address one past it has another name.
"""

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "judge"))

import elf  # noqa: E402
import spaces  # noqa: E402
import syscap  # noqa: E402

CLASSES = {
    "LIBC": r"libc:[^\n]*|__libc_start\w+|generic_start_main",
    "LDSO": r"ldso:[^\n]*",
    "VDSO": r"vdso:[^\n]*",
    "PLT": r"PLT",
    "ANON": r"anon:[^\n]*",
    "GENERATED": r"generated:[^\n]*|anon:[^\n]*",
    "GENFILE": r"generated:[^\n]*",
    "ANY": r"[^\[\n][^\n]*",
}
TOKEN = re.compile(r"(.+?)([?*+]|\{\d+(?:,\d*)?\})?")


class Stack(NamedTuple):
    """One sample with its user part named, leaf first; @eas are addresses inside the ELF files."""
    time: int
    pid: int
    tid: int
    kernel: list
    labels: list
    eas: list
    addresses: list


def compile_pattern(tokens):
    """A regular expression over labels, each followed by a newline."""
    parts = []
    for token in tokens:
        if token.startswith("["):
            parts.append(re.escape(token) + r"\n")
            continue
        body, quantifier = TOKEN.fullmatch(token).groups()
        if any(name[:-1] in CLASSES and name[-1] in "?*+" for name in body.split("|")):
            raise ValueError(f"{token}: what is behind the last name is of all of them")
        choices = "|".join(CLASSES.get(name) or re.escape(name) for name in body.split("|"))
        parts.append(rf"(?:(?:{choices})\n){quantifier or ''}")
    return re.compile("".join(parts))


def matches(patterns, labels):
    """True when one of the compiled @patterns accounts for all of @labels."""
    text = "".join(label + "\n" for label in labels)
    return any(p.fullmatch(text) for p in patterns)


def shorten(labels):
    """A stack as one line; repeated frames are counted."""
    parts = []
    for label in labels:
        if parts and parts[-1][0] == label:
            parts[-1][1] += 1
        else:
            parts.append([label, 1])
    return " ".join(label if n == 1 else f"{label}{{{n}}}" for label, n in parts)


class Programs:
    """The ELF files of our programs, found by build-id, else by path.  Other files are those of the
    system in the directory @root."""

    def __init__(self, directory, root=""):
        self._directory = Path(directory)
        self.root = root
        self._by_id, self._by_path = {}, {}
        for path in sorted(Path(directory).iterdir()):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                image = elf.Elf(path)
                self._by_id[image.build_id] = image
                self._by_path[str(path)] = image

    def by_name(self, name):
        return self._by_path[str(self._directory / name)]

    def add_copy(self, copy, original):
        self._by_path[str(copy)] = self._by_path[str(original)]

    def image_of(self, mapping):
        if mapping.build_id:
            return self._by_id.get(mapping.build_id)
        return self._by_path.get(mapping.path)


class Labels:
    """Address of a mapping -> (label, address in the file)."""

    def __init__(self, programs):
        self._programs = programs
        self._files = {}
        self._vdso = elf.running_vdso()

    def of(self, mapping, address):
        if mapping is None:
            return f"nowhere:{address:#x}", None
        image = self._programs.image_of(mapping)
        if image is not None:
            ea = image.fo_to_ea(address - mapping.start + mapping.offset)
            return name_in(image, ea) or f"unnamed:{address:#x}", ea
        if mapping.path == "[vdso]":
            return f"vdso:{address - mapping.start:#x}", None
        if not mapping.path.startswith("/") or mapping.path.startswith("//anon"):
            return f"anon:{mapping.path}", None
        return f"{module_name(mapping.path)}:{self._other_name(mapping, address)}", None

    def _other_name(self, mapping, address):
        image = self._files.get(mapping.path)
        if image is None:
            try:
                image = elf.Elf(f"{self._programs.root}{mapping.path}")
            except (OSError, elf.ElfError):
                return "?"
            self._files[mapping.path] = image
        ea = image.fo_to_ea(address - mapping.start + mapping.offset)
        return name_in(image, ea) or f"{ea:#x}" if ea is not None else "?"


def module_name(path):
    name = os.path.basename(path)
    if name.startswith(("ld-linux", "ld.so")):
        return "ldso"
    return "libc" if name.startswith("libc.so") else name


def name_in(image, ea):
    """Name of the function over @ea; None between functions."""
    if ea is None:
        return None
    inside = next((s for s in image.sections if s.ea and s.ea <= ea < s.ea + s.size), None)
    if inside is not None and inside.name.startswith(".plt"):
        return "PLT"
    symbol = image.symbol_at(ea)
    if symbol is None or (inside is not None and symbol.ea < inside.ea):
        start, end = image.entry_range()
        return "_start" if start <= ea < end else None
    return symbol.name


def marker_fault(addresses):
    """Returns the fault of the kernel and user markers of an address list, or None."""
    words = [a for a in addresses if a >= syscap.CONTEXT_MAX]
    if words not in ([], [syscap.CONTEXT_KERNEL], [syscap.CONTEXT_USER],
                     [syscap.CONTEXT_KERNEL, syscap.CONTEXT_USER]):
        return "markers are not kernel, then user"
    if words and addresses[0] != words[0]:
        return "an address before the first marker"
    part = None
    for address in addresses:
        if address >= syscap.CONTEXT_MAX:
            part = address
        elif part == syscap.CONTEXT_KERNEL and address < 1 << 63:
            return "a user address in the kernel part"
        elif (part == syscap.CONTEXT_USER and address >= 1 << 48
              and not syscap.is_synthetic(address)):
            return "a kernel address in the user part"
    return None


def stacks_of(capture, programs, wanted):
    """The samples of processes after they mapped one of the files that @wanted(Map) accepts."""
    since = {}
    for m in sorted(capture.maps, key=lambda m: m.time):
        if wanted(m):
            since.setdefault(m.pid, m.time)
    maps, labels = spaces.Spaces(capture.maps), Labels(programs)
    found, cache = [], {}
    for sample in sorted(capture.samples, key=lambda s: s.time):
        if sample.time < since.get(sample.pid, sample.time + 1):
            continue
        maps.advance(sample.time)
        space = maps.of(sample.pid)
        kernel, user = sample.split()
        names, eas = [], []
        for address in user:
            key = sample.pid, space.generation, address
            if key not in cache:
                cache[key] = ((capture.jitmap.get(address, f"[unnamed {address:#x}]"), None)
                              if syscap.is_synthetic(address)
                              else labels.of(space.find(address), address))
            names.append(cache[key][0])
            eas.append(cache[key][1])
        found.append(Stack(sample.time, sample.pid, sample.tid, kernel, names, eas,
                           sample.addresses))
    return found
