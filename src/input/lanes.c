/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lanes.c - one kind of event on every CPU; see lanes.h. */

#include "input/lanes.h"

#include "base/error.h"
#include "base/fd.h"
#include "input/perf-event.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What another program may have mapped an event's ring with, at most. */
#define OTHERS_RING_MAX (256u << 20)

static LuLane *
lane_new (int fd, int cpu)
{
  LuLane *lane = g_new0 (LuLane, 1);

  lane->cpu = cpu;
  lane->fd = fd;

  return lane;
}

static void
lane_free (gpointer pointer)
{
  LuLane *lane = pointer;

  lu_ring_unmap (&lane->ring);
  if (lane->more != NULL)
    {
      for (guint i = 0; i < lane->more->len; i++)
        close (g_array_index (lane->more, int, i));
      g_array_unref (lane->more);
    }
  lu_fd_clear (&lane->fd);
  g_free (lane);
}

LuLane *
lu_lanes_get (const LuLanes *self, guint i)
{
  return g_ptr_array_index (self->lanes, i);
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

/* Redirects the event of one more task into the lane. A task that has just ended is no error. */
static gboolean
add_task (LuLanes *self, LuLane *lane, pid_t task, GError **error)
{
  lu_autofd fd = lu_perf_open (&self->attr, task, lane->cpu);
  int steal;

  if (fd < 0 && errno == ESRCH)
    return TRUE;
  if (fd < 0 || ioctl (fd, PERF_EVENT_IOC_SET_OUTPUT, lane->fd) < 0)
    {
      set_open_error (error, errno, "perf_event_open (a further thread)", FALSE);
      return FALSE;
    }
  if (lane->more == NULL)
    lane->more = g_array_new (FALSE, FALSE, sizeof (int));
  steal = lu_fd_steal (&fd);
  g_array_append_val (lane->more, steal);
  return TRUE;
}

/* The first task that still lives owns the lane's ring. */
static LuLane *
open_lane (LuLanes *self, int cpu, guint *first_more, GError **error)
{
  guint n_tasks = self->tasks != NULL ? self->tasks->len : 1;
  LuLane *lane = lane_new (-1, cpu);

  for (guint i = 0; i < n_tasks && lane->fd < 0; i++)
    {
      pid_t task = self->tasks != NULL ? g_array_index (self->tasks, pid_t, i) : -1;

      lane->fd = lu_perf_open (&self->attr, task, cpu);
      *first_more = i + 1;
      if (lane->fd < 0 && errno != ESRCH)
        break;
    }
  if (lane->fd >= 0)
    return lane;
  set_open_error (error, errno, "perf_event_open", self->tasks == NULL);
  lane_free (lane);
  return NULL;
}

static gboolean
add_lane (LuLanes *self, int cpu, GError **error)
{
  guint first_more = 0;
  LuLane *lane = open_lane (self, cpu, &first_more, error);

  if (lane == NULL)
    return FALSE;
  g_ptr_array_add (self->lanes, lane);
  /* Mapped later, when all are open: a redirected event needs no ring of its own, and the size is
   * shared. */
  for (guint i = first_more; self->tasks != NULL && i < self->tasks->len; i++)
    if (!add_task (self, lane, g_array_index (self->tasks, pid_t, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
map_all (LuLanes *self, gsize size)
{
  for (guint i = 0; i < self->lanes->len; i++)
    {
      LuLane *lane = lu_lanes_get (self, i);

      if (!lu_ring_map (&lane->ring, lane->fd, size))
        {
          int saved_errno = errno;

          for (guint k = 0; k < i; k++)
            lu_ring_unmap (&lu_lanes_get (self, k)->ring);
          errno = saved_errno;
          return FALSE;
        }
    }
  self->ring_size = size;
  return TRUE;
}

static gboolean
map_largest (LuLanes *self, gsize size, gsize minimum, GError **error)
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
              self->lanes->len, size >> 10, g_strerror (errno), lu_perf_mlock_kb ());
          return FALSE;
        }
      size /= 2;
    }
  return TRUE;
}

static LuLanes *
lanes_new (const struct perf_event_attr *attr)
{
  LuLanes *self = g_new0 (LuLanes, 1);

  self->attr = *attr;
  self->lanes = g_ptr_array_new_with_free_func (lane_free);
  return self;
}

LuLanes *
lu_lanes_new (const struct perf_event_attr *attr, GArray *cpus, GArray *tasks, gsize ring_size,
              gsize ring_minimum, GError **error)
{
  g_autoptr (LuLanes) self = lanes_new (attr);

  self->tasks = tasks != NULL ? g_array_ref (tasks) : NULL;
  for (guint i = 0; i < cpus->len; i++)
    if (!add_lane (self, g_array_index (cpus, int, i), error))
      return NULL;
  if (!map_largest (self, ring_size, ring_minimum, error))
    return NULL;
  return g_steal_pointer (&self);
}

/* An event has one size of ring, whoever maps it first chooses it: EINVAL for any other. */
static gboolean
map_handed_size (LuLane *lane, gsize size)
{
  struct stat info;

  /* Behind the end of a file there is a signal. */
  if (lane->is_file
      && (fstat (lane->fd, &info) != 0
          || info.st_size < (gint64) size + (gint64) sysconf (_SC_PAGESIZE)))
    {
      errno = EINVAL;
      return FALSE;
    }
  return lu_ring_map (&lane->ring, lane->fd, size);
}

static gboolean
map_handed (LuLane *lane, gsize size, gsize minimum)
{
  gsize at;

  for (at = size; at >= minimum; at /= 2)
    if (map_handed_size (lane, at))
      return TRUE;
    else if (errno != EPERM && errno != ENOMEM && errno != EINVAL)
      return FALSE;
  for (at = size * 2; errno == EINVAL && at <= OTHERS_RING_MAX; at *= 2)
    if (map_handed_size (lane, at))
      return TRUE;
  for (at = minimum / 2; errno == EINVAL && at >= (gsize) sysconf (_SC_PAGESIZE); at /= 2)
    if (map_handed_size (lane, at))
      return TRUE;
  return FALSE;
}

/* What a read() of the event gives is the value, and with PERF_FORMAT_LOST a second number. The
 * only other way to get two is an id, or times, which run only in events that are enabled. */
static gboolean
counts_losses (int fd)
{
  guint64 words[8], id = 0;

  return read (fd, words, sizeof words) == 2 * sizeof words[0]
         && ioctl (fd, PERF_EVENT_IOC_ID, &id) == 0 && words[1] != id;
}

LuLanes *
lu_lanes_adopt (const struct perf_event_attr *attr, GArray *events, gsize ring_size,
                gsize ring_minimum, GError **error)
{
  g_autoptr (LuLanes) self = lanes_new (attr);
  gboolean count_losses = TRUE;

  /* All are owned before anything can fail. */
  for (guint i = 0; i < events->len; i++)
    {
      const LuHandedEvent *event = &g_array_index (events, LuHandedEvent, i);
      LuLane *lane = lane_new (event->fd, event->cpu);

      lane->is_file = !lu_perf_is_event (event->fd);
      g_ptr_array_add (self->lanes, lane);
    }
  for (guint i = 0; i < self->lanes->len; i++)
    {
      LuLane *lane = lu_lanes_get (self, i);

      if (!map_handed (lane, ring_size, ring_minimum))
        {
          g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION,
                       _ ("mapping the ring of descriptor %d (CPU %d): %s"), lane->fd, lane->cpu,
                       g_strerror (errno));
          return NULL;
        }
      self->ring_size = i == 0 ? lane->ring.data_size : MIN (self->ring_size, lane->ring.data_size);
      count_losses = count_losses && counts_losses (lane->fd);
    }
  self->attr.read_format = count_losses ? PERF_FORMAT_LOST : 0;
  return g_steal_pointer (&self);
}

LuLanes *
lu_lanes_view (const LuLanes *of)
{
  LuLanes *self = lanes_new (&of->attr);

  for (guint i = 0; i < of->lanes->len; i++)
    {
      LuLane *lane = lane_new (-1, lu_lanes_get (of, i)->cpu);

      lu_ring_view (&lane->ring, &lu_lanes_get (of, i)->ring);
      g_ptr_array_add (self->lanes, lane);
    }
  return self;
}

void
lu_lanes_free (LuLanes *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->lanes);
  if (self->tasks != NULL)
    g_array_unref (self->tasks);
  g_free (self);
}

gboolean
lu_lanes_add_cpu (LuLanes *self, int cpu, GError **error)
{
  LuLane *lane;

  if (!add_lane (self, cpu, error))
    return FALSE;
  lane = lu_lanes_get (self, self->lanes->len - 1);
  if (lu_ring_map (&lane->ring, lane->fd, self->ring_size))
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION, _ ("mapping the ring of CPU %d: %s"), cpu,
               g_strerror (errno));
  g_ptr_array_remove_index (self->lanes, self->lanes->len - 1);
  return FALSE;
}

gboolean
lu_lanes_has_cpu (const LuLanes *self, int cpu)
{
  for (guint i = 0; i < self->lanes->len; i++)
    if (lu_lanes_get (self, i)->cpu == cpu)
      return TRUE;
  return FALSE;
}

/* Both events must be on the same CPU and have the same clock (perf_event_set_output()). */
int
lu_lane_open_output (LuLanes *self, LuLane *lane, GError **error)
{
  struct perf_event_attr attr;
  lu_autofd fd = -1;
  guint64 id;

  lu_perf_output_attr (&attr, &self->attr);
  if (self->tasks == NULL && (attr.sample_type & PERF_SAMPLE_IDENTIFIER) != 0)
    fd = lu_perf_open (&attr, -1, lane->cpu);
  else
    errno = EINVAL;
  if (fd < 0 || ioctl (fd, PERF_EVENT_IOC_ID, &id) < 0
      || ioctl (fd, PERF_EVENT_IOC_SET_OUTPUT, lane->fd) < 0
      || ioctl (fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                   _ ("an event for the output of a BPF program on CPU %d: %s"), lane->cpu,
                   g_strerror (errno));
      return -1;
    }
  lu_record_layout_init (&self->output_layout, &attr);
  self->output_layout.is_output = TRUE;
  lane->output_id = id;
  return lu_fd_steal (&fd);
}

void
lu_lanes_share_outputs (const LuLanes *self, LuLanes *view)
{
  view->output_layout = self->output_layout;
  for (guint i = 0; i < view->lanes->len; i++)
    lu_lanes_get (view, i)->output_id = lu_lanes_get (self, i)->output_id;
}

void
lu_lanes_control (LuLanes *self, unsigned long request)
{
  for (guint i = 0; i < self->lanes->len; i++)
    {
      LuLane *lane = lu_lanes_get (self, i);

      /* The only error is a descriptor that is no event. */
      ioctl (lane->fd, request, 0);
      for (guint k = 0; lane->more != NULL && k < lane->more->len; k++)
        ioctl (g_array_index (lane->more, int, k), request, 0);
    }
}

void
lu_lanes_load_heads (LuLanes *self)
{
  for (guint i = 0; i < self->lanes->len; i++)
    lu_lanes_get (self, i)->head = lu_ring_head (&lu_lanes_get (self, i)->ring);
}

double
lu_lanes_fill (const LuLanes *self)
{
  double fill = 0;

  for (guint i = 0; i < self->lanes->len; i++)
    {
      const LuRing *ring = &lu_lanes_get (self, i)->ring;
      double used = (double) (lu_ring_head (ring) - ring->tail) / (double) ring->data_size;

      fill = MAX (fill, used);
    }
  return fill;
}

gboolean
lu_lanes_are_drained (const LuLanes *self)
{
  for (guint i = 0; i < self->lanes->len; i++)
    if (lu_lanes_get (self, i)->ring.tail != lu_lanes_get (self, i)->head)
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
lu_lane_read_lost (const LuLanes *self, const LuLane *lane)
{
  guint64 lost;

  if (self->attr.read_format != PERF_FORMAT_LOST)
    return 0;
  lost = read_lost (lane->fd);
  for (guint i = 0; lane->more != NULL && i < lane->more->len; i++)
    lost += read_lost (g_array_index (lane->more, int, i));
  return lost;
}

guint64
lu_lanes_read_lost (const LuLanes *self)
{
  guint64 lost = 0;

  for (guint i = 0; i < self->lanes->len; i++)
    lost += lu_lane_read_lost (self, lu_lanes_get (self, i));
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
