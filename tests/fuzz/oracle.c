/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* oracle.c - compares the compiler with libdw; see oracle.h.
 *
 * Both answers are executed on the same invented registers and memory (evaluate.h), as in
 * test-against-libdw.c, which does the same for the files of a system. */

#include "oracle.h"

#include "elf/cfi-guard.h"
#include "elf/synthetic.h"
#include "evaluate.h"
#include "table/compile.h"
#include "table/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FDES   8
#define MAX_PLACES 24

typedef struct
{
  const LuArch *arch;
  LuCfi *cfi;
  LuCfaRun run;
  Dwarf *dwarf;
  Dwarf_CFI *libdw;
  guint n_compared;
} Oracle;

/* One FDE with its CIE */

typedef struct
{
  guint64 offset, size, head; /* head: bytes of the length */
} Extent;

static Extent
extent_at (const LuCfiBytes *section, guint64 offset)
{
  Extent extent = { .offset = offset, .head = 4 };
  guint32 length;

  memcpy (&length, section->bytes + offset, sizeof length);
  extent.size = 4 + (guint64) length;
  if (length == G_MAXUINT32)
    {
      guint64 wide;

      memcpy (&wide, section->bytes + offset + 4, sizeof wide);
      extent.head = 12;
      extent.size = 12 + wide;
    }
  return extent;
}

/* Returns the offset of an FDE's CIE; both were read before, so both are inside the section. */
static guint64
cie_offset (const LuCfiBytes *section, const Extent *fde)
{
  guint64 id = 0;

  memcpy (&id, section->bytes + fde->offset + fde->head, fde->head == 12 ? 8 : 4);
  return section->is_eh_frame ? fde->offset + fde->head - id : id;
}

/* The CIE is followed by the FDE at its old address, so that relative pointers stay valid. */
static LuCfiBytes
isolate (const LuCfiBytes *section, const LuFde *fde)
{
  Extent from = extent_at (section, fde->offset);
  Extent cie = extent_at (section, cie_offset (section, &from));
  guint64 id = section->is_eh_frame ? cie.size + from.head : 0;
  LuCfiBytes alone = *section;
  guint8 *bytes = g_malloc (cie.size + from.size);

  memcpy (bytes, section->bytes + cie.offset, cie.size);
  memcpy (bytes + cie.size, section->bytes + from.offset, from.size);
  memcpy (bytes + cie.size + from.head, &id, from.head == 12 ? 8 : 4);
  alone.bytes = bytes;
  alone.size = cie.size + from.size;
  alone.vaddr = section->is_eh_frame ? section->vaddr + from.offset - cie.size : 0;
  return alone;
}

/* Comparison */

static void
complain (const Oracle *self, guint64 pc, const struct lu_rule *rule, const char *what,
          guint64 theirs, guint64 ours)
{
  g_autofree char *text = lu_rule_to_text (rule, self->arch);

  fprintf (stderr, "%#lx: %s: libdw %#lx, table %#lx (%s)\n", (gulong) pc, what, (gulong) theirs,
           (gulong) ours, text);
  abort ();
}

static void
compare_saved (const Oracle *self, const World *world, const struct lu_rule *rule,
               Dwarf_Frame *frame, guint number, guint64 cfa, guint64 ours)
{
  guint64 theirs = 0;
  FrameValue kind = world_caller_register (world, frame, number, cfa, &theirs);

  /* libdw's list of callee-saved registers has rax in place of rbx. A slot that the sampled frame
   * has popped is not read (step.h). */
  if (kind == FRAME_FAILED
      || (ours == world->registers[number]
          && (world_is_for_leaf (rule) || (kind == FRAME_UNDEFINED && number == self->arch->bx))))
    return;
  if (kind != FRAME_VALUE || theirs != ours)
    complain (self, world->pc, rule, lu_arch_register_name (self->arch, number), theirs, ours);
}

/* Looks the return address up by the file's column. libdw treats a column that no instruction
 * mentions as undefined if it is not the architecture's own. */
static gboolean
has_return_address (const Oracle *self, const World *world, Dwarf_Frame *frame, guint64 cfa,
                    guint64 *value)
{
  int column = dwarf_frame_info (frame, NULL, NULL, NULL);
  FrameValue kind = world_caller_register (world, frame, (guint) column, cfa, value);

  return kind == FRAME_VALUE || (kind == FRAME_UNDEFINED && column != self->arch->ra);
}

static void
compare_step (const Oracle *self, const World *world, const struct lu_rule *rule,
              Dwarf_Frame *frame)
{
  const LuArch *arch = self->arch;
  struct lu_regs regs;
  guint64 cfa, ra = 0;
  bool is_signal = false;
  int result = world_step (world, arch, rule, &regs);

  dwarf_frame_info (frame, NULL, NULL, &is_signal);
  if (!world_cfa (world, frame, &cfa)
      || (result == LU_STATUS_BAD_RETURN_ADDRESS && cfa <= world->registers[arch->sp])
      || (result == LU_STATUS_UNSUPPORTED_RULE && rule->aux >= N_REGISTERS))
    return;
  if (result != LU_STEP_CALLER)
    complain (self, world->pc, rule, "no step", cfa, (guint64) (gint64) result);
  if (cfa != regs.sp)
    complain (self, world->pc, rule, "CFA", cfa, regs.sp);
  if (!has_return_address (self, world, frame, cfa, &ra) || ra != regs.pc)
    complain (self, world->pc, rule, "return address", ra, regs.pc);
  if ((regs.frame_kind == LU_FRAME_KIND_INTERRUPTED) != is_signal)
    complain (self, world->pc, rule, "signal frame", is_signal, !is_signal);
  if ((regs.known & LU_KNOWN_FP) != 0)
    compare_saved (self, world, rule, frame, arch->fp, cfa, regs.fp);
  if ((regs.known & LU_KNOWN_BX) != 0 && arch->bx < N_REGISTERS)
    compare_saved (self, world, rule, frame, arch->bx, cfa, regs.bx);
}

static void
compare_at (Oracle *self, guint64 pc)
{
  const LuArch *arch = self->arch;
  struct lu_rule rule = lu_compile_at (self->cfi, &self->run, pc);
  Dwarf_Frame *frame = NULL;
  World world;

  /* libdw accepts some input that we refuse, such as a CFA offset without a register, and continues
   * at address 0 after the last address. For signal frames on aarch64 our rule says more than the
   * file. */
  if ((rule.flags & LU_RULE_SIGFRAME) != 0 || self->run.cfi_error != LU_CFI_ERROR_NONE
      || self->run.location == G_MAXUINT64 || rule.cfa_kind == LU_CFA_COMPLEX
      || dwarf_cfi_addrframe (self->libdw, pc, &frame) != 0)
    return;
  self->n_compared++;
  world_init (&world, pc, arch->sp, arch->has_link_register ? N_REGISTERS : arch->ra, pc);
  if (rule.cfa_kind == LU_CFA_NONE)
    complain (self, pc, &rule, "nothing known", 1, 0);
  else if (rule.ra_kind != LU_RA_END)
    compare_step (self, &world, &rule, frame);
  else if (!is_outermost (frame))
    complain (self, pc, &rule, "end of stack", 0, 1);
  free (frame);
}

/* The first and last byte of each row. */
static void
compare_rows (Oracle *self, const LuFde *fde)
{
  guint64 places[MAX_PLACES];
  guint n = 0;

  places[n++] = fde->start;
  places[n++] = fde->end - 1;
  lu_cfa_run_start (&self->run, &(LuCfaProgram){ .section = lu_cfi_section (self->cfi, fde),
                                                 .arch = self->arch,
                                                 .cie = lu_cfi_cie (self->cfi, fde),
                                                 .instructions = lu_cfi_program (self->cfi, fde),
                                                 .start = fde->start,
                                                 .end = fde->end });
  while (n + 2 <= MAX_PLACES && lu_cfa_run_next (&self->run))
    if (self->run.row_start > fde->start)
      {
        places[n++] = self->run.row_start - 1;
        places[n++] = self->run.row_start;
      }
  for (guint i = 0; i < n; i++)
    compare_at (self, places[i]);
}

static void
compare_fde (Oracle *self, const LuCfiInput *input, LuCfiSectionId which, const LuFde *fde)
{
  LuCfiInput alone = { .machine = input->machine };
  LuSyntheticSection copies[LU_N_IMAGE_CFI] = { 0 };
  guint section = which == LU_CFI_EH_FRAME ? LU_IMAGE_EH_FRAME : LU_IMAGE_DEBUG_FRAME;
  LuSynthetic *synthetic;
  const LuFde *only;
  guint n;

  alone.sections[which] = isolate (&input->sections[which], fde);
  copies[section] = (LuSyntheticSection){
    .bytes = (guint8 *) alone.sections[which].bytes,
    .size = alone.sections[which].size,
    .vaddr = alone.sections[which].vaddr,
  };
  synthetic = lu_synthetic_new (TRUE, input->machine, copies, TRUE);
  self->cfi = lu_cfi_new (&alone);
  only = lu_cfi_fdes (self->cfi, which, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (only->start, ==, fde->start);
  if (which == LU_CFI_EH_FRAME)
    self->libdw = dwarf_getcfi_elf (lu_synthetic_elf (synthetic, 0));
  else
    self->dwarf = dwarf_begin_elf (lu_synthetic_elf (synthetic, 0), DWARF_C_READ, NULL);
  if (self->dwarf != NULL)
    self->libdw = dwarf_getcfi (self->dwarf);
  if (self->libdw != NULL)
    compare_rows (self, only);
  if (which == LU_CFI_EH_FRAME && self->libdw != NULL)
    dwarf_cfi_end (self->libdw);
  self->libdw = NULL;
  dwarf_end (g_steal_pointer (&self->dwarf));
  lu_cfi_free (g_steal_pointer (&self->cfi));
  lu_synthetic_free (synthetic);
  g_free (copies[section].bytes);
}

guint
oracle_compare (const LuCfiInput *input, LuCfiSectionId which)
{
  const LuCfiBytes *section = &input->sections[which];
  g_autofree guint8 *bytes = g_memdup2 (section->bytes, section->size);
  LuCfiInput guarded = { .machine = input->machine };
  LuCfiSection guard = {
    .bytes = bytes,
    .size = section->size,
    .vaddr = section->vaddr,
    .is_eh_frame = section->is_eh_frame,
    .address_size = 8,
  };
  g_autoptr (LuCfi) cfi = NULL;
  Oracle self = { .arch = lu_arch_with_tables (input->machine) };
  const LuFde *fdes;
  guint n, n_refused;

  if (lu_cfi_guard_walk (&guard, &n_refused) == 0)
    return 0;
  guarded.sections[which] = *section;
  guarded.sections[which].bytes = bytes;
  guarded.sections[which].size = guard.size;
  guarded.sections[which].data_base = 0;
  cfi = lu_cfi_new (&guarded);
  fdes = lu_cfi_fdes (cfi, which, &n);
  for (guint i = 0; i < MIN (n, MAX_FDES); i++)
    compare_fde (&self, &guarded, which, &fdes[i]);
  return self.n_compared;
}
