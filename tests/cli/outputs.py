# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""outputs.py - what a page, a pprof profile and Sysprof show of a recording, function by function.

Each reader returns a Profile: stacks of functions, and what the functions are. They read bytes only,
so that the outputs can be compared with the report and with each other.
"""

import base64
import bisect
import collections
import gzip
import json
import os
import re
import struct
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

SYMBOL = struct.Struct("<QQIIII")


class Place(NamedTuple):
    """An address of a pprof profile, as its file has it."""
    path: str
    offset: int     # in the file


class Profile(NamedTuple):
    names: dict     # function -> (name, module)
    stacks: list    # (functions, innermost first; count)
    places: dict    # function -> set of Place

    def shares(self):
        """Returns how often each (name, module, self, total) is there: one for each function."""
        selves, totals = collections.Counter(), collections.Counter()
        for stack, count in self.stacks:
            if stack:
                selves[stack[0]] += count
            for function in set(stack):
                totals[function] += count
        return collections.Counter((*self.names[function], selves[function], total)
                                   for function, total in totals.items())


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def message(data):
    """Returns number -> [value] of the fields of a protobuf message; texts and messages are bytes."""
    fields, at = collections.defaultdict(list), 0

    def varint():
        nonlocal at
        begin = at
        while data[at] >= 128:
            at += 1
        at += 1
        return next(varints(data[begin:at]))

    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert key & 7 == 0, key
        fields[key >> 3].append(value)
    return fields


def pprof(data):
    """Reads a profile of pprof; the number of a function tells it from others of its name."""
    profile = message(gzip.decompress(data))
    strings = [text.decode() for text in profile[6]]
    functions = [message(each) for each in profile[5]]
    mappings = {each[1][0]: each for each in map(message, profile[3])}
    locations = {each[1][0]: each for each in map(message, profile[4])}
    function_at = {number: message(each[4][0])[1][0] for number, each in locations.items()}
    places = collections.defaultdict(set)
    for number, location in locations.items():
        for mapping in (mappings[each] for each in location[2] if each):
            start, end, offset = (mapping[field][0] if mapping[field] else 0 for field in (2, 3, 4))
            if start <= location[3][0] < end:
                places[function_at[number]].add(
                    Place(strings[mapping[5][0]], location[3][0] - start + offset))
    stacks = []
    for sample in map(message, profile[2]):
        stack = varints(b"".join(sample[1]))
        stacks.append(([function_at[each] for each in stack], next(varints(b"".join(sample[2])))))
    return Profile({each[1][0]: (strings[each[2][0]], strings[each[4][0]] if each[4] else "")
                    for each in functions}, stacks, places)


def page_data(data):
    """Returns the data of a page, with its columns as lists of numbers."""
    text = re.search(r'<script id="data" type="application/json">(.*?)</script>', data.decode(), re.DOTALL)[1]
    graph = json.loads(text)
    for key in ("nodes", "samples", "rest", "module_of", "events_of", "weights", "places", "lines"):
        graph[key] = list(varints(base64.b64decode(graph.get(key, ""))))
    return graph


def page_samples(graph):
    """Returns (node, count) of all samples of a page."""
    samples = collections.Counter(graph["samples"][2::3])
    for node, count in zip(graph["rest"][1::4], graph["rest"][3::4]):
        samples[node] += count
    return samples.items()


def page_parents(graph):
    """Returns the parent of each node, counted from 1; 0: none."""
    return [0] + [i - back if back else 0 for i, back in enumerate(graph["nodes"][::2], 1)]


def page(data):
    """Reads a page."""
    graph = page_data(data)
    parents, stacks = page_parents(graph), []
    for node, count in page_samples(graph):
        stack = []
        while node > 0:
            stack.append(graph["nodes"][2 * node - 1])
            node = parents[node]
        stacks.append((stack, count))
    modules = [graph["modules"][each] for each in graph["module_of"]]
    return Profile(dict(enumerate(zip(graph["names"], modules))), stacks, {})


class Symbols:
    """Names as Sysprof looks them up: first the capture's own, then the kernel's."""

    def __init__(self, capture):
        data, self.by_pid = bytes(capture.files.get("__symbols__", b"")), {}
        for begin, end, pid, name, _, _ in SYMBOL.iter_unpack(data[:len(data) // 32 * 32]):
            if name == 0:
                break
            text = data[name:data.index(b"\0", name)].decode()
            self.by_pid.setdefault(pid, []).append((begin, end, text))
        self.kernel, packed = [], capture.files.get("/proc/kallsyms.gz")
        text = gzip.decompress(packed) if packed else capture.files.get("/proc/kallsyms", b"")
        for line in bytes(text).decode().splitlines():
            words = line.split()
            self.kernel.append((int(words[0], 16), 1 << 64, words[2]))
        self.kernel.sort()
        self.jitmap = capture.jitmap

    @staticmethod
    def _find(symbols, address):
        at = bisect.bisect_right(symbols, address, key=lambda symbol: symbol[0]) - 1
        return symbols[at][2] if at >= 0 and address < symbols[at][1] else None

    def name(self, pid, address, is_kernel):
        """Returns the name, or None."""
        found = self._find(self.by_pid.get(pid, []), address)
        if found is None and is_kernel:
            return self._find(self.kernel, address)
        return self.jitmap.get(address) if found is None else found


def sysprof(path):
    """Reads a capture as Sysprof does: functions are their names."""
    capture = syscap.read(path)
    symbols = Symbols(capture)
    stacks = []
    for sample in capture.samples:
        kernel, user = sample.split()
        stacks.append(([symbols.name(sample.pid, each, True) for each in kernel]
                       + [symbols.name(sample.pid, each, False) for each in user], 1))
    return Profile({name: (name, "") for stack, _ in stacks for name in stack}, stacks, {})
