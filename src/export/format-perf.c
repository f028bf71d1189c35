/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-perf.c - a perf.data file with finished callchains, for perf itself and programs that read
 * its files.
 *
 *   header 104 | attr 112, {offset, 8} for each event | id 8 for each | records
 *   | {offset, size} of each feature | features
 *
 * The header, the attrs and the ids are written before the first record, once the events are known.
 * A single event has an id and a description, too, because hotspot finds events by their ids only.
 * Records follow in the order of the capture; perf sorts them by time. Return addresses are stored
 * unchanged, because perf subtracts 1 itself. End states have no names in this format: each is a
 * mapping of one byte from a file with that name. See
 * tools/perf/Documentation/perf.data-file-format.txt and perf_event_open(2). */

#include "format.h"

#include "base/hex.h"

#include <string.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#define MAGIC        "PERFILE2"
#define HEADER_SIZE  104
#define ATTR_SIZE    112 /* PERF_ATTR_SIZE_VER5: no reader is older */
#define ENTRY_SIZE   (ATTR_SIZE + 16)
#define DATA_SIZE_AT 48 /* offset in the header */
#define FEATURES_AT  72 /* offset in the header */
/* Feature bits */
#define HOSTNAME   3
#define OSRELEASE  4
#define CMDLINE    11
#define EVENT_DESC 12
#define N_FEATURES 13
#define ID_SIZE    8
#define MAX_CHAIN  8000
#define MAX_PATH   4096
/* Pairs of process and state whose names were written recently. */
/* Names of states and of functions. */
#define MAX_STATES     (128u << 10)
#define MAX_NAMED      16384
#define UNKNOWN_PERIOD 1001001

typedef struct
{
  LuStream *stream;
  gint64 time;
  gint64 newest;        /* of all records so far */
  guint64 kernel_start; /* address of the running kernel's first function; 0: unknown */
  gboolean is_minus_1, is_redacted, has_native_frames, has_head;
  LuSyscapEvents *events;
  guint n_events;      /* events with an attr; set with the head */
  guint64 data_offset; /* of the records; set with the head */
  GByteArray *record;
  GByteArray *features[N_FEATURES]; /* NULL: not there */
  GHashTable *states;               /* synthetic address -> name */
  GHashTable *named;                /* pids that have mappings with these names: pid -> bits */
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

/* Appends a text, its NUL, and zeros up to the next word. */
static void
put_text (PerfFile *self, const char *text, gsize limit)
{
  static const char zeros[8];
  gsize size = MIN (strlen (text), limit - 1);

  put (self, text, size);
  put (self, zeros, 8 - size % 8);
}

static struct perf_event_attr
make_attr (void)
{
  return (struct perf_event_attr){
    .type = PERF_TYPE_SOFTWARE,
    .size = ATTR_SIZE,
    .config = PERF_COUNT_SW_CPU_CLOCK,
    .sample_period = UNKNOWN_PERIOD,
    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU
                   | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IDENTIFIER,
    .mmap = 1,
    .mmap2 = 1,
    .comm = 1,
    .comm_exec = 1,
    .task = 1,
    .sample_id_all = 1,
    .use_clockid = 1,
    .clockid = 1, /* CLOCK_MONOTONIC */
  };
}

/* Event n has the id n + 1. */
static void
write_attrs (PerfFile *self)
{
  struct perf_event_attr attr = make_attr ();
  guint64 id_offset = HEADER_SIZE + (guint64) self->n_events * ENTRY_SIZE;

  for (guint i = 0; i < self->n_events; i++)
    {
      guint64 ids[] = { id_offset + i * ID_SIZE, ID_SIZE };

      lu_stream_write (self->stream, &attr, ATTR_SIZE);
      lu_stream_write (self->stream, ids, sizeof ids);
    }
  for (guint64 id = 1; id <= self->n_events; id++)
    lu_stream_write (self->stream, &id, ID_SIZE);
}

static void
write_head (PerfFile *self)
{
  guint64 words[12] = { HEADER_SIZE, ENTRY_SIZE, HEADER_SIZE };

  self->has_head = TRUE;
  self->n_events = lu_syscap_events_size (self->events);
  self->data_offset = HEADER_SIZE + self->n_events * (ENTRY_SIZE + (guint64) ID_SIZE);
  words[3] = (guint64) self->n_events * ENTRY_SIZE;
  words[4] = self->data_offset;
  lu_stream_write (self->stream, MAGIC, 8);
  lu_stream_write (self->stream, words, sizeof words);
  write_attrs (self);
}

static void
append_text (GByteArray *feature, const char *text)
{
  guint32 size = (guint32) strlen (text) + 1;

  g_byte_array_append (feature, (const guint8 *) &size, sizeof size);
  g_byte_array_append (feature, (const guint8 *) text, size);
}

/* Remembers a text as a feature. The command is a list of words, of which hotspot shows all but the
 * first one. */
static void
learn_feature (PerfFile *self, guint bit, const char *text)
{
  if (self->features[bit] != NULL)
    return;
  self->features[bit] = g_byte_array_new ();
  if (bit == CMDLINE)
    {
      g_auto (GStrv) words = g_strsplit (text, " ", -1);
      guint32 count = g_strv_length (words);

      g_byte_array_append (self->features[bit], (const guint8 *) &count, sizeof count);
      for (guint32 i = 0; i < count; i++)
        append_text (self->features[bit], words[i]);
    }
  else
    append_text (self->features[bit], text);
}

/* Writes the features, which follow the records, and which there are. */
static void
write_features (PerfFile *self)
{
  guint64 bits = 0, offset = lu_stream_size (self->stream);

  for (guint i = 0; i < N_FEATURES; i++)
    if (self->features[i] != NULL)
      {
        bits |= G_GUINT64_CONSTANT (1) << i;
        offset += 2 * sizeof (guint64);
      }
  for (guint i = 0; i < N_FEATURES; i++)
    if (self->features[i] != NULL)
      {
        guint64 place[] = { offset, self->features[i]->len };

        lu_stream_write (self->stream, place, sizeof place);
        offset += self->features[i]->len;
      }
  for (guint i = 0; i < N_FEATURES; i++)
    if (self->features[i] != NULL)
      {
        lu_stream_write (self->stream, self->features[i]->data, self->features[i]->len);
        g_byte_array_unref (self->features[i]);
      }
  lu_stream_patch (self->stream, FEATURES_AT, &bits, sizeof bits);
}

static void
describe_events (PerfFile *self)
{
  struct perf_event_attr attr = make_attr ();

  g_byte_array_set_size (self->record, 0);
  put_u32 (self, self->n_events);
  put_u32 (self, ATTR_SIZE);
  for (guint i = 0; i < self->n_events; i++)
    {
      const char *name = lu_syscap_events_get (self->events, i)->name;

      put (self, &attr, ATTR_SIZE);
      put_u32 (self, 1); /* id */
      put_u32 (self, (guint32) strlen (name) + 1);
      put (self, name, strlen (name) + 1);
      put_u64 (self, i + 1);
    }
  self->features[EVENT_DESC] = g_byte_array_ref (self->record);
}

/* Appends what sample_id_all adds to each record except samples: pid, tid, time, CPU, and the id
 * of the first event. */
static void
put_id (PerfFile *self, gint32 pid, gint64 time)
{
  put_u32 (self, (guint32) pid);
  put_u32 (self, (guint32) pid);
  put_u64 (self, (guint64) MAX (time, self->time));
  put_u64 (self, 0);
  put_u64 (self, 1);
}

static void
start_record (PerfFile *self, guint32 type, guint16 misc)
{
  struct perf_event_header header = { .type = type, .misc = misc };

  if (!self->has_head)
    write_head (self);
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
perf_begin (LuStream *stream, const LuSyscapHeader *header, guint64 kernel_start)
{
  PerfFile *self = g_new0 (PerfFile, 1);

  self->stream = stream;
  self->time = header->time;
  self->kernel_start = kernel_start;
  self->events = lu_syscap_events_new ();
  self->record = g_byte_array_new ();
  self->states = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->named = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return self;
}

static void
write_mapping (PerfFile *self, gint32 pid, gint64 time, const LuSyscapMap *map)
{
  struct
  {
    guint8 size, reserved[3], bytes[20];
  } id = { 0 };

  if (map->file.build_id != NULL)
    id.size = (guint8) lu_hex_read_bytes (map->file.build_id, id.bytes, sizeof id.bytes);
  start_record (self, PERF_RECORD_MMAP2,
                PERF_RECORD_MISC_USER | (id.size > 0 ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
  put_u32 (self, (guint32) pid);
  put_u32 (self, (guint32) pid);
  put_u64 (self, map->start);
  put_u64 (self, map->end - map->start);
  put_u64 (self, map->file_offset);
  if (id.size > 0)
    put (self, &id, sizeof id);
  else
    {
      put_u32 (self, major (map->file.device));
      put_u32 (self, minor (map->file.device));
      put_u64 (self, map->file.inode);
      put_u64 (self, map->file.inode_generation);
    }
  put_u32 (self, 5); /* PROT_READ | PROT_EXEC */
  put_u32 (self, 2); /* MAP_PRIVATE */
  put_text (self, map->file.path, MAX_PATH);
  put_id (self, pid, time);
  finish_record (self);
}

static gboolean
is_running (const char *release)
{
  struct utsname name;

  return uname (&name) == 0 && g_str_equal (name.release, release);
}

/* Writes the record without which perf looks up no kernel names. perf compares the address with
 * that of the symbol after the bracket, to find out how far this kernel was relocated. */
static void
write_kernel (PerfFile *self, const char *release)
{
  guint64 start = self->kernel_start;

  if (start == 0 || !is_running (release))
    return;
  start_record (self, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
  put_u32 (self, G_MAXUINT32);
  put_u32 (self, 0);
  put_u64 (self, start);
  put_u64 (self, PERF_CONTEXT_MAX - start);
  put_u64 (self, start);
  put_text (self, "[kernel.kallsyms]_text", MAX_PATH);
  put_u64 (self, 0); /* pid, tid */
  put_u64 (self, 0); /* before everything else */
  put_u64 (self, 0);
  put_u64 (self, 1);
  finish_record (self);
}

/* Writes the name of the program, cut to 15 bytes as in the kernel. */
static void
write_comm (PerfFile *self, const LuSyscapRecord *record)
{
  g_autofree char *program = lu_labels_program (&record->process);

  start_record (self, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  put_u32 (self, (guint32) record->pid);
  put_u32 (self, (guint32) record->pid);
  put_text (self, program, 16);
  put_id (self, record->pid, record->time);
  finish_record (self);
}

static void
write_thread_name (PerfFile *self, const char *text)
{
  LuSyscapThread thread;

  if (!lu_syscap_parse_thread (text, &thread) || thread.name[0] == 0)
    return;
  start_record (self, PERF_RECORD_COMM, 0);
  put_u32 (self, (guint32) thread.pid);
  put_u32 (self, (guint32) thread.tid);
  put_text (self, thread.name, 16);
  put_id (self, thread.pid, self->newest);
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
  const LuSyscapMap map = { .start = address, .end = address + 1, .file = { .path = name } };

  if (name == NULL || g_hash_table_contains (self->named, &key))
    return;
  /* naming a state twice does no harm */
  if (g_hash_table_size (self->named) >= MAX_NAMED)
    g_hash_table_remove_all (self->named);
  g_hash_table_insert (self->named, g_memdup2 (&key, sizeof key), NULL);
  write_mapping (self, record->pid, record->time, &map);
}

/* Returns an address as perf expects it: return addresses point after the call. */
static guint64
raw_address (const PerfFile *self, guint64 address, gboolean is_leaf, guint64 context)
{
  gboolean is_return =
      context == PERF_CONTEXT_USER && !is_leaf && self->is_minus_1 && !lu_is_synthetic (address);

  return is_return ? address + 1 : address;
}

/* Returns what the sample stands for. perf cannot express "unknown". */
static guint64
period_of (const PerfFile *self, const LuSyscapSample *sample)
{
  guint64 weight =
      lu_event_weight (lu_syscap_events_get (self->events, sample->event), sample->weight);

  return weight > 0 ? weight : UNKNOWN_PERIOD;
}

/* Functions of interpreters are left out where their interpreter's own frames are beside them;
 * otherwise they are files of one byte, as states are. */
static gboolean
is_put (const PerfFile *self, guint64 address)
{
  return !self->has_native_frames || address >= PERF_CONTEXT_MAX || !lu_is_function (address);
}

/* Returns the first address, 0 if there is none, and whether it is the kernel's. */
static guint64
find_leaf (const PerfFile *self, const guint64 *addresses, guint n, gboolean *in_kernel)
{
  *in_kernel = FALSE;
  for (guint i = 0; i < n; i++)
    {
      if (addresses[i] < PERF_CONTEXT_MAX && is_put (self, addresses[i]))
        return addresses[i];
      if (addresses[i] >= PERF_CONTEXT_MAX)
        *in_kernel = addresses[i] == PERF_CONTEXT_KERNEL;
    }
  return 0;
}

static void
put_chain (PerfFile *self, const guint64 *addresses, guint n)
{
  guint64 context = PERF_CONTEXT_USER;
  gboolean is_leaf = TRUE;
  guint n_put = 0;

  for (guint i = 0; i < n; i++)
    n_put += is_put (self, addresses[i]);
  put_u64 (self, n_put);
  for (guint i = 0; i < n; i++)
    {
      if (!is_put (self, addresses[i]))
        {
          is_leaf = FALSE;
          continue;
        }
      if (addresses[i] >= PERF_CONTEXT_MAX)
        {
          context = addresses[i];
          put_u64 (self, context);
          continue;
        }
      put_u64 (self, raw_address (self, addresses[i], is_leaf, context));
      is_leaf = FALSE;
    }
}

static void
write_sample (PerfFile *self, const LuSyscapRecord *record)
{
  guint n = MIN (record->sample.n_addresses, MAX_CHAIN);
  const guint64 *addresses = record->sample.addresses;
  gboolean in_kernel;
  guint64 leaf = find_leaf (self, addresses, n, &in_kernel);

  for (guint i = 0; i < n; i++)
    if (lu_is_synthetic (addresses[i]) && is_put (self, addresses[i]))
      name_state (self, record, addresses[i]);
  start_record (self, PERF_RECORD_SAMPLE,
                in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
  put_u64 (self, record->sample.event < self->n_events ? record->sample.event + 1 : 1);
  put_u64 (self, leaf);
  put_u32 (self, (guint32) record->pid);
  put_u32 (self, (guint32) record->sample.tid);
  put_u64 (self, (guint64) MAX (record->time, self->time));
  put_u64 (self, (guint32) MAX (record->cpu, 0));
  put_u64 (self, period_of (self, &record->sample));
  put_chain (self, addresses, n);
  finish_record (self);
}

static void
learn_state (PerfFile *self, guint64 address, const char *name)
{
  gboolean is_source = lu_is_function_or_source (address) && !lu_is_function (address);

  if (!is_source && g_hash_table_size (self->states) < MAX_STATES)
    g_hash_table_insert (self->states, g_memdup2 (&address, sizeof address), g_strdup (name));
}

static void
learn (PerfFile *self, const char *key, const char *text)
{
  lu_syscap_events_take (self->events, key, text);
  if (g_str_equal (key, LU_SYSCAP_KEY_ADDRESS))
    self->is_minus_1 = g_str_equal (text, LU_SYSCAP_ADDRESS_MINUS_1);
  else if (g_str_equal (key, LU_SYSCAP_KEY_THREAD))
    write_thread_name (self, text);
  else if (g_str_equal (key, LU_SYSCAP_KEY_NATIVE))
    self->has_native_frames = TRUE;
  else if (g_str_equal (key, LU_SYSCAP_KEY_REDACTED))
    self->is_redacted = TRUE; /* the addresses are not the kernel's */
  else if (g_str_equal (key, "hostname"))
    learn_feature (self, HOSTNAME, text);
  else if (g_str_equal (key, "live-unwinder.command"))
    learn_feature (self, CMDLINE, text);
  else if (g_str_equal (key, "uname.release"))
    {
      learn_feature (self, OSRELEASE, text);
      if (!self->is_redacted)
        write_kernel (self, text);
    }
}

static void
perf_take (gpointer state, const LuSyscapRecord *record)
{
  PerfFile *self = state;

  self->newest = MAX (self->newest, record->time);
  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      write_sample (self, record);
      break;
    case LU_SYSCAP_MAP:
      write_mapping (self, record->pid, record->time, &record->map);
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
  guint64 size;

  if (!self->has_head)
    write_head (self);
  size = lu_stream_size (self->stream) - self->data_offset;
  describe_events (self);
  write_features (self);
  lu_stream_patch (self->stream, DATA_SIZE_AT, &size, sizeof size);
  lu_syscap_events_free (self->events);
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
