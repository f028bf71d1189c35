/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* per-cpu-events.c - one kind of event on every CPU; see per-cpu-events.h. */

#include "per-cpu-events.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* The largest ring that another program is expected to have mapped, in bytes. */
#define OTHERS_RING_MAX     (256u << 20)
#define SIDEBAND_RING_BYTES (512u << 10)
#define SIDEBAND_RING_FLOOR (32u << 10)

static LuCpuEvents *
cpu_events_new (int fd, int cpu)
{
  LuCpuEvents *cpu_events = g_new0 (LuCpuEvents, 1);

  cpu_events->cpu = cpu;
  cpu_events->fd = fd;
  cpu_events->more = lu_fd_array_new ();
  return cpu_events;
}

static void
cpu_events_free (gpointer pointer)
{
  LuCpuEvents *cpu_events = pointer;

  lu_ring_unmap (&cpu_events->ring);
  g_array_unref (cpu_events->more);
  lu_fd_clear (&cpu_events->fd);
  g_free (cpu_events);
}

LuCpuEvents *
lu_per_cpu_events_get (const LuPerCpuEvents *self, guint i)
{
  return g_ptr_array_index (self->events, i);
}

static void
set_open_error (GError **error, int saved_errno, const char *what, gboolean cpu_wide)
{
  g_autofree char *help = lu_perf_explain (saved_errno, cpu_wide);
  int code = saved_errno == EACCES || saved_errno == EPERM ? LU_ERROR_PERMISSION
             : saved_errno == ESRCH                        ? LU_ERROR_NO_PROCESS
                                                           : LU_ERROR_UNSUPPORTED;

  g_set_error (error, LU_ERROR, code, "%s: %s\n%s", what, g_strerror (saved_errno), help);
  g_strchomp ((*error)->message);
}

/* Redirects the event of one more task into this CPU's ring. A task that has just exited is not an
 * error. */
static gboolean
add_task (LuPerCpuEvents *self, LuCpuEvents *cpu_events, pid_t task, GError **error)
{
  lu_autofd fd = lu_perf_open (&self->attr, task, cpu_events->cpu);
  int steal;

  if (fd < 0 && errno == ESRCH)
    return TRUE;
  if (fd < 0 || ioctl (fd, PERF_EVENT_IOC_SET_OUTPUT, cpu_events->fd) < 0)
    {
      set_open_error (error, errno, "perf_event_open (a further thread)", FALSE);
      return FALSE;
    }
  steal = lu_fd_steal (&fd);
  g_array_append_val (cpu_events->more, steal);
  return TRUE;
}

/* The event of the first task that is still alive owns the ring. */
static LuCpuEvents *
open_cpu_events (LuPerCpuEvents *self, int cpu, guint *first_more, GError **error)
{
  guint n_tasks = self->tasks != NULL ? self->tasks->len : 1;
  LuCpuEvents *cpu_events = cpu_events_new (-1, cpu);

  for (guint i = 0; i < n_tasks && cpu_events->fd < 0; i++)
    {
      pid_t task = self->tasks != NULL ? g_array_index (self->tasks, pid_t, i) : -1;

      cpu_events->fd = lu_perf_open (&self->attr, task, cpu);
      *first_more = i + 1;
      if (cpu_events->fd < 0 && errno != ESRCH)
        break;
    }
  if (cpu_events->fd >= 0)
    return cpu_events;
  set_open_error (error, errno, "perf_event_open", self->tasks == NULL);
  cpu_events_free (cpu_events);
  return NULL;
}

static gboolean
add_cpu_events (LuPerCpuEvents *self, int cpu, GError **error)
{
  guint first_more = 0;
  LuCpuEvents *cpu_events = open_cpu_events (self, cpu, &first_more, error);

  if (cpu_events == NULL)
    return FALSE;
  g_ptr_array_add (self->events, cpu_events);
  /* The rings are mapped later, when all events are open: redirected events need no ring, and all
   * rings have one size. */
  for (guint i = first_more; self->tasks != NULL && i < self->tasks->len; i++)
    if (!add_task (self, cpu_events, g_array_index (self->tasks, pid_t, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
map_all (LuPerCpuEvents *self, gsize size)
{
  for (guint i = 0; i < self->events->len; i++)
    {
      LuCpuEvents *cpu_events = lu_per_cpu_events_get (self, i);

      if (!lu_ring_map (&cpu_events->ring, cpu_events->fd, size))
        {
          int saved_errno = errno;

          for (guint k = 0; k < i; k++)
            lu_ring_unmap (&lu_per_cpu_events_get (self, k)->ring);
          errno = saved_errno;
          return FALSE;
        }
    }
  self->ring_size = size;
  return TRUE;
}

static gboolean
map_largest (LuPerCpuEvents *self, gsize size, gsize minimum, GError **error)
{
  while (!map_all (self, size))
    {
      if ((errno != EPERM && errno != ENOMEM) || size / 2 < minimum)
        {
          g_set_error (
              error, LU_ERROR, LU_ERROR_PERMISSION,
              _ ("mapping %u rings of %zu KiB: %s\n"
                 "  The memory that perf may lock is used up: kernel.perf_event_mlock_kb is "
                 "%" PRIu64 " KiB per CPU, and the limit\n"
                 "  \"ulimit -l\" counts on top. Raise one of them, or run as root."),
              self->events->len, size >> 10, g_strerror (errno), lu_perf_mlock_kb ());
          return FALSE;
        }
      size /= 2;
    }
  return TRUE;
}

static LuPerCpuEvents *
per_cpu_events_new (const struct perf_event_attr *attr)
{
  LuPerCpuEvents *self = g_new0 (LuPerCpuEvents, 1);

  self->attr = *attr;
  lu_record_layout_init (&self->layout, attr);
  self->events = g_ptr_array_new_with_free_func (cpu_events_free);
  return self;
}

LuPerCpuEvents *
lu_per_cpu_events_new (const struct perf_event_attr *attr, GArray *cpus, GArray *tasks,
                       const LuRingSize *size, GError **error)
{
  g_autoptr (LuPerCpuEvents) self = per_cpu_events_new (attr);

  self->tasks = tasks != NULL ? g_array_ref (tasks) : NULL;
  for (guint i = 0; i < cpus->len; i++)
    if (!add_cpu_events (self, g_array_index (cpus, int, i), error))
      return NULL;
  if (!map_largest (self, size->wanted, size->minimum, error))
    return NULL;
  return g_steal_pointer (&self);
}

LuPerCpuEvents *
lu_per_cpu_events_new_sideband (const LuPerfAbilities *abilities, GArray *cpus, GArray *tasks,
                                GError **error)
{
  /* Without privilege, only little memory may be locked, and the samples need it. */
  const LuRingSize size = { .wanted = tasks != NULL ? SIDEBAND_RING_BYTES / 8 : SIDEBAND_RING_BYTES,
                            .minimum = SIDEBAND_RING_FLOOR };
  struct perf_event_attr attr;
  LuPerCpuEvents *self;

  lu_perf_sideband_attr (&attr, abilities);
  attr.inherit = tasks != NULL;
  self = lu_per_cpu_events_new (&attr, cpus, tasks, &size, error);
  if (self != NULL)
    lu_per_cpu_events_control (self, PERF_EVENT_IOC_ENABLE);
  return self;
}

/* Whoever maps an event's ring first chooses its size; any other size fails with EINVAL. */
static gboolean
map_inherited_size (LuCpuEvents *cpu_events, gsize size)
{
  struct stat info;

  /* Reading a mapping past the end of its file raises SIGBUS. */
  if (cpu_events->is_file
      && (fstat (cpu_events->fd, &info) != 0
          || info.st_size < (gint64) size + (gint64) sysconf (_SC_PAGESIZE)))
    {
      errno = EINVAL;
      return FALSE;
    }
  return lu_ring_map (&cpu_events->ring, cpu_events->fd, size);
}

static gboolean
map_inherited (LuCpuEvents *cpu_events, gsize size, gsize minimum)
{
  gsize at;

  for (at = size; at >= minimum; at /= 2)
    if (map_inherited_size (cpu_events, at))
      return TRUE;
    else if (errno != EPERM && errno != ENOMEM && errno != EINVAL)
      return FALSE;
  for (at = size * 2; errno == EINVAL && at <= OTHERS_RING_MAX; at *= 2)
    if (map_inherited_size (cpu_events, at))
      return TRUE;
  for (at = minimum / 2; errno == EINVAL && at >= (gsize) sysconf (_SC_PAGESIZE); at /= 2)
    if (map_inherited_size (cpu_events, at))
      return TRUE;
  return FALSE;
}

/* A read() of the event returns the value and, with PERF_FORMAT_LOST, a second number. Otherwise
 * the second number can only be an id, or a time, and times run only in enabled events. */
static gboolean
counts_losses (int fd)
{
  guint64 words[8], id = 0;

  return read (fd, words, sizeof words) == 2 * sizeof words[0]
         && ioctl (fd, PERF_EVENT_IOC_ID, &id) == 0 && words[1] != id;
}

LuPerCpuEvents *
lu_per_cpu_events_adopt (const struct perf_event_attr *attr, GArray *events, const LuRingSize *size,
                         GError **error)
{
  g_autoptr (LuPerCpuEvents) self = per_cpu_events_new (attr);
  gboolean count_losses = TRUE;

  /* Own all descriptors before anything can fail. */
  for (guint i = 0; i < events->len; i++)
    {
      const LuInheritedEvent *event = &g_array_index (events, LuInheritedEvent, i);
      LuCpuEvents *cpu_events = cpu_events_new (event->fd, event->cpu);

      cpu_events->is_file = !lu_perf_is_event (event->fd);
      g_ptr_array_add (self->events, cpu_events);
    }
  for (guint i = 0; i < self->events->len; i++)
    {
      LuCpuEvents *cpu_events = lu_per_cpu_events_get (self, i);

      if (!map_inherited (cpu_events, size->wanted, size->minimum))
        {
          g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION,
                       _ ("mapping the ring of descriptor %d (CPU %d): %s"), cpu_events->fd,
                       cpu_events->cpu, g_strerror (errno));
          return NULL;
        }
      self->ring_size =
          i == 0 ? cpu_events->ring.data_size : MIN (self->ring_size, cpu_events->ring.data_size);
      count_losses = count_losses && counts_losses (cpu_events->fd);
    }
  self->attr.read_format = count_losses ? PERF_FORMAT_LOST : 0;
  return g_steal_pointer (&self);
}

LuPerCpuEvents *
lu_per_cpu_events_view (const LuPerCpuEvents *of)
{
  LuPerCpuEvents *self = per_cpu_events_new (&of->attr);

  for (guint i = 0; i < of->events->len; i++)
    {
      LuCpuEvents *cpu_events = cpu_events_new (-1, lu_per_cpu_events_get (of, i)->cpu);

      lu_ring_view (&cpu_events->ring, &lu_per_cpu_events_get (of, i)->ring);
      g_ptr_array_add (self->events, cpu_events);
    }
  return self;
}

void
lu_per_cpu_events_free (LuPerCpuEvents *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->events);
  if (self->tasks != NULL)
    g_array_unref (self->tasks);
  g_free (self);
}

gboolean
lu_per_cpu_events_add_cpu (LuPerCpuEvents *self, int cpu, GError **error)
{
  LuCpuEvents *cpu_events;

  if (!add_cpu_events (self, cpu, error))
    return FALSE;
  cpu_events = lu_per_cpu_events_get (self, self->events->len - 1);
  if (lu_ring_map (&cpu_events->ring, cpu_events->fd, self->ring_size))
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION, _ ("mapping the ring of CPU %d: %s"), cpu,
               g_strerror (errno));
  g_ptr_array_remove_index (self->events, self->events->len - 1);
  return FALSE;
}

gboolean
lu_per_cpu_events_has_cpu (const LuPerCpuEvents *self, int cpu)
{
  for (guint i = 0; i < self->events->len; i++)
    if (lu_per_cpu_events_get (self, i)->cpu == cpu)
      return TRUE;
  return FALSE;
}

/* The kernel requires both events to be on one CPU and to use one clock (perf_event_set_output()).
 */
gboolean
lu_cpu_events_attach (LuPerCpuEvents *self, LuCpuEvents *cpu_events, const LuSamplerHook *hook,
                      GError **error)
{
  struct perf_event_attr attr;
  lu_autofd fd = -1;
  guint64 id;

  lu_perf_output_attr (&attr, &self->attr);
  if (self->tasks == NULL && (attr.sample_type & PERF_SAMPLE_IDENTIFIER) != 0)
    fd = lu_perf_open (&attr, -1, cpu_events->cpu);
  else
    errno = EINVAL;
  if (fd < 0 || ioctl (fd, PERF_EVENT_IOC_ID, &id) < 0
      || ioctl (fd, PERF_EVENT_IOC_SET_OUTPUT, cpu_events->fd) < 0
      || ioctl (fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                   _ ("an event for the output of a BPF program on CPU %d: %s"), cpu_events->cpu,
                   g_strerror (errno));
      return FALSE;
    }
  lu_record_layout_init (&self->output_layout, &attr);
  self->output_layout.is_output = TRUE;
  cpu_events->output_id = id;
  return hook->attach (cpu_events->cpu, cpu_events->fd, fd, hook->user_data, error);
}

void
lu_per_cpu_events_share_outputs (const LuPerCpuEvents *self, LuPerCpuEvents *view)
{
  view->output_layout = self->output_layout;
  for (guint i = 0; i < view->events->len; i++)
    lu_per_cpu_events_get (view, i)->output_id = lu_per_cpu_events_get (self, i)->output_id;
}

gsize
lu_per_cpu_events_ring_bytes (const LuPerCpuEvents *self)
{
  gsize bytes = 0;

  for (guint i = 0; i < self->events->len; i++)
    bytes += lu_per_cpu_events_get (self, i)->ring.data_size;
  return bytes;
}

void
lu_per_cpu_events_control (LuPerCpuEvents *self, unsigned long request)
{
  for (guint i = 0; i < self->events->len; i++)
    {
      LuCpuEvents *cpu_events = lu_per_cpu_events_get (self, i);

      /* This fails only for a descriptor that is not an event. */
      ioctl (cpu_events->fd, request, 0);
      for (guint k = 0; k < cpu_events->more->len; k++)
        ioctl (g_array_index (cpu_events->more, int, k), request, 0);
    }
}

void
lu_per_cpu_events_load_heads (LuPerCpuEvents *self)
{
  for (guint i = 0; i < self->events->len; i++)
    lu_per_cpu_events_get (self, i)->head = lu_ring_head (&lu_per_cpu_events_get (self, i)->ring);
}

double
lu_per_cpu_events_fill (const LuPerCpuEvents *self)
{
  double fill = 0;

  for (guint i = 0; i < self->events->len; i++)
    {
      const LuRing *ring = &lu_per_cpu_events_get (self, i)->ring;
      double used = (double) (lu_ring_head (ring) - ring->tail) / (double) ring->data_size;

      fill = MAX (fill, used);
    }
  return fill;
}

gboolean
lu_per_cpu_events_are_drained (const LuPerCpuEvents *self)
{
  for (guint i = 0; i < self->events->len; i++)
    if (lu_per_cpu_events_get (self, i)->ring.tail != lu_per_cpu_events_get (self, i)->head)
      return FALSE;
  return TRUE;
}

static guint64
read_lost (int fd)
{
  struct
  {
    guint64 value, lost;
  } counts; /* read_format is PERF_FORMAT_LOST alone */

  return read (fd, &counts, sizeof counts) == sizeof counts ? counts.lost : 0;
}

guint64
lu_cpu_events_lost (const LuPerCpuEvents *self, const LuCpuEvents *cpu_events)
{
  guint64 lost;

  if (self->attr.read_format != PERF_FORMAT_LOST)
    return cpu_events->lost_records;
  lost = read_lost (cpu_events->fd);
  for (guint i = 0; i < cpu_events->more->len; i++)
    lost += read_lost (g_array_index (cpu_events->more, int, i));
  return lost;
}

guint64
lu_per_cpu_events_lost (const LuPerCpuEvents *self)
{
  guint64 lost = 0;

  for (guint i = 0; i < self->events->len; i++)
    lost += lu_cpu_events_lost (self, lu_per_cpu_events_get (self, i));
  return lost;
}

void
lu_online_cpus_read (char text[LU_ONLINE_CPUS_MAX])
{
  lu_autofd fd = open ("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
  gssize n = fd >= 0 ? read (fd, text, LU_ONLINE_CPUS_MAX - 1) : 0;

  text[MAX (n, 0)] = 0;
}

GArray *
lu_online_cpus (void)
{
  char text[LU_ONLINE_CPUS_MAX];
  GArray *cpus = g_array_new (FALSE, FALSE, sizeof (int));
  const char *at = text;

  lu_online_cpus_read (text);
  while (at != NULL && g_ascii_isdigit (*at))
    {
      char *end;
      gint64 first = g_ascii_strtoll (at, &end, 10);
      gint64 last = *end == '-' ? g_ascii_strtoll (end + 1, &end, 10) : first;

      for (int cpu = (int) first; cpu <= last && cpus->len < 8192; cpu++)
        g_array_append_val (cpus, cpu);
      at = *end == ',' ? end + 1 : NULL;
    }
  if (cpus->len == 0)
    for (int cpu = 0; cpu < sysconf (_SC_NPROCESSORS_ONLN); cpu++)
      g_array_append_val (cpus, cpu);
  return cpus;
}

guint
lu_n_possible_cpus (void)
{
  g_autofree char *text = lu_fd_read_file ("/sys/devices/system/cpu/possible", 4096, NULL);
  const char *last = text;

  /* "0-7", "0,2-3" */
  for (const char *at = text; at != NULL && *at != 0; at++)
    if (!g_ascii_isdigit (*at) && g_ascii_isdigit (at[1]))
      last = at + 1;
  return last != NULL ? (guint) g_ascii_strtoull (last, NULL, 10) + 1
                      : (guint) sysconf (_SC_NPROCESSORS_CONF);
}

gboolean
lu_cpus_contain (GArray *cpus, int cpu)
{
  for (guint i = 0; i < cpus->len; i++)
    if (g_array_index (cpus, int, i) == cpu)
      return TRUE;
  return FALSE;
}
