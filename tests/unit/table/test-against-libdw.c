/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-against-libdw.c [--seed N] [--pcs N] [--complex PERCENT] [DIR...] - compares the tables of
 * all ELF files of a system with libdw. Links are not followed, and a file with several names is
 * read once.
 *
 * For random addresses in the code of every file, libdw reads the original file and we read our
 * table. Both answers are evaluated on the same invented registers and memory (evaluate.h), ours by
 * step.h, and must agree on CFA, return address, frame pointer, rbx and signal frame. Half of the
 * addresses are the first or last byte of a row or FDE. */

#include "evaluate.h"

#include "base/leb128.h"
#include "elf/image.h"
#include "table/rule.h"
#include "table/table.h"

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_COMPLEX_PERCENT 0.1

static double max_complex_percent = MAX_COMPLEX_PERCENT;
#define MAX_BYTES_PER_ROW 4.5
#define LEAST_PCS         150000
#define MAX_PRINTED       20
#define MAX_RANGES_BACK   64
#define SKIP              77

typedef struct
{
  guint64 n_files, n_refused_files, n_pcs, n_none, n_complex, n_end, n_unknown, n_same;
  guint64 n_behind_zeros, n_restored, n_made, n_behind_expression, n_different, n_cfi_errors;
  guint64 code_bytes, complex_bytes, leaf_bytes, unknown_fp_bytes, n_rows, table_bytes;
} Totals;

typedef struct
{
  const char *path;
  const LuImage *image;
  LuTable *table;
  LuCfi *cfi;
  const LuArch *arch;
  Elf *elf;
  Dwarf *dwarf;
  Dwarf_CFI *eh_cfi, *debug_cfi;
} File;

static Totals totals;
static GPtrArray *paths;
static GHashTable *seen; /* device and inode of files with several names */
static GRand *rand_state;

/* Comparison */

static void
complain (const File *file, guint64 pc, const struct lu_rule *rule, const char *what,
          guint64 theirs, guint64 ours)
{
  g_autofree char *text = lu_rule_to_text (rule, file->arch);

  if (totals.n_different++ < MAX_PRINTED)
    printf ("# %s %#lx: %s: libdw %#lx, table %#lx (%s)\n", file->path, (gulong) pc, what,
            (gulong) theirs, (gulong) ours, text);
}

static Dwarf_Frame *
ask_libdw (const File *file, guint64 pc)
{
  Dwarf_Frame *frame = NULL;

  if (file->eh_cfi != NULL && dwarf_cfi_addrframe (file->eh_cfi, pc, &frame) == 0)
    return frame;
  if (file->debug_cfi != NULL && dwarf_cfi_addrframe (file->debug_cfi, pc, &frame) == 0)
    return frame;
  return NULL;
}

/* A slot that the sampled frame has popped is not read: the register already has the value
 * (step.h). */
static gboolean
is_popped (const File *file, const World *world, const struct lu_rule *rule, guint number,
           guint64 cfa)
{
  gboolean is_bx = number == file->arch->bx;
  enum lu_save_kind kind = is_bx ? lu_rule_bx_kind (rule) : lu_rule_fp_kind (rule);
  guint64 sp = world->registers[file->arch->sp], fp = world->registers[file->arch->fp];

  if (rule->cfa_kind != LU_CFA_REGISTER && rule->ra_kind != LU_RA_REGISTER)
    return FALSE;
  if (kind == LU_SAVE_AT_FP)
    return fp < sp || fp >= cfa;
  return cfa + 8 * (gint64) (is_bx ? rule->bx_off : rule->fp_off) < sp;
}

static gboolean
compare_saved (const File *file, const World *world, const struct lu_rule *rule, Dwarf_Frame *frame,
               guint number, guint64 cfa, gboolean is_known, guint64 ours)
{
  guint64 theirs = 0;
  FrameValue kind;

  if (number == G_MAXUINT16) /* aarch64 has no rbx */
    return TRUE;
  kind = world_caller_register (world, frame, number, cfa, &theirs);
  if (!is_known)
    {
      totals.n_unknown += kind == FRAME_VALUE;
      return TRUE;
    }
  /* libdw's list of registers that the ABI preserves has rax instead of rbx, so an rbx without an
   * instruction is undefined for it. */
  if (kind == FRAME_UNDEFINED && number == file->arch->bx && ours == world->registers[number])
    return TRUE;
  if (kind == FRAME_VALUE && theirs == ours)
    return TRUE;
  if (ours == world->registers[number] && is_popped (file, world, rule, number, cfa))
    return TRUE;
  complain (file, world->pc, rule, lu_arch_register_name (file->arch, number), theirs, ours);
  return FALSE;
}

/* Returns the return address from the file's column. Without an instruction it is undefined for
 * libdw if the column is not the architecture's own. */
static gboolean
has_return_address (const File *file, const World *world, Dwarf_Frame *frame, guint64 cfa,
                    guint64 *value)
{
  int column = dwarf_frame_info (frame, NULL, NULL, NULL);
  FrameValue kind = world_caller_register (world, frame, (guint) column, cfa, value);

  return kind == FRAME_VALUE || (kind == FRAME_UNDEFINED && column != file->arch->ra);
}

/* Returns whether the last CFA that libdw knows before the frame's range is an expression. A
 * register set after one, and then its offset (libgcrypt's assembly), define the CFA, but libdw has
 * none then up to the end of the function. */
static gboolean
is_behind_expression (const File *file, Dwarf_Frame *frame)
{
  Dwarf_Addr start;
  Dwarf_Op *ops;
  size_t n_ops = 0;

  dwarf_frame_info (frame, &start, NULL, NULL);
  for (guint i = 0; i < MAX_RANGES_BACK && n_ops == 0; i++)
    {
      Dwarf_Frame *before = ask_libdw (file, start - 1);

      if (before == NULL)
        return FALSE;
      dwarf_frame_info (before, &start, NULL, NULL);
      if (dwarf_frame_cfa (before, &ops, &n_ops) != 0)
        n_ops = 0;
      free (before);
    }
  return n_ops > 1;
}

static void
compare_step (const File *file, const World *world, const struct lu_rule *rule, Dwarf_Frame *frame)
{
  const LuArch *arch = file->arch;
  struct lu_regs regs;
  guint64 cfa, ra, sp = world->registers[arch->sp];
  bool is_signal = false;
  gboolean has_cfa = world_cfa (world, frame, &cfa);
  int result = world_step (world, file->arch, rule, &regs);

  dwarf_frame_info (frame, NULL, NULL, &is_signal);
  if (!has_cfa && is_behind_expression (file, frame))
    totals.n_behind_expression++;
  else if (!has_cfa)
    complain (file, world->pc, rule, "no CFA", 0, regs.sp);
  else if (result == LU_STATUS_BAD_RETURN_ADDRESS && cfa <= sp)
    totals.n_same++; /* there can be no caller; libdw does not look */
  else if (result != LU_STEP_CALLER)
    complain (file, world->pc, rule, "no step", 0, (guint64) (gint64) result);
  else if (cfa != regs.sp)
    complain (file, world->pc, rule, "CFA", cfa, regs.sp);
  else if (!has_return_address (file, world, frame, cfa, &ra) || ra != regs.pc)
    complain (file, world->pc, rule, "return address", ra, regs.pc);
  else if ((regs.frame_kind == LU_FRAME_KIND_INTERRUPTED) != is_signal)
    complain (file, world->pc, rule, "signal frame", is_signal, !is_signal);
  else if (compare_saved (file, world, rule, frame, arch->fp, cfa, (regs.known & LU_KNOWN_FP) != 0,
                          regs.fp)
           && compare_saved (file, world, rule, frame, arch->bx, cfa,
                             (regs.known & LU_KNOWN_BX) != 0, regs.bx))
    totals.n_same++;
}

/* libdw takes four zero bytes for the end of .debug_frame, but linkers may put them between the
 * parts of two object files. */
static gboolean
is_behind_zeros (const File *file, guint64 pc)
{
  guint64 offset = 0, from, to;
  LuFde fde;
  gsize size;
  const guint8 *bytes = lu_image_cfi (file->image, LU_IMAGE_DEBUG_FRAME, &size, &from);

  if (!lu_cfi_find (file->cfi, pc, &fde, &from, &to) || fde.section != LU_CFI_DEBUG_FRAME)
    return FALSE;
  while (offset < fde.offset)
    {
      guint32 length;

      memcpy (&length, bytes + offset, sizeof length);
      if (length == 0)
        return TRUE;
      offset += sizeof length + length;
    }
  return FALSE;
}

/* DWARF does not define DW_CFA_restore in a CIE, whose own rules it would restore. libdw refuses
 * all FDEs of such a CIE; for us and for libgcc the register is the caller's. GNU ld makes such
 * CIEs from common parts of FDEs. */
static gboolean
is_restored_in_cie (const File *file, guint64 pc)
{
  guint64 from, to;
  LuCursor program;
  LuFde fde;

  if (!lu_cfi_find (file->cfi, pc, &fde, &from, &to))
    return FALSE;
  program = lu_cfi_cie (file->cfi, &fde)->program;
  while (lu_cursor_left (&program) > 0 && !program.failed)
    {
      guint8 opcode = lu_cursor_u8 (&program);

      if ((opcode & 0xc0) == DW_CFA_restore)
        return TRUE;
      if (opcode == DW_CFA_def_cfa)
        lu_cursor_uleb (&program);
      if (opcode == DW_CFA_def_cfa || (opcode & 0xc0) == DW_CFA_offset)
        lu_cursor_uleb (&program);
      else if (opcode != DW_CFA_nop)
        return FALSE; /* not a known one */
    }
  return FALSE;
}

/* Returns whether the CFI at a place is made of a procedure linkage table, which the file has not.
 */
static gboolean
is_made_of_plt (const File *file, guint64 pc)
{
  guint64 from, to;
  LuFde fde;

  return file->arch->files.describe_plt != NULL && file->debug_cfi == NULL
         && lu_cfi_find (file->cfi, pc, &fde, &from, &to) && fde.section == LU_CFI_DEBUG_FRAME;
}

static void
compare_at (const File *file, guint64 pc)
{
  const struct lu_rule *rule = lu_table_find (file->table, pc);
  Dwarf_Frame *frame = ask_libdw (file, pc);
  World world;

  totals.n_pcs++;
  world_init (&world, pc + g_rand_int (rand_state), file->arch->sp,
              file->arch->has_link_register ? N_REGISTERS : file->arch->ra, pc);
  if (rule->cfa_kind == LU_CFA_COMPLEX || (rule->flags & LU_RULE_SIGFRAME) != 0)
    totals.n_complex++; /* for a signal frame on aarch64 the rule knows more than the file */
  else if (rule->cfa_kind == LU_CFA_NONE)
    {
      totals.n_none++;
      if (frame != NULL)
        complain (file, pc, rule, "nothing known", 1, 0);
    }
  else if (frame == NULL && is_behind_zeros (file, pc))
    totals.n_behind_zeros++;
  else if (frame == NULL && is_restored_in_cie (file, pc))
    totals.n_restored++;
  else if (frame == NULL && is_made_of_plt (file, pc))
    totals.n_made++;
  else if (frame == NULL)
    complain (file, pc, rule, "libdw knows nothing", 0, 1);
  else if (rule->ra_kind == LU_RA_END)
    {
      totals.n_end++;
      if (!is_outermost (frame))
        complain (file, pc, rule, "end of stack", 0, 1);
    }
  else
    compare_step (file, &world, rule, frame);
  free (frame);
}

/* Places */

static guint64
random_below (guint64 n)
{
  return (((guint64) g_rand_int (rand_state) << 32) | g_rand_int (rand_state)) % n;
}

/* Returns the first byte of a random row, or the one before it. */
static guint64
random_boundary (const LuTable *table)
{
  guint row = (guint) random_below (table->n_rows), page = 0;

  while (table->rows.pages[page + 1] <= row)
    page++;
  return table->rows.base + ((guint64) page << LU_PAGE_SHIFT)
         + (table->rows.rows[row] & (LU_PAGE_BYTES - 1)) - random_below (2);
}

static guint64
random_code (const File *file)
{
  guint n;
  const LuFde *fdes = lu_cfi_fdes (file->cfi, LU_CFI_EH_FRAME, &n);
  const LuFde *fde;

  if (n == 0)
    fdes = lu_cfi_fdes (file->cfi, LU_CFI_DEBUG_FRAME, &n);
  fde = &fdes[random_below (n)];
  return fde->start + random_below (fde->end - fde->start);
}

static void
compare_file (File *file, guint n_pcs)
{
  if (file->table->n_rows == 0)
    return;
  for (guint i = 0; i < n_pcs; i++)
    compare_at (file, i % 2 == 0 ? random_boundary (file->table) : random_code (file));
}

/* Files */

/* Files that must compile: 64-bit x86-64 and aarch64 programs and libraries. */
static gboolean
is_ours (int fd)
{
  Elf64_Ehdr header;

  return pread (fd, &header, sizeof header, 0) == sizeof header
         && memcmp (header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64
         && header.e_ident[EI_DATA] == ELFDATA2LSB
         && (header.e_type == ET_DYN || header.e_type == ET_EXEC)
         && (header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64);
}

static void
add_stats (const LuTableStats *stats)
{
  totals.n_rows += stats->n_rows;
  totals.table_bytes += stats->table_bytes;
  totals.code_bytes += stats->code_bytes;
  totals.complex_bytes += stats->complex_bytes;
  totals.leaf_bytes += stats->leaf_bytes;
  totals.unknown_fp_bytes += stats->unknown_fp_bytes;
  for (guint i = 0; i < LU_N_CFI_ERRORS; i++)
    totals.n_cfi_errors += stats->cfi_errors[i];
}

static void
check_file (const char *path, int fd, guint n_pcs)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LuImage) image = lu_image_open (fd, &error);
  g_autoptr (LuCfi) cfi = image != NULL ? lu_cfi_new_for_image (image) : NULL;
  g_autoptr (LuTable) table = cfi != NULL ? lu_table_new (cfi) : NULL;
  File file = { .path = path, .image = image, .table = table, .cfi = cfi };

  if (table == NULL)
    {
      printf ("# %s: %s\n", path, error != NULL ? error->message : "no table");
      totals.n_refused_files++;
      return;
    }
  for (guint i = 1; i < LU_N_CFI_ERRORS; i++)
    if (table->stats.cfi_errors[i] > 0)
      printf ("# %s: %u FDEs refused: %s\n", path, table->stats.cfi_errors[i],
              lu_cfi_error_title ((LuCfiError) i));
  /* The CFI of Go programs is our own. */
  if (lu_image_go_functions (image) != NULL)
    return;
  totals.n_files++;
  add_stats (&table->stats);
  file.arch = lu_cfi_arch (cfi);
  file.elf = elf_begin (fd, ELF_C_READ_MMAP, NULL);
  file.dwarf = dwarf_begin_elf (file.elf, DWARF_C_READ, NULL);
  file.eh_cfi = dwarf_getcfi_elf (file.elf);
  file.debug_cfi = file.dwarf != NULL ? dwarf_getcfi (file.dwarf) : NULL;
  compare_file (&file, n_pcs);
  if (file.eh_cfi != NULL)
    dwarf_cfi_end (file.eh_cfi);
  dwarf_end (file.dwarf); /* its CFI too */
  elf_end (file.elf);
}

/* Returns TRUE for the first name of a file only. */
static gboolean
is_new (const struct stat *info)
{
  return g_hash_table_add (seen, g_strdup_printf ("%lx:%lx", info->st_dev, info->st_ino));
}

static int
add_path (const char *path, const struct stat *info, int kind, struct FTW *walk)
{
  if (kind == FTW_F && S_ISREG (info->st_mode) && info->st_size > (off_t) sizeof (Elf64_Ehdr)
      && (info->st_nlink == 1 || is_new (info)))
    {
      int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

      if (fd >= 0 && is_ours (fd))
        g_ptr_array_add (paths, g_strdup (path));
      if (fd >= 0)
        close (fd);
    }
  return 0;
}

static double
percent (guint64 part, guint64 whole)
{
  return whole > 0 ? 100. * (double) part / (double) whole : 0;
}

static gboolean
report (void)
{
  double complex_percent = percent (totals.complex_bytes, totals.code_bytes);
  double bytes_per_row = (double) totals.table_bytes / MAX ((double) totals.n_rows, 1);

  printf ("# %lu files, %lu rows, %.3f bytes per row, %lu FDEs refused\n", totals.n_files,
          totals.n_rows, bytes_per_row, totals.n_cfi_errors);
  printf ("# of %lu bytes of code: complex %.4f %%, only as the sampled frame %.4f %%, "
          "frame pointer lost %.4f %%\n",
          totals.code_bytes, complex_percent, percent (totals.leaf_bytes, totals.code_bytes),
          percent (totals.unknown_fp_bytes, totals.code_bytes));
  printf ("# %lu places: %lu the same, %lu nothing known, %lu end of stack, %lu complex; "
          "%lu registers that only libdw knows, %lu behind what libdw takes for the end, %lu below "
          "a CIE "
          "that libdw refuses, %lu in procedure linkage tables, %lu behind an expression that it "
          "does not "
          "get over\n",
          totals.n_pcs, totals.n_same, totals.n_none, totals.n_end, totals.n_complex,
          totals.n_unknown, totals.n_behind_zeros, totals.n_restored, totals.n_made,
          totals.n_behind_expression);
  printf ("1..4\n");
  printf ("%sok 1 - every file compiles, every FDE in it (%lu files, %lu FDEs do not)\n",
          totals.n_refused_files > 0 || totals.n_cfi_errors > 0 ? "not " : "",
          totals.n_refused_files, totals.n_cfi_errors);
  printf ("%sok 2 - no place differs from libdw (%lu of %lu do)\n",
          totals.n_different > 0 || totals.n_pcs == 0 ? "not " : "", totals.n_different,
          totals.n_pcs);
  printf ("%sok 3 - complex code is at most %.1f %% of the bytes (%.4f %%)\n",
          complex_percent > max_complex_percent ? "not " : "", max_complex_percent,
          complex_percent);
  printf ("%sok 4 - a row takes at most %.1f bytes, all in (%.3f)\n",
          bytes_per_row > MAX_BYTES_PER_ROW ? "not " : "", MAX_BYTES_PER_ROW, bytes_per_row);
  return totals.n_refused_files == 0 && totals.n_cfi_errors == 0 && totals.n_different == 0
         && totals.n_pcs > 0 && complex_percent <= max_complex_percent
         && bytes_per_row <= MAX_BYTES_PER_ROW;
}

int
main (int argc, char **argv)
{
  guint seed = (guint) time (NULL);
  guint n_pcs = LEAST_PCS;
  guint left;
  int i = 1;

  for (; i + 1 < argc && g_str_has_prefix (argv[i], "--"); i += 2)
    if (strcmp (argv[i], "--seed") == 0)
      seed = (guint) strtoul (argv[i + 1], NULL, 0);
    else if (strcmp (argv[i], "--complex") == 0)
      max_complex_percent = g_ascii_strtod (argv[i + 1], NULL);
    else
      n_pcs = (guint) strtoul (argv[i + 1], NULL, 0);
  printf ("# seed %u\n", seed);
  elf_version (EV_CURRENT);
  rand_state = g_rand_new_with_seed (seed);
  paths = g_ptr_array_new_with_free_func (g_free);
  seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (; i < argc; i++)
    nftw (argv[i], add_path, 16, FTW_PHYS);
  if (paths->len == 0)
    {
      printf ("1..0 # SKIP no ELF files there\n");
      return SKIP;
    }
  for (guint k = 0; k < paths->len; k++)
    {
      int fd = open (paths->pdata[k], O_RDONLY | O_CLOEXEC);

      if (fd < 0)
        continue;
      /* Files without rows leave their share to other files. */
      left = n_pcs > totals.n_pcs ? n_pcs - (guint) totals.n_pcs : 0;
      check_file (paths->pdata[k], fd, left / (paths->len - k) + 1);
      close (fd);
    }
  g_rand_free (rand_state);
  g_ptr_array_unref (paths);
  g_hash_table_unref (seen);
  return report () ? 0 : 1;
}
