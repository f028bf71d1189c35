# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""programs.py - the table of workloads: how each is built and started, and what is expected of it.

Used by run.py.  Everything is built into one directory outside the sources, once for each recording
session; a missing tool raises Skip with its name.  The sizes are CPU seconds on the machine where
they were measured and only have to be of the right order elsewhere.
"""

import os
import shutil
import subprocess
from typing import Callable, NamedTuple

import generate

SOURCES = os.path.dirname(os.path.abspath(__file__))

# Where the statistics of the recorder have their totals; the first key that exists counts.
STATS_COMPLETE = ("complete_percent",)
STATS_LOST = ("lost.samples",)
STATS_JOINED = ("joined",)

COMMANDS = 2000
SORT_LINES = 500000

_directory = None


class Skip(Exception):
    """The workload cannot run here; the message says why."""


class Workload(NamedTuple):
    name: str
    goal: float            # least complete %, None for information only
    prepare: Callable      # CPU seconds -> command
    max_rss_mib: int = None


def set_directory(directory):
    global _directory
    _directory = directory


def _path(name):
    return os.path.join(_directory, name)


def _source(name):
    return os.path.join(SOURCES, name)


def _tool(*names):
    """The first of @names that is installed, system directories first; raises Skip."""
    for name in names:
        found = shutil.which(name, path="/usr/bin:/bin") or shutil.which(name)
        if found:
            return found
    raise Skip(f"no {' or '.join(names)}")


def _build(target, command, env=None):
    """Runs @command to make @target in the directory, unless it is there; returns its path."""
    path = _path(target)
    if not os.path.exists(path):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_directory,
                              env={**os.environ, **(env or {})})
        if done.returncode != 0:
            raise Skip(f"cannot build {target}: {done.stderr.strip()[-200:]}")
    return path


def _write(target, text):
    path = _path(target)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def cputime():
    """The wrapper that measures the CPU time of a command."""
    return _build("cputime", [_tool("cc", "gcc"), "-O2", "-o", _path("cputime"),
                              _source("cputime.c")])


def _python(seconds):
    return [_tool("python3"), _source("interpreter.py"), str(seconds)]


def _gcc(seconds):
    source = _write("large.c", c_source_of(seconds))
    return [_tool("gcc"), "-O2", "-c", source, "-o", _path("large.o")]


def c_source_of(seconds):
    return generate.c_source(max(10, int(52 * seconds)))


def _sqlite(seconds):
    tool = _tool("sqlite3")
    with open(_source("queries.sql"), encoding="utf-8") as file:
        text = file.read().replace("@ROWS@", str(max(1000, int(200000 * seconds))))
    return [tool, "-batch", ":memory:", ".read " + _write("queries.sql", text)]


def _sort(seconds):
    tool = _tool("sort")
    source = _path("lines")
    if not os.path.exists(source):
        _write("lines", generate.lines(SORT_LINES))
    return [tool, "--parallel=2", "-k2,2n", "-o", _path("sorted"),
            *[source] * max(1, int(2 * seconds))]


def _perl(seconds):
    return [_tool("perl"), _source("script.pl"), str(seconds)]


def _cxx(seconds):
    return [_build("exceptions", [_tool("g++", "c++"), "-O2", "-o", _path("exceptions"),
                                  _source("exceptions.cc")]), str(seconds)]


def _go(seconds, name="goroutines", options=()):
    env = {"GOCACHE": _path("go-cache"), "GO111MODULE": "off", "CGO_ENABLED": "0", "GOFLAGS": ""}
    return [_build(name, [_tool("go"), "build", *options, "-o", _path(name),
                          _source("goroutines.go")], env), str(seconds)]


def _go_stripped(seconds):
    return _go(seconds, "goroutines-stripped", ["-ldflags=-s -w"])


def _go_garbage(seconds):
    return [*_go(seconds), "garbage"]


def _rust(seconds):
    return [_build("generics", [_tool("rustc"), "-O", "-o", _path("generics"),
                                _source("generics.rs")]), str(seconds)]


def _rustc(seconds):
    source = _write("large.rs", generate.rs_source(1, max(1, int(0.65 * seconds))))
    return [_tool("rustc"), "-O", "-o", _path("large-rs"), source]


def _clang(seconds):
    text = generate.cc_source(max(1, int(0.22 * seconds))) + generate.c_source(int(22 * seconds))
    return _clang_command("large.cc", text)


def _clang_templates(seconds):
    return _clang_command("templates.cc", generate.cc_source(max(1, int(0.7 * seconds))))


def _clang_command(name, text):
    tool = _tool("clang++")
    return [tool, "-O2", "-std=c++17", "-c", _write(name, text), "-o", _path(name + ".o")]


def _bash(seconds):
    count = COMMANDS if seconds >= 3 else max(50, int(COMMANDS * seconds / 3))
    command = _tool("true")
    return [_tool("bash"), "-c", f"for ((i = 0; i < {count}; i++)); do {command}; done"]


def _node(seconds):
    return [_tool("node", "nodejs"), _source("script.js"), str(seconds)]


ALL = [
    Workload("python3", 99.0, _python),
    Workload("gcc", 99.0, _gcc),
    Workload("sqlite3", 99.0, _sqlite),
    Workload("sort", 99.0, _sort),
    Workload("perl", 99.0, _perl),
    Workload("c++", 99.0, _cxx),
    Workload("go", 99.0, _go),
    Workload("go-stripped", 98.0, _go_stripped),
    # The runtime's own work runs on a stack other than the goroutine's that asked for it.
    Workload("go-garbage", None, _go_garbage),
    Workload("rust", 99.0, _rust),
    # Its passes before code generation run above a frame of 540 KB; no copy is that large.
    Workload("rustc", 97.0, _rustc),
    Workload("clang++", 97.0, _clang),
    # Instantiations inside instantiations: stacks of more than the 64 KiB that the kernel copies.
    Workload("templates", None, _clang_templates),
    Workload("bash", 98.0, _bash, 48),
    Workload("node", None, _node),
]
