/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps-query.c - executable mappings by asking the kernel for them; see proc-maps.h.
 *
 * A process has five to ten mappings for each executable one, and as text each is printed by the
 * kernel and taken apart here: 15 us a daemon, some 100 us a browser, for all that run, at each
 * start. The ioctl (PROCMAP_QUERY of linux/fs.h, since Linux 6.11) finds the next executable one
 * after an address in 1 us. It leaves out [vsyscall], which no other source tells of either. */

#include "process/proc-maps.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* The structure and its values are older than the headers we may be built with.
 *
 *    0  u64 size, flags, address (asked for)
 *   24  u64 start, end, protection, page size, file offset, inode (answered)
 *   72  u32 device major, minor, bytes at `name` (asked: room), bytes at `build_id`
 *   88  u64 name, build_id: addresses */
typedef struct
{
  guint64 size, flags, address;
  guint64 start, end, protection, page_size, file_offset, inode;
  guint32 major, minor, name_size, build_id_size;
  guint64 name, build_id;
} Query;

_Static_assert(sizeof (Query) == 104, "struct procmap_query");

#define QUERY_EXECUTABLE 0x04
#define QUERY_OR_NEXT    0x10 /* the one that covers the address, or the next one */

/* Of its protection: read, write, execute, as the same bits as PROT_*. */
#define QUERY_PROTECTION (PROT_READ | PROT_WRITE | PROT_EXEC)
_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "PROCMAP_QUERY_VMA_*");

/* Longest path the kernel gives is a page. */
#define MAX_PATH_BYTES 4096
/* The kernel's own limit by default (vm.max_map_count); addresses only grow, but the process may
 * map while we ask. */
#define MAX_QUERIES 65536

gboolean
lu_proc_maps_query (int fd, LuProcMapsFunc func, gpointer user_data)
{
  char path[MAX_PATH_BYTES] = { 0 }; /* valgrind does not know that the kernel writes to it */
  guint64 address = 0;

  for (guint i = 0; i < MAX_QUERIES; i++)
    {
      Query query = { .size = sizeof query,
                      .flags = QUERY_EXECUTABLE | QUERY_OR_NEXT,
                      .address = address,
                      .name_size = sizeof path,
                      .name = (guintptr) path };
      LuProcMap map;

      if (ioctl (fd, LU_PROC_MAPS_QUERY, &query) != 0)
        return errno == ENOENT || errno == ESRCH;
      if (query.name_size == 0 || query.name_size > sizeof path)
        path[0] = 0;
      path[sizeof path - 1] = 0;
      map = (LuProcMap){ .start = query.start,
                         .end = query.end,
                         .file_offset = query.file_offset,
                         .prot = (guint32) query.protection & QUERY_PROTECTION,
                         .major = query.major,
                         .minor = query.minor,
                         .inode = query.inode,
                         .path = path };
      if (!func (&map, user_data) || query.end <= address)
        break;
      address = query.end;
    }
  return TRUE;
}
