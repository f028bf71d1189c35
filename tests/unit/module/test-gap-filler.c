/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-gap-filler.c - rows for code without CFI in a file that has CFI: this program, in which one
 * function is assembly without CFI, and another one, with CFI, jumps to it. Further code without
 * CFI is more than is looked at in one piece. */

#include "base/fd.h"
#include "code/decoder.h"
#include "module/code-reader.h"
#include "module/gap-filler.h"
#include "module/file-rows.h"
#include "module/filling.h"

#include "../directory.h"
#include "../elf/go-program.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUDGET     (8u << 20)
#define PATIENCE_S 60
#define LARGE      0x600000
/* Where another segment is, in the file and in memory; behind all of this program */
#define ADDED_AT  0x4000000
#define MORE_CODE 0x2000000 /* than may be read */

void bare (void);
void bare_pushed (void);
void leads_to_bare (void);
void leads_nowhere (void);
void joint_bare (void);
void large (void);
extern const char __executable_start;

#ifdef __x86_64__
__asm__(".text\n"
        ".balign 64\n"
        "joint:\n"
        "  .cfi_startproc\n"
        "  mov $1, %eax\n"
        "  .cfi_endproc\n"
        "joint_bare:\n"
        "  test %eax, %eax\n"
        "  je joint_end\n"
        "  ret\n"
        "joint_end:\n"
        "  .cfi_startproc\n"
        "  xor %eax, %eax\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".balign 64\n"
        ".type bare, @function\n"
        "bare:\n"
        "  push %rbp\n"
        "bare_pushed:\n"
        "  .rept 400\n"
        "  add $1, %eax\n"
        "  .endr\n"
        "  pop %rbp\n"
        "  ret\n"
        ".size bare, . - bare\n"
        ".balign 64\n"
        "leads_to_bare:\n"
        "  .cfi_startproc\n"
        "  jmp bare\n"
        "  .cfi_endproc\n"
        ".balign 64\n"
        "leads_nowhere:\n"
        "  .cfi_startproc\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".type large, @function\n"
        "large:\n"
        "  .fill 0x600000, 1, 0x90\n"
        "  ret\n"
        ".size large, . - large\n"
        "  .cfi_startproc\n"
        "  ret\n"
        "  .cfi_endproc\n");
#endif

typedef void (*Function) (void);

typedef struct
{
  int fd;
  LuImage *image;
} Program;

static Program
open_program (void)
{
  Program self = { .fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC) };

  self.image = lu_image_open (self.fd, NULL);
  g_assert_nonnull (self.image);
  return self;
}

static void
close_program (Program *self)
{
  lu_image_unref (self->image);
  close (self->fd);
}

#ifdef __x86_64__
static guint64
elf_address (const Program *self, Function function)
{
  guint64 address = (guint64) (gsize) function;

  return lu_image_is_position_independent (self->image)
             ? address - (guint64) (gsize) &__executable_start
             : address;
}

static void
test_rows (void)
{
  Program program = open_program ();
  const gint cancelled = 1;
  g_autoptr (GArray) nowhere = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (LuCodeRows) none =
      lu_file_rows_read_gaps (program.image, program.fd, nowhere, &cancelled);
  g_autoptr (LuCodeRows) code = lu_file_rows_read_gaps (program.image, program.fd, nowhere, NULL);
  const LuExtraRows *rows;
  gint64 index;
  guint32 id;

  g_assert_false (lu_code_rows_run_unit (none, 0));
  g_assert_null (lu_code_rows_collect (code));
  for (guint i = 0; i < lu_code_rows_n_units (code); i++)
    g_assert_true (lu_code_rows_run_unit (code, i));
  rows = lu_code_rows_collect (code);
  g_assert_nonnull (rows);
  index = lu_extra_rows_find (rows, elf_address (&program, bare_pushed));
  g_assert_cmpint (index, >=, 0);
  id = g_array_index (rows->rows, LuExtraRow, index).rule;
  g_assert_cmpuint (id, !=, LU_RULE_NONE);
  g_assert_cmpint (rows->rules.rules[id].cfa_off, ==, 16);
  g_assert_true ((rows->rules.rules[id].flags & LU_RULE_DERIVED) != 0);
  index = lu_extra_rows_find (rows, elf_address (&program, leads_nowhere));
  g_assert_true (index < 0 || g_array_index (rows->rows, LuExtraRow, index).rule == LU_RULE_NONE);
  /* A function whose CFI ends before it does, as that of clone3() */
  index = lu_extra_rows_find (rows, elf_address (&program, joint_bare));
  g_assert_cmpint (index, >=, 0);
  id = g_array_index (rows->rows, LuExtraRow, index).rule;
  g_assert_cmpuint (id, !=, LU_RULE_NONE);
  g_assert_cmpint (rows->rules.rules[id].cfa_off, ==, 8);
  index = lu_extra_rows_find (rows, elf_address (&program, large) + LARGE);
  g_assert_cmpint (index, >=, 0);
  g_assert_cmpuint (g_array_index (rows->rows, LuExtraRow, index).rule, !=, LU_RULE_NONE);
  for (guint i = 1; i < rows->rows->len; i++)
    g_assert_cmphex (g_array_index (rows->rows, LuExtraRow, i - 1).address, <,
                     g_array_index (rows->rows, LuExtraRow, i).address);
  close_program (&program);
}

static void
test_thread (void)
{
  Program program = open_program ();
  g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);
  guint64 address = elf_address (&program, bare_pushed), start;
  guint before = lu_tables_filled ();
  struct lu_rule rule;

  g_assert_true (lu_table_slot_may_fill_gaps (slot));
  g_assert_true (lu_table_slot_may_get_rows (slot));
  lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
  g_assert_false (lu_table_slot_may_fill_gaps (slot));
  for (guint i = 0; i < PATIENCE_S * 1000 && lu_tables_filled () == before; i++)
    g_usleep (1000);
  g_assert_cmpuint (lu_tables_filled (), ==, before + 1);
  g_assert_true (lu_table_slot_is_extended (slot));
  g_assert_true (lu_table_slot_find (slot, address, &rule));
  g_assert_true ((rule.flags & LU_RULE_DERIVED) != 0);
  g_assert_true (lu_table_slot_find (slot, elf_address (&program, leads_nowhere), &rule));
  g_assert_cmpint (rule.cfa_kind, ==, LU_CFA_SP);
  g_assert_true ((rule.flags & LU_RULE_DERIVED) == 0);
  g_assert_true (lu_table_slot_find_start (slot, address, &start));
  g_assert_cmphex (start, ==, elf_address (&program, bare));
  g_assert_true (lu_table_slot_leads_to (slot, elf_address (&program, leads_to_bare), start));
  g_assert_false (lu_table_slot_leads_to (slot, elf_address (&program, leads_nowhere), start));
  close_program (&program);
}

/* Returns the program header of a type in the bytes of a file. */
static Elf64_Phdr *
find_segment (char *bytes, guint32 type)
{
  const Elf64_Ehdr *header = (const Elf64_Ehdr *) (gpointer) bytes;
  Elf64_Phdr *segments = (Elf64_Phdr *) (gpointer) (bytes + header->e_phoff);
  guint i = 0;

  while (i < header->e_phnum && segments[i].p_type != type)
    i++;
  g_assert_cmpuint (i, <, header->e_phnum);
  return &segments[i];
}

/* Adds a segment of zeros to a copy of a file. Returns it, open. */
static int
add_segment (const char *from, const char *path, guint32 flags, guint64 size)
{
  g_autofree char *bytes = NULL;
  gsize length;
  int fd;

  g_assert_true (g_file_get_contents (from, &bytes, &length, NULL));
  *find_segment (bytes, PT_GNU_STACK) = (Elf64_Phdr){ .p_type = PT_LOAD,
                                                      .p_flags = flags,
                                                      .p_offset = ADDED_AT,
                                                      .p_vaddr = ADDED_AT,
                                                      .p_filesz = size,
                                                      .p_memsz = size };
  g_assert_true (g_file_set_contents (path, bytes, (gssize) length, NULL));
  fd = open (path, O_RDWR | O_CLOEXEC);
  g_assert_cmpint (ftruncate (fd, (off_t) (ADDED_AT + size)), ==, 0);
  return fd;
}

static gboolean
has_rows_in (int fd, guint64 address, gboolean is_asked)
{
  g_autoptr (LuImage) image = lu_image_open (fd, NULL);
  g_autoptr (GArray) addresses = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (LuCodeRows) code = NULL;

  if (is_asked)
    g_array_append_val (addresses, address);
  g_assert_nonnull (image);
  if (!lu_file_rows_may_be_read (image, fd))
    return FALSE;
  code = lu_file_rows_read_gaps (image, fd, addresses, NULL);
  return code != NULL && lu_code_rows_find_unit (code, address) < lu_code_rows_n_units (code);
}

/* A file of this size gets rows by units if it has no CFI at all, not only if it has some. */
static void
test_without_cfi (void)
{
  g_autofree char *bytes = NULL;
  g_autoptr (LuImage) image = NULL;
  Program program = open_program ();
  FILE *stream = tmpfile ();
  gsize length;
  Elf64_Ehdr *header;

  g_assert_true (g_file_get_contents ("/proc/self/exe", &bytes, &length, NULL));
  header = (Elf64_Ehdr *) (gpointer) bytes;
  header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
  find_segment (bytes, PT_GNU_EH_FRAME)->p_type = PT_NULL;
  g_assert_cmpuint (fwrite (bytes, 1, length, stream), ==, length);
  g_assert_cmpint (fflush (stream), ==, 0);
  image = lu_image_open (fileno (stream), NULL);
  g_assert_nonnull (image);
  g_assert_cmpuint (lu_image_cfi_size (image), ==, 0);
  g_assert_true (lu_file_rows_may_fill_gaps (image));
  g_assert_true (has_rows_in (fileno (stream), elf_address (&program, leads_nowhere), FALSE));
  fclose (stream);
  close_program (&program);
}

static gboolean
may_be_read (const char *from, const char *path, guint64 size)
{
  lu_autofd fd = add_segment (from, path, PF_R, size);
  g_autoptr (LuImage) image = lu_image_open (fd, NULL);

  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_nonnull (image);
  return lu_file_rows_may_be_read (image, fd);
}

/* If there is more code than may be read, that around what is asked for is. A file with as much
 * data is read if its code has little CFI (this program), but not if it has CFI. */
static void
test_large_files (void)
{
  g_autofree char *directory = g_dir_make_tmp ("lu-large-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "large", NULL);
  lu_autofd code = add_segment ("/proc/self/exe", path, PF_R | PF_X, LU_CODE_MAX_BYTES + MORE_CODE);
  Dl_info library;
  Program program = open_program ();
  guint64 end = ADDED_AT + LU_CODE_MAX_BYTES + MORE_CODE;

  g_assert_true (has_rows_in (code, elf_address (&program, bare_pushed), FALSE));
  g_assert_false (has_rows_in (code, end - 64, FALSE));
  g_assert_true (has_rows_in (code, end - 64, TRUE));
  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_true (may_be_read ("/proc/self/exe", path, LU_CODE_MAX_BYTES));
  g_assert_false (may_be_read ("/proc/self/exe", path, LU_CODE_MAX_LOADED));
  g_assert_cmpint (dladdr ((gpointer) g_malloc, &library), !=, 0);
  g_assert_false (may_be_read (library.dli_fname, path, LU_CODE_MAX_BYTES));
  directory_remove (directory);
  close_program (&program);
}

/* Writes a program that Go's linker has made, with C between functions of Go. */
static int
write_go_program (const char *path)
{
  static const GoFunction functions[] = {
    { "main.main", 0, "\2\x40", 0 },
    { "x_cgo_init", 0x40, NULL, 0 },
    { "x_cgo_mmap", 0x80, NULL, 0 },
    { "main.other", 0x200, "\2\x40", 0 },
  };
  /* sub $24,%rsp; add $24,%rsp; ret */
  static const guint8 code[] = { 0x48, 0x83, 0xec, 24, 0x48, 0x83, 0xc4, 24, 0xc3 };
  const GoProgram program = { .magic = 0xfffffff1,
                              .functions = functions,
                              .n_functions = G_N_ELEMENTS (functions),
                              .end = GO_TEXT_SIZE,
                              .text = GO_TEXT,
                              .section_name = ".gopclntab" };
  g_autoptr (GByteArray) file = go_program_new (&program);

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    memcpy (file->data + (GO_TEXT - GO_BASE) + functions[i].start, code, sizeof code);
  g_assert_true (g_file_set_contents (path, (const char *) file->data, file->len, NULL));
  return open (path, O_RDONLY | O_CLOEXEC);
}

/* In a program of Go, rows are only made for functions of C. */
static void
test_go (void)
{
  g_autofree char *directory = g_dir_make_tmp ("lu-go-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "go", NULL);
  lu_autofd fd = write_go_program (path);
  g_autoptr (LuImage) image = lu_image_open (fd, NULL);
  g_autoptr (GArray) nowhere = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (LuCodeRows) code = lu_file_rows_read_gaps (image, fd, nowhere, NULL);
  guint n = code != NULL ? lu_code_rows_n_units (code) : 0;
  const LuExtraRows *rows;
  gint64 index;
  guint32 id;

  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (lu_code_rows_find_unit (code, GO_TEXT + 4), ==, n);
  g_assert_cmpuint (lu_code_rows_find_unit (code, GO_TEXT + 0x204), ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_true (lu_code_rows_run_unit (code, i));
  rows = lu_code_rows_collect (code);
  g_assert_nonnull (rows);
  index = lu_extra_rows_find (rows, GO_TEXT + 0x84);
  g_assert_cmpint (index, >=, 0);
  id = g_array_index (rows->rows, LuExtraRow, index).rule;
  g_assert_cmpuint (id, !=, LU_RULE_NONE);
  g_assert_cmpint (rows->rules.rules[id].cfa_off, ==, 32);
  directory_remove (directory);
}

/* The thread may have been too slow, or faster. */
#define N_TRIALS 20

/* A reader asks for rows and goes on; it notes which have yet to come, if somebody asks for that.
 */
static void
test_noted (void)
{
  Program program = open_program ();
  const LuModuleKey key = { .path = "gaps" };
  guint64 address = elf_address (&program, bare_pushed);
  gboolean is_noted = FALSE;

  for (guint i = 0; i < N_TRIALS && !is_noted; i++)
    {
      g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);
      g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
      g_autoptr (LuModule) module = lu_module_new (&key);
      const LuMappedModule mapped = { .module = module };
      LuTableSlot *slot = lu_tables_add (tables, program.image);
      LuAwaitedRows awaited = { 0 };

      lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
      lu_module_take_slot (module, slot);
      lu_module_publish (module, LU_MODULE_READY, lu_image_ref (program.image));
      g_assert_false (lu_code_reader_awaits (reader));
      lu_code_reader_set_awaited (reader, &awaited);
      is_noted = !lu_code_reader_fill_gaps (reader, &mapped, address);
      g_assert_true (lu_code_reader_awaits (reader) == is_noted);
      if (!is_noted)
        continue;
      g_assert_true (awaited.slot == slot);
      g_assert_cmphex (awaited.address, ==, address);
      lu_code_reader_fill_gaps (reader, &mapped, 0); /* the first one counts */
      g_assert_cmphex (awaited.address, ==, address);
      awaited.slot = NULL;
      g_assert_true (lu_table_slot_wait_filled (slot, address, PATIENCE_S * 1000));
      g_assert_true (lu_code_reader_fill_gaps (reader, &mapped, address));
      g_assert_false (lu_code_reader_awaits (reader));
    }
  g_assert_true (is_noted);
  close_program (&program);
}

/* Rows that came between two looks, as from the store, are there: an answer that was found without
 * them must not be kept. */
static void
test_came_meanwhile (void)
{
  Program program = open_program ();
  const LuModuleKey key = { .path = "gaps" };
  g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autoptr (LuModule) module = lu_module_new (&key);
  const LuMappedModule mapped = { .module = module };
  LuTableSlot *slot = lu_tables_add (tables, program.image);

  lu_module_take_slot (module, slot);
  lu_module_publish (module, LU_MODULE_READY, lu_image_ref (program.image));
  lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
  for (guint i = 0; i < PATIENCE_S * 1000 && lu_table_slot_is_filling (slot); i++)
    g_usleep (1000);
  g_assert_false (lu_table_slot_is_filling (slot));
  g_assert_false (lu_table_slot_may_get_rows (slot));
  g_assert_true (lu_code_reader_fill_gaps (reader, &mapped, elf_address (&program, bare_pushed)));
  close_program (&program);
}

/* Rows around an address that is asked for come before those of the rest, and are published. */
static void
test_first (void)
{
  Program program = open_program ();
  guint64 address = elf_address (&program, bare_pushed);
  gboolean is_first = FALSE;

  for (guint i = 0; i < N_TRIALS && !is_first; i++)
    {
      g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);
      g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);
      struct lu_rule rule;

      lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
      g_assert_true (lu_table_slot_wait_filled (slot, address, PATIENCE_S * 1000));
      g_assert_true (lu_table_slot_find (slot, address, &rule));
      g_assert_true ((rule.flags & LU_RULE_DERIVED) != 0);
      is_first = lu_table_slot_is_filling (slot);
    }
  g_assert_true (is_first);
  close_program (&program);
}

/* Before a file was read, addresses are kept once each, so that there is room for others. */
static void
test_early (void)
{
  Program program = open_program ();
  g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);
  LuFilling *filling = lu_filling_new (slot, program.image, lu_fd_duplicate (program.fd));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  guint64 first = elf_address (&program, bare_pushed);
  guint64 second = elf_address (&program, large) + LARGE;
  const gint is_cancelled = 0;

  for (guint i = 0; i < 1000; i++)
    g_assert_false (lu_filling_ask (filling, first));
  g_assert_false (lu_filling_ask (filling, second));
  lu_filling_begin (filling, &is_cancelled, &mutex);
  g_assert_cmpuint (lu_filling_take_asked (filling), ==,
                    lu_code_rows_find_unit (filling->rows, first));
  g_assert_cmpuint (lu_filling_take_asked (filling), ==,
                    lu_code_rows_find_unit (filling->rows, second));
  g_assert_cmpuint (lu_filling_take_asked (filling), ==, LU_NO_UNIT);
  lu_filling_free (filling);
  close_program (&program);
}

/* Fills the gaps of a file, and waits until that is done. */
static void
fill_and_wait (LuTables *tables, const Program *program, int fd)
{
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program->image);
  struct lu_rule rule;

  lu_table_slot_fill_gaps (slot, program->image, lu_fd_duplicate (fd));
  g_assert_true (lu_table_slot_wait_filled (slot, LU_ALL_ROWS, PATIENCE_S * 1000));
  g_assert_false (lu_table_slot_is_filling (slot));
  g_assert_true (lu_table_slot_find (slot, elf_address (program, bare_pushed), &rule));
  g_assert_true ((rule.flags & LU_RULE_DERIVED) != 0);
}

static LuTables *
new_stored_tables (const char *directory)
{
  return lu_tables_new (lu_store_open (directory, LU_STORE_READ_WRITE, NULL), BUDGET);
}

static guint64
count (const LuTables *tables, LuCounter counter)
{
  return lu_counters_get (lu_tables_counters (tables), counter);
}

/* The rows are stored, and not made again. */
static void
test_stored (void)
{
  Program program = open_program ();
  g_autofree char *directory = g_dir_make_tmp ("lu-gaps-XXXXXX", NULL);
  LuTables *tables = new_stored_tables (directory);

  fill_and_wait (tables, &program, program.fd);
  g_assert_cmpuint (count (tables, LU_COUNTER_TABLES_STORED), ==, 1);
  lu_tables_free (tables);
  tables = new_stored_tables (directory);
  fill_and_wait (tables, &program, program.fd);
  g_assert_cmpuint (count (tables, LU_COUNTER_TABLES_STORED), ==, 0);
  g_assert_cmpuint (count (tables, LU_COUNTER_TABLES_LOADED), ==, 1);
  lu_tables_free (tables);
  directory_remove (directory);
  close_program (&program);
}

/* Rows that are under way when a recording ends are stored, if there is any patience. */
static void
test_finished (void)
{
  Program program = open_program ();
  g_autofree char *directory = g_dir_make_tmp ("lu-gaps-XXXXXX", NULL);
  LuTables *tables = new_stored_tables (directory);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);

  lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
  lu_tables_stop (tables, PATIENCE_S * 100, PATIENCE_S * 1000);
  g_assert_cmpuint (count (tables, LU_COUNTER_TABLES_STORED), ==, 1);
  lu_tables_free (tables);
  directory_remove (directory);
  close_program (&program);
}

/* A file that others may write to can change, and change back, while it is read. */
static void
test_not_ours (void)
{
  g_autofree char *path = g_strdup ("/tmp/lu-gaps-XXXXXX");
  lu_autofd fd = g_mkstemp (path);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fchmod (fd, 0755), ==, 0);
  g_assert_true (lu_file_rows_may_be_stored (fd));
  g_assert_cmpint (fchmod (fd, 0775), ==, 0);
  g_assert_false (lu_file_rows_may_be_stored (fd));
  g_assert_cmpint (fchmod (fd, 0757), ==, 0);
  g_assert_false (lu_file_rows_may_be_stored (fd));
  g_assert_cmpint (fchmod (fd, 0755), ==, 0);
  if (getuid () != 65534 && fchown (fd, 65534, (gid_t) -1) == 0)
    g_assert_false (lu_file_rows_may_be_stored (fd));
  unlink (path);
}

/* Rows depend on all that a file loads: a file with the same CFI and other code is another one. */
static void
test_identity (void)
{
  Program program = open_program ();
  FILE *copy = tmpfile ();
  guint8 digest[LU_DIGEST_SIZE], other[LU_DIGEST_SIZE];
  g_autofree char *bytes = NULL;
  gsize size, code_at = 0;
  guint n;
  const LuSegment *segments = lu_image_segments (program.image, &n);

  g_assert_true (g_file_get_contents ("/proc/self/exe", &bytes, &size, NULL));
  for (guint i = 0; i < n; i++)
    if (segments[i].executable)
      code_at = segments[i].file_offset;
  g_assert_true (lu_image_digest_loaded (program.image, program.fd, digest));
  g_assert_cmpuint (fwrite (bytes, 1, size, copy), ==, size);
  g_assert_cmpint (fflush (copy), ==, 0);
  g_assert_true (lu_image_digest_loaded (program.image, fileno (copy), other));
  g_assert_cmpmem (digest, sizeof digest, other, sizeof other);
  g_assert_cmpint (pwrite (fileno (copy), "\xc3\xc3", 2, (off_t) code_at), ==, 2);
  g_assert_true (lu_image_digest_loaded (program.image, fileno (copy), other));
  g_assert_cmpint (memcmp (digest, other, sizeof digest), !=, 0);
  g_assert_cmpint (ftruncate (fileno (copy), (off_t) code_at + 1), ==, 0);
  g_assert_false (lu_image_digest_loaded (program.image, fileno (copy), other));
  fclose (copy);
  close_program (&program);
}

/* The thread ends although files wait for it. */
static void
test_end (void)
{
  Program program = open_program ();
  g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);

  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);

      lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
    }
  lu_tables_stop (tables, 0, 0);
  close_program (&program);
}

typedef struct
{
  const Program *program;
  LuTables *tables;
  gint is_told; /* atomic: the end has come */
} Adding;

static gpointer
add_until_told (gpointer data)
{
  Adding *self = data;
  gboolean is_last;

  do
    {
      g_autoptr (LuTableSlot) slot = NULL;

      is_last = g_atomic_int_get (&self->is_told);
      slot = lu_tables_add (self->tables, self->program->image);
      lu_table_slot_fill_gaps (slot, self->program->image, lu_fd_duplicate (self->program->fd));
      lu_table_slot_wait_filled (slot, 0, 0);
    }
  while (!is_last);
  return NULL;
}

/* A worker that nobody waits for any more adds files, and asks for their rows, while, and after,
 * the threads are stopped. */
static void
test_late_files (void)
{
  Program program = open_program ();

  for (guint i = 0; i < 8; i++)
    {
      Adding adding = { &program, lu_tables_new (NULL, BUDGET), FALSE };
      GThread *thread = g_thread_new ("adding", add_until_told, &adding);

      g_usleep (i * 100);
      lu_tables_stop (adding.tables, 0, 0);
      g_atomic_int_set (&adding.is_told, TRUE);
      g_thread_join (thread);
      lu_tables_free (adding.tables);
    }
  close_program (&program);
}
#endif

/* A slot that outlives the tables starts no thread. */
static void
test_after_end (void)
{
  Program program = open_program ();
  LuTables *tables = lu_tables_new (NULL, BUDGET);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);

  lu_tables_free (tables);
  lu_table_slot_fill_gaps (slot, program.image, lu_fd_duplicate (program.fd));
  close_program (&program);
}

/* A file that is gone has no rows, and is not asked again. */
static void
test_gone (void)
{
  Program program = open_program ();
  g_autoptr (LuTables) tables = lu_tables_new (NULL, BUDGET);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, program.image);

  lu_table_slot_fill_gaps (slot, program.image, -1);
  g_assert_false (lu_table_slot_may_fill_gaps (slot));
  close_program (&program);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (!lu_decoder_load ())
    {
      g_print ("1..0 # SKIP no library that decodes instructions is installed\n");
      return 0;
    }
#ifdef __x86_64__
  g_test_add_func ("/gap-filler/rows", test_rows);
  g_test_add_func ("/gap-filler/thread", test_thread);
  g_test_add_func ("/gap-filler/large-files", test_large_files);
  g_test_add_func ("/gap-filler/without-cfi", test_without_cfi);
  g_test_add_func ("/gap-filler/go", test_go);
  g_test_add_func ("/gap-filler/noted", test_noted);
  g_test_add_func ("/gap-filler/came-meanwhile", test_came_meanwhile);
  g_test_add_func ("/gap-filler/first", test_first);
  g_test_add_func ("/gap-filler/early", test_early);
  g_test_add_func ("/gap-filler/stored", test_stored);
  g_test_add_func ("/gap-filler/finished", test_finished);
  g_test_add_func ("/gap-filler/not-ours", test_not_ours);
  g_test_add_func ("/gap-filler/identity", test_identity);
  g_test_add_func ("/gap-filler/end", test_end);
  g_test_add_func ("/gap-filler/late-files", test_late_files);
#endif
  g_test_add_func ("/gap-filler/after-end", test_after_end);
  g_test_add_func ("/gap-filler/gone", test_gone);
  return g_test_run ();
}
