/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code.c - /proc/PID/maps, read again after every change, and files by path. A direct-mapped cache
 * by address comes first, because the same places run over and over. */

#include "code.h"

#include "symbolize/namer.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CACHE_SIZE 65536

typedef struct
{
  guint64 start, end, bias; /* bias: run-time minus ELF address */
  Module *module;
} Mapping;

typedef struct
{
  guint64 address;
  Place *place;
} CacheEntry;

struct _Code
{
  pid_t pid;
  Memory *memory; /* borrowed */
  const DeciderList *deciders;
  GArray *mappings; /* of Mapping; executable files only */
  gboolean is_fresh;
  CacheEntry cache[CACHE_SIZE];
};

static GPtrArray *modules;

const GPtrArray *
code_modules (void)
{
  if (modules == NULL)
    modules = g_ptr_array_new ();
  return modules;
}

Code *
code_new (pid_t pid, Memory *memory, const DeciderList *deciders)
{
  Code *self = g_new0 (Code, 1);

  self->pid = pid;
  self->memory = memory;
  self->deciders = deciders;
  self->mappings = g_array_new (FALSE, FALSE, sizeof (Mapping));
  return self;
}

void
code_free (Code *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->mappings);
  g_free (self);
}

void
code_forget (Code *self)
{
  self->is_fresh = FALSE;
}

/* Files */

/* The executable LOAD number `index`; FALSE after the last one. */
static gboolean
code_segment (Elf *elf, size_t index, GElf_Phdr *segment)
{
  size_t n = 0;

  elf_getphdrnum (elf, &n);
  for (size_t i = 0; i < n; i++)
    if (gelf_getphdr (elf, (int) i, segment) != NULL && segment->p_type == PT_LOAD
        && (segment->p_flags & PF_X) != 0 && index-- == 0)
      return TRUE;
  return FALSE;
}

static void
find_code (Module *self)
{
  GElf_Phdr segment;

  self->low = G_MAXUINT64;
  for (size_t i = 0; code_segment (self->file.elf, i, &segment); i++)
    {
      self->low = MIN (self->low, segment.p_vaddr);
      self->high = MAX (self->high, segment.p_vaddr + segment.p_memsz);
    }
  if (self->low >= self->high)
    self->low = self->high = 0;
  self->places = g_new0 (Place *, self->high - self->low);
}

static gboolean
open_vdso (Code *code, Module *self, guint64 start, guint64 end)
{
  guint8 *bytes = g_malloc (end - start);

  self->file.fd = -1;
  self->file.bytes = bytes;
  self->file.size = memory_read (code->memory, start, bytes, end - start);
  self->file.elf = elf_memory ((char *) bytes, self->file.size);
  return self->file.elf != NULL;
}

static gboolean
open_file (Module *self)
{
  self->file.fd = open (self->path, O_RDONLY | O_CLOEXEC);
  if (self->file.fd < 0)
    return FALSE;
  self->file.elf = elf_begin (self->file.fd, ELF_C_READ_MMAP, NULL);
  return self->file.elf != NULL;
}

static Module *
module_new (Code *code, const char *path, guint64 start, guint64 end)
{
  Module *self = g_new0 (Module, 1);

  self->path = g_strdup (path);
  self->name = strrchr (path, '/') != NULL ? strrchr (self->path, '/') + 1 : self->path;
  self->file.path = self->path;
  if (strcmp (path, "[vdso]") == 0 ? open_vdso (code, self, start, end) : open_file (self))
    {
      find_code (self);
      for (guint i = 0; i < code->deciders->n; i++)
        self->opened[i] = code->deciders->at[i]->open (&self->file);
    }
  g_ptr_array_add (modules, self);
  return self;
}

static Module *
find_module (Code *code, const char *path, guint64 start, guint64 end)
{
  code_modules ();
  for (guint i = 0; i < modules->len; i++)
    {
      Module *module = modules->pdata[i];

      if (strcmp (module->path, path) == 0)
        return module;
    }
  return module_new (code, path, start, end);
}

/* Mappings */

/* The file offset is covered by an executable LOAD. */
static gboolean
find_bias (const Module *module, guint64 start, guint64 offset, guint64 *bias)
{
  GElf_Phdr segment;

  for (size_t i = 0; code_segment (module->file.elf, i, &segment); i++)
    if (offset >= (segment.p_offset & ~(guint64) 4095)
        && offset < segment.p_offset + segment.p_filesz)
      {
        *bias = start - (offset - segment.p_offset + segment.p_vaddr);
        return TRUE;
      }
  return FALSE;
}

static void
add_mapping (Code *self, char *line)
{
  Mapping mapping = { 0 };
  guint64 offset;
  char permissions[5];
  int name = 0;

  if (sscanf (line, "%lx-%lx %4s %lx %*s %*u %n", &mapping.start, &mapping.end, permissions,
              &offset, &name)
          != 4
      || permissions[2] != 'x' || name == 0)
    return;
  g_strchomp (line);
  if (line[name] != '/' && strcmp (line + name, "[vdso]") != 0)
    return;
  mapping.module = find_module (self, line + name, mapping.start, mapping.end);
  if (mapping.module->file.elf != NULL
      && find_bias (mapping.module, mapping.start, offset, &mapping.bias))
    g_array_append_val (self->mappings, mapping);
}

static void
read_mappings (Code *self)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/maps", self->pid);
  FILE *file = fopen (path, "re");
  char *line = NULL;
  size_t size = 0;

  g_array_set_size (self->mappings, 0);
  memset (self->cache, 0, sizeof self->cache);
  self->is_fresh = TRUE;
  while (file != NULL && getline (&line, &size, file) > 0)
    add_mapping (self, line);
  free (line);
  g_clear_pointer (&file, fclose);
}

/* Places */

static Place *
module_place (Module *self, guint64 address)
{
  Place **place;

  if (address < self->low || address >= self->high)
    return NULL;
  place = &self->places[address - self->low];
  if (*place == NULL)
    {
      *place = g_new0 (Place, 1);
      (*place)->module = self;
      (*place)->address = address;
      self->n_places++;
    }
  return *place;
}

static Place *
find_place (Code *self, guint64 address)
{
  for (guint i = 0; i < self->mappings->len; i++)
    {
      const Mapping *mapping = &g_array_index (self->mappings, Mapping, i);

      if (address >= mapping->start && address < mapping->end)
        return module_place (mapping->module, address - mapping->bias);
    }
  return NULL;
}

Place *
code_find (Code *self, guint64 address)
{
  CacheEntry *entry = &self->cache[(address ^ address >> 16) % CACHE_SIZE];

  if (!self->is_fresh)
    read_mappings (self);
  if (entry->address != address)
    *entry = (CacheEntry){ address, find_place (self, address) };
  return entry->place;
}

const Instruction *
code_instruction (Code *self, Place *place, guint64 address)
{
  guint8 bytes[MAX_INSTRUCTION];

  if (!place->is_decoded)
    place->instruction =
        instruction_decode (bytes, memory_read (self->memory, address, bytes, sizeof bytes));
  place->is_decoded = TRUE;
  return &place->instruction;
}

gpointer
place_rule (Place *self, const DeciderList *deciders, guint decider)
{
  gpointer opened = self->module->opened[decider];

  if ((self->answered >> decider & 1) == 0 && opened != NULL)
    self->rules[decider] = deciders->at[decider]->look_up (opened, self->address);
  self->answered |= (guint8) (1u << decider);
  return self->rules[decider];
}

const char *
place_function (const Place *self)
{
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = lu_namer_new (jitdumps);
  const LuNameQuery *answers;
  const char *name = NULL;
  GElf_Phdr segment;
  guint n;

  lu_namer_add_file (namer, &(LuNameFile){ .id = &(LuFileId){ .path = self->module->path } });
  for (size_t i = 0; code_segment (self->module->file.elf, i, &segment); i++)
    if (self->address - segment.p_vaddr < segment.p_filesz)
      lu_namer_add (namer, 0, self->address - segment.p_vaddr + segment.p_offset, 0);
  lu_namer_run (namer, &(LuNamerOptions){ 0 });
  answers = lu_namer_answers (namer, &n);
  for (guint i = 0; name == NULL && i < n; i++)
    name = g_intern_string (answers[i].name);
  return name != NULL ? name : "?";
}
