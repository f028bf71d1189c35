/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-naming.c - files that are made to hold up the search for names, or to fill the memory.
 * Each case says what it took; run with --verbose to see it. */

#include "symbolize/namer.h"

#include <elf.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE_AT   4096
#define CODE_SIZE (1u << 20)
#define MAX_NAME  65535

static char *directory;

/* An ELF file with code, and symbols that are written behind it. */
typedef struct
{
  char *path;
  int fd;
  guint64 symbols_size, strings_size;
} Made;

static void
write_at (int fd, gconstpointer bytes, gsize size, guint64 at)
{
  g_assert_cmpint (pwrite (fd, bytes, size, (off_t) at), ==, (gssize) size);
}

static guint64
symbols_at (void)
{
  return CODE_AT + CODE_SIZE;
}

static guint64
strings_at (const Made *self)
{
  return symbols_at () + self->symbols_size;
}

static Made
make (const char *name, guint64 symbols_size, guint64 strings_size)
{
  static const char names[] = "\0.symtab\0.strtab\0.shstrtab";
  Made self = { g_build_filename (directory, name, NULL), -1, symbols_size, strings_size };
  guint64 end = symbols_at () + symbols_size + strings_size;
  Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                     EV_CURRENT },
                        .e_type = ET_DYN,
                        .e_machine = EM_X86_64,
                        .e_version = EV_CURRENT,
                        .e_phoff = sizeof header,
                        .e_shoff = 512,
                        .e_ehsize = sizeof header,
                        .e_phentsize = sizeof (Elf64_Phdr),
                        .e_phnum = 1,
                        .e_shentsize = sizeof (Elf64_Shdr),
                        .e_shnum = 4,
                        .e_shstrndx = 3 };
  Elf64_Phdr code = { .p_type = PT_LOAD,
                      .p_flags = PF_R | PF_X,
                      .p_offset = CODE_AT,
                      .p_vaddr = CODE_AT,
                      .p_filesz = CODE_SIZE,
                      .p_memsz = CODE_SIZE,
                      .p_align = 4096 };
  Elf64_Shdr sections[4] = {
    { 0 },
    { .sh_name = 1, .sh_type = SHT_SYMTAB, .sh_offset = symbols_at (), .sh_size = symbols_size },
    { .sh_name = 9,
      .sh_type = SHT_STRTAB,
      .sh_offset = end - strings_size,
      .sh_size = strings_size },
    { .sh_name = 17, .sh_type = SHT_STRTAB, .sh_offset = 1024, .sh_size = sizeof names },
  };

  self.fd = open (self.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  g_assert_cmpint (self.fd, >=, 0);
  g_assert_cmpint (ftruncate (self.fd, (off_t) end), ==, 0);
  write_at (self.fd, &header, sizeof header, 0);
  write_at (self.fd, &code, sizeof code, sizeof header);
  write_at (self.fd, sections, sizeof sections, 512);
  write_at (self.fd, names, sizeof names, 1024);
  return self;
}

static void
add_symbol (const Made *self, guint64 number, guint64 offset, guint64 size, guint64 name)
{
  Elf64_Sym symbol = { .st_name = (guint32) name,
                       .st_info = ELF64_ST_INFO (STB_GLOBAL, STT_FUNC),
                       .st_shndx = 1,
                       .st_value = CODE_AT + offset,
                       .st_size = size };

  write_at (self->fd, &symbol, sizeof symbol, symbols_at () + number * sizeof symbol);
}

/* Writes names of MAX_NAME letters, each with a NUL. */
static void
add_long_names (const Made *self, guint n)
{
  g_autofree char *text = g_strnfill (MAX_NAME, 'a');

  for (guint i = 0; i < n; i++)
    {
      g_snprintf (text, 16, "n%u", i);
      text[strlen (text)] = '_';
      write_at (self->fd, text, MAX_NAME + 1, strings_at (self) + 1 + (guint64) i * (MAX_NAME + 1));
    }
}

static void
done (Made *self)
{
  close (self->fd);
  g_free (self->path);
}

typedef struct
{
  guint n_queries;
  guint64 step; /* bytes between them */
  gint64 stops_at_us;
  guint n_named; /* out */
  LuNamesResult result;
} Job;

static gboolean
go_on (guint n_done, guint total, gpointer user_data)
{
  const Job *job = user_data;

  return job->stops_at_us == 0 || g_get_monotonic_time () < job->stops_at_us;
}

static void
name (const char *path, Job *job)
{
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = lu_namer_new (jitdumps);
  LuNamerOptions options = { .progress = go_on, .progress_data = job };
  const LuNameQuery *answers;
  guint n;

  lu_namer_add_file (namer, &(LuNameFile){ .id = &(LuFileId){ .path = path } });
  for (guint i = 0; i < job->n_queries; i++)
    lu_namer_add (namer, 0, CODE_AT + i * job->step, i);
  lu_namer_run (namer, &options);
  answers = lu_namer_answers (namer, &n);
  for (guint i = 0; i < n; i++)
    job->n_named += answers[i].name != NULL;
  job->result = lu_namer_result (namer, 0);
}

/* Names the addresses in a process of its own, which may take that long and that much memory. */
static void
name_within (const char *path, const Job *given, guint seconds, guint64 max_mb)
{
  gint64 begin = g_get_monotonic_time ();
  int status, pipe_fds[2];
  struct rusage usage;
  Job job = *given;
  pid_t pid;

  g_assert_cmpint (pipe (pipe_fds), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      alarm (60);
      name (path, &job);
      _exit (write (pipe_fds[1], &job, sizeof job) == sizeof job ? 0 : 1);
    }
  g_assert_cmpint (wait4 (pid, &status, 0, &usage), ==, pid);
  g_test_message ("%.2f s, %ld MB", (double) (g_get_monotonic_time () - begin) / 1e6,
                  usage.ru_maxrss / 1024);
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpint (read (pipe_fds[0], &job, sizeof job), ==, sizeof job);
  g_test_message ("%u of %u named, result %d", job.n_named, job.n_queries, job.result);
  close (pipe_fds[0]);
  close (pipe_fds[1]);
  g_assert_cmpint ((g_get_monotonic_time () - begin) / G_USEC_PER_SEC, <, seconds);
  g_assert_cmpint (usage.ru_maxrss / 1024, <, max_mb);
}

static void
test_sparse (void)
{
  for (guint64 gib = 15; gib <= 4096; gib += 4081)
    {
      Made made = make ("sparse", gib << 30, 4096);

      name_within (made.path, &(Job){ .n_queries = 100, .step = 64 }, 8, 128);
      done (&made);
    }
}

/* A table that is small enough is read whole, and keeps only what is asked for. */
static void
test_many_symbols (void)
{
  guint n = 8 << 20;
  Made made = make ("many", (guint64) n * sizeof (Elf64_Sym), 4096);

  write_at (made.fd, "known", 6, strings_at (&made) + 1);
  add_symbol (&made, n - 1, 0, 64, 1);
  name_within (made.path, &(Job){ .n_queries = 1, .step = 64 }, 8, 128);
  done (&made);
}

/* All symbols contain all addresses. */
static void
test_nested (void)
{
  guint n = 2 << 20;
  Made made = make ("nested", (guint64) n * sizeof (Elf64_Sym), 4096);
  g_autofree Elf64_Sym *symbols = g_new0 (Elf64_Sym, n);

  for (guint i = 0; i < n; i++)
    symbols[i] = (Elf64_Sym){ .st_name = 1,
                              .st_info = ELF64_ST_INFO (STB_GLOBAL, STT_FUNC),
                              .st_shndx = 1,
                              .st_value = CODE_AT + i % 1024,
                              .st_size = CODE_SIZE };
  write_at (made.fd, symbols, n * sizeof *symbols, symbols_at ());
  write_at (made.fd, "nested", 7, strings_at (&made) + 1);
  name_within (made.path, &(Job){ .n_queries = 10000, .step = 64 }, 8, 192);
  done (&made);
}

static void
test_aliases (void)
{
  guint n = 300;
  Made made = make ("aliases", n * sizeof (Elf64_Sym), 1 + (guint64) n * (MAX_NAME + 1));

  for (guint i = 0; i < n; i++)
    add_symbol (&made, i, 0, CODE_SIZE, 1 + (guint64) i * (MAX_NAME + 1));
  add_long_names (&made, n);
  name_within (made.path, &(Job){ .n_queries = 20000, .step = 16 }, 8, 128);
  done (&made);
}

/* Each address has a name of its own: the end of one long text. */
static void
test_long_names (void)
{
  guint n = 100000;
  Made made = make ("names", n * sizeof (Elf64_Sym), n + MAX_NAME + 1);
  g_autofree char *text = g_strnfill (n + MAX_NAME, 'a');

  for (guint i = 0; i < n; i++)
    add_symbol (&made, i, i * 8, 8, 1 + i);
  for (guint i = MAX_NAME; i < n + MAX_NAME; i += MAX_NAME - 1)
    text[i] = 0;
  write_at (made.fd, text, n + MAX_NAME, strings_at (&made));
  name_within (made.path, &(Job){ .n_queries = n, .step = 8 }, 8, 256);
  done (&made);
}

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  directory = g_dir_make_tmp ("lu-naming-XXXXXX", NULL);
  g_test_add_func ("/hostile/naming/sparse", test_sparse);
  g_test_add_func ("/hostile/naming/many-symbols", test_many_symbols);
  g_test_add_func ("/hostile/naming/nested", test_nested);
  g_test_add_func ("/hostile/naming/aliases", test_aliases);
  g_test_add_func ("/hostile/naming/long-names", test_long_names);
  result = g_test_run ();
  for (guint i = 0; i < 5; i++)
    {
      static const char *const files[] = { "sparse", "many", "nested", "aliases", "names" };
      g_autofree char *path = g_build_filename (directory, files[i], NULL);

      g_unlink (path);
    }
  g_rmdir (directory);
  g_free (directory);
  return result;
}
