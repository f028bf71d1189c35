#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""sysprofd-tree.py DIRECTORY - are the call graphs of recordings through sysprofd whole and named?

DIRECTORY holds what sysprofd-inside left: NAME.tree is what sysprof-cat printed for NAME.syscap.  In
every workload the process must be named by its command line, the judge must find nearly all of its
stacks complete, and no user frame may stand under the kernel's marker; the demo must show its
functions down to the hot one, and its system calls with the kernel's functions.  Runs inside the
chroot, whose files the captures name.
"""

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.util.spec_from_file_location("tree", os.path.join(HERE, "sysprof-tree.py"))
tree = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tree)
sys.path.insert(0, os.path.join(HERE, "..", "helper"))
import captures  # noqa: E402  (needs the path above)

# workload: what the command line of its processes begins with and holds (the recording is of the whole
# machine), their short name, least samples, least complete % by the judge.
WORKLOADS = {
    "demo": ("./demo", "", "demo", 2000, 99.5),
    "python3": ("python3 -c", "json", "python3", 1500, 99.5),
    "cc1": ("/usr/libexec/gcc/", "large.c", "cc1", 800, 99.5),
    "make": ("/usr/libexec/gcc/", "small", "cc1", 800, 99.0),
    # They live for 2 ms: most are named by the path of the program.
    "commands": (("./brief", "/"), "/brief", "brief", 80, 98.0),
    "deep": ("./deep 150", "", "deep", 1500, 99.5),
    "threads": ("./deep 20", "", "deep", 3000, 99.5),
}


def processes_of(name, graph):
    """(nodes of the workload's processes, fault or None)."""
    prefix, word, short, _, _ = WORKLOADS[name]
    found = [c for c in graph.children if c.symbol.startswith(prefix) and word in c.symbol]
    if found:
        return found, None
    found = [c for c in graph.children if c.symbol == short]
    return found, f"no process is named by its command line, {len(found)} by the short name"


def judge(name, path):
    """The judge's report on the workload's processes."""
    prefix, word, short, _, _ = WORKLOADS[name]
    stream = captures.read(path)
    pids = {p.pid for p in stream.capture.processes
            if p.cmdline.startswith(prefix) and word in p.cmdline}
    # Other processes of that name may run on the machine, with files that the judge cannot read.
    pids = pids or {p.pid for p in stream.capture.processes if p.cmdline == short}
    return captures.judge.Judge(stream.capture, lambda s: s.pid in pids).report()


def check_workload(name, graph, path):
    """Yields the problems of one recording; prints its figures."""
    _, _, _, least, complete = WORKLOADS[name]
    processes, fault = processes_of(name, graph)
    if fault:
        yield fault
    report = judge(name, path)
    total = sum(p.total for p in processes)
    kernel = sum(n.total for p in processes for n in p.walk() if n.symbol == "- - Kernel - -")
    print(f"{name}: {total} samples of {len(processes)} processes in the graph, {kernel} with a kernel "
          f"part; {report['complete_percent']:.2f} % complete of {report['judged']} judged, refused "
          f"{report['refused']}, incomplete {report['incomplete']}")
    if total < least:
        yield f"{total} samples, not {least}"
    if report["complete_percent"] < complete:
        yield f"{report['complete_percent']:.2f} % of the stacks are complete, not {complete} %"
    if not kernel:
        yield "no samples of kernel mode"
    wrong = sum(n.total for p in processes for n in p.walk()
                if n.symbol.startswith(("In Kernel+0x5", "In Kernel+0x7")))
    if wrong:
        yield f"{wrong} user frames are taken for the kernel's"


def check_demo(graph):
    demo = next((c for c in graph.children if c.symbol.startswith(("./demo", "demo"))), None)
    for chain, share in tree.CHAINS if demo else ():
        found = tree.total_of(demo, chain) / max(1, demo.total)
        print(f"demo: {100 * found:5.1f} % {' > '.join(chain)}")
        if found < share:
            yield f"{' > '.join(chain)}: {100 * found:.2f} %, not {100 * share:.1f} %"


def check(name, directory):
    path = os.path.join(directory, name)
    try:
        with open(path + ".tree", encoding="utf-8", errors="replace") as file:
            graph = tree.parse(file.read())
        yield from check_workload(name, graph, path + ".syscap")
    except (OSError, ValueError, captures.syscap.SyscapError) as error:
        yield str(error)
        return
    if name == "demo":
        yield from check_demo(graph)


def main(argv):
    problems = [f"{name}: {problem}" for name in WORKLOADS for problem in check(name, argv[1])]
    for problem in problems:
        print(f"sysprofd-tree: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
