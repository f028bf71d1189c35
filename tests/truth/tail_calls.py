#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""tail_calls.py TRANSFERS TAILS [--steps N] [--skip MS] [--print] [COMMAND...] - are tail calls named rightly?

A program makes single steps, and a shadow stack follows its calls, returns and jumps (transfers.c).
A jump to the start of another function while only the return address is on the stack is a tail
call. For each pair of a return address and a function that ran there, the functions that ended
with a tail call in between are known, and what symbolize/tail-calls.h finds (tails.c) is compared:
none that it names may be missing there. Without COMMAND a few programs of this machine are
followed, and nearly all have to be named where the call is direct. Of long runs that is more than 95
of 100; a short one sees few, and other builds of these programs have others."""

import bisect
import collections
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import elf  # noqa: E402

PERL = """my %h; for (my $i = 0;; $i++) { my $k = $i % 1000; $h{$k} .= join ",", sort map { $_ * 3 } 1 .. 20;
$h{$k} =~ s/(\\d+),/$1;/g; $h{$i % 7} = lc substr ($h{$i % 7}, 0, 10); $h{$k} = sprintf "%s%d", $k, $i if length $h{$k} > 99 }"""
PYTHON = """import json, re
d = {str(i): [i, i / 3, {'a': None}] for i in range(50)}
while True:
    s = json.dumps(d); json.loads(s); re.sub(r'\\d+', 'x', s); sorted(s.split(','), key=len); d['1'].append(len(s)); d['1'] = d['1'][-5:]"""
SQL = """WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000)
SELECT sum (length (printf ('%d-%s', i, upper (hex (i))))), max (i % 7 || substr ('abcdef', i % 5)) FROM n"""
PROGRAMS = [["perl", "-e", PERL], ["python3", "-c", PYTHON], ["sqlite3", ":memory:", SQL]]
LEAST = 0.85


class Functions:
    """The functions of a file, by the address in it."""

    def __init__(self, path):
        self.elf = elf.Elf(path)
        self.tables = [s for s in self.elf.sections if s.name in (".plt", ".plt.sec", ".plt.got")]
        self.cache = {}

    def is_linkage(self, ea):
        return any(s.ea <= ea < s.ea + s.size for s in self.tables)

    def start(self, ea):
        """The start of the function at @ea; None if it is not known."""
        if ea not in self.cache:
            fde = self.elf.fde(ea)
            symbol = self.elf.symbol_at(ea)
            if symbol is not None and symbol.size and symbol.ea <= ea < symbol.ea + symbol.size:
                self.cache[ea] = symbol.ea, symbol.name
            else:
                self.cache[ea] = (fde.start, "") if fde is not None else (None, "")
        return self.cache[ea][0]

    def name(self, ea):
        return self.start(ea) and self.cache[ea][1]


class Space:
    """The mappings of a process."""

    def __init__(self, lines):
        self.maps, self.files = [], {}
        for line in lines:
            words = line.split(maxsplit=5)
            if "x" in words[1] and len(words) == 6 and words[5].strip().startswith("/"):
                start, end = (int(word, 16) for word in words[0].split("-"))
                self.maps.append((start, end, int(words[2], 16), words[5].strip()))
        self.maps.sort()
        self.starts = [each[0] for each in self.maps]

    def find(self, address):
        """(path, offset in the file) of an address, or None."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0 or address >= self.maps[i][1]:
            return None
        return self.maps[i][3], address - self.maps[i][0] + self.maps[i][2]

    def functions(self, path):
        if path not in self.files:
            self.files[path] = Functions(path)
        return self.files[path]

    def function(self, address):
        """(path, start as an ELF address) of the function at an address; None: not known; False: in a
        linkage table."""
        place = self.find(address)
        if place is None:
            return None
        functions = self.functions(place[0])
        ea = functions.elf.fo_to_ea(place[1])
        if functions.is_linkage(ea):
            return False
        start = functions.start(ea)
        return None if start is None else (place[0], start)

    def is_start(self, address):
        place = self.find(address)
        functions = self.functions(place[0])
        ea = functions.elf.fo_to_ea(place[1])
        return functions.start(ea) == ea and ".cold" not in functions.name(ea)


class Frame:
    def __init__(self, slot, return_address):
        self.slot, self.return_address = slot, return_address
        self.chain, self.is_known = [], True


class Shadow:
    """The truth: pairs (return address, function) -> how often which chain of functions was passed."""

    def __init__(self, space):
        self.space, self.frames = space, []
        self.pairs = collections.defaultdict(collections.Counter)
        self.places = {}            # (return address, function) -> an address in the function

    def pop(self, sp):
        while self.frames and self.frames[-1].slot < sp:
            self.frames.pop()

    def arrive(self, address):
        """Control has come to @address in the innermost frame."""
        frame, function = self.frames[-1], self.space.function(address)
        if function is False or not frame.is_known:
            return
        if function is None:
            frame.is_known = False
            return
        if not frame.chain or frame.chain[-1] != function:
            # The cold part of a function and a loop are no call; where else it went is not known.
            if function in frame.chain or not self.space.is_start(address):
                frame.is_known = bool(frame.chain) and function == frame.chain[-1]
                return
            frame.chain.append(function)
        key = frame.return_address, function
        self.pairs[key][tuple(frame.chain[:-1])] += 1
        self.places[key] = address

    def transfer(self, kind, source, to, sp, after):
        if kind == "c":
            self.pop(sp)
            self.frames.append(Frame(sp - 8, after))
            self.arrive(to)
        elif kind == "r":
            self.pop(sp + 8)
        else:
            self.pop(sp)
            if self.frames and self.frames[-1].slot == sp:
                self.arrive(to)


def follow(transfers, steps, skip, command, file):
    subprocess.run([transfers, file, str(skip), str(steps), *command], check=True)
    with open(file) as lines:
        lines = lines.readlines()
    first = next((i for i, line in enumerate(lines) if line[1] != " "), len(lines))
    shadow = Shadow(Space(lines[first:]))
    for line in lines[:first]:
        kind, *numbers = line.split()
        shadow.transfer(kind, *(int(number, 16) for number in numbers))
    return shadow


def is_direct(space, return_address):
    """Whether the call before a return address is direct, or through a word that names a function."""
    path, offset = space.find(return_address)
    image = space.functions(path).elf
    code = image.data[offset - 6:offset]
    if code[1] == 0xe8:
        target = offset + int.from_bytes(code[2:], "little", signed=True)
        if image.load_of_fo(target) is not None:
            return True
    slot = image.fo_to_ea(offset) + int.from_bytes(code[2:], "little", signed=True)
    return code[:2] == b"\xff\x15" and slot in image.slots


def ask(tails, shadow):
    """What is found for each pair: key -> functions."""
    space, keys, lines = shadow.space, [], []
    for key in shadow.pairs:
        caller, callee = space.find(key[0]), space.find(shadow.places[key])
        if caller and callee:
            keys.append(key)
            lines.append(f"{caller[0]} {caller[1]:x} {callee[0]} {callee[1]:x}\n")
    output = subprocess.run([tails], input="".join(lines), check=True, text=True,
                            stdout=subprocess.PIPE).stdout.splitlines()
    found = {}
    for key, line in zip(keys, output, strict=True):
        found[key] = []
        for word in line.split():
            path, offset = word.rsplit("+", 1)
            functions = space.functions(path)
            found[key].append((path, functions.start(functions.elf.fo_to_ea(int(offset, 16)))))
    return found


def is_right(names, chain):
    """All names are in the chain, in this order, from its first function on."""
    at = iter(chain)
    return not names or (bool(chain) and names[0] == chain[0] and all(name in at for name in names))


def describe(space, function):
    path, start = function
    return f"{os.path.basename(path)}+{start:#x} {space.functions(path).name(start)}".strip()


def compare(shadow, found, prints):
    space, count = shadow.space, collections.Counter()
    for key, names in found.items():
        chains = shadow.pairs[key]
        wrong = not all(is_right(names, chain) for chain in chains)
        has_tail = any(chains)
        direct = is_direct(space, key[0])
        kind = "wrong" if wrong else "none" if not has_tail else (
            "indirect" if not direct else "named" if names else "missed")
        count[kind] += 1
        count["times " + kind] += sum(chains.values())
        count["whole"] += kind == "named" and all(list(chain) == names for chain in chains)
        if prints and kind in ("wrong", "missed"):
            print(f"# {kind}: {space.find(key[0])[0]}+{space.find(key[0])[1]:#x} -> {describe(space, key[1])}; found",
                  [describe(space, name) for name in names], "truth",
                  [[describe(space, each) for each in chain] for chain in chains])
    return count


def judge(name, count):
    tails = count["named"] + count["missed"]
    print(f"# {name}: {sum(count[k] for k in ('wrong', 'none', 'indirect', 'named', 'missed'))} pairs; with a tail call "
          f"after a direct call {tails}, named {count['named']} (the whole chain {count['whole']}), missed {count['missed']};"
          f" after an indirect call {count['indirect']}; wrong {count['wrong']}")
    print(f"# {name}: times passed: named {count['times named']}, missed {count['times missed']}, after an indirect call"
          f" {count['times indirect']}, wrong {count['times wrong']}")
    return count["wrong"] == 0


def main():
    arguments = sys.argv[1:]
    prints = "--print" in arguments
    if prints:
        arguments.remove("--print")
    numbers = {"--steps": 200000, "--skip": 1000}
    for name in numbers:
        if name in arguments:
            at = arguments.index(name)
            numbers[name] = int(arguments[at + 1])
            del arguments[at:at + 2]
    transfers, tails, *command = arguments
    n_failed, total = 0, collections.Counter()
    programs = [command] if command else PROGRAMS
    print(f"1..{len(programs) + 1}")
    for number, program in enumerate(programs, 1):
        if shutil.which(program[0]) is None:
            print(f"ok {number} - {program[0]} # SKIP it is not here")
            continue
        with tempfile.TemporaryDirectory() as directory:
            shadow = follow(transfers, *numbers.values(), program, os.path.join(directory, "transfers"))
            count = compare(shadow, ask(tails, shadow), prints)
        total += count
        is_good = judge(program[0], count)
        print(f"{'' if is_good else 'not '}ok {number} - {program[0]}", flush=True)
        n_failed += not is_good
    is_good = total["named"] >= LEAST * (total["named"] + total["missed"])
    print(f"{'' if is_good else 'not '}ok {len(programs) + 1} - {total['named']} named, {total['missed']} missed")
    n_failed += not is_good
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
