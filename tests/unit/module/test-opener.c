/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-opener.c - which files the opener accepts for a module and which it refuses, on copies of
 * this program in a temporary directory. */

#include "module/opener.h"

#include "elf/own-vdso.h"
#include "module/module-cache.h"
#include "process/proc-maps.h"

#include "base/fd.h"
#include "own-mappings.h"
#include "../directory.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes this program wait to be killed. */
#define WAIT_ARGUMENT "--wait"

typedef struct
{
  char *directory;
  char *path; /* path of a copy of this program */
  LuOpener *opener;
} Fixture;

G_GNUC_NORETURN static void
run_and_wait (void)
{
  if (write (STDOUT_FILENO, "", 1) != 1)
    _exit (1);
  for (;;)
    pause ();
}

static void
copy_self (const char *path)
{
  g_autofree char *bytes = NULL;
  gsize size;

  g_assert_true (g_file_get_contents ("/proc/self/exe", &bytes, &size, NULL));
  g_assert_true (g_file_set_contents (path, bytes, (gssize) size, NULL));
}

static void
set_up (Fixture *self, gconstpointer data)
{
  self->directory = g_dir_make_tmp ("lu-opener-XXXXXX", NULL);
  self->path = g_build_filename (self->directory, "program", NULL);
  copy_self (self->path);
  self->opener = lu_opener_new (TRUE, 1 << 20);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_opener_free (self->opener);
  g_unlink (self->path);
  g_rmdir (self->directory);
  g_free (self->path);
  g_free (self->directory);
}

static LuModuleKey
key_of (const char *path)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .has_inode = TRUE, .path = path };
  struct stat info;

  g_assert_cmpint (stat (path, &info), ==, 0);
  key.major = major (info.st_dev);
  key.minor = minor (info.st_dev);
  key.inode = info.st_ino;
  return key;
}

static void
add_own_build_id (LuModuleKey *key)
{
  int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  g_autoptr (LuImage) image = lu_image_open (fd, NULL);
  gsize size;
  const guint8 *build_id = lu_image_build_id (image, &size);

  close (fd);
  g_assert_cmpuint (size, ==, LU_BUILD_ID_MAX);
  key->build_id_size = LU_BUILD_ID_MAX;
  memcpy (key->build_id, build_id, size);
}

static LuModule *
open_module (Fixture *self, const LuModuleKey *key, gint32 pid, gpointer start, gsize size)
{
  LuModule *module = lu_module_new (key);
  guint n_descriptors = directory_count ("/proc/self/fd");

  lu_opener_open (self->opener, module, pid, (guintptr) start, (guintptr) start + size);
  g_assert_cmpuint (directory_count ("/proc/self/fd"), ==, n_descriptors);
  return module;
}

static void
check_outcome (Fixture *self, const LuModuleKey *key, LuModuleState want)
{
  g_autoptr (LuModule) module = open_module (self, key, 0, NULL, 0);

  g_assert_cmpint (lu_module_state (module), ==, want);
  g_assert_true ((lu_module_image (module) != NULL) == (want == LU_MODULE_READY));
}

static void
test_by_path (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path);

  check_outcome (self, &key, LU_MODULE_READY);
}

/* A file beyond the limit counts as broken; one that is shared costs nothing. */
static void
test_limit (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path), same = key_of ("/proc/self/exe");
  LuModuleKey other = key_of ("/bin/sh");
  g_autoptr (LuModule) first = NULL;
  gsize size;

  lu_opener_set_limit (self->opener, 1);
  check_outcome (self, &key, LU_MODULE_BROKEN);
  lu_opener_set_limit (self->opener, 64u << 20);
  first = open_module (self, &key, 0, NULL, 0);
  size = lu_image_resident_bytes (lu_module_image (first));
  lu_opener_set_limit (self->opener, size);
  check_outcome (self, &same, LU_MODULE_READY);
  check_outcome (self, &other, LU_MODULE_BROKEN);
}

static void
test_replaced (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path);
  g_autofree char *other = g_strconcat (self->path, ".new", NULL);

  copy_self (other);
  g_assert_cmpint (rename (other, self->path), ==, 0);
  check_outcome (self, &key, LU_MODULE_GONE);
}

static void
test_build_id (Fixture *self, gconstpointer data)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = self->path };

  add_own_build_id (&key);
  check_outcome (self, &key, LU_MODULE_READY);
  key.build_id[3] ^= 1;
  check_outcome (self, &key, LU_MODULE_GONE);
  /* A build-id that the kernel reported outweighs device and inode. */
  key = key_of (self->path);
  add_own_build_id (&key);
  key.major ^= 5;
  key.inode++;
  check_outcome (self, &key, LU_MODULE_READY);
  key = key_of (self->path);
  key.inode++;
  check_outcome (self, &key, LU_MODULE_GONE);
}

static void
test_nothing_to_compare (Fixture *self, gconstpointer data)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = self->path };

  check_outcome (self, &key, LU_MODULE_READY);
}

static void
test_not_elf (Fixture *self, gconstpointer data)
{
  LuModuleKey key;

  g_assert_true (g_file_set_contents (self->path, "#!/bin/sh\n", -1, NULL));
  key = key_of (self->path);
  check_outcome (self, &key, LU_MODULE_BROKEN);
}

static void
test_fifo (Fixture *self, gconstpointer data)
{
  LuModuleKey key;
  gint64 start;

  g_unlink (self->path);
  g_assert_cmpint (mkfifo (self->path, 0600), ==, 0);
  key = key_of (self->path);
  start = g_get_monotonic_time ();
  check_outcome (self, &key, LU_MODULE_GONE);
  g_assert_cmpint (g_get_monotonic_time () - start, <, G_USEC_PER_SEC);
}

static gpointer
map_copy (const char *path, gsize *size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  gpointer at;

  g_assert_cmpint (fstat (fd, &info), ==, 0);
  *size = ((gsize) info.st_size + 4095) & ~(gsize) 4095;
  at = mmap (NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  g_assert_true (at != MAP_FAILED);
  close (fd);
  return at;
}

static void
test_deleted (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path);
  g_autoptr (LuModule) module = NULL;
  gsize size;
  gpointer at = map_copy (self->path, &size);

  g_unlink (self->path);
  if (can_open_mappings (at, size))
    {
      module = open_module (self, &key, getpid (), at, size);
      g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_READY);
    }
  else
    g_test_skip ("no permission to open /proc/PID/map_files");
  munmap (at, size);
}

/* The range was unmapped and another file mapped there after the record: the module must not get
 * that file. */
static void
test_mapping_changed (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path);
  g_autofree char *other = g_strconcat (self->path, ".new", NULL);
  g_autoptr (LuModule) module = NULL;
  gsize size;
  gpointer at;

  copy_self (other);
  at = map_copy (other, &size);
  g_unlink (self->path);
  module = open_module (self, &key, getpid (), at, size);
  g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_GONE);
  g_unlink (other);
  munmap (at, size);
}

/* Starts a process that runs this program from a file in memory, or one that maps a page of
 * `bytes` executable, until it is killed. */
static pid_t
spawn_in_memory (gconstpointer bytes, gsize size)
{
  int fds[2], fd = memfd_create ("program of mine", MFD_CLOEXEC);
  char done = 0;
  pid_t pid;

  g_assert_cmpint (write (fd, bytes, size), ==, (gssize) size);
  g_assert_cmpint (pipe (fds), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      char *arguments[] = { (char *) "program", (char *) WAIT_ARGUMENT, NULL };

      prctl (PR_SET_PDEATHSIG, SIGKILL);
      dup2 (fds[1], STDOUT_FILENO);
      fexecve (fd, arguments, environ);
      mmap (NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
      run_and_wait ();
    }
  close (fds[1]);
  g_assert_cmpint (read (fds[0], &done, 1), ==, 1);
  close (fds[0]);
  close (fd);
  return pid;
}

/* Describes the executable mapping of its file in memory. */
static gboolean
note_memory (const LuMmapEvent *mmap, gpointer user_data)
{
  LuMmapEvent *found = user_data;

  if (!g_str_has_prefix (mmap->path, "/memfd:") || (mmap->prot & PROT_EXEC) == 0)
    return TRUE;
  *found = *mmap;
  found->path = NULL;
  return FALSE;
}

static LuModule *
open_in_memory (Fixture *self, pid_t pid, gboolean by_mapping)
{
  g_autofree char *maps_path = g_strdup_printf ("/proc/%d/maps", pid), *maps = NULL;
  LuMmapEvent mmap = { 0 };
  LuModuleKey key;
  char buffer[64];
  gsize size;

  g_assert_true (g_file_get_contents (maps_path, &maps, &size, NULL));
  lu_proc_maps_parse (maps, size, note_memory, &mmap);
  g_assert_cmpuint (mmap.length, >, 0);
  lu_module_key_init (&key, "/memfd:program of mine (deleted)", buffer, sizeof buffer);
  g_assert_cmpint (key.kind, ==, LU_MODULE_MEMORY);
  key.has_inode = TRUE;
  key.major = mmap.major;
  key.minor = mmap.minor;
  key.inode = mmap.inode;
  return open_module (self, &key, pid, GSIZE_TO_POINTER (mmap.start),
                      by_mapping ? mmap.length : mmap.length + 4096);
}

static void
end_process (pid_t pid)
{
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
}

/* Without privilege it is reached as the program that the process runs, too. */
static void
test_program_in_memory (Fixture *self, gconstpointer data)
{
  g_autofree char *bytes = NULL;
  gsize size;
  pid_t pid;

  g_assert_true (g_file_get_contents ("/proc/self/exe", &bytes, &size, NULL));
  pid = spawn_in_memory (bytes, size);
  for (guint by_mapping = 0; by_mapping < 2; by_mapping++)
    {
      g_autoptr (LuModule) module = open_in_memory (self, pid, by_mapping);

      g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_READY);
    }
  end_process (pid);
}

static void
test_code_in_memory (Fixture *self, gconstpointer data)
{
  pid_t pid = spawn_in_memory ("no program", 10);
  g_autoptr (LuModule) module = open_in_memory (self, pid, TRUE);

  g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_BROKEN);
  end_process (pid);
}

/* Starts a process in a root directory of its own that waits to be killed; -1 without the
 * privilege. */
static pid_t
spawn_in_root (const char *directory)
{
  int fds[2];
  char ok = 0;
  pid_t pid;

  g_assert_cmpint (pipe (fds), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no process behind */
      ok = chroot (directory) == 0 && chdir ("/") == 0;
      if (write (fds[1], &ok, 1) != 1)
        _exit (1);
      for (;;)
        pause ();
    }
  g_assert_cmpint (read (fds[0], &ok, 1), ==, 1);
  close (fds[0]);
  close (fds[1]);
  if (ok)
    return pid;
  end_process (pid);
  return -1;
}

static void
test_other_root (Fixture *self, gconstpointer data)
{
  g_autofree char *link = g_build_filename (self->directory, "link", NULL);
  LuModuleKey key = key_of (self->path);
  pid_t pid = spawn_in_root (self->directory);

  if (pid < 0)
    {
      g_test_skip ("no permission to change the root");
      return;
    }
  g_assert_cmpint (symlink ("/program", link), ==, 0);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LuModule) module = NULL;

      key.path = i == 0 ? "/program" : "/link";
      module = open_module (self, &key, pid, GSIZE_TO_POINTER (0x1000), 0x1000);
      g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_READY);
    }
  end_process (pid);
  g_unlink (link);
}

static void
test_shared (Fixture *self, gconstpointer data)
{
  g_autofree char *other = g_strconcat (self->path, ".copy", NULL);
  LuModuleKey keys[2];
  g_autoptr (LuModule) a = NULL;
  g_autoptr (LuModule) b = NULL;

  copy_self (other);
  keys[0] = key_of (self->path);
  keys[1] = key_of (other);
  a = open_module (self, &keys[0], 0, NULL, 0);
  b = open_module (self, &keys[1], 0, NULL, 0);
  g_assert_nonnull (lu_module_image (a));
  g_assert_true (lu_module_image (a) == lu_module_image (b));
  g_assert_cmpuint (lu_module_id (a), !=, lu_module_id (b));
  g_unlink (other);
}

static void
test_budget (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path);
  g_autoptr (LuOpener) frugal = lu_opener_new (TRUE, 0);
  g_autoptr (LuModule) module = lu_module_new (&key);
  g_autoptr (LuImage) image = NULL;

  lu_opener_open (frugal, module, 0, 0, 0);
  image = lu_image_ref (lu_module_image (module));
  g_assert_false (lu_image_is_unshared (image));
  lu_module_unref (g_steal_pointer (&module));
  g_assert_false (lu_image_is_unshared (image)); /* the opener still has it */
  lu_image_unref (g_steal_pointer (&image));

  /* The next opening finds the image unused and, with no budget, drops it. The only visible effect
   * is that opening the file again works. */
  module = lu_module_new (&key);
  lu_opener_open (frugal, module, 0, 0, 0);
  g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_READY);
}

/* No process is named, so none can hold the read up. */
static void
test_vdso_32 (Fixture *self, gconstpointer data)
{
  LuModuleKey key = { .kind = LU_MODULE_VDSO, .is_32bit = TRUE, .path = "[vdso]" };
  g_autoptr (LuModule) module = open_module (self, &key, 0, NULL, 0);
  gsize size;

  if (lu_kernel_vdso_32 (&size) == NULL)
    {
      g_test_skip ("the kernel shows no 32-bit vDSO");
      return;
    }
  g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_READY);
  g_assert_false (lu_image_is_64bit (lu_module_image (module)));
  g_assert_nonnull (lu_image_build_id (lu_module_image (module), &size));
}

static void
test_vdso (Fixture *self, gconstpointer data)
{
  LuModuleKey key = { .kind = LU_MODULE_VDSO, .path = "[vdso]" };
  g_autoptr (LuModule) live = open_module (self, &key, 0, NULL, 0);
  g_autoptr (LuOpener) replay = lu_opener_new (FALSE, 0);
  g_autoptr (LuModule) unknown = lu_module_new (&key);
  g_autoptr (LuModule) known = NULL;
  const guint8 *build_id;
  gsize size;

  if (sizeof (gpointer) != 8)
    {
      g_test_skip ("not a 64-bit process");
      return;
    }
  g_assert_cmpint (lu_module_state (live), ==, LU_MODULE_READY);
  /* A recording from another machine may have had another kernel. */
  lu_opener_open (replay, unknown, 0, 0, 0);
  g_assert_cmpint (lu_module_state (unknown), ==, LU_MODULE_GONE);
  build_id = lu_module_build_id (live, &size);
  g_assert_cmpuint (size, ==, LU_BUILD_ID_MAX);
  key.build_id_size = LU_BUILD_ID_MAX;
  memcpy (key.build_id, build_id, size);
  known = lu_module_new (&key);
  lu_opener_open (replay, known, 0, 0, 0);
  g_assert_cmpint (lu_module_state (known), ==, LU_MODULE_READY);
}

static void
test_publish_once (Fixture *self, gconstpointer data)
{
  LuModuleKey key = key_of (self->path);
  g_autoptr (LuModule) module = lu_module_new (&key);

  g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_PENDING);
  lu_module_publish (module, LU_MODULE_GONE, NULL);
  lu_opener_open (self->opener, module, 0, 0, 0);
  lu_module_publish (module, LU_MODULE_BROKEN, NULL);
  g_assert_cmpint (lu_module_state (module), ==, LU_MODULE_GONE);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*test) (Fixture *, gconstpointer);
  } tests[] = {
    { "by-path", test_by_path },
    { "limit", test_limit },
    { "replaced-file-is-refused", test_replaced },
    { "build-id-decides", test_build_id },
    { "nothing-to-compare", test_nothing_to_compare },
    { "not-elf", test_not_elf },
    { "fifo", test_fifo },
    { "deleted-file", test_deleted },
    { "mapping-changed", test_mapping_changed },
    { "program-in-memory", test_program_in_memory },
    { "code-in-memory", test_code_in_memory },
    { "other-root", test_other_root },
    { "shared-image", test_shared },
    { "budget", test_budget },
    { "vdso", test_vdso },
    { "vdso-32", test_vdso_32 },
    { "publish-once", test_publish_once },
  };

  if (argc > 1 && strcmp (argv[1], WAIT_ARGUMENT) == 0)
    run_and_wait ();
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    {
      g_autofree char *path = g_strconcat ("/opener/", tests[i].name, NULL);

      g_test_add (path, Fixture, NULL, set_up, tests[i].test, tear_down);
    }
  return g_test_run ();
}
