/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-hostile.c - the dwfl engine with damaged files, damaged stacks, and a debuginfod server that
 * never answers. There is no right answer here, but the engine has to return a stack with a valid
 * status.
 *
 * Arguments: the directory of target.c's programs, and the number of damaged files to try (default
 * 4000). */

#include "unwind/unwinder.h"

#include "tracee.h"

#include <arpa/inet.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *directory;
static guint n_rounds = 4000;

static Tracee *
start_build (const char *build, const char *what)
{
  const char *args[] = { what, NULL };

  return tracee_start (directory, build, args, 1 << 20);
}

static Tracee *
start (const char *what)
{
  return start_build ("pie", what);
}

static void
check_unwinds (LuUnwinder *unwinder, const Tracee *tracee, LuAddressSpace *space, LuStack *stack)
{
  lu_stack_reset (stack);
  tracee_unwind (unwinder, 1, &tracee->sample, space, stack);
  g_assert_cmpuint (stack->n_frames, >=, 1);
  g_assert_cmpuint (stack->n_frames, <=, LU_STACK_MAX_FRAMES);
  g_assert_cmpuint (stack->status, <, LU_N_STATUS);
}

/* The bytes of a section of the program, to be damaged. */
static guint8 *
find_section (guint8 *file, const char *name, gsize *size)
{
  Elf64_Ehdr *header = (Elf64_Ehdr *) file;
  Elf64_Shdr *sections = (Elf64_Shdr *) (file + header->e_shoff);
  const char *names = (const char *) file + sections[header->e_shstrndx].sh_offset;

  for (guint i = 0; i < header->e_shnum; i++)
    if (strcmp (names + sections[i].sh_name, name) == 0)
      {
        *size = sections[i].sh_size;
        return file + sections[i].sh_offset;
      }
  g_assert_not_reached ();
}

/* Byte values with a meaning in CFI: expressions, long numbers, states, the ends of ranges. */
static const guint8 interesting[] = { 0x00, 0x01, 0x04, 0x05, 0x07, 0x0a, 0x0b, 0x0c, 0x0e,
                                      0x0f, 0x10, 0x16, 0x1b, 0x28, 0x2f, 0x3b, 0x3f, 0x40,
                                      0x77, 0x7f, 0x80, 0x90, 0x94, 0xc0, 0xff };

static void
damage (GRand *random, guint8 *bytes, gsize size)
{
  guint n = (guint) g_rand_int_range (random, 1, 9);

  while (n-- > 0)
    {
      gint32 at = g_rand_int_range (random, 0, (gint32) size);

      if (g_rand_boolean (random))
        bytes[at] = interesting[g_rand_int_range (random, 0, G_N_ELEMENTS (interesting))];
      else
        bytes[at] = (guint8) g_rand_int (random);
    }
}

static LuAddressSpace *
with_image (const Tracee *tracee, LuImage *image)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "damaged" };
  g_autoptr (LuModule) module = lu_module_new (&key);
  LuMapping mapping = *lu_address_space_find (tracee->space, tracee->words[8]);

  mapping.module = module;
  lu_module_publish (module, LU_MODULE_READY, image);
  return lu_address_space_take_with_mapping (lu_address_space_ref (tracee->space), &mapping);
}

static void
test_damaged_files (void)
{
  static const char *const sections[] = { ".eh_frame", ".eh_frame_hdr" };
  g_autoptr (Tracee) tracee = start ("signal");
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree char *program = g_strdup_printf ("%s/target-pie", directory);
  g_autofree LuStack *stack = g_new (LuStack, 1);
  g_autoptr (GRand) random = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  g_autofree guint8 *file = NULL;
  gsize file_size;
  guint n_by_status[LU_N_STATUS] = { 0 };

  if (tracee == NULL)
    return;
  g_assert_true (g_file_get_contents (program, (char **) &file, &file_size, NULL));
  for (guint i = 0; i < n_rounds; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (file, file_size);
      g_autoptr (LuAddressSpace) space = NULL;
      guint8 *bytes;
      LuImage *image;
      gsize size;

      bytes = find_section (copy, sections[i % 4 == 0], &size);
      damage (random, bytes, size);
      image = lu_image_new_from_memory (copy, file_size, NULL);
      g_assert_nonnull (image);
      space = with_image (tracee, image);
      check_unwinds (unwinder, tracee, space, stack);
      n_by_status[stack->status]++;
    }
  for (guint i = 0; i < LU_N_STATUS; i++)
    if (n_by_status[i] > 0)
      g_test_message ("%s: %u", lu_status_key ((LuStatus) i), n_by_status[i]);
  /* The test is worth nothing unless some stacks are complete and some are not. */
  g_assert_cmpuint (n_by_status[LU_STATUS_COMPLETE], >, 0);
  g_assert_cmpuint (n_by_status[LU_STATUS_COMPLETE], <, n_rounds);
}

/* The function that stopped has unwind information that must not reach libdw; the other functions
 * keep theirs. */
static void
test_instructions (gconstpointer what)
{
  g_autoptr (Tracee) tracee = start_build ("hostile", what);
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  if (tracee == NULL)
    return;
  memset (tracee->stack, 0, 16); /* no return address on top of the stack either */
  check_unwinds (unwinder, tracee, tracee->space, stack);
  g_assert_cmpstr (lu_status_key (stack->status), ==, lu_status_key (LU_STATUS_NO_UNWIND_INFO));
  g_assert_cmpuint (stack->n_frames, ==, 1);
}

static void
test_neighbours (void)
{
  g_autoptr (Tracee) tracee = start_build ("hostile", "plain");
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  if (tracee == NULL)
    return;
  check_unwinds (unwinder, tracee, tracee->space, stack);
  g_assert_cmpstr (lu_status_key (stack->status), ==, lu_status_key (LU_STATUS_COMPLETE));
  for (guint i = 0; i < tracee->n_returns; i++)
    g_assert_cmphex (stack->frames[i + 1].pc, ==, tracee->returns[i]);
}

static void
test_damaged_stacks (void)
{
  g_autoptr (Tracee) tracee = start ("signal");
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autofree guint8 *saved = NULL;
  guint32 size;

  if (tracee == NULL)
    return;
  size = MIN (tracee->sample.stack_size, 4096);
  saved = g_memdup2 (tracee->stack, size);
  for (guint i = 0; i < n_rounds; i++)
    {
      guint64 words[17];

      memcpy (words, tracee->words, sizeof words);
      damage (random, tracee->stack, size);
      if (i % 8 == 0)
        tracee->words[i / 8 % 17] =
            tracee->words[7] + (guint64) g_rand_int_range (random, -64, 4096);
      check_unwinds (unwinder, tracee, tracee->space, stack);
      memcpy (tracee->stack, saved, size);
      memcpy (tracee->words, words, sizeof words);
    }
}

/* Every word of the stack leads back to the same place, but the walk must end. */
static void
test_endless_stack (void)
{
  g_autoptr (Tracee) tracee = start ("plain");
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  if (tracee == NULL)
    return;
  for (gsize at = 0; at + 8 <= tracee->sample.stack_size; at += 8)
    memcpy (tracee->stack + at, &tracee->returns[0], 8);
  check_unwinds (unwinder, tracee, tracee->space, stack);
  g_assert_cmpuint (stack->status, !=, LU_STATUS_COMPLETE);
}

/* The engine must not ask for debug files while recording: a server that accepts and never answers
 * gets no connection. */
static void
test_no_debuginfod (void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t length = sizeof address;
  g_autofree LuStack *stack = g_new (LuStack, 1);
  g_autofree char *cache = g_dir_make_tmp ("lu-debuginfod-XXXXXX", NULL);
  g_autofree char *url = NULL;
  int server = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  g_autoptr (Tracee) tracee = NULL;
  g_autoptr (LuUnwinder) unwinder = NULL;

  g_assert_cmpint (bind (server, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_assert_cmpint (listen (server, 8), ==, 0);
  g_assert_cmpint (getsockname (server, (struct sockaddr *) &address, &length), ==, 0);
  url = g_strdup_printf ("http://127.0.0.1:%u/", ntohs (address.sin_port));
  g_setenv ("DEBUGINFOD_URLS", url, TRUE);
  g_setenv ("DEBUGINFOD_CACHE_PATH", cache, TRUE);
  g_setenv ("DEBUGINFOD_TIMEOUT", "2", TRUE);

  tracee = start ("signal");
  unwinder = tracee_engine ()->new (NULL);
  if (tracee != NULL)
    {
      check_unwinds (unwinder, tracee, tracee->space, stack);
      /* Code without unwind information makes libdw look for another file. */
      tracee->words[8] = lu_address_space_find (tracee->space, tracee->words[8])->start;
      memset (tracee->stack, 0, 16); /* and no return address on top of the stack */
      check_unwinds (unwinder, tracee, tracee->space, stack);
      g_assert_cmpuint (stack->status, ==, LU_STATUS_NO_UNWIND_INFO);
      g_assert_cmpint (accept (server, NULL, NULL), ==, -1);
    }
  g_unsetenv ("DEBUGINFOD_URLS");
  close (server);
  rmdir (cache);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  directory = argc > 1 ? argv[1] : ".";
  if (argc > 2)
    n_rounds = (guint) atoi (argv[2]);
  g_test_add_func ("/hostile/damaged-files", test_damaged_files);
  g_test_add_data_func ("/hostile/instructions/deref-size", "deref-size", test_instructions);
  g_test_add_data_func ("/hostile/instructions/divide", "divide", test_instructions);
  g_test_add_data_func ("/hostile/instructions/registers", "registers", test_instructions);
  g_test_add_func ("/hostile/instructions/neighbours", test_neighbours);
  g_test_add_func ("/hostile/damaged-stacks", test_damaged_stacks);
  g_test_add_func ("/hostile/endless-stack", test_endless_stack);
  g_test_add_func ("/hostile/no-debuginfod", test_no_debuginfod);
  return g_test_run ();
}
