/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copied-text.c - see copied-text.h. */

#include "process/copied-text.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The first bytes of so many pages are read at once. */
#define N_HEADS     64
#define HEAD_BYTES  64
#define CHUNK_BYTES 65536

static gboolean
read_memory (gint32 pid, const struct iovec *there, guint n, guint8 *bytes, guint64 *budget)
{
  struct iovec here = { .iov_base = bytes };

  for (guint i = 0; i < n; i++)
    here.iov_len += there[i].iov_len;
  if (here.iov_len > *budget)
    return FALSE;
  *budget -= here.iov_len;
  return process_vm_readv (pid, &here, 1, there, n, 0) == (gssize) here.iov_len;
}

static gboolean
read_chunk (gint32 pid, guint64 address, gsize size, guint8 *bytes, guint64 *budget)
{
  const struct iovec there = { .iov_base = (void *) (gsize) address, .iov_len = size };

  return read_memory (pid, &there, 1, bytes, budget);
}

/* Returns how many bytes at the start of the copy are those from `original` on. */
static guint64
count_equal (const LuCopiedText *self, guint64 original, guint64 *budget)
{
  static guint8 copy[CHUNK_BYTES], text[CHUNK_BYTES];
  guint64 limit = MIN (self->end - self->start, self->text_end - original), done = 0;

  while (done < limit)
    {
      gsize size = MIN (limit - done, CHUNK_BYTES), same = 0;

      if (!read_chunk (self->pid, self->start + done, size, copy, budget)
          || !read_chunk (self->pid, original + done, size, text, budget))
        return 0;
      while (same < size && copy[same] == text[same])
        same++;
      done += same;
      if (same < size)
        break;
    }
  return done;
}

/* Compares from the start of one page of the text on. Returns FALSE if a second place has the bytes
 * of the copy's start as well, so that none is the original. */
static gboolean
compare_at (LuCopiedText *self, guint64 original, guint64 *budget)
{
  guint64 size = count_equal (self, original, budget);

  if (size < (guint64) sysconf (_SC_PAGESIZE))
    return TRUE;
  if (self->size != 0)
    return FALSE;
  self->original = original;
  self->size = size;
  return TRUE;
}

/* Returns FALSE if the search ends without a result. */
static gboolean
search (LuCopiedText *self, guint64 *budget)
{
  guint8 head[HEAD_BYTES], heads[N_HEADS * HEAD_BYTES];
  guint64 page = (guint64) sysconf (_SC_PAGESIZE), at = self->text_start;

  if (self->end <= self->start || self->end - self->start < page
      || !read_chunk (self->pid, self->start, HEAD_BYTES, head, budget))
    return FALSE;
  while (at < self->text_end)
    {
      struct iovec there[N_HEADS];
      guint n = 0;

      for (; n < N_HEADS && at + n * page < self->text_end; n++)
        there[n] =
            (struct iovec){ .iov_base = (void *) (gsize) (at + n * page), .iov_len = HEAD_BYTES };
      if (!read_memory (self->pid, there, n, heads, budget))
        return FALSE;
      for (guint i = 0; i < n; i++)
        if (memcmp (&heads[i * HEAD_BYTES], head, HEAD_BYTES) == 0
            && !compare_at (self, at + i * page, budget))
          return FALSE;
      at += n * page;
    }
  return *budget > 0;
}

void
lu_copied_text_compare (LuCopiedText *self, guint64 *budget)
{
  self->original = self->size = 0;
  if (!search (self, budget))
    self->original = self->size = 0;
}
