/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps-query.c - queries the kernel for executable mappings; see proc-maps.h.
 *
 * Only one in five to ten mappings is executable, but the text of /proc/PID/maps has all of them:
 * 15 us for a daemon, some 100 us for a browser, for every process at each start. The ioctl
 * (PROCMAP_QUERY of linux/fs.h, since Linux 6.11) finds the next executable mapping in 1 us. It
 * leaves out [vsyscall], which no other source reports either. */

#include "process/proc-maps.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* struct procmap_query, which the headers we build with may not have.
 *
 *    0  u64 size, flags, address (input)
 *   24  u64 start, end, protection, page size, file offset, inode (output)
 *   72  u32 device major, minor, size of `name` (input and output), size of `build_id`
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
#define QUERY_OR_NEXT    0x10 /* the mapping that covers the address, or the next one */

/* Read, write and execute have the same bits as PROT_*. */
#define QUERY_PROTECTION (PROT_READ | PROT_WRITE | PROT_EXEC)
_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "PROCMAP_QUERY_VMA_*");

/* The longest path that the kernel returns is a page. */
#define MAX_PATH_BYTES 4096
/* The kernel's default limit (vm.max_map_count). Addresses only grow, but the process may keep
 * mapping. */
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
      LuMmapEvent map;

      if (ioctl (fd, LU_PROC_MAPS_QUERY, &query) != 0)
        return errno == ENOENT || errno == ESRCH;
      if (query.name_size == 0 || query.name_size > sizeof path)
        path[0] = 0;
      path[sizeof path - 1] = 0;
      map = (LuMmapEvent){ .start = query.start,
                           .length = query.end - query.start,
                           .file_offset = query.file_offset,
                           .prot = (guint32) query.protection & QUERY_PROTECTION,
                           .major = query.major,
                           .minor = query.minor,
                           .inode = query.inode,
                           .has_inode = query.inode != 0,
                           .path = path };
      if (!func (&map, user_data) || query.end <= address)
        break;
      address = query.end;
    }
  return TRUE;
}
