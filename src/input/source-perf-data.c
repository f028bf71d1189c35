/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-perf-data.c - a recorded file as a source; see source-perf-data.h.
 *
 * Reads ahead until the records of a round are sorted (record-order.h), then delivers them one by
 * one. Records of a file are read again at their position, so a waiting one costs 24 bytes. A
 * record with the verdict LATER stays at the head; nothing is ever lost, because no kernel waits
 * for us. */

#include "input/source-perf-data.h"

#include "arch/arch.h"
#include "base/error.h"
#include "base/fd.h"
#include "input/deferred-chains.h"
#include "input/perf-event.h"
#include "input/perf-data.h"
#include "input/record-order.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

enum
{
  RECORD_MAX = 65536,
  GIVEN_PER_ROUND = 4096, /* the caller has other work between rounds */
  READ_PER_ROUND = 65536,
  RETRY_MS = 2, /* after a refused record */
};

typedef struct
{
  LuSource base;
  LuPerfData *file;
  LuRecordOrder order;
  const LuPerfEvent *sampler; /* the event with stacks; borrowed from the file */
  GPtrArray *sampled;         /* of LuPerfEvent, borrowed: those with samples, the sampler first */
  GArray *infos;              /* of LuEventInfo, one for each of these */
  guint16 machine;            /* EM_* of the machine that recorded it; 0: this one */
  gboolean has_chains_only;   /* no event has registers and stacks; chains are replayed */
  char *kernel_symbol;        /* owned; NULL: unknown */
  guint64 kernel_address;
  guint64 lost, lost_samples;
  guint64 start_time;
  gboolean has_ended;       /* nothing more to read */
  gboolean was_refused;     /* the receiver had no room */
  LuDeferredChains *chains; /* NULL: no event defers callchains */
  char *late;               /* says how many records were out of order; NULL if none were */
  guint64 *scratch;         /* memory for one record */
} PerfDataSource;

/* perf's dummy event only carries side-band. */
static gboolean
is_dummy (const LuPerfEvent *event)
{
  return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;
}

/* An event without a period of its own is only counted, with the samples of another one. */
static gboolean
has_samples (const LuPerfEvent *event)
{
  return !is_dummy (event) && event->attr.sample_period != 0;
}

/* Returns the first event with all of these fields, or NULL. */
static const LuPerfEvent *
find_event_with (const LuPerfData *file, guint64 fields)
{
  for (guint i = 0; i < file->events.events->len; i++)
    {
      const LuPerfEvent *event = lu_perf_events_get (&file->events, i);

      if (!is_dummy (event) && (event->attr.sample_type & fields) == fields)
        return event;
    }
  return NULL;
}

/* Returns the event that a record belongs to, by its id if there are several. Records that perf
 * made up have id 0 and the layout of the first event. */
static const LuPerfEvent *
find_event (const LuPerfData *file, const LuRawRecord *record)
{
  const LuPerfEvent *first;
  guint64 id = 0;

  if (file->events.events->len == 0)
    return NULL;
  first = lu_perf_events_get (&file->events, 0);
  if (file->events.events->len == 1
      || !lu_record_event_id (&first->layout, record->bytes, record->size, &id) || id == 0)
    return first;
  return lu_perf_events_find (&file->events, id);
}

/* Reading ahead. */

/* perf records the address of a kernel symbol as the mapping "[kernel.kallsyms]_text". */
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
      lu_count (&self->base.counters, LU_COUNTER_MALFORMED);
      return;
    }
  lu_count (&self->base.counters, LU_COUNTER_RECORDS);
  if (event.kind == LU_EVENT_MMAP && event.mmap.is_kernel)
    learn_kernel (self, &event.mmap);
  if (event.kind == LU_EVENT_DEFERRED_CHAIN && self->chains != NULL && self->file->is_pipe)
    lu_deferred_chains_add (self->chains, &event);
  if (event.kind == LU_EVENT_NONE || event.kind == LU_EVENT_DEFERRED_CHAIN
      || (event.kind == LU_EVENT_MMAP && event.mmap.is_kernel))
    return;
  if (event.time == G_MAXUINT64)
    event.time = 0;
  if (event.time != 0 && (self->start_time == 0 || event.time < self->start_time))
    self->start_time = event.time;
  lu_record_order_add (&self->order, event.time, record->offset, record->size,
                       readable ? NULL : record->bytes);
}

/* Reads until something is ready, nothing is available now, or the limit of a round is reached.
 * Returns whether anything was read. */
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

/* Delivering. */

static void
add_build_id (PerfDataSource *self, LuMmapEvent *map)
{
  guint8 size;
  const guint8 *id;

  if (map->build_id_size > 0)
    return;
  id = lu_perf_features_find_build_id (&self->file->features, map->path, &size);
  if (id == NULL)
    return;
  memcpy (map->build_id, id, size);
  map->build_id_size = size;
}

/* Losses may be reported twice: one record per gap and, since perf 6.1, the kernel's own count at
 * the end. Both count the same losses. */
static void
count_event (PerfDataSource *self, const LuEvent *event)
{
  if (event->kind == LU_EVENT_LOST)
    self->lost += event->lost.count;
  else if (event->kind == LU_EVENT_LOST_SAMPLES)
    self->lost_samples += event->lost.count;
  else
    return;
  lu_counters_set (&self->base.counters, LU_COUNTER_LOST_SAMPLES,
                   MAX (self->lost, self->lost_samples));
}

/* Returns the index of the event in self->sampled. */
static guint
event_index (const PerfDataSource *self, const LuPerfEvent *event)
{
  guint index;

  return g_ptr_array_find (self->sampled, event, &index) ? index : 0;
}

/* Reads and decodes the record at the head again. Returns FALSE if it has changed (the file was
 * modified). */
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
  if (found == NULL || !lu_record_decode (&found->layout, record.bytes, record.size, event))
    return FALSE;
  if (event->kind == LU_EVENT_SAMPLE)
    event->sample.event = event_index (self, found);
  return TRUE;
}

/* Delivers the record at the head. Returns FALSE if it has to wait. */
static gboolean
give_record (PerfDataSource *self, const LuOrderEntry *entry, LuEventFunc func, gpointer user_data)
{
  LuEvent event;

  if (!load_record (self, entry, &event))
    lu_count (&self->base.counters, LU_COUNTER_MALFORMED);
  else
    {
      if (event.kind == LU_EVENT_MMAP)
        add_build_id (self, &event.mmap);
      if (event.kind == LU_EVENT_SAMPLE)
        {
          if (self->chains != NULL)
            lu_deferred_chains_complete (self->chains, &event);
          event.sample.is_chain = self->has_chains_only != 0;
          event.sample.regs.machine = self->machine;
        }
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

/* Drops what has not been read yet. */
static void
source_stop (LuSource *source)
{
  PerfDataSource *self = (PerfDataSource *) source;

  if (self->has_ended)
    return;
  self->has_ended = TRUE;
  lu_record_order_finish (&self->order);
}

/* Returns perf's name for the event, or ours for common events if the file has none. */
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

static gboolean
is_clock (const struct perf_event_attr *attr)
{
  return attr->type == PERF_TYPE_SOFTWARE
         && (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Samples of a single event that is sampled at a frequency stand for equal times. Several events
 * are told apart by what each of them counts. */
static LuEventInfo
describe_event (const LuPerfEvent *event, gboolean is_single)
{
  const struct perf_event_attr *attr = &event->attr;

  if (attr->freq && (is_single || (attr->sample_type & PERF_SAMPLE_PERIOD) == 0))
    return lu_event_of_frequency (event_name (event), (double) attr->sample_freq);
  return (LuEventInfo){ .name = event_name (event),
                        .unit = is_clock (attr) ? LU_UNIT_TIME : LU_UNIT_COUNT,
                        .weight = attr->freq ? 0 : attr->sample_period,
                        .varies = attr->freq };
}

/* A chain may come long after its samples, so a file is read for them first. In a pipe, those are
 * found that have come when a sample is due. */
static void
find_deferred_chains (PerfDataSource *self)
{
  g_autoptr (LuPerfData) file = NULL;
  int fd = self->file->is_pipe ? -1 : fcntl (self->file->fd, F_DUPFD_CLOEXEC, 0);
  LuRawRecord record;
  gboolean readable, is_deferred = FALSE;

  for (guint i = 0; i < self->file->events.events->len; i++)
    is_deferred |= lu_perf_event_defers_callchains (lu_perf_events_get (&self->file->events, i));
  if (is_deferred)
    self->chains = lu_deferred_chains_new ();
  if (is_deferred && fd >= 0)
    file = lu_perf_data_new_for_fd (fd, self->file->name, NULL);
  else if (fd >= 0)
    close (fd);
  while (file != NULL && lu_perf_data_next (file, &record, &readable) == LU_PERF_RECORD)
    {
      const LuPerfEvent *found =
          record.type == LU_RECORD_CALLCHAIN_DEFERRED ? find_event (file, &record) : NULL;
      LuEvent event;

      if (found != NULL && lu_record_decode (&found->layout, record.bytes, record.size, &event)
          && event.kind == LU_EVENT_DEFERRED_CHAIN)
        lu_deferred_chains_add (self->chains, &event);
    }
}

/* Once the sampler is known. */
static void
find_sampled_events (PerfDataSource *self)
{
  g_ptr_array_add (self->sampled, (gpointer) self->sampler);
  for (guint i = 0; i < self->file->events.events->len; i++)
    {
      const LuPerfEvent *event = lu_perf_events_get (&self->file->events, i);

      if (event != self->sampler && self->sampled->len < LU_MAX_EVENTS && has_samples (event))
        g_ptr_array_add (self->sampled, (gpointer) event);
    }
  for (guint i = 0; i < self->sampled->len; i++)
    {
      LuEventInfo info =
          describe_event (g_ptr_array_index (self->sampled, i), self->sampled->len == 1);

      g_array_append_val (self->infos, info);
    }
}

static void
source_get_info (LuSource *source, LuSourceInfo *info)
{
  const PerfDataSource *self = (const PerfDataSource *) source;
  const struct perf_event_attr *attr = &self->sampler->attr;
  const LuPerfInfo *file = &self->file->features.info;
  const char *trouble = self->file->trouble;

  *info = (LuSourceInfo){
    .events = (const LuEventInfo *) (gpointer) self->infos->data,
    .n_events = self->infos->len,
    .frequency = attr->freq ? (double) attr->sample_freq : 0,
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
source_free (LuSource *source)
{
  PerfDataSource *self = (PerfDataSource *) source;

  lu_record_order_clear (&self->order);
  lu_perf_data_free (self->file);
  g_ptr_array_unref (self->sampled);
  g_array_unref (self->infos);
  g_free (self->scratch);
  lu_deferred_chains_free (self->chains);
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
  .free = source_free,
};

/* Finds the architecture of the registers. */
static gboolean
find_machine (PerfDataSource *self, GError **error)
{
  const char *name = self->file->features.info.arch;
  const LuArch *arch;
  struct utsname here;

  if (name == NULL || uname (&here) < 0 || strcmp (name, here.machine) == 0)
    return TRUE;
  arch = lu_arch_of_kernel_name (name);
  if (arch != NULL)
    {
      self->machine = arch->machine;
      return TRUE;
    }
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
               _ ("%s: recorded on %s, this machine is %s; replay it there"), self->file->name,
               name, here.machine);
  return FALSE;
}

static gboolean
check_file (PerfDataSource *self, GError **error)
{
  const char *name = self->file->name;
  const char *trouble = self->file->trouble;

  self->sampler = find_event_with (self->file, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  if (self->sampler != NULL)
    return find_machine (self, error);
  self->has_chains_only = TRUE;
  self->sampler = find_event_with (self->file, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
  if (self->sampler == NULL)
    self->sampler = find_event_with (self->file, PERF_SAMPLE_IP);
  if (self->sampler != NULL)
    return TRUE;
  if (self->file->events.events->len == 0)
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("%s: describes no event%s%s"), name,
                 trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
  else
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                 _ ("%s: its samples do not say where they hit; record with `perf record "
                    "--call-graph dwarf`"),
                 name);
  return FALSE;
}

/* A pipe describes its events before its first record. */
static void
read_first_record (PerfDataSource *self)
{
  const LuCounters *counters = &self->base.counters;

  while (!self->has_ended
         && lu_counters_get (counters, LU_COUNTER_RECORDS)
                    + lu_counters_get (counters, LU_COUNTER_MALFORMED)
                == 0)
    if (!read_ahead (self))
      lu_perf_data_wait_at_start (self->file);
}

/* The first round of a file tells when the recording began. */
static void
read_first_round (PerfDataSource *self)
{
  while (!self->has_ended && lu_record_order_peek (&self->order) == NULL)
    read_ahead (self);
}

LuSource *
lu_source_perf_data_new_for_fd (int fd, const char *name, GError **error)
{
  LuPerfData *file = lu_perf_data_new_for_fd (fd, name, error);
  g_autoptr (LuSource) source = NULL;
  PerfDataSource *self;

  if (file == NULL)
    return NULL;
  self = g_new0 (PerfDataSource, 1);
  source = &self->base;
  self->base.ops = &ops;
  self->file = file;
  self->scratch = g_malloc (RECORD_MAX);
  self->sampled = g_ptr_array_new ();
  self->infos = g_array_new (FALSE, FALSE, sizeof (LuEventInfo));
  lu_record_order_init (&self->order);
  if (file->events.events->len == 0)
    read_first_record (self);
  if (!check_file (self, error))
    return NULL;
  find_sampled_events (self);
  find_deferred_chains (self);
  if (!file->is_pipe)
    read_first_round (self);
  return g_steal_pointer (&source);
}

LuSource *
lu_source_perf_data_new (const char *path_or_dash, GError **error)
{
  const char *name = strcmp (path_or_dash, "-") == 0 ? _ ("standard input") : path_or_dash;
  int fd = lu_fd_open_input (path_or_dash);

  if (fd >= 0)
    return lu_source_perf_data_new_for_fd (fd, name, error);
  g_set_error (error, LU_ERROR, errno == EACCES ? LU_ERROR_PERMISSION : LU_ERROR_FAILED, "%s: %s",
               name, g_strerror (errno));
  return NULL;
}
