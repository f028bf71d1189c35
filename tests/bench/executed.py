#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""executed.py [OPTION]... BUILD... - how many instructions a walk in the kernel executes.

    tests/bench/executed.py --sysroot _build/cross/aarch64/sysroot _build/check _build/aarch64

Used by hand. Each BUILD, for x86-64 or aarch64, runs in an emulated machine whose clock advances by
1 ns with each instruction, so the kernel's statistics of the time that a BPF program took
(bpf_enable_stats()) are counts of the machine's instructions, the kernel's helpers included. They do
not depend on caches or on this machine, and say nothing about time. The program walks the stacks of
the tower at two depths, with remembered rules and without. Prints a JSON line for each build: the
instructions of a walk at each depth, of a frame (the difference), and those that the verifier
processed; and one line with the last build's figures as multiples of the first one's."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/vm"))

import guest  # noqa: E402
import kernels  # noqa: E402

DEPTHS = (9, 121)
VARIANTS = {"remembered": [], "looked up": ["--no-cache"]}
# Times by the guest's clock.
PERIOD_NS, TIME_MS, WAIT_MS = 1000003, 300, 100
TIME_LIMIT = 900
MEMORY_MIB = 1024


def machine_of(build):
    """The emulated machine for the programs of a build."""
    text = subprocess.run(["readelf", "-h", build / "tests/bpf/bench-walk"], capture_output=True, text=True,
                          check=True).stdout
    return guest.AARCH64 if "AArch64" in text else guest.X86_64


def name_of(variant, depth):
    """The guest's name of a measurement: one word."""
    return f"{variant.replace(' ', '-')}-{depth}"


def tests_of(build):
    """Returns the commands of the guest: name -> words."""
    walk, tower = (str(build / "tests/bpf" / name) for name in ("bench-walk", "tower"))
    return {name_of(variant, depth): [
        walk, "--wait", str(WAIT_MS), "--time", str(TIME_MS), "--period", str(PERIOD_NS), *options, "--", tower,
        str(depth)] for variant, options in VARIANTS.items() for depth in DEPTHS}


def figures_in(results, name):
    said = results.get(f"{name}.tap", b"").decode(errors="replace")
    figures = guest.stats_in(said)
    if figures is None:
        raise guest.GuestError(f"{name}: {said.strip()}")
    return figures


def measure(build, kernel, machine, sysroot):
    """The figures of one build."""
    programs = [build / "tests/bpf" / name for name in ("bench-walk", "tower")]
    root = sysroot if machine is not guest.X86_64 else ""
    archive = guest.begin(programs[0], programs[1:], {}, tests_of(build), machine, root).finish()
    with tempfile.TemporaryDirectory(prefix="live-unwinder-executed-") as directory:
        initramfs = Path(directory) / "initramfs"
        initramfs.write_bytes(archive)
        results = guest.run(kernel, initramfs, Path(directory), TIME_LIMIT, machine, MEMORY_MIB,
                            cpus=guest.COUNTING_CPU)
    line = {"machine": machine.name, "kernel": results["release"].decode().strip()}
    for variant in VARIANTS:
        low, high = (figures_in(results, name_of(variant, depth)) for depth in DEPTHS)
        line["verified"] = low["verified"]
        line[variant] = {
            "runs": [low["runs"], high["runs"]],
            "frames": [round(low["frames"], 2), round(high["frames"], 2)],
            "per walk": [round(low["ns_per_run"]), round(high["ns_per_run"])],
            "per frame": round((high["ns_per_run"] - low["ns_per_run"]) / (high["frames"] - low["frames"]), 1),
        }
    return line


def multiples(first, last):
    return {"multiples": {"verified": round(last["verified"] / first["verified"], 2),
                          **{variant: {"per walk": [round(b / a, 2) for a, b in zip(first[variant]["per walk"],
                                                                                   last[variant]["per walk"],
                                                                                   strict=True)],
                                       "per frame": round(last[variant]["per frame"] / first[variant]["per frame"], 2)}
                             for variant in VARIANTS}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=ROOT / "_build/vm", help="directory in which the kernels stay")
    parser.add_argument("--series", default="6.12", help="of the kernel; one of tests/vm/kernels.py")
    parser.add_argument("--sysroot", default="", help="the system with the libraries of aarch64 (tools/cross)")
    parser.add_argument("build", nargs="+", type=Path)
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    series = next(series for series in kernels.SERIES if series.name == arguments.series)
    lines = []
    try:
        for build in arguments.build:
            machine = machine_of(build)
            kernel = kernels.get(series, arguments.cache.resolve(), machine.debian)
            lines.append(measure(build.resolve(), kernel, machine, arguments.sysroot))
            print(json.dumps(lines[-1]), flush=True)
    except (kernels.NoKernel, guest.GuestError) as error:
        sys.exit(f"executed.py: {error}")
    if len(lines) > 1:
        print(json.dumps(multiples(lines[0], lines[-1])))


if __name__ == "__main__":
    main()
