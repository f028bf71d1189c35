/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-perf.c - a perf.data file with finished callchains, for perf itself and what reads its
 * files.
 *
 *   header 104 | attr 128 (112, and an empty list of ids) | records
 *
 * Records come in the order of the capture; perf sorts them by time. Return addresses are stored as
 * they were, because perf subtracts 1 itself. End states have no names in this format: each is a
 * mapping of one byte, whose file has the name. See
 * tools/perf/Documentation/perf.data-file-format.txt and perf_event_open(2). */

#include "output/format.h"

#include "base/fd.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/utsname.h>

#define MAGIC        "PERFILE2"
#define HEADER_SIZE  104
#define ATTR_SIZE    112 /* PERF_ATTR_SIZE_VER5: no reader is older */
#define DATA_OFFSET  (HEADER_SIZE + ATTR_SIZE + 16)
#define DATA_SIZE_AT 48 /* in the header */
#define MAX_CHAIN    8000
#define MAX_PATH     4096
/* Pairs of processes and states whose names were written lately. */
#define MAX_NAMED 16384
#define KALLSYMS  "/proc/kallsyms"
/* Where the first symbols are. */
#define KALLSYMS_START (1u << 20)
#define PERIOD_LATER   1001001

typedef struct
{
  LuStream *stream;
  gint64 time;
  gboolean is_minus_1, is_redacted;
  guint64 period;
  GByteArray *record;
  GHashTable *states; /* synthetic address -> name */
  GHashTable *named;  /* pids that have mappings with these names: pid -> bits */
} PerfFile;

static void
put (PerfFile *self, gconstpointer bytes, gsize size)
{
  g_byte_array_append (self->record, bytes, (guint) size);
}

static void
put_u32 (PerfFile *self, guint32 value)
{
  put (self, &value, sizeof value);
}

static void
put_u64 (PerfFile *self, guint64 value)
{
  put (self, &value, sizeof value);
}

/* A text, its NUL, and zeros up to the next word. */
static void
put_text (PerfFile *self, const char *text, gsize limit)
{
  static const char zeros[8];
  gsize size = MIN (strlen (text), limit - 1);

  put (self, text, size);
  put (self, zeros, 8 - size % 8);
}

/* pid, tid, time, cpu: what sample_id_all puts behind each record that is no sample. */
static void
put_id (PerfFile *self, gint32 pid, gint64 time)
{
  put_u32 (self, (guint32) pid);
  put_u32 (self, (guint32) pid);
  put_u64 (self, (guint64) MAX (time, self->time));
  put_u64 (self, 0);
}

static void
start_record (PerfFile *self, guint32 type, guint16 misc)
{
  struct perf_event_header header = { .type = type, .misc = misc };

  g_byte_array_set_size (self->record, 0);
  put (self, &header, sizeof header);
}

static void
finish_record (PerfFile *self)
{
  guint16 size = (guint16) self->record->len;

  if (self->record->len > G_MAXUINT16)
    return;
  memcpy (self->record->data + G_STRUCT_OFFSET (struct perf_event_header, size), &size,
          sizeof size);
  lu_stream_write (self->stream, self->record->data, self->record->len);
}

static gpointer
perf_begin (LuStream *stream, const LuSyscapHeader *header)
{
  struct perf_event_attr attr = {
    .type = PERF_TYPE_SOFTWARE,
    .size = ATTR_SIZE,
    .config = PERF_COUNT_SW_CPU_CLOCK,
    .sample_period = PERIOD_LATER,
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU
                   | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
    .mmap = 1,
    .mmap2 = 1,
    .comm = 1,
    .comm_exec = 1,
    .task = 1,
    .sample_id_all = 1,
    .use_clockid = 1,
    .clockid = 1, /* CLOCK_MONOTONIC */
  };
  guint64 words[] = {
    HEADER_SIZE, ATTR_SIZE + 16, HEADER_SIZE, ATTR_SIZE + 16, DATA_OFFSET, 0, 0, 0, 0, 0, 0, 0
  };
  guint8 bytes[ATTR_SIZE + 16] = { 0 };
  PerfFile *self = g_new0 (PerfFile, 1);

  self->stream = stream;
  self->time = header->time;
  self->period = PERIOD_LATER;
  self->record = g_byte_array_new ();
  self->states = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->named = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  memcpy (bytes, &attr, MIN (sizeof attr, ATTR_SIZE));
  lu_stream_write (stream, MAGIC, 8);
  lu_stream_write (stream, words, sizeof words);
  lu_stream_write (stream, bytes, sizeof bytes);
  return self;
}

/* Fills in up to 20 bytes; returns how many. */
static guint
unhex (const char *text, guint8 bytes[20])
{
  guint n = 0;

  for (; text != NULL && n < 20 && g_ascii_isxdigit (text[0]) && g_ascii_isxdigit (text[1]);
       text += 2)
    bytes[n++] = (guint8) (g_ascii_xdigit_value (text[0]) << 4 | g_ascii_xdigit_value (text[1]));
  return n;
}

static void
write_mapping (PerfFile *self, gint32 pid, gint64 time, guint64 start, guint64 end, guint64 offset,
               const char *path, const char *build_id)
{
  struct
  {
    guint8 size, reserved[3], bytes[20];
  } id = { 0 };

  id.size = (guint8) unhex (build_id, id.bytes);
  start_record (self, PERF_RECORD_MMAP2,
                PERF_RECORD_MISC_USER | (id.size > 0 ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
  put_u32 (self, (guint32) pid);
  put_u32 (self, (guint32) pid);
  put_u64 (self, start);
  put_u64 (self, end - start);
  put_u64 (self, offset);
  put (self, &id, sizeof id); /* or device, inode and generation, which are not known: zeros */
  put_u32 (self, 5);          /* PROT_READ | PROT_EXEC */
  put_u32 (self, 2);          /* MAP_PRIVATE */
  put_text (self, path, MAX_PATH);
  put_id (self, pid, time);
  finish_record (self);
}

/* Address of the kernel's first function, if this is the kernel that was recorded; 0 if not. */
static guint64
kernel_start (const char *release)
{
  struct utsname name;
  g_autofree char *text = NULL;
  const char *line;

  if (uname (&name) != 0 || !g_str_equal (name.release, release))
    return 0;
  text = lu_fd_read_file (KALLSYMS, KALLSYMS_START, NULL);
  line = text != NULL ? strstr (text, " _text\n") : NULL;
  while (line != NULL && line > text && line[-1] != '\n')
    line--;
  return line != NULL ? g_ascii_strtoull (line, NULL, 16) : 0;
}

/* Without it perf looks up no name in the kernel. It compares the address with that of the symbol
 * behind the bracket, and so finds out how far this kernel was moved. */
static void
write_kernel (PerfFile *self, const char *release)
{
  guint64 start = kernel_start (release);

  if (start == 0)
    return;
  start_record (self, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
  put_u32 (self, G_MAXUINT32);
  put_u32 (self, 0);
  put_u64 (self, start);
  put_u64 (self, LU_SYSCAP_CONTEXT_MAX - start);
  put_u64 (self, start);
  put_text (self, "[kernel.kallsyms]_text", MAX_PATH);
  put_u64 (self, 0); /* pid, tid */
  put_u64 (self, 0); /* before everything else */
  put_u64 (self, 0);
  finish_record (self);
}

/* The last component of the program, at most 15 bytes, as the kernel has it. */
static void
write_comm (PerfFile *self, const LuSyscapRecord *record)
{
  gsize length = strcspn (record->process.command_line, " ");
  g_autofree char *word = g_strndup (record->process.command_line, length);
  const char *slash = word[0] == '/' ? strrchr (word, '/') : NULL;

  start_record (self, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  put_u32 (self, (guint32) record->pid);
  put_u32 (self, (guint32) record->pid);
  put_text (self, slash != NULL ? slash + 1 : word, 16);
  put_id (self, record->pid, record->time);
  finish_record (self);
}

static void
write_task (PerfFile *self, const LuSyscapRecord *record, gboolean is_exit)
{
  gint32 child = is_exit ? record->pid : record->fork.child_pid;

  start_record (self, is_exit ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
  put_u32 (self, (guint32) child);
  put_u32 (self, (guint32) record->pid);
  put_u32 (self, (guint32) child);
  put_u32 (self, (guint32) record->pid);
  put_u64 (self, (guint64) MAX (record->time, self->time));
  put_id (self, record->pid, record->time);
  finish_record (self);
}

/* Samples */

static void
name_state (PerfFile *self, const LuSyscapRecord *record, guint64 address)
{
  guint64 key = (guint64) (guint32) record->pid << 32 | (guint32) address;
  const char *name = g_hash_table_lookup (self->states, &address);

  if (name == NULL || g_hash_table_contains (self->named, &key))
    return;
  /* to name one again does no harm */
  if (g_hash_table_size (self->named) >= MAX_NAMED)
    g_hash_table_remove_all (self->named);
  g_hash_table_insert (self->named, g_memdup2 (&key, sizeof key), NULL);
  write_mapping (self, record->pid, record->time, address, address + 1, 0, name, NULL);
}

/* As perf wants an address: return addresses behind the call. */
static guint64
raw_address (const PerfFile *self, guint64 address, gboolean is_leaf, guint64 context)
{
  gboolean is_return = context == LU_SYSCAP_CONTEXT_USER && !is_leaf && self->is_minus_1
                       && !lu_model_is_synthetic (address);

  return is_return ? address + 1 : address;
}

static void
write_sample (PerfFile *self, const LuSyscapRecord *record)
{
  guint n = MIN (record->sample.n_addresses, MAX_CHAIN);
  const guint64 *addresses = record->sample.addresses;
  guint64 context = LU_SYSCAP_CONTEXT_USER, leaf = 0;
  gboolean has_leaf = FALSE, in_kernel = FALSE;

  for (guint i = 0; i < n; i++)
    {
      if (lu_model_is_synthetic (addresses[i]))
        name_state (self, record, addresses[i]);
      if (addresses[i] >= LU_SYSCAP_CONTEXT_MAX && !has_leaf)
        in_kernel = addresses[i] == LU_SYSCAP_CONTEXT_KERNEL;
      else if (!has_leaf)
        {
          has_leaf = TRUE;
          leaf = addresses[i];
        }
    }
  start_record (self, PERF_RECORD_SAMPLE,
                in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
  put_u64 (self, leaf);
  put_u32 (self, (guint32) record->pid);
  put_u32 (self, (guint32) record->sample.tid);
  put_u64 (self, (guint64) MAX (record->time, self->time));
  put_u64 (self, (guint32) MAX (record->cpu, 0));
  put_u64 (self, self->period);
  put_u64 (self, n);
  has_leaf = FALSE;
  for (guint i = 0; i < n; i++)
    {
      gboolean is_context = addresses[i] >= LU_SYSCAP_CONTEXT_MAX;

      if (is_context)
        context = addresses[i];
      put_u64 (self,
               is_context ? addresses[i] : raw_address (self, addresses[i], !has_leaf, context));
      has_leaf |= !is_context;
    }
  finish_record (self);
}

static void
learn_state (PerfFile *self, guint64 address, const char *name)
{
  g_hash_table_insert (self->states, g_memdup2 (&address, sizeof address), g_strdup (name));
}

static void
learn (PerfFile *self, const char *key, const char *text)
{
  double frequency = g_ascii_strtod (text, NULL);

  if (g_str_equal (key, LU_SYSCAP_KEY_ADDRESS))
    self->is_minus_1 = g_str_equal (text, LU_SYSCAP_ADDRESS_MINUS_1);
  else if (g_str_equal (key, "live-unwinder.frequency") && frequency >= 0.001 && frequency <= 1e9)
    self->period = (guint64) (1e9 / frequency + 0.5);
  else if (g_str_equal (key, LU_SYSCAP_KEY_REDACTED))
    self->is_redacted = TRUE; /* the addresses are not the kernel's */
  else if (g_str_equal (key, "uname.release") && !self->is_redacted)
    write_kernel (self, text);
}

static void
perf_take (gpointer state, const LuSyscapRecord *record)
{
  PerfFile *self = state;

  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      write_sample (self, record);
      break;
    case LU_SYSCAP_MAP:
      write_mapping (self, record->pid, record->time, record->map.start, record->map.end,
                     record->map.file_offset, record->map.path, record->map.build_id);
      break;
    case LU_SYSCAP_PROCESS:
      write_comm (self, record);
      break;
    case LU_SYSCAP_FORK:
    case LU_SYSCAP_EXIT:
      write_task (self, record, record->type == LU_SYSCAP_EXIT);
      break;
    case LU_SYSCAP_JITMAP:
      for (guint i = 0; i < record->jitmap.n_names; i++)
        learn_state (self, record->jitmap.names[i].address, record->jitmap.names[i].name);
      break;
    case LU_SYSCAP_METADATA:
      learn (self, record->metadata.key, record->metadata.text);
      break;
    default:
      break;
    }
}

static void
perf_end (gpointer state)
{
  PerfFile *self = state;
  guint64 size = lu_stream_size (self->stream) - DATA_OFFSET;

  lu_stream_patch (self->stream, DATA_SIZE_AT, &size, sizeof size);
  g_byte_array_unref (self->record);
  g_hash_table_unref (self->states);
  g_hash_table_unref (self->named);
  g_free (self);
}

const LuFormat lu_format_perf = {
  .name = "perf",
  .suffixes = { ".perf.data", "perf.data" },
  .begin = perf_begin,
  .take = perf_take,
  .end = perf_end,
};
