/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-format.h - the bytes of a Sysprof capture, as far as we write or read them.
 *
 * A file is a 256-byte header followed by frames. Everything is little-endian; each frame starts at
 * a multiple of 8, and its length is a multiple of 8. Only types below 16 are used, because Sysprof
 * 3.46 stops reading at any other type. Times are nanoseconds of CLOCK_MONOTONIC. */

#pragma once

#include <glib.h>
#include <linux/perf_event.h>

#define LU_SYSCAP_MAGIC         0xFDCA975Eu
#define LU_SYSCAP_VERSION       1
#define LU_SYSCAP_LITTLE_ENDIAN (1u << 8)
#define LU_SYSCAP_ALIGN         8
/* The length is 16 bits and a multiple of 8. */
#define LU_SYSCAP_MAX_FRAME 65528
/* Readers refuse more file bytes than this in one chunk (SYSPROF_CAPTURE_FILE_CHUNK's buffer). */
#define LU_SYSCAP_MAX_CHUNK 16384
/* Sysprof ignores a sample with more addresses. */
#define LU_SYSCAP_MAX_ADDRESSES 1024

typedef enum
{
  LU_SYSCAP_TIMESTAMP = 1,
  LU_SYSCAP_SAMPLE = 2,
  LU_SYSCAP_MAP = 3,
  LU_SYSCAP_PROCESS = 4,
  LU_SYSCAP_FORK = 5,
  LU_SYSCAP_EXIT = 6,
  LU_SYSCAP_JITMAP = 7,
  LU_SYSCAP_CTRDEF = 8,
  LU_SYSCAP_CTRSET = 9,
  LU_SYSCAP_MARK = 10,
  LU_SYSCAP_METADATA = 11,
  LU_SYSCAP_LOG = 12,
  LU_SYSCAP_FILE_CHUNK = 13,
} LuSyscapType;

/* Offset 0 of the file:
 *   0 u32 magic | 4 u32 version:8 little_endian:1 | 8 char[64] ISO 8601 | 72 i64 time | 80 i64
 * end_time 88 u64 last_index 96 u8[160] zero */
typedef struct __attribute__ ((packed))
{
  guint32 magic;
  guint32 version_and_flags;
  char capture_time[64];
  gint64 time;        /* no frame is earlier */
  gint64 end_time;    /* 0: the recorder did not finish */
  guint64 last_index; /* offset of the last LuSyscapIndexFrame; 0: there is none */
  guint8 reserved[160];
} LuSyscapHeader;
_Static_assert(sizeof (LuSyscapHeader) == 256, "syscap file header");

/* Start of each frame:
 *   0 u16 len | 2 i16 cpu | 4 i32 pid | 8 i64 time | 16 u8 type | 17 7 bytes of padding, zero
 * except in a SAMPLE */
typedef struct __attribute__ ((packed))
{
  guint16 len; /* of the whole frame, padding included */
  gint16 cpu;  /* -1 none */
  gint32 pid;  /* -1 none */
  gint64 time;
  guint8 type;
  guint8 padding[7];
} LuSyscapFrame;
_Static_assert(sizeof (LuSyscapFrame) == 24, "syscap frame header");

/* A TIMESTAMP that is an index: 17 3 zero | 20 u32 magic | 24 u64 offset of the index before; 0:
 * none. Sysprof 51 reads the pieces between them at the same time; earlier readers skip them. */
#define LU_SYSCAP_INDEX_MAGIC 0x53504958u
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint64 previous_index;
} LuSyscapIndexFrame;
_Static_assert(sizeof (LuSyscapIndexFrame) == 32, "syscap index");

/* SAMPLE: 17 u56 weight | 24 u16 n | 26 u16 event | 28 i32 tid | 32 u64[n], leaf first
 *
 * Weight and event stand where Sysprof has padding, which it ignores: both are 0 unless the
 * recording describes its events (LU_SYSCAP_KEY_EVENTS). */
#define LU_SYSCAP_MAX_WEIGHT ((G_GUINT64_CONSTANT (1) << 56) - 1)
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint16 n_addresses;
  guint16 event;
  gint32 tid;
  guint64 addresses[];
} LuSyscapSampleFrame;
_Static_assert(sizeof (LuSyscapSampleFrame) == 32, "syscap sample");

/* MAP: 24 u64 start | 32 u64 end | 40 u64 offset | 48 u64 inode | 56 path NUL [ '@' hex build-id
 * NUL ] [ '#' device ':' inode ':' generation, all hex, NUL ] [ '=' hex digest NUL ]; only we read
 * the last two parts */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint64 start, end;
  guint64 file_offset; /* of start */
  guint64 inode;       /* 0: readers do not compare it; always 0 if a build-id follows */
  char path[];
} LuSyscapMapFrame;
_Static_assert(sizeof (LuSyscapMapFrame) == 56, "syscap map");

/* PROCESS: 24 command line NUL */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  char command_line[];
} LuSyscapProcessFrame;
_Static_assert(sizeof (LuSyscapProcessFrame) == 24, "syscap process");

/* FORK: 24 i32 child (the frame's pid is the parent); EXIT has no payload */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  gint32 child_pid;
  guint32 reserved;
} LuSyscapForkFrame;
_Static_assert(sizeof (LuSyscapForkFrame) == 32, "syscap fork");

/* JITMAP: 24 u32 n | 28 n times { u64 address (not aligned), name NUL } */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint32 n_names;
  guint8 names[];
} LuSyscapJitmapFrame;
_Static_assert(sizeof (LuSyscapJitmapFrame) == 28, "syscap jitmap");

/* One counter of a CTRDEF: 0 char[32] category | 32 char[32] name | 64 char[52] description |
 * 116 u24 id, u8 type (0: i64, 1: double) | 120 u64 value */
typedef struct __attribute__ ((packed))
{
  char category[32], name[32], description[52];
  guint32 id_and_type;
  guint64 value;
} LuSyscapCtrdef;
_Static_assert(sizeof (LuSyscapCtrdef) == 128, "syscap counter");

/* CTRDEF: 24 u16 n | 26 6 zero | 32 n counters */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint16 n_counters;
  guint8 reserved[6];
  LuSyscapCtrdef counters[];
} LuSyscapCtrdefFrame;
_Static_assert(sizeof (LuSyscapCtrdefFrame) == 32, "syscap counters");

/* Eight values of a CTRSET: 0 u32[8] ids (0: not used) | 32 u64[8] values */
#define LU_SYSCAP_CTRSET_GROUP 8
typedef struct __attribute__ ((packed))
{
  guint32 ids[LU_SYSCAP_CTRSET_GROUP];
  guint64 values[LU_SYSCAP_CTRSET_GROUP];
} LuSyscapCtrsetGroup;
_Static_assert(sizeof (LuSyscapCtrsetGroup) == 96, "syscap counter values");

/* CTRSET: 24 u16 n | 26 6 zero | 32 n groups */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint16 n_groups;
  guint8 reserved[6];
  LuSyscapCtrsetGroup groups[];
} LuSyscapCtrsetFrame;
_Static_assert(sizeof (LuSyscapCtrsetFrame) == 32, "syscap counter set");

/* METADATA: 24 char[40] key, NUL-padded | 64 text NUL */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  char key[40];
  char text[];
} LuSyscapMetadataFrame;
_Static_assert(sizeof (LuSyscapMetadataFrame) == 64, "syscap metadata");

/* LOG: 24 u16 GLib severity | 26 6 zero | 32 char[32] domain | 64 message NUL */
/* The message of a recorder about samples that were lost since the last such message. */
#define LU_SYSCAP_LOST "%" G_GUINT64_FORMAT " samples lost"
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint16 severity;
  guint8 reserved[6];
  char domain[32];
  char message[];
} LuSyscapLogFrame;
_Static_assert(sizeof (LuSyscapLogFrame) == 64, "syscap log");

/* FILE_CHUNK: 24 u8 bit 0 is_last | 25 zero | 26 u16 len | 28 char[256] path | 284 u8[len]
 * Chunks of one path are joined in the order of the file, up to the one with is_last. */
typedef struct __attribute__ ((packed))
{
  LuSyscapFrame frame;
  guint8 is_last;
  guint8 reserved;
  guint16 len;
  char path[256];
  guint8 bytes[];
} LuSyscapFileChunkFrame;
_Static_assert(sizeof (LuSyscapFileChunkFrame) == 284, "syscap file chunk");

/* The file with names by process and address, see syscap-symbols.h. */
#define LU_SYSCAP_SYMBOLS_FILE "__symbols__"

/* Keys of METADATA frames that our writer and our readers share. */
#define LU_SYSCAP_KEY_STATS     "live-unwinder.stats"
#define LU_SYSCAP_KEY_REDACTED  "live-unwinder.redacted"
#define LU_SYSCAP_KEY_NATIVE    "live-unwinder.native-frames"
#define LU_SYSCAP_KEY_EVENT     "live-unwinder.event"
#define LU_SYSCAP_KEY_FREQUENCY "live-unwinder.frequency"
#define LU_SYSCAP_KEY_EVENTS    "live-unwinder.events"
#define LU_SYSCAP_KEY_CHAINS    "live-unwinder.callchains"
#define LU_SYSCAP_KEY_ADDRESS   "live-unwinder.address-convention"
/* "PID TID NAME", the name of a thread; the last one counts; without NAME: its program's. */
#define LU_SYSCAP_KEY_THREAD      "live-unwinder.thread"
#define LU_SYSCAP_ADDRESS_MINUS_1 "return-address-minus-1"
