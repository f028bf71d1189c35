#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test-totals.py - turns meson's test log into the totals that tools/check prints.

    test-totals.py add RESULTS LABEL TESTLOG.JSON [AGAIN.JSON]
                                                    append every test of a meson run to RESULTS
    test-totals.py to-repeat TESTLOG.JSON           print which failed tests are to be repeated
    test-totals.py tap RESULTS NAME STATUS FILE [STATUS FILE]
                                                    append what a program that ended with STATUS
                                                    and speaks TAP wrote to FILE, and when it was repeated
    test-totals.py tap-failed STATUS FILE           succeed if that is a failure
    test-totals.py stage RESULTS pass|fail|skip|disturbed NAME [REASON]
    test-totals.py sum RESULTS                      print skips, failures and the totals line

RESULTS is a text file, one line per test: outcome, name, reason, separated by tabs. A test that
speaks TAP counts once per subtest; if it failed without a failed subtest (crash, time-out, missing
plan) that is one failure more. The end of what each failed test printed is kept beside RESULTS, in
RESULTS.why, and printed with the totals, because the middle of a long log may not be at hand. "sum"
fails when anything failed or when nothing passed: a run of no tests is not a good run.

Tests that record live depend on what else the machine and its neighbours do at that moment. One that
failed is repeated alone: if it passes every time of REPEATS it counts as passed, and the totals name
it as disturbed, with what it wrote when it failed. A fault that shows in every second run still fails
as often as without repeating; one that shows in one of fifty hardly does. More than MOST_REPEATED
failures are no disturbance, and no other suite is repeated.
"""

import json
import os
import re
import sys

TAP_LINE = re.compile(r"^(ok|not ok)\b\s*(\d+)?\s*(?:-\s*)?([^#]*?)\s*(?:#\s*(.*))?$")
TAP_SKIP_ALL = re.compile(r"^1\.\.0\s*#\s*skip\S*\s*(.*)$", re.IGNORECASE)
SKIP = re.compile(r"^skip\S*\s*(.*)$", re.IGNORECASE)
TODO = re.compile(r"^todo\b", re.IGNORECASE)

GOOD = {"OK", "EXPECTEDFAIL"}
LINES_OF_FAILURE = 40
LIVE_SUITES = {"bpf", "cli", "helper", "hostile", "programs"}
REPEATS = 3
MOST_REPEATED = 5


def last_line(test):
    """The reason a test gives for skipping or failing: the last line it printed."""
    for stream in ("stdout", "stderr"):
        lines = [line for line in (test.get(stream) or "").splitlines() if line.strip()]
        if lines:
            return lines[-1].strip()
    return "no reason given"


def tap_results(test):
    """The TAP subtests of one test as (outcome, name, reason); empty if it does not speak TAP."""
    found = []
    output = test.get("stdout") or ""
    for line in output.splitlines():
        whole = TAP_SKIP_ALL.match(line)
        if whole:
            return [("skip", "", whole.group(1) or "no reason given")]
        match = TAP_LINE.match(line)
        if not match:
            continue
        ok, number, name, directive = match.groups()
        name = name or number or "?"
        skip = SKIP.match(directive or "")
        if skip:
            found.append(("skip", name, skip.group(1) or "no reason given"))
        elif ok == "ok" or TODO.match(directive or ""):
            found.append(("pass", name, ""))
        else:
            found.append(("fail", name, directive or ""))
    return found


def results(test):
    """All results of one line of meson's log."""
    status, name = test["result"], test["name"]
    subtests = [(o, f"{name}: {n}" if n else name, r) for o, n, r in tap_results(test)]
    if subtests:
        if status not in GOOD | {"SKIP"} and not any(o == "fail" for o, _, _ in subtests):
            subtests.append(("fail", name, f"{status}: {last_line(test)}"))
        return subtests
    if status in GOOD:
        return [("pass", name, "")]
    if status == "SKIP":
        return [("skip", name, last_line(test))]
    return [("fail", name, f"{status}: {last_line(test)}")]


def clean(text):
    return " ".join(text.split())


def append(path, rows):
    with open(path, "a", encoding="utf-8") as out:
        for outcome, name, reason in rows:
            out.write(f"{outcome}\t{clean(name)}\t{clean(reason)}\n")


def keep_output(path, name, *streams):
    """Keeps the end of what a failed test wrote; lines of passed subtests say nothing about it."""
    with open(path + ".why", "a", encoding="utf-8") as out:
        out.write(f"--- {clean(name)}\n")
        for stream in streams:
            lines = [line for line in (stream or "").splitlines()
                     if line.strip() and not line.startswith("ok ")]
            out.writelines(f"  {line}\n" for line in lines[-LINES_OF_FAILURE:])


def read_log(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def failed(test):
    return any(outcome == "fail" for outcome, _, _ in results(test))


def is_live(test):
    """meson's names are "PROJECT:SUITE+SUITE / TEST"."""
    suites = test["name"].partition(" / ")[0].rpartition(":")[2].split("+")
    return not LIVE_SUITES.isdisjoint(suites)


def to_repeat(log):
    names = [test["name"].rpartition(" / ")[2] for test in read_log(log) if failed(test) and is_live(test)]
    return names if len(names) <= MOST_REPEATED else []


def add(path, label, log, again=None):
    prefix = f"{label}: " if label else ""
    repeated = read_log(again) if again else []
    rows = []
    for test in read_log(log):
        if failed(test):
            keep_output(path, prefix + test["name"], test.get("stdout"), test.get("stderr"))
            runs = [run for run in repeated if run["name"] == test["name"]]
            if is_live(test) and len(runs) == REPEATS and not any(failed(run) for run in runs):
                rows.append(("disturbed", prefix + test["name"], f"passed {REPEATS} times alone"))
                test = runs[-1]
        rows += [(outcome, prefix + name, reason) for outcome, name, reason in results(test)]
    append(path, rows)


def read_tap(name, status, log):
    with open(log, encoding="utf-8", errors="replace") as lines:
        output = lines.read()
    result = {"0": "OK", "77": "SKIP"}.get(status, f"status {status}")
    return {"name": name, "result": result, "stdout": output}


def add_tap(path, name, status, log, *again):
    test = read_tap(name, status, log)
    disturbed = []
    if failed(test):
        keep_output(path, name, test["stdout"])
        if again and not failed(repeated := read_tap(name, *again)):
            disturbed, test = [("disturbed", name, "passed when it was repeated")], repeated
    append(path, disturbed + results(test))


def total(path):
    """Prints the summary of RESULTS; True if it is a good one."""
    rows = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            rows.append(line.rstrip("\n").split("\t"))
    if os.path.exists(path + ".why"):
        with open(path + ".why", encoding="utf-8") as why:
            print(why.read(), end="")
    for outcome, title in (("skip", "skipped"), ("disturbed", "disturbed"), ("fail", "FAILED")):
        for _, name, reason in (row for row in rows if row[0] == outcome):
            print(f"{title}: {name}" + (f" ({reason})" if reason else ""))
    counts = {o: sum(row[0] == o for row in rows) for o in ("pass", "fail", "skip")}
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
    return counts["fail"] == 0 and counts["pass"] > 0


def main(argv):
    match argv[1:]:
        case ["add", path, label, log, *again] if len(again) <= 1:
            add(path, label, log, *again)
        case ["to-repeat", log]:
            print("\n".join(to_repeat(log)))
        case ["tap", path, name, status, log, *again] if len(again) in (0, 2):
            add_tap(path, name, status, log, *again)
        case ["tap-failed", status, log]:
            return 0 if failed(read_tap("", status, log)) else 1
        case ["stage", path, ("pass" | "fail" | "skip" | "disturbed") as outcome, name, *reason]:
            append(path, [(outcome, name, " ".join(reason))])
        case ["sum", path]:
            return 0 if total(path) else 1
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
