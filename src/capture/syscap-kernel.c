/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-kernel.c - kernel function names of a capture; see syscap-kernel.h.
 *
 * Each function that was hit is written once, in the order of the hits; readers sort the lines.
 * Only the last chunk says where functions end that no other hit function follows, because until
 * then such a function may still be hit. */

#include "syscap-kernel.h"

#include "syscap-frames.h"

#define PATH "/proc/kallsyms"
/* Initial room for functions and their lines; it grows. */
#define EXPECTED_FUNCTIONS 2048
#define LINES_BYTES        (64u << 10)
/* Cache of recently looked-up addresses, because samples hit the same places again and again. */
#define SEEN_BITS 10

typedef struct
{
  guint64 start, end;
  guint32 number;   /* in the order of the first hits */
  guint32 is_fixed; /* outside of modules: another module may be loaded at the address of a module
                       that is gone */
} Function;

struct _LuSyscapKernel
{
  LuKallsymsFile *file; /* reference; NULL: none */
  GArray *functions;    /* of Function, sorted by start: those that have a line */
  GString *lines;       /* of all functions */
  gsize n_written;      /* bytes of `lines` that are in the capture */
  gboolean hides;       /* addresses in the lines are invented */
  guint64 seen[1 << SEEN_BITS];
};

LuSyscapKernel *
lu_syscap_kernel_new (LuKallsymsFile *file)
{
  LuSyscapKernel *self = g_new0 (LuSyscapKernel, 1);

  self->file = file != NULL ? lu_kallsyms_file_ref (file) : NULL;
  self->functions = g_array_sized_new (FALSE, FALSE, sizeof (Function), EXPECTED_FUNCTIONS);
  self->lines = g_string_sized_new (LINES_BYTES);
  return self;
}

void
lu_syscap_kernel_free (LuSyscapKernel *self)
{
  if (self == NULL)
    return;
  lu_kallsyms_file_unref (self->file);
  g_array_unref (self->functions);
  g_string_free (self->lines, TRUE);
  g_free (self);
}

static void
append_end (LuSyscapKernel *self, guint64 address)
{
  lu_kallsyms_append_line (self->lines,
                           &(LuKernelSymbol){ .address = address, .type = 't', .name = "_end" });
}

static const Function *
function_at (const LuSyscapKernel *self, guint index)
{
  return &g_array_index (self->functions, Function, index);
}

/* Returns how many functions start at `pc` or below. */
static guint
count_up_to (const LuSyscapKernel *self, guint64 pc)
{
  guint low = 0, high = self->functions->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (function_at (self, middle)->start <= pc)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static const Function *
add_function (LuSyscapKernel *self, guint index, const LuKernelSymbol *symbol)
{
  Function function = { .start = symbol->address,
                        .end = symbol->end,
                        .number = self->functions->len,
                        .is_fixed = symbol->module == NULL };
  LuKernelSymbol written = *symbol;

  g_array_insert_val (self->functions, index, function);
  if (self->hides)
    written.address = lu_syscap_hidden_place (function.number);
  /* Sysprof 3.46 reads only t and T, and ignores weak functions. */
  written.type = g_ascii_isupper (symbol->type) ? 'T' : 't';
  lu_kallsyms_append_line (self->lines, &written);
  return function_at (self, index);
}

/* Returns the function at `pc`, or NULL if there is no name. */
static const Function *
find_function (LuSyscapKernel *self, guint64 pc)
{
  guint n = count_up_to (self, pc);
  LuKernelSymbol symbol;

  if (n > 0 && function_at (self, n - 1)->is_fixed && pc < function_at (self, n - 1)->end)
    return function_at (self, n - 1);
  if (!lu_kallsyms_file_find (self->file, pc, &symbol))
    return NULL;
  n = count_up_to (self, symbol.address);
  if (n > 0 && function_at (self, n - 1)->start == symbol.address)
    return function_at (self, n - 1);
  return add_function (self, n, &symbol);
}

static void
append_ends (LuSyscapKernel *self)
{
  guint n = self->functions->len;

  if (self->hides && n > 0)
    append_end (self, lu_syscap_hidden_place (n));
  for (guint i = 0; !self->hides && i < n; i++)
    if (i + 1 == n || function_at (self, i + 1)->start > function_at (self, i)->end)
      append_end (self, function_at (self, i)->end);
}

void
lu_syscap_kernel_hit (LuSyscapKernel *self, const LuFrame *frames, guint n_frames)
{
  if (self->file == NULL)
    return;
  for (guint i = 0; i < n_frames; i++)
    {
      guint64 pc = frames[i].pc;
      guint64 *seen =
          &self->seen[(pc * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> (64 - SEEN_BITS)];

      if (!(frames[i].flags & LU_FRAME_KERNEL) || *seen == pc)
        continue;
      *seen = pc;
      find_function (self, pc);
    }
}

guint64
lu_syscap_kernel_hide (LuSyscapKernel *self, guint64 pc)
{
  const Function *function;

  self->hides = TRUE;
  function = self->file != NULL ? find_function (self, pc) : NULL;
  if (function == NULL)
    return LU_SYSCAP_HIDDEN_UNKNOWN;
  return lu_syscap_hidden_place (function->number)
         + MIN (pc - function->start, LU_SYSCAP_HIDDEN_SIZE - 1);
}

gboolean
lu_syscap_kernel_write (LuSyscapKernel *self, LuSyscapWriter *writer, gboolean is_last,
                        GError **error)
{
  gsize begin = self->n_written;
  LuSyscapFile file = { .path = PATH, .is_last = is_last };

  if (is_last)
    append_ends (self);
  self->n_written = self->lines->len;
  if (self->n_written == begin && (!is_last || begin == 0))
    return TRUE;
  file.bytes = (const guint8 *) self->lines->str + begin;
  file.size = self->n_written - begin;
  return lu_syscap_write_file (writer, &file, error);
}

LuKallsyms *
lu_syscap_kernel_symbols (const LuSyscapKernel *self)
{
  return lu_kallsyms_parse (self->lines->str, self->lines->len, NULL);
}
