/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process.c - one incarnation of a process; see process.h.
 *
 * Versions of the address space are few, because they are dropped as soon as all rings have been
 * read past them: an array, oldest first, is searched from its end. A mapping that overlaps nothing
 * is added to the newest version if no reader has seen that yet, so a starting program has one
 * version, not one for each library. */

#include "process/process-private.h"

/* Limit for the mappings of all versions together, about 3 MB. Thousands of mappings change between
 * two rounds only on purpose, and each version would take half a megabyte. */
#define MAX_HISTORY 65536

/* A command line, shared by forks. */
typedef struct
{
  atomic_int ref_count;
  char text[];
} Text;

struct _LuProcess
{
  atomic_int ref_count;
  gint32 pid;
  guint64 id;
  guint64 start_time;
  char comm[LU_COMM_SIZE];
  gboolean has_executed; /* never changes */
  LuProcessNeeds asked;  /* drain thread */
  guint64 our_serial; /* drain thread: serial of an address space whose files are all known to be in
                         our mount namespace */
  LuProcessMarks marks;       /* drain thread */
  _Atomic (gpointer) program; /* LuModule, reference, set once: the program, if comm is its name */
  _Atomic (gpointer) command_line; /* Text, reference, set once */
  _Atomic (gpointer) mountinfo;    /* owned text, set once */
  _Atomic (gpointer) old_names;    /* LuThreadNames, owned, set once and not changed */
  atomic_size_t queued;            /* bytes of samples that wait for the worker */
  LuThreadNames *new_names;        /* drain thread; owned; NULL: none */
  /* Oldest first, the last is current; drain thread only. Most processes use only `few`. */
  LuAddressSpaceVersion *versions; /* owned, unless it is `few` */
  guint n_versions, n_allocated;
  LuAddressSpaceVersion few[2];
};

static void
text_unref (Text *self)
{
  if (self != NULL && atomic_fetch_sub_explicit (&self->ref_count, 1, memory_order_acq_rel) == 1)
    g_free (self);
}

LuProcess *
lu_process_new (gint32 pid, guint64 start_time, const char *comm, LuAddressSpace *space)
{
  static atomic_ullong last_id;
  LuProcess *self = g_new0 (LuProcess, 1);

  atomic_init (&self->ref_count, 1);
  self->pid = pid;
  self->id = atomic_fetch_add_explicit (&last_id, 1, memory_order_relaxed) + 1;
  self->start_time = start_time;
  g_strlcpy (self->comm, comm, sizeof self->comm);
  self->versions = self->few;
  self->n_allocated = G_N_ELEMENTS (self->few);
  self->few[0] = (LuAddressSpaceVersion){ .time = 0, .space = lu_address_space_ref (space) };
  self->n_versions = 1;
  return self;
}

LuProcess *
lu_process_ref (LuProcess *self)
{
  atomic_fetch_add_explicit (&self->ref_count, 1, memory_order_relaxed);
  return self;
}

void
lu_process_unref (LuProcess *self)
{
  if (self == NULL || atomic_fetch_sub_explicit (&self->ref_count, 1, memory_order_acq_rel) != 1)
    return;
  for (guint i = 0; i < self->n_versions; i++)
    lu_address_space_unref (self->versions[i].space);
  if (self->versions != self->few)
    g_free (self->versions);
  lu_module_unref (atomic_load (&self->program));
  text_unref (atomic_load (&self->command_line));
  g_free (atomic_load (&self->mountinfo));
  lu_thread_names_free (atomic_load (&self->old_names));
  lu_thread_names_free (self->new_names);
  g_free (self);
}

gint32
lu_process_pid (const LuProcess *self)
{
  return self->pid;
}

guint64
lu_process_id (const LuProcess *self)
{
  return self->id;
}

guint64
lu_process_start_time (const LuProcess *self)
{
  return self->start_time;
}

void
lu_process_add_queued (LuProcess *self, gsize bytes)
{
  atomic_fetch_add_explicit (&self->queued, bytes, memory_order_relaxed);
}

void
lu_process_take_queued (LuProcess *self, gsize bytes)
{
  atomic_fetch_sub_explicit (&self->queued, bytes, memory_order_relaxed);
}

gsize
lu_process_queued (const LuProcess *self)
{
  return atomic_load_explicit (&self->queued, memory_order_relaxed);
}

void
lu_process_set_executed (LuProcess *self)
{
  self->has_executed = TRUE;
}

gboolean
lu_process_has_executed (const LuProcess *self)
{
  return self->has_executed;
}

const char *
lu_process_comm (const LuProcess *self)
{
  return self->comm;
}

/* Returns FALSE if something was published before. */
static gboolean
publish_once (_Atomic (gpointer) *where, gpointer what)
{
  gpointer expected = NULL;

  return atomic_compare_exchange_strong (where, &expected, what);
}

const char *
lu_process_command_line (LuProcess *self)
{
  const Text *line = atomic_load (&self->command_line);
  const LuModule *program;

  if (line != NULL && line->text[0] != 0)
    return line->text;
  program = atomic_load (&self->program);
  return program != NULL ? lu_module_path (program) : self->comm;
}

LuLabels
lu_process_labels (LuProcess *self)
{
  return (LuLabels){ .command_line = lu_process_command_line (self) };
}

gboolean
lu_process_has_command_line (LuProcess *self)
{
  return atomic_load (&self->command_line) != NULL;
}

LuProcessNeeds
lu_process_ask_once (LuProcess *self, LuProcessNeeds needs)
{
  needs &= ~self->asked;
  self->asked |= needs;
  return needs;
}

gboolean
lu_process_is_asked (const LuProcess *self, LuProcessNeeds needs)
{
  return (needs & ~self->asked) == 0;
}

gboolean
lu_process_maps_our_files (LuProcess *self)
{
  LuAddressSpace *space = lu_process_address_space (self);
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  if (self->our_serial == lu_address_space_serial (space))
    return TRUE;
  for (guint i = 0; i < n; i++)
    if (lu_module_key (mappings[i].module)->kind == LU_MODULE_FILE
        && !lu_module_is_ours (mappings[i].module))
      return FALSE;
  self->our_serial = lu_address_space_serial (space);
  return TRUE;
}

void
lu_process_set_command_line (LuProcess *self, const char *text, gsize length)
{
  Text *line = g_malloc (sizeof *line + length + 1);

  atomic_init (&line->ref_count, 1);
  memcpy (line->text, text, length);
  line->text[length] = 0;
  if (!publish_once (&self->command_line, line))
    text_unref (line);
}

void
lu_process_set_arguments (LuProcess *self, char *text, gsize length)
{
  while (length > 0 && text[length - 1] == 0)
    length--;
  for (gsize i = 0; i < length; i++)
    if (text[i] == 0)
      text[i] = ' ';
  if (length > 0)
    lu_process_set_command_line (self, text, length);
}

void
lu_process_inherit_names (LuProcess *self, const LuProcess *parent)
{
  Text *line = atomic_load (&parent->command_line);
  LuModule *program = atomic_load (&parent->program);

  if (line != NULL && publish_once (&self->command_line, line))
    atomic_fetch_add_explicit (&line->ref_count, 1, memory_order_relaxed);
  if (program != NULL && publish_once (&self->program, program))
    lu_module_ref (program);
}

void
lu_process_set_thread_name (LuProcess *self, gint32 tid, const char *name)
{
  if (self->new_names == NULL)
    self->new_names = lu_thread_names_new ();
  lu_thread_names_set (self->new_names, tid, name);
}

const char *
lu_process_new_thread_name (const LuProcess *self, gint32 tid)
{
  const char *name = lu_thread_names_find (self->new_names, tid);

  return name != NULL ? name : "";
}

const char *
lu_process_old_thread_name (LuProcess *self, gint32 tid)
{
  const char *name = lu_thread_names_find (atomic_load (&self->old_names), tid);

  return name != NULL ? name : self->comm;
}

/* A number that is used again has the name of a thread that has ended. */
void
lu_process_inherit_thread_name (LuProcess *self, gint32 tid, LuProcess *parent, gint32 parent_tid)
{
  const char *name = lu_process_new_thread_name (parent, parent_tid);

  if (name[0] == 0)
    name = lu_process_old_thread_name (parent, parent_tid);
  if (strcmp (name, lu_process_old_thread_name (self, tid)) != 0
      || lu_thread_names_find (self->new_names, tid) != NULL)
    lu_process_set_thread_name (self, tid, name);
}

void
lu_process_read_thread_names (LuProcess *self)
{
  LuThreadNames *names = lu_thread_names_read (self->pid);

  if (!publish_once (&self->old_names, names))
    lu_thread_names_free (names);
}

LuProcessMarks *
lu_process_marks (LuProcess *self)
{
  return &self->marks;
}

const char *
lu_process_mountinfo (LuProcess *self)
{
  return atomic_load (&self->mountinfo);
}

void
lu_process_take_mountinfo (LuProcess *self, char *mountinfo)
{
  if (!publish_once (&self->mountinfo, mountinfo))
    g_free (mountinfo);
}

LuAddressSpace *
lu_process_address_space (LuProcess *self)
{
  return self->versions[self->n_versions - 1].space;
}

static void
make_room (LuProcess *self)
{
  LuAddressSpaceVersion *versions;

  if (self->n_versions < self->n_allocated)
    return;
  self->n_allocated *= 2;
  versions = g_new (LuAddressSpaceVersion, self->n_allocated);
  memcpy (versions, self->versions, self->n_versions * sizeof *versions);
  if (self->versions != self->few)
    g_free (self->versions);
  self->versions = versions;
}

void
lu_process_take_address_space (LuProcess *self, guint64 time, LuAddressSpace *space)
{
  make_room (self);
  self->versions[self->n_versions++] = (LuAddressSpaceVersion){ .time = time, .space = space };
}

/* If a process ends before its command line is read, only comm is left, which the kernel cuts off
 * after 15 characters. The first file mapped after an exec is the program; for a script comm
 * differs. */
static void
note_program (LuProcess *self, const LuMapping *mapping)
{
  const char *path = lu_module_path (mapping->module), *slash = strrchr (path, '/');

  if (slash != NULL && strncmp (slash + 1, self->comm, LU_COMM_SIZE - 1) == 0
      && publish_once (&self->program, mapping->module))
    lu_module_ref (mapping->module);
}

/* A starting program maps a dozen files. While nobody has looked at the newest version, it can take
 * later mappings where nothing was mapped before, because there are no earlier samples in them. */
gboolean
lu_process_add_mapping (LuProcess *self, guint64 time, const LuMapping *mapping)
{
  LuAddressSpaceVersion *last = &self->versions[self->n_versions - 1];
  guint64 serial;
  LuAddressSpace *next;
  guint n;

  if (lu_address_space_insert (&last->space, mapping))
    return TRUE; /* never changes the empty address space, which is shared */
  lu_address_space_mappings (last->space, &n);
  if (n == 0)
    note_program (self, mapping);
  serial = lu_address_space_serial (last->space);
  if (last->time == time || (guint64) n * self->n_versions > MAX_HISTORY)
    {
      last->space = lu_address_space_take_with_mapping (last->space, mapping);
      return lu_address_space_serial (last->space) != serial;
    }
  next = lu_address_space_take_with_mapping (lu_address_space_ref (last->space), mapping);
  if (next != last->space)
    lu_process_take_address_space (self, time, next);
  else
    lu_address_space_unref (next);
  return lu_address_space_serial (next) != serial;
}

LuAddressSpace *
lu_process_address_space_at (LuProcess *self, guint64 time)
{
  guint i = self->n_versions - 1;

  while (i > 0 && self->versions[i].time > time)
    i--;
  return self->versions[i].space;
}

LuAddressSpace *
lu_process_find_address_space (LuProcess *self, guint64 serial)
{
  for (guint i = self->n_versions; i > 0; i--)
    if (lu_address_space_serial (self->versions[i - 1].space) == serial)
      return self->versions[i - 1].space;
  return NULL;
}

void
lu_process_foreach_address_space (LuProcess *self, LuAddressSpaceFunc func, gpointer user_data)
{
  for (guint i = 0; i < self->n_versions; i++)
    func (self->versions[i].space, user_data);
}

void
lu_process_trim (LuProcess *self, guint64 time)
{
  guint n_old = 0;

  while (n_old + 1 < self->n_versions && self->versions[n_old + 1].time <= time)
    lu_address_space_unref (self->versions[n_old++].space);
  if (n_old == 0)
    return;
  self->n_versions -= n_old;
  memmove (self->versions, self->versions + n_old, self->n_versions * sizeof *self->versions);
}

gboolean
lu_process_has_history (const LuProcess *self)
{
  return self->n_versions > 1;
}
