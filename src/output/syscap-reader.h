/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-reader.h - reads captures: for our report and for tests of the writer.
 *
 * Strict: a frame that breaks the format is an error with its file offset. Only the last frame may
 * be cut, because a recorder may be killed. Frame types that we do not know are skipped. Any bytes
 * are fine. */

#pragma once

#include "output/syscap-format.h"

typedef struct _LuSyscapReader LuSyscapReader;

typedef struct
{
  guint64 address;
  const char *name;
} LuSyscapJitName;

/* One frame; what is borrowed is valid until the next call of lu_syscap_reader_next(). */
typedef struct
{
  guint8 type; /* LuSyscapType, or one we do not know */
  gint32 cpu, pid;
  gint64 time;
  union
  {
    struct
    {
      gint32 tid;
      guint n_addresses;
      const guint64 *addresses;
    } sample;
    struct
    {
      guint64 start, end, file_offset, inode;
      const char *path;
      const char *build_id; /* hexadecimal; NULL: none */
    } map;
    struct
    {
      const char *command_line;
    } process;
    struct
    {
      gint32 child_pid;
    } fork;
    struct
    {
      guint n_names;
      const LuSyscapJitName *names;
    } jitmap;
    struct
    {
      const char *key, *text;
    } metadata;
    struct
    {
      guint16 severity;
      const char *domain, *message;
    } log;
    struct
    {
      const char *path;
      const guint8 *bytes;
      guint size;
      gboolean is_last;
    } file;
  };
} LuSyscapRecord;

typedef enum
{
  LU_SYSCAP_READ_END,
  LU_SYSCAP_READ_FRAME,
  LU_SYSCAP_READ_ERROR,
} LuSyscapRead;

/* Reads from a descriptor (taken) or from borrowed bytes. Fails if there is no capture header. */
LuSyscapReader *lu_syscap_reader_new (int fd, GError **error);
LuSyscapReader *lu_syscap_reader_new_from_bytes (gconstpointer bytes, gsize size, GError **error);
void lu_syscap_reader_free (LuSyscapReader *self);

/* Of a reader from bytes that has come to their end: the bytes that follow, whole frames. */
void lu_syscap_reader_refill (LuSyscapReader *self, gconstpointer bytes, gsize size);

const LuSyscapHeader *lu_syscap_reader_header (const LuSyscapReader *self);
/* The next frame. After END and ERROR there is none. */
LuSyscapRead lu_syscap_reader_next (LuSyscapReader *self, LuSyscapRecord *record, GError **error);
/* After END: the last frame was cut short. */
gboolean lu_syscap_reader_is_cut (const LuSyscapReader *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapReader, lu_syscap_reader_free)
