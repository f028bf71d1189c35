// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors
//
// aarch64.s - what compilers write for aarch64, and what they may; aarch64.txt is what `live-unwinder
// tables` says of it.

	.text
	.globl leaf
leaf:
	.cfi_startproc
	ret
	.cfi_endproc

	.globl frame_record
frame_record:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	.cfi_def_cfa_register 29
	str	x19, [sp, 16]
	.cfi_offset 19, -16
	ldr	x19, [sp, 16]
	.cfi_restore 19
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa 31, 0
	ret
	.cfi_endproc

	.globl signed_return
signed_return:
	.cfi_startproc
	hint	25
	.cfi_negate_ra_state
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	.cfi_remember_state
	ldr	x30, [sp], 16
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	hint	29
	.cfi_negate_ra_state
	ret
	.cfi_restore_state
	bl	leaf
	.cfi_endproc

	.globl large
large:
	.cfi_startproc
	sub	sp, sp, 1, lsl 12
	.cfi_def_cfa_offset 4096
	sub	sp, sp, 16, lsl 12
	.cfi_def_cfa_offset 69632
	stp	x29, x30, [sp]
	.cfi_offset 29, -69632
	.cfi_offset 30, -69624
	nop
	.cfi_endproc

	.globl by_other
by_other:
	.cfi_startproc
	.cfi_def_cfa 19, 16
	nop
	.cfi_endproc

	.globl handler_return
handler_return:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 29, 0
	.cfi_offset 29, 0
	.cfi_offset 30, 8
	nop
	.cfi_endproc

	.globl entry
entry:
	.cfi_startproc
	.cfi_undefined 30
	nop
	.cfi_endproc
