/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* not-ruby.c KIND SECONDS - a program that claims to be Ruby 2.7; see pretend.h. */

#include "pretend.h"

#include <stdlib.h>
#include <string.h>

#define N_FRAMES 2048
#define MAX_TEXT 17000

/* Where Ruby 2.7 has its fields: words. */
enum
{
  EC_STACK = 0 / 8,
  EC_WORDS = 8 / 8,
  EC_FRAME = 16 / 8,
  EC_THREAD = 56 / 8,
  THREAD_ID = 72 / 8,
  FRAME_WORDS = 56 / 8,
  FRAME_PC = 0 / 8,
  FRAME_ISEQ = 16 / 8,
  FRAME_EP = 32 / 8,
  ISEQ_BODY = 16 / 8,
  BODY_PATH = 64 / 8,
  BODY_LABEL = 80 / 8,
  BODY_LINE = 88 / 8,
  STRING_SIZE = 16 / 8,
  STRING_TEXT = 24 / 8
};

#define STRING      5ull
#define IS_OUTSIDE  (1ull << 13)
#define ENV_FINISH  0x20ull
#define ENV_METHOD  0x11110001ull
#define LINE(value) (2 * (uint64_t) (value) + 1)

const char ruby_version[] = "2.7.4";
void *ruby_current_execution_context_ptr;

static uint64_t context[16], thread[32], stack[N_FRAMES * FRAME_WORDS];
static uint64_t iseqs[N_FRAMES][4], bodies[N_FRAMES][16], env, last_env;
static uint64_t label[4], path[4];
static char label_text[MAX_TEXT], path_text[] = "/srv/other/a.rb";

static void
set_string (uint64_t *string, uint64_t size, const char *text)
{
  string[0] = STRING | IS_OUTSIDE;
  string[STRING_SIZE] = size;
  string[STRING_TEXT] = address_of (text);
}

static void
make_chain (void)
{
  strcpy (label_text, "not_yours");
  set_string (label, 9, label_text);
  set_string (path, sizeof path_text - 1, path_text);
  env = ENV_METHOD;
  last_env = ENV_METHOD | ENV_FINISH;
  for (int i = 0; i < N_FRAMES; i++)
    {
      uint64_t *frame = &stack[i * FRAME_WORDS];

      bodies[i][BODY_PATH] = address_of (path);
      bodies[i][BODY_LABEL] = address_of (label);
      bodies[i][BODY_LINE] = LINE (i + 1);
      iseqs[i][ISEQ_BODY] = address_of (bodies[i]);
      frame[FRAME_PC] = address_of (frame);
      frame[FRAME_ISEQ] = address_of (iseqs[i]);
      frame[FRAME_EP] = address_of (i + 1 < N_FRAMES ? &env : &last_env);
    }
  context[EC_STACK] = address_of (stack);
  context[EC_WORDS] = N_FRAMES * FRAME_WORDS;
  context[EC_FRAME] = address_of (stack);
  context[EC_THREAD] = address_of (thread);
  thread[THREAD_ID] = own_thread ();
  ruby_current_execution_context_ptr = context;
}

static void
point_at (uint64_t place)
{
  context[EC_STACK] = place & ~0xfffull;
  context[EC_WORDS] = UINT64_MAX >> 8;
  context[EC_FRAME] = place;
}

static void
make_lies (void)
{
  strcpy (label_text, UGLY_NAME);
  label[STRING_SIZE] = wrong_size ();
  path[STRING_SIZE] = wrong_size ();
  for (int i = 0; i < N_FRAMES; i++)
    bodies[i][BODY_LINE] = LINE (rand ());
}

static void
make_cycle (void)
{
  uint64_t *frame = &stack[rand () % N_FRAMES * FRAME_WORDS];

  frame[FRAME_ISEQ] = address_of (frame);
  frame[FRAME_EP] = address_of (&frame[FRAME_EP]);
  iseqs[rand () % N_FRAMES][ISEQ_BODY] = address_of (iseqs[rand () % N_FRAMES]);
  context[EC_FRAME] = address_of (&stack[rand () % N_FRAMES * FRAME_WORDS]);
  context[EC_WORDS] = rand () % 2 != 0 ? N_FRAMES * FRAME_WORDS : UINT64_MAX;
  thread[THREAD_ID] = rand () % 4 != 0 ? own_thread () : 1;
}

static void
make_flood (void)
{
  for (int i = 0; i < N_FRAMES; i++)
    bodies[i][BODY_LINE] += LINE (N_FRAMES) - 1;
}

PRETEND (rb_vm_exec)
