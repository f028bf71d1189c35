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
#define MAX_CODE (256u << 10)
/* Up to this size, bytes between two functions are not code. */
#define MAX_PADDING 15
/* If the next function is not aligned, they are: the CFI of glibc's clone3() ends before the system
 * call, and goes on behind it for the new thread. The code around it must not be longer than this,
 * and so many such places are looked at. */
#define MAX_JOINT  4096
#define MAX_JOINTS 256
/* Most files have less code without CFI: what linkers and compilers add (192 bytes). A program
 * whose entry has no CFI (musl's has none) gets rows however little it is. */
#define MIN_GAPS 256
/* If there is more code without CFI than may be read, so much is read around each address that is
 * asked for: functions are shorter. */
#define WINDOW (1u << 20)
/* A Go program has a few such functions, side by side. */
#define MAX_FOREIGN 4096
/* Files with more gaps than this are not compiled code. */
#define MAX_GAPS 65536
/* Files with more data than this, and with much code, run programs of their own (node, Chromium).
 * The data of Go programs is mostly tables of functions, which nobody reads here. */
#define MAX_DATA (16u << 20)
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

/* The functions of a Go program. */
typedef struct
{
  LuCodeRange all; /* empty: it is no program of Go */
  GArray *foreign; /* of LuCodeRange, ascending, inside of it: functions of C, of whose stacks the
                    * table says nothing, because Go's own linker has put them there */
} GoCode;

/* Adds a function of C; those that follow each other are one range. */
static void
add_foreign (GoCode *self, const LuGoTableFunction *function)
{
  LuCodeRange range = { .start = function->start, .end = function->end };
  LuCodeRange *last = self->foreign->len > 0
                          ? &g_array_index (self->foreign, LuCodeRange, self->foreign->len - 1)
                          : NULL;

  if (last != NULL && last->end == range.start)
    last->end = range.end;
  else if (self->foreign->len < MAX_FOREIGN && range.end > range.start)
    g_array_append_val (self->foreign, range);
}

static gboolean
read_functions (GoCode *self, const LuGoTable *table)
{
  guint n = lu_go_table_n_functions (table);
  LuGoTableFunction function, last;

  if (n == 0 || !lu_go_table_function (table, 0, &function)
      || !lu_go_table_function (table, n - 1, &last))
    return FALSE;
  self->all = (LuCodeRange){ .start = function.start, .end = last.end };
  for (guint i = 0; i < n; i++)
    if (lu_go_table_function (table, i, &function) && function.depths == 0)
      add_foreign (self, &function);
  return TRUE;
}

/* Reads where the file's functions of Go are. FALSE: it is a Go program, but that is not known. */
static gboolean
read_go_code (const LuElfHeaders *headers, const LuElfInput *input, GoCode *self)
{
  g_autoptr (LuGoTable) table = NULL;

  if (!has_go (headers))
    return TRUE;
  table = lu_go_table_read (headers, input);
  return table != NULL && read_functions (self, table);
}

/* Code that CFI does not cover */

typedef struct
{
  GArray *ranges; /* of LuCodeRange */
  GArray *joints; /* of LuCodeRange: functions with a few bytes of code without CFI between them */
  guint64 gap_size; /* bytes of all gaps */
  guint64 done;     /* all code below is done */
  guint64 last;     /* where the last function begins; 0: not known */
  guint64 entry;    /* where the program starts */
  gboolean is_entry_bare;
  const GArray *code; /* lu_code_find_ranges() */
  const GoCode *go;   /* code of Go, which has its own table; NULL: none */
} Gaps;

/* Adds the code of a range that has no CFI, unless it is only padding. */
static void
add_gap (Gaps *self, guint64 from, guint64 to)
{
  for (guint i = 0; to - from > MAX_PADDING && i < self->code->len; i++)
    {
      const LuCodeRange *code = &g_array_index (self->code, LuCodeRange, i);
      LuCodeRange gap = { .start = MAX (from, code->start), .end = MIN (to, code->end) };

      if (gap.end < gap.start || gap.end - gap.start <= MAX_PADDING)
        continue;
      g_array_append_val (self->ranges, gap);
      self->is_entry_bare |= self->entry >= gap.start && self->entry < gap.end;
      self->gap_size += gap.end - gap.start;
    }
}

/* Does so with a part of a range. */
static void
add_gap_within (Gaps *self, guint64 from, guint64 to, const LuCodeRange *part)
{
  guint64 start = MAX (from, part->start), end = MIN (to, part->end);

  if (start < end && self->ranges->len < MAX_GAPS)
    add_gap (self, start, end);
}

/* Does so with what is not in the code of Go. */
static void
note_gap (Gaps *self, guint64 from, guint64 to)
{
  const LuCodeRange *all = self->go != NULL ? &self->go->all : NULL;
  const GArray *foreign;
  guint first;

  if (all == NULL || all->end <= all->start)
    {
      add_gap (self, from, to);
      return;
    }
  foreign = self->go->foreign;
  add_gap_within (self, from, to, &(LuCodeRange){ .end = all->start });
  first = lu_code_file_first (foreign, from);
  for (guint i = first - (first > 0); /* the one before may go on there */
       i < foreign->len && g_array_index (foreign, LuCodeRange, i).start < to; i++)
    add_gap_within (self, from, to, &g_array_index (foreign, LuCodeRange, i));
  add_gap_within (self, from, to, &(LuCodeRange){ .start = all->end, .end = G_MAXUINT64 });
}

/* Adds the last function and the one at `from`, if the bytes between them are no padding. */
static void
note_joint (Gaps *self, guint64 from, guint64 to)
{
  const LuCodeRange joint = { .start = self->last, .end = to };

  if (self->joints->len < MAX_JOINTS && self->last != 0 && from > self->done
      && from - self->done <= MAX_PADDING && from % LU_FLOW_ALIGNMENT != 0
      && to - self->last <= MAX_JOINT)
    g_array_append_val (self->joints, joint);
}

/* Adds what lies between the last piece that CFI covers and this one. */
static void
note_piece (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  Gaps *self = user_data;

  note_joint (self, from, to);
  self->last = fde->start == from ? from : 0;
  if (self->ranges->len < MAX_GAPS)
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

static void
add_covered (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  *(guint64 *) user_data += to - from;
}

/* Returns whether CFI covers at least half of the code. */
static gboolean
is_covered (LuImage *image, guint64 size)
{
  LuCompiler *compiler = begin_cfi (image);
  guint64 covered = 0;

  if (compiler == NULL)
    return lu_image_cfi_size (image) > 0;
  lu_compiler_foreach_piece (compiler, add_covered, &covered);
  end_cfi (compiler, image);
  return covered >= size / 2;
}

/* Returns whether there is too little CFI for the code. */
static gboolean
has_little_cfi (const LuImage *image)
{
  return lu_image_cfi_size (image) * CODE_PER_CFI < code_size (image);
}

static gboolean
has_bare_code (LuImage *image, int fd)
{
  guint64 size = code_size (image);

  return is_decoded (image) && size <= MAX_CODE
         && (has_little_cfi (image)
             || (lu_image_cfi_size (image) < LITTLE_CFI && !is_covered (image, size)))
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
  return is_decoded (image) && (lu_image_cfi_size (image) > 0 || code_size (image) > MAX_CODE);
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
lu_file_rows_may_be_read (const LuImage *image, int fd)
{
  guint64 size = lu_file_rows_bytes (image);

  return size <= LU_CODE_MAX_BYTES
         || (size <= LU_CODE_MAX_LOADED
             && (size - code_size (image) <= MAX_DATA || has_little_cfi (image) || is_go (fd)));
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
  guint8 *code;         /* MAX_FUNCTION bytes */
  gsize left;           /* bytes of code that may still be read */
  const GArray *joints; /* of LuCodeRange: functions that are looked at although they have CFI */
  const GArray *ranges; /* lu_code_find_ranges() */
  const GoCode *go;     /* whose code is not searched: Go calls C through pointers */
} CodeReading;

/* Finds where one function with CFI leads to others. */
static void
read_function (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  CodeReading *self = user_data;
  gsize size = to - from;

  if (fde->start != from || fde->end != to || size > MIN (MAX_FUNCTION, self->left)
      || (from >= self->go->all.start && from < self->go->all.end)
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
  const LuCodeWanted wanted = {
    .pieces = gaps, .leads = leads, .jumps = jumps->jumps, .is_cancelled = is_cancelled
  };

  found->rows = jumps;
  found->leads = leads;
  reading->code = code;
  for (guint i = 0; i < reading->joints->len; i++)
    {
      LuCodeLead lead = { g_array_index (reading->joints, LuCodeRange, i).start, LU_START_CERTAIN };

      g_array_append_val (leads, lead);
    }
  if (reading->left > 0)
    lu_compiler_foreach_piece (reading->compiler, read_function, reading);
  g_array_sort (leads, compare_leads);
  return lu_code_rows_new (reading->fd, &wanted);
}

/* Adds the part of a gap that is around an address, but at most `left` bytes, which it takes. */
static void
add_window (const GArray *gaps, guint64 address, GArray *windows, guint64 *left)
{
  guint n = lu_code_file_first (gaps, address + 1); /* no code is at the last address */
  LuCodeRange window;

  if (n == 0)
    return;
  window = g_array_index (gaps, LuCodeRange, n - 1);
  if (address >= window.end)
    return;
  window.start = MAX (window.start, address - MIN (address, WINDOW / 2));
  window.end = MIN (window.end, address + MIN (WINDOW / 2, G_MAXUINT64 - address));
  if (window.end - window.start > *left)
    return;
  *left -= window.end - window.start;
  g_array_append_val (windows, window);
}

/* Makes one of ranges that overlap. They are sorted. */
static void
join_ranges (GArray *ranges)
{
  LuCodeRange *all = (LuCodeRange *) (gpointer) ranges->data;
  guint n = 0;

  for (guint i = 0; i < ranges->len; i++)
    if (n > 0 && all[i].start <= all[n - 1].end)
      all[n - 1].end = MAX (all[n - 1].end, all[i].end);
    else
      all[n++] = all[i];
  g_array_set_size (ranges, n);
}

/* Adds the gaps: if there are more than may be read, what is around the addresses, and then the
 * first ones. */
static void
add_gaps (const GArray *gaps, const GArray *addresses, guint64 size, GArray *kept)
{
  guint64 left = LU_CODE_MAX_BYTES - MAX_JOINTS * MAX_JOINT; /* they are read, too */

  for (guint i = 0; size > left && i < addresses->len; i++)
    add_window (gaps, g_array_index (addresses, guint64, i), kept, &left);
  for (guint i = 0; i < gaps->len; i++)
    {
      LuCodeRange gap = g_array_index (gaps, LuCodeRange, i);

      gap.end = MIN (gap.end, gap.start + left);
      left -= gap.end - gap.start;
      if (gap.end > gap.start)
        g_array_append_val (kept, gap);
    }
}

static LuCodeRows *
read_gaps (CodeReading *reading, LuImage *image, const GArray *addresses, const gint *is_cancelled)
{
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (LuCodeRange));
  g_autoptr (GArray) joints = g_array_new (FALSE, FALSE, sizeof (LuCodeRange)), kept = NULL;
  Gaps all = { .ranges = gaps,
               .joints = joints,
               .entry = lu_image_entry (image),
               .code = reading->ranges,
               .go = reading->go };
  gboolean is_worth;

  reading->segments = lu_image_segments (image, &reading->n_segments);
  lu_compiler_foreach_piece (reading->compiler, note_piece, &all);
  note_gap (&all, all.done, G_MAXUINT64);
  is_worth = all.gap_size >= MIN_GAPS || all.is_entry_bare;
  if ((!is_worth && joints->len == 0) || gaps->len >= MAX_GAPS)
    return NULL;
  kept = g_array_copy (joints);
  if (is_worth)
    add_gaps (gaps, addresses, all.gap_size, kept);
  /* Nothing else leads to joints; and samples would wait for a large file to be searched. */
  if (!is_worth || lu_file_rows_bytes (image) > LU_CODE_MAX_BYTES)
    reading->left = 0;
  g_array_sort (kept, lu_code_compare_addresses);
  join_ranges (kept);
  reading->joints = joints;
  reading->found.gaps = kept;
  return read_found (reading, kept, is_cancelled);
}

LuCodeRows *
lu_file_rows_read_gaps (LuImage *image, int fd, const GArray *addresses, const gint *is_cancelled)
{
  g_autoptr (GArray) foreign = g_array_new (FALSE, FALSE, sizeof (LuCodeRange)), ranges = NULL;
  const LuElfInput input = { .fd = fd, .size = G_MAXINT64 };
  LuElfHeaders headers = { 0 };
  GoCode go = { .foreign = foreign };
  CodeReading reading = {
    .fd = fd, .is_cancelled = is_cancelled, .left = LU_CODE_MAX_BYTES, .go = &go
  };
  LuCodeRows *rows = NULL;

  if (lu_decoder_load () && lu_elf_headers_read (&headers, &input, NULL)
      && read_go_code (&headers, &input, &go))
    {
      reading.ranges = ranges = lu_code_find_ranges (&headers);
      reading.compiler = begin_cfi (image);
    }
  lu_elf_headers_clear (&headers);
  if (reading.compiler == NULL)
    return NULL;
  rows = read_gaps (&reading, image, addresses, is_cancelled);
  end_cfi (reading.compiler, image);
  return rows;
}
