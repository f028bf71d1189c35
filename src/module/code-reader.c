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
#define MAX_REFILLS      3
/* Of all images whose CFI comes and goes, while samples need it. */
#define MAX_CFI_BYTES ((gsize) 512 << 20)

typedef struct
{
  guint32 module; /* id, never used again; 0: none */
  int fd;         /* owned; -1: cannot be opened, through that process at least */
  gint32 pid;     /* through whose mapping it was opened */
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

/* A file that is deleted, or in a container, can be opened through who maps it and is there. */
static gboolean
is_tried (const File *file, const LuModule *module, gint32 pid)
{
  return file->module == lu_module_id (module) && (file->fd >= 0 || file->pid == pid);
}

/* The module's file, opened; NULL if that is not for now. */
static File *
find_file (LuCodeReader *self, const LuModule *module, gint32 pid, guint64 start, guint64 end)
{
  File *file = find_place (self, module);

  begin_second (self);
  if (self->n_reads >= READS_PER_SECOND)
    return NULL;
  if (!is_tried (file, module, pid))
    {
      if (self->n_opens >= OPENS_PER_SECOND)
        return NULL;
      self->n_opens++;
      lu_fd_clear (&file->fd);
      file->fd = lu_opener_reopen (module, pid, start, end);
      file->module = lu_module_id (module);
      file->pid = pid;
    }
  file->last_use = ++self->n_uses;
  self->n_reads++;
  return file;
}

LuCodeResult
lu_code_reader_read (LuCodeReader *self, const LuModule *module, gint32 pid, guint64 start,
                     guint64 end, guint64 file_offset, guint8 *bytes, gsize size)
{
  File *file = find_file (self, module, pid, start, end);

  if (file == NULL)
    return LU_CODE_OVER_BUDGET;
  if (file->fd < 0 || file_offset > G_MAXINT64 - size
      || lu_fd_pread_all (file->fd, bytes, size, (gint64) file_offset) != (gssize) size)
    return LU_CODE_UNREADABLE;
  return LU_CODE_READ;
}

static void
release (gpointer image)
{
  lu_image_release_cfi (image);
  lu_image_unref (image);
}

GPtrArray *
lu_held_cfi_new (void)
{
  return g_ptr_array_new_with_free_func (release);
}

/* It may be dropped again before it is held, but not over and over. */
LuCodeResult
lu_code_reader_hold_cfi (LuCodeReader *self, GPtrArray *held, LuModule *module, gint32 pid,
                         guint64 start, guint64 end)
{
  LuImage *image = lu_module_image (module);

  if (g_ptr_array_find (held, image, NULL))
    return LU_CODE_READ;
  for (guint i = 0; !lu_image_hold_cfi (image); i++)
    {
      File *file = i < MAX_REFILLS ? find_file (self, module, pid, start, end) : NULL;

      if (file == NULL || lu_image_resident_bytes (image) + lu_images_cfi_bytes () > MAX_CFI_BYTES)
        return LU_CODE_OVER_BUDGET;
      if (file->fd < 0 || !lu_image_refill_cfi (image, file->fd))
        return LU_CODE_UNREADABLE;
    }
  g_ptr_array_add (held, lu_image_ref (image));
  lu_module_prepare_cfi (module);
  return LU_CODE_READ;
}
