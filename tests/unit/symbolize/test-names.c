/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-names.c - names of functions of a program: this one. */

#include "symbolize/namer.h"

#include "base/fd.h"
#include "base/hex.h"
#include "base/open-file.h"
#include "elf/image.h"
#include "symbolize/demangle.h"
#include "symbolize/elf-symbols.h"

#include <arpa/inet.h>
#include <elf.h>
#include <glib/gstdio.h>
#include <link.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>

/* The function is not static, so that no optimisation renames or merges it. */
G_NO_INLINE int lu_test_function_with_a_name (int x);

int
lu_test_function_with_a_name (int x)
{
  return x * 3 + 1;
}

typedef struct
{
  guint64 address;     /* to be looked up, in this process */
  guint64 file_offset; /* of the address */
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

/* Returns the answer, whose name is interned. */
static LuNameQuery
ask_about (const LuFileId *id, guint64 file_offset, LuNamesResult *result)
{
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = lu_namer_new (jitdumps);
  LuNameQuery answer;
  guint n;

  lu_namer_add_file (namer, &(LuNameFile){ .id = id });
  lu_namer_add (namer, 0, file_offset, 0);
  g_assert_true (lu_namer_run (namer, &(LuNamerOptions){ 0 }));
  answer = *lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, 1);
  answer.name = g_intern_string (answer.name);
  *result = lu_namer_result (namer, 0);
  return answer;
}

static LuNameQuery
ask (const char *path, const char *build_id, guint64 file_offset)
{
  LuNamesResult result;

  return ask_about (&(LuFileId){ .path = path, .build_id = build_id }, file_offset, &result);
}

static void
test_find (void)
{
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = lu_namer_new (jitdumps);
  g_autofree char *path = own_path ();
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;
  LuNameFile file = { .id = &(LuFileId){ .path = path, .build_id = build_id } };
  const LuNameQuery *answers;
  guint n;

  g_assert_cmpint (lu_test_function_with_a_name (2), ==, 7);
  lu_namer_add_file (namer, &file);
  lu_namer_add (namer, 0, self.file_offset + 1, 0);
  lu_namer_add (namer, 0, 1ull << 40, 1);
  lu_namer_add (namer, 0, self.file_offset, 2);
  lu_namer_add (namer, 0, self.file_offset, 3);
  g_assert_true (lu_namer_run (namer, &(LuNamerOptions){ 0 }));
  answers = lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, 4);
  g_assert_cmpint (lu_namer_result (namer, 0), ==, LU_NAMES_READ);
  g_assert_cmpuint (answers[2].number, ==, 0);
  g_assert_cmpstr (answers[2].name, ==, "lu_test_function_with_a_name");
  g_assert_cmpuint (answers[2].start, ==, self.file_offset);
  g_assert_cmpuint (answers[2].end, >, self.file_offset + 1);
  g_assert_false (answers[3].has_symbol);
  g_assert_true (answers[0].name == answers[2].name); /* the same text, not a copy */
  g_assert_true (answers[1].name == answers[2].name);
  g_assert_cmpstr (ask (path, NULL, self.file_offset).name, ==, answers[0].name);
}

static void
test_other_file (void)
{
  g_autofree char *path = own_path ();
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;
  LuFileId other_inode = { .path = path, .inode = 1 };
  LuFileId other_digest = { .path = path,
                            .build_id = self.build_id,
                            .digest = "0123456789abcdef0123456789abcdef" };
  LuNamesResult result;

  g_assert_false (ask (path, "00112233", self.file_offset).has_symbol);
  g_assert_cmpstr (ask ("/nonexistent", NULL, 16).name, ==, "nonexistent+0x10");
  g_assert_cmpstr (ask ("[vdso]", NULL, 0).name, ==, "[vdso]+0x0");
  g_assert_cmpstr (ask ("relative", NULL, 0).name, ==, "relative+0x0");
  g_assert_cmpstr (ask ("/gone/file (deleted)", NULL, 0).name, ==, "file+0x0");
  g_assert_cmpstr (ask ("/not\xffvalid", NULL, 0).name, ==, "not\xef\xbf\xbdvalid+0x0");
  g_assert_cmpstr (ask ("/dev/null", NULL, 0).name, ==, "null+0x0");
  g_assert_cmpstr (ask ("/proc/self/status", NULL, 0).name, ==, "status+0x0");
  g_assert_false (ask_about (&other_inode, self.file_offset, &result).has_symbol);
  g_assert_cmpint (result, ==, LU_NAMES_NO_FILE);
  g_assert_false (ask_about (&other_digest, self.file_offset, &result).has_symbol);
  g_assert_cmpint (result, ==, LU_NAMES_NO_FILE);
}

/* A file of another inode is the mapped one if it has the digest. With the inode and the device of
 * the mapped one, it is not asked for it. */
static void
test_digest (void)
{
  g_autofree char *path = own_path ();
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;
  lu_autofd fd = lu_open_regular (path, NULL);
  g_autoptr (LuImage) image = lu_image_open (fd, NULL);
  guint8 digest[LU_FILE_DIGEST_SIZE];
  char text[2 * LU_FILE_DIGEST_SIZE + 1];
  GStatBuf info;
  LuFileId elsewhere = { .path = path, .build_id = self.build_id, .inode = 1, .digest = text };
  LuFileId here = { .path = path, .build_id = self.build_id, .digest = "00" };
  LuNamesResult result;

  g_assert_true (lu_image_file_digest (image, digest));
  lu_hex_write (text, digest, sizeof digest);
  g_assert_true (ask_about (&elsewhere, self.file_offset, &result).has_symbol);
  g_assert_cmpint (g_stat (path, &info), ==, 0);
  here.inode = info.st_ino;
  here.device = info.st_dev;
  g_assert_true (ask_about (&here, self.file_offset, &result).has_symbol);
  here.inode++;
  g_assert_false (ask_about (&here, self.file_offset, &result).has_symbol);
}

/* Symbols that matter to no wanted offset are not kept, which changes no name. */
static void
test_wanted (void)
{
  g_autofree char *path = own_path ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (LuElfSymbols) all = NULL;
  LuElfFile file;
  GStatBuf status;
  guint n_found = 0;

  g_assert_cmpint (g_stat (path, &status), ==, 0);
  g_assert_true (lu_elf_file_open (&file, lu_open_regular (path, NULL), NULL));
  all = lu_elf_symbols_new (&file, NULL, NULL);
  for (guint round = 0; round < 60; round++)
    {
      g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (guint64));
      g_autoptr (LuElfSymbols) some = NULL;

      for (guint i = 0; i < 1u << round / 5; i++)
        g_array_append_val (
            wanted, (guint64){ (guint64) g_rand_int_range (rand, 0, (gint32) status.st_size) });
      g_assert_true (lu_elf_file_open (&file, lu_open_regular (path, NULL), NULL));
      some = lu_elf_symbols_new (&file, wanted, NULL);
      for (guint i = 0; i < wanted->len; i++)
        {
          guint64 offset = g_array_index (wanted, guint64, i);
          LuElfSymbol a = { 0 }, b = { 0 };

          g_assert_cmpint (lu_elf_symbols_find (all, offset, &a), ==,
                           lu_elf_symbols_find (some, offset, &b));
          g_assert_cmpstr (a.name, ==, b.name);
          g_assert_cmpuint (a.start, ==, b.start);
          g_assert_cmpuint (a.end, ==, b.end);
          n_found += a.name != NULL;
        }
    }
  g_assert_cmpuint (n_found, >, 100);
}

/* Tests names of the PLT: this program calls qsort() through it, if it has one. */
static void
test_plt (void)
{
  g_autofree char *path = own_path ();
  LuElfFile file;
  g_autoptr (LuElfSymbols) symbols = NULL;
  guint n_found = 0;

  g_assert_true (lu_elf_file_open (&file, lu_open_regular (path, NULL), NULL));
  symbols = lu_elf_symbols_new (&file, NULL, NULL);
  for (guint64 offset = 0; offset < 1 << 20; offset += 8)
    {
      LuElfSymbol symbol;

      if (!lu_elf_symbols_find (symbols, offset, &symbol))
        continue;
      g_assert_cmpuint (symbol.start, <=, offset);
      g_assert_cmpuint (symbol.end, >, offset);
      n_found += g_str_has_suffix (symbol.name, "@plt");
    }
  if (n_found == 0)
    g_test_skip ("no entry of a PLT that is understood on this machine");
}

static void
test_vdso (void)
{
  Dl_info info = { 0 };
  gulong at = getauxval (AT_SYSINFO_EHDR);
  Self self;
  LuNameQuery query;

  if (at == 0)
    {
      g_test_skip ("no vDSO");
      return;
    }
  self = look_at ((gconstpointer) at);
  /* the first function of its .dynsym; its name depends on the machine */
  query = (LuNameQuery){ 0 };
  for (guint64 offset = 0; offset < 65536 && !query.has_symbol; offset += 16)
    query = ask ("[vdso]", self.build_id, offset);
  g_assert_true (query.has_symbol);
  g_assert_true (strstr (query.name, "vdso") != NULL || strstr (query.name, "kernel") != NULL
                 || dladdr ((gpointer) at, &info) != 0);
  g_free (self.build_id);
}

static void
unhex (const char *text, guint8 *bytes)
{
  for (; text[0] != 0; text += 2)
    *bytes++ = (guint8) (g_ascii_xdigit_value (text[0]) << 4 | g_ascii_xdigit_value (text[1]));
}

/* Makes a copy of this program without section headers, and so without symbols, and with a build-id
 * that no debug file on this machine has. */
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

/* Without symbols, a function is named by its FDE, at each of its addresses. */
static void
test_place (void)
{
  Self self = look_at (*(gpointer[]){ (gpointer) lu_test_function_with_a_name });
  g_autofree char *build_id G_GNUC_UNUSED = self.build_id;
  g_autofree char *copy = NULL, *base = NULL;
  LuNameQuery start, inside;

  if (build_id == NULL)
    {
      g_test_skip ("this program has no build-id");
      return;
    }
  copy = make_stripped_copy (build_id);
  base = g_path_get_basename (copy);
  start = ask (copy, NULL, self.file_offset);
  inside = ask (copy, NULL, self.file_offset + 2);
  g_assert_false (start.has_symbol);
  g_assert_true (g_str_has_prefix (start.name, base));
  g_assert_cmpuint (start.start, ==, self.file_offset);
  g_assert_cmpuint (start.end, >, self.file_offset + 2);
  g_assert_cmpstr (inside.name, ==, start.name);
  g_assert_cmpuint (inside.start, ==, start.start);
  g_assert_cmpuint (inside.end, ==, start.end);
  g_unlink (copy);
}

/* DEBUGINFOD_URLS was set before libdwfl was loaded, see main(): any request would connect to
 * `server`. */
static int server = -1;

static void
test_asks_no_server (void)
{
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
  ask (copy, NULL, self.file_offset);
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
  { "_ZN3foo17h0123456789abcdefE", "foo" },
  { "_ZN64_$LT$Test$u20$as$u20$$LT$foo..Bar$LT$i32$GT$$GT$$u2b$$C$$RF$$GT$3bar17h0123456789abcdefE",
    "<Test as <foo::Bar<i32>>+,&>::bar" },
};

/* Made by hand from the grammar of RFC 2603. */
static const struct
{
  const char *symbol, *readable;
} rust_symbols[] = {
  { "_RNvC7mycrate3foo", "mycrate::foo" },
  { "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
  { "_RNvCs1234_7mycrate3foo.llvm.99", "mycrate::foo" },
  { "_RNCNvC1a4mains_0", "a::main::{closure#1}" },
  { "_RNCNvC1a4main0", "a::main::{closure#0}" },
  { "_RINvC1a3maxhE", "a::max::<u8>" },
  { "_RINvNtC3std3mem8align_ofdEC3foo", "std::mem::align_of::<f64>" },
  { "_RNvMC1aNtB2_1S3new", "<a::S>::new" },
  { "_RNvXC1aNtB2_1SNtB2_1T3run", "<a::S as a::T>::run" },
  { "_RINvC1a1fRShQlTjbEAej0_E", "a::f::<&[u8], &mut i32, (usize, bool), [str; 0]>" },
  { "_RINvC1a1fThEPhOhE", "a::f::<(u8,), *const u8, *mut u8>" },
  { "_RINvC1a1fFUKCmEuE", "a::f::<unsafe extern \"C\" fn(u32)>" },
  { "_RINvC1a1fFG_RL0_hEB2_E", "a::f::<for<'a> fn(&'a u8) -> a>" },
  { "_RINvC1a1fDNtB2_1Tp4ItemhEL_E", "a::f::<dyn a::T<Item = u8>>" },
  { "_RINvC1a1fKhff_Kb1_Kca_E", "a::f::<255, true, '\\n'>" },
  { "_RINvC1a1fKln5_E", "a::f::<-5>" },
  { "_RNvC1au8gdel_5qa", "a::g\303\266del" },
  { "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
    "utf8_idents::\341\203\241\341\203\220\341\203\255\341\203\233\341\203\224\341\203\232"
    "\341\203\220\341\203\223_\341\203\222\341\203\224\341\203\233\341\203\240\341\203\230"
    "\341\203\224\341\203\232\341\203\230_\341\203\241\341\203\220\341\203\223\341\203\230"
    "\341\203\232\341\203\230" }, /* the RFC's own example */
  { "_RNvC1a3foo!", "_RNvC1a3foo!" },
  { "_RNvC1a99foo", "_RNvC1a99foo" },
  { "_RNvB_1x", "_RNvB_1x" },
  { "_R", "_R" },
};

static gboolean
has_demangler (void)
{
  g_autofree char *readable = lu_demangle ("_Z3fooi");

  if (strcmp (readable, "_Z3fooi") != 0)
    return TRUE;
  g_test_skip ("built without libiberty");
  return FALSE;
}

/* A short name expands to an enormous one: template arguments repeat each other. */
static void
test_demangle_bomb (void)
{
  g_autoptr (GString) bomb = g_string_new ("_Z1fI1AIiiE");
  g_autofree char *readable = NULL;

  g_string_append (bomb, "S_IS0_S0_E");
  for (guint i = 0; i < 30; i++)
    {
      char last = i < 10 ? (char) ('0' + i) : (char) ('A' + i - 10);

      g_string_append_printf (bomb, "S_IS%c_S%c_E", last, last);
    }
  g_string_append (bomb, "EvT_");
  readable = lu_demangle (bomb->str);
  g_assert_cmpstr (readable, ==, bomb->str);
}

static void
test_demangle_rust (void)
{
  g_autofree char *deep = g_strnfill (4000, 'R');
  g_autofree char *nested = g_strconcat ("_RINvC1a1f", deep, "hE", NULL);
  g_autofree char *same = lu_demangle (nested);

  g_assert_cmpstr (same, ==, nested);
  if (!has_demangler ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (rust_symbols); i++)
    {
      g_autofree char *readable = lu_demangle (rust_symbols[i].symbol);

      g_assert_cmpstr (readable, ==, rust_symbols[i].readable);
    }
}

static void
test_demangle (void)
{
  g_autofree char *huge = g_strnfill (100000, 'x');
  g_autofree char *mangled = g_strconcat ("_Z", huge, NULL);
  g_autofree char *same = lu_demangle (mangled);

  g_assert_cmpstr (same, ==, mangled);
  if (!has_demangler ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (symbols); i++)
    {
      g_autofree char *readable = lu_demangle (symbols[i].symbol);

      g_assert_cmpstr (readable, ==, symbols[i].readable);
    }
}

int
main (int argc, char **argv)
{
  g_autofree char *url = NULL;

  /* libdwfl reads the variable when it is loaded: set it and execute this program again. */
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
  g_test_add_func ("/symbolize/names/digest", test_digest);
  g_test_add_func ("/symbolize/names/place", test_place);
  g_test_add_func ("/symbolize/names/asks-no-server", test_asks_no_server);
  g_test_add_func ("/symbolize/names/wanted", test_wanted);
  g_test_add_func ("/symbolize/names/plt", test_plt);
  g_test_add_func ("/symbolize/names/vdso", test_vdso);
  g_test_add_func ("/symbolize/demangle", test_demangle);
  g_test_add_func ("/symbolize/demangle/rust", test_demangle_rust);
  g_test_add_func ("/symbolize/demangle/bomb", test_demangle_bomb);
  return g_test_run ();
}
