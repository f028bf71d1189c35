/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-go-stacks.c - the outermost functions of Go programs, found in any piece of the tables, and
 * without more memory for larger tables. */

#include "elf/go-stacks.h"

#include "../../cases.h"

#include <elf.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TABLE   (64u << 20)
#define MAX_MORE_KB 2048

typedef struct
{
  const char *name;
  const char *symbol;
  guint64 name_at; /* offset in the table of names */
  guint number;    /* of the symbol */
  LuGoFunctionKind kind;
} Case;

static const Case cases[] = {
  { "at the start", "runtime.goexit", 1, 0, LU_GO_TOP },
  { "with a calling convention", "runtime.systemstack.abi0", 1, 0, LU_GO_SWITCH },
  { "as a part of a longer name", "runtime.goexit2", 1, 0, LU_GO_ORDINARY },
  { "in the second piece of names", "runtime.mcall", (64 << 10) + 5, 0, LU_GO_LEAVE },
  { "between pieces of names", "runtime.morestack.abi0", (64 << 10) - 9, 0, LU_GO_LEAVE },
  { "last before a piece of names", "runtime.mcall", (64 << 10) - 1, 0, LU_GO_LEAVE },
  { "in the second piece of symbols", "runtime.mstart", 1, 2500, LU_GO_TOP },
  { "last before a piece of symbols", "runtime.rt0_go", 1, 2047, LU_GO_TOP },
  { "interrupted", "runtime.asyncPreempt.abi0", 1, 0, LU_GO_PREEMPT },
  { "of a file", "gogo", 1, 0, LU_GO_SWITCH },
  { "called by that", "runtime.asyncPreempt2", 1, 0, LU_GO_ORDINARY },
  { "between pieces, the longest", "runtime.sigreturn__sigaction.abi0", (64 << 10) - 1, 0,
    LU_GO_RESTORER },
};

static const char section_names[] = "\0.symtab\0.strtab\0.go.buildinfo";

/* Returns the functions in a file that consists of the two tables. */
static GArray *
read_tables (LuElfInput *input, guint64 symbols_size, guint64 names_size)
{
  LuElfSectionHeader sections[] = {
    { .name = 1, .type = SHT_SYMTAB, .file_offset = 0, .size = symbols_size },
    { .name = 9, .type = SHT_STRTAB, .file_offset = symbols_size, .size = names_size },
    { .name = 17, .type = SHT_PROGBITS, .size = 1 },
  };
  LuElfHeaders headers = { .is_64bit = TRUE,
                           .section_headers = sections,
                           .n_section_headers = G_N_ELEMENTS (sections),
                           .section_names = (char *) section_names,
                           .section_names_size = sizeof section_names };

  input->size = symbols_size + names_size;
  return lu_go_functions_read (&headers, input);
}

static void
test_case (gconstpointer data)
{
  const Case *a_case = data;
  guint64 symbols_size = (a_case->number + 1) * sizeof (Elf64_Sym);
  guint64 names_size = a_case->name_at + strlen (a_case->symbol) + 1;
  g_autofree guint8 *bytes = g_malloc0 (symbols_size + names_size);
  LuElfInput input = { .fd = -1, .bytes = bytes };
  Elf64_Sym symbol = { .st_name = (guint32) a_case->name_at,
                       .st_info = ELF64_ST_INFO (STB_LOCAL, STT_FUNC),
                       .st_value = 0x1000,
                       .st_size = 0x20 };
  g_autoptr (GArray) functions = NULL;
  gboolean is_restorer;

  memcpy (bytes + symbols_size - sizeof symbol, &symbol, sizeof symbol);
  memcpy (bytes + symbols_size + a_case->name_at, a_case->symbol, strlen (a_case->symbol));
  functions = read_tables (&input, symbols_size, names_size);
  g_assert_nonnull (functions);
  /* The kernel's frame is recognized by a return address before the restorer. */
  is_restorer = a_case->kind == LU_GO_RESTORER;
  g_assert_cmpint (lu_go_functions_find (functions, is_restorer ? 0xfff : 0x1010), ==,
                   a_case->kind);
  g_assert_cmpint (lu_go_functions_find (functions, 0x1020), ==, LU_GO_ORDINARY);
  g_assert_cmpint (lu_go_functions_find (functions, is_restorer ? 0x1000 : 0xfff), ==,
                   LU_GO_ORDINARY);
}

static void
test_ends (void)
{
  static const struct
  {
    LuGoFunctionKind kind;
    gboolean ends_caller, ends_running;
    LuStatus of_caller;
  } expected[] = {
    { LU_GO_ORDINARY, FALSE, FALSE, 0 },
    { LU_GO_TOP, TRUE, FALSE, LU_STATUS_COMPLETE },
    { LU_GO_LEAVE, TRUE, TRUE, LU_STATUS_COMPLETE },
    { LU_GO_SWITCH, TRUE, TRUE, LU_STATUS_OTHER_STACK },
    { LU_GO_PREEMPT, FALSE, FALSE, 0 },
    { LU_GO_RESTORER, FALSE, FALSE, 0 },
  };
  LuStatus status;

  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_assert_cmpint (lu_go_stack_ends (expected[i].kind, FALSE, &status), ==,
                       expected[i].ends_running);
      g_assert_true (!expected[i].ends_running || status == LU_STATUS_OTHER_STACK);
      g_assert_cmpint (lu_go_stack_ends (expected[i].kind, TRUE, &status), ==,
                       expected[i].ends_caller);
      g_assert_true (!expected[i].ends_caller || status == expected[i].of_caller);
    }
}

static glong
peak_kb (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/* A sparse file, as large as a table may be; a helper has 64 MiB for everything. */
static void
test_memory (void)
{
  g_autofree char *path = NULL;
  LuElfInput input = { .fd = g_file_open_tmp ("lu-go-XXXXXX", &path, NULL) };
  int status;
  pid_t pid;

  g_assert_cmpint (input.fd, >=, 0);
  unlink (path);
  g_assert_cmpint (ftruncate (input.fd, 2 * (off_t) MAX_TABLE), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      glong before = peak_kb ();

      read_tables (&input, MAX_TABLE, MAX_TABLE);
      _exit (peak_kb () - before < MAX_MORE_KB ? 0 : 1);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  close (input.fd);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/go-stacks", cases, test_case);
  g_test_add_func ("/go-stacks/ends", test_ends);
  g_test_add_func ("/go-stacks/memory", test_memory);
  return g_test_run ();
}
