/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lanes.h - one kind of event on every CPU: a descriptor and a ring per CPU.
 *
 * CPU-wide events have one descriptor per CPU. Per-task events have one per task and CPU, all of
 * one CPU redirected into that CPU's ring (PERF_EVENT_IOC_SET_OUTPUT): an inherited event cannot be
 * mapped with cpu = -1. Belongs to the drain thread. */

#pragma once

#include "input/record.h"
#include "input/ring.h"

#include <glib.h>
#include <linux/perf_event.h>

typedef struct
{
  int cpu;
  int fd;           /* owns the ring */
  gboolean is_file; /* handed over, and no event: poll() says nothing about it */
  GArray *more; /* of int: descriptors of further tasks redirected into this ring; NULL for none */
  guint64 output_id; /* of the event through which a BPF program writes into this ring; 0: none */
  LuRing ring;
  guint64 head;         /* as loaded for this round */
  guint64 lost_records; /* summed from LOST records in this ring */
  gboolean has_next;
  LuEvent next; /* the oldest unread record of side-band, decoded; points into the ring */
} LuLane;

typedef struct
{
  struct perf_event_attr attr;
  gsize ring_size;
  GPtrArray *lanes;             /* of LuLane, owned */
  GArray *tasks;                /* of pid_t; NULL: CPU-wide */
  LuRecordLayout output_layout; /* of what comes through those */
} LuLanes;

/* Opens the event on each CPU of `cpus` (of int), for each task of `tasks` (of pid_t; NULL:
 * CPU-wide), and maps rings of ring_size bytes, halved together down to `ring_minimum` where the
 * kernel refuses. */
LuLanes *lu_lanes_new (const struct perf_event_attr *attr, GArray *cpus, GArray *tasks,
                       gsize ring_size, gsize ring_minimum, GError **error);
/* An event that somebody else opened. */
typedef struct
{
  int fd;
  int cpu; /* -1 unknown; need not be dense */
} LuHandedEvent;

/* Takes over the descriptors of `events` (of LuHandedEvent; events, or files with the layout of a
 * ring that cannot shrink), all with these attributes, and maps a
 * ring for each: of ring_size bytes, halved down to `ring_minimum` where the kernel refuses, or of
 * the size in which somebody else has mapped it already. Whether PERF_FORMAT_LOST can be read is
 * found out and noted in attr.read_format. On failure the descriptors are closed, too. */
LuLanes *lu_lanes_adopt (const struct perf_event_attr *attr, GArray *events, gsize ring_size,
                         gsize ring_minimum, GError **error);
/* Lanes that read ahead in the rings of `of`, see lu_ring_view(); to be freed before them. */
LuLanes *lu_lanes_view (const LuLanes *of);
void lu_lanes_free (LuLanes *self);

/* A CPU came online: one more lane, of the same size. */
gboolean lu_lanes_add_cpu (LuLanes *self, int cpu, GError **error);
gboolean lu_lanes_has_cpu (const LuLanes *self, int cpu);

/* Opens an event through which a BPF program can write into this ring (PERF_COUNT_SW_BPF_OUTPUT,
 * redirected); owned by the caller. Its records are told by their id, so attr has to ask for
 * PERF_SAMPLE_IDENTIFIER. -1 on failure. */
int lu_lane_open_output (LuLanes *self, LuLane *lane, GError **error);
/* Views of these lanes are told. */
void lu_lanes_share_outputs (const LuLanes *self, LuLanes *view);

/* PERF_EVENT_IOC_ENABLE or _DISABLE on all. */
void lu_lanes_control (LuLanes *self, unsigned long request);
/* Loads the heads of all rings. */
void lu_lanes_load_heads (LuLanes *self);
/* How full the fullest ring is now, 0 to 1. */
double lu_lanes_fill (const LuLanes *self);
/* Nothing is left before the loaded heads. */
gboolean lu_lanes_are_drained (const LuLanes *self);
/* Samples lost by all descriptors (PERF_FORMAT_LOST); 0 if attr.read_format does not ask for it. */
guint64 lu_lanes_read_lost (const LuLanes *self);
guint64 lu_lane_read_lost (const LuLanes *self, const LuLane *lane);

LuLane *lu_lanes_get (const LuLanes *self, guint i);

/* CPUs that are online, from /sys/devices/system/cpu/online: array of int. Owned. */
GArray *lu_online_cpus (void);
gboolean lu_cpus_contain (GArray *cpus, int cpu);
/* The highest number that a CPU can have here, plus 1. */
guint lu_n_possible_cpus (void);
/* The kernel's list of them as text, empty if it cannot be read; allocates nothing. */
#define LU_ONLINE_CPUS_MAX 1024
void lu_online_cpus_read (char text[LU_ONLINE_CPUS_MAX]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuLanes, lu_lanes_free)
