/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms-copy.c - finds functions in a copy by bisection with pread(); see kallsyms-copy.h. */

#include "symbolize/kallsyms-copy.h"

#include "base/digest.h"
#include "base/fd.h"
#include "base/hex.h"

#include <string.h>
#include <sys/stat.h>

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 36
/* Bytes of /proc/kallsyms that tell kernels of one boot apart: what one read returns. */
#define START_SIZE 4096
/* Bytes in which the bisection ends; names have up to 511. */
#define BLOCK_SIZE 4096

struct _LuKallsymsCopy
{
  int fd;
  guint64 begin, end; /* of the lines */
  char block[2 * BLOCK_SIZE];
};

/* A line in the block. */
typedef struct
{
  guint64 address;
  const char *type;
  const char *name;
  gsize name_length;
} Line;

gboolean
lu_kallsyms_identity (int fd, char identity[LU_KALLSYMS_IDENTITY_SIZE])
{
  lu_autofd boot = open (BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
  guint8 digest[LU_DIGEST_SIZE];
  char start[START_SIZE];
  gssize n;

  if (boot < 0 || lu_fd_pread_all (boot, identity, BOOT_ID_SIZE, 0) != BOOT_ID_SIZE)
    return FALSE;
  n = pread (fd, start, sizeof start, 0);
  if (n <= 0)
    return FALSE;
  lu_digest (start, (gsize) n, digest);
  identity[BOOT_ID_SIZE] = ' ';
  strcpy (lu_hex_write (identity + BOOT_ID_SIZE + 1, digest, sizeof digest), "\n");
  return TRUE;
}

LuKallsymsCopy *
lu_kallsyms_copy_new (int fd_taken, const char *identity)
{
  lu_autofd fd = fd_taken;
  char found[LU_KALLSYMS_IDENTITY_SIZE];
  gsize size = strlen (identity);
  LuKallsymsCopy *self;
  struct stat info;

  if (fd < 0 || fstat (fd, &info) != 0 || size > sizeof found
      || lu_fd_pread_all (fd, found, size, 0) != (gssize) size
      || memcmp (found, identity, size) != 0)
    return NULL;
  self = g_new (LuKallsymsCopy, 1);
  self->begin = size;
  self->end = (guint64) info.st_size;
  self->fd = lu_fd_steal (&fd);
  return self;
}

void
lu_kallsyms_copy_free (LuKallsymsCopy *self)
{
  if (self == NULL)
    return;
  close (self->fd);
  g_free (self);
}

/* Reads the line at `at`, which ends before `end`. Returns where the next one begins, or NULL if it
 * is no line of a copy. */
static const char *
read_line (const char *at, const char *end, Line *line)
{
  const char *newline = at < end ? memchr (at, '\n', (gsize) (end - at)) : NULL;
  gsize n;

  if (newline == NULL)
    return NULL;
  n = lu_hex_read_number (at, newline, &line->address);
  if (n == 0 || newline - at < (gssize) n + 4 || at[n] != ' ' || at[n + 2] != ' ')
    return NULL;
  line->type = at + n + 1;
  line->name = at + n + 3;
  line->name_length = (gsize) (newline - line->name);
  return newline + 1;
}

/* Reads bytes of the copy from `offset` on. Returns their end, or NULL. */
static char *
read_block (LuKallsymsCopy *self, guint64 offset, gsize size)
{
  gsize wanted = (gsize) MIN (size, self->end - offset);

  return lu_fd_pread_all (self->fd, self->block, wanted, (gint64) offset) == (gssize) wanted
             ? self->block + wanted
             : NULL;
}

/* Finds the offset of the last line that begins a piece and has at most that address. */
static gboolean
bisect (LuKallsymsCopy *self, guint64 address, guint64 *found)
{
  guint64 low = self->begin, high = self->end;

  while (low < high && high - low > BLOCK_SIZE)
    {
      guint64 middle = low + (high - low) / 2;
      const char *end = read_block (self, middle, BLOCK_SIZE / 2);
      const char *at = end != NULL ? memchr (self->block, '\n', (gsize) (end - self->block)) : NULL;
      Line line;

      if (at == NULL || read_line (at + 1, end, &line) == NULL)
        return FALSE;
      if (line.address <= address)
        low = middle + (gsize) (at + 1 - self->block);
      else
        high = middle;
    }
  *found = low;
  return low < high;
}

/* Fills in the function; the name is ended in the block. */
static void
take (LuKallsymsCopy *self, const Line *line, guint64 end, LuKernelSymbol *symbol)
{
  self->block[line->name + line->name_length - self->block] = 0;
  *symbol = (LuKernelSymbol){
    .address = line->address, .end = end, .type = *line->type, .name = line->name
  };
}

gboolean
lu_kallsyms_copy_find (LuKallsymsCopy *self, guint64 address, LuKernelSymbol *symbol)
{
  Line line, next;
  const char *at, *end;
  guint64 offset;

  if (self == NULL || !bisect (self, address, &offset))
    return FALSE;
  end = read_block (self, offset, sizeof self->block);
  at = end != NULL ? read_line (self->block, end, &line) : NULL;
  if (at == NULL || line.address > address)
    return FALSE;
  while ((at = read_line (at, end, &next)) != NULL && next.address <= address)
    line = next;
  /* Where the last function ends is not known. */
  if (at == NULL)
    return FALSE;
  take (self, &line, next.address, symbol);
  return TRUE;
}

GString *
lu_kallsyms_copy_text (const LuKallsyms *symbols, const char *identity)
{
  guint n = lu_kallsyms_size (symbols);
  GString *text = g_string_sized_new ((gsize) n * 48);

  g_string_append (text, identity);
  for (guint i = 0; i < n; i++)
    {
      LuKernelSymbol symbol;

      lu_kallsyms_get (symbols, i, &symbol);
      if (symbol.module == NULL)
        lu_kallsyms_append_line (text, &symbol);
    }
  return text;
}
