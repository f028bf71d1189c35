/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.c - function names through libdwfl; see names.h.
 *
 * One Dwfl per file, so that files cannot overlap. The callbacks are ours: libdwfl's own ones ask
 * debuginfod when DEBUGINFOD_URLS is set, and a report must not wait for a server. */

#include "symbolize/names.h"

#include "base/fd.h"
#include "symbolize/demangle.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"

typedef struct
{
  Dwfl *dwfl;            /* NULL: the file cannot be used */
  Dwfl_Module *module;   /* borrowed from dwfl */
  GHashTable *by_symbol; /* address of the symbol -> demangled name, owned */
} File;

struct _LuNames
{
  GHashTable *files; /* "path\nbuild-id" -> File */
};

static int
no_elf (Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base, char **file_name,
        Elf **elf)
{
  return -1;
}

static char *
hex_of (const guint8 *bytes, gssize size)
{
  GString *text = g_string_new (NULL);

  for (gssize i = 0; i < size; i++)
    g_string_append_printf (text, "%02x", bytes[i]);
  return g_string_free (text, FALSE);
}

/* Opens a regular file without waiting for anything. The path may come from a capture of somebody
 * else: of a device even the opening could do something, so it is looked at first. */
static int
open_regular (const char *path)
{
  struct stat st;
  lu_autofd fd = -1;

  if (stat (path, &st) != 0 || !S_ISREG (st.st_mode))
    return -1;
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat (fd, &st) != 0 || !S_ISREG (st.st_mode))
    return -1;
  return lu_fd_steal (&fd);
}

/* Hexadecimal; NULL if the file has none. */
static char *
build_id_of_fd (int fd)
{
  Elf *elf = elf_begin (fd, ELF_C_READ_MMAP, NULL);
  const void *bytes = NULL;
  gssize size = elf != NULL ? dwelf_elf_gnu_build_id (elf, &bytes) : -1;
  char *text = size > 0 ? hex_of (bytes, size) : NULL;

  elf_end (elf);
  return text;
}

/* Opens a debug file if it has that build-id; steals the path. */
static int
try_debug_file (char *path, const char *build_id, char **debug_path)
{
  g_autofree char *owned = path;
  lu_autofd fd = open_regular (path);
  g_autofree char *found = fd >= 0 ? build_id_of_fd (fd) : NULL;

  if (found == NULL || !g_str_equal (found, build_id))
    return -1;
  /* libdwfl frees it with free(), which is what g_free() is */
  *debug_path = g_steal_pointer (&owned);
  return lu_fd_steal (&fd);
}

static int
find_debug_file (Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
                 const char *file_name, const char *debug_link, GElf_Word crc, char **debug_path)
{
  const unsigned char *bytes = NULL;
  GElf_Addr note;
  int size = dwfl_module_build_id (module, &bytes, &note);
  g_autofree char *build_id = size > 1 ? hex_of (bytes, size) : NULL;
  g_autofree char *folder = file_name != NULL ? g_path_get_dirname (file_name) : NULL;
  int fd;

  if (build_id == NULL)
    return -1;
  fd = try_debug_file (
      g_strdup_printf (DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2), build_id,
      debug_path);
  if (fd >= 0 || folder == NULL || debug_link == NULL || strchr (debug_link, '/') != NULL)
    return fd;
  fd = try_debug_file (g_build_filename (DEBUG_ROOT, folder, debug_link, NULL), build_id,
                       debug_path);
  if (fd < 0)
    fd = try_debug_file (g_build_filename (folder, ".debug", debug_link, NULL), build_id,
                         debug_path);
  return fd;
}

static const Dwfl_Callbacks callbacks = {
  .find_elf = no_elf,
  .find_debuginfo = find_debug_file,
  .section_address = dwfl_offline_section_address,
};

static void
file_free (gpointer pointer)
{
  File *self = pointer;

  if (self->dwfl != NULL)
    dwfl_end (self->dwfl);
  g_hash_table_unref (self->by_symbol);
  g_free (self);
}

static File *
file_new (const char *path, const char *build_id)
{
  File *self = g_new0 (File, 1);
  lu_autofd fd = open_regular (path);
  g_autofree char *found = fd >= 0 ? build_id_of_fd (fd) : NULL;

  self->by_symbol = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  if (fd < 0 || (build_id != NULL && g_strcmp0 (found, build_id) != 0))
    return self;
  self->dwfl = dwfl_begin (&callbacks);
  if (self->dwfl == NULL)
    return self;
  dwfl_report_begin (self->dwfl);
  self->module = dwfl_report_elf (self->dwfl, path, path, fd, 0, TRUE);
  if (self->module != NULL)
    lu_fd_steal (&fd); /* libdwfl closes it */
  dwfl_report_end (self->dwfl, NULL, NULL);
  return self;
}

/* The run-time address libdwfl gave the byte at that offset of the file. */
static gboolean
address_of_offset (File *self, guint64 file_offset, GElf_Addr *address)
{
  GElf_Addr bias = 0;
  Elf *elf = dwfl_module_getelf (self->module, &bias);
  size_t n_headers = 0;

  if (elf == NULL || elf_getphdrnum (elf, &n_headers) != 0)
    return FALSE;
  for (size_t i = 0; i < n_headers; i++)
    {
      GElf_Phdr header;

      if (gelf_getphdr (elf, (int) i, &header) == NULL)
        return FALSE;
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) && file_offset >= header.p_offset
          && file_offset - header.p_offset < header.p_filesz)
        {
          *address = header.p_vaddr + (file_offset - header.p_offset) + bias;
          return TRUE;
        }
    }
  return FALSE;
}

LuNames *
lu_names_new (void)
{
  LuNames *self = g_new0 (LuNames, 1);

  elf_version (EV_CURRENT);
  self->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, file_free);
  return self;
}

void
lu_names_free (LuNames *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->files);
  g_free (self);
}

/* Demangled, and without the version that linkers put behind "@". */
static char *
readable_name (const char *symbol)
{
  g_autofree char *plain = g_strndup (symbol, strcspn (symbol + 1, "@") + 1);

  return lu_demangle (plain);
}

static File *
get_file (LuNames *self, const char *path, const char *build_id)
{
  g_autofree char *key = g_strconcat (path, "\n", build_id, NULL);
  File *file = g_hash_table_lookup (self->files, key);

  if (file == NULL)
    {
      file = file_new (path, build_id);
      g_hash_table_insert (self->files, g_steal_pointer (&key), file);
    }
  return file;
}

const char *
lu_names_find (LuNames *self, const char *path, const char *build_id, guint64 file_offset)
{
  File *file = path[0] == '/' ? get_file (self, path, build_id) : NULL;
  GElf_Addr address;
  GElf_Off offset;
  GElf_Sym symbol;
  const char *name;
  guint64 start;
  char *readable;

  if (file == NULL || file->module == NULL || !address_of_offset (file, file_offset, &address))
    return NULL;
  name = dwfl_module_addrinfo (file->module, address, &offset, &symbol, NULL, NULL, NULL);
  if (name == NULL || name[0] == 0)
    return NULL;
  start = address - offset;
  readable = g_hash_table_lookup (file->by_symbol, &start);
  if (readable == NULL)
    {
      readable = readable_name (name);
      g_hash_table_insert (file->by_symbol, g_memdup2 (&start, sizeof start), readable);
    }
  return readable;
}
