/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interp.c - recognizes files with an interpreter; see interp.h. */

#include "interp/language.h"

#include "base/fd.h"

#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The code before the first instruction of an interpreted function is dispatched takes 0xe8 to
 * 0x118 bytes in the builds of CPython 3.7 to 3.15 that were looked at. */
#define BEGINNING 0x100

/* The kernel reads this much of a script's first line (linux/binfmts.h). */
#define MAX_FIRST_LINE 256

static const LuLanguage *const languages[] = { &lu_language_python, &lu_language_ruby,
                                               &lu_language_tasks };

/* Bits of minor versions, by major version, for each language. */
#define N_MAJORS 8
static atomic_ullong unknown_versions[G_N_ELEMENTS (languages)][N_MAJORS];

gboolean
lu_interp_read (const LuInterpInput *self, guint64 address, gpointer bytes, gsize size)
{
  return lu_elf_headers_read_at (self->headers, self->input, address, bytes, size);
}

static gboolean
may_have (const LuLanguage *language, const char *path, const LuElfHeaders *headers)
{
  const char *slash = strrchr (path, '/');

  return strstr (slash != NULL ? slash : path, language->part) != NULL
         || (language->section != NULL
             && lu_elf_headers_find_section (headers, language->section) != NULL);
}

static void
note_unknown (guint language, guint32 version)
{
  atomic_fetch_or_explicit (&unknown_versions[language][version >> 16 & (N_MAJORS - 1)],
                            1ull << MIN (version >> 8 & 0xff, 63), memory_order_relaxed);
}

static LuInterp *
recognize (const char *path, const LuElfInput *input)
{
  LuElfHeaders headers = { 0 };
  LuInterpInput file = { .headers = &headers, .input = input };
  LuInterp found = { 0 };
  LuInterpOutcome outcome = LU_INTERP_ABSENT;

  if (!lu_elf_headers_read (&headers, input, NULL))
    return NULL;
  file.arch = headers.is_64bit ? lu_arch_with_tables (headers.machine) : NULL;
  if (file.arch == NULL || !file.arch->files.has_interpreters)
    {
      lu_elf_headers_clear (&headers);
      return NULL;
    }
  for (guint i = 0; i < G_N_ELEMENTS (languages) && outcome == LU_INTERP_ABSENT; i++)
    if (may_have (languages[i], path, &headers))
      {
        found = (LuInterp){ 0 };
        outcome = languages[i]->recognize (&file, &found);
        if (outcome == LU_INTERP_UNKNOWN)
          note_unknown (i, found.file.version);
      }
  lu_elf_headers_clear (&headers);
  return outcome == LU_INTERP_FOUND ? g_memdup2 (&found, sizeof found) : NULL;
}

LuInterp *
lu_interp_recognize (const char *path, int fd)
{
  struct stat info;
  LuElfInput input = { .fd = fd };

  if (fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    return NULL;
  input.size = (guint64) info.st_size;
  return recognize (path, &input);
}

LuInterp *
lu_interp_recognize_bytes (const char *path, gconstpointer bytes, gsize size)
{
  const LuElfInput input = { .fd = -1, .bytes = bytes, .size = size };

  return recognize (path, &input);
}

static gboolean
has_name (const char *text)
{
  gboolean found = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (languages); i++)
    found |= strstr (text, languages[i]->part) != NULL;
  return found;
}

static gboolean
is_starter (const char *base)
{
  static const char *const starters[] = { "bash", "chroot",  "dash",    "env",    "nice",
                                          "sh",   "taskset", "timeout", "unshare" };

  for (guint i = 0; i < G_N_ELEMENTS (starters); i++)
    if (g_str_equal (base, starters[i]))
      return TRUE;
  return FALSE;
}

gboolean
lu_interp_runs_command (const char *const *command)
{
  g_autofree char *path = g_find_program_in_path (command[0]);
  const char *slash = strrchr (command[0], '/'), *base = slash != NULL ? slash + 1 : command[0];
  char line[MAX_FIRST_LINE] = "";
  lu_autofd fd = -1;

  if (has_name (base))
    return TRUE;
  for (guint i = 1; is_starter (base) && command[i] != NULL; i++)
    if (has_name (command[i]))
      return TRUE;
  fd = path != NULL ? open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  if (fd < 0 || read (fd, line, sizeof line - 1) <= 2 || !g_str_has_prefix (line, "#!"))
    return FALSE;
  line[strcspn (line, "\n")] = 0;
  return has_name (line);
}

gboolean
lu_interp_runs_at (const LuInterp *self, guint64 elf_address)
{
  for (guint i = 0; i < self->n_ranges; i++)
    if (elf_address >= self->ranges[i].start && elf_address < self->ranges[i].end)
      return TRUE;
  return FALSE;
}

gboolean
lu_interp_begins_at (const LuInterp *self, guint64 elf_address)
{
  return self->n_ranges > 0 && elf_address - self->ranges[0].start < BEGINNING;
}

static void
add_versions (GString *text, guint language, guint major)
{
  unsigned long long bits =
      atomic_load_explicit (&unknown_versions[language][major], memory_order_relaxed);

  for (guint minor = 0; minor < 64; minor++)
    if (bits >> minor & 1)
      g_string_append_printf (text, "%s%s %u.%u", text->len > 0 ? ", " : "",
                              languages[language]->name, major, minor);
}

char *
lu_interp_unknown_versions (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (languages); i++)
    for (guint major = 0; major < N_MAJORS; major++)
      add_versions (text, i, major);
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}
