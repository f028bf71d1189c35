/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* row.h - the unwind table: rules, the layout of rows, and the look-up of a row.
 *
 * The compiler (src/table) writes tables; the table engine, the BPF program, the dump and fuzzers
 * read them. The rows of a module are sorted by address; a row holds from its address to that of
 * the next row. docs/unwind-table.md describes the bytes. */

#pragma once

#include <stdint.h>

/* The ways to compute the canonical frame address (CFA: the caller's stack pointer). SP, FP and BX
 * are registers that each architecture chooses (src/arch); not all have a BX. */
enum lu_cfa_kind
{
  LU_CFA_NONE,     /* nothing is known here; rule 0 of every table */
  LU_CFA_SP,       /* cfa = sp + cfa_off */
  LU_CFA_FP,       /* cfa = fp + cfa_off */
  LU_CFA_BX,       /* cfa = bx + cfa_off */
  LU_CFA_PLT,      /* cfa = sp + cfa_off + ((pc & 15) >= aux ? 8 : 0) */
  LU_CFA_DEREF_SP, /* cfa = *(sp + aux) + cfa_off */
  LU_CFA_DEREF_FP, /* cfa = *(fp + aux) + cfa_off */
  LU_CFA_REGISTER, /* cfa = DWARF register aux + cfa_off; only where all registers are known */
  LU_CFA_COMPLEX,  /* none of these; rule 1 of every table */
  /* Only in the kernel, whose walk first finds the stack pointer of a goroutine that has moved to
   * another stack (bpf/walk-go.h, src/elf/go-switch.h): cfa = that + cfa_off */
  LU_CFA_GO_SCHED, /* aux, bx_off, ra_off: where g.sched is */
  LU_CFA_GO_SLOTS, /* bx_off, ra_off: slots of the frame */
  LU_N_CFA_KINDS
};

/* The location of the caller's FP or BX. */
enum lu_save_kind
{
  LU_SAVE_SAME,    /* still in the register */
  LU_SAVE_AT_CFA,  /* *(cfa + 8 * off) */
  LU_SAVE_AT_SP,   /* *(sp + 8 * off) */
  LU_SAVE_AT_FP,   /* *(fp + 8 * off), fp being that of this frame */
  LU_SAVE_UNKNOWN, /* undefined, or not expressible here: the caller's value is not known */
};

/* The location of the return address. */
enum lu_ra_kind
{
  LU_RA_AT_CFA,   /* *(cfa + 8 * ra_off) */
  LU_RA_AT_SP,    /* *(sp + 8 * ra_off) */
  LU_RA_AT_FP,    /* *(fp + 8 * ra_off) */
  LU_RA_END,      /* undefined: this is the outermost frame */
  LU_RA_LINK,     /* in the link register, as long as it is known */
  LU_RA_REGISTER, /* in DWARF register aux; only where all registers are known */
};

enum lu_rule_flags
{
  LU_RULE_SIGNAL = 1 << 0,   /* the caller was interrupted: its pc is exact, its sp anywhere */
  LU_RULE_UCONTEXT = 1 << 1, /* the kernel keeps all registers of the caller above sp */
  LU_RULE_SIGNED = 1 << 2,   /* the return address carries an authentication code */
  LU_RULE_SIGFRAME =
      1 << 3, /* like UCONTEXT, and the caller's link register is *(sp + 8 * bx_off) */
  LU_RULE_LANDING = 1 << 4, /* a register is saved as only functions do that go on at a landing pad:
                               the frame may have been written over */
  LU_RULE_DERIVED = 1 << 5, /* not from CFI: the step has to be verified */
  LU_RULE_SWITCH = 1 << 6,  /* the caller is on another stack: its sp is anywhere */
  LU_RULE_ALL_FLAGS = 127
};

/*  0       4     6      8      10     12    13     14    15
 *  | cfa_off | aux | fp_off | bx_off | ra_off | cfa | saves | ra | flags |
 * cfa_off has 32 bits because frames of 540 KB exist. */
struct lu_rule
{
  int32_t cfa_off;
  int16_t aux;
  int16_t fp_off, bx_off, ra_off; /* in words of 8 bytes */
  uint8_t cfa_kind;               /* enum lu_cfa_kind */
  uint8_t saves;                  /* enum lu_save_kind: of FP in bits 0-3, of BX in bits 4-7 */
  uint8_t ra_kind;                /* enum lu_ra_kind */
  uint8_t flags;                  /* enum lu_rule_flags */
};

_Static_assert(sizeof (struct lu_rule) == 16, "four rules to a cache line");

/* Returns the kind of FP, or of BX if is_bx is 1. */
static inline enum lu_save_kind
lu_rule_save_kind (const struct lu_rule *rule, uint64_t is_bx)
{
  return (enum lu_save_kind) (rule->saves >> 4 * is_bx & 15);
}

static inline enum lu_save_kind
lu_rule_fp_kind (const struct lu_rule *rule)
{
  return lu_rule_save_kind (rule, 0);
}

static inline enum lu_save_kind
lu_rule_bx_kind (const struct lu_rule *rule)
{
  return lu_rule_save_kind (rule, 1);
}

/* Rule ids that mean the same in every table. */
enum
{
  LU_RULE_NONE = 0,
  LU_RULE_COMPLEX = 1,
  LU_RULE_FIRST = 2,
};

/* The most rules in a table. Real tables have up to 1,300; rules above the limit become complex. */
#define LU_MAX_RULES 4096

/* A row: bits 0-15 are the low bits of the address, bits 16-31 the rule id. */
#define LU_ROW(address, rule) ((uint32_t) ((address) &0xffff) | (uint32_t) (rule) << 16)

/* Rows are found by pages of 4 KiB. Their rows lie in two to four cache lines, where those of 64
 * KiB, which save 1 % of memory, are sixty lines. */
#define LU_PAGE_SHIFT 12
#define LU_PAGE_BYTES (1u << LU_PAGE_SHIFT)

/* A table covers [base, base + n_pages * LU_PAGE_BYTES), base being a multiple of a page. pages[i]
 * is the number of rows below page i, pages[n_pages] that of all. rows[-1] exists and has rule 0,
 * so the row before a page's first one is always what holds at the page's first byte. */
struct lu_rows
{
  uint64_t base;
  uint32_t n_pages;
  const uint32_t *pages;
  const uint32_t *rows;
};

/* Returns the rule id for an address; LU_RULE_NONE outside the table. The search takes at most 13
 * iterations and has no branch that depends on the data. */
static inline uint32_t
lu_rows_find (const struct lu_rows *self, uint64_t address)
{
  uint64_t page = (address - self->base) >> LU_PAGE_SHIFT;
  uint32_t key = (uint32_t) address & 0xffff;
  const uint32_t *row;
  uint32_t n;

  if (address < self->base || page >= self->n_pages)
    return LU_RULE_NONE;
  row = self->rows + self->pages[page] - 1;
  n = self->pages[page + 1] - self->pages[page];
  while (n > 0)
    {
      uint32_t half = (n + 1) >> 1;

      row += (row[half] & 0xffff) <= key ? half : 0;
      n -= half;
    }
  return *row >> 16;
}
