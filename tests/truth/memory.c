/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory.c - process_vm_readv in blocks of 256 bytes: the words that one step needs are close to
 * each other, and no block crosses a page. */

#include "memory.h"

#include <string.h>
#include <sys/uio.h>

#define BLOCK_SIZE 256
#define N_BLOCKS   64

typedef struct
{
  guint64 address, generation;
  guint8 bytes[BLOCK_SIZE];
} Block;

struct _Memory
{
  pid_t pid;
  guint64 generation; /* blocks of an earlier generation are stale */
  Block blocks[N_BLOCKS];
};

Memory *
memory_new (pid_t pid)
{
  Memory *self = g_new0 (Memory, 1);

  self->pid = pid;
  self->generation = 1;
  return self;
}

void
memory_free (Memory *self)
{
  g_free (self);
}

void
memory_forget (Memory *self)
{
  self->generation++;
}

gsize
memory_read (Memory *self, guint64 address, void *bytes, gsize size)
{
  struct iovec local = { bytes, size };
  struct iovec remote = { (void *) address, size };
  ssize_t n = process_vm_readv (self->pid, &local, 1, &remote, 1, 0);

  return n > 0 ? (gsize) n : 0;
}

static const Block *
find_block (Memory *self, guint64 address)
{
  Block *block = &self->blocks[address / BLOCK_SIZE % N_BLOCKS];

  if (block->address == address && block->generation == self->generation)
    return block;
  block->address = address;
  block->generation = 0;
  if (memory_read (self, address, block->bytes, BLOCK_SIZE) != BLOCK_SIZE)
    return NULL;
  block->generation = self->generation;
  return block;
}

gboolean
memory_read_word (Memory *self, guint64 address, guint64 *value)
{
  const Block *block;

  if (address % 8 != 0)
    return memory_read (self, address, value, 8) == 8;
  block = find_block (self, address & ~(guint64) (BLOCK_SIZE - 1));
  if (block == NULL)
    return FALSE;
  memcpy (value, block->bytes + address % BLOCK_SIZE, 8);
  return TRUE;
}
