/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-sink.c - the sink that writes a Sysprof capture; see syscap.h.
 *
 * Decides when a frame is written: PROCESS, mountinfo and MAPs of a process right before its first
 * sample, new mappings before the first sample that may hit them, kernel names at the next flush.
 * So the file has no frames of processes that were never sampled, and a file that was cut anywhere
 * explains all its samples, except for the latest kernel names. Frames with a negative pid crash
 * the viewer and are never written. */

#include "syscap.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/printable.h"
#include "syscap-counters.h"
#include "syscap-frames.h"
#include "syscap-kernel.h"
#include "syscap-pids.h"
#include "syscap-stack.h"
#include "syscap-system.h"

#include <string.h>
#include <sys/sysmacros.h>

#define KALLSYMS_PATH  "/proc/kallsyms"
#define MOUNTINFO_PATH "/proc/self/mountinfo"
#define MOUNTINFO_MAX  (256u << 10)
/* Bit of LuSyscapPid.named_states for the marker of omitted frames; the other bits are end states.
 */
#define LEFT_OUT_BIT 31
/* Room is made for this many further functions of interpreters at a time. */
#define FUNCTIONS_STEP 4096
_Static_assert(LU_N_STATUS <= LEFT_OUT_BIT, "a bit for each state");

typedef struct
{
  guint32 module_id;   /* 0: none */
  LuModuleState state; /* when `file` was made; the build-id may become known later */
  LuFileId *file;      /* referenced */
} ModuleFile;

typedef struct
{
  LuSink parent;
  LuSyscapWriter *writer;
  char *kallsyms_path;
  gboolean kallsyms_is_given;
  LuKallsymsFile *kallsyms; /* reference; NULL: none */
  gboolean for_client;
  gboolean redact;
  gboolean varies[LU_MAX_EVENTS]; /* samples of this event have weights of their own */
  char *own_mountinfo; /* of our mount namespace, which a client knows; NULL without a client */
  LuSyscapKernel *kernel;
  LuSyscapPids *pids;
  LuFileIds *file_ids;
  ModuleFile files[64];
  LuSyscapCounters *counters; /* NULL: none are wanted */
  LuSyscapHits *hits;         /* NULL: the capture gets no __symbols__ */
  GByteArray *functions;      /* of interpreters: TRUE for those that samples have, by address */
  GArray *unnamed;            /* of guint64: those of them that have no name in the capture */
  const LuFunctions *function_names; /* borrowed; NULL: no sample has functions */
  gboolean wants_symbols;
  const LuSyscapTapOps *tap_ops; /* NULL: no tap */
  gpointer tap;
  gboolean writes_capture;
  LuNamerProgress go_on; /* NULL: always */
  gpointer go_on_data;
  LuRuntimes *runtimes;     /* borrowed; NULL: nobody asks for them */
  LuDebuginfod *debuginfod; /* borrowed; NULL: use only names of this machine */
  guint64 n_shadowed;       /* samples that may be in a mapping that the viewer drops */
  guint64 n_no_pid;         /* omitted samples of tasks without a pid */
  guint64 n_dropped;        /* mappings beyond LU_SYSCAP_MAPS_MAX */
} SyscapSink;

/* The user data of emit_map(). */
typedef struct
{
  LuSyscapWriter *writer;
  gint32 pid;
} MapTarget;

static gboolean
emit_map (const LuSyscapMapping *mapping, gpointer user_data, GError **error)
{
  const MapTarget *target = user_data;

  return lu_syscap_write_map (target->writer, target->pid, mapping, error);
}

/* A file in memory that is no program holds generated code, which has no file for a reader. */
static LuFileId *
make_file_id (SyscapSink *self, const LuModule *module, LuModuleState state)
{
  const LuModuleKey *key = lu_module_key (module);
  gboolean is_generated = key->kind == LU_MODULE_MEMORY && state != LU_MODULE_READY;
  g_autoptr (GString) text = g_string_new (NULL);
  guint8 digest[LU_FILE_DIGEST_SIZE];
  char digest_text[2 * LU_FILE_DIGEST_SIZE + 1];
  LuFileId id = { .path = is_generated ? "//anon" : lu_module_path (module) };
  gsize size;
  const guint8 *build_id = lu_module_build_id (module, &size);

  if (build_id != NULL && size > 0)
    {
      lu_hex_append (text, build_id, size);
      id.build_id = text->str;
    }
  if (key->has_inode && lu_module_key_is_file (key) && !is_generated)
    {
      id.device = makedev (key->major, key->minor);
      id.inode = key->inode;
      id.inode_generation = key->inode_generation;
    }
  if (state == LU_MODULE_READY && lu_module_key_is_file (key)
      && lu_image_file_digest (lu_module_image (module), digest))
    {
      lu_hex_write (digest_text, digest, sizeof digest);
      id.digest = digest_text;
    }
  return lu_file_ids_intern (self->file_ids, &id);
}

/* Returns the identity of a module's file, borrowed until the next call. A few modules are kept,
 * because processes map the same few again and again. */
static LuFileId *
file_of_module (SyscapSink *self, const LuModule *module)
{
  ModuleFile *kept = &self->files[lu_module_id (module) % G_N_ELEMENTS (self->files)];
  LuModuleState state = lu_module_state (module);

  if (kept->module_id != lu_module_id (module) || kept->state != state)
    {
      lu_file_id_unref (kept->file);
      *kept = (ModuleFile){ .module_id = lu_module_id (module),
                            .state = state,
                            .file = make_file_id (self, module, state) };
    }
  return kept->file;
}

static gboolean
write_mapping (SyscapSink *self, LuSyscapPid *pid, const LuMapping *source, GError **error)
{
  MapTarget target = { self->writer, pid->pid };
  LuSyscapMapping mapping = { .start = source->start,
                              .end = source->end,
                              .file_offset = source->file_offset,
                              .time = source->time,
                              .module_id = lu_module_id (source->module) };
  LuSyscapMapsOutput output = { .emit = emit_map, .user_data = &target };
  gboolean ok;

  if (lu_syscap_maps_has (pid->maps, &mapping))
    return TRUE;
  mapping.file = file_of_module (self, source->module);
  ok = lu_syscap_maps_add (pid->maps, &mapping, &output, error);
  if (output.has_shadowed)
    {
      self->n_shadowed += pid->n_samples;
      pid->n_samples = 0;
    }
  self->n_dropped += output.has_dropped;
  return ok;
}

static gboolean
write_address_space (SyscapSink *self, LuSyscapPid *pid, const LuAddressSpace *space,
                     GError **error)
{
  const LuMapping *mappings;
  guint n_mappings;

  if (pid->address_space_serial == lu_address_space_serial (space))
    return TRUE;
  if (pid->maps == NULL)
    pid->maps = lu_syscap_maps_new ();
  mappings = lu_address_space_mappings (space, &n_mappings);
  for (guint i = 0; i < n_mappings; i++)
    if (!write_mapping (self, pid, &mappings[i], error))
      return FALSE;
  pid->address_space_serial = lu_address_space_serial (space);
  return TRUE;
}

static gboolean
write_file (SyscapSink *self, const char *path, gconstpointer bytes, gsize size, GError **error)
{
  const LuSyscapFile file = { .path = path, .bytes = bytes, .size = size, .is_last = TRUE };

  return lu_syscap_write_file (self->writer, &file, error);
}

/* A client already has the table of our own mount namespace, and paths there need no translation.
 */
static gboolean
wants_mountinfo (SyscapSink *self, const char *mountinfo)
{
  return mountinfo != NULL && !self->redact
         && (self->own_mountinfo == NULL || strcmp (mountinfo, self->own_mountinfo) != 0);
}

/* The name of a pid is that of its latest incarnation; samples of an earlier one may still follow.
 */
static gboolean
write_process (SyscapSink *self, LuSyscapPid *pid, LuProcess *process, GError **error)
{
  LuLabels labels = lu_process_labels (process);
  const char *command_line = labels.command_line;
  const char *mountinfo = pid->has_mountinfo ? NULL : lu_process_mountinfo (process);
  guint64 id = lu_process_id (process);
  g_autofree char *program = NULL;

  if (self->redact)
    labels.command_line = program = lu_labels_program (&labels);
  if (id > pid->process_id || (id == pid->process_id && command_line != pid->command_line))
    {
      if (!lu_syscap_write_process (self->writer, lu_process_start_time (process), pid->pid,
                                    &labels, error))
        return FALSE;
      pid->process_id = id;
      pid->command_line = command_line;
      pid->is_known = TRUE;
    }
  if (wants_mountinfo (self, mountinfo))
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/mountinfo", pid->pid);

      pid->has_mountinfo = TRUE;
      return write_file (self, path, mountinfo, strlen (mountinfo), error);
    }
  return TRUE;
}

/* Writes the name of a thread when it is first sampled, unless it is that of its program, and
 * whenever it has changed. */
static gboolean
write_thread (SyscapSink *self, LuSyscapPid *pid, const LuSinkSample *sample, GError **error)
{
  const char *name = sample->thread_name != NULL ? sample->thread_name : "", *known;
  const LuLabels labels = lu_process_labels (sample->process);
  g_autofree char *program = NULL, *clean = NULL, *text = NULL;
  gboolean is_needed;

  if (pid->thread_names == NULL)
    pid->thread_names = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  known = g_hash_table_lookup (pid->thread_names, GINT_TO_POINTER (sample->tid));
  if (self->redact || g_strcmp0 (known, name) == 0)
    return TRUE;
  program = lu_labels_program (&labels);
  is_needed = known != NULL || !lu_labels_thread_is_program (program, name);
  if (g_hash_table_size (pid->thread_names) >= LU_THREAD_NAMES_MAX)
    g_hash_table_remove_all (pid->thread_names); /* writing them again does no harm */
  g_hash_table_replace (pid->thread_names, GINT_TO_POINTER (sample->tid), g_strdup (name));
  clean = lu_printable (name, 0);
  text = g_strdup_printf ("%d %d %s", sample->pid, sample->tid, clean);
  return !is_needed || lu_syscap_write_metadata (self->writer, LU_SYSCAP_KEY_THREAD, text, error);
}

/* Names the synthetic address of an end state, or of the marker (LEFT_OUT_BIT). A client cannot
 * take a JITMAP, which names addresses for a whole capture, so the name is that of a mapped file of
 * one byte. */
static gboolean
name_address (SyscapSink *self, LuSyscapPid *pid, guint bit, GError **error)
{
  guint64 address = bit == LEFT_OUT_BIT ? LU_SYSCAP_LEFT_OUT : LU_SYNTHETIC_BASE + bit;
  g_autofree char *name = lu_syscap_synthetic_name (address);
  LuFileId file = { .path = name };
  LuSyscapMapping mapping = { .start = address, .end = address + 1, .file = &file };

  if ((pid->named_states & 1u << bit) != 0)
    return TRUE;
  pid->named_states |= 1u << bit;
  return lu_syscap_write_map (self->writer, pid->pid, &mapping, error);
}

static gboolean
name_synthetic_frames (SyscapSink *self, const LuSinkSample *sample, guint n_addresses,
                       GError **error)
{
  LuSyscapPid *pid;

  if (!self->for_client)
    return TRUE;
  pid = lu_syscap_pids_get (self->pids, sample->pid);
  if (n_addresses == LU_SYSCAP_MAX_ADDRESSES && !name_address (self, pid, LEFT_OUT_BIT, error))
    return FALSE;
  return !lu_syscap_status_is_shown (sample->status)
         || name_address (self, pid, sample->status, error);
}

static gboolean
name_function (SyscapSink *self, guint64 address, LuFunctionNames names, GError **error)
{
  g_autofree char *with_line = names.line != 0
                                   ? g_strdup_printf ("%s%+" G_GINT64_FORMAT, names.source,
                                                      (gint64) names.line - names.first_line)
                                   : NULL;
  const LuSyscapJitName jit_names[] = {
    { address, names.name },
    { address + LU_FUNCTION_SOURCE, with_line != NULL ? with_line : names.source },
  };

  if (self->hits != NULL)
    lu_syscap_hits_learn (self->hits, address, names.name, names.number);
  return lu_syscap_write_jit_names (self->writer, jit_names, names.source != NULL ? 2 : 1, error);
}

/* Names the functions of interpreters that have no name in the capture yet, but for those that are
 * not announced yet. */
static gboolean
name_functions (SyscapSink *self, GError **error)
{
  guint n_left = 0;

  for (guint i = 0; i < self->unnamed->len; i++)
    {
      guint64 address = g_array_index (self->unnamed, guint64, i);
      LuFunctionNames names = lu_functions_names (self->function_names, address);

      if (names.source == NULL && address >= LU_FUNCTION_FIRST)
        g_array_index (self->unnamed, guint64, n_left++) = address;
      else if (!name_function (self, address, names, error))
        return FALSE;
    }
  g_array_set_size (self->unnamed, n_left);
  return TRUE;
}

/* The others are never announced. Their names are not looked up: the writer's thread may have gone
 * on to another file. */
static gboolean
end_functions (SyscapSink *self, GError **error)
{
  for (guint i = 0; i < self->unnamed->len; i++)
    if (!name_function (self, g_array_index (self->unnamed, guint64, i),
                        (LuFunctionNames){ .name = LU_FUNCTION_UNREADABLE_NAME }, error))
      return FALSE;
  return TRUE;
}

/* Returns whether a sample has the function for the first time. Addresses follow each other. */
static gboolean
is_new_function (SyscapSink *self, guint64 address)
{
  guint64 index = address - LU_FUNCTION_BASE;
  guint size = self->functions->len;

  if (index >= size)
    {
      g_byte_array_set_size (self->functions, (guint) index + FUNCTIONS_STEP);
      memset (self->functions->data + size, 0, self->functions->len - size);
    }
  if (self->functions->data[index])
    return FALSE;
  self->functions->data[index] = TRUE;
  return TRUE;
}

static gboolean
take_functions (SyscapSink *self, const LuSinkSample *sample, GError **error)
{
  self->function_names = sample->functions;
  for (guint i = 0; i < sample->n_user; i++)
    {
      guint64 address = sample->user[i].pc;

      if ((sample->user[i].flags & LU_FRAME_FUNCTION) != 0 && is_new_function (self, address))
        g_array_append_val (self->unnamed, address);
    }
  return self->unnamed->len == 0 || name_functions (self, error);
}

/* Drops outermost frames outside of all mappings, where unwinding went wrong; the end state
 * remains. */
static void
leave_out_unmapped_end (LuSinkSample *sample)
{
  while (sample->status != LU_STATUS_COMPLETE && sample->n_user > 0 && sample->space != NULL
         && lu_address_space_find (sample->space, sample->user[sample->n_user - 1].pc) == NULL)
    sample->n_user--;
}

/* A client knows only addresses of code. */
static void
show_native (LuSinkSample *sample)
{
  if (sample->native == NULL)
    return;
  sample->user = sample->native;
  sample->n_user = sample->n_native;
}

static gboolean
write_beginning (SyscapSink *self, const LuRecording *recording, GError **error)
{
  if (self->for_client)
    return lu_syscap_write_recording (self->writer, recording, error);
  return lu_syscap_write_jitmap (self->writer, error)
         && lu_syscap_write_system (self->writer, recording, error);
}

static void
open_kallsyms (SyscapSink *self, GError **error)
{
  int fd = lu_kallsyms_open (self->kallsyms_path, error);

  if (fd >= 0)
    self->kallsyms = lu_kallsyms_file_new (fd, NULL);
}

static gboolean
syscap_begin (LuSink *sink, const LuRecording *recording, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;
  g_autoptr (GError) no_kallsyms = NULL;

  if (self->kallsyms == NULL && self->kallsyms_path != NULL
      && (recording->live || self->kallsyms_is_given))
    open_kallsyms (self, &no_kallsyms);
  self->kernel = lu_syscap_kernel_new (self->kallsyms);
  self->redact = recording->redact;
  for (guint i = 0; i < MIN (recording->n_events, LU_MAX_EVENTS); i++)
    self->varies[i] = recording->events[i].varies != 0;
  if (self->wants_symbols)
    self->hits = lu_syscap_hits_new (recording->live);
  if (recording->live && recording->counters && !self->for_client)
    self->counters = lu_syscap_counters_new (!recording->redact);
  if (self->hits != NULL && self->debuginfod != NULL)
    lu_syscap_hits_set_debuginfod (self->hits, self->debuginfod);

  if (!lu_syscap_writer_header (self->writer, recording->start_time, recording->wall_clock, error)
      || !write_beginning (self, recording, error))
    return FALSE;
  if (no_kallsyms != NULL
      && !lu_syscap_write_metadata (self->writer, "live-unwinder.no-kernel-names",
                                    no_kallsyms->message, error))
    return FALSE;
  /* Find out whether the file can be written before the command starts. */
  return lu_syscap_writer_flush (self->writer, error);
}

/* Replaces the addresses of kernel frames by ones that do not reveal where the kernel is. */
static void
hide_kernel (SyscapSink *self, LuSinkSample *sample, LuFrame kernel[LU_SYSCAP_MAX_ADDRESSES])
{
  sample->n_kernel = MIN (sample->n_kernel, LU_SYSCAP_MAX_ADDRESSES);
  for (guint i = 0; i < sample->n_kernel; i++)
    {
      kernel[i] = sample->kernel[i];
      kernel[i].pc = lu_syscap_kernel_hide (self->kernel, kernel[i].pc);
    }
  sample->kernel = kernel;
}

static gboolean
write_sample (SyscapSink *self, const LuSinkSample *sample, const guint64 *addresses, guint n,
              GError **error)
{
  const LuSyscapHead head = { .cpu = sample->cpu, .pid = sample->pid, .time = sample->time };
  guint event = MIN (sample->event, LU_MAX_EVENTS - 1);
  const LuSyscapSample stored = { .tid = sample->tid,
                                  .event = event,
                                  .weight = self->varies[event] ? sample->weight : 0,
                                  .n_addresses = n,
                                  .addresses = addresses };

  return lu_syscap_write_sample (self->writer, &head, &stored, error);
}

/* Returns the process if the stack ends in generated code or passes it: code without unwind
 * information, or whose caller was found without. */
static LuProcess *
generated_by (const LuSinkSample *sample)
{
  if (sample->status == LU_STATUS_JIT)
    return sample->process;
  for (guint i = 0; i < sample->n_user; i++)
    if ((sample->user[i].flags & LU_FRAME_INFERRED) != 0)
      return sample->process;
  return NULL;
}

static gboolean
syscap_sample (LuSink *sink, const LuSinkSample *finished, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;
  LuSinkSample sample = *finished;
  guint64 addresses[LU_SYSCAP_MAX_ADDRESSES];
  LuFrame kernel[LU_SYSCAP_MAX_ADDRESSES];
  LuSyscapPid *pid = NULL;
  guint n;

  if (sample.pid < 0)
    {
      self->n_no_pid++;
      return TRUE;
    }
  lu_syscap_counters_add_sample (self->counters);
  if (sample.process != NULL)
    {
      pid = lu_syscap_pids_get (self->pids, sample.pid);
      pid->n_samples++;
      if (!write_process (self, pid, sample.process, error)
          || !write_thread (self, pid, &sample, error)
          || (sample.space != NULL && !write_address_space (self, pid, sample.space, error)))
        return FALSE;
    }
  if (self->redact)
    hide_kernel (self, &sample, kernel);
  else
    lu_syscap_kernel_hit (self->kernel, sample.kernel, sample.n_kernel);
  if (self->for_client)
    {
      show_native (&sample);
      leave_out_unmapped_end (&sample);
    }
  else if (sample.native != NULL && !take_functions (self, &sample, error))
    return FALSE;
  n = lu_syscap_stack_encode (&sample, addresses);
  if (!name_synthetic_frames (self, &sample, n, error))
    return FALSE;
  if (self->hits != NULL)
    lu_syscap_hits_add (self->hits, &(LuSyscapHitStack){ .pid = sample.pid,
                                                         .time = sample.time,
                                                         .maps = pid != NULL ? pid->maps : NULL,
                                                         .addresses = addresses,
                                                         .n_addresses = n,
                                                         .generated_by = generated_by (&sample) });
  return write_sample (self, &sample, addresses, n, error);
}

static gboolean
syscap_fork (LuSink *sink, guint64 time, gint32 pid, gint32 child_pid, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;

  /* Viewers do not show new threads, for which child_pid is pid. */
  if (pid < 0 || child_pid < 0 || pid == child_pid)
    return TRUE;
  lu_syscap_pids_begin (self->pids, child_pid)->is_known = TRUE;
  return lu_syscap_write_fork (self->writer, time, pid, child_pid, error);
}

static gboolean
syscap_exit (LuSink *sink, guint64 time, gint32 pid, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;
  LuSyscapPid *found = pid >= 0 ? lu_syscap_pids_find (self->pids, pid) : NULL;

  if (found == NULL || !found->is_known)
    return TRUE;
  lu_syscap_pids_exit (self->pids, found);
  return lu_syscap_write_exit (self->writer, time, pid, error);
}

static gboolean
syscap_log (LuSink *sink, guint64 time, const char *message, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;

  lu_syscap_counters_take_log (self->counters, message);
  return lu_syscap_write_log (self->writer, time, message, error);
}

static gboolean
syscap_metadata (LuSink *sink, const char *key, const char *text, GError **error)
{
  return lu_syscap_write_metadata (((SyscapSink *) sink)->writer, key, text, error);
}

static gboolean
syscap_flush (LuSink *sink, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;

  return name_functions (self, error)
         && lu_syscap_counters_write (self->counters, self->writer, lu_monotonic_ns (), error)
         && lu_syscap_kernel_write (self->kernel, self->writer, FALSE, error)
         && lu_syscap_writer_flush (self->writer, error);
}

static gboolean
write_counts (SyscapSink *self, GError **error)
{
  const struct
  {
    const char *key;
    guint64 count;
  } counts[] = { { "live-unwinder.shadowed-samples", self->n_shadowed },
                 { "live-unwinder.samples-without-pid", self->n_no_pid },
                 { "live-unwinder.mappings-left-out", self->n_dropped } };

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, counts[i].count);

      if (counts[i].count > 0
          && !lu_syscap_write_metadata (self->writer, counts[i].key, text, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
write_symbols (SyscapSink *self, GError **error)
{
  g_autoptr (GByteArray) file = NULL;
  g_autoptr (LuKallsyms) kernel = NULL;
  LuSyscapHitsResult result;
  g_autofree char *text = NULL;

  if (self->hits == NULL)
    return TRUE;
  kernel = lu_syscap_kernel_symbols (self->kernel);
  file = lu_syscap_hits_name (self->hits, kernel, self->go_on, self->go_on_data, &result);
  text = g_strdup_printf ("%u of %u%s", result.n_named, result.n_addresses,
                          result.is_skipped ? ", skipped" : "");
  if (self->runtimes != NULL)
    *self->runtimes = result.runtimes;
  return lu_syscap_write_metadata (self->writer, "live-unwinder.named-addresses", text, error)
         && write_file (self, LU_SYSCAP_SYMBOLS_FILE, file->data, file->len, error);
}

static gboolean
syscap_end (LuSink *sink, guint64 end_time, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;
  gboolean ok = lu_syscap_kernel_write (self->kernel, self->writer, TRUE, error)
                && end_functions (self, error) && write_counts (self, error)
                && write_symbols (self, error);

  /* Complete the header even if the disk is full. */
  ok = lu_syscap_writer_finish (self->writer, end_time, ok ? error : NULL) && ok;
  return (self->tap_ops == NULL || self->tap_ops->end (self->tap, ok ? error : NULL)) && ok;
}

static guint64
syscap_bytes_written (LuSink *sink)
{
  SyscapSink *self = (SyscapSink *) sink;

  return (self->writes_capture ? lu_syscap_writer_size (self->writer) : 0)
         + (self->tap_ops != NULL ? self->tap_ops->get_written (self->tap) : 0);
}

static void
syscap_free (LuSink *sink)
{
  SyscapSink *self = (SyscapSink *) sink;

  lu_syscap_writer_free (self->writer);
  lu_syscap_kernel_free (self->kernel);
  lu_syscap_pids_free (self->pids);
  for (guint i = 0; i < G_N_ELEMENTS (self->files); i++)
    lu_file_id_unref (self->files[i].file);
  lu_syscap_counters_free (self->counters);
  lu_syscap_hits_free (self->hits);
  g_byte_array_unref (self->functions);
  g_array_unref (self->unnamed);
  lu_file_ids_free (self->file_ids);
  if (self->tap_ops != NULL)
    self->tap_ops->free (self->tap);
  lu_kallsyms_file_unref (self->kallsyms);
  g_free (self->kallsyms_path);
  g_free (self->own_mountinfo);
  g_free (self);
}

static const LuSinkOps syscap_sink_ops = {
  .name = "syscap",
  .suffix = ".syscap",
  .begin = syscap_begin,
  .sample = syscap_sample,
  .fork = syscap_fork,
  .exit = syscap_exit,
  .log = syscap_log,
  .metadata = syscap_metadata,
  .flush = syscap_flush,
  .end = syscap_end,
  .bytes_written = syscap_bytes_written,
  .free = syscap_free,
};

static SyscapSink *
sink_new (int fd, const char *kallsyms_path)
{
  SyscapSink *self = g_new0 (SyscapSink, 1);

  self->parent.ops = &syscap_sink_ops;
  self->writer = lu_syscap_writer_new (fd);
  self->writes_capture = fd >= 0;
  self->kallsyms_path = g_strdup (kallsyms_path);
  self->file_ids = lu_file_ids_new ();
  self->pids = lu_syscap_pids_new ();
  self->functions = g_byte_array_new ();
  self->unnamed = g_array_new (FALSE, FALSE, sizeof (guint64));
  return self;
}

LuSink *
lu_syscap_sink_new (int fd)
{
  return &sink_new (fd, KALLSYMS_PATH)->parent;
}

LuSink *
lu_syscap_sink_new_with_kallsyms (int fd, const char *path)
{
  SyscapSink *self = sink_new (fd, path);

  self->kallsyms_is_given = TRUE;
  return &self->parent;
}

LuSink *
lu_syscap_sink_new_for_client (int fd, const char *kallsyms, int stop_fd)
{
  SyscapSink *self = sink_new (fd, kallsyms);

  self->kallsyms_is_given = TRUE;
  self->for_client = TRUE;
  self->own_mountinfo = lu_fd_read_file (MOUNTINFO_PATH, MOUNTINFO_MAX, NULL);
  lu_syscap_writer_set_stop (self->writer, stop_fd);
  return &self->parent;
}

void
lu_syscap_sink_add_symbols (LuSink *sink, LuNamerProgress go_on, gpointer user_data)
{
  SyscapSink *self = (SyscapSink *) sink;

  self->wants_symbols = TRUE;
  self->go_on = go_on;
  self->go_on_data = user_data;
}

void
lu_syscap_sink_ask_runtimes (LuSink *sink, LuRuntimes *runtimes)
{
  ((SyscapSink *) sink)->runtimes = runtimes;
}

void
lu_syscap_sink_set_debuginfod (LuSink *sink, LuDebuginfod *debuginfod)
{
  ((SyscapSink *) sink)->debuginfod = debuginfod;
}

void
lu_syscap_sink_share_kallsyms (LuSink *sink, LuKallsymsFile *file)
{
  SyscapSink *self = (SyscapSink *) sink;

  lu_kallsyms_file_unref (self->kallsyms);
  self->kallsyms = lu_kallsyms_file_ref (file);
}

void
lu_syscap_sink_take_tap (LuSink *sink, const LuSyscapTapOps *ops, gpointer user_data)
{
  SyscapSink *self = (SyscapSink *) sink;

  self->tap_ops = ops;
  self->tap = user_data;
  lu_syscap_writer_set_tap (self->writer, ops->feed, user_data);
}
