/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-go-table.c - the table of functions of Go programs in all its forms, and the call frame
 * information that is made from it. */

#include "go-program.h"

#include "elf/image.h"
#include "table/rule.h"
#include "table/table.h"

#include "../../cases.h"
#include "../../sanitized.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TABLE   (128u << 20)
#define MAX_MORE_KB 2048

/* A change of depth (zigzag) and the bytes for which it holds. */
#define USUAL    "\2\4\x30\x20\x2f\4" /* 0 for 4 bytes, 24 for 32 bytes, 0 for 4 bytes */
#define PUSHED   "\2\1\x10\3\x20\x20\x1f\1\x0f\1" /* 0, 8, 24, 8, 0 */
#define NO_FRAME "\2\x10"

static const GoFunction functions[] = {
  { "main.main", 0, USUAL, 0 },
  { "runtime.goexit", 0x40, NO_FRAME, 1 },
  { "main.pushes", 0x50, PUSHED, 0 },
  { "main.assembly", 0x80, USUAL, LU_GO_FLAG_ASSEMBLY },
  { "runtime.nanotime1", 0xc0, USUAL, LU_GO_FLAG_ASSEMBLY | LU_GO_FLAG_SP_WRITE },
  { "runtime.cgocallback", 0x100, USUAL, LU_GO_FLAG_ASSEMBLY | LU_GO_FLAG_SP_WRITE },
  { "runtime.memmove", 0x140, NO_FRAME, LU_GO_FLAG_ASSEMBLY },
};

static GoProgram
usual_program (guint32 magic)
{
  return (GoProgram){ .magic = magic,
                      .functions = functions,
                      .n_functions = G_N_ELEMENTS (functions),
                      .end = 0x150,
                      .text = GO_TEXT,
                      .section_name = ".gopclntab" };
}

typedef struct
{
  const char *name;
  guint32 magic;
  guint64 text, relocated;
  const char *section_name;
  gboolean has_flags, is_refused;
} Case;

static const Case cases[] = {
  { "go1.2", 0xfffffffb, 0, 0, ".gopclntab", FALSE, FALSE },
  { "go1.16", 0xfffffffa, 0, 0, ".gopclntab", TRUE, FALSE },
  { "go1.18", 0xfffffff0, GO_TEXT, 0, ".gopclntab", TRUE, FALSE },
  { "go1.20", 0xfffffff1, GO_TEXT, 0, ".gopclntab", TRUE, FALSE },
  { "relocated", 0xfffffff1, 0, GO_TEXT, ".data.rel.ro.gopclntab", TRUE, FALSE },
  { "without section headers", 0xfffffff1, GO_TEXT, 0, NULL, TRUE, FALSE },
  { "in .data.rel.ro", 0xfffffff1, 0, GO_TEXT, ".go.buildinfo", TRUE, FALSE },
  { "of another section", 0xfffffff1, GO_TEXT, 0, ".rodata", TRUE, TRUE },
  { "of a form to come", 0xfffffff2, GO_TEXT, 0, ".gopclntab", TRUE, TRUE },
  { "text elsewhere", 0xfffffff1, 0x100, 0, ".gopclntab", TRUE, TRUE },
};

static void
check_depths (const LuGoTable *table, const LuGoTableFunction *function)
{
  static const gint64 expected[][3] = { { 0, 4, 0 }, { 4, 36, 24 }, { 36, 40, 0 } };
  guint64 start, end;
  LuGoDepths depths;
  gint64 depth;

  lu_go_table_depths (table, function, &depths);
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_assert_true (lu_go_depths_next (&depths, &start, &end, &depth));
      g_assert_cmpint ((gint64) (start - function->start), ==, expected[i][0]);
      g_assert_cmpint ((gint64) (end - function->start), ==, expected[i][1]);
      g_assert_cmpint (depth, ==, expected[i][2]);
    }
  g_assert_false (lu_go_depths_next (&depths, &start, &end, &depth));
}

static void
test_case (gconstpointer data)
{
  const Case *a_case = data;
  GoProgram program = usual_program (a_case->magic);
  g_autoptr (GByteArray) file = NULL;
  g_autoptr (LuGoTable) table = NULL;
  LuGoTableFunction function;
  LuElfInput input;

  program.text = a_case->text;
  program.relocated = a_case->relocated;
  program.section_name = a_case->section_name;
  file = go_program_new (&program);
  table = go_program_read (file, &input);
  g_assert_cmpint (table == NULL, ==, a_case->is_refused);
  if (a_case->is_refused)
    return;
  g_assert_cmpuint (lu_go_table_n_functions (table), ==, G_N_ELEMENTS (functions));
  g_assert_cmpint (lu_go_table_has_flags (table), ==, a_case->has_flags);
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      guint64 end = i + 1 < G_N_ELEMENTS (functions) ? functions[i + 1].start : program.end;

      g_assert_true (lu_go_table_function (table, i, &function));
      g_assert_cmphex (function.start, ==, GO_TEXT + functions[i].start);
      g_assert_cmphex (function.end, ==, GO_TEXT + end);
      g_assert_cmpstr (lu_go_table_name (table, &function), ==, functions[i].name);
      g_assert_cmpint (function.flags, ==, a_case->has_flags ? functions[i].flags : 0);
      if (strcmp (functions[i].depths, USUAL) == 0)
        check_depths (table, &function);
    }
  g_assert_false (lu_go_table_function (table, G_N_ELEMENTS (functions), &function));
}

static LuImage *
open_image (const GByteArray *file)
{
  LuImage *image = lu_image_new_from_memory (file->data, file->len, NULL);

  g_assert_nonnull (image);
  return image;
}

/* Rules by address, from GO_TEXT on. */
typedef struct
{
  guint32 at;
  const char *rule;
} Rule;

static const Rule rules[] = {
  { 0, "cfa=rsp+8 rbp=same rbx=same ra=*(cfa-8)" },
  { 4, "cfa=rsp+32 rbp=unknown rbx=same ra=*(cfa-8)" },
  { 11, "cfa=rsp+32 rbp=unknown rbx=same ra=*(cfa-8)" },
  { 12, "cfa=rsp+32 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
  { 35, "cfa=rsp+32 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
  { 36, "cfa=rsp+8 rbp=same rbx=same ra=*(cfa-8)" },
  { 40, "nothing known" }, /* between functions */
  { 0x51, "cfa=rsp+16 rbp=unknown rbx=same ra=*(cfa-8)" },
  { 0x54, "cfa=rsp+32 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
  { 0x74, "cfa=rsp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
  { 0x75, "cfa=rsp+8 rbp=same rbx=same ra=*(cfa-8)" },
  { 0x90, "cfa=rsp+32 rbp=unknown rbx=same ra=*(cfa-8)" },
  { 0xc0, "cfa=rsp+8 rbp=same rbx=same ra=*(cfa-8)" },
  { 0xc1, "nothing known" }, /* it may be on another stack */
  { 0xd0, "nothing known" },
  { 0x140, "cfa=rsp+8 rbp=same rbx=same ra=*(cfa-8)" },
};

/* Rules of these functions where the return address is in a register at first: it is saved at the
 * lower end of the frame, and the frame pointer below that. */
static const Rule rules_with_link[] = {
  { 0, "cfa=sp+0 x29=same ra=x30" },
  { 4, "cfa=sp+24 x29=unknown ra=*(cfa-24)" },
  { 12, "cfa=sp+24 x29=*(cfa-32) ra=*(cfa-24)" },
  { 36, "cfa=sp+0 x29=same ra=x30" },
  { 40, "nothing known" },
  { 0x51, "cfa=sp+8 x29=unknown ra=*(cfa-8)" },
  { 0x54, "cfa=sp+24 x29=*(cfa-32) ra=*(cfa-24)" },
  { 0x74, "cfa=sp+8 x29=*(cfa-16) ra=*(cfa-8)" },
  { 0x75, "cfa=sp+0 x29=same ra=x30" },
  { 0x90, "cfa=sp+24 x29=unknown ra=*(cfa-24)" },
  { 0xc0, "cfa=sp+0 x29=same ra=x30" },
  { 0xc4, "nothing known" },
  { 0xd0, "nothing known" },
};

static void
check_rules (guint16 machine, const Rule *expected, guint n)
{
  GoProgram program = usual_program (0xfffffff1);
  g_autoptr (GByteArray) file = go_program_new (&program);
  g_autoptr (LuImage) image = NULL;
  const LuTableLimits limits = { .max_bytes = 1 << 20 };
  g_autoptr (LuTable) table = NULL;

  memcpy (file->data + offsetof (Elf64_Ehdr, e_machine), &machine, sizeof machine);
  image = open_image (file);
  table = lu_table_new_for_image (image, &limits);
  g_assert_nonnull (table);
  for (guint i = 0; i < n; i++)
    {
      const struct lu_rule *rule = lu_table_find (table, GO_TEXT + expected[i].at);
      g_autofree char *text = lu_rule_to_text (rule, lu_arch_with_tables (machine));

      g_assert_cmpstr (text, ==, expected[i].rule);
    }
  g_assert_cmpint (lu_image_go_function_kind (image, GO_TEXT + 0x48), ==, LU_GO_TOP);
  g_assert_cmpint (lu_image_go_function_kind (image, GO_TEXT + 0xc0), ==, LU_GO_ORDINARY);
  g_assert_cmpint (lu_image_go_function_kind (image, GO_TEXT + 0xd0), ==, LU_GO_SWITCH);
}

static void
test_rules (void)
{
  check_rules (EM_X86_64, rules, G_N_ELEMENTS (rules));
  check_rules (EM_AARCH64, rules_with_link, G_N_ELEMENTS (rules_with_link));
}

/* Images of programs that differ only in depths are not the same. */
static void
test_identity (void)
{
  GoProgram program = usual_program (0xfffffff1), other = program;
  GoFunction changed[G_N_ELEMENTS (functions)];
  g_autoptr (GByteArray) file = go_program_new (&program), other_file = NULL;
  g_autoptr (LuImage) image = open_image (file), same = open_image (file), different = NULL;

  memcpy (changed, functions, sizeof changed);
  changed[0].depths = "\2\4\x40\x20\x3f\4";
  other.functions = changed;
  other_file = go_program_new (&other);
  different = open_image (other_file);
  g_assert_true (lu_image_is_same (image, same));
  g_assert_false (lu_image_is_same (image, different));
}

/* Without flags nobody knows which functions are compiled, and those that write the stack pointer
 * are known by name. */
static void
test_without_flags (void)
{
  g_autoptr (LuImage) image = NULL;
  GoFunction plain[] = { { "main.main", 0, USUAL, 0 }, { "runtime.nanotime1", 0x40, USUAL, 0 } };
  GoProgram program = usual_program (0xfffffffa);
  g_autoptr (GByteArray) file = NULL;
  g_autoptr (LuGoTable) table = NULL;
  LuElfInput input;

  program.functions = plain;
  program.n_functions = G_N_ELEMENTS (plain);
  file = go_program_new (&program);
  table = go_program_read (file, &input);
  g_assert_nonnull (table);
  g_assert_false (lu_go_table_has_flags (table));
  image = open_image (file);
  g_assert_cmpint (lu_image_go_function_kind (image, GO_TEXT + 0x50), ==, LU_GO_SWITCH);
}

/* A sanitizer has its own allocator, which needs more memory, and takes minutes for the largest
 * table. */
#if TEST_IS_SANITIZED
#define COUNTS_MEMORY 0
#define TEST_TABLE    (MAX_TABLE / 16)
#else
#define COUNTS_MEMORY 1
#define TEST_TABLE    MAX_TABLE
#endif

static glong
peak_kb (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/* A sparse file with a table as large as one may be, and of functions that are all damaged; a
 * helper has 64 MiB for everything. */
static void
test_memory (void)
{
  const GoProgram program = usual_program (0xfffffff1);
  g_autoptr (GByteArray) file = go_program_new (&program);
  guint8 *last = file->data + file->len - sizeof (Elf64_Shdr);
  guint64 n_functions = TEST_TABLE / 8, size = TEST_TABLE;
  g_autofree char *path = NULL;
  LuElfInput input = { .fd = g_file_open_tmp ("lu-go-XXXXXX", &path, NULL), .size = 2 * MAX_TABLE };
  int status;
  pid_t pid;

  g_assert_cmpint (input.fd, >=, 0);
  unlink (path);
  memcpy (last + offsetof (Elf64_Shdr, sh_size), &size, sizeof size);
  memcpy (file->data + GO_TABLE + 8, &n_functions, sizeof n_functions);
  g_assert_cmpint (write (input.fd, file->data, file->len), ==, file->len);
  g_assert_cmpint (ftruncate (input.fd, (off_t) input.size), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      glong before = peak_kb ();
      LuElfHeaders headers = { 0 };
      g_autoptr (LuGoTable) table = NULL;
      g_autoptr (GArray) found = NULL;

      g_assert_true (lu_elf_headers_read (&headers, &input, NULL));
      table = lu_go_table_read (&headers, &input);
      g_assert_nonnull (table);
      found = lu_go_functions_new (table, EM_X86_64);
      _exit (!COUNTS_MEMORY || peak_kb () - before < MAX_MORE_KB ? 0 : 1);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  close (input.fd);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/go-table/form", cases, test_case);
  g_test_add_func ("/go-table/rules", test_rules);
  g_test_add_func ("/go-table/identity", test_identity);
  g_test_add_func ("/go-table/without-flags", test_without_flags);
  g_test_add_func ("/go-table/memory", test_memory);
  return g_test_run ();
}
