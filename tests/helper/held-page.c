/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* held-page.c - `held-page`: burns time below a page of its stack that is never present and that
 * blocks every reader: a userfaultfd holds it, and nobody answers. Exits with 77 if userfaultfd is
 * not available. */
#include "../programs/known.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define STACK_BYTES (1u << 20)
#define PAGE        4096u
/* More than a thread touches at the top of its stack. */
#define HELD_BELOW_TOP (3 * PAGE)

KNOWN void
burn (volatile char *untouched)
{
  (void) untouched;
  for (int i = 0; i < 1000; i++)
    spin (10);
  AFTER_CALL ();
}

KNOWN void *
over_held_page (void *unused)
{
  volatile char untouched[3 * PAGE];

  burn (untouched);
  return unused;
}

static int
hold (char *page)
{
  struct uffdio_api api = { .api = UFFD_API };
  struct uffdio_register range = { .range = { .start = (uintptr_t) page, .len = PAGE },
                                   .mode = UFFDIO_REGISTER_MODE_MISSING };
  int fd = (int) syscall (SYS_userfaultfd, O_CLOEXEC);

  return fd >= 0 && ioctl (fd, UFFDIO_API, &api) == 0 && ioctl (fd, UFFDIO_REGISTER, &range) == 0;
}

int
main (void)
{
  char *stack = mmap (0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;

  if (stack == MAP_FAILED)
    return 1;
  madvise (stack, STACK_BYTES, MADV_NOHUGEPAGE);
  if (!hold (stack + STACK_BYTES - HELD_BELOW_TOP))
    return 77;
  pthread_attr_init (&attributes);
  pthread_attr_setstack (&attributes, stack, STACK_BYTES);
  if (pthread_create (&thread, &attributes, over_held_page, 0) == 0)
    pthread_join (thread, 0);
  return 0;
}
