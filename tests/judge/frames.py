# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""frames.py - what the mapped file says about one frame of a stack.

Used by the judge.  A frame is a mapping and a stored address, which is the exact pc of the leaf and
of a frame that a signal interrupted, and the return address minus one of every other frame.

Invariant: only the bytes of the ELF file (or of the running kernel's vDSO) decide; what cannot be
read cannot be right.  Everything is asked once for each (file, offset, kind of frame).
"""

import os
import re
from typing import NamedTuple

import calls
import elf
import reach

EXACT, RETURN = "exact", "return"

NOT_CHECKABLE_FILE = "file cannot be read"
NOT_THE_FILE = "file is not the one that was mapped"
NOT_CODE = "address in no executable segment of its file"
NO_CALL = "no call in front of the return address"
OTHER_CALL = "the call in front of the return address leads elsewhere"

NOP = 0x90
# How the first function of a thread ends in musl: exit (what the call returned), by a system call.
THREAD_EXIT = b"\x89\xc7\x31\xc0\xb0\x3c\x0f\x05"
# rt_sigreturn() by its number, to which a signal handler returns where no CFI says so.
RESTORER = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
# xor %rbp,%rbp: the ABI's mark of the outermost frame, at the entry of a dynamic linker.
CLEAR_FP = b"\x48\x31\xed"
SYSCALLS = b"\x0f\x05", b"\xcd\x80"       # syscall, int $0x80

# Go writes no CFI for the ends of its stacks on x86. These functions are where its own run-time
# ends a traceback (topofstack() in runtime/traceback.go): nobody called the first three, and what
# the others run on the scheduler's stack never returns to them. systemstack is none of them: it
# returns to a goroutine whose frames are on another stack.
GO_ROOTS = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall",
            "runtime.morestack"}
# A signal handler puts a call of the first before the interrupted instruction (runtime/preempt.go).
# The second, or its older name, is where a handler returns to, and has no CFI for that.
GO_PREEMPT = {"runtime.asyncPreempt"}
GO_RESTORERS = {"runtime.sigreturn", "runtime.sigreturn__sigaction"}
GO_SECTION = ".go.buildinfo"

# The code that stacks made by hand return to: what makecontext() of glibc puts there (with endbr64
# or without), make_fcontext() of Boost, and clone() of musl.
HAND_MADE_ROOTS = [(re.compile(pattern, re.DOTALL)) for pattern in (
    rb"(\xf3\x0f\x1e\xfa)?\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74",
    rb"\x48\x31\xff\xe8....\xf4",
    rb"\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4")]
HAND_MADE_SIZE = 16


class Frame(NamedTuple):
    """The judgement of one frame; @fault is None when nothing is wrong with it by itself."""
    fault: str
    signal: bool          # a signal frame: its outer neighbour was interrupted, not called
    root: bool            # nothing can be further out
    go_root: bool         # a root only because Go's run-time says so
    anonymous: bool       # code in no file, which cannot be judged
    name: str             # module+offset and symbol, for people


class Module:
    """One file or the vDSO."""

    def __init__(self, name, image, fault=None, anonymous=False):
        self.name, self.image, self.fault, self.anonymous = name, image, fault, anonymous
        self._frames = {}
        self._entry = None
        self._explorer = None
        self._is_go = image is not None and image.section(GO_SECTION) is not None
        if image is not None and (image.is_program
                                  or image.bytes_at(image.entry, len(CLEAR_FP)) == CLEAR_FP):
            self._entry = image.entry_range()

    @property
    def is_loader(self):
        return self.image is not None and os.path.basename(self.name).startswith("ld-")

    @property
    def explorer(self):
        if self._explorer is None:
            self._explorer = reach.Explorer(self.image)
        return self._explorer

    def call_before(self, return_ea):
        """See reach.call_before()."""
        return reach.call_before(self._code_before(return_ea), return_ea, self.explorer,
                                 self.image)

    def frame(self, offset, how):
        key = offset, how
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = self._judge(offset, how)
        return found

    def _judge(self, offset, how):
        name = f"{self.name}+{offset:#x}"
        if self.image is None:
            return Frame(self.fault, False, False, False, self.anonymous, name)
        ea = self.image.fo_to_ea(offset)
        if ea is None:
            return Frame(NOT_CODE, False, False, False, False, name)
        symbol = self.image.symbol_at(ea)
        if symbol is not None:
            name += f" {symbol.name}+{ea - symbol.ea:#x}"
        info = self.image.frame_info(ea)
        if how == EXACT and self._is_in_sigreturn(ea):
            info = self.image.frame_info(ea - 1)
        in_entry = self._entry is not None and self._entry[0] <= ea < self._entry[1]
        go_root = self._is_go_function(ea, symbol, GO_ROOTS)
        signal = info.signal or (how == RETURN and ea == getattr(symbol, "ea", None)
                                 and self._is_go_function(ea, symbol, GO_RESTORERS))
        # A leaf may be at either of its two instructions.
        signal |= any(self.image.bytes_at(ea + at, len(RESTORER)) == RESTORER
                      for at in ((1,) if how == RETURN else (0, -RESTORER.index(SYSCALLS[0]))))
        interrupts = signal or self._is_go_function(ea, symbol, GO_PREEMPT)
        in_clone = how == RETURN and self.image.bytes_at(ea + 1, len(THREAD_EXIT)) == THREAD_EXIT
        root = (info.ra_undefined or in_entry or in_clone
                or (how == RETURN and self._is_first(info, ea + 1)))
        if how == RETURN and self._is_hand_made_root(ea + 1):
            return Frame(None, False, True, False, False, name)
        fault = None
        # The kernel, not a call, makes a signal frame the caller of its handler.
        if how == RETURN and not signal and not self._is_called(ea + 1):
            start = info.start if info.has_fde or not go_root else symbol.ea
            fault = None if self._is_hand_made(ea + 1, start, root or go_root) else NO_CALL
        return Frame(fault, interrupts, root or go_root, go_root and not root, False, name)

    def _is_in_sigreturn(self, ea):
        """Whether a leaf there is still in the system call that ends the signal trampoline.

        The pc is behind the call then, and so behind the trampoline: its frame is still there.
        """
        return (self.image.bytes_at(ea - 2, 2) in SYSCALLS
                and self.image.frame_info(ea - 1).signal)

    def _is_first(self, info, return_ea):
        """Whether the function may be the first one of a stack made by hand: nobody calls it
        directly, and it ends with the call before @return_ea, which therefore never returns. Ruby's
        fibers begin so, with a return address of 0.
        """
        return (info.has_fde and return_ea == info.end and self._is_called(return_ea)
                and info.start not in self.image.call_targets())

    def _is_go_function(self, ea, symbol, names):
        return (self._is_go and symbol is not None and symbol.ea <= ea < symbol.ea + symbol.size
                and symbol.name.removesuffix(".abi0") in names)

    def _is_hand_made_root(self, return_ea):
        code = self.image.bytes_at(return_ea, HAND_MADE_SIZE) or b""
        return any(pattern.match(code) for pattern in HAND_MADE_ROOTS)

    def _is_hand_made(self, return_ea, start, root):
        """Whether this is the root of a stack that was made by hand, and so called by nobody.

        The return address stands behind a nop at the start of a function that has no caller; Go's
        goroutines begin so.
        """
        return (root and return_ea == start + 1
                and self.image.bytes_at(start, 1) == bytes([NOP]))

    def _code_before(self, return_ea):
        for size in range(calls.LONGEST, 1, -1):
            code = self.image.bytes_at(return_ea - size, size)
            if code is not None:
                return code
        return b""

    def _is_called(self, return_ea):
        image = self.image
        mask = (1 << 8 * image.pointer_size) - 1
        return calls.is_behind_call(self._code_before(return_ea), return_ea, image.is_exec_ea, mask)


class Modules:
    """All modules of a capture, found by what their MAP frames say."""

    def __init__(self, vdso32=None):
        self._modules = {}
        self._vdso32 = vdso32

    def of(self, mapping):
        key = mapping.path, mapping.build_id, mapping.inode
        if mapping.path == "[vdso]":
            key = mapping.path, mapping.start >> 32 != 0
        module = self._modules.get(key)
        if module is None:
            module = self._modules[key] = self._open(mapping)
        return module

    def frame(self, mapping, address, how):
        return self.of(mapping).frame(self._offset(mapping, address), how)

    def place(self, mapping, address):
        """(Module, address inside of its ELF file or None)."""
        module = self.of(mapping)
        return module, module.image and module.image.fo_to_ea(self._offset(mapping, address))

    def is_program(self, mapping):
        image = self.of(mapping).image
        return image is not None and image.is_program

    @staticmethod
    def _offset(mapping, address):
        return address - mapping.start + (0 if mapping.path == "[vdso]" else mapping.offset)

    def _open(self, mapping):
        path = mapping.path
        if path == "[vdso]":
            image = elf.running_vdso() if mapping.start >> 32 else self._open_vdso32()
            return Module(path, image, NOT_CHECKABLE_FILE)
        if not path.startswith("/") or path.startswith(("//anon", "/memfd:", "/dev/zero")):
            return Module(path or "(anonymous)", None, anonymous=True)
        try:
            image = elf.Elf(path)
            inode = os.stat(path).st_ino
        except (OSError, elf.ElfError):
            return Module(path, None, NOT_CHECKABLE_FILE)
        same = image.build_id == mapping.build_id if mapping.build_id else (
            mapping.inode in (0, inode))
        return Module(path, image) if same else Module(path, None, NOT_THE_FILE)

    def _open_vdso32(self):
        return elf.Elf(self._vdso32) if self._vdso32 else None
