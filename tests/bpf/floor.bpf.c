/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* floor.bpf.c - the least that a walk in the kernel can cost: the kernel's own walk along frame
 * pointers, into a record of the same size; and the cost of reading a few bytes, or a page, of user
 * memory. bench-floor.c loads both. */

#include <stdint.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#define MAX_FRAMES 1024
#define PAGE_BYTES 4096
#define N_READS    100

char program_license[] SEC ("license") = "GPL";

/* The head is as long as that of our record. */
struct floor_record
{
  uint64_t head[8];
  uint64_t pcs[MAX_FRAMES];
};

struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (max_entries, 64); /* CPUs */
  __type (key, uint32_t);
  __type (value, struct floor_record);
} records SEC (".maps");

struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (map_flags, BPF_F_MMAPABLE);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, uint64_t[4]); /* runs, frames; ns of N_READS reads at least: few bytes, a page */
} totals SEC (".maps");

struct
{
  __uint (type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint (max_entries, 64);
  __type (key, uint32_t);
  __type (value, uint32_t);
} outputs SEC (".maps");

SEC ("perf_event")
int
take_frames (struct bpf_perf_event_data *ctx)
{
  uint32_t cpu = bpf_get_smp_processor_id (), zero = 0;
  struct floor_record *record = bpf_map_lookup_elem (&records, &cpu);
  uint64_t *total = bpf_map_lookup_elem (&totals, &zero);
  long size;

  if (record == NULL || total == NULL)
    return 1;
  size = bpf_get_stack (ctx, record->pcs, sizeof record->pcs, BPF_F_USER_STACK);
  if (size < 0 || size > (long) sizeof record->pcs)
    return 1;
  total[0]++;
  total[1] += (uint64_t) size / 8;
  size += sizeof record->head;
  return bpf_perf_event_output (ctx, &outputs, BPF_F_CURRENT_CPU, record, (uint64_t) size) != 0;
}

/* Keeps the least time. */
static inline void
time_reads (void *to, uint32_t size, uint64_t address, uint64_t *least)
{
  uint64_t began = bpf_ktime_get_ns (), ns;

  for (int i = 0; i < N_READS; i++)
    if (bpf_probe_read_user (to, size, (const void *) address) != 0)
      return;
  ns = bpf_ktime_get_ns () - began;
  if (*least == 0 || ns < *least)
    *least = ns;
}

SEC ("perf_event")
int
take_times (struct bpf_perf_event_data *ctx)
{
  uint32_t cpu = bpf_get_smp_processor_id (), zero = 0;
  struct floor_record *record = bpf_map_lookup_elem (&records, &cpu);
  uint64_t *total = bpf_map_lookup_elem (&totals, &zero);
  uint64_t page = ctx->regs.rsp & ~(uint64_t) (PAGE_BYTES - 1);

  if (record == NULL || total == NULL)
    return 1;
  time_reads (record->pcs, 16, page, &total[2]);
  time_reads (record->pcs, PAGE_BYTES, page, &total[3]);
  return 0;
}
