/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-chains.c - reads chains of functions out of made-up memory with the C of the BPF program:
 * each way to find a frame and its entry, memory that is missing, and memory of a hostile process.
 */

#include "walk-arch.h" /* before lu/step.h */

#include "made-up-memory.h"

/* Tests */

static void
test_frames_of_their_own (void)
{
  guint64 outer, leaf;

  begin_with (&old, 0x030800);
  outer = add_code ("<module>", 1);
  leaf = add_code ("leaf", 7);
  run (add_frame (leaf, add_frame (outer, 0, 0), 0));
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.flags, ==, 0);
  g_assert_cmpuint (chain.chain.n_frames, ==, 2);
  check_frame (0, leaf, TRUE);
  check_frame (1, outer, TRUE);
  g_assert_cmpuint (chain.chain.frames[0].instr, ==, 20);
  g_assert_cmpuint (n_functions, ==, 2);
  g_assert_cmpmem (function.bytes + sizeof function.function, function.function.name.size,
                   "<module>", 8);
  g_assert_cmpmem (function.bytes + sizeof function.function + LU_INTERP_MAX_NAME,
                   function.function.path.size, "/srv/app/main.py", 16);
  g_assert_cmpuint (function.function.first_line, ==, 1);
  g_assert_cmphex (function.function.code, ==, outer);
  g_assert_cmphex (function.function.check, ==, chain.chain.frames[1].check);
  g_assert_cmphex (chain.chain.frames[0].check, !=, chain.chain.frames[1].check);
  read_chain ();
  g_assert_cmpuint (n_functions, ==, 0);
  g_assert_cmpuint (n_chains, ==, 1);
}

static void
test_units (void)
{
  const guint32 before = G_MAXUINT32;
  guint64 frame;

  begin_with (&old, 0x030a00);
  frame = add_frame (add_code ("f", 1), 0, 0);
  run (frame);
  read_chain ();
  g_assert_cmpuint (chain.chain.frames[0].instr, ==, 40);
  put (frame, layout.frame_instr, &before, sizeof before); /* has not begun */
  read_chain ();
  g_assert_cmpuint (chain.chain.frames[0].instr, ==, G_MAXUINT32);
}

static void
test_entry_flag (void)
{
  guint64 a, b;

  begin_with (&with_flag, 0x030b00);
  a = add_code ("a", 1);
  b = add_code ("b", 2);
  run (add_frame (b, add_frame (b, add_frame (a, 0, 1), 1), 0));
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.n_frames, ==, 3);
  check_frame (0, b, FALSE);
  check_frame (1, b, TRUE);
  check_frame (2, a, TRUE);
  g_assert_cmpuint (n_functions, ==, 2);
}

static void
test_frames_between (void)
{
  guint64 a, b, frame;

  begin_with (&with_owner, 0x030e00);
  a = add_code ("a", 1);
  b = add_code ("b", 2);
  frame = add_frame (a | 1, add_frame (0, 0, 3), 0);
  frame = add_frame (b | 3, add_frame (b, add_frame (0, frame, 3), 1), 0);
  run (frame);
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.flags, ==, 0);
  g_assert_cmpuint (chain.chain.n_frames, ==, 3);
  check_frame (0, b, FALSE);
  check_frame (1, b, TRUE);
  check_frame (2, a, TRUE);
  g_assert_cmpuint (chain.chain.frames[1].instr, ==, 20);
  /* The innermost call has cleared its function. */
  run (add_frame (0, frame, 3));
  read_chain ();
  g_assert_cmpuint (chain.chain.flags, ==, LU_INTERP_CHAIN_NO_LEAF);
  g_assert_cmpuint (chain.chain.n_frames, ==, 3);
}

static void
test_threads (void)
{
  guint64 a, first, last;

  begin_with (&with_owner, 0x030d00);
  a = add_code ("a", 1);
  last = add_thread (THREAD, add_frame (a, 0, 0), 0);
  first = add_thread (THREAD + 1, 0, add_thread (THREAD + 2, 0, 0));
  set_interpreter (add_interpreter (first, add_interpreter (last, 0)));
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.flags, ==, LU_INTERP_CHAIN_SEVERAL);
  check_frame (0, a, FALSE);
  set_interpreter (add_interpreter (first, 0));
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS_NO_THREAD);
  set_interpreter (0);
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS_NO_THREAD);
  run (0);
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS_EMPTY);
}

/* The code object stays where it is, and gets another name of the same length in the same place. */
static void
test_other_name (void)
{
  guint64 code, text;
  guint32 check;

  begin_with (&with_flag, 0x030b00);
  code = add_code ("handler_1", 1);
  run (add_frame (code, 0, 1));
  read_chain ();
  check = chain.chain.frames[0].check;
  memcpy (&text, arena + (code - ARENA_AT) + layout.code_name, sizeof text);
  put (text, layout.text_ascii, "handler_2", 9);
  read_chain ();
  g_assert_cmphex (chain.chain.frames[0].check, !=, check);
  g_assert_cmpuint (n_functions, ==, 1);
  g_assert_cmpmem (function.bytes + sizeof function.function, function.function.name.size,
                   "handler_2", 9);
  /* The text ends before these bytes. */
  check = chain.chain.frames[0].check;
  put (text, layout.text_ascii + 9, "x", 1);
  read_chain ();
  g_assert_cmphex (chain.chain.frames[0].check, ==, check);
  g_assert_cmpuint (n_functions, ==, 0);
}

static void
test_texts (void)
{
  static const struct
  {
    guint kind, shift, length;
  } cases[] = { { 1, 2, 5 },   { 2, 2, 5 },   { 4, 2, 5 },   { 1, 8, 5 },   { 1, 16, 5 },
                { 1, 2, 255 }, { 1, 2, 256 }, { 4, 8, 100 }, { 1, 2, 5000 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strnfill (cases[i].length, 'n');
      guint64 code;
      guint bytes = cases[i].length * cases[i].kind;

      begin_with (&with_owner, 0x030d00);
      code = add_code ("f", 1);
      put_word (code, layout.code_name, add_text (text, cases[i].kind, cases[i].shift));
      run (add_frame (code, 0, 0));
      read_chain ();
      g_assert_cmpuint (n_functions, ==, 1);
      g_assert_cmpuint (function.function.name.kind, ==, cases[i].kind);
      g_assert_cmpint (function.function.name.is_cut, ==, bytes >= LU_INTERP_MAX_NAME);
      g_assert_cmpuint (function.function.name.size, ==,
                        MIN (bytes, LU_INTERP_MAX_NAME - cases[i].kind));
      g_assert_cmpint (function.bytes[sizeof function.function], ==, 'n');
    }
}

/* The table of lines follows the path; a long one is cut. */
static void
test_lines (void)
{
  static const guint32 sizes[] = { 0, 6, LU_INTERP_MAX_LINES - 1, LU_INTERP_MAX_LINES,
                                   G_MAXUINT32 };
  struct lu_python_layout with_lines = with_owner;

  with_lines.code_lines = LINES_AT;
  with_lines.bytes_size = 16;
  with_lines.bytes_data = 32;
  with_lines.lines = LU_PYTHON_LINES_LOCATIONS;
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      guint size = MIN (sizes[i], LU_INTERP_MAX_LINES - 1);
      guint64 code, table;

      begin_with (&with_lines, 0x030d00);
      code = add_code ("f", 1);
      table = take (32 + LU_INTERP_MAX_LINES);
      put_word (table, 16, sizes[i]);
      put (table, 32, "\x80\x01\x02\x03\x04\x05", 6);
      put_word (code, LINES_AT, table);
      run (add_frame (code, 0, 0));
      read_chain ();
      g_assert_cmpuint (n_functions, ==, 1);
      g_assert_cmpuint (function.function.lines.size, ==, size);
      g_assert_cmpuint (function.function.lines.format, ==, LU_PYTHON_LINES_LOCATIONS);
      g_assert_cmpint (function.function.lines.is_cut, ==, size != sizes[i]);
      g_assert_cmpmem (function.bytes + sizeof function.function + LU_INTERP_MAX_NAME + 16,
                       MIN (size, 6), "\x80\x01\x02\x03\x04\x05", MIN (size, 6));
      put_word (code, LINES_AT, 0x1234); /* another function */
      read_chain ();
      g_assert_cmpuint (n_functions, ==, 1);
      g_assert_cmpuint (function.function.lines.size, ==, 0);
      g_assert_cmpint (function.function.lines.is_cut, ==, TRUE);
    }
}

/* A chain announces no more functions than fit into its budget; the next ones announce the rest. */
static void
test_many_functions (void)
{
  guint64 frame = 0;
  guint n_first, n_all;

  begin_with (&with_flag, 0x030b00);
  for (guint i = 0; i < 1000; i++)
    {
      guint64 code = add_code ("f", i + 1);

      frame = add_frame (code, frame, 0);
    }
  run (frame);
  read_chain ();
  n_first = n_all = n_functions;
  g_assert_cmpuint (chain.chain.n_frames, ==, 1000);
  g_assert_cmpuint (n_first, <=,
                    MAX_ANNOUNCED / (sizeof function.function + LU_INTERP_MAX_NAME) + 1);
  for (guint i = 0; i < 10 && n_functions > 0; i++)
    {
      read_chain ();
      n_all += n_functions;
    }
  g_assert_cmpuint (n_all, >=, 1000); /* two may share a place, and are announced again */
}

/* Without the GIL, each thread may run its own copy of the instructions. */
static void
test_copies (void)
{
  struct lu_python_layout with_copies = with_owner;
  guint64 code, copies, frame;

  with_copies.frame_copy = 80;
  with_copies.code_copies = LINES_AT;
  begin_with (&with_copies, 0x030e00);
  code = add_code ("f", 1);
  frame = add_frame (code, 0, 0);
  copies = take (64);
  put_word (code, LINES_AT, copies);
  put_word (copies, 16, ARENA_AT + 0x5000);
  run (frame);
  read_chain ();
  g_assert_cmpuint (chain.chain.frames[0].instr, ==, 20);
  put (frame, 80, &(guint32){ 1 }, sizeof (guint32));
  put_word (frame, layout.frame_instr, ARENA_AT + 0x5000 + 40);
  read_chain ();
  g_assert_cmpuint (chain.chain.frames[0].instr, ==, 40);
  put (frame, 80, &(guint32){ 1000000 }, sizeof (guint32));
  read_chain ();
  g_assert_cmpuint (chain.chain.frames[0].instr, ==, G_MAXUINT32);
}

/* A text at the end of the memory that is there, and one that goes on beyond it. */
static void
test_end_of_memory (void)
{
  guint64 code, text;

  begin_with (&with_flag, 0x030b00);
  code = add_code ("f", 1);
  run (add_frame (code, 0, 1));
  gap = ARENA_AT + 0x80000;
  text = gap - 64;
  put_word (text, layout.text_length, 16);
  put (text, layout.text_state, &(guint32){ (1 | TEXT_COMPACT | TEXT_ASCII) << 2 }, 4);
  put (text, layout.text_ascii, "sixteen letters!", 16);
  put_word (code, layout.code_name, text);
  read_chain ();
  g_assert_cmpmem (function.bytes + sizeof function.function, function.function.name.size,
                   "sixteen letters!", 16);
  put_word (text, layout.text_length, 17);
  read_chain ();
  g_assert_cmpuint (n_functions, ==, 1);
  g_assert_cmpuint (function.function.name.kind, ==, 0);
  g_assert_cmpuint (function.function.path.size, ==, 16);
}

static void
test_unreadable (void)
{
  guint64 a, frame;

  begin_with (&with_flag, 0x030b00);
  a = add_code ("a", 1);
  frame = add_frame (a, 0x1234, 0);
  run (add_frame (0x5678, frame, 0));
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.flags, ==, LU_INTERP_CHAIN_BROKEN);
  g_assert_cmpuint (chain.chain.n_frames, ==, 2);
  g_assert_cmphex (chain.chain.frames[0].code, ==, 0x5678 | LU_INTERP_UNREADABLE);
  check_frame (1, a, FALSE);
  g_assert_cmpuint (n_functions, ==, 1);
  run (0x1234);
  read_chain ();
  g_assert_cmpuint (chain.chain.flags, ==, LU_INTERP_CHAIN_BROKEN);
  g_assert_cmpuint (chain.chain.n_frames, ==, 0);
}

static void
test_cycles (void)
{
  guint64 frame, thread;

  begin_with (&with_flag, 0x030b00);
  frame = add_frame (add_code ("a", 1), 0, 0);
  put_word (frame, layout.frame_previous, frame);
  run (frame);
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.flags, ==, LU_INTERP_CHAIN_CUT);
  g_assert_cmpuint (chain.chain.n_frames, ==, LU_INTERP_MAX_FRAMES);
  thread = add_thread (THREAD + 1, 0, 0);
  put_word (thread, layout.thread_next, thread);
  set_interpreter (add_interpreter (thread, 0));
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS_NO_THREAD);
  begin_with (&with_owner, 0x030d00);
  frame = add_frame (0, 0, 3);
  put_word (frame, layout.frame_previous, frame);
  run (frame);
  read_chain ();
  g_assert_cmpuint (chain.chain.flags, ==, LU_INTERP_CHAIN_CUT | LU_INTERP_CHAIN_NO_LEAF);
}

/* Memory of random words that are mostly pointers into it. */
static void
test_wild_memory (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  const struct lu_python_layout *const layouts[] = { &old, &with_flag, &with_owner };
  guint n = 0;

  for (guint i = 0; i < 600; i++)
    {
      begin_with (layouts[i % G_N_ELEMENTS (layouts)], 0x030b00);
      for (guint at = 0; at < 8192; at += 8)
        {
          guint64 word = ARENA_AT + 8 * g_rand_int_range (rand, 0, 1024);

          if (g_rand_int_range (rand, 0, 8) == 0)
            word = (guint64) g_rand_int (rand) << 32 | g_rand_int (rand);
          else if (g_rand_int_range (rand, 0, 8) == 0)
            word = THREAD;
          put_word (ARENA_AT, at, word);
        }
      gap = i % 2 == 0 ? ARENA_AT + PAGE_BYTES : 0;
      read_chain ();
      n += chain.chain.n_frames;
    }
  g_assert_cmpuint (n, >, 0);
}

/* Ruby */

/* is_outside: a string whose text is not in its object. */
static guint64
add_string (const char *text, gboolean is_outside)
{
  const struct lu_ruby_layout *ruby = &user_host.shared.interps[0].file.ruby;
  gsize size = strlen (text);
  guint64 object = take (STRING_BYTES + size), at = object + STRING_POINTER;
  guint64 flags = TYPE_STRING;

  if (is_outside)
    {
      at = take (size);
      flags |= STRING_IS_OUTSIDE;
      put_word (object, STRING_POINTER, at);
    }
  put_word (object, STRING_LENGTH, size);
  if (ruby->has_short_strings && !is_outside)
    {
      flags |= size << SHORT_LENGTH_SHIFT;
      at = object + STRING_LENGTH;
    }
  put_word (object, 0, flags);
  put (at, 0, text, size);
  return object;
}

static guint64
add_iseq (const char *label, gboolean is_outside, guint32 line)
{
  guint64 iseq = take (64), body = take (BODY_BYTES), path = take (64);

  put_word (iseq, ISEQ_BODY, body);
  put_word (path, 0, TYPE_ARRAY | ARRAY_IS_INSIDE);
  put_word (path, ARRAY_FIRST, add_string ("/srv/app.rb", is_outside));
  put_word (body, BODY_PATH, path);
  put_word (body, BODY_LABEL, add_string (label, is_outside));
  put (body, BODY_LINE, &line, sizeof line);
  return iseq;
}

/* Makes a stack of control frames: two functions, one in C between them, and the dummy; the leaf's
 * iseq first. Returns its execution context. */
static guint64
add_context (const guint64 iseqs[2], guint frame_size)
{
  static const guint64 types[] = { 0x22220000 | ENV_FINISH, 0x55550001 | ENV_C_FRAME,
                                   0x11110001 | ENV_FINISH, ENV_TYPE_DUMMY };
  const guint64 codes[] = { iseqs[0], iseqs[0], iseqs[1], iseqs[1] };
  guint64 context = take (64), stack = take (512);
  guint64 frame = stack + 512 - G_N_ELEMENTS (types) * frame_size;

  put_word (context, EC_STACK, stack);
  put_word (context, EC_STACK_WORDS, 64);
  put_word (context, EC_FRAME, frame);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++, frame += frame_size)
    {
      guint64 environment = take (8);

      put_word (environment, 0, types[i]);
      put_word (frame, FRAME_PC, 1);
      put_word (frame, FRAME_ISEQ, codes[i]);
      put_word (frame, FRAME_EP, environment);
    }
  return context;
}

static void
check_ruby (const guint64 iseqs[2], guint32 first_line)
{
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  g_assert_cmpuint (chain.chain.language, ==, LU_INTERP_RUBY);
  g_assert_cmpuint (chain.chain.flags, ==, 0);
  g_assert_cmpuint (chain.chain.n_frames, ==, 2);
  check_frame (0, iseqs[0], TRUE);
  check_frame (1, iseqs[1], TRUE);
  g_assert_cmpuint (n_functions, ==, 2);
  g_assert_cmphex (function.function.code, ==, iseqs[1]);
  g_assert_cmphex (function.function.check, ==, chain.chain.frames[1].check);
  g_assert_cmpuint (function.function.first_line, ==, first_line);
  g_assert_cmpuint (function.function.name.kind, ==, LU_INTERP_UTF8);
  g_assert_cmpmem (function.bytes + sizeof function.function, function.function.name.size, "work",
                   4);
  g_assert_cmpmem (function.bytes + sizeof function.function + LU_INTERP_MAX_NAME,
                   function.function.path.size, "/srv/app.rb", 11);
  read_chain ();
  g_assert_cmpuint (n_functions, ==, 0);
}

/* 2.7 has one variable for the thread that runs. */
static void
test_ruby_variable (void)
{
  const struct lu_interp_file file = { .language = LU_INTERP_RUBY,
                                       .version = 0x020704,
                                       .runtime = RUNTIME,
                                       .ruby = { .context = LU_RUBY_CONTEXT_VARIABLE,
                                                 .context_thread = 56,
                                                 .thread_id = 72,
                                                 .frame_size = 56,
                                                 .has_short_strings = TRUE,
                                                 .has_tagged_first_line = TRUE } };
  guint64 iseqs[2], context, thread;

  begin_file (&file);
  iseqs[0] = add_iseq ("block in work", FALSE, 15);
  iseqs[1] = add_iseq ("work", FALSE, 15);
  context = add_context (iseqs, 56);
  thread = take (128);
  put_word (runtime, 0, context);
  put_word (context, 56, thread);
  put_word (thread, 72, THREAD);
  check_ruby (iseqs, 7);
  put_word (thread, 72, THREAD + 64); /* another one runs */
  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS_NO_THREAD);
}

/* Later ones have a thread-local one: of a library or of the executable. */
static void
test_ruby_thread_local (void)
{
  struct lu_interp_file file = {
    .language = LU_INTERP_RUBY,
    .version = 0x030308,
    .runtime = RUNTIME,
    .ruby = { .context = LU_RUBY_CONTEXT_MODULE, .context_at = 16, .frame_size = 64 }
  };
  guint64 iseqs[2], blocks, block;

  for (guint i = 0; i < 2; i++)
    {
      file.ruby.context = i == 0 ? LU_RUBY_CONTEXT_MODULE : LU_RUBY_CONTEXT_THREAD;
      begin_file (&file);
      iseqs[0] = add_iseq ("block in work", TRUE, 15);
      iseqs[1] = add_iseq ("work", TRUE, 15);
      blocks = take (64);
      block = take (64);
      user_host.thread_pointer = take (64);
      put_word (user_host.thread_pointer, DTV_AT, blocks);
      put_word (blocks, 3 * DTV_ENTRY_SIZE, block);
      put_word (runtime, 0, 3);
      put_word (runtime, 8, 8);
      put_word (i == 0 ? block : user_host.thread_pointer, i == 0 ? 24 : 16,
                add_context (iseqs, 64));
      check_ruby (iseqs, 15);
    }
}

static void
test_ruby_wild (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  const struct lu_interp_file file = { .language = LU_INTERP_RUBY,
                                       .version = 0x030308,
                                       .runtime = RUNTIME,
                                       .ruby = { .context = LU_RUBY_CONTEXT_THREAD,
                                                 .frame_size = 56 } };

  for (guint i = 0; i < 300; i++)
    {
      begin_file (&file);
      user_host.thread_pointer = ARENA_AT;
      for (guint at = 0; at < 8192; at += 8)
        put_word (ARENA_AT, at, ARENA_AT + 8 * g_rand_int_range (rand, 0, 1024));
      for (guint at = 0; at < 8192; at += 256)
        put_word (ARENA_AT, at, (guint64) g_rand_int (rand) << 32 | g_rand_int (rand));
      put_word (ARENA_AT, 0, ARENA_AT + 512);
      put_word (ARENA_AT, 512 + EC_STACK, ARENA_AT);
      put_word (ARENA_AT, 512 + EC_STACK_WORDS, i % 2 == 0 ? 1024 : G_MAXUINT64 / 8);
      put_word (ARENA_AT, 512 + EC_FRAME, ARENA_AT + 1024);
      gap = i % 3 == 0 ? ARENA_AT + PAGE_BYTES : 0;
      read_chain ();
    }
}

static void
test_layouts_that_do_not_fit (void)
{
  struct lu_interp_file file = { .language = LU_INTERP_PYTHON, .python = with_flag };
  LuBpfBacking backing = { .shared = &user_host.shared };
  LuBpfInterps interps = { .backing = &backing };

  for (guint i = 0; i < LU_INTERP_MAX_FILES; i++)
    g_assert_cmpuint (lu_bpf_interps_add (&interps, &file), ==, i + 1);
  g_assert_cmpuint (lu_bpf_interps_add (&interps, &file), ==, 0);
  lu_bpf_interps_remove (&interps, 7);
  file.python.code_name = 250;
  g_assert_cmpuint (lu_bpf_interps_add (&interps, &file), ==, 0);
  file.python.code_name = 8;
  file.python.text_ascii = 80;
  g_assert_cmpuint (lu_bpf_interps_add (&interps, &file), ==, 0);
  file.python.text_ascii = 48;
  g_assert_cmpuint (lu_bpf_interps_add (&interps, &file), ==, 7);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/chains/frames-of-their-own", test_frames_of_their_own);
  g_test_add_func ("/chains/units", test_units);
  g_test_add_func ("/chains/entry-flag", test_entry_flag);
  g_test_add_func ("/chains/frames-between", test_frames_between);
  g_test_add_func ("/chains/threads", test_threads);
  g_test_add_func ("/chains/other-name", test_other_name);
  g_test_add_func ("/chains/texts", test_texts);
  g_test_add_func ("/chains/lines", test_lines);
  g_test_add_func ("/chains/copies", test_copies);
  g_test_add_func ("/chains/many-functions", test_many_functions);
  g_test_add_func ("/chains/end-of-memory", test_end_of_memory);
  g_test_add_func ("/chains/unreadable", test_unreadable);
  g_test_add_func ("/chains/cycles", test_cycles);
  g_test_add_func ("/chains/wild-memory", test_wild_memory);
  g_test_add_func ("/chains/ruby-variable", test_ruby_variable);
  g_test_add_func ("/chains/ruby-thread-local", test_ruby_thread_local);
  g_test_add_func ("/chains/ruby-wild", test_ruby_wild);
  g_test_add_func ("/chains/layouts-that-do-not-fit", test_layouts_that_do_not_fit);
  return g_test_run ();
}
