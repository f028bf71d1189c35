/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-table.h - a table of functions like that of a Go program (.gopclntab), written in assembler:
 * the form of Go 1.20, in a position-independent program. No depths are in it; the functions have
 * CFI. */

#pragma once

/* Before the functions in the section .text, and behind them. */
#define GO_TEXT     ".Lgo_text:\n"
#define GO_TEXT_END ".Lgo_text_end:\n"

#define GO_PLACE(name, n) "  .long " name " - .Lgo_text, .Lgo_entry_" n " - .Lgo_functions\n"
#define GO_ENTRY(name, n, flags)                                                                   \
  ".Lgo_entry_" n ":\n"                                                                            \
  "  .long " name " - .Lgo_text, .Lgo_name_" n " - .Lgo_names, 0, 0, 0, 0, 0, 0, 0, 0\n"           \
  "  .byte 0, " flags ", 0, 0\n"
#define GO_NAME(name, n) ".Lgo_name_" n ": .asciz \"" name "\"\n"

/* places, entries, names: of all functions, in the order of addresses. */
#define GO_TABLE(n_functions, places, entries, names)                                              \
  ".pushsection .go.buildinfo, \"a\"\n"                                                            \
  "  .quad 1\n"                                                                                    \
  ".popsection\n"                                                                                  \
  ".pushsection .data.rel.ro.gopclntab, \"aw\"\n"                                                  \
  "  .balign 32\n"                                                                                 \
  ".Lgo_table: .long 0xfffffff1\n"                                                                 \
  "  .byte 0, 0, 1, 8\n"                                                                           \
  "  .quad " n_functions                                                                           \
  ", 0, .Lgo_text, .Lgo_names - .Lgo_table, 0, 0, .Lgo_depths - .Lgo_table\n"                      \
  "  .quad .Lgo_functions - .Lgo_table\n"                                                          \
  ".Lgo_names:\n" names ".Lgo_depths: .byte 0\n"                                                   \
  ".Lgo_functions:\n" places "  .long .Lgo_text_end - .Lgo_text\n" entries ".popsection\n"
