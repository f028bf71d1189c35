/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-rows.c - see file-rows.h.
 *
 * Each maker says whether a file is its own, and makes the rows. The first in the list wins: a
 * table that a linker left is better than what instructions show. */

#include "module/file-rows.h"

#include "arch/arch.h"
#include "base/fd.h"
#include "code/code-rows.h"
#include "code/decoder.h"
#include "code/tail-jumps.h"
#include "elf/go-table.h"
#include "table/compile.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files with CFI have at least a byte of it for each 40 of code. */
#define CODE_PER_CFI 40
/* So little CFI is asked which code it covers: small programs without CFI have that of the code
 * that starts them. */
#define LITTLE_CFI 16384
/* Files with more code keep the worker too long. */
#define MAX_CODE (4u << 20)
/* Up to this size, bytes between two functions are not code. */
#define MAX_PADDING 15
/* Most files have less code without CFI: what linkers and compilers add (192 bytes). A program
 * whose entry has no CFI (musl's has none) gets rows however little it is. */
#define MIN_GAPS 256
/* Files with more gaps than this are not compiled code. */
#define MAX_GAPS 65536
/* Longer functions are not searched for jumps to others. */
#define MAX_FUNCTION (256u << 10)

static guint64
code_size (const LuImage *image)
{
  guint n;
  const LuSegment *segments = lu_image_segments (image, &n);
  guint64 size = 0;

  for (guint i = 0; i < n; i++)
    if (segments[i].executable)
      size += MIN (segments[i].file_size, G_MAXUINT32);
  return size;
}

/* Returns whether the instructions of the file can be decoded. */
static gboolean
is_decoded (const LuImage *image)
{
  const LuArch *arch = lu_arch_with_tables (lu_image_machine (image));

  return arch != NULL && arch->files.decoded_bits != 0 && lu_image_is_64bit (image);
}

static gboolean
has_go (const LuElfHeaders *headers)
{
  return lu_go_table_has_section (headers)
         || lu_elf_headers_find_section (headers, ".note.go.buildid") != NULL;
}

/* The stacks of Go change in ways that instructions do not show. */
static gboolean
is_go (int fd)
{
  LuElfInput input = { .fd = fd, .size = G_MAXINT64 };
  LuElfHeaders headers = { 0 };
  gboolean is_go = lu_elf_headers_read (&headers, &input, NULL) && has_go (&headers);

  lu_elf_headers_clear (&headers);
  return is_go;
}

/* Reads where the file's functions of Go are. FALSE: it is a Go program, but that is not known. The
 * range is empty if it is none. */
static gboolean
read_go_code (int fd, LuCodeRange *code)
{
  LuElfInput input = { .fd = fd, .size = G_MAXINT64 };
  LuElfHeaders headers = { 0 };
  LuGoTableFunction first, last;
  gboolean is_known = TRUE;

  *code = (LuCodeRange){ 0 };
  if (lu_elf_headers_read (&headers, &input, NULL) && has_go (&headers))
    {
      g_autoptr (LuGoTable) table = lu_go_table_read (&headers, &input);
      guint n = table != NULL ? lu_go_table_n_functions (table) : 0;

      is_known = n > 0 && lu_go_table_function (table, 0, &first)
                 && lu_go_table_function (table, n - 1, &last);
      if (is_known)
        *code = (LuCodeRange){ .start = first.start, .end = last.end };
    }
  lu_elf_headers_clear (&headers);
  return is_known;
}

/* Code that CFI covers */

typedef struct
{
  GArray *gaps;     /* of LuCodeRange: code without CFI; NULL: not needed */
  guint64 covered;  /* bytes */
  guint64 gap_size; /* bytes of all gaps */
  guint64 done;     /* all code below is done */
  guint64 entry;    /* where the program starts */
  gboolean is_entry_bare;
  const LuSegment *segments;
  guint n_segments;
  LuCodeRange go; /* code of Go, which has its own table */
} Coverage;

/* Adds the code of a range that has no CFI, unless it is only padding. */
static void
add_gap (Coverage *self, guint64 from, guint64 to)
{
  for (guint i = 0; to - from > MAX_PADDING && i < self->n_segments; i++)
    {
      const LuSegment *segment = &self->segments[i];
      LuCodeRange gap = { .start = MAX (from, segment->vaddr),
                          .end = MIN (to, segment->vaddr + segment->file_size) };

      if (!segment->executable || segment->vaddr > G_MAXUINT64 - segment->file_size
          || gap.end < gap.start || gap.end - gap.start <= MAX_PADDING)
        continue;
      g_array_append_val (self->gaps, gap);
      self->is_entry_bare |= self->entry >= gap.start && self->entry < gap.end;
      self->gap_size += gap.end - gap.start;
    }
}

/* Does so with what is not in the code of Go. */
static void
note_gap (Coverage *self, guint64 from, guint64 to)
{
  guint64 before = MIN (to, self->go.start), behind = MAX (from, self->go.end);

  if (self->go.end <= self->go.start)
    {
      add_gap (self, from, to);
      return;
    }
  if (from < before)
    add_gap (self, from, before);
  if (behind < to)
    add_gap (self, behind, to);
}

static void
note_piece (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  Coverage *self = user_data;

  self->covered += to - from;
  if (self->gaps != NULL && self->gaps->len < MAX_GAPS)
    note_gap (self, self->done, from);
  self->done = to;
}

/* Holds the CFI. NULL: it is not in memory; otherwise call end_cfi(). */
static LuCompiler *
begin_cfi (LuImage *image)
{
  LuCfi *cfi;

  if (!lu_image_hold_cfi (image))
    return NULL;
  cfi = lu_cfi_new_for_image (image);
  if (cfi == NULL)
    lu_image_release_cfi (image);
  return cfi != NULL ? lu_compiler_new (cfi) : NULL;
}

static void
end_cfi (LuCompiler *compiler, LuImage *image)
{
  lu_cfi_free (compiler->cfi);
  lu_compiler_free (compiler);
  lu_image_release_cfi (image);
}

/* Returns whether CFI covers at least half of the code. */
static gboolean
is_covered (LuImage *image, guint64 size)
{
  LuCompiler *compiler = begin_cfi (image);
  Coverage coverage = { 0 };

  if (compiler == NULL)
    return lu_image_cfi_size (image) > 0;
  lu_compiler_foreach_piece (compiler, note_piece, &coverage);
  end_cfi (compiler, image);
  return coverage.covered >= size / 2;
}

static gboolean
has_bare_code (LuImage *image, int fd)
{
  guint64 size = code_size (image);
  gsize cfi_size = lu_image_cfi_size (image);

  return is_decoded (image) && size <= MAX_CODE
         && (cfi_size * CODE_PER_CFI < size || (cfi_size < LITTLE_CFI && !is_covered (image, size)))
         && lu_decoder_load () && !is_go (fd);
}

static LuExtraRows *
decode_code (LuImage *image, int fd)
{
  return lu_code_rows_make (fd, &(LuCodeWanted){ 0 });
}

struct _LuFileRowsMaker
{
  gboolean (*is_wanted) (LuImage *image, int fd);
  LuExtraRows *(*make) (LuImage *image, int fd);
};

static const LuFileRowsMaker makers[] = {
  { has_bare_code, decode_code },
};

const LuFileRowsMaker *
lu_file_rows_find_maker (LuImage *image, int fd)
{
  for (guint i = 0; i < G_N_ELEMENTS (makers); i++)
    if (makers[i].is_wanted (image, fd))
      return &makers[i];
  return NULL;
}

LuExtraRows *
lu_file_rows_make (const LuFileRowsMaker *maker, LuImage *image, int fd)
{
  return maker->make (image, fd);
}

gboolean
lu_file_rows_may_fill_gaps (const LuImage *image)
{
  return is_decoded (image) && lu_image_cfi_size (image) > 0;
}

guint64
lu_file_rows_bytes (const LuImage *image)
{
  guint n;
  const LuSegment *segments = lu_image_segments (image, &n);
  guint64 size = 0;

  for (guint i = 0; i < n; i++)
    size += MIN (segments[i].file_size, G_MAXUINT32);
  return size;
}

gboolean
lu_file_rows_may_be_stored (int fd)
{
  struct stat info;

  return fstat (fd, &info) == 0 && (info.st_uid == 0 || info.st_uid == getuid ())
         && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

typedef struct
{
  LuCompiler *compiler;
  LuTailJumps found;
  const LuSegment *segments;
  guint n_segments;
  int fd;
  const gint *is_cancelled;
  guint8 *code; /* MAX_FUNCTION bytes */
  gsize left;   /* bytes of code that may still be read */
} CodeReading;

/* Finds where one function with CFI leads to others. */
static void
read_function (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  CodeReading *self = user_data;
  gsize size = to - from;

  if (fde->start != from || fde->end != to || size > MIN (MAX_FUNCTION, self->left)
      || (self->is_cancelled != NULL && g_atomic_int_get (self->is_cancelled)))
    return;
  for (guint i = 0; i < self->n_segments; i++)
    {
      const LuSegment *segment = &self->segments[i];
      guint64 offset = from - segment->vaddr;

      if (!segment->executable || offset >= segment->file_size
          || segment->file_size - offset < size)
        continue;
      self->left -= size;
      if (lu_fd_pread_all (self->fd, self->code, size, (gint64) (segment->file_offset + offset))
          == (gssize) size)
        lu_tail_jumps_add (&self->found, self->compiler, fde, self->code);
      return;
    }
}

static gint
compare_leads (gconstpointer a, gconstpointer b)
{
  guint64 one = ((const LuCodeLead *) a)->address, other = ((const LuCodeLead *) b)->address;

  return one < other ? -1 : one > other;
}

/* Reads the gaps, which are at least one, with the jumps that lead there. */
static LuCodeRows *
read_found (CodeReading *reading, GArray *gaps, const gint *is_cancelled)
{
  LuTailJumps *found = &reading->found;
  g_autoptr (GArray) leads = g_array_new (FALSE, FALSE, sizeof (LuCodeLead));
  g_autoptr (LuExtraRows) jumps = lu_extra_rows_new ();
  g_autofree guint8 *code = g_malloc (MAX_FUNCTION);
  const LuCodeWanted wanted = { gaps, leads, jumps->jumps, is_cancelled };

  found->rows = jumps;
  found->leads = leads;
  reading->code = code;
  lu_compiler_foreach_piece (reading->compiler, read_function, reading);
  g_array_sort (leads, compare_leads);
  return lu_code_rows_new (reading->fd, &wanted);
}

static LuCodeRows *
read_gaps (LuCompiler *compiler, LuImage *image, int fd, const LuCodeRange *go,
           const gint *is_cancelled)
{
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (LuCodeRange));
  Coverage coverage = { .gaps = gaps, .entry = lu_image_entry (image), .go = *go };
  CodeReading reading = { .compiler = compiler,
                          .found.gaps = gaps,
                          .fd = fd,
                          .is_cancelled = is_cancelled,
                          .left = LU_CODE_MAX_BYTES };

  reading.segments = coverage.segments = lu_image_segments (image, &coverage.n_segments);
  reading.n_segments = coverage.n_segments;
  lu_compiler_foreach_piece (compiler, note_piece, &coverage);
  note_gap (&coverage, coverage.done, G_MAXUINT64);
  if ((coverage.gap_size < MIN_GAPS && !coverage.is_entry_bare) || gaps->len >= MAX_GAPS)
    return NULL;
  return read_found (&reading, gaps, is_cancelled);
}

LuCodeRows *
lu_file_rows_read_gaps (LuImage *image, int fd, const gint *is_cancelled)
{
  LuCodeRange go;
  LuCompiler *compiler = lu_decoder_load () && read_go_code (fd, &go) ? begin_cfi (image) : NULL;
  LuCodeRows *rows = NULL;

  if (compiler == NULL)
    return NULL;
  rows = read_gaps (compiler, image, fd, &go, is_cancelled);
  end_cfi (compiler, image);
  return rows;
}
