/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-redact.c - any capture, redacted and written again: the result can be read, says that it is
 * redacted, and contains no kernel address except those assigned to functions. */

#include "fuzz.h"
#include "lu/status.h"
#include "profile/redact.h"
#include "capture/syscap-writer.h"
#include "capture/syscap-kernel.h"

#include <sys/mman.h>
#include <unistd.h>

enum
{
  FILE_MAX = 1 << 20,
};

static LuSyscapReader *
open_bytes (const uint8_t *data, size_t size)
{
  return lu_syscap_reader_new_from_bytes (data, size, NULL);
}

static void
copy (const LuSyscapRecord *record, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (lu_syscap_copy_frame (user_data, record, &error));
  g_assert_no_error (error);
}

static void
check_address (guint64 address)
{
  gboolean is_kernel = address >> 63 != 0 && address < PERF_CONTEXT_MAX
                       && (address >> 32) != (LU_SYNTHETIC_BASE >> 32);

  g_assert_true (!is_kernel || address >= LU_SYSCAP_HIDDEN_UNKNOWN);
}

static void
check_output (int fd)
{
  g_autoptr (LuSyscapReader) reader = NULL;
  g_autoptr (GError) error = NULL;
  gboolean is_redacted = FALSE;
  LuSyscapRecord record;

  lseek (fd, 0, SEEK_SET);
  reader = lu_syscap_reader_new (fd, &error);
  g_assert_no_error (error);
  while (lu_syscap_reader_next (reader, &record, &error) == LU_SYSCAP_READ_FRAME)
    {
      if (record.type == LU_SYSCAP_METADATA)
        is_redacted |= g_str_equal (record.metadata.key, LU_SYSCAP_KEY_REDACTED);
      for (guint i = 0; record.type == LU_SYSCAP_SAMPLE && i < record.sample.n_addresses; i++)
        check_address (record.sample.addresses[i]);
    }
  g_assert_no_error (error);
  g_assert_true (is_redacted);
}

static void
redact (LuSyscapReader *first, LuSyscapReader *second)
{
  const LuSyscapHeader *header = lu_syscap_reader_header (first);
  int fd = memfd_create ("redacted", MFD_CLOEXEC), again = dup (fd);
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fd);
  g_autoptr (LuRedaction) redaction = lu_redaction_new (copy, writer);
  LuSyscapRecord record;

  g_assert_true (lu_syscap_writer_header (writer, (guint64) MAX (header->time, 0), 0, NULL));
  while (lu_syscap_reader_next (first, &record, NULL) == LU_SYSCAP_READ_FRAME)
    lu_redaction_learn (redaction, &record);
  lu_redaction_begin (redaction);
  while (lu_syscap_reader_next (second, &record, NULL) == LU_SYSCAP_READ_FRAME)
    lu_redaction_take (redaction, &record);
  lu_redaction_end (redaction);
  g_assert_true (lu_syscap_writer_finish (writer, 0, NULL));
  check_output (again);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuSyscapReader) first = size <= FILE_MAX ? open_bytes (data, size) : NULL;
  g_autoptr (LuSyscapReader) second = first != NULL ? open_bytes (data, size) : NULL;

  if (second != NULL)
    redact (first, second);
  return 0;
}
