/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-walker-memory.c - a walker of the drain allocates and frees nothing, not even in its first
 * walk, with the first rule of each module, a new address space for each walk, and lists that
 * overflow.
 *
 * Arguments: the directory of target.c's programs. */

#include "unwind/walker.h"

#include "../../sanitized.h"
#include "tracee.h"

#include <malloc.h>
#include <string.h>

#define N_SPACES 300

static const char *directory;

/* A sanitizer has its own allocator; nothing is counted then. */
#if TEST_IS_SANITIZED
#define CAN_COUNT FALSE
#else
#define CAN_COUNT TRUE
#endif
static gboolean is_armed;
static guint n_calls;

#if !TEST_IS_SANITIZED
extern void *__libc_malloc (size_t size);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *old, size_t size);
extern void __libc_free (void *bytes);

void *
malloc (size_t size)
{
  n_calls += is_armed;
  return __libc_malloc (size);
}

void *
calloc (size_t n, size_t size)
{
  n_calls += is_armed;
  return __libc_calloc (n, size);
}

void *
realloc (void *old, size_t size)
{
  n_calls += is_armed;
  return __libc_realloc (old, size);
}

void
free (void *bytes)
{
  n_calls += is_armed;
  __libc_free (bytes);
}
#endif

static Tracee *
start (const char *what)
{
  const char *args[] = { what, "200", NULL };

  if (CAN_COUNT)
    return tracee_start (directory, "pie", args, 1 << 20);
  g_test_skip ("a sanitizer has its own allocator");
  return NULL;
}

static gboolean
walk (LuWalker *walker, gint32 tid, const LuSample *sample, LuAddressSpace *space, LuStack *stack)
{
  gboolean is_ours;

  lu_stack_reset (stack);
  n_calls = 0;
  is_armed = TRUE;
  is_ours = lu_walker_walk (walker, tid, sample, space, stack);
  is_armed = FALSE;
  g_assert_cmpuint (n_calls, ==, 0);
  return is_ours;
}

/* Calls are really counted. */
static void
test_counting (void)
{
  gpointer volatile bytes;

  if (!CAN_COUNT)
    {
      g_test_skip ("a sanitizer has its own allocator");
      return;
    }
  n_calls = 0;
  is_armed = TRUE;
  bytes = g_malloc (100);
  is_armed = FALSE;
  g_assert_cmpuint (n_calls, ==, 1);
  g_free (bytes);
}

static void
test_first (gconstpointer what)
{
  g_autoptr (Tracee) tracee = start (what);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  if (tracee == NULL)
    return;
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (LuWalker) walker = lu_walker_new (TRUE);

      g_assert_true (walk (walker, 1, &tracee->sample, tracee->space, stack));
      g_assert_cmpint (stack->status, ==, LU_STATUS_COMPLETE);
      g_assert_true (walk (walker, 1, &tracee->sample, tracee->space, stack));
    }
}

/* There are more address spaces, and more mappings in all, than are kept. */
static void
test_spaces (void)
{
  g_autoptr (Tracee) tracee = start ("plain");
  g_autoptr (LuWalker) walker = lu_walker_new (TRUE);
  g_autofree LuStack *stack = g_new (LuStack, 1);
  const LuModuleKey key = { .kind = LU_MODULE_ANONYMOUS, .path = "//anon" };
  g_autoptr (LuModule) module = lu_module_new (&key);
  LuAddressSpace *space;

  if (tracee == NULL)
    return;
  space = lu_address_space_ref (tracee->space);
  for (guint i = 0; i < N_SPACES; i++)
    {
      LuMapping mapping = { .start = 0x1000 * (i + 1), .end = 0x1000 * (i + 1) + 1 };
      LuAddressSpace *next;

      mapping.module = module;
      next = lu_address_space_take_with_mapping (lu_address_space_ref (space), &mapping);
      lu_address_space_unref (space);
      space = next;
      g_assert_true (walk (walker, (gint32) i, &tracee->sample, space, stack));
      g_assert_cmpint (stack->status, ==, LU_STATUS_COMPLETE);
      g_assert_true (walk (walker, 1, &tracee->sample, tracee->space, stack));
      g_assert_cmpint (stack->status, ==, LU_STATUS_COMPLETE);
    }
  lu_address_space_unref (space);
}

/* Damaged samples take other ways through the walker. */
static void
test_damaged (void)
{
  g_autoptr (Tracee) tracee = start ("signal");
  g_autoptr (LuWalker) walker = lu_walker_new (TRUE);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  if (tracee == NULL)
    return;
  for (guint64 at = 0; at + 8 < MIN (tracee->sample.stack_size, 8192); at += 8)
    {
      guint64 value, other = tracee->words[8] + at;

      memcpy (&value, tracee->stack + at, 8);
      memcpy (tracee->stack + at, &other, 8);
      walk (walker, 1, &tracee->sample, tracee->space, stack);
      memcpy (tracee->stack + at, &value, 8);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  directory = argc > 1 ? argv[1] : ".";
  g_test_add_func ("/walker-memory/counting", test_counting);
  g_test_add_data_func ("/walker-memory/plain", "plain", test_first);
  g_test_add_data_func ("/walker-memory/signal", "signal", test_first);
  g_test_add_data_func ("/walker-memory/recurse", "recurse", test_first);
  g_test_add_func ("/walker-memory/spaces", test_spaces);
  g_test_add_func ("/walker-memory/damaged", test_damaged);
  return g_test_run ();
}
