#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""sysprofd-tree.py FOLDER - are the call graphs of recordings through sysprofd whole?

FOLDER holds what sysprofd-inside left: NAME.tree is what sysprof-cat printed for NAME.syscap.  In
every workload the process must be named by its command line, and nearly all of its samples must hang
under a function where programs or threads start; the demo must show its functions down to the hot
one, and its system calls with the kernel's functions under the kernel's marker.
"""

import importlib.util
import os
import re
import sys

_spec = importlib.util.spec_from_file_location(
    "tree", os.path.join(os.path.dirname(os.path.abspath(__file__)), "sysprof-tree.py"))
tree = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tree)

ANY = tree.ANY
ROOTS = re.compile(r"(_start|__clone3?|clone3?|_dl_start_user)$")
# Of a short process more is in the dynamic linker and in the kernel's exec and exit, which have no
# user part; the roots of ld.so are called by address where its debug file is missing.
OUTSIDE = re.compile(r"In File .*/ld-linux[^+]*\+|- - Kernel - -|\[.*\]|- - User - -")

# workload: what the command line of its processes begins with, least samples, least share of samples
# with a user part that hang under a root.
WORKLOADS = {
    "demo": ("./demo", 2000, 0.99),
    "python3": ("python3 -c", 1500, 0.99),
    "cc1": ("/usr/libexec/gcc/", 800, 0.99),
    "make": ("/usr/libexec/gcc/", 800, 0.97),
    "commands": ("/bin/true", 80, 0.95),
    "deep": ("./deep 150", 1500, 0.99),
    "threads": ("./deep 20", 3000, 0.99),
}
CHAINS = tree.CHAINS
MODES = 0.0005


def children_of(processes):
    """(root symbol, total) of the top frames of @processes."""
    return [(child.symbol, child.total) for process in processes for child in process.children]


def check_workload(name, graph):
    """Yields what is wrong with one call graph; prints its figures."""
    prefix, least, share = WORKLOADS[name]
    processes = [c for c in graph.children if c.symbol.startswith(prefix)]
    tops = children_of(processes)
    total = sum(n for _, n in tops)
    rooted = sum(n for symbol, n in tops if ROOTS.match(re.sub("@.*", "", symbol)))
    linker = sum(n for symbol, n in tops if symbol.startswith("In File ") and "/ld-linux" in symbol)
    kernel = sum(n for symbol, n in tops if symbol == "- - Kernel - -")
    others = sorted(((n, s) for s, n in tops if not ROOTS.match(re.sub("@.*", "", s))),
                    reverse=True)
    whole = (rooted + linker) / max(1, total - kernel)
    print(f"{name}: {total} samples of {len(processes)} processes, {100 * whole:.2f} % whole"
          f", {kernel} of the kernel alone; others: {others[:4]}")
    if total < least:
        names = sorted({c.symbol[:60] for c in graph.children})
        yield f"{name}: {total} samples, not {least}; processes: {names[:12]}"
    elif whole < share:
        yield f"{name}: {100 * whole:.2f} % of the stacks hang under a root"
    wrong = sum(n.total for p in processes for n in p.walk() if n.symbol.startswith("In Kernel+0x5")
                or n.symbol.startswith("In Kernel+0x7"))
    if wrong:
        yield f"{name}: {wrong} user frames are taken for the kernel's"


def check_demo(graph):
    demo = next((c for c in graph.children if c.symbol.startswith("./demo")), None)
    if demo is None:
        return
    for chain, share in CHAINS:
        found = tree.total_of(demo, chain) / max(1, demo.total)
        print(f"demo: {100 * found:5.1f} % {' > '.join(chain)}")
        if found < share:
            yield f"demo: {' > '.join(chain)}: {100 * found:.2f} %, not {100 * share:.1f} %"


def main(argv):
    problems = []
    for name in WORKLOADS:
        try:
            with open(os.path.join(argv[1], name + ".tree"), encoding="utf-8",
                      errors="replace") as file:
                graph = tree.parse(file.read())
        except (OSError, ValueError) as error:
            problems.append(f"{name}: {error}")
            continue
        problems += check_workload(name, graph)
        if name == "demo":
            problems += check_demo(graph)
    for problem in problems:
        print(f"sysprofd-tree: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
