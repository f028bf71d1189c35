/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-perf-data.c - a recorded file as a source.
 *
 * Reads ahead until the records of a round are in order (record-order.h), then gives them out one
 * by one: those of a file are read again at their place, so what waits costs 24 bytes each. A
 * record that is to come LATER stays at the head; nothing is ever lost, and nobody is waiting for
 * us. */

#include "input/source-perf-data.h"

#include "base/error.h"
#include "input/perf-event.h"
#include "input/perf-data.h"
#include "input/record-order.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/utsname.h>

enum
{
  RECORD_MAX = 65536,
  GIVEN_PER_ROUND = 4096, /* the caller looks after other things between rounds */
  READ_PER_ROUND = 65536,
  RETRY_MS = 2, /* after a refused record */
};

typedef struct
{
  LuSource base;
  LuPerfData *file;
  LuRecordOrder order;
  LuSourceStats stats;
  const LuPerfEvent *sampler; /* the event with stacks; borrowed from the file */
  gboolean has_chains_only;   /* no event has registers and stacks */
  char *kernel_symbol;        /* owned; NULL: not known */
  guint64 kernel_address;
  guint64 lost, lost_samples;
  guint64 start_time;
  gboolean has_ended;   /* nothing more to read */
  gboolean was_refused; /* the receiver had no room */
  char *late;           /* how many records came out of order; NULL if none did */
  guint64 *scratch;     /* one record */
} PerfDataSource;

/* The first event with all of these fields. perf's dummy, which only brings side-band, has none. */
static const LuPerfEvent *
find_event_with (const LuPerfData *file, guint64 fields)
{
  for (guint i = 0; i < lu_perf_data_get_n_events (file); i++)
    {
      const LuPerfEvent *event = lu_perf_data_get_event (file, i);
      gboolean is_dummy =
          event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;

      if (!is_dummy && (event->attr.sample_type & fields) == fields)
        return event;
    }
  return NULL;
}

/* The event a record belongs to: by its id if there are several. Records that perf made up itself
 * have id 0 and the layout of the first event. */
static const LuPerfEvent *
find_event (const LuPerfData *file, const LuRawRecord *record)
{
  const LuPerfEvent *first;
  guint64 id = 0;

  if (lu_perf_data_get_n_events (file) == 0)
    return NULL;
  first = lu_perf_data_get_event (file, 0);
  if (lu_perf_data_get_n_events (file) == 1
      || !lu_record_event_id (&first->layout, record->bytes, record->size, &id) || id == 0)
    return first;
  return lu_perf_data_find_event (file, id);
}

/* Reading ahead */

/* perf tells where a symbol of the kernel was, as "[kernel.kallsyms]_text". */
static void
learn_kernel (PerfDataSource *self, const LuMmapEvent *map)
{
  static const char prefix[] = "[kernel.kallsyms]";

  if (self->kernel_symbol != NULL || !g_str_has_prefix (map->path, prefix))
    return;
  self->kernel_symbol = g_strdup (map->path + strlen (prefix));
  self->kernel_address = map->file_offset;
}

static void
take_record (PerfDataSource *self, const LuRawRecord *record, gboolean readable)
{
  const LuPerfEvent *found = find_event (self->file, record);
  LuEvent event;

  if (found == NULL || !lu_record_decode (&found->layout, record->bytes, record->size, &event))
    {
      self->stats.malformed++;
      return;
    }
  self->stats.records++;
  if (event.kind == LU_EVENT_MMAP && event.mmap.is_kernel)
    learn_kernel (self, &event.mmap);
  if (event.kind == LU_EVENT_NONE || (event.kind == LU_EVENT_MMAP && event.mmap.is_kernel))
    return;
  if (event.time == G_MAXUINT64)
    event.time = 0;
  if (event.time != 0 && (self->start_time == 0 || event.time < self->start_time))
    self->start_time = event.time;
  lu_record_order_add (&self->order, event.time, record->offset, record->size,
                       readable ? NULL : record->bytes);
}

/* Reads until something is ready, there is nothing to read just now, or it was enough for once.
 * Returns whether something was read. */
static gboolean
read_ahead (PerfDataSource *self)
{
  guint n = 0;

  for (; n < READ_PER_ROUND && !self->has_ended && lu_record_order_peek (&self->order) == NULL; n++)
    {
      LuRawRecord record;
      gboolean readable;
      LuPerfResult result = lu_perf_data_next (self->file, &record, &readable);

      if (result == LU_PERF_AGAIN)
        break;
      if (result == LU_PERF_END)
        {
          self->has_ended = TRUE;
          lu_record_order_finish (&self->order);
        }
      else if (record.type == LU_PERF_FINISHED_ROUND)
        lu_record_order_finish_round (&self->order);
      else
        take_record (self, &record, readable);
    }
  return n > 0;
}

/* Giving out */

static void
add_build_id (PerfDataSource *self, LuMmapEvent *map)
{
  guint8 size;
  const guint8 *id;

  if (map->build_id_size > 0)
    return;
  id = lu_perf_data_find_build_id (self->file, map->path, &size);
  if (id == NULL)
    return;
  memcpy (map->build_id, id, size);
  map->build_id_size = size;
}

/* The losses of the rings are known in up to two ways, one record per gap and, from perf 6.1 on,
 * the kernel's own count at the end: they count the same losses. */
static void
count_event (PerfDataSource *self, const LuEvent *event)
{
  if (event->kind == LU_EVENT_LOST)
    self->lost += event->lost.count;
  else if (event->kind == LU_EVENT_LOST_SAMPLES)
    self->lost_samples += event->lost.count;
  else if (event->kind == LU_EVENT_THROTTLE)
    self->stats.throttled++;
}

/* The record at the head again, decoded. FALSE if it is not what it was (the file was changed). */
static gboolean
load_record (PerfDataSource *self, const LuOrderEntry *entry, LuEvent *event)
{
  LuRawRecord record = { .bytes = entry->held, .size = LU_ORDER_SIZE (entry) };
  const LuPerfEvent *found;

  if (entry->held == NULL)
    {
      record.bytes = (const guint8 *) self->scratch;
      if (!lu_perf_data_read_at (self->file, LU_ORDER_POSITION (entry), self->scratch, record.size))
        return FALSE;
    }
  found = find_event (self->file, &record);
  return found != NULL && lu_record_decode (&found->layout, record.bytes, record.size, event);
}

/* Gives out the record at the head. FALSE: it has to wait. */
static gboolean
give_record (PerfDataSource *self, const LuOrderEntry *entry, LuEventFunc func, gpointer user_data)
{
  LuEvent event;

  if (!load_record (self, entry, &event))
    self->stats.malformed++;
  else
    {
      if (event.kind == LU_EVENT_MMAP)
        add_build_id (self, &event.mmap);
      if (event.kind == LU_EVENT_SAMPLE)
        event.sample.is_chain = self->has_chains_only != 0;
      if (event.time == G_MAXUINT64)
        event.time = 0;
      if (func (&event, user_data) == LU_VERDICT_LATER)
        return FALSE;
      count_event (self, &event);
    }
  lu_record_order_pop (&self->order);
  return TRUE;
}

static LuRound
source_drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  PerfDataSource *self = (PerfDataSource *) source;
  gboolean has_read = read_ahead (self);
  guint n = 0;

  for (; n < GIVEN_PER_ROUND; n++)
    {
      const LuOrderEntry *entry = lu_record_order_peek (&self->order);

      if (entry == NULL)
        break;
      self->was_refused = !give_record (self, entry, func, user_data);
      if (self->was_refused)
        return LU_ROUND_OPEN;
    }
  if (n > 0 || has_read)
    return LU_ROUND_CLOSED;
  if (!self->has_ended)
    return LU_ROUND_EMPTY;
  if (self->order.n_late > 0 && self->late == NULL)
    self->late = g_strdup_printf (ngettext ("%" PRIu64 " record came too late to be put in order",
                                            "%" PRIu64 " records came too late to be put in order",
                                            self->order.n_late),
                                  self->order.n_late);
  return LU_ROUND_END;
}

static void
source_wait (LuSource *source, int wake_fd, int timeout_ms)
{
  PerfDataSource *self = (PerfDataSource *) source;

  if (self->was_refused)
    poll (&(struct pollfd){ .fd = wake_fd, .events = POLLIN }, 1, RETRY_MS);
  else if (lu_record_order_peek (&self->order) == NULL && !self->has_ended)
    lu_perf_data_wait (self->file, wake_fd, timeout_ms);
}

static gboolean
source_start (LuSource *source, GError **error)
{
  return TRUE;
}

/* Leaves out what was not read yet. */
static void
source_stop (LuSource *source)
{
  PerfDataSource *self = (PerfDataSource *) source;

  if (self->has_ended)
    return;
  self->has_ended = TRUE;
  lu_record_order_finish (&self->order);
}

/* perf's name for the event, or ours for the common ones if the file does not say. */
static const char *
event_name (const LuPerfEvent *event)
{
  guint32 type = event->attr.type;
  guint64 config = event->attr.config;

  if (event->name != NULL)
    return event->name;
  if (type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_CPU_CYCLES)
    return "cycles";
  if (type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_CPU_CLOCK)
    return "cpu-clock";
  if (type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_TASK_CLOCK)
    return "task-clock";
  return "event";
}

static void
source_get_info (LuSource *source, LuSourceInfo *info)
{
  const PerfDataSource *self = (const PerfDataSource *) source;
  const struct perf_event_attr *attr = &self->sampler->attr;
  const LuPerfInfo *file = lu_perf_data_get_info (self->file);
  const char *trouble = lu_perf_data_get_trouble (self->file);

  *info = (LuSourceInfo){
    .event_name = event_name (self->sampler),
    .frequency = attr->freq ? (double) attr->sample_freq : 0,
    .period = attr->freq ? 0 : attr->sample_period,
    .stack_size = attr->sample_stack_user,
    .kernel_samples = !attr->exclude_kernel,
    .has_lost_counter = (attr->read_format & PERF_FORMAT_LOST) != 0,
    .lossless = TRUE,
    .has_chains_only = self->has_chains_only,
    .kernel_symbol = self->kernel_symbol,
    .kernel_address = self->kernel_address,
    .start_time = self->start_time,
    .os_release = file->os_release,
    .command_line = file->command_line,
    .trouble = trouble != NULL ? trouble : self->late,
  };
}

static void
source_get_stats (LuSource *source, LuSourceStats *stats)
{
  const PerfDataSource *self = (const PerfDataSource *) source;

  *stats = self->stats;
  stats->lost_samples = MAX (self->lost, self->lost_samples);
}

static void
source_free (LuSource *source)
{
  PerfDataSource *self = (PerfDataSource *) source;

  lu_record_order_clear (&self->order);
  lu_perf_data_free (self->file);
  g_free (self->scratch);
  g_free (self->kernel_symbol);
  g_free (self->late);
  g_free (self);
}

static const LuSourceOps ops = {
  .name = "perf.data",
  .start = source_start,
  .drain = source_drain,
  .wait = source_wait,
  .stop = source_stop,
  .get_info = source_get_info,
  .get_stats = source_get_stats,
  .free = source_free,
};

/* The registers of another architecture cannot be unwound here. */
static gboolean
check_architecture (const LuPerfData *file, GError **error)
{
  const char *arch = lu_perf_data_get_info (file)->arch;
  struct utsname here;

  if (arch == NULL || uname (&here) < 0 || strcmp (arch, here.machine) == 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
               _ ("%s: recorded on %s, this machine is %s; replay it there"),
               lu_perf_data_get_name (file), arch, here.machine);
  return FALSE;
}

static gboolean
check_file (PerfDataSource *self, GError **error)
{
  const char *name = lu_perf_data_get_name (self->file);
  const char *trouble = lu_perf_data_get_trouble (self->file);

  self->sampler = find_event_with (self->file, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  if (self->sampler != NULL)
    return check_architecture (self->file, error);
  self->has_chains_only = TRUE;
  self->sampler = find_event_with (self->file, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
  if (self->sampler == NULL)
    self->sampler = find_event_with (self->file, PERF_SAMPLE_IP);
  if (self->sampler != NULL)
    return TRUE;
  if (lu_perf_data_get_n_events (self->file) == 0)
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("%s: describes no event%s%s"), name,
                 trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
  else
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                 _ ("%s: its samples say nothing of where they hit; record with `perf record "
                    "--call-graph dwarf`"),
                 name);
  return FALSE;
}

/* The events of a pipe are described in front of its first record. */
static void
read_first_record (PerfDataSource *self)
{
  while (!self->has_ended && self->stats.records + self->stats.malformed == 0)
    if (!read_ahead (self))
      lu_perf_data_wait_at_start (self->file);
}

/* A file's first round tells when the recording began. */
static void
read_first_round (PerfDataSource *self)
{
  while (!self->has_ended && lu_record_order_peek (&self->order) == NULL)
    read_ahead (self);
}

static LuSource *
source_new (LuPerfData *file, GError **error)
{
  PerfDataSource *self = g_new0 (PerfDataSource, 1);
  g_autoptr (LuSource) source = &self->base;

  self->base.ops = &ops;
  self->file = file;
  self->scratch = g_malloc (RECORD_MAX);
  lu_record_order_init (&self->order);
  if (lu_perf_data_get_n_events (file) == 0)
    read_first_record (self);
  if (!check_file (self, error))
    return NULL;
  if (!lu_perf_data_is_pipe (file))
    read_first_round (self);
  return g_steal_pointer (&source);
}

LuSource *
lu_source_perf_data_new_for_fd (int fd, const char *name, GError **error)
{
  LuPerfData *file = lu_perf_data_new_for_fd (fd, name, error);

  return file != NULL ? source_new (file, error) : NULL;
}

LuSource *
lu_source_perf_data_new (const char *path_or_dash, GError **error)
{
  LuPerfData *file = lu_perf_data_open (path_or_dash, error);

  return file != NULL ? source_new (file, error) : NULL;
}
