/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* program.c - loads the program from its skeleton; see program.h. */

#include "bpf/program.h"

#include "arch/arch.h"
#include "base/error.h"
#include "base/fd.h"
#include "bpf/reader-process.h"
#include "bpf/refusal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "reader.skel.h"
#include "walker.skel.h"

#define MAX_FDINFO 4096

/* Published processes at a time; see count_processes(). */
#define PROCESSES_PER_CPU 1024
#define MIN_PROCESSES     4096

struct _LuBpfProgram
{
  struct walker_bpf *skeleton; /* owned; NULL once it is settled */
  LuBpfReaderProcess process;  /* loads the reader when it is wanted */
  struct reader_bpf *reader;   /* owned; its replacement, which reads interpreters; NULL: none */
  int program_fd;              /* the skeleton's; owned once it is settled */
  int map_fds[LU_BPF_N_MAPS];  /* as program_fd; -1: closed */
  guint64 closed_bytes;        /* of the maps that are closed */
  guint32 flags;
  guint n_cpus;
  guint n_identities;
  struct lu_bpf_counters *counters; /* owned, mapped */
  gsize counters_size;
  int stats_fd; /* owned; -1: runs are not counted */
};

/* By the warnings of the last attempt. */
static _Thread_local LuBpfRefusal refusal;

static int
keep_words (enum libbpf_print_level level, const char *format, va_list args)
{
  g_autofree char *words = NULL;

  if (level == LIBBPF_DEBUG)
    return 0;
  words = g_strdup_vprintf (format, args); /* the log has 16 MiB at most */
  g_debug ("%.1024s", g_strchomp (words));
  if (level == LIBBPF_WARN)
    lu_bpf_refusal_note (&refusal, words);
  return 0;
}

/* Returns whether the kernel has a helper for programs like ours. This loads a program. */
static gboolean
has_helper (enum bpf_func_id id)
{
  return libbpf_probe_bpf_helper (BPF_PROG_TYPE_PERF_EVENT, id, NULL) == 1;
}

static guint32
helper_flags (void)
{
  if (has_helper (BPF_FUNC_task_pt_regs))
    return LU_BPF_TASK_BTF | LU_BPF_TASK_REGS; /* it takes the task of the older helper */
  return has_helper (BPF_FUNC_get_current_task_btf) ? LU_BPF_TASK_BTF : 0;
}

/* Returns the kernel's boot time; a time namespace has a different one (time_namespaces(7)). */
static guint64
boot_time_ns (void)
{
  g_autofree char *offsets = lu_fd_read_file ("/proc/self/timens_offsets", MAX_FDINFO, NULL);
  const char *line = offsets != NULL ? strstr (offsets, "boottime") : NULL;
  gint64 seconds = 0, ns = 0;
  struct timespec now;

  if (line != NULL)
    sscanf (line, "boottime %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &seconds, &ns);
  clock_gettime (CLOCK_BOOTTIME, &now);
  return (guint64) ((now.tv_sec - seconds) * 1000000000 + now.tv_nsec - ns);
}

static void
set_config (const LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  struct lu_bpf_config *config = &self->skeleton->rodata->host_config;

  config->flags = self->flags;
  config->max_frames = options->max_frames != 0 ? MIN (options->max_frames, LU_BPF_MAX_FRAMES)
                                                : LU_BPF_DEFAULT_FRAMES;
  config->budget_ns = options->budget_ns;
  config->started_ns = boot_time_ns ();
  config->pid_namespace = options->pid_namespace;
  config->n_identities = self->n_identities;
  config->address_mask = lu_arch_address_mask (lu_arch_of_abi (LU_ABI_64));
}

/* If all processes are followed and the kernel's own mappings can be read, only processes that are
 * sampled often are published; a CPU has no time for many of them. */
static guint
count_processes (const LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  if (options->max_processes != 0)
    return options->max_processes;
  if ((self->flags & (LU_BPF_VMAS | LU_BPF_FOLLOW)) != LU_BPF_VMAS)
    return LU_BPF_MAX_PROCESSES;
  return CLAMP (self->n_cpus * PROCESSES_PER_CPU, MIN_PROCESSES, LU_BPF_MAX_PROCESSES);
}

static void
set_sizes (LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  guint n_processes;

  self->n_cpus = MAX (options->n_cpus, 1);
  n_processes = count_processes (self, options);
  /* A power of two, with two identities for each process, since they rest. */
  self->n_identities = MIN (1u << g_bit_storage (2 * n_processes - 1), LU_BPF_MAX_IDENTITIES);
  bpf_map__set_max_entries (self->skeleton->maps.walks, self->n_cpus);
  bpf_map__set_max_entries (self->skeleton->maps.counters, self->n_cpus);
  bpf_map__set_max_entries (self->skeleton->maps.outputs, self->n_cpus);
  if (options->max_entries != 0)
    bpf_map__set_max_entries (self->skeleton->maps.memory,
                              MIN (options->max_entries, LU_BPF_MAX_ENTRIES));
  /* Preallocation takes half a millisecond. Programs like ours may do without it from Linux 6.1 on
   * (34dd3bad1a6f), and kernels with readable mappings are as new. */
  if ((self->flags & LU_BPF_VMAS) != 0)
    bpf_map__set_map_flags (self->skeleton->maps.processes, BPF_F_NO_PREALLOC);
  bpf_map__set_max_entries (self->skeleton->maps.processes, n_processes);
}

/* Libbpf would copy all of the zeros into the map, so create it here. */
static int
make_shared (LuBpfProgram *self)
{
  LIBBPF_OPTS (bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  guint size = G_STRUCT_OFFSET (struct lu_bpf_shared, identities)
               + self->n_identities * sizeof (struct lu_bpf_identity);
  lu_autofd fd = bpf_map_create (BPF_MAP_TYPE_ARRAY, "shared", sizeof (guint32), size, 1, &options);

  return fd >= 0 ? bpf_map__reuse_fd (self->skeleton->maps.bss, fd) : -errno;
}

static int
load (struct bpf_object *object)
{
  sigset_t all, before;
  int result;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  result = bpf_object__load (object);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return result;
}

/* Closes the descriptor of the object's types: the kernel keeps what it needs of them, and a helper
 * has few descriptors. */
static void
close_types (LuBpfProgram *self)
{
  struct btf *btf = bpf_object__btf (self->skeleton->obj);

  if (btf == NULL || btf__fd (btf) < 0)
    return;
  close (btf__fd (btf));
  btf__set_fd (btf, -1);
}

/* Opens the program and loads it as `flags` ask. Returns 0 or a negative errno. */
static int
open_skeleton (LuBpfProgram *self, const LuBpfProgramOptions *options, guint32 flags)
{
  int result;

  refusal = (LuBpfRefusal){ 0 };
  walker_bpf__destroy (self->skeleton);
  self->flags = flags;
  self->skeleton = walker_bpf__open ();
  if (self->skeleton == NULL)
    return -errno;
  set_sizes (self, options);
  set_config (self, options);
  result = make_shared (self);
  return result == 0 ? load (self->skeleton->obj) : result;
}

/* Kernels before 6.1 keep their mappings in other structures, and refuse code whose fields libbpf
 * could not place; the program then does without. Kernels from 6.1 on have all helpers. */
static int
open_and_load (LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  const guint32 modern = LU_BPF_VMAS | LU_BPF_TASK_BTF | LU_BPF_TASK_REGS;
  guint32 wanted =
      options->flags & (LU_BPF_CHECK | LU_BPF_FOLLOW | LU_BPF_TIME_WALKS | LU_BPF_NO_CACHE);
  guint32 arguments = options->flags & LU_BPF_ARGUMENTS;
  int result = open_skeleton (self, options, modern | wanted | arguments | LU_BPF_REPLACEABLE);

  if (result == 0 || result == -EPERM)
    return result;
  wanted |= helper_flags ();
  result = open_skeleton (self, options, wanted | LU_BPF_REPLACEABLE);
  /* Not all just-in-time compilers have had these tail calls before Linux 6.0 (d4609a5d8c70). */
  return result == 0 || result == -EPERM ? result : open_skeleton (self, options, wanted);
}

/* Shares all maps but the constants and the state of chains. */
static int
share_maps (const LuBpfProgram *self, struct reader_bpf *reader)
{
  const struct walker_bpf *from = self->skeleton;
  const struct
  {
    struct bpf_map *to, *from;
  } maps[] = {
    { reader->maps.memory, from->maps.memory },
    { reader->maps.bss, from->maps.bss },
    { reader->maps.processes, from->maps.processes },
    { reader->maps.walks, from->maps.walks },
    { reader->maps.counters, from->maps.counters },
    { reader->maps.outputs, from->maps.outputs },
    { reader->maps.replacement, from->maps.replacement },
  };
  int result = 0;

  for (guint i = 0; i < G_N_ELEMENTS (maps) && result == 0; i++)
    result = bpf_map__reuse_fd (maps[i].to, bpf_map__fd (maps[i].from));
  return result;
}

static int
load_reader (LuBpfProgram *self)
{
  struct reader_bpf *reader;
  const guint32 place = 0;
  int result, fd;

  if ((self->flags & LU_BPF_REPLACEABLE) == 0)
    return -EOPNOTSUPP;
  reader = reader_bpf__open ();
  if (reader == NULL)
    return -errno;
  self->reader = reader;
  reader->rodata->host_config = self->skeleton->rodata->host_config;
  bpf_map__set_max_entries (reader->maps.chains, self->n_cpus);
  result = share_maps (self, reader);
  if (result == 0)
    result = load (reader->obj);
  if (result != 0)
    return result;
  fd = bpf_program__fd (reader->progs.take_walk);
  return bpf_map__update_elem (self->skeleton->maps.replacement, &place, sizeof place, &fd,
                               sizeof fd, BPF_ANY);
}

int
lu_bpf_program_read_interpreters (LuBpfProgram *self)
{
  libbpf_print_fn_t before = libbpf_set_print (keep_words);
  int result;

  refusal = (LuBpfRefusal){ 0 };
  result = load_reader (self);
  libbpf_set_print (before);
  if (result != 0)
    g_debug ("functions of interpreters are not read: %s (%s)", g_strerror (-result),
             refusal.words);
  return result;
}

void
lu_bpf_program_prepare_interpreters (LuBpfProgram *self)
{
  lu_bpf_reader_process_start (&self->process, self);
}

void
lu_bpf_program_want_interpreters (LuBpfProgram *self)
{
  lu_bpf_reader_process_go (&self->process);
}

void
lu_bpf_program_await_interpreters (const LuBpfProgram *self, int ms)
{
  lu_bpf_reader_process_await (&self->process, ms);
}

int
lu_bpf_program_interpreters_error (LuBpfProgram *self)
{
  return lu_bpf_reader_process_result (&self->process);
}

static gboolean
find_maps (LuBpfProgram *self, GError **error)
{
  struct bpf_map *const maps[LU_BPF_N_MAPS] = {
    [LU_BPF_MAP_MEMORY] = self->skeleton->maps.memory,
    [LU_BPF_MAP_SHARED] = self->skeleton->maps.bss,
    [LU_BPF_MAP_PROCESSES] = self->skeleton->maps.processes,
    [LU_BPF_MAP_WALKS] = self->skeleton->maps.walks,
    [LU_BPF_MAP_COUNTERS] = self->skeleton->maps.counters,
    [LU_BPF_MAP_OUTPUTS] = self->skeleton->maps.outputs,
    [LU_BPF_MAP_REPLACEMENT] = self->skeleton->maps.replacement,
  };

  self->program_fd = bpf_program__fd (self->skeleton->progs.take_walk);
  for (LuBpfMapId i = 0; i < LU_BPF_N_MAPS; i++)
    self->map_fds[i] = bpf_map__fd (maps[i]);
  self->counters = lu_bpf_program_mmap (self, LU_BPF_MAP_COUNTERS, &self->counters_size);
  if (self->counters != NULL)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot map the BPF program's counters: %s"),
               g_strerror (errno));
  return FALSE;
}

LuBpfProgram *
lu_bpf_program_new (const LuBpfProgramOptions *options, GError **error)
{
  g_autoptr (LuBpfProgram) self = g_new0 (LuBpfProgram, 1);
  libbpf_print_fn_t before = libbpf_set_print (keep_words);
  int result;

  self->stats_fd = self->process.fd = -1;
  result = open_and_load (self, options);
  libbpf_set_print (before);
  if (result != 0)
    {
      g_propagate_error (error, lu_bpf_refusal_to_error (&refusal, -result));
      return NULL;
    }
  close_types (self);
  return find_maps (self, error) ? g_steal_pointer (&self) : NULL;
}

/* Libbpf does not give descriptors away, so those that are kept are copied. */
gboolean
lu_bpf_program_settle (LuBpfProgram *self)
{
  static const LuBpfMapId kept[] = { LU_BPF_MAP_MEMORY, LU_BPF_MAP_PROCESSES, LU_BPF_MAP_OUTPUTS,
                                     LU_BPF_MAP_REPLACEMENT };
  lu_autofd program_fd = fcntl (self->program_fd, F_DUPFD_CLOEXEC, 0);
  int fds[LU_BPF_N_MAPS];
  gboolean is_copied = program_fd >= 0;

  memset (fds, 0xff, sizeof fds);
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      fds[kept[i]] = fcntl (self->map_fds[kept[i]], F_DUPFD_CLOEXEC, 0);
      is_copied = is_copied && fds[kept[i]] >= 0;
    }
  for (LuBpfMapId i = 0; i < LU_BPF_N_MAPS; i++)
    if (!is_copied)
      lu_fd_clear (&fds[i]);
    else if (fds[i] < 0)
      self->closed_bytes += lu_bpf_map_memory (self->map_fds[i]);
  if (!is_copied)
    return FALSE;
  memcpy (self->map_fds, fds, sizeof fds);
  self->program_fd = lu_fd_steal (&program_fd);
  g_clear_pointer (&self->skeleton, walker_bpf__destroy);
  return TRUE;
}

static void
close_settled (LuBpfProgram *self)
{
  lu_fd_clear (&self->program_fd);
  for (LuBpfMapId i = 0; i < LU_BPF_N_MAPS; i++)
    lu_fd_clear (&self->map_fds[i]);
}

void
lu_bpf_program_free (LuBpfProgram *self)
{
  if (self == NULL)
    return;
  if (self->counters != NULL)
    munmap (self->counters, self->counters_size);
  if (self->skeleton == NULL)
    close_settled (self);
  lu_fd_clear (&self->stats_fd);
  lu_bpf_reader_process_stop (&self->process);
  reader_bpf__destroy (self->reader);
  walker_bpf__destroy (self->skeleton);
  g_free (self);
}

/* Does not use libbpf, which would own the event, and enable and disable it. */
gboolean
lu_bpf_program_attach (LuBpfProgram *self, int event_fd, GError **error)
{
  if (ioctl (event_fd, PERF_EVENT_IOC_SET_BPF, self->program_fd) == 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED,
               _ ("cannot attach the BPF program to a sampling event: %s"), g_strerror (errno));
  return FALSE;
}

gboolean
lu_bpf_program_set_output (LuBpfProgram *self, guint cpu, int output_fd, GError **error)
{
  if (bpf_map_update_elem (self->map_fds[LU_BPF_MAP_OUTPUTS], &cpu, &output_fd, BPF_ANY) == 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED,
               _ ("cannot give the BPF program the output of CPU %u: %s"), cpu, g_strerror (errno));
  return FALSE;
}

/* Maps */

int
lu_bpf_program_map_fd (const LuBpfProgram *self, LuBpfMapId map)
{
  return self->map_fds[map];
}

gpointer
lu_bpf_program_mmap (const LuBpfProgram *self, LuBpfMapId map, gsize *size)
{
  struct bpf_map_info info = { 0 };
  guint32 info_size = sizeof info;
  gpointer memory;

  if (bpf_obj_get_info_by_fd (self->map_fds[map], &info, &info_size) != 0)
    return NULL;
  *size = (gsize) ((info.value_size + 7) & ~7u) * info.max_entries;
  memory = mmap (NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, self->map_fds[map], 0);
  return memory != MAP_FAILED ? memory : NULL;
}

guint64
lu_bpf_map_memory (int map_fd)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fdinfo/%d", map_fd);
  g_autofree char *text = lu_fd_read_file (path, MAX_FDINFO, NULL);
  const char *line = text != NULL ? strstr (text, "memlock:") : NULL;

  return line != NULL ? g_ascii_strtoull (line + strlen ("memlock:"), NULL, 10) : 0;
}

guint64
lu_bpf_program_memory (const LuBpfProgram *self)
{
  guint64 bytes = self->closed_bytes;

  for (LuBpfMapId i = 0; i < LU_BPF_N_MAPS; i++)
    if (self->map_fds[i] >= 0)
      bytes += lu_bpf_map_memory (self->map_fds[i]);
  return bytes;
}

/* Statistics */

guint
lu_bpf_program_n_identities (const LuBpfProgram *self)
{
  return self->n_identities;
}

guint32
lu_bpf_program_flags (const LuBpfProgram *self)
{
  return self->flags;
}

static gboolean
read_info (int program_fd, struct bpf_prog_info *info)
{
  guint32 size = sizeof *info;

  memset (info, 0, sizeof *info);
  return bpf_obj_get_info_by_fd (program_fd, info, &size) == 0;
}

guint
lu_bpf_program_verified (const LuBpfProgram *self)
{
  struct bpf_prog_info info;

  return read_info (self->program_fd, &info) ? info.verified_insns : 0;
}

guint
lu_bpf_program_verified_with_interpreters (const LuBpfProgram *self)
{
  struct bpf_prog_info info;

  return self->reader != NULL && read_info (bpf_program__fd (self->reader->progs.take_walk), &info)
             ? info.verified_insns
             : 0;
}

static void
add_counters (struct lu_bpf_counters *sum, const struct lu_bpf_counters *counters)
{
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    sum->reasons[i] += counters->reasons[i];
  for (guint i = 0; i < LU_BPF_N_BUCKETS; i++)
    sum->buckets[i] += counters->buckets[i];
  for (guint i = 0; i < LU_N_BPF_COUNTERS; i++)
    sum->values[i] += counters->values[i];
  if (counters->failed_pc == 0)
    return;
  sum->failed_pc = counters->failed_pc;
  sum->failed_ea = counters->failed_ea;
  sum->failed_module = counters->failed_module;
  sum->failed_reason = counters->failed_reason;
}

void
lu_bpf_program_sum (const LuBpfProgram *self, struct lu_bpf_counters *sum)
{
  memset (sum, 0, sizeof *sum);
  for (guint i = 0; i < self->n_cpus; i++)
    add_counters (sum, &self->counters[i]);
}

gboolean
lu_bpf_program_count_runs (LuBpfProgram *self)
{
  if (self->stats_fd < 0)
    self->stats_fd = bpf_enable_stats (BPF_STATS_RUN_TIME);
  return self->stats_fd >= 0;
}

gboolean
lu_bpf_program_runs (const LuBpfProgram *self, guint64 *n_runs, guint64 *total_ns)
{
  struct bpf_prog_info info;

  if (!read_info (self->program_fd, &info))
    return FALSE;
  *n_runs = info.run_cnt;
  *total_ns = info.run_time_ns;
  return TRUE;
}
