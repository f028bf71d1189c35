/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* machine-counters.c - reads /proc/stat, meminfo, net/dev and diskstats; see machine-counters.h.
 *
 * The kernel writes these files, but names of devices in them are chosen by others: a line that is
 * not understood is skipped. */

#include "machine-counters.h"

#include "base/fd.h"

#include <string.h>

#define TEXT_SIZE       (64u << 10)
#define MAX_FREQUENCIES 256

typedef struct
{
  int fd;
  guint64 max; /* kHz */
} Frequency;

struct _LuMachineCounters
{
  int stat_fd, memory_fd, network_fd, disks_fd; /* -1: not there */
  GArray *frequencies;                          /* of Frequency, by CPU */
  GArray *counters;                             /* of LuMachineCounter */
  guint next;                                   /* index that is probably asked for next */
  char text[TEXT_SIZE];
};

/* Returns the counter, which is made if it is new; NULL: there are too many. */
static LuMachineCounter *
get_counter (LuMachineCounters *self, const char *category, const char *name)
{
  LuMachineCounter made = { .integer = 0 }, *counters = (gpointer) self->counters->data;

  for (guint k = 0; k < self->counters->len; k++)
    {
      guint i = (self->next + k) % self->counters->len;

      if (strcmp (counters[i].name, name) != 0 || strcmp (counters[i].category, category) != 0)
        continue;
      self->next = i + 1;
      return &counters[i];
    }
  if (self->counters->len >= LU_MACHINE_COUNTERS_MAX)
    return NULL;
  g_strlcpy (made.category, category, sizeof made.category);
  g_strlcpy (made.name, name, sizeof made.name);
  g_array_append_val (self->counters, made);
  self->next = self->counters->len;
  return &g_array_index (self->counters, LuMachineCounter, self->counters->len - 1);
}

static void
set_integer (LuMachineCounters *self, const char *category, const char *name, gint64 value)
{
  LuMachineCounter *counter = get_counter (self, category, name);

  if (counter != NULL)
    counter->integer = value;
}

static void
set_real (LuMachineCounters *self, const char *category, const char *name, double value)
{
  LuMachineCounter *counter = get_counter (self, category, name);

  if (counter == NULL)
    return;
  counter->is_real = TRUE;
  counter->real = value;
}

/* Reads a file into self->text. Returns the first line, or NULL. */
static char *
read_text (LuMachineCounters *self, int fd)
{
  gssize size = fd >= 0 ? lu_fd_pread_all (fd, self->text, sizeof self->text - 1, 0) : -1;

  if (size <= 0)
    return NULL;
  self->text[size] = 0;
  return self->text;
}

/* Ends a line and returns the next one, or NULL. */
static char *
end_line (char *line)
{
  char *end = strchr (line, '\n');

  if (end == NULL)
    return NULL;
  *end = 0;
  return end[1] != 0 ? end + 1 : NULL;
}

/* Reads up to n numbers with spaces before them; returns how many there were. */
static guint
read_numbers (const char *text, guint64 *numbers, guint n)
{
  guint i = 0;

  for (char *end; i < n; i++, text = end)
    {
      while (*text == ' ')
        text++;
      if (!g_ascii_isdigit (*text))
        break;
      numbers[i] = g_ascii_strtoull (text, &end, 10);
    }
  return i;
}

/* CPUs */

/* Sets which part of the time since the last call a CPU was busy. Time in which it waited for a
 * disk is idle. */
static void
set_busy (LuMachineCounters *self, const char *name, const guint64 times[8])
{
  LuMachineCounter *counter = get_counter (self, "CPU Percent", name);
  guint64 idle = times[3] + times[4], all = 0, busy, passed;

  if (counter == NULL)
    return;
  for (guint i = 0; i < 8; i++)
    all += times[i];
  /* Times of a CPU may go back by a tick, and those of one that went offline start again. */
  passed = all > counter->last[0] ? all - counter->last[0] : 0;
  busy = all - idle > counter->last[1] ? all - idle - counter->last[1] : 0;
  counter->is_real = TRUE;
  counter->real = passed > 0 ? MIN (100.0 * (double) MIN (busy, passed) / (double) passed, 100) : 0;
  counter->last[0] = all;
  counter->last[1] = all - idle;
}

static void
read_cpus (LuMachineCounters *self)
{
  for (char *line = read_text (self, self->stat_fd), *next; line != NULL; line = next)
    {
      guint64 times[8], cpu;
      char name[32] = "Combined", *numbers = line + 3;

      next = end_line (line);
      if (strncmp (line, "cpu", 3) != 0)
        break;
      if (g_ascii_isdigit (line[3]))
        {
          cpu = g_ascii_strtoull (line + 3, &numbers, 10);
          g_snprintf (name, sizeof name, "Total CPU %u", (guint) cpu);
        }
      if (read_numbers (numbers, times, G_N_ELEMENTS (times)) == G_N_ELEMENTS (times))
        set_busy (self, name, times);
    }
}

static void
open_frequencies (LuMachineCounters *self, const char *cpus)
{
  for (guint i = 0; i < MAX_FREQUENCIES; i++)
    {
      g_autofree char *now = g_strdup_printf ("%s/cpu%u/cpufreq/scaling_cur_freq", cpus, i);
      g_autofree char *most = g_strdup_printf ("%s/cpu%u/cpufreq/scaling_max_freq", cpus, i);
      g_autofree char *text = lu_fd_read_file (most, 64, NULL);
      Frequency frequency = { .max = text != NULL ? g_ascii_strtoull (text, NULL, 10) : 0 };

      if (frequency.max == 0 || (frequency.fd = open (now, O_RDONLY | O_CLOEXEC)) < 0)
        break;
      g_array_append_val (self->frequencies, frequency);
    }
}

static void
read_frequencies (LuMachineCounters *self)
{
  for (guint i = 0; i < self->frequencies->len; i++)
    {
      Frequency *frequency = &g_array_index (self->frequencies, Frequency, i);
      const char *text = read_text (self, frequency->fd);
      char name[32];

      g_snprintf (name, sizeof name, "CPU %u", i);
      if (text != NULL)
        set_real (
            self, "CPU Frequency", name,
            MIN (100 * (double) g_ascii_strtoull (text, NULL, 10) / (double) frequency->max, 100));
    }
}

static void
clear_frequency (gpointer data)
{
  lu_fd_clear (&((Frequency *) data)->fd);
}

/* Memory */

static void
read_memory (LuMachineCounters *self)
{
  static const char *const names[][2] = {
    { "MemTotal", "Total" },       { "MemAvailable", "Available" },
    { "MemFree", "Free" },         { "Buffers", "Buffers" },
    { "Cached", "Cached" },        { "SwapCached", "Swap Cached" },
    { "Mapped", "Mapped" },        { "Shmem", "Shmem" },
    { "SwapTotal", "Swap Total" }, { "SwapFree", "Swap Free" },
  };
  gint64 total = -1, available = -1;

  for (char *line = read_text (self, self->memory_fd), *next; line != NULL; line = next)
    {
      char *colon;
      guint64 value;

      next = end_line (line);
      colon = strchr (line, ':');
      if (colon == NULL || read_numbers (colon + 1, &value, 1) != 1)
        continue;
      *colon = 0;
      value = MIN (value, (guint64) G_MAXINT64 / 1024) * 1024;
      for (guint i = 0; i < G_N_ELEMENTS (names); i++)
        if (strcmp (line, names[i][0]) == 0)
          set_integer (self, "Memory", names[i][1], (gint64) value);
      if (strcmp (line, "MemTotal") == 0)
        total = (gint64) value;
      else if (strcmp (line, "MemAvailable") == 0)
        available = (gint64) value;
    }
  if (total >= 0 && available >= 0)
    set_integer (self, "Memory", "Used", MAX (total - available, 0));
}

/* Network and disks */

static void
set_device (LuMachineCounters *self, const char *category, const char *format, const char *device,
            gint64 value)
{
  char name[32];

  g_snprintf (name, sizeof name, "%s (%s)", format, device);
  set_integer (self, category, name, value);
}

static void
read_network (LuMachineCounters *self)
{
  guint64 received = 0, sent = 0;
  gboolean any = FALSE;

  for (char *line = read_text (self, self->network_fd), *next; line != NULL; line = next)
    {
      char *colon;
      guint64 numbers[9];

      next = end_line (line);
      colon = strchr (line, ':');
      if (colon == NULL || read_numbers (colon + 1, numbers, 9) != 9)
        continue;
      any = TRUE;
      *colon = 0;
      received += numbers[0];
      sent += numbers[8];
      if (numbers[0] + numbers[8] == 0)
        continue;
      set_device (self, "Network", "RX Bytes", g_strstrip (line), (gint64) numbers[0]);
      set_device (self, "Network", "TX Bytes", line, (gint64) numbers[8]);
    }
  if (!any)
    return;
  set_integer (self, "Network", "RX Bytes", (gint64) received);
  set_integer (self, "Network", "TX Bytes", (gint64) sent);
}

/* Sets how often a disk was accessed since the last call. */
static void
set_accesses (LuMachineCounters *self, const char *what, const char *disk, guint64 n)
{
  LuMachineCounter *counter;
  char name[32];

  g_snprintf (name, sizeof name, "%s (%s)", what, disk);
  counter = get_counter (self, "Disk", name);
  if (counter == NULL)
    return;
  counter->integer =
      n > counter->last[0] && counter->last[0] > 0 ? (gint64) (n - counter->last[0]) : 0;
  counter->last[0] = n;
}

/* "8 0 sda READS MERGED SECTORS MS WRITES …" */
static void
read_disks (LuMachineCounters *self)
{
  for (char *line = read_text (self, self->disks_fd), *next; line != NULL; line = next)
    {
      guint64 numbers[5];
      char *name = line, *end;

      next = end_line (line);
      name += strspn (name, " 0123456789");
      end = strchr (name, ' ');
      if (end == NULL || read_numbers (end, numbers, 5) != 5 || numbers[0] + numbers[4] == 0)
        continue;
      *end = 0;
      set_accesses (self, "Total Reads", name, numbers[0]);
      set_accesses (self, "Total Writes", name, numbers[4]);
    }
}

/* All of them */

static int
open_file (const char *directory, const char *name)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);

  return open (path, O_RDONLY | O_CLOEXEC);
}

LuMachineCounters *
lu_machine_counters_new (const char *proc, const char *cpus, gboolean devices)
{
  LuMachineCounters *self = g_new0 (LuMachineCounters, 1);

  self->stat_fd = open_file (proc, "stat");
  self->memory_fd = open_file (proc, "meminfo");
  self->network_fd = devices ? open_file (proc, "net/dev") : -1;
  self->disks_fd = devices ? open_file (proc, "diskstats") : -1;
  self->frequencies = g_array_new (FALSE, FALSE, sizeof (Frequency));
  g_array_set_clear_func (self->frequencies, clear_frequency);
  open_frequencies (self, cpus);
  self->counters = g_array_new (FALSE, FALSE, sizeof (LuMachineCounter));
  lu_machine_counters_read (self);
  return self;
}

void
lu_machine_counters_free (LuMachineCounters *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->stat_fd);
  lu_fd_clear (&self->memory_fd);
  lu_fd_clear (&self->network_fd);
  lu_fd_clear (&self->disks_fd);
  g_array_unref (self->frequencies);
  g_array_unref (self->counters);
  g_free (self);
}

void
lu_machine_counters_read (LuMachineCounters *self)
{
  self->next = 0;
  read_cpus (self);
  read_frequencies (self);
  read_memory (self);
  read_network (self);
  read_disks (self);
}

const LuMachineCounter *
lu_machine_counters_get (const LuMachineCounters *self, guint *n)
{
  *n = self->counters->len;
  return (const LuMachineCounter *) (gpointer) self->counters->data;
}
