/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* per-cpu-events.h - one kind of event on every CPU: a descriptor and a ring per CPU.
 *
 * CPU-wide events have one descriptor per CPU. Per-task events have one per task and CPU, and all
 * of one CPU are redirected into that CPU's ring (PERF_EVENT_IOC_SET_OUTPUT), because an inherited
 * event cannot be mapped with cpu = -1. Belongs to the drain thread. */

#pragma once

#include "record.h"
#include "perf-event.h"
#include "ring.h"
#include "source.h"

typedef struct
{
  int cpu;
  int fd;           /* owns the ring */
  gboolean is_file; /* inherited, and a file rather than an event: poll() says nothing about it */
  GArray *more;     /* array of int, owned: descriptors of more tasks, redirected into this ring */
  guint64
      output_id; /* id of the event through which a BPF program writes into this ring; 0: none */
  LuRing ring;
  guint64 head;         /* loaded at the beginning of the round */
  guint64 lost_records; /* summed from LOST records in this ring */
  gboolean has_next;
  LuEvent next; /* the oldest unread side-band record, decoded; points into the ring */
} LuCpuEvents;

typedef struct
{
  struct perf_event_attr attr;
  gsize ring_size;
  GPtrArray *events;            /* array of LuCpuEvents, owned */
  GArray *tasks;                /* array of pid_t; NULL: CPU-wide */
  LuRecordLayout layout;        /* of the records in the rings, by attr */
  LuRecordLayout output_layout; /* for records written through the output events */
} LuPerCpuEvents;

typedef struct
{
  gsize wanted;  /* bytes of data pages in each ring, a power of two */
  gsize minimum; /* the kernel may refuse larger rings; the size is halved down to this */
} LuRingSize;

/* Opens the event on each CPU of `cpus` (array of int), for each task of `tasks` (array of pid_t;
 * NULL: CPU-wide), and maps the rings. All rings have one size. */
LuPerCpuEvents *lu_per_cpu_events_new (const struct perf_event_attr *attr, GArray *cpus,
                                       GArray *tasks, const LuRingSize *size, GError **error);
/* Opens the dummy event that reports processes and their mappings, and enables it. */
LuPerCpuEvents *lu_per_cpu_events_new_sideband (const LuPerfAbilities *abilities, GArray *cpus,
                                                GArray *tasks, GError **error);

/* An event that another process opened. */
typedef struct
{
  int fd;
  int cpu; /* -1: unknown; numbers may have gaps */
} LuInheritedEvent;

/* Takes the descriptors of `events` (array of LuInheritedEvent), which all have these attributes,
 * and maps a ring for each. A descriptor is an event, or a file with the layout of a ring that
 * cannot shrink. A ring that is mapped already keeps its size. Finds out whether PERF_FORMAT_LOST
 * can be read and notes it in attr.read_format. Closes the descriptors on failure too. */
LuPerCpuEvents *lu_per_cpu_events_adopt (const struct perf_event_attr *attr, GArray *events,
                                         const LuRingSize *size, GError **error);
/* Returns readers that read ahead in the rings of `of` (lu_ring_view()). Free them before `of`. */
LuPerCpuEvents *lu_per_cpu_events_view (const LuPerCpuEvents *of);
void lu_per_cpu_events_free (LuPerCpuEvents *self);

/* Adds a CPU that came online, with a ring of the same size. */
gboolean lu_per_cpu_events_add_cpu (LuPerCpuEvents *self, int cpu, GError **error);
gboolean lu_per_cpu_events_has_cpu (const LuPerCpuEvents *self, int cpu);

/* Calls the hook for this CPU, with an event through which a BPF program can write into its ring
 * (PERF_COUNT_SW_BPF_OUTPUT, redirected). Records of that event are recognized by their id, so attr
 * must have PERF_SAMPLE_IDENTIFIER. */
gboolean lu_cpu_events_attach (LuPerCpuEvents *self, LuCpuEvents *cpu_events,
                               const LuSamplerHook *hook, GError **error);
/* Copies the ids of the output events to a view. */
void lu_per_cpu_events_share_outputs (const LuPerCpuEvents *self, LuPerCpuEvents *view);

/* Returns the bytes of the rings together, without their control pages. */
gsize lu_per_cpu_events_ring_bytes (const LuPerCpuEvents *self);
/* Does PERF_EVENT_IOC_ENABLE or PERF_EVENT_IOC_DISABLE on all events. */
void lu_per_cpu_events_control (LuPerCpuEvents *self, unsigned long request);
/* Loads the heads of all rings. */
void lu_per_cpu_events_load_heads (LuPerCpuEvents *self);
/* Returns how full the fullest ring is now, 0 to 1. */
double lu_per_cpu_events_fill (const LuPerCpuEvents *self);
/* Returns whether nothing is left before the loaded heads. */
gboolean lu_per_cpu_events_are_drained (const LuPerCpuEvents *self);
/* Return the lost samples: those of all descriptors if attr.read_format requests PERF_FORMAT_LOST,
 * else those of the LOST records. */
guint64 lu_per_cpu_events_lost (const LuPerCpuEvents *self);
guint64 lu_cpu_events_lost (const LuPerCpuEvents *self, const LuCpuEvents *cpu_events);

LuCpuEvents *lu_per_cpu_events_get (const LuPerCpuEvents *self, guint i);

/* Returns the CPUs that are online (/sys/devices/system/cpu/online): array of int, owned. */
GArray *lu_online_cpus (void);
gboolean lu_cpus_contain (GArray *cpus, int cpu);
/* Returns the highest possible CPU number here, plus 1. */
guint lu_n_possible_cpus (void);
/* Reads the kernel's list of online CPUs as text, or "" on failure. Does not allocate. */
#define LU_ONLINE_CPUS_MAX 1024
void lu_online_cpus_read (char text[LU_ONLINE_CPUS_MAX]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuPerCpuEvents, lu_per_cpu_events_free)
