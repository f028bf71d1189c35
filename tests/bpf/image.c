/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.c - see image.h. */

#include "image.h"

#include "bpf/known.h"
#include "bpf/rules.h"
#include "table/table.h"
#include "unwind/dwfl-address-space.h"

#include <string.h>

static guint
hash_rule (gconstpointer rule)
{
  guint32 words[4];

  memcpy (words, rule, sizeof words);
  return (words[0] * 31 + words[1]) * 31 + (words[2] * 31 + words[3]);
}

static gboolean
same_rules (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (struct lu_rule)) == 0;
}

void
bpf_image_init (BpfImage *self)
{
  self->rule_ids = g_hash_table_new_full (hash_rule, same_rules, g_free, NULL);
  self->slots = g_hash_table_new (NULL, NULL);
  self->dictionary->rules[LU_RULE_COMPLEX].cfa_kind = LU_CFA_COMPLEX;
  self->n_rules = LU_BPF_RULE_TOP + 1;
  self->n_modules = 1;
  self->n_entries = 0;
  self->at = LU_BPF_ENTRY_WORDS;
}

void
bpf_image_clear (BpfImage *self)
{
  g_hash_table_unref (self->rule_ids);
  g_hash_table_unref (self->slots);
}

/* Returns room for `n` words at a multiple of `align` in one entry and its word address; address 0
 * if there is none. */
static guint32 *
take_words (BpfImage *self, guint n, guint align, guint32 *address)
{
  guint32 *words;

  self->at = (self->at + align - 1) & ~(align - 1);
  if (n > LU_BPF_ENTRY_WORDS)
    return NULL;
  if (self->at + n > LU_BPF_ENTRY_WORDS)
    {
      self->words = self->add_entry (self->data, self->n_entries);
      if (self->words == NULL)
        return NULL;
      self->n_entries++;
      self->at = 0;
    }
  *address = LU_BPF_WORD (self->n_entries - 1, self->at);
  words = self->words + self->at;
  self->at += n;
  return words;
}

static guint32
global_rule (BpfImage *self, const struct lu_rule *rule)
{
  gpointer id = g_hash_table_lookup (self->rule_ids, rule);

  if (rule->cfa_kind == LU_CFA_NONE && rule->ra_kind != LU_RA_END)
    return LU_RULE_NONE;
  if (rule->cfa_kind == LU_CFA_COMPLEX || (id == NULL && self->n_rules == LU_BPF_MAX_RULES))
    return LU_RULE_COMPLEX;
  if (id == NULL)
    {
      id = GUINT_TO_POINTER (self->n_rules);
      lu_bpf_dictionary_set (self->dictionary, self->n_rules++, rule, lu_bpf_rules_have_link ());
      g_hash_table_insert (self->rule_ids, g_memdup2 (rule, sizeof *rule), id);
    }
  return GPOINTER_TO_UINT (id);
}

static gboolean
add_page (BpfImage *self, const LuTable *table, guint64 base, guint first, guint n,
          struct lu_bpf_page *page)
{
  guint length = lu_bpf_run_length (n + 1);
  guint32 address, *words = take_words (self, length, 1, &address);

  if (words == NULL)
    return FALSE;
  words[0] = LU_ROW (base, global_rule (self, lu_table_find (table, base)));
  for (guint i = 0; i < n; i++)
    {
      guint32 row = table->rows.rows[first + i];

      words[1 + i] = LU_ROW (row, global_rule (self, &table->rules[row >> 16]));
    }
  for (guint i = n + 1; i < length; i++)
    words[i] = words[n];
  *page = lu_bpf_page_make (address, words, n + 1);
  return TRUE;
}

static gboolean
add_table (BpfImage *self, const LuTable *table, struct lu_bpf_module *module)
{
  const struct lu_rows *rows = &table->rows;
  guint32 address;
  struct lu_bpf_page *pages =
      (struct lu_bpf_page *) take_words (self, 2 * rows->n_pages, 2, &address);

  if (pages == NULL)
    return FALSE;
  for (guint i = 0; i < rows->n_pages; i++)
    {
      guint64 base = rows->base + (guint64) i * LU_PAGE_BYTES;
      guint first = rows->pages[i], n = rows->pages[i + 1] - first;

      /* add_page() already makes a row at the page's first byte. */
      if (n > 0 && (rows->rows[first] & 0xffff) == (base & 0xffff))
        {
          first++;
          n--;
        }
      if (!add_page (self, table, base, first, n, &pages[i]))
        return FALSE;
    }
  module->base = rows->base;
  module->table = address | (guint64) rows->n_pages << 32;
  return TRUE;
}

static gboolean
add_module (BpfImage *self, LuModule *module, guint slot)
{
  LuImage *image = lu_module_image (module);
  struct lu_bpf_module *published = &self->modules[slot];
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;

  published->key = (guint64) slot << LU_BPF_KEY_SHIFT;
  if (image == NULL)
    return TRUE;
  if (lu_module_key (module)->kind != LU_MODULE_VDSO)
    published->entry = lu_image_entry (image);
  if (lu_module_interp (module) != NULL && self->interps.backing != NULL)
    self->interps.backing->shared->interp_of[slot] =
        (guint8) lu_bpf_interps_add (&self->interps, lu_module_interp (module));
  cfi = lu_cfi_new_for_image (image);
  table = cfi != NULL ? lu_table_new (cfi) : NULL;
  return table == NULL || table->rows.n_pages == 0 || add_table (self, table, published);
}

static guint
kind_of (const LuDwflMapping *mapping)
{
  if (mapping->status == LU_STATUS_COMPLETE)
    return LU_BPF_MAPPING_TABLE;
  if (mapping->status == LU_STATUS_JIT)
    return LU_BPF_MAPPING_JIT;
  if (mapping->status == LU_STATUS_NO_UNWIND_INFO
      && lu_module_key (mapping->module)->kind != LU_MODULE_VSYSCALL)
    return LU_BPF_MAPPING_NO_CFI;
  return LU_BPF_MAPPING_OPAQUE;
}

/* Adds the file where its group has room. */
static void
add_known (BpfImage *self, const LuDwflMapping *mapping, guint32 slot)
{
  struct lu_bpf_known known, *group;

  if (self->known == NULL || kind_of (mapping) != LU_BPF_MAPPING_TABLE
      || !lu_bpf_known_describe (mapping, slot, &known))
    return;
  group = &self->known[lu_bpf_known_group (
      lu_bpf_known_hash (known.inode, known.device, known.offset))];
  for (guint i = 0; i < LU_BPF_KNOWN_PLACES; i++)
    if (group[i].check == 0)
      {
        group[i] = known;
        return;
      }
}

gboolean
bpf_image_add_space (BpfImage *self, LuAddressSpace *space, guint32 tgid,
                     struct lu_bpf_process *process)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);
  struct lu_bpf_mapping *published;

  *process = (struct lu_bpf_process){ .serial = lu_address_space_serial (space), .n_mappings = n };
  published = (struct lu_bpf_mapping *) take_words (self, 8 * n, 8, &process->mappings);
  if (n == 0 || published == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      LuDwflMapping described = lu_dwfl_mapping_describe (&mappings[i], lu_arch_of_abi (LU_ABI_64));
      gpointer module_id = GUINT_TO_POINTER (lu_module_id (described.module));
      gpointer slot = g_hash_table_lookup (self->slots, module_id);

      if (lu_module_is_pending (described.module))
        process->flags |= LU_BPF_PROCESS_PENDING;
      if (slot == NULL && self->n_modules < LU_BPF_MAX_MODULES)
        {
          slot = GUINT_TO_POINTER (self->n_modules++);
          g_hash_table_insert (self->slots, module_id, slot);
          if (!add_module (self, described.module, GPOINTER_TO_UINT (slot)))
            return FALSE;
        }
      published[i] = (struct lu_bpf_mapping){ .start = described.start,
                                              .end = described.end,
                                              .bias = described.bias,
                                              .module = GPOINTER_TO_UINT (slot),
                                              .kind = kind_of (&described) };
      add_known (self, &described, GPOINTER_TO_UINT (slot));
    }
  process->check = lu_bpf_process_check (process, tgid);
  return TRUE;
}
