/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-names.c - names of functions of a program: this one. */

#include "symbolize/names.h"

#include "base/fd.h"
#include "symbolize/demangle.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <elf.h>
#include <glib/gstdio.h>
#include <link.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Not static, so that no optimisation renames or joins it. */
G_NO_INLINE int lu_test_function_with_a_name (int x);

int
lu_test_function_with_a_name (int x)
{
  return x * 3 + 1;
}

typedef struct
{
  guint64 address;     /* looked for, in this process */
  guint64 file_offset; /* of it */
  char *build_id;      /* of its file */
} Self;

static void
find_build_id (Self *self, const struct dl_phdr_info *info, const ElfW (Phdr) * header)
{
  const guint8 *at = (const guint8 *) (info->dlpi_addr + header->p_vaddr);
  const guint8 *end = at + header->p_memsz;

  while (at + sizeof (ElfW (Nhdr)) <= end)
    {
      const ElfW (Nhdr) *note = (const ElfW (Nhdr) *) (gconstpointer) at;
      const guint8 *description = at + sizeof *note + ((note->n_namesz + 3) & ~3u);

      if (note->n_type == NT_GNU_BUILD_ID && self->build_id == NULL)
        {
          GString *text = g_string_new (NULL);

          for (guint i = 0; i < note->n_descsz; i++)
            g_string_append_printf (text, "%02x", description[i]);
          self->build_id = g_string_free (text, FALSE);
        }
      at = description + ((note->n_descsz + 3) & ~3u);
    }
}

static int
inspect (struct dl_phdr_info *info, size_t size, void *data)
{
  Self *self = data;
  gboolean is_ours = FALSE;

  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];
      guint64 start = info->dlpi_addr + header->p_vaddr;

      if (header->p_type == PT_LOAD && self->address >= start
          && self->address < start + header->p_memsz)
        {
          is_ours = TRUE;
          self->file_offset = self->address - start + header->p_offset;
        }
    }
  for (int i = 0; is_ours && i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_NOTE)
      find_build_id (self, info, &info->dlpi_phdr[i]);
  return is_ours;
}

static Self
look_at (gconstpointer address)
{
  Self self = { .address = (guint64) (gsize) address };

  g_assert_cmpint (dl_iterate_phdr (inspect, &self), ==, 1);
  return self;
}

static char *
own_path (void)
{
  char *path = g_file_read_link ("/proc/self/exe", NULL);

  g_assert_nonnull (path);
  return path;
}

static void
test_find (void)
{
  g_autoptr (LuNames) names = lu_names_new ();
  g_autofree char *path = own_path ();
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;
  const char *name = lu_names_find (names, path, build_id, self.file_offset + 1);

  g_assert_cmpint (lu_test_function_with_a_name (2), ==, 7);
  g_assert_cmpstr (name, ==, "lu_test_function_with_a_name");
  /* asked again: the same text, not a copy */
  g_assert_true (lu_names_find (names, path, build_id, self.file_offset) == name);
  g_assert_cmpstr (lu_names_find (names, path, NULL, self.file_offset), ==, name);
  g_assert_null (lu_names_find (names, path, build_id, 1ull << 40));
}

static void
test_other_file (void)
{
  g_autoptr (LuNames) names = lu_names_new ();
  g_autofree char *path = own_path ();
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;

  g_assert_null (lu_names_find (names, path, "00112233", self.file_offset));
  g_assert_null (lu_names_find (names, "/nonexistent", NULL, 0));
  g_assert_null (lu_names_find (names, "[vdso]", NULL, 0));
  g_assert_null (lu_names_find (names, "relative", NULL, 0));
  g_assert_null (lu_names_find (names, "/dev/null", NULL, 0));
  g_assert_null (lu_names_find (names, "/proc/self/status", NULL, 0));
}

static void
unhex (const char *text, guint8 *bytes)
{
  for (; text[0] != 0; text += 2)
    *bytes++ = (guint8) (g_ascii_xdigit_value (text[0]) << 4 | g_ascii_xdigit_value (text[1]));
}

/* A copy of this program without section headers, so without symbols, and with a build-id that no
 * debug file on this machine has. */
static char *
make_stripped_copy (const char *build_id)
{
  g_autofree char *path = own_path ();
  char *copy = g_build_filename (g_get_tmp_dir (), "lu-names-XXXXXX", NULL);
  g_autofree char *bytes = NULL;
  guint8 id[64] = { 0 };
  gsize size, id_size = strlen (build_id) / 2;
  ElfW (Ehdr) header;
  char *at;

  g_assert_cmpuint (id_size, <=, sizeof id);
  unhex (build_id, id);
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  at = memmem (bytes, size, id, id_size);
  g_assert_nonnull (at);
  memset (at, 0x5a, id_size);
  memcpy (&header, bytes, sizeof header);
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  memcpy (bytes, &header, sizeof header);
  close (g_mkstemp (copy));
  g_assert_true (g_file_set_contents (copy, bytes, (gssize) size, NULL));
  return copy;
}

/* DEBUGINFOD_URLS was set before libdwfl was loaded, see main(): whoever asked would connect to
 * `server`. */
static int server = -1;

static void
test_asks_no_server (void)
{
  g_autoptr (LuNames) names = lu_names_new ();
  struct pollfd event = { .fd = server, .events = POLLIN };
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;
  g_autofree char *copy = NULL;

  if (server < 0 || build_id == NULL)
    {
      g_test_skip (server < 0 ? "no local socket" : "this program has no build-id");
      return;
    }
  copy = make_stripped_copy (build_id);
  lu_names_find (names, copy, NULL, self.file_offset);
  g_assert_cmpint (poll (&event, 1, 0), ==, 0);
  g_unlink (copy);
}

static int
listen_locally (char **url)
{
  lu_autofd fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t size = sizeof address;

  if (fd < 0 || bind (fd, (struct sockaddr *) &address, size) != 0 || listen (fd, 8) != 0
      || getsockname (fd, (struct sockaddr *) &address, &size) != 0)
    return -1;
  *url = g_strdup_printf ("http://127.0.0.1:%u", ntohs (address.sin_port));
  return lu_fd_steal (&fd);
}

static const struct
{
  const char *symbol, *readable;
} symbols[] = {
  { "main", "main" },
  { "", "" },
  { "_Z3fooi", "foo(int)" },
  { "_ZNSt6vectorIiSaIiEE9push_backERKi",
    "std::vector<int, std::allocator<int> >::push_back(int const&)" },
  { "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
  { "_ZN4core3fmt5write17h0123456789abcdeXE", "core::fmt::write::h0123456789abcdeX" },
  { "_Zgarbage", "_Zgarbage" },
  { "_RNvC7mycrate3foo", "_RNvC7mycrate3foo" },
};

static void
test_demangle (void)
{
  gpointer library = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  g_autofree char *huge = g_strnfill (100000, 'x');
  g_autofree char *mangled = g_strconcat ("_Z", huge, NULL);
  g_autofree char *same = lu_demangle (mangled);

  g_assert_cmpstr (same, ==, mangled);
  for (guint i = 0; i < G_N_ELEMENTS (symbols); i++)
    {
      g_autofree char *readable = lu_demangle (symbols[i].symbol);

      g_assert_cmpstr (readable, ==, library != NULL ? symbols[i].readable : symbols[i].symbol);
    }
}

int
main (int argc, char **argv)
{
  g_autofree char *url = NULL;

  /* libdwfl looks at the variable when it is loaded: set it, and start again */
  if (g_getenv ("DEBUGINFOD_URLS") == NULL || g_getenv ("LU_TEST_SERVER") == NULL)
    {
      int fd = listen_locally (&url);

      if (fd >= 0)
        {
          g_autofree char *number = NULL;

          fd = dup (fd); /* without close-on-exec */
          number = g_strdup_printf ("%d", fd);
          g_setenv ("DEBUGINFOD_URLS", url, TRUE);
          g_setenv ("DEBUGINFOD_TIMEOUT", "2", TRUE);
          g_setenv ("LU_TEST_SERVER", number, TRUE);
          execv ("/proc/self/exe", argv);
        }
    }
  else
    server = atoi (g_getenv ("LU_TEST_SERVER"));

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/symbolize/names/find", test_find);
  g_test_add_func ("/symbolize/names/other-file", test_other_file);
  g_test_add_func ("/symbolize/names/asks-no-server", test_asks_no_server);
  g_test_add_func ("/symbolize/demangle", test_demangle);
  return g_test_run ();
}
