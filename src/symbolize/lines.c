/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines.c - lines and inlined functions, file by file; see lines.h. */

#include "symbolize/lines.h"

#include "base/fd.h"
#include "elf/headers.h"
#include "symbolize/dwarf-lines.h"
#include "symbolize/elf-symbols.h"
#include "symbolize/line-answers.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MAX_FILE    (G_GUINT64_CONSTANT (4) << 30)
#define MAX_ANSWERS (64u << 20)
/* Of a reader's own memory, beyond what this process has; files are mapped and count apart. */
#define MAX_MEMORY (G_GUINT64_CONSTANT (1) << 30)

struct _LuLines
{
  GStringChunk *texts;
  GPtrArray *lines; /* blocks of LuLine, owned */
  gint64 end_us;
  guint file_seconds;
  gboolean is_interrupted;
};

/* The right file, and where its code is. */
typedef struct
{
  int fd, dwarf_fd;
  LuElfHeaders headers;
  gboolean has_headers;
} File;

static void
file_clear (File *self)
{
  lu_fd_clear (&self->fd);
  lu_fd_clear (&self->dwarf_fd);
  if (self->has_headers)
    lu_elf_headers_clear (&self->headers);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (File, file_clear)

LuLines *
lu_lines_new (guint file_seconds, guint total_seconds)
{
  LuLines *self = g_new0 (LuLines, 1);

  self->texts = g_string_chunk_new (65536);
  self->lines = g_ptr_array_new_with_free_func (g_free);
  self->file_seconds = file_seconds;
  self->end_us = g_get_monotonic_time () + (gint64) total_seconds * G_USEC_PER_SEC;
  return self;
}

void
lu_lines_free (LuLines *self)
{
  if (self == NULL)
    return;
  g_string_chunk_free (self->texts);
  g_ptr_array_unref (self->lines);
  g_free (self);
}

/* Files */

static gboolean
read_headers (LuElfHeaders *headers, int fd)
{
  LuElfInput input = { .fd = fd };
  struct stat info;

  if (fstat (fd, &info) != 0)
    return FALSE;
  input.size = (guint64) info.st_size;
  return lu_elf_headers_read (headers, &input, NULL);
}

static gboolean
has_dwarf (const LuElfHeaders *headers)
{
  return lu_elf_headers_find_section (headers, ".debug_info") != NULL
         || lu_elf_headers_find_section (headers, ".zdebug_info") != NULL;
}

static gboolean
is_debug_file (const LuElfSymbols *symbols, int fd)
{
  LuElfHeaders headers;
  gboolean ok;

  if (!lu_elf_symbols_is_debug_file (symbols, fd) || !read_headers (&headers, fd))
    return FALSE;
  ok = has_dwarf (&headers);
  lu_elf_headers_clear (&headers);
  return ok;
}

static int
open_debug_file (const LuNameFile *file, const LuElfSymbols *symbols)
{
  const char *build_id = lu_elf_symbols_build_id (symbols);
  const char *link = lu_elf_symbols_debug_link (symbols);
  int fd;

  for (guint i = 0; (fd = lu_debug_file_open (file, build_id, link, i)) != -2; i++)
    {
      if (fd >= 0 && is_debug_file (symbols, fd))
        return fd;
      lu_fd_clear (&fd);
    }
  return -1;
}

static LuLinesResult
open_file (File *self, const LuNameFile *file)
{
  struct stat info;

  for (guint way = 0; way < LU_NAME_FILE_WAYS; way++)
    {
      lu_autofd fd = lu_name_file_open (file, way);
      g_autoptr (LuElfSymbols) symbols = fd >= 0 ? lu_elf_symbols_new (fd, NULL) : NULL;

      if (symbols == NULL || !lu_name_file_is (file, lu_elf_symbols_build_id (symbols), fd))
        continue;
      self->fd = lu_fd_steal (&fd);
      self->has_headers = read_headers (&self->headers, self->fd);
      if (!self->has_headers)
        return LU_LINES_NO_DWARF;
      self->dwarf_fd =
          has_dwarf (&self->headers) ? lu_fd_duplicate (self->fd) : open_debug_file (file, symbols);
      if (self->dwarf_fd < 0 || fstat (self->dwarf_fd, &info) != 0)
        return LU_LINES_NO_DWARF;
      return (guint64) info.st_size > MAX_FILE ? LU_LINES_TOO_LARGE : LU_LINES_READ;
    }
  return LU_LINES_NO_FILE;
}

/* The address in the ELF file; 0: it is no code. */
static guint64
address_of (const LuElfHeaders *headers, guint64 file_offset)
{
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &headers->program_headers[i];

      if (header->type == PT_LOAD && (header->flags & PF_X) && file_offset >= header->file_offset
          && file_offset - header->file_offset < header->file_size)
        return file_offset - header->file_offset + header->vaddr;
    }
  return 0;
}

/* The reader */

static void
limit_memory (void)
{
  guint64 pages = 0;
  struct rlimit limit;
  char text[256];
  int fd = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t size = fd >= 0 ? read (fd, text, sizeof text - 1) : 0;

  if (fd >= 0)
    close (fd);
  text[MAX (size, 0)] = 0;
  if (sscanf (text, "%*u %*u %*u %*u %*u %" G_GINT64_MODIFIER "u", &pages) != 1)
    return;
  limit.rlim_cur = limit.rlim_max = pages * (guint64) sysconf (_SC_PAGESIZE) + MAX_MEMORY;
  setrlimit (RLIMIT_DATA, &limit);
}

/* In the new process. Ctrl-C ends it; so does the end of who waits for it. */
static void
be_reader (int dwarf_fd, const guint64 *addresses, guint n, int output)
{
  const struct rlimit no_core = { 0, 0 };
  sigset_t none;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  setrlimit (RLIMIT_CORE, &no_core);
  limit_memory ();
  for (int number = 1; number < NSIG; number++)
    if (number != SIGPIPE)
      signal (number, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  lu_dwarf_lines_write (dwarf_fd, addresses, n, output);
  _exit (0);
}

/* All that comes until the end or that time; FALSE if there is more. */
static gboolean
read_answers (int fd, GByteArray *answers, gint64 end_us)
{
  for (;;)
    {
      gint64 left_us = end_us - g_get_monotonic_time ();
      struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
      gsize filled = answers->len;
      gssize size;

      if (left_us <= 0 || filled >= MAX_ANSWERS)
        return FALSE;
      if (poll (&poll_fd, 1, (int) MIN (left_us / 1000 + 1, G_MAXINT)) <= 0)
        continue;
      g_byte_array_set_size (answers, (guint) filled + 65536);
      size = read (fd, answers->data + filled, 65536);
      g_byte_array_set_size (answers, (guint) (filled + (gsize) MAX (size, 0)));
      if (size == 0 || (size < 0 && errno != EINTR))
        return TRUE;
    }
}

static LuLinesResult
run_reader (LuLines *self, const File *file, const guint64 *addresses, guint n, GByteArray *answers)
{
  gint64 end_us = g_get_monotonic_time () + (gint64) self->file_seconds * G_USEC_PER_SEC;
  gboolean has_ended;
  int pipe_fds[2], status = 0;
  pid_t reader;

  if (pipe2 (pipe_fds, O_CLOEXEC) != 0)
    return LU_LINES_BROKEN;
  reader = fork ();
  if (reader == 0)
    be_reader (file->dwarf_fd, addresses, n, pipe_fds[1]);
  close (pipe_fds[1]);
  has_ended = reader > 0 && read_answers (pipe_fds[0], answers, MIN (end_us, self->end_us));
  close (pipe_fds[0]);
  if (reader < 0)
    return LU_LINES_BROKEN;
  if (!has_ended)
    kill (reader, SIGKILL);
  while (waitpid (reader, &status, 0) < 0 && errno == EINTR)
    ;
  if (!has_ended)
    return answers->len < MAX_ANSWERS ? LU_LINES_TOO_SLOW : LU_LINES_TOO_LARGE;
  self->is_interrupted |= WIFSIGNALED (status) && WTERMSIG (status) == SIGINT;
  if (self->is_interrupted)
    return LU_LINES_SKIPPED;
  return WIFEXITED (status) && WEXITSTATUS (status) == 0 ? LU_LINES_READ : LU_LINES_BROKEN;
}

static LuLinesResult
ask (LuLines *self, const File *file, LuLineQuery *queries, guint n_queries)
{
  g_autofree guint64 *addresses = g_new (guint64, n_queries + 1);
  g_autofree guint32 *numbers = g_new (guint32, n_queries + 1);
  g_autoptr (GByteArray) answers = g_byte_array_new ();
  LuLineAnswers decoded = {
    .texts = self->texts, .lines = self->lines, .queries = queries, .numbers = numbers
  };
  LuLinesResult result;
  guint n = 0;

  for (guint i = 0; i < n_queries; i++)
    {
      addresses[n] = address_of (&file->headers, queries[i].file_offset);
      numbers[n] = i;
      n += addresses[n] > 0;
    }
  decoded.n_numbers = n;
  result = run_reader (self, file, addresses, n, answers);
  if (!lu_line_answers_decode (&decoded, answers->data, answers->len) && result == LU_LINES_READ)
    result = LU_LINES_NO_DWARF;
  return result;
}

LuLinesResult
lu_lines_find_all (LuLines *self, const LuNameFile *file, LuLineQuery *queries, guint n_queries)
{
  g_auto (File) opened = { .fd = -1, .dwarf_fd = -1 };
  LuLinesResult result;

  for (guint i = 0; i < n_queries; i++)
    {
      queries[i].lines = NULL;
      queries[i].n_lines = 0;
    }
  if (self->is_interrupted || g_get_monotonic_time () >= self->end_us)
    return LU_LINES_SKIPPED;
  result = open_file (&opened, file);
  return result == LU_LINES_READ ? ask (self, &opened, queries, n_queries) : result;
}
