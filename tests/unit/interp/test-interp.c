/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-interp.c - recognizes CPython in files that the test makes. tests/interp/ does so with the
 * real ones. */

#include "interp/interp.h"

#include "../../cases.h"

#include <elf.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE        16384
#define CODE        0x1000
#define CODE_SIZE   0x1800
#define RUNTIME     0x800
#define VERSION     0xf00
#define MAX_SYMBOLS 16

typedef struct
{
  const char *name;
  guint32 version;        /* 0: no symbol Py_Version */
  const char *symbols[6]; /* more of them */
  const char *cookie;     /* of the struct at _PyRuntime */
  guint32 described;      /* its version */
  guint64 offset;         /* all its values */
  const char *path;       /* NULL: "/usr/lib/libpython3.so" */
  guint16 machine;        /* 0: EM_X86_64 */
  guint32 found;          /* version; 0: nothing */
  const char *told;       /* an unknown version */
  const char *code;       /* instead of the version */
} Case;

#define EVAL "_PyEval_EvalFrameDefault"

static const Case cases[] = {
  { "3.11", 0x030b02f0, { "_PyRuntime", EVAL }, .found = 0x030b02 },
  { "3.13 with its own offsets",
    0x030d00f0,
    { "_PyRuntime", EVAL },
    "xdebugpy",
    0x030d00f0,
    64,
    .found = 0x030d00 },
  { "without _PyRuntime: 3.6",
    0,
    { EVAL, "PyInterpreterState_Head" },
    .code = "\x48\x8b\x05\xf9\xf8\xff\xff\xc3", /* RUNTIME - VERSION - 7 */
    .found = 0x030600 },
  { "3.6 with another function",
    0,
    { EVAL, "PyInterpreterState_Head" },
    .code = "\x48\x8b\x06\xc3" },
  { "without a version: 3.7", 0, { "_PyRuntime", EVAL }, .found = 0x030700 },
  { "without a version: 3.9",
    0,
    { "_PyRuntime", EVAL, "PyCode_NewWithPosOnlyArgs", "PyFrame_GetCode" },
    .found = 0x030900 },
  { "a part that was moved away",
    0x030c00f0,
    { "_PyRuntime", EVAL, EVAL ".cold" },
    .found = 0x030c00 },
  { "without the function", 0x030b02f0, { "_PyRuntime" } },
  { "without _PyRuntime", 0x030b02f0, { EVAL } },
  { "only a longer name", 0x030b02f0, { "_PyRuntime", EVAL "2" } },
  { "Python 2", 0x02070000, { "_PyRuntime", EVAL } },
  { "a file of another name without the section",
    0x030b02f0,
    { "_PyRuntime", EVAL },
    .path = "/usr/lib/libruby.so" },
  { "aarch64", 0x030b02f0, { "_PyRuntime", EVAL }, .machine = EM_AARCH64, .found = 0x030b02 },
  { "another machine", 0x030b02f0, { "_PyRuntime", EVAL }, .machine = EM_RISCV },
  { "a version to come", 0x031100f0, { "_PyRuntime", EVAL }, .told = "Python 3.17" },
  { "3.14 without a description", 0x030e00f0, { "_PyRuntime", EVAL }, .told = "Python 3.14" },
  { "3.14 that is described as 3.13",
    0x030e00f0,
    { "_PyRuntime", EVAL },
    "xdebugpy",
    0x030d00f0,
    64,
    .told = "Python 3.14" },
  { "offsets far outside",
    0x030f00f0,
    { "_PyRuntime", EVAL },
    "xdebugpy",
    0x030f00f0,
    1 << 20,
    .told = "Python 3.15" },
};

static guint
put_symbols (guint8 *file, const Case *c)
{
  const char *names[MAX_SYMBOLS] = { c->version != 0 ? "Py_Version" : "other" };
  Elf64_Sym *symbols = (Elf64_Sym *) (file + 0x200);
  guint n = 1, at = 1;

  for (guint i = 0; i < G_N_ELEMENTS (c->symbols) && c->symbols[i] != NULL; i++)
    names[n++] = c->symbols[i];
  for (guint i = 0; i < n; i++)
    {
      gboolean is_code = g_str_has_prefix (names[i], EVAL);

      symbols[i] =
          (Elf64_Sym){ .st_name = at,
                       .st_info = ELF64_ST_INFO (STB_GLOBAL, is_code ? STT_FUNC : STT_OBJECT),
                       .st_shndx = 1,
                       .st_value = is_code                                ? CODE
                                   : g_str_equal (names[i], "_PyRuntime") ? RUNTIME
                                                                          : VERSION,
                       .st_size = is_code ? CODE_SIZE : 4 };
      if (g_str_has_suffix (names[i], ".cold"))
        symbols[i].st_value += CODE_SIZE;
      at += (guint) g_strlcpy ((char *) file + 0x500 + at, names[i], 64) + 1;
    }
  return n;
}

static void
put_headers (guint8 *file, guint16 machine, guint n_symbols)
{
  static const char names[] = "\0.dynsym\0.dynstr\0.shstrtab";
  Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                        .e_type = ET_DYN,
                        .e_machine = machine,
                        .e_version = EV_CURRENT,
                        .e_phoff = 0x40,
                        .e_shoff = 0x100,
                        .e_ehsize = sizeof (Elf64_Ehdr),
                        .e_phentsize = sizeof (Elf64_Phdr),
                        .e_phnum = 1,
                        .e_shentsize = sizeof (Elf64_Shdr),
                        .e_shnum = 4,
                        .e_shstrndx = 3 };
  Elf64_Phdr segment = {
    .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = SIZE, .p_memsz = SIZE, .p_align = 4096
  };
  Elf64_Shdr sections[] = {
    { 0 },
    { .sh_name = 1,
      .sh_type = SHT_DYNSYM,
      .sh_offset = 0x200,
      .sh_size = n_symbols * sizeof (Elf64_Sym) },
    { .sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = 0x500, .sh_size = 0x200 },
    { .sh_name = 17, .sh_type = SHT_STRTAB, .sh_offset = 0x80, .sh_size = sizeof names },
  };

  memcpy (file, &header, sizeof header);
  memcpy (file + 0x40, &segment, sizeof segment);
  memcpy (file + 0x80, names, sizeof names);
  memcpy (file + 0x100, sections, sizeof sections);
}

static void
make_file (guint8 *file, const Case *c)
{
  guint64 version = c->described;

  memset (file, 0, SIZE);
  for (guint i = 0; i < 96; i++)
    memcpy (file + RUNTIME + i * 8, &c->offset, sizeof c->offset);
  if (c->cookie != NULL)
    memcpy (file + RUNTIME, c->cookie, 8);
  memcpy (file + RUNTIME + 8, &version, sizeof version);
  memcpy (file + VERSION, &c->version, sizeof c->version);
  if (c->code != NULL)
    memcpy (file + VERSION, c->code, strlen (c->code));
  put_headers (file, c->machine != 0 ? c->machine : EM_X86_64, put_symbols (file, c));
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autofree guint8 *file = g_malloc (SIZE);
  g_autofree LuInterp *interp = NULL;
  g_autofree char *told = NULL;

  make_file (file, c);
  interp =
      lu_interp_recognize_bytes (c->path != NULL ? c->path : "/usr/lib/libpython3.so", file, SIZE);
  g_assert_cmphex (interp != NULL ? interp->file.version : 0, ==, c->found);
  told = lu_interp_unknown_versions ();
  if (c->told != NULL)
    g_assert_nonnull (strstr (told, c->told));
  if (interp == NULL)
    return;
  g_assert_cmphex (interp->file.runtime, ==, RUNTIME);
  g_assert_cmphex (interp->ranges[0].start, ==, CODE);
  g_assert_true (lu_interp_runs_at (interp, CODE + CODE_SIZE - 1));
  g_assert_cmpint (lu_interp_runs_at (interp, CODE + CODE_SIZE), ==, interp->n_ranges > 1);
  g_assert_true (lu_interp_begins_at (interp, CODE) && !lu_interp_begins_at (interp, CODE - 1));
  g_assert_false (lu_interp_begins_at (interp, CODE + 0x400));
  if (c->cookie != NULL)
    g_assert_cmpuint (interp->file.python.thread_frame, ==, c->offset);
}

/* Reads a file of the fuzz corpus, which make-corpus.py makes. */
static LuInterp *
recognize_as (const char *as, const char *name)
{
  g_autofree char *path =
      g_test_build_filename (G_TEST_DIST, "../../fuzz/corpus/interp", name, NULL);
  g_autofree char *bytes = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  return lu_interp_recognize_bytes (as, bytes, size);
}

static LuInterp *
recognize_ruby (const char *name)
{
  g_assert_null (recognize_as ("/usr/lib/libother.so", name));
  return recognize_as ("/usr/lib/libruby-3.3.so.3.3.8", name);
}

/* CPython's module _asyncio in a file of its own runs nothing. */
static void
test_tasks (void)
{
  const char *path = "/usr/lib/python3.14/lib-dynload/_asyncio.cpython-314-x86_64-linux-gnu.so";
  g_autofree LuInterp *found = recognize_as (path, "asyncio");
  g_autofree LuInterp *outside = recognize_as (path, "asyncio-outside");
  g_autofree LuInterp *shorter = recognize_as (path, "asyncio-short");

  g_assert_nonnull (found);
  g_assert_cmpuint (found->file.language, ==, LU_INTERP_TASKS);
  g_assert_cmpuint (found->file.tasks.thread_task, ==, 872);
  g_assert_cmpuint (found->file.tasks.awaited_by, ==, 96);
  g_assert_cmpuint (found->file.tasks.is_task, ==, 108);
  g_assert_cmpuint (found->file.tasks.is_set, ==, 109);
  g_assert_cmpuint (found->file.tasks.coroutine, ==, 128);
  g_assert_cmpuint (found->file.tasks.bytes, ==, 136);
  g_assert_false (lu_interp_runs_at (found, 0) || lu_interp_begins_at (found, 0));
  g_assert_null (outside);
  g_assert_null (shorter);
}

/* Without a symbol for rb_vm_exec(), it is found by the table of instructions. */
static void
test_ruby (void)
{
  g_autofree LuInterp *module = recognize_ruby ("ruby-module");
  g_autofree LuInterp *thread = recognize_ruby ("ruby-thread");
  g_autofree LuInterp *unknown = recognize_ruby ("ruby-unknown");
  g_autofree char *told = lu_interp_unknown_versions ();

  g_assert_nonnull (module);
  g_assert_cmpuint (module->file.language, ==, LU_INTERP_RUBY);
  g_assert_cmphex (module->file.version, ==, 0x030308);
  g_assert_cmpuint (module->file.ruby.context, ==, LU_RUBY_CONTEXT_MODULE);
  g_assert_cmphex (module->file.runtime, ==, 0x300f);
  g_assert_cmpint (module->file.ruby.context_at, ==, 16);
  g_assert_true (lu_interp_runs_at (module, 0x2400) && lu_interp_runs_at (module, 0x257f));
  g_assert_false (lu_interp_runs_at (module, 0x2100) || lu_interp_runs_at (module, 0x2580));
  g_assert_nonnull (thread);
  g_assert_cmphex (thread->file.version, ==, 0x03040b);
  g_assert_cmpuint (thread->file.ruby.context, ==, LU_RUBY_CONTEXT_THREAD);
  g_assert_cmpint (thread->file.ruby.context_at, ==, -16);
  g_assert_null (unknown);
  g_assert_nonnull (strstr (told, "Ruby 3.2"));
}

static gboolean
runs (const char *words)
{
  g_auto (GStrv) command = g_strsplit (words, " ", -1);

  return lu_interp_runs_command ((const char *const *) command);
}

/* Commands are told by their names, and scripts by that in their first line. */
static void
test_commands (void)
{
  g_autofree char *directory = g_dir_make_tmp ("lu-interp-XXXXXX", NULL);
  g_autofree char *script = g_build_filename (directory, "script", NULL);

  g_assert_true (runs ("python3"));
  g_assert_true (runs ("/opt/python3/bin/python3.9"));
  g_assert_true (runs ("/opt/ruby3.3"));
  g_assert_false (runs ("/opt/python3/bin/tool"));
  g_assert_true (runs ("sh -c exec\tpython3"));
  g_assert_true (runs ("/usr/bin/env A=1 python3"));
  g_assert_false (runs ("grep python3 file"));
  g_assert_true (g_file_set_contents (script, "#!/usr/bin/env python3\n", -1, NULL));
  g_assert_cmpint (chmod (script, 0700), ==, 0);
  g_assert_true (runs (script));
  g_assert_true (g_file_set_contents (script, "#!/bin/sh\npython3 x\n", -1, NULL));
  g_assert_false (runs (script));
  g_assert_cmpint (unlink (script), ==, 0);
  g_assert_cmpint (rmdir (directory), ==, 0);
}

/* A file that ends anywhere, and one with any byte changed: it is enough to survive. */
static void
test_damage (void)
{
  g_autofree guint8 *file = g_malloc (SIZE);

  make_file (file, &cases[1]);
  for (guint size = 0; size < 0x1000; size += 3)
    g_free (lu_interp_recognize_bytes ("/python", file, size));
  for (guint i = 0; i < 0x700; i++)
    {
      file[i] ^= 0xff;
      g_free (lu_interp_recognize_bytes ("/python", file, SIZE));
      file[i] ^= 0xff;
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/interp", cases, test_case);
  g_test_add_func ("/interp/commands", test_commands);
  g_test_add_func ("/interp/damage", test_damage);
  g_test_add_func ("/interp/ruby", test_ruby);
  g_test_add_func ("/interp/tasks", test_tasks);
  return g_test_run ();
}
