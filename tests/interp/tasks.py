# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""tasks.py TEXT SECONDS - a program that knows which tasks of asyncio wait for the one that runs; for CPython from 3.14 on.

test_tasks.py runs it from its own TEXT, in which each line where a function here awaits ends with "@". Each kind says
which functions wait while burn() runs in a task, innermost first. Each line of the output is "begin end tid lines
function|function…" as that of chains.py, leaf first, with those that wait, "name [awaits] (file.py:line)", behind the
running task's outermost coroutine. "*" is a line that is not told."""

import asyncio
import contextvars
import ctypes
import itertools
import os
import sys
import threading
import time
import types

LOG = []
WAITERS = contextvars.ContextVar("waiters", default=())
gettid = ctypes.CDLL(None).syscall
group_exit, group_wait = asyncio.TaskGroup.__aexit__, asyncio.TaskGroup._aexit


def awaiting_line(code):
    lines = sys.argv[1].split("\n")
    own = code.co_filename == burn.__code__.co_filename
    return next((n for n, line in enumerate(lines, 1) if own and n >= code.co_firstlineno and line.endswith("@")), "*")


def named(code, mark=""):
    return "%s%s (%s:%d)" % (code.co_qualname, mark, os.path.basename(code.co_filename), code.co_firstlineno)


def described(waiter):
    if isinstance(waiter, str):
        return "*", waiter
    return str(awaiting_line(waiter.__code__)), named(waiter.__code__, " [awaits]")


def outermost():
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return task.get_coro().cr_frame if task else None


def chain():
    frame, entries, task = sys._getframe(1), [], outermost()
    while frame:
        entries.append((str(frame.f_lineno), named(frame.f_code)))
        if frame is task:
            entries += [described(waiter) for waiter in WAITERS.get()]
        frame = frame.f_back
    lines, names = zip(*entries)
    return ":".join(lines) + " " + "|".join(names)


def burn(ms=8):
    begin = time.monotonic_ns()
    end = begin + ms * 1000000
    x = 0
    while time.monotonic_ns() < end:
        for i in range(300):
            x += i * i
    LOG.append((begin, time.monotonic_ns(), gettid(186), chain()))


def waiting(*waiters):
    """Tasks of this coroutine are awaited by these, and by what awaits this one."""
    WAITERS.set((*waiters, *WAITERS.get()))


async def leaf():
    burn()
    await asyncio.sleep(0)
    burn()


async def coroutine():
    await leaf()


async def task():
    waiting(task)
    await asyncio.create_task(coroutine())  # @


async def gathered():
    waiting(gathered)
    await asyncio.gather(leaf(), coroutine())  # @


async def grouped():
    waiting(group_wait, group_exit, grouped)
    async with asyncio.TaskGroup() as group:  # @
        group.create_task(coroutine())
        group.create_task(leaf())


async def in_three():
    waiting(in_three)
    await asyncio.gather(grouped(), task())  # @


async def in_many(n=20):
    waiting(in_many)
    await asyncio.create_task(in_many(n - 1) if n > 0 else leaf())  # @


async def in_time():
    waiting(asyncio.wait_for, in_time)
    await asyncio.wait_for(asyncio.create_task(leaf()), 60)  # @


async def shielded():
    waiting(shielded)
    await asyncio.shield(leaf())  # @


async def all_done():
    waiting(asyncio.tasks._wait, asyncio.wait, all_done)
    await asyncio.wait([asyncio.create_task(leaf())])  # @


async def later(go):
    await go.wait()
    burn()


async def one_more(common):
    await common


async def left(common):
    await common  # @


async def shared():
    go = asyncio.Event()
    WAITERS.set(("[python: awaited by 3 tasks]",))
    common = asyncio.create_task(later(go))
    others = [asyncio.create_task(one_more(common)) for _ in range(2)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(common, *others)


async def shared_before():
    go = asyncio.Event()
    waiting(left, shared_before)
    common = asyncio.create_task(later(go))
    others = [asyncio.create_task(asyncio.wait([common], timeout=0.001)) for _ in range(2)]
    stays = asyncio.create_task(left(common))
    await asyncio.sleep(0)
    await asyncio.wait(others)
    go.set()
    await stays  # @


async def yields():
    waiting(yields, iterates)
    await asyncio.create_task(leaf())  # @
    yield 1


async def iterates():
    async for _ in yields():  # @
        pass


@types.coroutine
def old_style(of):
    return (yield from of.__await__())  # @


class Awaitable:
    def __init__(self, of):
        self.of = of

    def __await__(self):
        return (yield from self.of.__await__())  # @


async def through_generators():
    waiting(old_style, through_generators)
    await old_style(asyncio.create_task(leaf()))  # @


async def through_an_object():
    waiting(Awaitable.__await__, through_an_object)
    await Awaitable(asyncio.create_task(leaf()))  # @


async def begins_at_once(waiters):
    # The function that makes it is on the stack itself.
    WAITERS.set(())
    burn()
    WAITERS.set(waiters)
    await asyncio.sleep(0)
    burn()


async def eager():
    waiting(eager)
    await asyncio.create_task(begins_at_once(WAITERS.get()), eager_start=True)  # @


async def in_a_callback():
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(lambda: (burn(), done.set()))
    await done.wait()


KINDS = (coroutine, task, gathered, grouped, in_three, in_many, in_time, shielded, all_done, shared, shared_before, iterates,
         through_generators, through_an_object, eager, in_a_callback)


async def main():
    # The coroutines of one task: a kind that makes tasks is awaited by this function.
    for kind in itertools.cycle(KINDS):
        WAITERS.set(() if kind is coroutine else (main,))
        await kind()  # @
        if time.monotonic() > END:
            break


END = time.monotonic() + float(sys.argv[2])
worker = threading.Thread(target=lambda: asyncio.run(main()))
worker.start()
asyncio.run(main())
worker.join()
for entry in LOG:
    print("%d %d %d %s" % entry)
