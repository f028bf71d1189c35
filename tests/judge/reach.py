# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""reach.py - where a call leads to: the function called, and what it may jump on to.

Used by the judge.  A function that ends in a jump leaves its own return address to the next one, so
the callee of a call is the function called or any other that jumps lead to from there: the parts of
a split function, tail calls, thunks, and through a PLT the functions of that name in all files of
the process.  A jump through a register or a variable may lead anywhere, if the return address is on
top of the stack then; else it is a switch inside of the function.

Invariant: False is said only if no such way exists; what cannot be followed is None.
"""

import calls
import decode

MOST_FUNCTIONS = 2000
MOST_INSTRUCTIONS = 20000
PLT = (".plt", ".iplt")
IFUNC = 10

# libgcc's functions that go on in another frame.  Before they do, they copy what that frame has saved
# into their own frame, the return address too (gcc, libgcc/unwind-dw2.c: uw_install_context_1).
INSTALLERS = ("_Unwind_ForcedUnwind", "_Unwind_RaiseException", "_Unwind_Resume",
              "_Unwind_Resume_or_Rethrow")
# Functions that a longjmp() of the same file returns from once more. Its CFI describes that frame as
# soon as it has read the place to go on at into a register (glibc, sysdeps/x86_64/__longjmp.S).
RETURNING_TWICE = ("setjmp", "_setjmp", "__sigsetjmp")


class Reach:
    """All code of one file that a call to one address may lead to."""

    def __init__(self):
        self.extents = set()        # (start, end)
        self.names = set()          # functions that are found by name
        self.anywhere = False

    def contains(self, ea):
        return any(start <= ea < end for start, end in self.extents)


class Explorer:
    """Follows the jumps of one file."""

    def __init__(self, image):
        self._image = image
        self._reaches = {}
        self._plts = [(s.ea, s.ea + s.size) for s in image.sections
                      if s.ea and s.name.startswith(PLT)]
        got = image.section(".got.plt") or image.section(".got")
        self._got = got.ea if got else None

    def reach(self, ea):
        """The Reach of a call to @ea."""
        found = self._reaches.get(ea)
        if found is None:
            found = self._reaches[ea] = Reach()
            self._follow(found, ea)
        return found

    def slot_name(self, slot, base=None, displacement=0):
        """The function whose address the loader puts into a slot; None if nobody can tell."""
        if slot is None and base == 3 and self._got is not None and not self._image.is_64:
            slot = self._got + displacement
        return self._image.slots.get(slot)

    def _follow(self, found, first):
        todo, seen = [first], set()
        while todo and not found.anywhere:
            ea = todo.pop()
            plt = next((p for p in self._plts if p[0] <= ea < p[1]), None)
            if ea in seen or plt is None and found.contains(ea):
                continue
            seen.add(ea)
            if len(seen) > MOST_FUNCTIONS or not self._image.is_exec_ea(ea):
                found.anywhere = True
                continue
            extent = plt or self._extent(ea)
            if extent is not None:
                found.extents.add(extent)
            if plt is not None or extent is None:
                todo += self._walk(found, ea, plt)
            else:
                todo += self._sweep(found, *extent)

    def _extent(self, ea):
        """The function around @ea as CFI or else a symbol tells it."""
        info = self._image.frame_info(ea)
        if info.has_fde:
            return info.start, info.end
        symbol = self._image.symbol_at(ea)
        if symbol is not None and symbol.ea <= ea < symbol.ea + symbol.size:
            return symbol.ea, symbol.ea + symbol.size
        return None

    def _instruction(self, ea):
        for size in range(decode.LONGEST, 0, -1):
            code = self._image.bytes_at(ea, size)
            if code is not None:
                return decode.instruction(code, 0, ea, self._image.is_64), code
        return None, b""

    def _sweep(self, found, start, end):
        """Takes all instructions of a function; returns where jumps leave it to."""
        code = self._image.bytes_at(start, end - start)
        if code is None:
            found.anywhere = True
            return []
        left, at, before, way = [], 0, b"", None
        while at < len(code):
            step = decode.instruction(code, at, start + at, self._image.is_64)
            if step is None:
                at, before = at + 1, b""
                continue
            if step.way in (decode.JUMP, decode.BRANCH):
                if not start <= step.target < end:
                    left.append(step.target)
            elif step.way == decode.INDIRECT:
                self._jump_through(found, start + at, step)
            elif step.way == decode.RETURN:
                found.anywhere |= _writes_return_address(before)
            before, way = code[at:at + step.size], step.way
            at += step.size
        if way in (decode.NEXT, decode.BRANCH):     # the code goes on behind its CFI
            left.append(end)
        return left

    def _walk(self, found, first, plt):
        """Takes the instructions that follow from @first, where nothing tells the function's end;
        returns where jumps leave it to functions whose ends are told."""
        todo, seen, left = [first], set(), []
        while todo:
            ea, before = todo.pop(), b""
            while ea not in seen:
                step, code = self._instruction(ea)
                seen.add(ea)
                if step is None or len(seen) > MOST_INSTRUCTIONS:
                    found.anywhere = True
                    return []
                found.extents.add((ea, ea + step.size))
                if step.way in (decode.JUMP, decode.BRANCH) and plt is None:
                    (todo if self._extent(step.target) is None else left).append(step.target)
                elif step.way == decode.INDIRECT:
                    self._jump_through(found, ea, step)
                elif step.way == decode.RETURN:
                    found.anywhere |= _writes_return_address(before)
                if step.way not in (decode.NEXT, decode.CALL, decode.BRANCH):
                    break
                before = code[:step.size]
                ea += step.size
        return left

    def _jump_through(self, found, ea, step):
        name = self.slot_name(step.slot, step.base, step.displacement)
        info = self._image.frame_info(ea)
        if name is not None:
            found.names.add(name)
        elif not info.has_fde or info.is_entered or any(a <= ea < b for a, b in self._plts):
            found.anywhere = True


def _writes_return_address(code):
    """Whether an instruction in front of a return makes the return a jump: push, mov to (%rsp)."""
    opcode = code[-1:]
    return (len(code) <= 2 and opcode != b"" and 0x50 <= opcode[0] < 0x58
            or code[:1] == b"\x68" or code[-3:-2] == b"\x89" and code[-2] & 0xc7 == 4
            and code[-1] == 0x24)


def _is_installer(image, ea):
    """Whether code at @ea may have another frame's return address on its stack."""
    return image is not None and any(
        s.name in INSTALLERS and s.ea <= ea < s.ea + s.size for s in image.symbols)


def _returning_twice(image, ea):
    """The functions whose return address code at @ea may have in a register, to jump there."""
    if not image.frame_info(ea).ra_in_register:
        return []
    return [s.ea for s in image.symbols if s.name in RETURNING_TWICE]


class Callees:
    """Asks of two neighbours of a stack whether the outer one calls the inner one."""

    def __init__(self, modules):
        self._modules = modules
        self._definers = {}
        self._answers = {}

    def leads(self, pid, space, outer, inner):
        """True, False, or None when that is open; @outer and @inner are addresses as stored."""
        key = pid, space.generation, outer, inner
        if key not in self._answers:
            self._answers[key] = self._leads(pid, space, outer, inner)
        return self._answers[key]

    def lands(self, space, outer, inner):
        """Whether @inner goes on at the landing pad @outer, which nobody called."""
        module, ea = self._modules.place(space.find(outer), outer)
        callee, callee_ea = self._modules.place(space.find(inner), inner)
        return (ea is not None and callee_ea is not None and module.image.is_landing_pad(ea)
                and _is_installer(callee.image, callee_ea))

    def _leads(self, pid, space, outer, inner):
        module, ea = self._modules.place(space.find(outer), outer)
        callee, callee_ea = self._modules.place(space.find(inner), inner)
        if ea is None:
            return None
        target, name = module.call_before(ea + 1)
        if target is None and name is None:
            return None
        if target is not None:
            mapping = space.find(outer + target - ea)
            if mapping is not None and self._modules.of(mapping).anonymous:
                return None if callee.anonymous else False
        def search(wanted):
            todo = [(module, target)] if name is None else []
            return self._search(todo, {name} - {None}, wanted, (pid, space))

        leads = search((callee, callee_ea))
        if leads is False and callee_ea is not None:
            if _is_installer(callee.image, callee_ea):
                return None
            leads = any(search((callee, ea)) is True
                        for ea in _returning_twice(callee.image, callee_ea))
        return leads

    def _search(self, todo, names, wanted, where):
        """Looks for @wanted among all that the addresses @todo and the @names lead to."""
        seen, named = set(), set()
        while todo or names:
            for name in names - named:
                named.add(name)
                if wanted[0].is_loader:     # it is looking for the function
                    return True
                definers = self._find(*where, name)
                if not definers or any(symbol.kind == IFUNC for _, symbol in definers):
                    return None
                todo += [(module, symbol.ea) for module, symbol in definers]
            names = set()
            while todo:
                module, ea = todo.pop()
                if (module, ea) in seen:
                    continue
                seen.add((module, ea))
                reach = module.explorer.reach(ea)
                if reach.anywhere:
                    return None
                if module is wanted[0] and wanted[1] is not None and reach.contains(wanted[1]):
                    return True
                names |= reach.names - named
        return False

    def _find(self, pid, space, name):
        """All functions of that name in the process: [(Module, Symbol)]."""
        key = pid, space.generation, name
        if key not in self._definers:
            modules = {self._modules.of(mapping) for _, _, mapping in space.maps}
            self._definers[key] = [(module, symbol) for module in modules if module.image
                                   for symbol in module.image.exports.get(name, ())]
        return self._definers[key]


def call_before(code, return_ea, explorer, image):
    """(target, name) of the call that ends at @return_ea: one of them, or neither."""
    mask = (1 << 8 * image.pointer_size) - 1
    target = calls.fixed_target(code, return_ea, mask)
    if calls.is_behind_indirect_call(code):
        slot = calls.slot(code, return_ea, image.is_64)
        return None, explorer.slot_name(*slot) if slot and target is None else None
    return (target, None) if target is not None and image.is_exec_ea(target) else (None, None)
