/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-sink.c - the Sysprof capture as an output; see syscap.h.
 *
 * Decides when a frame is written: PROCESS, mountinfo and MAPs of a process right before its first
 * sample, new mappings before the first sample that may lie in them, kernel names at the next
 * flush. So nothing is written of processes that were never sampled, and a file that was cut
 * anywhere explains all its samples, except kernel names of the last moment. Frames with a pid
 * below 0 crash the viewer and are never written. */

#include "output/syscap.h"

#include "base/fd.h"
#include "lu/status.h"
#include "output/syscap-frames.h"
#include "output/syscap-kernel.h"
#include "output/syscap-pids.h"
#include "output/syscap-stack.h"
#include "output/syscap-system.h"

#include <string.h>

#define KALLSYMS_PATH  "/proc/kallsyms"
#define MOUNTINFO_PATH "/proc/self/mountinfo"
#define MOUNTINFO_MAX  (256u << 10)
/* Bit of LuSyscapPid.named_states for the marker of frames left out; the others are the states. */
#define LEFT_OUT_BIT 31
_Static_assert(LU_N_STATUS <= LEFT_OUT_BIT, "a bit for each state");

typedef struct
{
  guint32 module_id; /* 0: none */
  gsize size;        /* of its build-id, which may become known later */
  char *name;        /* owned */
} ModuleName;

typedef struct
{
  LuSink parent;
  LuSyscapWriter *writer;
  char *kallsyms_path;
  gboolean kallsyms_is_given;
  LuKallsymsFile *kallsyms; /* reference; NULL: none */
  gboolean for_client;
  gboolean redact;
  char *own_mountinfo; /* for a client, who knows it; else NULL */
  LuSyscapKernel *kernel;
  LuSyscapPids *pids;
  ModuleName names[64];
  LuSyscapHits *hits; /* NULL: no names at the end */
  gboolean wants_symbols;
  LuTee *tee; /* NULL: no other formats */
  gboolean writes_capture;
  LuSyscapHitsFunc go_on; /* NULL: always */
  gpointer go_on_data;
  LuDebuginfod *debuginfod; /* borrowed; NULL: names are those found here */
  guint64 n_shadowed;       /* samples that may lie in a mapping the viewer does not keep */
  guint64 n_no_pid;         /* samples of tasks without a pid, left out */
  guint64 n_dropped;        /* mappings over LU_SYSCAP_MAPS_MAX */
} SyscapSink;

/* What lu_syscap_maps_add() needs to write one. */
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

static void
append_hex (GString *text, const guint8 *bytes, gsize size)
{
  static const char digits[] = "0123456789abcdef";

  for (gsize i = 0; i < size; i++)
    {
      g_string_append_c (text, digits[bytes[i] >> 4]);
      g_string_append_c (text, digits[bytes[i] & 15]);
    }
}

static char *
make_name (const LuModule *module, const guint8 *build_id, gsize size)
{
  const LuModuleKey *key = lu_module_key (module);
  g_autoptr (GString) name = g_string_sized_new (256);

  g_string_append (name, lu_module_path (module));
  g_string_append_c (name, LU_SYSCAP_NAME_SEPARATOR);
  if (build_id != NULL && size > 0)
    {
      g_string_append_c (name, '@');
      append_hex (name, build_id, size);
    }
  else if (key->has_inode && key->kind == LU_MODULE_FILE)
    g_string_append_printf (name, "#%" G_GUINT64_FORMAT, key->inode);
  return g_ref_string_new_intern (name->str);
}

static void
name_clear (ModuleName *self)
{
  if (self->name != NULL)
    g_ref_string_release (self->name);
}

/* Path and identity of a file as LuSyscapMapping holds it; borrowed until the next call. Processes
 * map the same few over and over. */
static char *
module_name (SyscapSink *self, const LuModule *module)
{
  ModuleName *kept = &self->names[lu_module_id (module) % G_N_ELEMENTS (self->names)];
  gsize size = 0;
  const guint8 *build_id = lu_module_build_id (module, &size);

  if (kept->module_id != lu_module_id (module) || kept->size != size)
    {
      name_clear (kept);
      *kept = (ModuleName){ .module_id = lu_module_id (module),
                            .size = size,
                            .name = make_name (module, build_id, size) };
    }
  return kept->name;
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
  gboolean shadowed = FALSE, dropped = FALSE;
  gboolean ok;

  if (lu_syscap_maps_has (pid->maps, &mapping))
    return TRUE;
  mapping.name = module_name (self, source->module);
  ok = lu_syscap_maps_add (pid->maps, &mapping, emit_map, &target, &shadowed, &dropped, error);
  if (shadowed)
    {
      self->n_shadowed += pid->n_samples;
      pid->n_samples = 0;
    }
  if (dropped)
    self->n_dropped++;
  return ok;
}

static gboolean
write_space (SyscapSink *self, LuSyscapPid *pid, const LuSpace *space, GError **error)
{
  const LuMapping *mappings;
  guint n_mappings;

  if (pid->space_serial == lu_space_serial (space))
    return TRUE;
  if (pid->maps == NULL)
    pid->maps = lu_syscap_maps_new ();
  mappings = lu_space_mappings (space, &n_mappings);
  for (guint i = 0; i < n_mappings; i++)
    if (!write_mapping (self, pid, &mappings[i], error))
      return FALSE;
  pid->space_serial = lu_space_serial (space);
  return TRUE;
}

/* Of our own mount namespace a client has it, and paths there are what they seem. */
static gboolean
wants_mountinfo (SyscapSink *self, const char *mountinfo)
{
  return mountinfo != NULL && !self->redact
         && (self->own_mountinfo == NULL || strcmp (mountinfo, self->own_mountinfo) != 0);
}

/* A later incarnation names the pid; a sample of an earlier one may still come after it. */
static gboolean
write_process (SyscapSink *self, LuSyscapPid *pid, LuProcess *process, GError **error)
{
  const char *command_line = lu_process_command_line (process);
  const char *mountinfo = pid->has_mountinfo ? NULL : lu_process_mountinfo (process);
  guint64 id = lu_process_id (process);
  g_autofree char *program = NULL;

  if (self->redact)
    program = lu_syscap_program_of (command_line);
  if (id > pid->process_id || (id == pid->process_id && command_line != pid->command_line))
    {
      if (!lu_syscap_write_process (self->writer, lu_process_start_time (process), pid->pid,
                                    program != NULL ? program : command_line, error))
        return FALSE;
      pid->process_id = id;
      pid->command_line = command_line;
      pid->is_known = TRUE;
    }
  if (wants_mountinfo (self, mountinfo))
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/mountinfo", pid->pid);

      pid->has_mountinfo = TRUE;
      return lu_syscap_write_file (self->writer, path, mountinfo, strlen (mountinfo), TRUE, error);
    }
  return TRUE;
}

/* A client cannot take the names of synthetic addresses, which are a whole capture's. So each is a
 * mapping of one byte, whose file has the name. */
static gboolean
name_address (SyscapSink *self, LuSyscapPid *pid, guint bit, guint64 address, const char *name,
              GError **error)
{
  g_autofree char *file = NULL;
  LuSyscapMapping mapping = { .start = address, .end = address + 1 };

  if ((pid->named_states & 1u << bit) != 0)
    return TRUE;
  pid->named_states |= 1u << bit;
  file = g_strdup_printf ("%s%c", name, LU_SYSCAP_NAME_SEPARATOR);
  mapping.name = file;
  return lu_syscap_write_map (self->writer, pid->pid, &mapping, error);
}

static gboolean
name_synthetic_frames (SyscapSink *self, const LuSinkSample *sample, guint n_addresses,
                       GError **error)
{
  LuSyscapPid *pid;
  g_autofree char *name = NULL;

  if (!self->for_client)
    return TRUE;
  pid = lu_syscap_pids_get (self->pids, sample->pid);
  if (n_addresses == LU_SYSCAP_MAX_ADDRESSES
      && !name_address (self, pid, LEFT_OUT_BIT, LU_SYSCAP_LEFT_OUT, LU_SYSCAP_LEFT_OUT_NAME,
                        error))
    return FALSE;
  if (!lu_syscap_status_is_shown (sample->status))
    return TRUE;
  name = g_strdup_printf ("[%s]", lu_status_title (sample->status));
  return name_address (self, pid, sample->status, LU_SYNTHETIC_BASE + sample->status, name, error);
}

/* The place where a walk got lost names nothing in a viewer; what stays is the state. */
static void
leave_out_unmapped_end (LuSinkSample *sample)
{
  while (sample->status != LU_STATUS_COMPLETE && sample->n_user > 0 && sample->space != NULL
         && lu_space_find (sample->space, sample->user[sample->n_user - 1].pc) == NULL)
    sample->n_user--;
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
  if (self->wants_symbols)
    self->hits = lu_syscap_hits_new (recording->live);
  if (self->hits != NULL && self->debuginfod != NULL)
    lu_syscap_hits_set_debuginfod (self->hits, self->debuginfod);

  if (!lu_syscap_writer_header (self->writer, recording->start_time, recording->wall_clock, error)
      || !write_beginning (self, recording, error))
    return FALSE;
  if (no_kallsyms != NULL
      && !lu_syscap_write_metadata (self->writer, "live-unwinder.no-kernel-names",
                                    no_kallsyms->message, error))
    return FALSE;
  /* What cannot be written at all should be known before the command is started. */
  return lu_syscap_writer_flush (self->writer, error);
}

/* Replaces the kernel frames by ones that do not tell where the kernel is. */
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
  if (sample.process != NULL)
    {
      pid = lu_syscap_pids_get (self->pids, sample.pid);
      pid->n_samples++;
      if (!write_process (self, pid, sample.process, error)
          || (sample.space != NULL && !write_space (self, pid, sample.space, error)))
        return FALSE;
    }
  if (self->redact)
    hide_kernel (self, &sample, kernel);
  else
    lu_syscap_kernel_hit (self->kernel, sample.kernel, sample.n_kernel);
  if (self->for_client)
    leave_out_unmapped_end (&sample);
  n = lu_syscap_stack_encode (&sample, addresses);
  if (!name_synthetic_frames (self, &sample, n, error))
    return FALSE;
  if (self->hits != NULL)
    lu_syscap_hits_add (self->hits, sample.pid, sample.time, pid != NULL ? pid->maps : NULL,
                        addresses, n);
  return lu_syscap_write_sample (self->writer, sample.time, sample.cpu, sample.pid, sample.tid,
                                 addresses, n, error);
}

static gboolean
syscap_fork (LuSink *sink, guint64 time, gint32 pid, gint32 child_pid, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;

  /* A new thread (child_pid is then that of its process) is nothing a viewer shows. */
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
  return lu_syscap_write_log (((SyscapSink *) sink)->writer, time, message, error);
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

  return lu_syscap_kernel_write (self->kernel, self->writer, FALSE, error)
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
  return lu_syscap_write_metadata (self->writer, "live-unwinder.named-addresses", text, error)
         && lu_syscap_write_file (self->writer, LU_SYSCAP_SYMBOLS_FILE, (const char *) file->data,
                                  file->len, TRUE, error);
}

static gboolean
syscap_end (LuSink *sink, guint64 end_time, GError **error)
{
  SyscapSink *self = (SyscapSink *) sink;
  gboolean ok = lu_syscap_kernel_write (self->kernel, self->writer, TRUE, error)
                && write_counts (self, error) && write_symbols (self, error);

  /* The header is completed even when the disk is full. */
  ok = lu_syscap_writer_finish (self->writer, end_time, ok ? error : NULL) && ok;
  return (self->tee == NULL || lu_tee_end (self->tee, ok ? error : NULL)) && ok;
}

static guint64
syscap_bytes_written (LuSink *sink)
{
  SyscapSink *self = (SyscapSink *) sink;

  return (self->writes_capture ? lu_syscap_writer_size (self->writer) : 0)
         + (self->tee != NULL ? lu_tee_written (self->tee) : 0);
}

static void
syscap_free (LuSink *sink)
{
  SyscapSink *self = (SyscapSink *) sink;

  lu_syscap_writer_free (self->writer);
  lu_syscap_kernel_free (self->kernel);
  lu_syscap_pids_free (self->pids);
  for (guint i = 0; i < G_N_ELEMENTS (self->names); i++)
    name_clear (&self->names[i]);
  lu_syscap_hits_free (self->hits);
  lu_tee_free (self->tee);
  lu_kallsyms_file_unref (self->kallsyms);
  g_free (self->kallsyms_path);
  g_free (self->own_mountinfo);
  g_free (self);
}

const LuSinkOps lu_syscap_sink_ops = {
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

  self->parent.ops = &lu_syscap_sink_ops;
  self->writer = lu_syscap_writer_new (fd);
  self->writes_capture = fd >= 0;
  self->kallsyms_path = g_strdup (kallsyms_path);
  self->pids = lu_syscap_pids_new ();
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
lu_syscap_sink_add_symbols (LuSink *sink, LuSyscapHitsFunc go_on, gpointer user_data)
{
  SyscapSink *self = (SyscapSink *) sink;

  self->wants_symbols = TRUE;
  self->go_on = go_on;
  self->go_on_data = user_data;
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

static void
feed_tee (gconstpointer bytes, gsize size, gpointer user_data)
{
  lu_tee_feed (user_data, bytes, size);
}

void
lu_syscap_sink_take_tee (LuSink *sink, LuTee *tee)
{
  SyscapSink *self = (SyscapSink *) sink;

  self->tee = tee;
  lu_syscap_writer_set_tap (self->writer, feed_tee, tee);
}
