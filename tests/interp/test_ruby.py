#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_ruby.py LIVE_UNWINDER [--seconds N] [--root DIR] [INTERPRETER…] - are the functions of Ruby in each sample the true ones?

Records chains.rb, which knows its own chains, and compares every sample in a time whose chain is known with that
chain: the names, and where each function begins in the source. A sample is exact, without functions (its C frames were
kept), or wrong. Nothing may be wrong. --root DIR: the interpreters are
started there by chroot."""

import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "judge")]
import syscap  # noqa: E402  (found through the line above)
import truth  # noqa: E402

SCRIPT = os.path.join(HERE, "chains.rb")
SHOWN = re.compile(r"(.*?) \((\(.*\)|[^()]*):(\d+)\)$")
OUTER = re.compile(r"^((block( \(\d+ levels\))?|rescue|ensure) in )*")
# 3.4 does not tell these.
UNTOLD = ("rescue in ", "ensure in ")
# 3.4 puts the class before the name: Object#burn.
CLASS = re.compile(r"(?<![<\w])[A-Z][\w:]*[#.]")


def own_names():
    """The functions that chains.rb defines."""
    with open(SCRIPT, encoding="utf-8") as source:
        lines = source.read().split("\n")
    return lines, set(re.findall(r"\bdef ([^\s(]+)", "\n".join(lines))) | {"defined", "<main>"}


LINES, NAMES = own_names()


def own(labels):
    """The labels that are of chains.rb, without the classes before them. Functions in C are not: 2.times."""
    plain = (CLASS.sub("", label) for label in labels)
    return [label for label in plain if OUTER.sub("", label) in NAMES and not label.startswith(UNTOLD)]


def told(functions):
    """The labels as Ruby tells them: what eval() runs has that of its function."""
    labels = []
    for label in reversed(functions):
        labels.insert(0, labels[0] if label == "<compiled>" and labels else label)
    return labels


def begins_there(name, file, line):
    if file != os.path.basename(SCRIPT):
        return True
    text = LINES[max(int(line), 1) - 1]
    base = OUTER.sub("", name)
    if base != name:
        return "{" in text or " do" in text or not name.startswith("block")
    return base.startswith("<") or f"def {base}" in text or f"define_method(:{base})" in text


def judge(capture, times):
    """(exact, without functions, too long to tell; [wrong])."""
    counts, wrong, has_begun = {"exact": 0, "without": 0, "cut": 0}, [], False
    for sample in sorted(capture.samples, key=lambda one: one.time):
        functions = [address for address in sample.user if truth.FIRST <= address < truth.END]
        has_begun |= bool(functions)
        chain = truth.expected(times, sample)[0]
        if chain is None or not has_begun:
            continue
        found = [SHOWN.match(capture.jitmap.get(address, hex(address))) for address in functions]
        if not functions or truth.UNMATCHED_RUBY in functions:
            counts["without"] += 1
        elif None in found:
            wrong.append((chain, [capture.jitmap.get(address) for address in functions]))
        elif own(chain.split("|")) == own(told([one[1] for one in found])) and all(begins_there(*one.groups()) for one in found):
            counts["exact"] += 1
        elif len(sample.addresses) >= 1024:
            counts["cut"] += 1
        else:
            wrong.append((own(chain.split("|")), [one[0] for one in found]))
    return counts, wrong


def test(program, command, seconds, directory, root):
    capture, log = os.path.join(directory, "x.syscap"), "log"
    shutil.copy(SCRIPT, directory)
    inside = "/" + os.path.relpath(directory, root)
    run = subprocess.run([program, "--force", "--stats", "json", "-o", capture, "--", *command,
                          os.path.join(inside, "chains.rb"), os.path.join(inside, log), str(seconds)],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"]
    counts, wrong = judge(syscap.read(capture), truth.read_log(os.path.join(directory, log)))
    n = sum(counts.values()) + len(wrong)
    share = 100.0 * counts["exact"] / max(n, 1)
    print(f"{shlex.join(command)}: {n} samples, {share:.2f} % exact, {counts['without']} without functions, "
          f"{counts['cut']} too long to tell, {len(wrong)} wrong", flush=True)
    problems = [f"expected {chain[:20]}\n  found {found[:20]}" for chain, found in wrong[:3]]
    if n < truth.MIN_SAMPLES and seconds < truth.MAX_SECONDS:
        return problems or test(program, command, 4 * seconds, directory, root)
    if n >= truth.MIN_SAMPLES and share < truth.MIN_EXACT:
        problems.append(f"only {share:.2f} % exact")
    return problems


def main():
    parser = truth.options()
    parser.add_argument("--root", default="/")
    chosen = parser.parse_intermixed_args()
    rubies = [ruby for ruby in chosen.commands or [["/usr/bin/ruby"]] if os.path.exists(chosen.root + ruby[0])]
    commands = rubies if chosen.root == "/" else [["chroot", chosen.root, *ruby] for ruby in rubies]
    truth.main(chosen, commands, lambda *what: test(*what, chosen.root), os.path.join(chosen.root, "tmp"))


if __name__ == "__main__":
    main()
