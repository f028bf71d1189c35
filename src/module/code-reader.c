/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-reader.c - a few open files and a budget; see code-reader.h. */

#include "module/code-reader.h"

#include "base/clock.h"
#include "base/copy-file.h"
#include "base/fd.h"
#include "base/speed.h"
#include "base/time-budget.h"
#include "module/opener.h"

/* Files that stay open; a recording has few descriptors. */
#define N_FILES 6
/* Pages of code that are kept. A function, the calls in it and its leaves are asked for one after
 * the other: of 86,000 reads while Chromium starts, 60,000 find their page here. */
#define PAGE_BITS 12
#define PAGE_SIZE (1u << PAGE_BITS)
#define SLOT_BITS 8
/* A read takes half a microsecond, opening a file ten or more, so hostile processes can cost about
 * 2 % of a CPU. Starting node reads some 300 addresses in 2 files, starting java 1,000 in 3. The
 * start of Chromium, which has hardly any CFI, reads more than 20,000 in each of two seconds, so
 * reads that were not made in eight seconds may be made later. */
#define READS_PER_SECOND 20000
#define READS_MAX        (8 * READS_PER_SECOND)
#define OPENS_PER_SECOND 200
#define MAX_REFILLS      3
/* Smaller CFI is read even if the process has used up its time; the limits above are enough. */
#define SMALL_CFI_BYTES (512u << 10)
/* How long a replay waits for rows of code. */
#define REPLAY_WAIT_MS 60000

typedef struct
{
  guint32 module; /* id, never reused; 0: none */
  int fd;         /* owned; -1: cannot be opened, at least through that process */
  gint32 pid;     /* through whose mapping it was opened */
  guint64 last_use;
} File;

typedef struct
{
  guint32 module; /* id; 0: none */
  guint32 size;   /* bytes; less than a page at the end of the file, which is not kept */
  guint64 number; /* of the page in the file */
  guint8 bytes[PAGE_SIZE];
} Page;

struct _LuCodeReader
{
  File files[N_FILES];
  Page *pages; /* owned: 1 << SLOT_BITS */
  guint64 n_uses;
  gint64 second; /* second of the monotonic clock that the counts are for; 0: none yet */
  guint n_reads_left, n_opens;
  gboolean is_limited;
  LuAwaitedRows *awaited; /* borrowed; NULL: nobody asks */
  LuTimeBudget *budget;
};

LuCodeReader *
lu_code_reader_new (void)
{
  LuCodeReader *self = g_new0 (LuCodeReader, 1);

  for (guint i = 0; i < N_FILES; i++)
    self->files[i].fd = -1;
  self->pages = g_new0 (Page, 1 << SLOT_BITS);
  self->budget = lu_time_budget_new (&lu_time_shares_for_files, lu_machine_slowness ());
  self->is_limited = TRUE;
  return self;
}

void
lu_code_reader_set_limited (LuCodeReader *self, gboolean is_limited)
{
  self->is_limited = is_limited;
}

void
lu_code_reader_set_awaited (LuCodeReader *self, LuAwaitedRows *awaited)
{
  self->awaited = awaited;
}

gboolean
lu_code_reader_awaits (const LuCodeReader *self)
{
  return self->awaited != NULL && self->awaited->slot != NULL;
}

void
lu_code_reader_free (LuCodeReader *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < N_FILES; i++)
    lu_fd_clear (&self->files[i].fd);
  lu_time_budget_free (self->budget);
  g_free (self->pages);
  g_free (self);
}

/* Returns the entry of the module, or the one that was not used for longest. */
static File *
find_entry (LuCodeReader *self, const LuModule *module)
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
  gint64 n_reads = READS_MAX;

  if (second == self->second)
    return;
  if (self->second != 0)
    n_reads = self->n_reads_left + (second - self->second) * READS_PER_SECOND;
  self->n_reads_left = (guint) MIN (n_reads, READS_MAX);
  self->n_opens = 0;
  self->second = second;
}

/* A deleted file, or one in a container, can only be opened through a process that maps it and is
 * alive. */
static gboolean
is_tried (const File *file, const LuMappedModule *mapped)
{
  return file->module == lu_module_id (mapped->module)
         && (file->fd >= 0 || file->pid == mapped->pid);
}

/* Returns the module's file, opened, or NULL if the budget is used up. */
static File *
find_file (LuCodeReader *self, const LuMappedModule *mapped)
{
  File *file = find_entry (self, mapped->module);

  begin_second (self);
  if (self->is_limited && self->n_reads_left == 0)
    return NULL;
  if (!is_tried (file, mapped))
    {
      if (self->is_limited && self->n_opens >= OPENS_PER_SECOND)
        return NULL;
      self->n_opens++;
      lu_fd_clear (&file->fd);
      file->fd = lu_opener_reopen (mapped->module, mapped->pid, mapped->start, mapped->end);
      if (lu_copy_left_unfinished () && file->fd < 0)
        {
          file->module = 0;
          return NULL;
        }
      file->module = lu_module_id (mapped->module);
      file->pid = mapped->pid;
    }
  file->last_use = ++self->n_uses;
  self->n_reads_left -= self->n_reads_left > 0;
  return file;
}

/* Returns a page of the file until the next call; it has fewer bytes, perhaps none, where the file
 * ends. */
static const Page *
find_page (LuCodeReader *self, const File *file, guint64 number)
{
  guint64 hash = (number ^ (guint64) file->module << 32) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  Page *page = &self->pages[hash >> (64 - SLOT_BITS)];
  gssize size;

  if (page->module == file->module && page->number == number)
    return page;
  size = lu_fd_pread_all (file->fd, page->bytes, PAGE_SIZE, (gint64) (number << PAGE_BITS));
  page->module = size == PAGE_SIZE ? file->module : 0; /* an error may pass, and a file may grow */
  page->number = number;
  page->size = (guint32) MAX (size, 0);
  return page;
}

/* Reads by pages what is not larger than one. */
static gboolean
read_small (LuCodeReader *self, const File *file, guint64 file_offset, guint8 *bytes, gsize size)
{
  while (size > 0)
    {
      const Page *page = find_page (self, file, file_offset >> PAGE_BITS);
      gsize at = file_offset % PAGE_SIZE, n = MIN (size, PAGE_SIZE - at);

      if (at + n > page->size)
        return FALSE;
      memcpy (bytes, page->bytes + at, n);
      file_offset += n;
      bytes += n;
      size -= n;
    }
  return TRUE;
}

LuCodeResult
lu_code_reader_read (LuCodeReader *self, const LuMappedModule *mapped, guint64 file_offset,
                     guint8 *bytes, gsize size)
{
  File *file = find_file (self, mapped);
  gboolean is_read;

  if (file == NULL)
    return LU_CODE_OVER_BUDGET;
  if (file->fd < 0 || file_offset > G_MAXINT64 - PAGE_SIZE - size)
    return LU_CODE_UNREADABLE;
  is_read = size <= PAGE_SIZE
                ? read_small (self, file, file_offset, bytes, size)
                : lu_fd_pread_all (file->fd, bytes, size, (gint64) file_offset) == (gssize) size;
  return is_read ? LU_CODE_READ : LU_CODE_UNREADABLE;
}

LuCodeResult
lu_code_reader_read_anew (LuCodeReader *self, const LuMappedModule *mapped, guint64 file_offset,
                          guint8 *bytes, gsize size)
{
  File *file = find_file (self, mapped);

  if (file == NULL)
    return LU_CODE_OVER_BUDGET;
  if (file->fd < 0 || file_offset > G_MAXINT64 - size
      || lu_fd_pread_all (file->fd, bytes, size, (gint64) file_offset) != (gssize) size)
    return LU_CODE_UNREADABLE;
  return LU_CODE_READ;
}

gboolean
lu_code_reader_may_work (LuCodeReader *self, gint32 pid)
{
  return !self->is_limited || lu_time_budget_has (self->budget, pid);
}

void
lu_code_reader_charge (LuCodeReader *self, gint32 pid, guint64 ns)
{
  if (self->is_limited)
    lu_time_budget_charge (self->budget, pid, ns);
}

/* Asks for the rows around an address, and notes them if they have yet to come. A replay waits for
 * all rows, so that it ends the same each time. */
static gboolean
await_filled (LuCodeReader *self, LuTableSlot *slot, guint64 address)
{
  if (!self->is_limited)
    return lu_table_slot_wait_filled (slot, LU_ALL_ROWS, REPLAY_WAIT_MS);
  if (lu_table_slot_wait_filled (slot, address, 0))
    return TRUE;
  if (self->awaited != NULL && self->awaited->slot == NULL)
    *self->awaited = (LuAwaitedRows){ .slot = slot, .address = address };
  return FALSE;
}

gboolean
lu_code_reader_fill_gaps (LuCodeReader *self, const LuMappedModule *mapped, guint64 address)
{
  LuTableSlot *slot = lu_module_table_slot (mapped->module);
  gboolean may_fill;
  File *file;

  if (slot == NULL)
    return TRUE;
  if (lu_table_slot_may_fill_gaps (slot) && (file = find_file (self, mapped)) != NULL)
    lu_table_slot_fill_gaps (slot, lu_module_image (mapped->module), lu_fd_duplicate (file->fd));
  may_fill =
      lu_table_slot_may_fill_gaps (slot); /* before the other flag, which may fall meanwhile */
  return lu_table_slot_is_filling (slot) ? await_filled (self, slot, address) : !may_fill;
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

/* Reads the CFI of an image that has dropped it. */
static LuCodeResult
refill (LuCodeReader *self, const LuMappedModule *mapped, LuImage *image)
{
  gboolean is_costly =
      self->is_limited
      && (lu_image_is_compressed (image) || lu_image_cfi_size (image) > SMALL_CFI_BYTES);
  guint64 begin = lu_thread_cpu_ns ();
  gboolean is_done;
  File *file;

  if (lu_image_cfi_size (image) + lu_images_cfi_bytes () > lu_images_limit ()
      || (lu_image_is_compressed (image) && lu_image_cfi_size (image) > lu_images_limit () / 2)
      || (is_costly && !lu_time_budget_has (self->budget, mapped->pid)))
    return LU_CODE_OVER_BUDGET;
  file = find_file (self, mapped);
  if (file == NULL)
    return LU_CODE_OVER_BUDGET;
  is_done = file->fd >= 0 && lu_image_refill_cfi (image, file->fd);
  lu_time_budget_charge (self->budget, mapped->pid, lu_thread_cpu_ns () - begin);
  return is_done ? LU_CODE_READ : LU_CODE_UNREADABLE;
}

/* The CFI may be dropped again before it is held, so a few attempts are made. */
LuCodeResult
lu_code_reader_hold_cfi (LuCodeReader *self, GPtrArray *held, const LuMappedModule *mapped)
{
  LuImage *image = lu_module_image (mapped->module);

  if (g_ptr_array_find (held, image, NULL))
    return LU_CODE_READ;
  for (guint i = 0; !lu_image_hold_cfi (image); i++)
    {
      LuCodeResult result = i < MAX_REFILLS ? refill (self, mapped, image) : LU_CODE_OVER_BUDGET;

      if (result != LU_CODE_READ)
        return result;
    }
  g_ptr_array_add (held, lu_image_ref (image));
  lu_module_prepare_cfi (mapped->module);
  return LU_CODE_READ;
}
