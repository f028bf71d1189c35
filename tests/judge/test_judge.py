# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of judge.py: stacks that are right must pass, and each way of being wrong must not.

fixtures/stack.c prints its mappings and true stacks; each test writes them into a capture, spoils
one thing, and knows the verdict.
"""

import io
import json
import os
import platform
import subprocess
import sys
import unittest

import capwriter
import elf
import fixture
import frames
import judge
import syscap

TRUNCATED = capwriter.SYNTHETIC + 1
NO_STACK = capwriter.SYNTHETIC + 13
GAP = capwriter.SYNTHETIC + 0x100
NAMES = {TRUNCATED: "[truncated stack copy]", NO_STACK: "[no user stack in the sample]",
         GAP: "[… frames left out]"}
VARIANTS = {"pie": (), "no pie": ("-no-pie",), "static": ("-static", "-no-pie"),
            "static pie": ("-static-pie",), "32 bits": ("-m32",)}


class Program:
    """Mappings and stacks of one run of fixtures/stack.c."""

    def __init__(self, variant):
        flags = ("-O2", "-g0", "-fasynchronous-unwind-tables", "-pthread", *VARIANTS[variant])
        self.path = fixture.build("stack.c", "stack-" + variant.replace(" ", "-"), *flags)
        self.vdso = self.path + ".vdso"
        self.maps, self.stacks = [], {}
        for line in fixture.run(self.path, self.vdso).splitlines():
            words = line.split()
            if words[0] == "map" and "x" in words[2]:
                start, end = (int(x, 16) for x in words[1].split("-"))
                path = words[6] if len(words) > 6 else ""
                self.maps.append((start, end, int(words[3], 16), path))
            elif words[0] == "stack":
                self.stacks[words[1]] = [int(x, 16) for x in words[2:]]

    def is_signal_frame(self, address):
        """Whether the C library's own symbols or CFI call this the signal trampoline."""
        for start, end, offset, path in self.maps:
            if start <= address < end and path.startswith(("/", "[vdso]")):
                image = elf.Elf(self.vdso if path == "[vdso]" else path)
                return image.frame_info(image.fo_to_ea(address - start + offset)).signal
        return False

    def is_vdso(self, address):
        return any(m[0] <= address < m[1] and m[3] == "[vdso]" for m in self.maps)

    def stored(self, name):
        """The stack as a capture stores it: return addresses minus one, exact pcs as they are."""
        stack = self.stacks[name]
        stored, exact = [], True
        for address in stack:
            stored.append(address if exact else address - 1)
            exact = not exact and self.is_signal_frame(address - 1)
        return stored

    def writer(self, build_ids=True, time=1000):
        w = capwriter.Writer().jitmap(NAMES).process(self.path)
        for start, end, offset, path in self.maps:
            build_id = elf.Elf(path).build_id if build_ids and path.startswith("/") else ""
            w.map(start, end, offset, path, build_id, time=time)
        return w


_programs = {}


def program(variant="pie"):
    if variant not in _programs:
        _programs[variant] = Program(variant)
    return _programs[variant]


def judged(writer, vdso32=None):
    return judge.Judge(syscap.parse(bytes(writer.data)), vdso32=vdso32)


class Verdicts(unittest.TestCase):
    def accept(self, writer, vdso32=None):
        found = judged(writer, vdso32)
        self.assertEqual((found.complete, found.judged), (1, 1), found.report())
        return found

    def refuse(self, writer, reason):
        found = judged(writer)
        self.assertEqual((found.complete, found.judged), (0, 1), found.report())
        self.assertEqual(dict(found.refused), {reason: 1}, found.report())
        return found

    def one(self, stack, **options):
        return program().writer(**options).sample(stack)


class RightStacks(Verdicts):
    def test_real_stacks_of_every_kind_of_program(self):
        for variant in VARIANTS:
            for name in ("main", "signal", "thread"):
                with self.subTest(variant, stack=name):
                    p = program(variant)
                    w = p.writer().sample(p.stored(name), kernel=[1 << 63 | 5])
                    self.accept(w, p.vdso if variant == "32 bits" else None)

    def test_without_the_32_bit_vdso(self):
        p = program("32 bits")
        self.accept(p.writer().sample(p.stored("main")))
        if any(p.is_vdso(a) for a in p.stored("signal")):
            self.refuse(p.writer().sample(p.stored("signal")), frames.NOT_CHECKABLE_FILE)

    def test_without_build_ids(self):
        self.accept(self.one(program().stored("main"), build_ids=False))

    def test_a_signal_interrupted_a_pc_that_is_behind_no_call(self):
        """Without this, the signal test would not show that interrupted frames are stored
        unchanged."""
        p = program()
        stack = p.stored("signal")
        at = next(i for i, a in enumerate(stack) if i > 0 and p.is_signal_frame(a))
        self.assertGreater(at, 1)
        self.assertLess(at, len(stack) - 3)

    @unittest.skipUnless(platform.machine() == "x86_64", "the trampoline's size is known for x86-64")
    def test_a_leaf_in_the_system_call_that_ends_a_signal_frame(self):
        p = program()
        stack = p.stored("signal")
        at = next(i for i, a in enumerate(stack) if i > 0 and p.is_signal_frame(a))
        trampoline = stack[at] + 1      # mov $__NR_rt_sigreturn, %rax; syscall
        self.accept(self.one([trampoline + 9] + stack[at + 1:]))
        self.refuse(self.one([trampoline + 10] + stack[at + 1:]), frames.NO_CALL)

    def test_a_leaf_in_the_32_bit_system_call_that_ends_a_signal_frame(self):
        p = program("32 bits")
        stack = p.stored("signal")
        at = next(i for i, a in enumerate(stack) if i > 0 and p.is_signal_frame(a))
        start, offset, path = next((m[0], m[2], m[3]) for m in p.maps if m[0] <= stack[at] < m[1])
        image = elf.Elf(p.vdso if path == "[vdso]" else path)
        offset = 0 if path == "[vdso]" else offset
        trampoline = image.fo_to_ea(stack[at] + 1 - start + offset)
        behind = image.bytes_at(trampoline, 16).index(bytes.fromhex("cd80")) + 2
        self.assertFalse(image.frame_info(trampoline + behind).signal)
        w = p.writer().sample([stack[at] + 1 + behind] + stack[at + 1:])
        self.accept(w, p.vdso)
        w = p.writer().sample([stack[at] + 2 + behind] + stack[at + 1:])
        self.assertEqual(judged(w, p.vdso).complete, 0)

    def test_own_code_copied_to_large_pages(self):
        """A program that moves the middle of its code to memory is judged by its file."""
        p = program()
        start, end, _, _ = next(m for m in p.maps if m[3] == p.path)
        stack = p.stored("main")

        def remapped(path, first, last):
            return p.writer(build_ids=False).map(first, last, 0, path, time=1500)

        own = [a for a in stack if start <= a < end]
        self.assertGreater(len(own), 2)
        first, last = min(own), max(own) + 1
        w = remapped("", first, last)
        found = self.accept(w.sample(stack))
        self.assertEqual(found.anonymous, 0)
        at = stack.index(own[1])
        spoiled = stack[:at] + [own[1] + 1] + stack[at + 1:]
        w = remapped("", first, last)
        self.refuse(w.sample(spoiled), frames.NO_CALL)
        # Other memory is not taken for the code.
        self.assertEqual(judged(remapped("/dev/zero", first, last).sample(stack)).complete, 0)

    def test_a_leaf_alone_in_the_entry_function(self):
        self.accept(self.one(program().stored("main")[-1:]))

    def test_frames_left_out_in_the_middle(self):
        stack = program().stored("main")
        found = self.accept(self.one(stack[:2] + [GAP] + stack[-3:]))
        self.assertEqual(found.shortened, 1)


class WrongStacks(Verdicts):
    def test_each_return_address_off_by_some_bytes(self):
        for name in ("main", "thread"):
            stack = program().stored(name)
            for at in range(1, len(stack)):
                for shift in (-2, -1, 1, 2):
                    with self.subTest(name, at=at, shift=shift):
                        wrong = list(stack)
                        wrong[at] += shift
                        self.assertEqual(judged(self.one(wrong)).complete, 0)

    def test_reason_of_a_wrong_return_address(self):
        stack = program().stored("main")
        stack[1] += 1
        found = self.refuse(self.one(stack), frames.NO_CALL)
        self.assertEqual(found.examples[0]["frame"], 1)

    def test_raw_return_addresses(self):
        """A capture without the minus one."""
        self.refuse(self.one(program().stacks["main"]), frames.NO_CALL)

    def test_truncated_at_every_length(self):
        for name in ("main", "thread", "signal"):
            stack = program().stored(name)
            for size in range(1, len(stack)):
                with self.subTest(name, size=size):
                    self.refuse(self.one(stack[:size]), judge.NO_ROOT)

    def test_ends_in_main(self):
        p = program("no pie")
        stack = p.stored("main")
        main = next(s for s in elf.Elf(p.path).symbols if s.name == "main")
        at = next(i for i, a in enumerate(stack) if main.ea <= a < main.ea + main.size)
        self.assertLess(at, len(stack) - 1)
        self.refuse(p.writer().sample(stack[:at + 1]), judge.NO_ROOT)

    def test_an_address_outside_every_mapping(self):
        for at in range(len(program().stored("main"))):
            for address in (0, 0x1000, 0xfffffffff0000000):
                with self.subTest(at=at, address=address):
                    stack = program().stored("main")
                    stack[at] = address
                    found = self.refuse(self.one(stack), judge.NO_MAPPING)
                    self.assertEqual(found.leaf_unmapped, at == 0)

    def test_mapping_came_later_than_the_sample(self):
        self.refuse(self.one(program().stored("main"), time=2001), judge.NO_MAPPING)
        self.accept(self.one(program().stored("main"), time=2000))

    def test_a_later_mapping_hides_an_earlier_one_from_its_time_on(self):
        p = program()
        start, end, _, _ = next(m for m in p.maps if m[3] == p.path)
        w = p.writer().map(start, end, 0, "", time=3000)
        self.accept(w.sample(p.stored("main"), time=2999))
        w = p.writer().map(start, end, 0, "", time=3000).sample(p.stored("main"), time=3000)
        self.refuse(w, judge.NO_ROOT)
        w = p.writer().map(end, end + 4096, 0, "", time=1500).sample(p.stored("main"))
        self.accept(w)

    def test_code_in_no_file(self):
        p, anonymous = program(), 0x10000000
        stack = p.stored("main")
        libc = next(i for i, a in enumerate(stack)
                    if any(m[0] <= a < m[1] and "libc" in m[3] for m in p.maps))
        def spoiled(at, n=1):
            stored = stack[:at] + [anonymous + 5] * n + stack[at:]
            return p.writer().map(anonymous, anonymous + 4096, 0, "").sample(stored)
        # libc calls main() through a register, so it may call anything.
        for n in (1, 3):
            self.assertEqual(self.accept(spoiled(libc, n)).anonymous, 1)
        # These functions call only each other.
        for at in range(1, libc):
            self.refuse(spoiled(at), frames.OTHER_CALL)
        self.refuse(spoiled(len(stack)), judge.NO_ROOT)

    def test_other_file_at_the_path(self):
        p = program()
        w = capwriter.Writer().jitmap(NAMES)
        for start, end, offset, path in p.maps:
            w.map(start, end, offset, path, "00" * 20 if path.startswith("/") else "")
        self.refuse(w.sample(p.stored("main")), frames.NOT_THE_FILE)
        w = capwriter.Writer()
        for start, end, offset, path in p.maps:
            inode = os.stat(path).st_ino + (path == p.path) if path.startswith("/") else 0
            w.map(start, end, offset, path, inode=inode)
        self.refuse(w.sample(p.stored("main")), frames.NOT_THE_FILE)

    def test_file_is_gone(self):
        w = capwriter.Writer()
        for start, end, offset, path in program().maps:
            w.map(start, end, offset, path + ".not-there")
        self.refuse(w.sample(program().stored("main")), frames.NOT_CHECKABLE_FILE)

    def test_wrong_offset_of_a_mapping(self):
        p = program()
        w = capwriter.Writer()
        for start, end, offset, path in p.maps:
            w.map(start, end, offset + 0x10000000, path)
        self.refuse(w.sample(p.stored("main")), frames.NOT_CODE)

    def test_data_is_no_code(self):
        p = program()
        image = elf.Elf(p.path)
        data = next(s for s in image.segments if s.kind == elf.PT_LOAD and s.flags & 2)
        w = p.writer().map(0x10000, 0x20000, data.offset & -4096, p.path, image.build_id)
        stack = p.stored("main")
        w.sample([0x10000 + (data.offset & 4095) + 8] + stack[1:])
        self.refuse(w, frames.NOT_CODE)

    def test_signal_frame_taken_out(self):
        """Otherwise the interrupted pc is a return address without a call before it."""
        p = program()
        stack = p.stored("signal")
        at = next(i for i, a in enumerate(stack) if i > 0 and p.is_signal_frame(a))
        self.refuse(self.one(stack[:at] + stack[at + 1:]), frames.NO_CALL)

    def test_synthetic_frames_where_none_may_be(self):
        stack = program().stored("main")
        self.refuse(self.one(stack[:2] + [TRUNCATED] + stack[2:]), judge.SYNTHETIC_INSIDE)
        self.refuse(self.one([GAP] + stack), judge.SYNTHETIC_INSIDE)
        unnamed = capwriter.SYNTHETIC + 0x7777
        self.refuse(self.one(stack[:2] + [unnamed] + stack[2:]), judge.UNNAMED)

    def test_reversed(self):
        self.assertEqual(judged(self.one(program().stored("main")[::-1])).complete, 0)


class GoStacks(Verdicts):
    """Ends of stacks that only Go's run-time knows; addresses of a file that never runs."""

    def stack(self, root, offset, *flags, between=(), leaf=("worker", 0)):
        path = fixture.build("go.S", "go-" + "-".join(f.strip("-") for f in flags), "-nostdlib",
                             "-static", "-no-pie", *flags)
        image = elf.Elf(path)
        symbols = {s.name: s.ea for s in image.symbols}
        code = image.exec_loads[0]
        w = capwriter.Writer().map(code.ea, code.ea + 4096, code.offset, path, image.build_id)
        return w.sample([symbols[leaf[0]] + leaf[1], *(symbols[name] + at for name, at in between),
                         symbols[root] + offset])

    def test_goroutine(self):
        self.assertEqual(self.accept(self.stack("runtime.goexit.abi0", 0, "-DGO")).go_roots, 1)
        self.accept(self.stack("runtime.goexit.abi0", 5, "-DGO"))
        self.accept(self.stack("runtime.mcall", 4, "-DGO"))

    def test_interrupted(self):
        """worker+1 has no call before it."""
        restorer, worker = ("runtime.sigreturn.abi0", 0), ("worker", 1)
        for between in ([("runtime.asyncPreempt.abi0", 4), worker], [restorer, worker]):
            self.accept(self.stack("runtime.goexit.abi0", 0, "-DGO", between=between))
            self.refuse(self.stack("runtime.goexit.abi0", 0, "-DC", between=between), frames.NO_CALL)
        self.refuse(self.stack("runtime.goexit.abi0", 0, "-DGO",
                               between=[("runtime.sigreturn.abi0", 1), worker]), frames.NO_CALL)
        self.refuse(self.stack("runtime.goexit.abi0", 0, "-DGO", between=[worker]), frames.NO_CALL)

    def test_in_a_restorer(self):
        """A leaf there is no function that worker+1 has called."""
        for at in (0, 7):
            self.accept(self.stack("runtime.goexit.abi0", 0, "-DGO", between=[("worker", 1)],
                                   leaf=("restorer", at)))
        self.refuse(self.stack("runtime.goexit.abi0", 0, "-DGO", between=[("worker", 1)],
                               leaf=("restorer", 3)), frames.NO_CALL)

    def test_not_in_the_files_of_others(self):
        self.refuse(self.stack("runtime.goexit.abi0", 0, "-DC"), frames.NO_CALL)
        self.refuse(self.stack("runtime.goexit.abi0", 5, "-DC"), judge.NO_ROOT)

    def test_not_behind_another_instruction(self):
        for offset in (1, 3, 6):
            self.refuse(self.stack("runtime.goexit.abi0", offset, "-DGO"), frames.NO_CALL)

    def test_not_where_the_stack_is_switched(self):
        self.refuse(self.stack("runtime.systemstack.abi0", 4, "-DGO"), judge.NO_ROOT)
        self.refuse(self.stack("worker", 0, "-DGO"), frames.NO_CALL)


class StacksMadeByHand(Verdicts):
    """First functions, without a caller; addresses of a file that never runs."""

    def stack(self, root):
        path = fixture.build("coroutine.S", "coroutine", "-nostdlib", "-static", "-no-pie")
        image = elf.Elf(path)
        symbols = {s.name: s.ea for s in image.symbols}
        code = image.exec_loads[0]
        w = capwriter.Writer().map(code.ea, code.ea + 4096, code.offset, path, image.build_id)
        return w.sample([symbols["worker"], symbols[root] + 5])

    def test_first_function(self):
        self.accept(self.stack("begin"))

    def test_function_that_may_have_a_caller(self):
        self.refuse(self.stack("called"), judge.NO_ROOT)
        self.refuse(self.stack("returns"), judge.NO_ROOT)


class Counting(Verdicts):
    def test_states_and_exclusions(self):
        p = program()
        stack = p.stored("main")
        w = p.writer()
        w.sample(stack).sample(stack[:3] + [TRUNCATED]).sample(stack + [TRUNCATED])
        w.sample([stack[0], NO_STACK]).sample([], kernel=[1 << 63 | 1]).sample(stack[:2])
        found = judged(w)
        self.assertEqual((found.samples, found.with_user, found.judged), (6, 5, 4))
        self.assertEqual(found.complete, 1)
        self.assertEqual(dict(found.incomplete), {"[truncated stack copy]": 2})
        self.assertEqual(found.rooted_but_incomplete, 1)
        self.assertEqual(dict(found.excluded), {"[no user stack in the sample]": 1,
                                                judge.KERNEL_PART_ONLY: 1})
        self.assertEqual(dict(found.refused), {judge.NO_ROOT: 1})
        self.assertEqual(found.percent, 25.0)
        self.assertEqual(found.claimed_percent(), 50.0)
        judge.print_report(found.report(), io.StringIO())

    def test_a_synthetic_frame_without_a_name_is_not_complete(self):
        w = self.one(program().stored("main") + [capwriter.SYNTHETIC + 0x7777])
        self.assertEqual(dict(judged(w).incomplete), {judge.UNNAMED: 1})

    def test_order_in_the_file_does_not_matter(self):
        p = program()
        w = capwriter.Writer().sample(p.stored("main"))
        for start, end, offset, path in p.maps:
            w.map(start, end, offset, path)
        self.accept(w)

    def test_nothing_is_not_all(self):
        self.assertEqual(judged(program().writer()).percent, 0.0)


class CommandLine(unittest.TestCase):
    def run_judge(self, writer, *args):
        capture = writer.save(fixture.path("test.syscap"))
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge.py")
        return subprocess.run([sys.executable, script, capture, *args], capture_output=True,
                              text=True, check=False)

    def test_exit_status(self):
        p = program()
        stack = p.stored("main")
        w = p.writer().sample(stack).sample(stack[:2])
        self.assertEqual(self.run_judge(w).returncode, 0)
        self.assertEqual(self.run_judge(w, "--min-complete", "50").returncode, 0)
        self.assertEqual(self.run_judge(w, "--min-complete", "50.1").returncode, 1)
        self.assertEqual(self.run_judge(w, "--min-samples", "3").returncode, 1)
        self.assertEqual(self.run_judge(p.writer(), "--min-complete", "0").returncode, 1)
        w.sample([], kernel=[1 << 63 | 1])
        self.assertEqual(self.run_judge(w, "--max-excluded", "34").returncode, 0)
        self.assertEqual(self.run_judge(w, "--max-excluded", "33").returncode, 1)
        w.data[256] = 7
        self.assertEqual(self.run_judge(w).returncode, 2)

    def test_only_some_processes(self):
        p = program()
        w = p.writer().sample(p.stored("main")).process("/bin/other x", pid=2)
        w.sample(p.stored("main"), pid=2)
        for args, count in (((), 2), (("--comm", "other"), 1), (("--comm", "bin"), 0),
                            (("--cmdline", "other x"), 1), (("--pid", "1"), 1)):
            with self.subTest(args):
                done = self.run_judge(w, "--json", *args)
                self.assertEqual(json.loads(done.stdout)["samples"], count)


if __name__ == "__main__":
    fixture.main()
