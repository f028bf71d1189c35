# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""calls.py - is the instruction in front of a return address a call?  x86, 64 and 32 bits.

Used by the judge.  x86 cannot be decoded backwards with certainty, so every call that could end at
the return address is tried; prefixes in front of the opcode do not matter then.  The near call with
a displacement must also lead into executable code of the same image, which a chance 0xe8 byte does
not, so that a wrong return address has little chance to pass.
"""

LONGEST = 7


def _indirect_size(code, at):
    """Size of the `ff /2` call at code[at:], or 0 when that is none."""
    if code[at] != 0xff or at + 1 >= len(code):
        return 0
    modrm = code[at + 1]
    mod, reg, rm = modrm >> 6, modrm >> 3 & 7, modrm & 7
    if reg != 2:
        return 0
    if mod == 3:
        return 2
    size = 2
    if rm == 4:
        if at + 2 >= len(code):
            return 0
        size += 1
        if mod == 0 and code[at + 2] & 7 == 5:
            size += 4
    elif mod == 0 and rm == 5:
        size += 4
    if mod == 1:
        size += 1
    elif mod == 2:
        size += 4
    return size


def fixed_target(code, return_ea, address_mask=(1 << 64) - 1):
    """Where a near call that ends at @return_ea leads to; None when no near call can end there."""
    if len(code) < 5 or code[-5] != 0xe8:
        return None
    return return_ea + int.from_bytes(code[-4:], "little", signed=True) & address_mask


def is_behind_indirect_call(code):
    """Whether @code ends with a call through a register or memory."""
    return any(len(code) >= n and _indirect_size(code, len(code) - n) == n for n in (2, 3, 4, 6, 7))


def slot(code, return_ea, is_64):
    """(slot, base register, displacement) of the memory that a call of six bytes goes through.

    None when the call may be another one, or its memory is not told by a displacement.
    """
    if len(code) < 6 or _indirect_size(code, len(code) - 6) != 6 or any(
            _indirect_size(code, len(code) - n) == n for n in (2, 3, 4)):
        return None
    displacement = int.from_bytes(code[-4:], "little", signed=True)
    if code[-5] == 0x15:
        return (return_ea + displacement if is_64 else displacement & 0xffffffff), None, 0
    return None, code[-5] & 7, displacement


def is_behind_call(code, return_ea, is_code, address_mask=(1 << 64) - 1):
    """Whether @code, the bytes that end at @return_ea, ends with a call instruction.

    @is_code tells whether an address of the image is executable code of it.
    """
    target = fixed_target(code, return_ea, address_mask)
    return target is not None and is_code(target) or is_behind_indirect_call(code)
