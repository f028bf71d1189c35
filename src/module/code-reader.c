/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-reader.c - a few open files, a budget; see code-reader.h. */

#include "module/code-reader.h"

#include "base/fd.h"
#include "module/opener.h"

/* Files that stay open; a recording has to do with few descriptors. */
#define N_FILES 2
/* A read takes half a microsecond, opening a file ten and more, so hostile processes can cost some
 * 2 % of a CPU. A start of node asks for some 300 places in 2 files, one of java for 1,000 in 3. */
#define READS_PER_SECOND 20000
#define OPENS_PER_SECOND 200

typedef struct
{
  guint32 module; /* id, never used again; 0: none */
  int fd;         /* owned; -1: cannot be opened */
  guint64 last_use;
} File;

struct _LuCodeReader
{
  File files[N_FILES];
  guint64 n_uses;
  gint64 second; /* of the monotonic clock, to which the counts belong */
  guint n_reads, n_opens;
};

LuCodeReader *
lu_code_reader_new (void)
{
  LuCodeReader *self = g_new0 (LuCodeReader, 1);

  for (guint i = 0; i < N_FILES; i++)
    self->files[i].fd = -1;
  return self;
}

void
lu_code_reader_free (LuCodeReader *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < N_FILES; i++)
    lu_fd_clear (&self->files[i].fd);
  g_free (self);
}

/* The place of the module's file: its own, else the one that was not used for longest. */
static File *
find_place (LuCodeReader *self, const LuModule *module)
{
  File *oldest = &self->files[0];

  for (guint i = 0; i < N_FILES; i++)
    {
      if (self->files[i].module == lu_module_id (module))
        return &self->files[i];
      if (self->files[i].last_use < oldest->last_use)
        oldest = &self->files[i];
    }
  return oldest;
}

static void
begin_second (LuCodeReader *self)
{
  gint64 second = g_get_monotonic_time () / G_USEC_PER_SEC;

  if (second != self->second)
    self->n_reads = self->n_opens = 0;
  self->second = second;
}

LuCodeResult
lu_code_reader_read (LuCodeReader *self, const LuModule *module, gint32 pid, guint64 start,
                     guint64 end, guint64 file_offset, guint8 *bytes, gsize size)
{
  File *file = find_place (self, module);

  begin_second (self);
  if (self->n_reads >= READS_PER_SECOND)
    return LU_CODE_OVER_BUDGET;
  if (file->module != lu_module_id (module))
    {
      if (self->n_opens >= OPENS_PER_SECOND)
        return LU_CODE_OVER_BUDGET;
      self->n_opens++;
      lu_fd_clear (&file->fd);
      file->fd = lu_opener_reopen (module, pid, start, end);
      file->module = lu_module_id (module);
    }
  file->last_use = ++self->n_uses;
  self->n_reads++;
  if (file->fd < 0 || file_offset > G_MAXINT64 - size
      || lu_fd_pread_all (file->fd, bytes, size, (gint64) file_offset) != (gssize) size)
    return LU_CODE_UNREADABLE;
  return LU_CODE_READ;
}
