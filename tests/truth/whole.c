/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* whole.c - a sample made by ptrace, as the kernel would make one, for three unwinders. Files may
 * be read for as long as that takes, as when a recording is replayed. */

#include "whole.h"

#include "../bpf/published.h"
#include "../bpf/user-walk.h"
#include "arch/x86-64/code.h"
#include "base/fd.h"
#include "module/module-cache.h"
#include "module/opener.h"
#include "process/moved-text.h"
#include "process/proc-maps.h"
#include "unwind/code-facts.h"
#include "unwind/unwinder.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

/* The most that the kernel copies. */
#define STACK_BYTES 65528u
#define PAGE        4096u
#define MAX_PAGES   (STACK_BYTES / PAGE + 2)
#define MAPS_BYTES  (8u << 20)
#define TABLE_BYTES (256u << 20)

struct _Whole
{
  pid_t pid, tid;
  Memory *memory; /* borrowed */
  LuModuleCache *modules;
  LuOpener *opener;
  LuTables *tables; /* rows for code without CFI stand in them */
  LuAddressSpace *space;
  LuUnwinder *engines[N_ENGINES]; /* NULL: BPF */
  Published *published;
  gboolean is_published; /* this address space */
  struct lu_bpf_process process;
  LuCodeReader *reader;
  guint64 words[17]; /* in perf's order */
  guint8 bytes[STACK_BYTES];
  LuSample sample;
  LuStack stack;
};

/* For the walk of the BPF program. */

/* As the kernel's walk reads code that has no file. */
static int
call_in_memory (const Whole *self, const LuMapping *mapping, guint64 pc)
{
  guint64 code;
  gint64 displacement = 0;
  enum lu_call_kind kind;

  if (memory_read (self->memory, pc - sizeof code, &code, sizeof code) != sizeof code)
    return LU_CALL_UNKNOWN;
  kind = lu_call_decode (code, &displacement);
  if (kind == LU_CALL_DIRECT
      && pc + (guint64) displacement - mapping->start >= mapping->end - mapping->start)
    return LU_CALL_UNKNOWN;
  return (int) kind;
}

static int
call_before (void *data, uint64_t pc)
{
  Whole *self = data;
  const LuMapping *mapping = lu_address_space_find (self->space, pc - 1);
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);
  LuDwflMapping described;

  if (mapping == NULL)
    return LU_CALL_UNKNOWN;
  if (lu_module_key (mapping->module)->kind == LU_MODULE_COPIED)
    return call_in_memory (self, mapping, pc);
  described = lu_dwfl_mapping_describe (mapping, arch);
  return (int) lu_code_call (self->reader, self->pid, arch, &described, pc);
}

static int
read_code (void *data, void *to, uint32_t size, uint64_t address)
{
  const Whole *self = data;

  return memory_read (self->memory, address, to, size) == size ? 0 : -1;
}

static void
publish (Whole *self)
{
  self->is_published = published_add_space (self->published, self->space, &self->process);
  user_set_calls (call_before, self);
  user_set_code (read_code, self);
}

/* The address space */

static gboolean
add_mapping (const LuMmapEvent *map, gpointer data)
{
  LuMapping mapping = { .start = map->start,
                        .end = map->start + map->length,
                        .file_offset = map->file_offset,
                        .is_fixed = !(map->prot & PROT_WRITE) };
  Whole *self = data;
  LuModuleKey key;
  char buffer[4096];
  gboolean is_new;

  if ((map->prot & PROT_EXEC) == 0)
    return TRUE;
  lu_module_key_init (&key, map->path, buffer, sizeof buffer);
  key.has_inode = key.kind == LU_MODULE_FILE;
  key.major = map->major;
  key.minor = map->minor;
  key.inode = map->inode;
  mapping.module = lu_module_cache_find (self->modules, &key, &is_new);
  lu_opener_open (self->opener, mapping.module, self->pid, mapping.start, mapping.end);
  self->space = lu_address_space_take_with_mapping (self->space, &mapping);
  return TRUE;
}

static void
settle_copies (Whole *self)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (self->space, &n);

  for (guint i = 0; i < n; i++)
    {
      guint64 budget = G_MAXUINT64;
      LuCopiedText copy;
      LuMapping mapping;

      if (!lu_moved_text_ask (self->space, mappings[i].start, &copy))
        continue;
      copy.pid = self->pid;
      lu_copied_text_compare (&copy, &budget);
      if (!lu_moved_text_settle (self->space, &copy, &mapping))
        continue;
      self->space = lu_address_space_take_with_mapping (self->space, &mapping);
      mappings = lu_address_space_mappings (self->space, &n);
    }
}

static gboolean
is_same_space (const LuAddressSpace *a, const LuAddressSpace *b)
{
  guint n, n_other;
  const LuMapping *one = lu_address_space_mappings (a, &n);
  const LuMapping *other = lu_address_space_mappings (b, &n_other);

  if (n != n_other)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (one[i].start != other[i].start || one[i].end != other[i].end
        || one[i].module != other[i].module || one[i].file_offset != other[i].file_offset)
      return FALSE;
  return TRUE;
}

void
whole_refresh (Whole *self)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/maps", self->pid);
  gsize size;
  g_autofree char *text = lu_fd_read_file (path, MAPS_BYTES, &size);
  LuAddressSpace *last = self->space;

  if (text == NULL)
    return;
  self->space = lu_address_space_new ();
  lu_proc_maps_parse (text, size, add_mapping, self);
  lu_moved_text_adopt (&self->space, lu_module_cache_find_copied (self->modules));
  settle_copies (self);
  if (is_same_space (last, self->space))
    {
      lu_address_space_unref (self->space);
      self->space = last;
      return;
    }
  lu_address_space_unref (last);
  publish (self);
}

gboolean
whole_is_generated (const Whole *self, guint64 address)
{
  const LuMapping *mapping = lu_address_space_find (self->space, address);

  return mapping != NULL && lu_module_image (mapping->module) == NULL;
}

char *
whole_describe (const Whole *self, guint64 address)
{
  const LuMapping *mapping = lu_address_space_find (self->space, address);
  const char *path, *name;

  if (mapping == NULL || whole_is_generated (self, address))
    return g_strdup_printf ("%s%#lx", mapping == NULL ? "" : "generated ", address);
  path = lu_module_key (mapping->module)->path;
  name = strrchr (path, '/') != NULL ? strrchr (path, '/') + 1 : path;
  return g_strdup_printf ("%s+%#lx", name, address - mapping->start + mapping->file_offset);
}

/* Samples */

/* Reads page by page, as far as the stack goes. */
static guint32
read_stack (Whole *self, guint64 sp)
{
  struct iovec here = { self->bytes, STACK_BYTES }, there[MAX_PAGES];
  guint64 at = sp, end = sp + STACK_BYTES;
  gulong n = 0;
  ssize_t size;

  while (at < end)
    {
      guint64 next = MIN ((at | (PAGE - 1)) + 1, end);

      there[n++] = (struct iovec){ (void *) at, next - at };
      at = next;
    }
  size = process_vm_readv (self->pid, &here, 1, there, n, 0);
  return size > 0 ? (guint32) size : 0;
}

gboolean
whole_sample (Whole *self, pid_t tid, const struct user_regs_struct *r)
{
  const guint64 words[17] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi,
                              r->rbp, r->rsp, r->rip, r->r8,  r->r9,  r->r10,
                              r->r11, r->r12, r->r13, r->r14, r->r15 };

  memcpy (self->words, words, sizeof words);
  self->tid = tid;
  self->sample = (LuSample){
    .ip = r->rip,
    .cpumode = 2,
    .regs = { .abi = LU_ABI_64, .n_words = 17, .mask = 0xff01ff, .words = self->words },
    .stack = self->bytes,
    .stack_size = read_stack (self, r->rsp),
    .stack_asked = STACK_BYTES,
  };
  return self->sample.stack_size > 0;
}

/* Walks as the program in the kernel does, and then as the recorder verifies its stack. */
static void
walk_in_kernel (Whole *self)
{
  const LuVerifyRequest request = {
    .pid = self->pid, .space = self->space, .frames = self->stack.frames, .is_replay = TRUE
  };
  LuUnwinder *table = self->engines[ENGINE_TABLE];
  LuVerified verified;

  user_walk (&self->process, &self->sample, &self->stack);
  verified = (LuVerified){ .status = self->stack.status, .n = self->stack.n_frames };
  table->ops->verify (table, &request, &verified);
  self->stack.status = verified.status;
  self->stack.n_frames = verified.n;
}

const LuStack *
whole_unwind (Whole *self, Engine engine)
{
  const LuUnwindRequest request = {
    .pid = self->pid,
    .tid = self->tid,
    .sample = &self->sample,
    .space = self->space,
    .is_replay = TRUE,
  };

  lu_stack_reset (&self->stack);
  if (self->engines[engine] != NULL)
    self->engines[engine]->ops->unwind (self->engines[engine], &request, &self->stack);
  else if (self->is_published)
    walk_in_kernel (self);
  else
    self->stack.status = LU_STATUS_NO_MAPPING;
  return &self->stack;
}

const char *
engine_name (Engine engine)
{
  static const char *const names[] = { "table", "dwfl", "bpf" };

  return names[engine];
}

Whole *
whole_new (void)
{
  static const struct lu_bpf_config config = { .max_frames = LU_BPF_MAX_FRAMES };
  Whole *self = g_new0 (Whole, 1);

  self->modules = lu_module_cache_new (1024);
  self->opener = lu_opener_new (TRUE, 1u << 30);
  self->tables = lu_tables_new (NULL, TABLE_BYTES);
  lu_opener_set_tables (self->opener, self->tables);
  self->engines[ENGINE_TABLE] = lu_unwinder_table.new(NULL);
  self->engines[ENGINE_DWFL] = lu_unwinder_dwfl.new(NULL);
  self->reader = lu_code_reader_new ();
  lu_code_reader_set_limited (self->reader, FALSE);
  user_set_config (&config);
  self->published =
      published_new (user_add_entry, NULL, user_dictionary (), user_modules (), self->tables);
  self->space = lu_address_space_new ();
  return self;
}

void
whole_follow (Whole *self, pid_t pid, Memory *memory)
{
  self->pid = pid;
  self->memory = memory;
  whole_refresh (self);
}

void
whole_free (Whole *self)
{
  if (self == NULL)
    return;
  published_free (self->published);
  for (guint i = 0; i < N_ENGINES; i++)
    lu_unwinder_free (self->engines[i]);
  lu_code_reader_free (self->reader);
  lu_address_space_unref (self->space);
  lu_opener_free (self->opener);
  lu_module_cache_free (self->modules);
  lu_tables_free (self->tables);
  g_free (self);
}
