/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walker.bpf.c - the program on the sampling events: unwinds the user stack when a sample hits.
 *
 * It returns 0 when the record of the stack is in the ring; the kernel then writes no sample and
 * copies no stack. Otherwise it returns 1, and the sample arrives with registers and stack. The
 * kernel runs one such program at a time on each CPU. */

/* Weak, as HOST_SUBPROGRAM. */
#define LU_CALL_FUNCTION __attribute__ ((noinline, weak))

#include "walk-subprogram.h"
#include "walk-touch.h"

char program_license[] SEC ("license") = "Dual BSD/GPL";

/* How many ancestors are looked at to tell whether a process is followed. */
#define MAX_ANCESTORS 8
/* How many generations of children may have no entry yet. */
#define MAX_UNHEARD 2
/* The task was forked and has not called exec since (linux/sched.h). */
#define PF_FORKNOEXEC 0x00000040
/* MAX_PID_NS_LEVEL + 1 (linux/pid_namespace.h). */
#define MAX_LEVELS 33

/* Returns the number of a task in the pid namespace of user space, or 0 if it is outside of it.
 * Searches from the task's own namespace upwards. */
HOST_SUBPROGRAM uint64_t
find_number (uint64_t address)
{
  struct task_struct *task = (struct task_struct *) address;
  struct pid *pid = (struct pid *) READ (task, thread_pid);
  uint64_t level = (uint32_t) READ (pid, level);

  for (int i = 0; i < MAX_LEVELS; i++)
    {
      uint64_t numbers = (uint64_t) pid + bpf_core_field_offset (struct pid, numbers);
      struct upid *upid = (struct upid *) (numbers + level * bpf_core_type_size (struct upid));
      struct pid_namespace *space = (struct pid_namespace *) READ (upid, ns);

      if ((uint32_t) READ (space, ns.inum) == host_config.pid_namespace)
        return (uint32_t) READ (upid, nr);
      if (level-- == 0)
        return 0;
    }
  return 0;
}

/* Returns the process in the upper half and the thread in the lower one. */
static inline uint64_t
current_ids (void)
{
  struct task_struct *task;

  if (host_config.pid_namespace == 0)
    return bpf_get_current_pid_tgid ();
  task = (struct task_struct *) bpf_get_current_task ();
  return find_number (READ (task, group_leader)) << 32 | find_number ((uint64_t) task);
}

/* Returns the time at which the task's process started. */
static inline uint64_t
start_time_of (struct task_struct *task)
{
  struct task_struct *leader = (struct task_struct *) READ (task, group_leader);

  return READ (leader, start_boottime);
}

/* Copies the entry of the process to walk->process, unless it is there from an earlier sample on
 * this CPU and no entry has changed since. Returns FALSE if there is none. n_mappings is 0 if it
 * was read while it was written. */
HOST_SUBPROGRAM int64_t
find_entry (walk_ref ref, uint64_t tgid)
{
  uint64_t changes = *(const volatile uint64_t *) &host_shared->process_changes;
  const struct lu_bpf_process *found;
  struct walk *walk = host_walk (ref);
  uint32_t key;

  if (walk == NULL)
    return 0;
  if (walk->copied.tgid == (uint32_t) tgid && walk->copied.changes == changes)
    return 1;
  HOST_AFTER (tgid, changes);
  key = (uint32_t) tgid;
  found = bpf_map_lookup_elem (&processes, &key);
  if (found == NULL)
    return 0;
  walk->process = *found;
  walk->copied.tgid = key;
  walk->copied.changes = changes;
  if (walk->process.check != lu_bpf_process_check (&walk->process, key)
      || walk->process.n_mappings > LU_BPF_MAX_MAPPINGS)
    walk->process.n_mappings = walk->copied.tgid = 0;
  return 1;
}

/* Returns the identity that the entry was made for; NULL if it is good for any process. */
static inline struct lu_bpf_identity *
find_identity (const struct walk *walk)
{
  uint64_t index = walk->process.identity;

  if (index == 0)
    return NULL;
  HOST_BOUND_BY (index, host_config.n_identities - 1);
  return &host_shared->identities[index];
}

/* Returns whether the process' entry was made for this task. Only helpers follow the pointer to
 * another task: for a plain load through it the verifier searches all types of the kernel for its
 * name. */
static inline int
is_same (const struct walk *walk, int is_leader)
{
  struct lu_bpf_identity *identity = find_identity (walk);
  uint64_t start_time, exec_id;

  if (identity == NULL)
    return 1;
  if ((host_config.flags & LU_BPF_TASK_BTF) != 0)
    {
      struct task_struct *task = (struct task_struct *) bpf_get_current_task_btf ();

      exec_id = task->self_exec_id + 1;
      start_time = is_leader ? task->start_boottime
                             : start_time_of ((struct task_struct *) bpf_get_current_task ());
    }
  else
    {
      struct task_struct *any = (struct task_struct *) bpf_get_current_task ();

      exec_id = READ (any, self_exec_id) + 1;
      start_time = start_time_of (any);
    }
  if (identity->start_time == 0)
    identity->start_time = start_time;
  if (identity->exec_id == 0)
    {
      *(volatile uint64_t *) &identity->seen_ns = host_clock ();
      *(volatile uint64_t *) &identity->exec_id = exec_id;
    }
  return identity->start_time == start_time && identity->exec_id == exec_id;
}

/* Returns the parent of a task and copies its entry if it has one; 0 if there is no parent or the
 * task is not followed. Processes older than the recording have an entry or are not followed. */
HOST_SUBPROGRAM uint64_t
find_parent (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  struct task_struct *task = (struct task_struct *) address, *parent;
  uint64_t tgid;

  if (walk == NULL
      || ((host_config.flags & LU_BPF_FOLLOW) != 0
          && start_time_of (task) < host_config.started_ns))
    return 0;
  parent = (struct task_struct *) READ (task, real_parent);
  tgid = host_config.pid_namespace == 0 ? (uint32_t) READ (parent, tgid)
                                        : find_number (READ (parent, group_leader));
  if (tgid == 0)
    return 0;
  walk->has_entry = (uint32_t) find_entry (ref, tgid);
  return (uint64_t) parent;
}

/* Returns whether the entry describes the ancestor as it was at the fork: neither it nor the task
 * has called exec since. */
static inline int
is_heir (const struct walk *walk, uint64_t ancestor, uint64_t exec_id)
{
  const struct lu_bpf_identity *identity = find_identity (walk);
  struct task_struct *task = (struct task_struct *) ancestor;

  if (walk->process.n_mappings == 0 || identity == NULL)
    return 0;
  return identity->exec_id == exec_id
         && (identity->start_time == 0 || identity->start_time == start_time_of (task));
}

/* A child without an entry uses the one of its nearest ancestor, whose mappings it has a copy of.
 * User space checks that it was the right version. If most processes never get an entry, a child
 * may live long without one while its ancestor maps other files; it then uses the kernel's own
 * mappings instead. */
static inline int64_t
inherit_process (struct walk *walk, walk_ref ref)
{
  int is_picky = (host_config.flags & LU_BPF_FOLLOW) != 0;
  uint64_t task = bpf_get_current_task ();
  uint64_t exec_id = READ ((struct task_struct *) task, self_exec_id) + 1;

  if (!is_picky && (host_config.flags & LU_BPF_VMAS) != 0)
    return GIVE_UP (NO_PROCESS);
  for (int i = 0; i < (is_picky ? MAX_ANCESTORS : MAX_UNHEARD); i++)
    {
      task = find_parent (ref, task);
      if (task == 0)
        break;
      if (walk->has_entry != 0)
        return i < MAX_UNHEARD && is_heir (walk, task, exec_id) ? NEXT_ON : GIVE_UP (NO_PROCESS);
    }
  return is_picky ? GIVE_UP (NOT_FOLLOWED) : GIVE_UP (NO_PROCESS);
}

/* Finds the entry of a process; `id` is as current_ids() returns it. */
HOST_SUBPROGRAM int64_t
find_process (walk_ref ref, uint64_t id)
{
  struct walk *walk = host_walk (ref);
  uint32_t tgid = (uint32_t) (id >> 32);

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  if (!find_entry (ref, tgid))
    return inherit_process (walk, ref);
  if (walk->process.n_mappings == 0)
    return GIVE_UP (NO_PROCESS);
  walk->touched.identity = walk->process.identity;
  return is_same (walk, tgid == (uint32_t) id) ? NEXT_ON : GIVE_UP (STALE_PROCESS);
}

/* Identifies the running process and its last exec. 0: nothing is announced for it; processes that
 * ran before the recording have no identity. */
static inline uint64_t
find_announcer (const struct walk *walk, int64_t published)
{
  const struct lu_bpf_identity *identity = find_identity (walk);
  struct task_struct *any, *leader;

  if (published == NEXT_ON)
    return identity != NULL ? lu_bpf_announcer (identity->start_time, identity->exec_id) : 0;
  any = (struct task_struct *) bpf_get_current_task ();
  leader = (struct task_struct *) READ (any, group_leader);
  if ((READ (leader, flags) & PF_FORKNOEXEC) != 0)
    return 0;
  return lu_bpf_announcer (READ (leader, start_boottime), READ (any, self_exec_id) + 1);
}

/* Sets walk->arguments if they were not announced yet; returns their size in bytes. They do not
 * exist yet for a moment after an exec. `published`: the result of find_process(). */
HOST_SUBPROGRAM uint64_t
find_arguments (walk_ref ref, int64_t published)
{
  struct walk *walk = host_walk (ref);
  struct lu_bpf_arguments *head;
  struct task_struct *task;
  struct mm_struct *mm;
  uint64_t *announced, announcer, at, start, size;

  if ((host_config.flags & LU_BPF_ARGUMENTS) == 0 || walk == NULL)
    return 0;
  announced = host_shared->announced;
  HOST_NEAR (announced);
  announcer = at = find_announcer (walk, published);
  HOST_BOUND (at, LU_BPF_N_ANNOUNCED - 1);
  walk->touched.announcer = (uint32_t) at;
  if (announcer == 0 || announced[at] == announcer)
    return 0;
  task = (struct task_struct *) bpf_get_current_task ();
  mm = (struct mm_struct *) READ (task, mm);
  start = READ (mm, arg_start);
  size = READ (mm, arg_end) - start;
  if (start == 0 || (int64_t) size <= 0)
    return 0;
  announced[at] = announcer;
  if (size > LU_BPF_MAX_ARGUMENTS)
    size = LU_BPF_MAX_ARGUMENTS;
  HOST_BOUND (size, LU_BPF_MAX_ARGUMENTS);
  if (bpf_probe_read_user (walk->arguments, (uint32_t) size, (const void *) start) != 0)
    return 0;
  head = (struct lu_bpf_arguments *) walk->arguments_head;
  head->version = LU_BPF_ARGUMENTS_VERSION;
  head->size = (uint32_t) size;
  return size;
}

/* Arguments that find no room in the ring are counted; user space then asks /proc. */
static inline void
tell_arguments (struct walk *walk, struct bpf_perf_event_data *ctx, walk_ref ref, int64_t published)
{
  uint64_t size;

  if ((host_config.flags & LU_BPF_ARGUMENTS) == 0)
    return;
  size = find_arguments (ref, published);
  HOST_BOUND (size, LU_BPF_MAX_ARGUMENTS);
  if (size != 0
      && bpf_perf_event_output (ctx, &outputs, BPF_F_CURRENT_CPU, walk->arguments_head,
                                sizeof walk->arguments_head + size)
             != 0)
    walk->n_unannounced++;
}

/* Copies the registers of a sample in user mode word by word, as the context allows. */
static inline void
copy_registers (struct walk *walk, const struct bpf_perf_event_data *ctx)
{
  const volatile uint64_t *words = (const volatile uint64_t *) &ctx->regs;

#pragma unroll
  for (int i = 0; i < N_REGS; i++)
    walk->regs[i] = words[i];
}

/* Copies the registers that the task continues with in user mode. FALSE: they are out of reach.
 * Loads take half of the time that a helper's copy takes. Older kernels have the registers only in
 * the context of samples in user mode; the kernel rewrites each read of that, which takes as long
 * as a walk. */
static inline int
copy_user_registers (struct walk *walk, const struct bpf_perf_event_data *ctx, int64_t is_kernel)
{
  if ((host_config.flags & LU_BPF_TASK_REGS) != 0)
    {
      arch_copy_registers (walk->regs,
                           (const uint64_t *) bpf_task_pt_regs (bpf_get_current_task_btf ()));
      return 1;
    }
  if (is_kernel)
    return 0;
  copy_registers (walk, ctx);
  return 1;
}

static inline int64_t
copy_user_context (struct walk *walk, struct bpf_perf_event_data *ctx)
{
  int64_t is_kernel = (int64_t) ARCH_IS_KERNEL (ctx);
  uint64_t n_kernel = 0;

  walk->record.flags = LU_BPF_RECORD_KERNEL * (uint32_t) is_kernel;
  walk->record.ip = ARCH_IP (ctx);
  if (!copy_user_registers (walk, ctx, is_kernel))
    return GIVE_UP (NO_REGS);
  if (is_kernel)
    {
      int64_t size = bpf_get_stack (ctx, walk->pcs, LU_BPF_MAX_KERNEL * sizeof walk->pcs[0], 0);

      n_kernel = (uint64_t) size / sizeof walk->pcs[0];
      if (size <= 0 || n_kernel > LU_BPF_MAX_KERNEL)
        return GIVE_UP (INTERNAL);
    }
  walk->n_kernel = (uint32_t) n_kernel;
  return ARCH_IS_64BIT (walk->regs) ? NEXT_ON : GIVE_UP (ABI);
}

/* Returns whether the parent of a child of vfork() may use the stack again that it had lent: the
 * kernel lets it go on while the child that executes a program or ends still has the memory of both
 * (exec_mmap(), exit_mm()). That does not change while the child is in an interrupt. */
static inline int
has_returned_stack (const struct walk *walk)
{
  struct task_struct *task, *parent;
  uint64_t mm;

  if (!ARCH_MAY_LEAVE (walk->regs))
    return 0;
  task = (struct task_struct *) bpf_get_current_task ();
  if (READ (task, vfork_done) != 0)
    return 0;
  parent = (struct task_struct *) READ (task, real_parent);
  mm = READ (task, mm);
  return mm != 0 && READ (parent, mm) == mm;
}

/* Returns the result of a walk from kernel mode, but OTHER_STACK if the words of the stack may be
 * those of another process: then only the sampled place is sure. Such a stack is not copied either.
 */
HOST_SUBPROGRAM int64_t
settle (walk_ref ref, int64_t result)
{
  struct walk *walk = host_walk (ref);
  uint64_t at;

  if (walk == NULL || !has_returned_stack (walk))
    return result;
  at = walk->n_kernel;
  HOST_BOUND (at, N_PCS - 1);
  walk->pcs[at] = walk->regs[REG_PC];
  walk->at = walk->n_kernel + 1;
  walk->n_missed = walk->n_inferred = 0;
  return NEXT_OTHER_STACK;
}

/* Returns COMPLETE, DEPTH_LIMIT or OTHER_STACK without a branch, since the verifier would follow
 * both ways. */
static inline uint32_t
status_of (int64_t result)
{
  uint32_t is_depth = (uint32_t) negative_bit (NEXT_ENDED - (uint64_t) result);
  uint32_t is_other = (uint32_t) negative_bit (NEXT_DEPTH - (uint64_t) result);

  return LU_STATUS_COMPLETE + (LU_STATUS_DEPTH_LIMIT - LU_STATUS_COMPLETE) * is_depth
         + (LU_STATUS_OTHER_STACK - LU_STATUS_DEPTH_LIMIT) * is_other;
}

static inline int64_t
emit (struct walk *walk, struct bpf_perf_event_data *ctx, int64_t result)
{
  struct lu_bpf_record *record = &walk->record;
  uint64_t now = 0, serial = walk->process.serial;
  uint64_t size = walk->at;

  if (walk->by_vmas != 0)
    {
      serial = walk->vma_marks;
      record->flags |= LU_BPF_RECORD_VMAS;
    }
  record->serial = serial;
  record->version = LU_BPF_VERSION;
  record->status = status_of (result);
  record->time = walk->start_ns;
  if ((host_config.flags & LU_BPF_TIME_WALKS) != 0)
    now = host_clock () - walk->start_ns;
  record->walk_ns = (uint32_t) now;
  record->n_kernel = (uint16_t) walk->n_kernel;
  record->n_user = (uint16_t) (walk->at - walk->n_kernel);
  record->zero = 0;
  record->sp = walk->regs[REG_SP];
  if (walk->n_inferred > 0)
    record->flags |= LU_BPF_RECORD_INFERRED;
  if (size > LU_BPF_MAX_KERNEL + LU_BPF_MAX_FRAMES)
    return GIVE_UP (INTERNAL);
  size = sizeof *record + size * sizeof walk->pcs[0];
  if (bpf_perf_event_output (ctx, &outputs, BPF_F_CURRENT_CPU, record, size) != 0)
    return GIVE_UP (EMIT);
  return result;
}

static inline int
is_bpf_unwound (int64_t result)
{
  return (uint64_t) result - NEXT_ENDED <= NEXT_OTHER_STACK - NEXT_ENDED;
}

#if HOST_READS_INTERPRETERS
#include "walk-languages.h"

/* Counts a chain by its outcome, a LuCounter. */
HOST_SUBPROGRAM int64_t
count_chain (walk_ref ref, uint64_t outcome)
{
  uint32_t cpu = ref;
  struct lu_bpf_counters *c = bpf_map_lookup_elem (&counters, &cpu);
  const struct chain *chain = host_chain (ref);

  if (chain == NULL || c == NULL || outcome >= LU_N_BPF_COUNTERS)
    return 0;
  c->values[outcome]++;
  c->values[LU_COUNTER_BPF_FUNCTIONS] += chain->n_functions;
  c->values[LU_COUNTER_BPF_FUNCTIONS_UNREADABLE] += chain->n_unreadable;
  if (outcome != LU_COUNTER_BPF_CHAINS)
    return 0;
  c->values[LU_COUNTER_BPF_CHAINS_CUT] += (chain->record.flags & LU_INTERP_CHAIN_CUT) != 0;
  c->values[LU_COUNTER_BPF_CHAINS_BROKEN] += (chain->record.flags & LU_INTERP_CHAIN_BROKEN) != 0;
  return 0;
}

/* Tells the functions that an interpreter runs in this thread. */
static inline void
tell_functions (const struct walk *walk, struct bpf_perf_event_data *ctx, walk_ref ref)
{
  if (walk->interp != 0)
    count_chain (ref, (uint64_t) tell_chain (ctx, ref));
}
#else
static inline void
tell_functions (const struct walk *walk, struct bpf_perf_event_data *ctx, walk_ref ref)
{
}
#endif

static inline int64_t
take_sample (struct walk *walk, struct bpf_perf_event_data *ctx, walk_ref ref)
{
  uint64_t id = current_ids ();
  int64_t published, result;

  walk->start_ns = host_clock ();
  walk->pc = walk->failed_ea = walk->place.module = 0;
  walk->by_vmas = walk->n_unannounced = walk->interp = walk->interp_tasks = 0;
  if (host_config.pid_namespace != 0 && id >> 32 == 0)
    return GIVE_UP (NOT_FOLLOWED);
  published = find_process (ref, id);
  if (published != GIVE_UP (NOT_FOLLOWED))
    tell_arguments (walk, ctx, ref, published);
  HOST_FORGET (walk, published);
  if (published >= NEXT_GIVE_UP && !can_go_by_vmas (published))
    return published;
  HOST_FORGET (walk, published);
  result = copy_user_context (walk, ctx);
  if (result != NEXT_ON)
    return result;
  walk->record.pid = (uint32_t) (id >> 32);
  walk->record.tid = (uint32_t) id;
  result = published == NEXT_ON ? begin_walk (ref) : go_by_vmas (ref, published);
  if (result == NEXT_ON)
    result = make_walk (walk, ref);
  HOST_FORGET (walk, result);
  if ((walk->record.flags & LU_BPF_RECORD_KERNEL) != 0)
    result = settle (ref, result);
  HOST_FORGET (walk, result);
  tell_functions (walk, ctx, ref);
  return is_bpf_unwound (result) ? emit (walk, ctx, result) : result;
}

/* Four buckets per doubling, from 256 ns on. */
static inline uint32_t
bucket_of (uint64_t ns)
{
  uint32_t bucket = 0;

  if (ns < 256)
    return 0;
  for (int i = 0; i < 16 && ns >= 512; i++)
    {
      ns >>= 1;
      bucket += 4;
    }
  bucket += 1 + (uint32_t) (ns >> 6 & 3);
  return bucket < LU_BPF_N_BUCKETS ? bucket : LU_BPF_N_BUCKETS - 1;
}

/* A function for the verifier, which would otherwise follow the code for each path that leads
 * there. */
HOST_SUBPROGRAM int64_t
count (walk_ref ref, uint32_t cpu, int64_t result)
{
  struct lu_bpf_counters *c = bpf_map_lookup_elem (&counters, &cpu);
  const struct walk *walk = host_walk (ref);
  uint64_t reason = (uint64_t) result - NEXT_GIVE_UP;
  uint64_t n_user;

  if (c == NULL || walk == NULL)
    return 0;
  n_user = walk->at - walk->n_kernel;
  c->values[LU_COUNTER_BPF_UNANNOUNCED] += walk->n_unannounced;
  if (is_bpf_unwound (result))
    {
      uint64_t n_known = n_user - walk->n_missed;

      reason = LU_BPF_REASON_UNWOUND
               + (LU_BPF_REASON_DEPTH - LU_BPF_REASON_UNWOUND)
                     * negative_bit (NEXT_ENDED - (uint64_t) result)
               + (LU_BPF_REASON_OTHER_STACK - LU_BPF_REASON_DEPTH)
                     * negative_bit (NEXT_DEPTH - (uint64_t) result);
      c->values[LU_COUNTER_BPF_FRAMES] += n_user;
      c->values[LU_COUNTER_BPF_REMEMBERED] += n_known & ~is_negative (n_known);
      c->values[LU_COUNTER_BPF_INFERRED] += walk->n_inferred;
      c->values[LU_COUNTER_BPF_KERNEL_MODE] += walk->record.flags & LU_BPF_RECORD_KERNEL;
      c->values[LU_COUNTER_BPF_VMAS] += walk->by_vmas;
      c->values[LU_COUNTER_BPF_BYTES] += sizeof walk->record + sizeof walk->pcs[0] * walk->at;
      if ((host_config.flags & LU_BPF_TIME_WALKS) != 0)
        {
          uint32_t bucket = bucket_of (walk->record.walk_ns);

          HOST_BOUND (bucket, LU_BPF_N_BUCKETS - 1);
          c->buckets[bucket]++;
        }
    }
  else
    {
      c->failed_pc = walk->pc;
      c->failed_ea = walk->failed_ea;
      c->failed_module = walk->place.module;
      c->failed_reason = (uint32_t) reason;
    }
  HOST_BOUND (reason, 31);
  if (reason < LU_BPF_N_REASONS)
    c->reasons[reason]++;
  return 0;
}

SEC ("perf_event")
int
take_walk (struct bpf_perf_event_data *ctx)
{
  uint32_t cpu;
  struct walk *walk;
  int64_t result;

  if (!HOST_READS_INTERPRETERS && (host_config.flags & LU_BPF_REPLACEABLE) != 0)
    bpf_tail_call (ctx, &replacement, 0); /* if there is one */
  cpu = bpf_get_smp_processor_id ();
  walk = bpf_map_lookup_elem (&walks, &cpu);
  if (walk == NULL)
    return 1;
  touch_walk (walk, cpu);
  result = take_sample (walk, ctx, cpu);
  HOST_FORGET (walk, result);
  count (cpu, cpu, result);
  if (result == GIVE_UP (NOT_FOLLOWED))
    return 0;
  return !is_bpf_unwound (result) || (host_config.flags & LU_BPF_CHECK) != 0;
}
