# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""spaces.py - which executable mapping lay over an address of a process at a given time.

Used by the judge.  Built from nothing but the MAP frames of a capture: a later frame replaces what
it overlaps from its own time on, as the format of our captures has it.  Times only move forward, so
the samples have to be asked for in order of time.
"""

import bisect

NO_FILE = ("", "//anon")


class Space:
    """The mappings of one process now; `generation` changes with every change."""
    __slots__ = ("starts", "maps", "generation")

    def __init__(self):
        self.starts = []        # sorted starts
        self.maps = []          # (start, end, Map), no two overlap
        self.generation = 0

    def covered(self, new):
        """The mapping in the middle of which @new lies, with a rest on both sides; or None."""
        i = bisect.bisect_right(self.starts, new.start) - 1
        if i >= 0 and self.maps[i][0] < new.start and new.end < self.maps[i][1]:
            return self.maps[i][2]
        return None

    def add(self, new):
        first = bisect.bisect_right(self.starts, new.start)
        if first > 0 and self.maps[first - 1][1] > new.start:
            first -= 1
        last = bisect.bisect_left(self.starts, new.end)
        parts = [(new.start, new.end, new)]
        for start, end, old in self.maps[first:last]:
            if start < new.start:
                parts.append((start, new.start, old))
            if end > new.end:
                parts.append((new.end, end, old))
        parts.sort(key=lambda part: part[0])
        self.maps[first:last] = parts
        self.starts[first:last] = [part[0] for part in parts]
        self.generation += 1

    def find(self, address):
        """The Map frame over @address, or None."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i >= 0 and address < self.maps[i][1]:
            return self.maps[i][2]
        return None


class Spaces:
    """All address spaces of a capture at a moment that advance() moves forward."""

    def __init__(self, maps, is_program=lambda mapping: False):
        """@is_program tells whether a mapping is one of a program, not of a library."""
        self._is_program = is_program
        self._pending = sorted(maps, key=lambda m: m.time)   # stable: file order within a time
        self._next = 0
        self._spaces = {}

    def advance(self, time):
        """Applies every mapping that came into being at or before @time."""
        while self._next < len(self._pending) and self._pending[self._next].time <= time:
            new = self._pending[self._next]
            self._next += 1
            if not self._is_copied_text(new):
                self.of(new.pid).add(new)

    def _is_copied_text(self, new):
        """Whether @new is memory that a program copied the middle of its own code to.

        Node does so to have its code on large pages.
        """
        covered = self.of(new.pid).covered(new) if new.path in NO_FILE else None
        return covered is not None and self._is_program(covered)

    def of(self, pid):
        space = self._spaces.get(pid)
        if space is None:
            space = self._spaces[pid] = Space()
        return space
