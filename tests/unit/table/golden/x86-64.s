# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
#
# x86-64.s - one function for each kind of call frame instruction; x86-64.txt is what `live-unwinder
# tables` says of them. A nop has one byte.

	.text
	.globl frame_pointer
frame_pointer:
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	.cfi_def_cfa_register rbp
	nop
	.cfi_offset rbx, -24
	nop
	.cfi_offset r12, -32
	nop
	.cfi_def_cfa rsp, 8
	nop
	.cfi_endproc

	.globl pushes
pushes:
	.cfi_startproc
	nop
	.cfi_adjust_cfa_offset 8
	nop
	.cfi_adjust_cfa_offset 540112
	.cfi_rel_offset rbx, 0
	nop
	.cfi_remember_state
	.cfi_adjust_cfa_offset -540112
	.cfi_restore rbx
	nop
	.cfi_def_cfa_offset 8
	nop
	.cfi_restore_state
	nop
	.cfi_same_value rbx
	nop
	.cfi_undefined rbp
	nop
	.cfi_register rbp, r10
	nop
	.cfi_escape 0x2e, 0x10			# GNU_args_size
	nop
	.cfi_endproc

	.globl realigned
realigned:
	.cfi_startproc
	nop
	.cfi_def_cfa r10, 0
	nop
	.cfi_escape 0x10, 6, 2, 0x76, 0		# rbp at *(rbp+0)
	nop
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06	# CFA = *(rbp-8)
	.cfi_escape 0x10, 3, 2, 0x76, 0x70	# rbx at *(rbp-16)
	nop
	.cfi_def_cfa rbx, 32
	nop
	.cfi_endproc

	.globl by_vfork
by_vfork:
	.cfi_startproc
	nop
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	nop
	.cfi_endproc

	.globl lazy_binding
lazy_binding:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	nop
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	nop
	.cfi_endproc

	.globl restorer
restorer:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 3, 3, 0x77, 0x80, 1
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1, 0x10, 16, 3, 0x77, 0xa8, 1
	nop
	.cfi_endproc
	nop					# no unwind information for this byte

	.globl odd
odd:
	.cfi_startproc
	.cfi_escape 0x14, 6, 2			# val_offset
	nop
	.cfi_escape 0x16, 6, 2, 0x76, 8		# val_expression
	nop
	.cfi_escape 0x0f, 4, 0x76, 0, 0x06, 0x06	# CFA = **rbp
	nop
	.cfi_def_cfa rsp, 8
	.cfi_escape 0x06, 6			# restore_extended
	nop
	.cfi_escape 0x05, 6, 2, 0x11, 3, 3	# offset_extended, offset_extended_sf
	nop
	.cfi_escape 0x12, 6, 0x7e		# def_cfa_sf
	nop
	.cfi_escape 0x13, 0x7c			# def_cfa_offset_sf
	nop
	.cfi_escape 0x2f, 6, 2			# GNU_negative_offset_extended
	.fill 300, 1, 0x90
	.cfi_def_cfa_offset 24			# advance_loc2
	.fill 70, 1, 0x90
	.cfi_def_cfa_offset 32			# advance_loc1
	nop
	.cfi_endproc

	.globl entry
entry:
	.cfi_startproc
	.cfi_undefined rip
	nop
	.cfi_endproc
