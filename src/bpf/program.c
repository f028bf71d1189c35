/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* program.c - loads the program, which is in skeletons; see program.h. */

#include "bpf/program.h"

#include "base/error.h"
#include "base/fd.h"
#include "bpf/entries.h"
#include "bpf/kernel-types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib/gi18n.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "usual.skel.h"
#include "walker.skel.h"

#define MAX_FDINFO 4096

/* To be published at once; see count_processes(). */
#define PROCESSES_PER_CPU 1024
#define MIN_PROCESSES     4096

/* What the program looks at of the kernel's structures (bpf/kernel-structs.h). Where the later ones
 * are not there, it does without mappings of the kernel's own. */
static const LuKernelStruct kernel_structs[] = {
  { "task_struct",
    { "tgid", "thread_pid", "start_boottime", "self_exec_id", "group_leader", "real_parent", "mm",
      "flags" } },
  { "pid", { "level", "numbers" } },
  { "upid", { "nr", "ns" } },
  { "pid_namespace", { "ns" } },
  { "ns_common", { "inum" } },
  { "mm_struct", { "mm_mt", "arg_start", "arg_end" } },
  { "maple_tree", { "ma_root" } },
  { "vm_area_struct", { "vm_start", "vm_end", "vm_mm", "vm_flags", "vm_pgoff", "vm_file" } },
  { "file", { "f_inode" } },
  { "inode", { "i_ino", "i_generation", "i_sb" } },
  { "super_block", { "s_dev" } },
};

#define N_TASK_STRUCTS 5 /* the first ones */

struct _LuBpfProgram
{
  struct bpf_object *object;   /* owned */
  struct bpf_program *program; /* borrowed from it */
  int map_fds[LU_BPF_N_MAPS];  /* borrowed from it */
  LuBpfEntries entries;
  guint32 flags;
  guint n_cpus;
  guint n_identities;
  struct lu_bpf_counters *counters; /* owned, mapped */
  gsize counters_size;
  int stats_fd; /* owned; -1: runs are not counted */
};

/* Libbpf's own words about a refusal, the last ones. */
static _Thread_local char last_words[256];

static int
keep_words (enum libbpf_print_level level, const char *format, va_list args)
{
  char words[1024];

  if (level == LIBBPF_DEBUG)
    return 0;
  g_vsnprintf (words, sizeof words, format, args);
  g_strchomp (words);
  g_debug ("%s", words);
  if (level == LIBBPF_WARN)
    g_strlcpy (last_words, words, sizeof last_words);
  return 0;
}

/* Of helpers, for programs like ours. */
static gboolean
has_helper (enum bpf_func_id id)
{
  return libbpf_probe_bpf_helper (BPF_PROG_TYPE_PERF_EVENT, id, NULL) == 1;
}

/* A kernel whose mappings can be read has all of them, and each question costs loading a program.
 */
static guint32
rungs (guint32 flags)
{
  if ((flags & LU_BPF_VMAS) != 0 || has_helper (BPF_FUNC_task_pt_regs))
    return LU_BPF_TASK_BTF | LU_BPF_TASK_REGS; /* the elder one is what it is called with */
  return has_helper (BPF_FUNC_get_current_task_btf) ? LU_BPF_TASK_BTF : 0;
}

static struct bpf_map *
find_map (const LuBpfProgram *self, LuBpfMapId id)
{
  static const char *const names[LU_BPF_N_MAPS] = {
    [LU_BPF_MAP_MEMORY] = "memory",       [LU_BPF_MAP_SHARED] = ".bss",
    [LU_BPF_MAP_PROCESSES] = "processes", [LU_BPF_MAP_WALKS] = "walks",
    [LU_BPF_MAP_COUNTERS] = "counters",   [LU_BPF_MAP_OUTPUTS] = "outputs",
  };

  return bpf_object__find_map_by_name (self->object, names[id]);
}

/* As the kernel keeps it: a time namespace shows another (time_namespaces(7)). */
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

/* The program's constants: its configuration, and tables behind it. */
static int
set_constants (LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  struct bpf_map *map = bpf_object__find_map_by_name (self->object, ".rodata");
  gsize size = 0;
  gconstpointer initial = bpf_map__initial_value (map, &size);
  g_autofree guint8 *constants = g_memdup2 (initial, size);
  struct lu_bpf_config *config = (struct lu_bpf_config *) constants;

  G_STATIC_ASSERT (G_STRUCT_OFFSET (struct walker_bpf__rodata, host_config) == 0
                   && G_STRUCT_OFFSET (struct usual_bpf__rodata, host_config) == 0);
  if (size < sizeof *config)
    return -EINVAL;
  config->flags = self->flags;
  config->max_frames = options->max_frames != 0 ? MIN (options->max_frames, LU_BPF_MAX_FRAMES)
                                                : LU_BPF_DEFAULT_FRAMES;
  config->budget_ns = options->budget_ns;
  config->started_ns = boot_time_ns ();
  config->pid_namespace = options->pid_namespace;
  config->n_identities = self->n_identities;
  return bpf_map__set_initial_value (map, constants, size);
}

/* Where all processes are followed, and the kernel's own mappings can be read, only those are
 * published that are sampled often; a CPU has no time for many of them. */
static guint
count_processes (const LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  if (options->max_processes != 0)
    return options->max_processes;
  if ((self->flags & (LU_BPF_VMAS | LU_BPF_FOLLOW)) != LU_BPF_VMAS)
    return LU_BPF_MAX_PROCESSES;
  return CLAMP (self->n_cpus * PROCESSES_PER_CPU, MIN_PROCESSES, LU_BPF_MAX_PROCESSES);
}

/* Two for each process, since they rest: a power of two. */
static guint
count_identities (guint n_processes)
{
  guint n = 2;

  while (n < 2 * n_processes && n < LU_BPF_MAX_IDENTITIES)
    n *= 2;
  return n;
}

static void
set_sizes (LuBpfProgram *self, const LuBpfProgramOptions *options)
{
  struct bpf_map *processes = find_map (self, LU_BPF_MAP_PROCESSES);
  guint n_processes;

  self->n_cpus = MAX (options->n_cpus, 1);
  n_processes = count_processes (self, options);
  self->n_identities = count_identities (n_processes);
  bpf_map__set_max_entries (find_map (self, LU_BPF_MAP_WALKS), self->n_cpus);
  bpf_map__set_max_entries (find_map (self, LU_BPF_MAP_COUNTERS), self->n_cpus);
  bpf_map__set_max_entries (find_map (self, LU_BPF_MAP_OUTPUTS), self->n_cpus);
  /* What is there at once costs loading half a millisecond. Programs like ours may do without from
   * 6.1 on (34dd3bad1a6f), as those have it that read mappings. */
  if ((self->flags & LU_BPF_VMAS) != 0)
    bpf_map__set_map_flags (processes, BPF_F_NO_PREALLOC);
  bpf_map__set_max_entries (processes, n_processes);
}

/* The program's fields are placed by a few of the kernel's types, or, where these cannot be had, by
 * all of them. `types_fd` is borrowed until the program is loaded. */
static struct bpf_object *
open_object (const LuBpfProgram *self, guint32 pid_namespace, int types_fd)
{
  char path[32];
  gsize size;
  const void *bytes = self->flags == LU_BPF_USUAL && pid_namespace == 0
                          ? usual_bpf__elf_bytes (&size)
                          : walker_bpf__elf_bytes (&size);
  LIBBPF_OPTS (bpf_object_open_opts, options, .object_name = "walker");

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", types_fd);
  if (types_fd >= 0)
    options.btf_custom_path = path; /* copied */
  return bpf_object__open_mem (bytes, size, &options);
}

static int
make_memory (LuBpfProgram *self, guint max_entries)
{
  if (!lu_bpf_entries_begin (&self->entries, max_entries != 0
                                                 ? MIN (max_entries, LU_BPF_MAX_ENTRIES)
                                                 : LU_BPF_MAX_ENTRIES))
    return -errno;
  return bpf_map__reuse_fd (find_map (self, LU_BPF_MAP_MEMORY), self->entries.map_fd);
}

/* By hand: libbpf would copy all of its zeros into it. */
static int
make_shared (LuBpfProgram *self)
{
  LIBBPF_OPTS (bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  guint size = G_STRUCT_OFFSET (struct lu_bpf_shared, identities)
               + self->n_identities * sizeof (struct lu_bpf_identity);
  lu_autofd fd = bpf_map_create (BPF_MAP_TYPE_ARRAY, "shared", sizeof (guint32), size, 1, &options);

  return fd >= 0 ? bpf_map__reuse_fd (find_map (self, LU_BPF_MAP_SHARED), fd) : -errno;
}

static int
load (LuBpfProgram *self)
{
  sigset_t all, before;
  int result;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  result = bpf_object__load (self->object);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return result;
}

/* The kernel keeps what it needs of the object's types; a helper has to do with few descriptors. */
static void
close_types (LuBpfProgram *self)
{
  struct btf *btf = bpf_object__btf (self->object);

  if (btf == NULL || btf__fd (btf) < 0)
    return;
  close (btf__fd (btf));
  btf__set_fd (btf, -1);
}

static gboolean
open_and_load (LuBpfProgram *self, const LuBpfProgramOptions *options, GError **error)
{
  guint32 wanted = LU_BPF_CHECK | LU_BPF_FOLLOW | LU_BPF_TIME_WALKS | LU_BPF_NO_CACHE;
  lu_autofd types_fd = lu_kernel_types_open (kernel_structs, G_N_ELEMENTS (kernel_structs));
  guint32 vmas = types_fd >= 0 ? LU_BPF_VMAS : 0;
  int result;

  if (types_fd < 0)
    types_fd = lu_kernel_types_open (kernel_structs, N_TASK_STRUCTS);
  if (vmas != 0)
    wanted |= LU_BPF_ARGUMENTS;
  self->flags = rungs (vmas) | (options->flags & wanted) | vmas;
  self->object = open_object (self, options->pid_namespace, types_fd);
  if (self->object == NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("Opening the BPF program: %s (%s)"),
                   g_strerror (errno), last_words);
      return FALSE;
    }
  set_sizes (self, options);
  result = set_constants (self, options);
  if (result == 0)
    result = make_memory (self, options->max_entries);
  if (result == 0)
    result = make_shared (self);
  if (result == 0)
    result = load (self);
  if (result != 0)
    {
      g_set_error (error, LU_ERROR,
                   /* EACCES is what verifiers say of programs. */
                   result == -EPERM ? LU_ERROR_PERMISSION : LU_ERROR_UNSUPPORTED,
                   _ ("Loading the BPF program: %s (%s)"), g_strerror (-result), last_words);
      return FALSE;
    }
  close_types (self);
  self->program = bpf_object__find_program_by_name (self->object, "take_walk");
  for (LuBpfMapId i = 0; i < LU_BPF_N_MAPS; i++)
    self->map_fds[i] = bpf_map__fd (find_map (self, i));
  self->counters = lu_bpf_program_mmap (self, LU_BPF_MAP_COUNTERS, &self->counters_size);
  if (self->counters == NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("Mapping the BPF program's counters: %s"),
                   g_strerror (errno));
      return FALSE;
    }
  return TRUE;
}

LuBpfProgram *
lu_bpf_program_new (const LuBpfProgramOptions *options, GError **error)
{
  g_autoptr (LuBpfProgram) self = g_new0 (LuBpfProgram, 1);
  libbpf_print_fn_t before = libbpf_set_print (keep_words);
  gboolean is_loaded;

  self->stats_fd = -1;
  self->entries.map_fd = -1;
  last_words[0] = '\0';
  is_loaded = open_and_load (self, options, error);
  libbpf_set_print (before);
  return is_loaded ? g_steal_pointer (&self) : NULL;
}

void
lu_bpf_program_free (LuBpfProgram *self)
{
  if (self == NULL)
    return;
  if (self->counters != NULL)
    munmap (self->counters, self->counters_size);
  lu_fd_clear (&self->stats_fd);
  lu_bpf_entries_end (&self->entries);
  bpf_object__close (self->object);
  g_free (self);
}

/* Not libbpf's way: that takes the event over, and enables and disables it. */
gboolean
lu_bpf_program_attach (LuBpfProgram *self, int event_fd, GError **error)
{
  int program_fd = bpf_program__fd (self->program);

  if (ioctl (event_fd, PERF_EVENT_IOC_SET_BPF, program_fd) == 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED,
               _ ("Attaching the BPF program to a sampling event: %s"), g_strerror (errno));
  return FALSE;
}

gboolean
lu_bpf_program_set_output (LuBpfProgram *self, guint cpu, int output_fd, GError **error)
{
  if (bpf_map_update_elem (self->map_fds[LU_BPF_MAP_OUTPUTS], &cpu, &output_fd, BPF_ANY) == 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED,
               _ ("Giving the BPF program the output of CPU %u: %s"), cpu, g_strerror (errno));
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

guint
lu_bpf_program_add_entries (LuBpfProgram *self, const guint32 *places, guint n, guint32 **words,
                            guint64 *bytes)
{
  return lu_bpf_entries_add (&self->entries, self->map_fds[LU_BPF_MAP_MEMORY], places, n, words,
                             bytes);
}

gboolean
lu_bpf_program_remove_entry (const LuBpfProgram *self, guint entry)
{
  return bpf_map_delete_elem (self->map_fds[LU_BPF_MAP_MEMORY], &entry) == 0;
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
  guint64 bytes = 0;

  for (guint i = 0; i < LU_BPF_N_MAPS; i++)
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
read_info (const LuBpfProgram *self, struct bpf_prog_info *info)
{
  guint32 size = sizeof *info;

  memset (info, 0, sizeof *info);
  return bpf_obj_get_info_by_fd (bpf_program__fd (self->program), info, &size) == 0;
}

guint
lu_bpf_program_verified (const LuBpfProgram *self)
{
  struct bpf_prog_info info;

  return read_info (self, &info) ? info.verified_insns : 0;
}

static void
add_counters (struct lu_bpf_counters *sum, const struct lu_bpf_counters *counters)
{
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    sum->reasons[i] += counters->reasons[i];
  for (guint i = 0; i < LU_BPF_N_BUCKETS; i++)
    sum->buckets[i] += counters->buckets[i];
  sum->n_frames += counters->n_frames;
  sum->n_remembered += counters->n_remembered;
  sum->n_guessed += counters->n_guessed;
  sum->n_kernel_mode += counters->n_kernel_mode;
  sum->n_vmas += counters->n_vmas;
  sum->bytes += counters->bytes;
  sum->n_untold += counters->n_untold;
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

  if (!read_info (self, &info))
    return FALSE;
  *n_runs = info.run_cnt;
  *total_ns = info.run_time_ns;
  return TRUE;
}
