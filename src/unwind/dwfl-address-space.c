/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-address-space.c - libdwfl sessions for address spaces; see dwfl-address-space.h.
 *
 * libdwfl puts the start of a module at the address of the first segment of the Elf it is given; an
 * image has a view for each such address (lu_image_elf), which is made when libdw first looks at
 * the module, as the walk holds its CFI only then. Nothing here reads a file or asks a server:
 * find_elf hands out the view, find_debuginfo always fails, and libdwfl's own callbacks are not
 * used. */

#include "dwfl-address-space.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#define MAX_SPACES 16
/* The most modules of a session. libdwfl searches all of them for each new one, so a hostile
 * program with 32,000 took seconds; the largest real programs have a few hundred. */
#define MAX_MODULES 2048

/* The memory that libdw allocates for an FDE when it first uses it: the entry, its tree node, their
 * malloc headers. */
#define BYTES_PER_FDE 136
/* Code is counted in pieces of this size; most functions are larger, so the estimate is high. */
#define PIECE_SHIFT 7
#define N_PIECES    65536

/* The user data of a module of libdwfl. */
typedef struct
{
  LuImage *image; /* owned; outlives the module */
  guint64 vaddr;  /* ELF address of the module's start */
} Target;

struct _LuDwflAddressSpace
{
  gint32 pid;
  const LuArch *arch;
  LuAddressSpace *space; /* owned */
  Dwfl *dwfl;            /* owned */
  GArray *mappings;      /* LuDwflMapping, sorted */
  GHashTable *targets;   /* set of owned Targets, those of the modules */
  gboolean has_pending;  /* a module was not opened yet */
  guint64 last_use;
  guint n_pieces; /* bits set in: */
  guint8 pieces[N_PIECES / 8];
};

struct _LuDwflAddressSpaces
{
  const Dwfl_Thread_Callbacks *callbacks; /* borrowed */
  gpointer callback_data;
  gsize budget;
  guint64 n_uses;
  LuDwflAddressSpace *spaces[MAX_SPACES];
};

/* Callbacks of libdwfl */

static void
target_free (gpointer data)
{
  Target *target = data;

  lu_image_unref (target->image);
  g_free (target);
}

static int
find_elf (Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
          char **file_name, Elf **elf)
{
  const Target *target = *user_data;
  Elf *view = target != NULL ? lu_image_elf (target->image, target->vaddr) : NULL;

  *file_name = NULL;
  *elf = view != NULL ? elf_begin (-1, ELF_C_READ, view) : NULL;
  return -1;
}

static int
find_debuginfo (Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
                const char *file_name, const char *link, GElf_Word crc, char **debug_file_name)
{
  return -1;
}

static const Dwfl_Callbacks dwfl_callbacks = {
  .find_elf = find_elf,
  .find_debuginfo = find_debuginfo,
};

/* One session */

static void
space_free (LuDwflAddressSpace *self)
{
  if (self == NULL)
    return;
  if (self->dwfl != NULL)
    dwfl_end (self->dwfl);
  g_hash_table_unref (self->targets);
  g_array_unref (self->mappings);
  lu_address_space_unref (self->space);
  g_free (self);
}

/* libdwfl takes the architecture from an Elf; it copies what it needs. */
static gboolean
attach (LuDwflAddressSpace *self, const Dwfl_Thread_Callbacks *callbacks, gpointer data)
{
  union
  {
    Elf64_Ehdr wide;
    Elf32_Ehdr narrow;
  } header = { 0 };
  Elf *elf;
  gboolean done;

  memcpy (header.wide.e_ident, ELFMAG, SELFMAG);
  header.wide.e_ident[EI_CLASS] = self->arch->word_size == 8 ? ELFCLASS64 : ELFCLASS32;
  header.wide.e_ident[EI_DATA] = ELFDATA2LSB;
  header.wide.e_ident[EI_VERSION] = EV_CURRENT;
  header.wide.e_type = ET_DYN; /* type, machine and version are at the same place in both classes */
  header.wide.e_machine = self->arch->machine;
  header.wide.e_version = EV_CURRENT;
  if (self->arch->word_size == 8)
    header.wide.e_ehsize = sizeof header.wide;
  else
    header.narrow.e_ehsize = sizeof header.narrow;
  elf_version (EV_CURRENT);
  elf = elf_memory ((char *) &header, sizeof header);
  done = elf != NULL && dwfl_attach_state (self->dwfl, elf, 1, callbacks, data);
  if (elf != NULL)
    elf_end (elf);
  return done;
}

static LuDwflAddressSpace *
space_new (const LuArch *arch, const Dwfl_Thread_Callbacks *callbacks, gpointer data)
{
  LuDwflAddressSpace *self = g_new0 (LuDwflAddressSpace, 1);

  self->arch = arch;
  self->mappings = g_array_new (FALSE, TRUE, sizeof (LuDwflMapping));
  self->targets = g_hash_table_new_full (NULL, NULL, target_free, NULL);
  self->dwfl = dwfl_begin (&dwfl_callbacks);
  if (self->dwfl != NULL && attach (self, callbacks, data))
    return self;
  space_free (self);
  return NULL;
}

static LuStatus
judge_module (const LuModule *module, const LuArch *arch)
{
  LuModuleState state = lu_module_state (module);
  LuImage *image;

  switch (lu_module_key (module)->kind)
    {
    case LU_MODULE_ANONYMOUS:
    case LU_MODULE_COPIED:
      return LU_STATUS_JIT;
    case LU_MODULE_VSYSCALL:
    case LU_MODULE_UPROBES:
      return LU_STATUS_NO_UNWIND_INFO;
    case LU_MODULE_MEMORY:
      if (state == LU_MODULE_GONE || state == LU_MODULE_BROKEN)
        return LU_STATUS_JIT;
      break;
    case LU_MODULE_FILE:
    case LU_MODULE_VDSO:
      break;
    }
  switch (state)
    {
    case LU_MODULE_WAITING:
      return LU_STATUS_OVER_BUDGET;
    case LU_MODULE_PENDING:
    case LU_MODULE_GONE:
      return LU_STATUS_FILE_GONE;
    case LU_MODULE_BROKEN:
      return LU_STATUS_NO_UNWIND_INFO;
    case LU_MODULE_READY:
      break;
    }
  image = lu_module_image (module);
  if (lu_image_machine (image) != arch->machine
      || lu_image_is_64bit (image) != (arch->word_size == 8))
    return LU_STATUS_UNSUPPORTED_ABI;
  return LU_STATUS_COMPLETE;
}

LuDwflMapping
lu_dwfl_mapping_describe (const LuMapping *mapping, const LuArch *arch)
{
  LuDwflMapping described = {
    .start = mapping->start,
    .end = mapping->end,
    .file_offset = mapping->file_offset,
    .module = mapping->module,
    .is_copy = mapping->is_copy,
    .status = judge_module (mapping->module, arch),
  };
  /* The kernel maps the vDSO from its first byte, whatever offset a record gives. */
  guint64 offset =
      lu_module_key (mapping->module)->kind == LU_MODULE_VDSO ? 0 : mapping->file_offset;

  if (described.status == LU_STATUS_COMPLETE
      && !lu_image_bias (lu_module_image (mapping->module), mapping->start, offset,
                         &described.bias))
    described.status = LU_STATUS_NO_UNWIND_INFO;
  return described;
}

/* Reports one module to libdwfl, from the start of `first` to `end` (mappings of the same file and
 * bias are joined); NULL on failure. The name identifies the module in the next version of the
 * address space. */
static Dwfl_Module *
report_module (LuDwflAddressSpace *self, const LuDwflMapping *first, guint64 end)
{
  LuImage *image = lu_module_image (first->module);
  guint64 vaddr = first->start - first->bias;
  void **user_data = NULL;
  Dwfl_Module *module;
  char name[48];

  if (!lu_image_has_view (image, vaddr))
    return NULL;
  g_snprintf (name, sizeof name, "%u:%" G_GINT64_MODIFIER "x", lu_module_id (first->module),
              first->bias);
  module = dwfl_report_module (self->dwfl, name, first->start, end);
  if (module == NULL)
    return NULL;
  dwfl_module_info (module, &user_data, NULL, NULL, NULL, NULL, NULL, NULL);
  if (*user_data == NULL)
    {
      Target *target = g_new0 (Target, 1);

      target->image = lu_image_ref (image);
      target->vaddr = vaddr;
      g_hash_table_add (self->targets, target);
      *user_data = target;
    }
  return module;
}

/* The module still uses its image while this is called, so the target is only set aside. */
static int
set_aside (Dwfl_Module *module, void *user_data, const char *name, Dwarf_Addr base, void *dropped)
{
  if (user_data != NULL)
    g_ptr_array_add (dropped, user_data);
  return 0;
}

static gboolean
is_continued (const LuDwflMapping *a, const LuDwflMapping *b)
{
  return b->status == LU_STATUS_COMPLETE && b->start == a->end && b->module == a->module
         && b->bias == a->bias;
}

static void
report_modules (LuDwflAddressSpace *self)
{
  g_autoptr (GPtrArray) dropped = g_ptr_array_new ();
  guint n = self->mappings->len, n_reported = 0;

  dwfl_report_begin (self->dwfl);
  for (guint i = 0; i < n;)
    {
      LuDwflMapping *first = &g_array_index (self->mappings, LuDwflMapping, i);
      LuDwflMapping *last = first;

      if (first->status == LU_STATUS_COMPLETE)
        {
          gboolean has_room = n_reported++ < MAX_MODULES;
          Dwfl_Module *module;

          while (i + 1 < n && is_continued (last, last + 1))
            {
              last++;
              i++;
            }
          module = has_room ? report_module (self, first, last->end) : NULL;
          for (LuDwflMapping *mapping = first; mapping <= last; mapping++)
            {
              mapping->dwfl_module = module;
              /* libdwfl would follow the frame pointer in a module that it does not know. */
              if (module == NULL)
                mapping->status = has_room ? LU_STATUS_NO_UNWIND_INFO : LU_STATUS_OVER_BUDGET;
            }
        }
      i++;
    }
  dwfl_report_end (self->dwfl, set_aside, dropped);
  for (guint i = 0; i < dropped->len; i++)
    g_hash_table_remove (self->targets, g_ptr_array_index (dropped, i));
}

/* Changes the session to this version of the address space; modules that both versions have are
 * kept.
 */
static void
space_update (LuDwflAddressSpace *self, LuAddressSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  lu_address_space_ref (space);
  lu_address_space_unref (self->space);
  self->space = space;
  self->has_pending = FALSE;
  g_array_set_size (self->mappings, 0);
  for (guint i = 0; i < n; i++)
    {
      LuDwflMapping described = lu_dwfl_mapping_describe (&mappings[i], self->arch);

      if (lu_module_is_pending (mappings[i].module))
        self->has_pending = TRUE;
      g_array_append_val (self->mappings, described);
    }
  report_modules (self);
}

/* Counts the FDEs that libdw has found by reading whole sections. */
static guint
count_unsorted_fdes (const LuDwflAddressSpace *self)
{
  const Dwfl_Module *last = NULL;
  guint n = 0;

  for (guint i = 0; i < self->mappings->len; i++)
    {
      const LuDwflMapping *mapping = &g_array_index (self->mappings, LuDwflMapping, i);

      if (mapping->dwfl_module != NULL && mapping->dwfl_module != last)
        n += lu_image_n_unsorted_fdes (lu_module_image (mapping->module));
      last = mapping->dwfl_module;
    }
  return n;
}

static gsize
space_estimate (const LuDwflAddressSpace *self)
{
  return sizeof *self + (gsize) (self->n_pieces + count_unsorted_fdes (self)) * BYTES_PER_FDE;
}

Dwfl *
lu_dwfl_address_space_dwfl (const LuDwflAddressSpace *self)
{
  return self->dwfl;
}

const LuDwflMapping *
lu_dwfl_address_space_find (const LuDwflAddressSpace *self, guint64 address)
{
  guint low = 0, high = self->mappings->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;
      const LuDwflMapping *mapping = &g_array_index (self->mappings, LuDwflMapping, middle);

      if (address < mapping->start)
        high = middle;
      else if (address >= mapping->end)
        low = middle + 1;
      else
        return mapping;
    }
  return NULL;
}

void
lu_dwfl_address_space_touch (LuDwflAddressSpace *self, const LuDwflMapping *mapping,
                             guint64 elf_address)
{
  guint64 piece = (elf_address >> PIECE_SHIFT) + lu_module_id (mapping->module) * 0x9e3779b1ull;
  guint bit = (guint) ((piece * 0x9e3779b97f4a7c15ull) >> 48);

  if (self->pieces[bit / 8] & (1u << (bit % 8)))
    return;
  self->pieces[bit / 8] |= (guint8) (1u << (bit % 8));
  self->n_pieces++;
}

/* The cache */

LuDwflAddressSpaces *
lu_dwfl_address_spaces_new (const Dwfl_Thread_Callbacks *callbacks, gpointer callback_data,
                            gsize budget)
{
  LuDwflAddressSpaces *self = g_new0 (LuDwflAddressSpaces, 1);

  self->callbacks = callbacks;
  self->callback_data = callback_data;
  self->budget = budget;
  return self;
}

void
lu_dwfl_address_spaces_free (LuDwflAddressSpaces *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < MAX_SPACES; i++)
    space_free (self->spaces[i]);
  g_free (self);
}

static void
enforce_budget (LuDwflAddressSpaces *self)
{
  for (;;)
    {
      LuDwflAddressSpace **oldest = NULL;
      gsize total = 0;

      for (guint i = 0; i < MAX_SPACES; i++)
        {
          if (self->spaces[i] == NULL)
            continue;
          total += space_estimate (self->spaces[i]);
          if (oldest == NULL || self->spaces[i]->last_use < (*oldest)->last_use)
            oldest = &self->spaces[i];
        }
      if (total <= self->budget || oldest == NULL)
        return;
      space_free (*oldest);
      *oldest = NULL;
    }
}

static gboolean
is_current (const LuDwflAddressSpace *slot, LuAddressSpace *space, const LuArch *arch)
{
  return slot != NULL && slot->arch == arch && !slot->has_pending
         && lu_address_space_serial (slot->space) == lu_address_space_serial (space);
}

/* Returns the slot of this version; otherwise that of the process's last version, to be updated;
 * otherwise a free slot, or the least recently used one. */
static LuDwflAddressSpace **
choose_slot (LuDwflAddressSpaces *self, gint32 pid, LuAddressSpace *space, const LuArch *arch)
{
  LuDwflAddressSpace **same_process = NULL, **oldest = &self->spaces[0];

  for (guint i = 0; i < MAX_SPACES; i++)
    {
      LuDwflAddressSpace **slot = &self->spaces[i];

      if (is_current (*slot, space, arch))
        return slot;
      if (*slot != NULL && (*slot)->pid == pid && (*slot)->arch == arch)
        same_process = slot;
      if (*oldest != NULL && (*slot == NULL || (*slot)->last_use < (*oldest)->last_use))
        oldest = slot;
    }
  return same_process != NULL ? same_process : oldest;
}

LuDwflAddressSpace *
lu_dwfl_address_spaces_get (LuDwflAddressSpaces *self, gint32 pid, LuAddressSpace *space,
                            const LuArch *arch)
{
  LuDwflAddressSpace **slot = choose_slot (self, pid, space, arch);

  if (!is_current (*slot, space, arch))
    {
      if (*slot == NULL || (*slot)->pid != pid || (*slot)->arch != arch)
        {
          space_free (g_steal_pointer (slot));
          enforce_budget (self);
          *slot = space_new (arch, self->callbacks, self->callback_data);
        }
      if (*slot == NULL)
        return NULL;
      space_update (*slot, space);
      /* Only now: a child that still shares this version must not take the session along when it
       * execs. */
      (*slot)->pid = pid;
    }
  (*slot)->last_use = ++self->n_uses;
  if (self->n_uses % 256 == 0)
    enforce_budget (self);
  /* One session alone may be over the budget. */
  if (*slot == NULL)
    return lu_dwfl_address_spaces_get (self, pid, space, arch);
  return *slot;
}
