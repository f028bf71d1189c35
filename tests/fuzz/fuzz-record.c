/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-record.c - the record decoder: it never reads outside the record, and everything it returns
 * is inside.
 *
 * Input: u64 sample_type, u64 read_format, u64 branch_sample_type, u64 regs_user, u64 regs_intr,
 * u64 flags (bit 0: sample_id_all, bit 1: leave the size in the record's header as it is, bit 2:
 * samples are those of the BPF program), then the record. */

#include "fuzz.h"
#include "input/record.h"
#include "lu/bpf.h"

#include <string.h>

enum
{
  LAYOUT_WORDS = 6,
  RECORD_MAX = 65535,
};

static void
assert_inside (gconstpointer bytes, gsize size, gconstpointer at, gsize length)
{
  gsize offset = (gsize) ((const guint8 *) at - (const guint8 *) bytes);

  g_assert_cmpuint (offset, <=, size);
  g_assert_cmpuint (length, <=, size - offset);
  g_assert_cmpuint (offset % 8, ==, 0);
}

static void
check_sample (gconstpointer bytes, gsize size, const LuSample *sample)
{
  if (sample->n_callchain > 0)
    assert_inside (bytes, size, sample->callchain, sample->n_callchain * 8ull);
  g_assert_cmpuint (sample->regs.abi, <=, LU_ABI_64);
  if (sample->regs.n_words > 0)
    assert_inside (bytes, size, sample->regs.words, sample->regs.n_words * 8ull);
  g_assert_cmpuint (sample->stack_size, <=, sample->stack_asked);
  if (sample->stack_asked > 0)
    assert_inside (bytes, size, sample->stack, sample->stack_asked);
}

static void
check_bpf_unwound (gconstpointer bytes, gsize size, const LuBpfUnwoundStack *bpf_unwound)
{
  gsize offset = (gsize) (bpf_unwound->pcs - (const guint8 *) bytes);

  g_assert_cmpuint (offset, <=, size);
  g_assert_cmpuint (((gsize) bpf_unwound->n_kernel + bpf_unwound->n_user) * 8, <=, size - offset);
  g_assert_cmpuint (bpf_unwound->n_kernel, <=, LU_BPF_MAX_KERNEL);
  g_assert_cmpuint (bpf_unwound->n_user, <=, LU_BPF_MAX_FRAMES);
  g_assert_cmpint (bpf_unwound->status, <, LU_N_STATUS);
}

static void
check_arguments (gconstpointer bytes, gsize size, const LuEvent *event)
{
  gsize offset = (gsize) ((const guint8 *) event->arguments.text - (const guint8 *) bytes);

  g_assert_cmpuint (offset, <, size);
  g_assert_cmpuint (event->arguments.size, <=, MIN (size - offset, LU_BPF_MAX_ARGUMENTS));
}

static void
check_inside (gconstpointer bytes, gsize size, gconstpointer part, gsize part_size)
{
  gsize offset = (gsize) ((const guint8 *) part - (const guint8 *) bytes);

  g_assert_cmpuint (offset, <=, size);
  g_assert_cmpuint (part_size, <=, size - offset);
}

static void
check_string (gconstpointer bytes, gsize size, const char *string)
{
  gsize offset = (gsize) ((const guint8 *) string - (const guint8 *) bytes);

  g_assert_cmpuint (offset, <, size);
  g_assert_nonnull (memchr (string, 0, size - offset));
}

static void
check_event (gconstpointer bytes, gsize size, const LuEvent *event)
{
  if (event->kind == LU_EVENT_SAMPLE)
    check_sample (bytes, size, &event->sample);
  else if (event->kind == LU_EVENT_BPF_UNWOUND)
    check_bpf_unwound (bytes, size, &event->bpf_unwound);
  else if (event->kind == LU_EVENT_ARGUMENTS)
    check_arguments (bytes, size, event);
  else if (event->kind == LU_EVENT_INTERP_CHAIN)
    check_inside (bytes, size, event->interp_chain.frames,
                  event->interp_chain.n_frames * sizeof (struct lu_interp_frame));
  else if (event->kind == LU_EVENT_INTERP_FUNCTION)
    {
      check_inside (bytes, size, event->interp_function.name_text,
                    event->interp_function.name.size);
      check_inside (bytes, size, event->interp_function.path_text,
                    event->interp_function.path.size);
      check_inside (bytes, size, event->interp_function.lines_bytes,
                    event->interp_function.lines.size);
      g_assert_cmpuint (event->interp_function.name.size, <=, LU_INTERP_MAX_NAME);
      g_assert_cmpuint (event->interp_function.path.size, <=, LU_INTERP_MAX_PATH);
    }
  else if (event->kind == LU_EVENT_COMM)
    check_string (bytes, size, event->comm.name);
  else if (event->kind == LU_EVENT_MMAP)
    {
      check_string (bytes, size, event->mmap.path);
      g_assert_cmpuint (event->mmap.length, <=, G_MAXUINT64 - event->mmap.start);
      g_assert_cmpuint (event->mmap.build_id_size, <=, LU_BUILD_ID_MAX);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  guint64 words[LAYOUT_WORDS];
  g_autofree guint8 *record = NULL;
  LuRecordLayout layout;
  LuEvent event;
  guint64 id;

  if (size < sizeof words || size > sizeof words + RECORD_MAX)
    return 0;
  memcpy (words, data, sizeof words);
  layout = (LuRecordLayout){ .sample_type = words[0],
                             .read_format = words[1],
                             .branch_sample_type = words[2],
                             .regs_user = words[3],
                             .regs_intr = words[4],
                             .sample_id_all = words[5] & 1,
                             .is_output = (words[5] & 4) != 0 };
  size -= sizeof words;
  record = size > 0 ? g_memdup2 (data + sizeof words, size)
                    : g_malloc (1); /* of its exact size, for the sanitizers */
  if (size >= 8 && !(words[5] & 2))
    memcpy (record + 6, &(guint16){ (guint16) size }, 2);
  if (lu_record_decode (&layout, record, size, &event))
    check_event (record, size, &event);
  lu_record_event_id (&layout, record, size, &id);
  return 0;
}
