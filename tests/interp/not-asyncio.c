/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* not-asyncio.c KIND SECONDS - a program that claims to be CPython 3.14 with tasks of asyncio that
 * wait, and describes itself in forged sections; see pretend.h. */

#include "pretend.h"

#include <stdlib.h>
#include <string.h>

#define N_TASKS 1024
#define N_CODES 2048

/* Words of struct _Py_DebugOffsets of 3.14, and what this program has there: bytes. */
enum
{
  AT_NEXT = 8,
  AT_FRAME = 16,
  AT_ID = 24,
  AT_TASK = 32,
  AT_CODE = 0,
  AT_PREVIOUS = 8,
  AT_INSTR = 16,
  AT_STACK = 24,
  AT_OWNER = 32,
  AT_FILENAME = 8,
  AT_QUALNAME = 16,
  AT_LINES = 24,
  AT_LINE = 32,
  AT_ARGUMENTS = 40,
  AT_BYTES = 64,
  AT_TYPE = 8,
  AT_STATE = 16,
  AT_ITS_FRAME = 24,
  AT_AWAITED_BY = 16,
  AT_IS_TASK = 24,
  AT_IS_SET = 25,
  AT_COROUTINE = 32
};

const uint32_t Py_Version = 0x030e0af0;
uint64_t PyCoro_Type[2], PyGen_Type[2], PyAsyncGen_Type[2], _PyAsyncGenASend_Type[2];

__attribute__ ((section (".PyRuntime"))) uint64_t _PyRuntime[128] = {
  0x79706775626564ull << 8 | 'x', /* "xdebugpy" */
  0x030e0af0,
  [5] = 1000,
  [8] = AT_NEXT,
  [9] = AT_FRAME,
  [24] = AT_NEXT,
  [26] = AT_FRAME,
  [27] = AT_ID,
  [32] = AT_PREVIOUS,
  [33] = AT_CODE,
  [34] = AT_INSTR,
  [36] = AT_OWNER,
  [37] = AT_STACK,
  [40] = AT_FILENAME,
  [42] = AT_QUALNAME,
  [43] = AT_LINES,
  [44] = AT_LINE,
  [45] = AT_ARGUMENTS,
  [48] = AT_BYTES,
  [51] = AT_TYPE,
  [63] = 24, /* PySetObject: used, table, mask */
  [64] = 40,
  [65] = 32,
  [75] = 16, /* PyBytesObject */
  [76] = 32,
  [78] = 32, /* PyASCIIObject: state, length, size */
  [79] = 16,
  [80] = 40,
  [85] = AT_ITS_FRAME,
  [86] = AT_STATE,
};

__attribute__ ((section (".AsyncioDebug")))
uint64_t _AsyncioDebug[13] = { 64, 0, AT_AWAITED_BY, AT_IS_TASK, AT_IS_SET, AT_COROUTINE, 0, 0, 0,
                               0,  0, AT_TASK,       0 };

/* Objects of 8 words each; two coroutines for each task, and what they have on their stacks. */
static uint64_t interp[8], thread[8], shim[8], tasks[N_TASKS][8], coroutines[2 * N_TASKS][8];
static uint64_t stacks[2 * N_TASKS], codes[N_CODES][16], sets[N_TASKS][8], table[16];
static uint64_t name[2048], path[64];

static void
set_text (uint64_t *text, uint64_t size, const char *data)
{
  text[2] = size;
  text[4] = (1 | 1 << 3 | 1 << 4) << 16;
  strcpy ((char *) &text[5], data);
}

static void
make_coroutine (int i)
{
  uint64_t *frame = &coroutines[i][AT_ITS_FRAME / 8];

  coroutines[i][AT_TYPE / 8] = address_of (PyCoro_Type);
  coroutines[i][AT_STATE / 8] = 0xff;
  frame[AT_CODE / 8] = address_of (codes[i % N_CODES]);
  frame[AT_PREVIOUS / 8] = 0;
  frame[AT_INSTR / 8] = address_of (codes[i % N_CODES]) + AT_BYTES + 2;
  frame[AT_STACK / 8] = address_of (&stacks[i]) + 8;
  frame[AT_OWNER / 8] = 1;
  stacks[i] = i % 2 == 0 ? address_of (coroutines[i + 1]) : address_of (table);
}

/* Makes what a real interpreter might have: tasks of which each awaits the one before. */
static void
make_chain (void)
{
  set_text (name, 9, "not_yours");
  set_text (path, 15, "/srv/other/a.py");
  for (int i = 0; i < N_CODES; i++)
    {
      codes[i][AT_FILENAME / 8] = address_of (path);
      codes[i][AT_QUALNAME / 8] = address_of (name);
      codes[i][AT_LINE / 8] = (uint64_t) i + 1;
    }
  for (int i = 0; i < 2 * N_TASKS; i++)
    make_coroutine (i);
  for (int i = 0; i < N_TASKS; i++)
    {
      tasks[i][AT_AWAITED_BY / 8] = i + 1 < N_TASKS ? address_of (tasks[i + 1]) : 0;
      tasks[i][AT_IS_TASK / 8] = 1;
      tasks[i][AT_COROUTINE / 8] = address_of (coroutines[2 * i]);
    }
  table[AT_TYPE / 8] = address_of (name); /* of no type that is known */
  shim[AT_OWNER / 8] = 3;
  coroutines[0][(AT_ITS_FRAME + AT_PREVIOUS) / 8] = address_of (shim);
  _PyRuntime[125] = address_of (interp);
  interp[AT_FRAME / 8] = address_of (thread);
  thread[AT_ID / 8] = own_thread ();
  thread[AT_FRAME / 8] = address_of (coroutines[0]) + AT_ITS_FRAME;
  thread[AT_TASK / 8] = address_of (tasks[0]);
}

static void
point_at (uint64_t place)
{
  tasks[0][AT_AWAITED_BY / 8] = place;
  tasks[0][AT_IS_TASK / 8] = 1 | (uint64_t) (rand () % 2) << 8;
}

static void
make_lies (void)
{
  strcpy ((char *) &name[5], UGLY_NAME);
  name[2] = wrong_size ();
  for (int i = 0; i < N_CODES; i++)
    codes[i][AT_LINE / 8] = (uint64_t) rand ();
  for (int i = 0; i < N_TASKS; i++)
    {
      sets[i][3] = rand () % 2 != 0 ? 1 : wrong_size ();
      sets[i][4] = rand () % 2 != 0 ? 7 : wrong_size ();
      sets[i][5] = address_of (table);
      tasks[i][AT_AWAITED_BY / 8] =
          address_of (rand () % 2 != 0 ? sets[i] : tasks[(i + 1) % N_TASKS]);
      tasks[i][AT_IS_TASK / 8] = (uint64_t) (rand () % 2) | (uint64_t) (rand () % 2) << 8;
      table[2 * (i % 8)] = address_of (tasks[(i + 7) % N_TASKS]);
      coroutines[i][AT_STATE / 8] = (uint64_t) rand ();
    }
}

/* Tasks that await each other, and coroutines that await themselves. */
static void
make_cycle (void)
{
  int i = rand () % N_TASKS;

  tasks[i][AT_AWAITED_BY / 8] = address_of (tasks[rand () % N_TASKS]);
  stacks[i] = address_of (coroutines[rand () % (2 * N_TASKS)]);
  coroutines[i][(AT_ITS_FRAME + AT_PREVIOUS) / 8] =
      address_of (coroutines[rand () % N_TASKS]) + AT_ITS_FRAME;
}

static void
make_flood (void)
{
  for (int i = 0; i < N_CODES; i++)
    codes[i][AT_LINE / 8] += N_CODES;
}

PRETEND (_PyEval_EvalFrameDefault)
