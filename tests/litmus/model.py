# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""model.py - every outcome of a few threads on a machine that reorders memory accesses.

Used by test_litmus.py.  A thread is a list of accesses.  Each takes place at once for all threads (Arm
ARM, B2.3: stores are multi-copy atomic), and an access may take place before those in front of it
unless something orders the two:

- both have the same place;
- the first is an acquire load, or the second a release store;
- both are sequentially consistent, or one is a fence (a fence of stores orders stores only);
- the second has an address or a value from the first (`of`), or is a store after a decision about it
  (`after`).

Emulation on a machine with a stronger order never shows such outcomes, and no run of a real one shows
all of them; this does.  A load that reads its own thread's store waits for it, which real machines
may do earlier: no sequence here has that."""

from dataclasses import dataclass

LOADS, STORES = ("load", "change"), ("store", "change")


@dataclass(frozen=True)
class Access:
    kind: str                   # "load", "store", "change" (both at once), "fence", "assume"
    place: str = ""
    value: object = None        # of a store: a number, or a function of the thread's loads so far
    order: str = "relaxed"      # relaxed, acquire, release, seq_cst; of a fence: seq_cst, stores
    name: str = ""              # what a load's value is called
    of: tuple = ()              # names that the address or the value depends on
    after: tuple = ()           # names that decide whether a store takes place


def is_ordered(first, second):
    if "fence" in (first.kind, second.kind):
        fence, other = (first, second) if first.kind == "fence" else (second, first)
        return fence.order != "stores" or other.kind in (*STORES, "fence")
    if first.place == second.place and first.kind != "assume" and second.kind != "assume":
        return True
    if first.kind in LOADS and first.order in ("acquire", "seq_cst"):
        return True
    if second.kind in STORES and second.order in ("release", "seq_cst"):
        return True
    if first.order == second.order == "seq_cst":
        return True
    if first.kind in LOADS and first.name in second.of:
        return True
    return first.kind in LOADS and second.kind in (*STORES, "assume") and first.name in second.after


def may_go(thread, done, i):
    return not any(j not in done and is_ordered(thread[j], thread[i]) for j in range(i))


def execute(access, memory, names):
    """The memory and the names after the access; None if the thread does not get there."""
    if access.kind == "fence":
        return memory, names
    if access.kind == "assume":
        return (memory, names) if access.value(dict(names)) else None
    old = dict(memory).get(access.place, 0)
    if access.kind in LOADS:
        names = names | {(access.name, old)}
    if access.kind in STORES:
        new = access.value(dict(names)) if callable(access.value) else access.value
        memory = frozenset({**dict(memory), access.place: new}.items())
    return memory, names


def outcomes(*threads):
    """All outcomes in which every thread gets to its end, each a dict: all names, and "*PLACE" for the
    last value of each place."""
    start = (tuple(frozenset() for _ in threads), frozenset(), tuple(frozenset() for _ in threads))
    seen, waiting, ends = {start}, [start], set()
    while waiting:
        done, memory, names = waiting.pop()
        if all(len(d) == len(t) for d, t in zip(done, threads)):
            ends.add(frozenset().union(*names, ((f"*{place}", value) for place, value in memory)))
        for t, thread in enumerate(threads):
            for i in range(len(thread)):
                if i in done[t] or not may_go(thread, done[t], i):
                    continue
                result = execute(thread[i], memory, names[t])
                if result is None:
                    continue
                state = (done[:t] + (done[t] | {i},) + done[t + 1:], result[0],
                         names[:t] + (result[1],) + names[t + 1:])
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
    return [dict(end) for end in ends]
