/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines.c - runs a reader process for each file; see lines.h. */

#include "symbolize/lines.h"

#include "symbolize/dwarf-lines.h"
#include "symbolize/elf-file.h"
#include "symbolize/line-answers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MAX_FILE    (G_GUINT64_CONSTANT (4) << 30)
#define MAX_ANSWERS (64u << 20)
/* Bytes that a reader may allocate beyond the memory of this process. Mapped files do not count. */
#define MAX_MEMORY (G_GUINT64_CONSTANT (1) << 30)

struct _LuLines
{
  GStringChunk *texts;
  GPtrArray *lines; /* blocks of LuLine, owned */
  gint64 end_us;
  guint file_seconds;
  gboolean is_interrupted;
};

/* The file that was mapped, and the file with its DWARF: the same one, or its debug file. */
typedef struct
{
  LuElfFile elf, debug;
  const LuElfFile *dwarf;
} File;

static void
file_clear (File *self)
{
  lu_elf_file_clear (&self->elf);
  lu_elf_file_clear (&self->debug);
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
has_dwarf (const LuElfFile *file)
{
  return lu_elf_headers_find_section (&file->headers, ".debug_info") != NULL
         || lu_elf_headers_find_section (&file->headers, ".zdebug_info") != NULL;
}

static gboolean
open_debug_file (File *self, const LuNameFile *file)
{
  guint candidate = 0;

  while (lu_elf_file_open_debug (&self->debug, &self->elf, file, &candidate))
    {
      if (has_dwarf (&self->debug))
        return TRUE;
      lu_elf_file_clear (&self->debug);
    }
  return FALSE;
}

static LuLinesResult
open_file (File *self, const LuNameFile *file)
{
  gboolean is_no_elf;

  if (!lu_elf_file_open_mapped (&self->elf, file, &is_no_elf))
    return LU_LINES_NO_FILE;
  if (has_dwarf (&self->elf))
    self->dwarf = &self->elf;
  else if (open_debug_file (self, file))
    self->dwarf = &self->debug;
  else
    return LU_LINES_NO_DWARF;
  return self->dwarf->input.size > MAX_FILE ? LU_LINES_TOO_LARGE : LU_LINES_READ;
}

/* Returns the ELF address of a byte of code; 0 if the byte is not code. */
static guint64
address_of (const LuElfFile *file, guint64 file_offset)
{
  const LuElfProgramHeader *code = lu_elf_file_code_at_offset (file, file_offset);

  return code != NULL ? file_offset - code->file_offset + code->vaddr : 0;
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

/* Runs in the new process. Ctrl-C ends it, and so does the end of its parent. */
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

/* Reads until the end of the stream; FALSE if the time is up first, or if there are too many bytes.
 */
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
    be_reader (file->dwarf->input.fd, addresses, n, pipe_fds[1]);
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
      addresses[n] = address_of (&file->elf, queries[i].file_offset);
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
  g_auto (File) opened = { .elf = { .input = { .fd = -1 } }, .debug = { .input = { .fd = -1 } } };
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
