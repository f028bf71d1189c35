/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-reader.h - reads captures, for reports, conversion and tests.
 *
 * A frame that breaks the format is an error with its offset in the file. Only the last frame may
 * be cut short, because a recorder may be killed. Frames of unknown types are returned without
 * contents. Input may be hostile. */

#pragma once

#include "base/file-id.h"
#include "process/labels.h"
#include "syscap-format.h"

typedef struct _LuSyscapReader LuSyscapReader;

typedef struct
{
  guint64 address;
  const char *name;
} LuSyscapJitName;

typedef struct
{
  gint32 tid;
  guint event;    /* index among the events of the recording */
  guint64 weight; /* of this sample, where those of its event differ; else 0 */
  guint n_addresses;
  const guint64 *addresses; /* leaf first */
} LuSyscapSample;

typedef struct
{
  guint64 start, end, file_offset;
  LuFileId file; /* its texts are borrowed */
} LuSyscapMap;

/* Says what the values with an id are. */
typedef struct
{
  guint32 id; /* below 1 << 24 */
  gboolean is_real;
  char category[33], name[33], description[53]; /* NUL-terminated; maybe not UTF-8 */
} LuSyscapCounter;

typedef struct
{
  guint32 id;
  guint64 bits; /* of a double or of a gint64, as the counter is */
} LuSyscapCounterValue;

/* A file in the capture, or a piece of one. */
typedef struct
{
  const char *path;
  const guint8 *bytes;
  gsize size;
  gboolean is_last; /* piece of this file */
} LuSyscapFile;

/* One frame. Borrowed memory is valid until the next call of lu_syscap_reader_next(). */
typedef struct
{
  guint8 type; /* LuSyscapType, or an unknown number */
  gint32 cpu, pid;
  gint64 time;
  union
  {
    LuSyscapSample sample;
    LuSyscapMap map;
    LuLabels process;
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
      guint n;
      const LuSyscapCounter *counters;
    } ctrdef;
    struct
    {
      guint n;
      const LuSyscapCounterValue *values;
    } ctrset;
    struct
    {
      const char *key, *text;
    } metadata;
    struct
    {
      guint16 severity;
      const char *domain, *message;
    } log;
    LuSyscapFile file;
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

/* Gives a reader from bytes, which has reached their end, the frames that follow. */
void lu_syscap_reader_refill (LuSyscapReader *self, gconstpointer bytes, gsize size);

const LuSyscapHeader *lu_syscap_reader_header (const LuSyscapReader *self);
/* Reads the next frame. There is none after END and ERROR. */
LuSyscapRead lu_syscap_reader_next (LuSyscapReader *self, LuSyscapRecord *record, GError **error);
/* After END: returns whether the last frame was cut short. */
gboolean lu_syscap_reader_is_cut (const LuSyscapReader *self);

typedef struct
{
  gint32 pid, tid;
  const char *name; /* borrowed; "" if it has no name of its own any more */
} LuSyscapThread;

/* Parses the text of a LU_SYSCAP_KEY_THREAD. */
gboolean lu_syscap_parse_thread (const char *text, LuSyscapThread *thread);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapReader, lu_syscap_reader_free)
