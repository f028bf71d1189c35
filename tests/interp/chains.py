#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""chains.py LOG SECONDS [churn] - a program that knows its own chains of functions; for any CPython from 3.6 on.

Every kind of call ends in burn(), which runs for a few milliseconds and then writes down for which time and
thread which chain was true, as the interpreter itself says: a line "begin end tid lines function|function…" of
nanoseconds (CLOCK_MONOTONIC), leaf first, each function as "name (file.py:line)". "lines" has the line that runs in
each function, separated by colons; burn() itself is in any of its lines. With "churn", it only makes and frees code
objects, as fast as it can."""

import asyncio
import ctypes
import functools
import itertools
import os
import sys
import threading
import time
import types

LOG, BRIEF = [], []
CLOCK = getattr(time, "monotonic_ns", time.monotonic)
SECOND = 10 ** 9 if hasattr(time, "monotonic_ns") else 1
MADE = itertools.count()
gettid = ctypes.CDLL(None).syscall


def chain():
    frame, names, lines = sys._getframe(1), [], []
    while frame:
        lines.append(str(frame.f_lineno))
        code = frame.f_code
        names.append("%s (%s:%d)" % (getattr(code, "co_qualname", code.co_name), os.path.basename(code.co_filename)
                                     or code.co_filename, code.co_firstlineno))
        frame = frame.f_back
    return ":".join(lines) + " " + "|".join(names)


def burn(ms=8):
    begin = CLOCK()
    end = begin + ms * SECOND / 1000
    x = 0
    while CLOCK() < end:
        for i in range(300):
            x += i * i
    LOG.append((begin, CLOCK(), gettid(186), chain()))


def recursion(n):
    return recursion(n - 1) if n > 0 else burn()


def generator(n):
    for i in range(n):
        burn()
        yield i


def delegating():
    yield from generator(2)


def comprehension():
    return [burn() for _ in range(2)]


def callbacks():
    sorted([2, 1], key=lambda value: burn() or value)
    functools.reduce(lambda a, b: burn() or a, [1, 2, 3])
    list(map(recursion, [3, 0]))
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, 4, compare(lambda a, b: burn() or 0))


class Thing:
    def __init__(self):
        burn()

    def __getattr__(self, name):
        burn()
        return name

    def __del__(self):
        burn()

    @property
    def value(self):
        return burn()


def objects():
    thing = Thing()
    thing.value
    thing.other
    del thing


def raises():
    try:
        burn()
        raise ValueError
    finally:
        burn()


def exceptions():
    try:
        raises()
    except ValueError:
        burn()


async def coroutine(n):
    burn()
    await asyncio.sleep(0)
    if n > 0:
        await coroutine(n - 1)
    burn()


def tasks():
    async def both():
        await asyncio.gather(coroutine(2), coroutine(1))
    asyncio.new_event_loop().run_until_complete(both())


def made_code():
    # Code objects that are freed at once, so that the next ones get their addresses.
    for i in range(150):
        names = {"burn": burn, "number": next(MADE)}
        text = "def made_%(number)d():\n  burn(0.1)\nmade_%(number)d()\n" % names
        exec(compile("\n" * (i % 7) + text, "<made %(number)d>" % names, "exec"), names)


def brief():
    begin = CLOCK()
    x = 0
    for i in range(150):
        x += i * i
    BRIEF.append((begin, CLOCK()))


def churn():
    # Functions that live for some microseconds. What is needed of their chains is put together afterwards.
    template = compile("def made():\n  brief()\n", "<churn>", "exec").co_consts[0]
    kinds = [name for name in ("co_name", "co_qualname") if hasattr(template, name)]
    numbers = list(itertools.islice(MADE, 1000))
    for number in numbers:
        code = template.replace(co_firstlineno=number % 1000 + 1, **dict.fromkeys(kinds, "made_%d" % number))
        line = sys._getframe().f_lineno + 1
        types.FunctionType(code, {"brief": brief})()
    _, *lines = chain().split(" ")[0].split(":")
    outer = chain().split(" ", 1)[1]
    for number, (begin, end) in zip(numbers, BRIEF):
        first, place = number % 1000 + 1, (os.path.basename(__file__), brief.__code__.co_firstlineno)
        LOG.append((begin, end, gettid(186), "0:%d:%d:%s " % (first + 1, line, ":".join(lines))
                    + "brief (%s:%d)|made_%d (<churn>:%d)|" % (*place, number, first) + outer))
    BRIEF.clear()


def threads():
    workers = [threading.Thread(target=recursion, args=(n,)) for n in (1, 4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def deep():
    sys.setrecursionlimit(3000)
    recursion(int(os.environ.get("LU_DEPTH", "150")))


def main():
    end = CLOCK() + float(sys.argv[2]) * SECOND
    while CLOCK() < end:
        for kind in (churn,) if sys.argv[3:] else (burn, lambda: recursion(10), lambda: list(delegating()), comprehension, callbacks, objects,
                     exceptions, tasks, made_code, threads, deep):
            kind()
    with open(sys.argv[1], "w") as log:
        for entry in LOG:
            log.write("%d %d %d %s\n" % (entry[0] * 10 ** 9 // SECOND, entry[1] * 10 ** 9 // SECOND, *entry[2:]))


main()
