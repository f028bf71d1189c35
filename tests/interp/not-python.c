/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* not-python.c KIND SECONDS - a program that claims to be CPython 3.11; see pretend.h. */

#include "pretend.h"

#include <stdlib.h>
#include <string.h>

#define N_FRAMES 2048
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
static uint64_t name[MAX_TEXT / 8], path[64], lines[MAX_TEXT / 8];

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
  thread[THREAD_ID] = own_thread ();
  thread[THREAD_FRAME] = address_of (cframe);
  cframe[CFRAME_FRAME] = address_of (frames[0]);
}

static void
point_at (uint64_t place)
{
  cframe[CFRAME_FRAME] = place;
}

static void
make_lies (void)
{
  strcpy ((char *) &name[TEXT_DATA], UGLY_NAME);
  name[SIZE] = wrong_size ();
  lines[SIZE] = wrong_size ();
  memset (&lines[BYTES_DATA], rand () & 0xff, 4096);
  for (int i = 0; i < N_FRAMES; i++)
    codes[i][CODE_LINE] = (uint64_t) rand ();
}

static void
make_cycle (void)
{
  frames[rand () % N_FRAMES][FRAME_PREVIOUS] = address_of (frames[rand () % N_FRAMES]);
  thread[THREAD_ID] = rand () % 2 != 0 ? own_thread () : 1;
  thread[THREAD_NEXT] = address_of (thread);
}

static void
make_flood (void)
{
  lines[SIZE] = 16384;
  for (int i = 0; i < N_FRAMES; i++)
    codes[i][CODE_LINE] += N_FRAMES;
}

PRETEND (_PyEval_EvalFrameDefault)
