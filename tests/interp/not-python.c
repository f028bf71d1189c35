/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* not-python.c KIND SECONDS - a program that claims to be CPython 3.11, with structures as a
 * hostile process would make them. It only burns time, in a function with the name of the
 * interpreter's.
 *
 *   cycle     frames and threads lead back to themselves
 *   wild      every word is a pointer to anywhere
 *   lies      sizes of texts and tables are far too large, names have control characters
 *   flood     each sample sees thousands of functions that nobody has seen before
 *   changing  another thread rewrites all of that all the time */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_FRAMES 2048
#define WORDS    (N_FRAMES * 32)
#define MAX_TEXT 17000

/* Where CPython 3.11 has its fields: words. */
enum
{
  HEAD = 40 / 8,
  INTERP_THREADS = 16 / 8,
  THREAD_NEXT = 8 / 8,
  THREAD_FRAME = 56 / 8,
  THREAD_ID = 152 / 8,
  CFRAME_FRAME = 8 / 8,
  FRAME_CODE = 32 / 8,
  FRAME_PREVIOUS = 48 / 8,
  FRAME_INSTR = 56 / 8,
  FRAME_ENTRY = 64 / 8,
  CODE_LINE = 72 / 8,
  CODE_FILENAME = 112 / 8,
  CODE_QUALNAME = 128 / 8,
  CODE_LINES = 136 / 8,
  SIZE = 16 / 8,
  TEXT_STATE = 32 / 8,
  TEXT_DATA = 48 / 8,
  BYTES_DATA = 32 / 8
};

const uint32_t Py_Version = 0x030b02f0;
uint64_t _PyRuntime[64];

static uint64_t interp[64], thread[64], cframe[8], frames[N_FRAMES][16], codes[N_FRAMES][32];
static uint64_t name[MAX_TEXT / 8], path[64], lines[MAX_TEXT / 8], wild[WORDS];
static const char *kind;

static uint64_t
address_of (const void *object)
{
  return (uint64_t) (uintptr_t) object;
}

static void
set_text (uint64_t *text, uint64_t size, const char *data)
{
  text[SIZE] = size;
  text[TEXT_STATE] = (1 | 1 << 3 | 1 << 4) << 2;
  strcpy ((char *) &text[TEXT_DATA], data);
}

/* Makes what a real interpreter might have: N_FRAMES functions of one call. */
static void
make_chain (void)
{
  set_text (name, 9, "not_yours");
  set_text (path, 15, "/srv/other/a.py");
  lines[SIZE] = 40;
  memset (&lines[BYTES_DATA], 0xd8, 40);
  for (int i = 0; i < N_FRAMES; i++)
    {
      codes[i][CODE_FILENAME] = address_of (path);
      codes[i][CODE_QUALNAME] = address_of (name);
      codes[i][CODE_LINES] = address_of (lines);
      codes[i][CODE_LINE] = (uint64_t) i + 1;
      frames[i][FRAME_CODE] = address_of (codes[i]);
      frames[i][FRAME_PREVIOUS] = i + 1 < N_FRAMES ? address_of (frames[i + 1]) : 0;
      frames[i][FRAME_INSTR] = address_of (codes[i]) + 184 + 2;
      frames[i][FRAME_ENTRY] = i + 1 == N_FRAMES ? 1ull << 32 : 0;
    }
  _PyRuntime[HEAD] = address_of (interp);
  interp[INTERP_THREADS] = address_of (thread);
  thread[THREAD_ID] = (uint64_t) pthread_self ();
  thread[THREAD_FRAME] = address_of (cframe);
  cframe[CFRAME_FRAME] = address_of (frames[0]);
}

static void
make_wild (void)
{
  static const uint64_t bad[] = {
    0, 1, 0x7ffffffff000, 0xffff888000000000, 0x8000000000000000, UINT64_MAX, 0xffffffffff600000
  };

  for (int i = 0; i < WORDS; i++)
    wild[i] = rand () % 4 != 0
                  ? address_of (&wild[rand () % (WORDS - 64)]) + (uint64_t) (rand () % 3 == 0)
                  : bad[(unsigned) rand () % (sizeof bad / sizeof *bad)];
  for (int i = 0; i < WORDS; i += 16)
    wild[i + (rand () & 7)] = (uint64_t) pthread_self ();
  cframe[CFRAME_FRAME] = address_of (&wild[rand () % 1024]);
}

static void
make_lies (void)
{
  static const uint64_t sizes[] = { 1ull << 62, UINT64_MAX, 1u << 31, 16384, 256, 255 };

  strcpy ((char *) &name[TEXT_DATA], "\033[2J\nroot:x\r\t\001");
  name[SIZE] = sizes[(unsigned) rand () % 6];
  lines[SIZE] = sizes[(unsigned) rand () % 6];
  memset (&lines[BYTES_DATA], rand () & 0xff, 4096);
  for (int i = 0; i < N_FRAMES; i++)
    codes[i][CODE_LINE] = (uint64_t) rand ();
}

static void
make_cycle (void)
{
  frames[rand () % N_FRAMES][FRAME_PREVIOUS] = address_of (frames[rand () % N_FRAMES]);
  thread[THREAD_ID] = rand () % 2 != 0 ? (uint64_t) pthread_self () : 1;
  thread[THREAD_NEXT] = address_of (thread);
}

static void
make_flood (void)
{
  lines[SIZE] = 16384;
  for (int i = 0; i < N_FRAMES; i++)
    codes[i][CODE_LINE] += N_FRAMES;
}

static void
change (void)
{
  if (strcmp (kind, "wild") == 0)
    make_wild ();
  else if (strcmp (kind, "lies") == 0)
    make_lies ();
  else if (strcmp (kind, "cycle") == 0)
    make_cycle ();
  else if (strcmp (kind, "flood") == 0)
    make_flood ();
}

static void *
change_always (void *unused)
{
  static const char *const kinds[] = { "wild", "lies", "cycle", "flood" };

  for (unsigned i = 0;; i++)
    {
      kind = kinds[i % 4];
      change ();
      make_chain ();
    }
  return unused;
}

__attribute__ ((noinline)) void
_PyEval_EvalFrameDefault (double seconds)
{
  struct timespec now;
  double end;

  clock_gettime (CLOCK_MONOTONIC, &now);
  end = (double) now.tv_sec + (double) now.tv_nsec / 1e9 + seconds;
  do
    {
      clock_gettime (CLOCK_MONOTONIC, &now);
      change ();
    }
  while ((double) now.tv_sec + (double) now.tv_nsec / 1e9 < end);
}

int
main (int argc, char **argv)
{
  pthread_t other;

  if (argc != 3)
    return 2;
  kind = argv[1];
  make_chain ();
  if (strcmp (kind, "changing") == 0)
    pthread_create (&other, NULL, change_always, NULL);
  _PyEval_EvalFrameDefault (atof (argv[2]));
  return 0;
}
