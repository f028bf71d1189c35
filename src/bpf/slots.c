/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* slots.c - gives slots to modules; see slots.h. */

#include "bpf/slots.h"

#include "bpf/known.h"
#include "bpf/publisher.h"

/* Slots that are kept without mappings, as in module-cache.h. */
#define MAX_IDLE 128
/* Bytes of requests after which the publisher is woken without another reason. */
#define QUIET_BYTES (64u << 10)

void
lu_bpf_slots_init (LuBpfSlots *self, LuBpfBacking *backing, LuQueue *requests)
{
  *self = (LuBpfSlots){ .backing = backing, .requests = requests, .end = 1 };
  lu_bpf_index_init (&self->by_module, LU_BPF_MAX_MODULES);
  self->slots = g_new0 (LuBpfSlot, LU_BPF_MAX_MODULES);
  lu_bpf_reclaim_init (&self->numbers, LU_BPF_MAX_MODULES);
  lu_bpf_reclaim_take (&self->numbers, 1); /* slot 0 is none */
}

void
lu_bpf_slots_clear (LuBpfSlots *self)
{
  for (guint i = 0; i < self->end; i++)
    lu_module_unref (self->slots[i].module);
  lu_bpf_index_clear (&self->by_module);
  lu_bpf_reclaim_clear (&self->numbers);
  g_free (self->slots);
}

gboolean
lu_bpf_slots_has_table (const LuBpfSlots *self, guint32 slot)
{
  return __atomic_load_n (&self->backing->modules[slot].table, __ATOMIC_RELAXED) != 0;
}

/* Takes the module. Returns FALSE if there is no room. */
static gboolean
request (LuBpfSlots *self, LuBpfRequestKind kind, guint32 slot, LuModule *module,
         gboolean is_wanted)
{
  LuBpfRequest *place = lu_queue_reserve (self->requests, sizeof *place);

  if (place == NULL)
    {
      lu_module_unref (module);
      return FALSE;
    }
  *place = (LuBpfRequest){ .kind = kind, .slot = slot, .module = module, .is_wanted = is_wanted };
  lu_queue_commit_quietly (self->requests, sizeof *place);
  /* Idle and retired slots can wait for the next reason to wake it. */
  self->has_news = self->has_news
                   || (kind == LU_BPF_REQUEST_MODULE && !lu_bpf_slots_has_table (self, slot))
                   || lu_queue_used (self->requests) >= QUIET_BYTES;
  return TRUE;
}

/* The list of slots without mappings */

static void
unlink_idle (LuBpfSlots *self, guint32 number)
{
  LuBpfSlot *slot = &self->slots[number];

  *(slot->before != 0 ? &self->slots[slot->before].after : &self->oldest) = slot->after;
  *(slot->after != 0 ? &self->slots[slot->after].before : &self->newest) = slot->before;
  slot->before = slot->after = 0;
  self->n_idle--;
}

static void
link_idle (LuBpfSlots *self, guint32 number)
{
  LuBpfSlot *slot = &self->slots[number];

  slot->before = self->newest;
  *(self->newest != 0 ? &self->slots[self->newest].after : &self->oldest) = number;
  self->newest = number;
  self->n_idle++;
}

static void
retire_oldest (LuBpfSlots *self)
{
  guint32 number = self->oldest;
  LuBpfSlot *slot = &self->slots[number];

  if (number == 0 || !request (self, LU_BPF_REQUEST_RETIRE, number, NULL, FALSE))
    return;
  unlink_idle (self, number);
  lu_bpf_known_remove (self, number);
  lu_bpf_index_remove (&self->by_module, slot->item);
  slot->id = 0;
}

/* Taking and giving back */

static guint32
new_slot (LuBpfSlots *self, LuModule *module)
{
  guint32 item = lu_bpf_index_add (&self->by_module, lu_module_id (module));
  gint64 number = item != LU_BPF_NO_ITEM ? lu_bpf_reclaim_take (&self->numbers, 1) : -1;

  if (number < 0)
    {
      if (item != LU_BPF_NO_ITEM)
        lu_bpf_index_remove (&self->by_module, item);
      retire_oldest (self);
      self->n_refused++;
      return 0;
    }
  self->by_module.values[item] = (guint32) number;
  self->slots[number] = (LuBpfSlot){ .id = lu_module_id (module), .item = item };
  self->end = MAX (self->end, (guint) number + 1);
  self->backing->use[number] = 0;
  return (guint32) number;
}

guint32
lu_bpf_slots_find (const LuBpfSlots *self, const LuModule *module)
{
  guint32 item = lu_bpf_index_find (&self->by_module, lu_module_id (module));

  return item != LU_BPF_NO_ITEM ? self->by_module.values[item] : 0;
}

guint32
lu_bpf_slots_take (LuBpfSlots *self, LuModule *module, gboolean is_wanted)
{
  guint32 number = lu_bpf_slots_find (self, module);
  gboolean is_new = number == 0;

  if (is_new)
    number = new_slot (self, module);
  if (number == 0)
    return 0;
  if (self->slots[number].n_mappings++ > 0)
    return number;
  if (!is_new)
    unlink_idle (self, number);
  self->slots[number].module = lu_module_ref (module);
  /* If there is no room, the program will request it. */
  request (self, LU_BPF_REQUEST_MODULE, number, lu_module_ref (module), is_wanted);
  return number;
}

void
lu_bpf_slots_give_back (LuBpfSlots *self, guint32 number)
{
  LuBpfSlot *slot = &self->slots[number];

  if (--slot->n_mappings > 0)
    return;
  lu_module_unref (g_steal_pointer (&slot->module));
  request (self, LU_BPF_REQUEST_IDLE, number, NULL, FALSE);
  link_idle (self, number);
  if (self->n_idle > MAX_IDLE)
    retire_oldest (self);
}

void
lu_bpf_slots_retired (LuBpfSlots *self, guint32 number)
{
  lu_bpf_reclaim_give_back (&self->numbers, number, 1);
}

/* Requests of the program */

static void
pass_wish (LuBpfSlots *self, guint32 number)
{
  LuModule *module = self->slots[number].module;

  if (module != NULL)
    request (self, LU_BPF_REQUEST_MODULE, number, lu_module_ref (module), TRUE);
}

void
lu_bpf_slots_pass_wishes (LuBpfSlots *self)
{
  const guint64 wanted = LU_BPF_WANTED * G_GUINT64_CONSTANT (0x0101010101010101);
  guint8 *use = self->backing->use;

  for (guint i = 0; i < self->end; i += sizeof wanted)
    {
      if ((__atomic_load_n ((guint64 *) (use + i), __ATOMIC_RELAXED) & wanted) == 0)
        continue;
      for (guint number = i; number < i + sizeof wanted; number++)
        if ((__atomic_fetch_and (&use[number], (guint8) ~LU_BPF_WANTED, __ATOMIC_RELAXED)
             & LU_BPF_WANTED)
            != 0)
          pass_wish (self, number);
    }
}

void
lu_bpf_slots_wake_publisher (LuBpfSlots *self)
{
  if (self->has_news)
    lu_queue_wake (self->requests);
  self->has_news = FALSE;
}
