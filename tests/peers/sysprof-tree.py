#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""sysprof-tree.py TREE CAPTURE COMMAND [DEMO] - is the call graph of tests/demo/demo.c what it must be?

TREE is what "sysprof-cat --no-metadata --no-counters --no-marks" printed for CAPTURE, a recording of
the program under the command line COMMAND; DEMO is the path its mapping has. The graph must name the
process by its command line, every function from _start to the hot one, the kernel's functions, and
hold every sample of the capture.

sysprof-tree.py --same TREE REPORT - does the graph have the functions and shares of
"live-unwinder report --json --full-names" for the same capture? Functions of one name are one.

Used by sysprof-chroot; --self-test checks the checker."""

import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../judge"))
import syscap  # noqa: E402

LINE = re.compile(r'^\s*(?:(node) \{|symbol: "(.*)",|(self|total): (\d+),?|\})\s*$')
ANY = "…"

# The chains that must be in the graph, root first; ANY is any number of frames. The share is of all
# samples: a lower bound that leaves room for other machines.
CHAINS = [
    (["_start", ANY, "main", "process_book", "process_chapter", "count_words", "hash_word"], 0.15),
    (["_start", ANY, "main", "process_book", "process_chapter", "sort_words", ANY,
      "compare_words"], 0.01),
    (["_start", ANY, "main", "process_book", "process_chapter", "read_noise", ANY,
      "- - Kernel - -", ANY, "ksys_read"], 0.005),
]
MIN_SAMPLES = 1000


class Node:
    def __init__(self):
        self.symbol, self.self_count, self.total, self.children = "", 0, 0, []

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


def parse(text):
    """The root node of sysprof-cat's text; ValueError if there is none."""
    holder, stack = Node(), []
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        opened, symbol, key, value = match.groups()
        if opened:
            node = Node()
            (stack[-1] if stack else holder).children.append(node)
            stack.append(node)
        elif not stack:
            continue
        elif symbol is not None:
            stack[-1].symbol = symbol
        elif key == "self":
            stack[-1].self_count = int(value)
        elif key == "total":
            stack[-1].total = int(value)
        else:
            stack.pop()
    if len(holder.children) != 1:
        raise ValueError(f"{len(holder.children)} call graphs in the text")
    return holder.children[0]


def same(symbol, name):
    """Symbol versions and GCC's suffixes do not matter."""
    return re.sub(r"@.*|\.(isra|part|constprop|cold).*", "", symbol) == name


def total_of(node, chain):
    """Samples in the subtrees that are reached from below `node` by `chain`."""
    if not chain:
        return node.total
    if chain[0] == ANY:
        return total_of(node, chain[1:]) + sum(total_of(c, chain) for c in node.children)
    return sum(total_of(child, chain[1:]) for child in node.children
               if same(child.symbol, chain[0]))


def check(root, n_samples, command, demo):
    """Returns everything that is wrong with the graph, as a list of sentences."""
    problems = []
    if n_samples < MIN_SAMPLES:
        problems.append(f"only {n_samples} samples in the capture")
    if root.total != n_samples:
        problems.append(f"the graph holds {root.total} of {n_samples} samples")
    process = next((c for c in root.children if c.symbol == command), None)
    if process is None:
        names = [child.symbol for child in root.children]
        return problems + [f"no process named {command!r}, but {names}"]
    for chain, share in CHAINS:
        found = total_of(process, chain) / max(n_samples, 1)
        if found < share:
            problems.append(f"{' > '.join(chain)}: {found:.2%} of the samples, not {share:.1%}")
    nodes = list(root.walk())
    for node in nodes:
        if node.symbol.startswith("In Kernel+"):
            problems.append(f"a kernel function without a name: {node.symbol}")
    # Frames without a symbol in the program itself are in its PLT; there are few of them.
    nameless = sum(n.self_count for n in nodes if n.symbol.startswith(f"In File {demo}+"))
    if nameless > n_samples * 0.05:
        problems.append(f"{nameless} samples in the program have no name")
    return problems


def shares(root):
    """Returns name -> [self, total] of what is below the processes; recursion counts once."""
    found = collections.defaultdict(lambda: [0, 0])

    def add(node, callers):
        found[node.symbol][0] += node.self_count
        found[node.symbol][1] += 0 if node.symbol in callers else node.total
        for child in node.children:
            add(child, callers | {node.symbol})

    for process in root.children:
        for child in process.children:
            add(child, frozenset())
    return found


def differences(root, report):
    """Returns a sentence for each function that is not the same in both."""
    rows = collections.defaultdict(list)
    for row in report["functions"]:
        rows[row["name"]].append(row)
    graph = shares(root)
    # The report lists ends of stacks apart, and "- - Kernel - -" is Sysprof's own.
    own = {name for name in graph if name.startswith(("[", "- -")) and name not in rows}
    for name in sorted(rows.keys() | graph.keys() - own):
        here, there = sum(row["self"] for row in rows[name]), graph[name][0]
        if here != there:
            yield f"{name}: self {here} in the report, {there} in Sysprof"
        elif len(rows[name]) == 1 and rows[name][0]["total"] != graph[name][1]:
            yield f"{name}: total {rows[name][0]['total']} in the report, {graph[name][1]} in Sysprof"


def compare(tree, report):
    with open(tree, encoding="utf-8") as stream:
        root = parse(stream.read())
    with open(report, encoding="utf-8") as stream:
        report = json.load(stream)
    found = list(differences(root, report))
    for problem in found[:20]:
        print(f"sysprof-tree: {problem}")
    print(f"sysprof-tree: {len(report['functions'])} functions, {len(found)} differ")
    return 1 if found or not report["functions"] else 0


def node_text(symbol, total, *children, self_count=0):
    inner = "".join(children)
    return (f'node {{\n  symbol: "{symbol}",\n  self: {self_count},\n  total: {total}'
            f'{"," if inner else ""}\n{inner}}}\n')


def chain_text(names, total):
    text = ""
    for name in reversed(names):
        text = node_text(name, total, text)
    return text


def self_test_text(hot="hash_word", kernel="ksys_read", process="./demo 2", total=1500):
    hot_chain = ["_start", "__libc_start_main@@GLIBC_2.34", "main", "process_book",
                 "process_chapter", "count_words", hot]
    sort = hot_chain[:5] + ["sort_words", "qsort_r", "compare_words"]
    read = hot_chain[:5] + ["read_noise", "__read", "- - Kernel - -", "do_syscall_64", kernel]
    graph = node_text("All Processes", total, node_text(
        process, 1500, chain_text(hot_chain, 1000), chain_text(sort, 300), chain_text(read, 200)))
    return 'document {\n  title: "x";\n  callgraph {\n' + graph + "}\n}\n"


def self_test():
    good = check(parse(self_test_text()), 1500, "./demo 2", "/d/demo")
    assert good == [], good
    bad = {"hash_word:": {"hot": "In File /d/demo+0x10"}, "without a name": {"kernel": "In Kernel+"},
           "no process": {"process": "Process 12"}, "holds 1400": {"total": 1400}}
    for complaint, change in bad.items():
        text = self_test_text(**change)
        problems = check(parse(text), 1500, "./demo 2", "/d/demo")
        assert any(complaint in p for p in problems) or complaint == "hash_word:" and any(
            "hash_word: 0.00%" in p for p in problems), (complaint, problems)
    assert any("only 15" in p for p in check(parse(self_test_text()), 15, "./demo 2", "/d/demo"))
    try:
        parse("document {\n}\n")
        raise AssertionError("a text without call graph was accepted")
    except ValueError:
        pass
    same = parse('document {\n  callgraph {\n' + node_text("All Processes", 3, node_text(
        "x", 3, node_text("f", 3, node_text("f", 2, self_count=2), self_count=1))) + "}\n}\n")
    for own, total, n in (3, 3, 0), (2, 3, 1), (3, 5, 1):
        row = {"name": "f", "self": own, "total": total}
        assert len(list(differences(same, {"functions": [row]}))) == n, row
    print(f"self-test: {len(bad) + 4} wrong graphs refused")
    return 0


def main(argv):
    if argv[1:] == ["--self-test"]:
        return self_test()
    if argv[1] == "--same":
        return compare(argv[2], argv[3])
    with open(argv[1], encoding="utf-8") as stream:
        root = parse(stream.read())
    samples = syscap.read(argv[2]).samples
    problems = check(root, len(samples), argv[3], argv[4] if len(argv) > 4 else argv[3])
    for problem in problems:
        print(f"sysprof-tree: {problem}")
    if not problems:
        print(f"sysprof-tree: {len(samples)} samples, {sum(1 for _ in root.walk())} nodes, all named")
        for chain, _ in CHAINS:
            print(f"  {total_of(root.children[0], chain):6} {' > '.join(chain)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
