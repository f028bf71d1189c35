/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-guard.c - checks CFI entries before libdw may see them; see cfi-guard.h.
 *
 * There are two ways. With a search table, libdw goes only where the table leads, so each FDE in it
 * is checked and nothing is changed: one bad FDE condemns the table. Without a table, libdw reads
 * entry after entry, and so do we. Entries are disjoint then (so CIEs must be entries too), and a
 * bad FDE is disabled in place, by a CIE pointer that leads out of the section, without affecting
 * others. */

#include "elf/cfi-guard.h"

#include "base/leb128.h"
#include "elf/cfi-entry.h"

/* DWARF 5, 6.4.1; LSB Core, 10.6 (.eh_frame), 10.5 (DW_EH_PE_*). */
#define DW_EH_PE_UDATA4_PCREL 0x1b /* pcrel | sdata4, as the header's pointer to .eh_frame */
#define DW_EH_PE_UDATA4       0x03
#define DW_EH_PE_TABLE        0x3b /* datarel | sdata4 */
#define NOWHERE               0xfffffff0u

/* Bytes of entries to check, in multiples of the section's size. Entries in a search table can
 * overlap or be the same; those of real files are disjoint. */
#define BUDGET_FACTOR 4
#define BUDGET_MIN    65536

typedef struct
{
  gboolean is_good;
  gboolean is_sized; /* augmentation 'z': FDEs have the length of their data */
  guint8 pointer_encoding;
} Cie;

typedef struct
{
  LuCfiSection *section;
  gboolean is_walk; /* only CIEs that the walk has passed count */
  GHashTable *cies; /* offset -> Cie */
  guint64 last_offset;
  const Cie *last;
  guint64 budget; /* bytes of entries that may still be checked */
} Guard;

static gboolean
read_entry (const LuCfiSection *section, guint64 offset, LuCfiEntry *entry)
{
  return lu_cfi_entry_read (entry, section->bytes, section->size, section->is_eh_frame, offset)
         && (entry->next == offset || lu_cursor_left (&entry->body) > 0);
}

/* Returns the size of a pointer with that encoding, or 0 if it is not allowed. */
static guint
pointer_size (guint8 encoding, guint8 address_size)
{
  switch (encoding & 0x0f)
    {
    case 0x00: /* absptr */
      return address_size;
    case 0x02: /* udata2 */
    case 0x0a:
      return 2;
    case 0x03: /* udata4 */
    case 0x0b:
      return 4;
    case 0x04: /* udata8 */
    case 0x0c:
      return 8;
    default: /* LEB128 forms */
      return 0;
    }
}

/* Only the size of the personality is needed, not its value. */
static gboolean
check_augmentation (Cie *cie, const char *letters, LuCursor *data, guint8 address_size)
{
  for (; *letters != '\0'; letters++)
    switch (*letters)
      {
      case 'L':
        lu_cursor_u8 (data);
        break;
      case 'R':
        cie->pointer_encoding = lu_cursor_u8 (data);
        break;
      case 'P':
        {
          guint size = pointer_size (lu_cursor_u8 (data), address_size);

          if (size == 0 || lu_cursor_take (data, size) == NULL)
            return FALSE;
        }
        break;
      case 'S': /* signal frame */
      case 'B': /* the key that signs return addresses */
        break;
      default:
        return FALSE;
      }
  /* Absolute, or relative to the pointer itself or to .eh_frame_hdr; neither indirect nor aligned.
   */
  return !data->failed && pointer_size (cie->pointer_encoding, address_size) > 0
         && (cie->pointer_encoding & 0xf0) <= 0x30;
}

static gboolean
check_cie (Cie *cie, const LuCfiSection *section, LuCursor *cursor)
{
  guint8 version = lu_cursor_u8 (cursor);
  const char *augmentation = lu_cursor_string (cursor);
  LuCursor data = { 0 };

  if (version != 1 && version != 3 && version != 4)
    return FALSE;
  if (version == 4
      && (lu_cursor_u8 (cursor) != section->address_size || lu_cursor_u8 (cursor) != 0))
    return FALSE;
  lu_cursor_uleb (cursor); /* code alignment */
  lu_cursor_uleb (cursor); /* data alignment; signed, but of the same length */
  if ((version == 1 ? lu_cursor_u8 (cursor) : lu_cursor_uleb (cursor)) > LU_CFI_MAX_REGISTER)
    return FALSE;
  if (augmentation[0] == 'z')
    {
      guint64 size = lu_cursor_uleb (cursor);
      const guint8 *bytes = lu_cursor_take (cursor, size);

      cie->is_sized = TRUE;
      if (bytes == NULL)
        return FALSE;
      lu_cursor_init (&data, bytes, size);
      if (!check_augmentation (cie, augmentation + 1, &data, section->address_size))
        return FALSE;
    }
  else if (augmentation[0] != '\0')
    return FALSE;
  return lu_cfi_check_program (cursor);
}

static gboolean
charge (Guard *guard, const LuCfiEntry *entry)
{
  guint64 size = lu_cursor_left (&entry->body) + sizeof (guint64);

  if (size > guard->budget)
    return FALSE;
  guard->budget -= size;
  return TRUE;
}

static const Cie *
add_cie (Guard *guard, guint64 offset)
{
  static const Cie bad;
  LuCfiEntry entry;
  Cie *cie;

  if (g_hash_table_size (guard->cies) >= LU_CFI_MAX_WALKED)
    return &bad;
  cie = g_new0 (Cie, 1);
  if (read_entry (guard->section, offset, &entry) && entry.next != offset && entry.is_cie
      && charge (guard, &entry))
    cie->is_good = check_cie (cie, guard->section, &entry.body);
  g_hash_table_insert (guard->cies, g_memdup2 (&offset, sizeof offset), cie);
  return cie;
}

/* Returns the CIE at an offset, checked at its first use, or NULL if it must not be used. */
static const Cie *
find_cie (Guard *guard, guint64 offset)
{
  if (guard->last == NULL || guard->last_offset != offset)
    {
      guard->last = g_hash_table_lookup (guard->cies, &offset);
      guard->last_offset = offset;
      if (guard->last == NULL && !guard->is_walk)
        guard->last = add_cie (guard, offset);
    }
  return guard->last != NULL && guard->last->is_good ? guard->last : NULL;
}

static gboolean
check_fde (Guard *guard, LuCfiEntry *entry)
{
  const LuCfiSection *section = guard->section;
  const Cie *cie;
  guint size;

  if (entry->cie_offset >= section->size || !charge (guard, entry))
    return FALSE;
  cie = find_cie (guard, entry->cie_offset);
  if (cie == NULL)
    return FALSE;
  size = pointer_size (cie->pointer_encoding, section->address_size);
  lu_cursor_take (&entry->body, 2 * (gsize) size);
  if (cie->is_sized)
    lu_cursor_take (&entry->body, lu_cursor_uleb (&entry->body));
  return lu_cfi_check_program (&entry->body);
}

static void
guard_init (Guard *guard, LuCfiSection *section)
{
  *guard = (Guard){
    .section = section,
    .budget = BUDGET_FACTOR * section->size + BUDGET_MIN,
    .cies = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free),
  };
}

static void
disable_fde (LuCfiSection *section, const LuCfiEntry *entry)
{
  const guint32 nowhere = NOWHERE;

  memcpy (section->bytes + entry->id_offset, &nowhere, sizeof nowhere);
}

guint
lu_cfi_guard_walk (LuCfiSection *section, guint *n_refused)
{
  guint64 offset = 0;
  guint n_fdes = 0, n_entries = 0;
  Guard guard;
  LuCfiEntry entry;

  guard_init (&guard, section);
  guard.is_walk = TRUE;
  *n_refused = 0;
  while (n_entries++ < LU_CFI_MAX_WALKED && read_entry (section, offset, &entry)
         && entry.next != entry.offset)
    {
      offset = entry.next;
      if (entry.is_cie)
        add_cie (&guard, entry.offset);
      else if (check_fde (&guard, &entry))
        n_fdes++;
      else
        {
          disable_fde (section, &entry);
          (*n_refused)++;
        }
    }
  section->size = offset;
  g_hash_table_unref (guard.cies);
  return n_fdes;
}

static gint64
read_s32 (LuCursor *cursor)
{
  return (gint32) lu_cursor_u32 (cursor);
}

gboolean
lu_cfi_table_eh_frame (const guint8 *table, gsize table_size, guint64 table_vaddr, guint64 *vaddr)
{
  static const guint8 form[] = { 1, DW_EH_PE_UDATA4_PCREL, DW_EH_PE_UDATA4, DW_EH_PE_TABLE };
  const guint8 *head;
  LuCursor cursor;

  lu_cursor_init (&cursor, table, table_size);
  head = lu_cursor_take (&cursor, sizeof form);
  if (head == NULL || memcmp (head, form, 2) != 0)
    return FALSE;
  *vaddr = table_vaddr + sizeof form + (guint64) read_s32 (&cursor);
  return !cursor.failed;
}

gboolean
lu_cfi_guard_check_table (const LuCfiSection *section, const guint8 *table, gsize table_size,
                          guint64 table_vaddr, guint *n_fdes)
{
  LuCfiSection copy = *section;
  gint64 previous = G_MININT64;
  gboolean is_good;
  guint64 vaddr;
  LuCursor cursor;
  Guard guard;

  if (!lu_cfi_table_eh_frame (table, table_size, table_vaddr, &vaddr) || vaddr != section->vaddr
      || table[2] != DW_EH_PE_UDATA4 || table[3] != DW_EH_PE_TABLE)
    return FALSE;
  lu_cursor_init (&cursor, table, table_size);
  lu_cursor_take (&cursor, 8);
  *n_fdes = lu_cursor_u32 (&cursor);
  is_good = !cursor.failed && *n_fdes > 0 && *n_fdes <= lu_cursor_left (&cursor) / 8;
  guard_init (&guard, &copy);
  for (guint i = 0; is_good && i < *n_fdes; i++)
    {
      gint64 start = read_s32 (&cursor);
      guint64 offset = table_vaddr + (guint64) read_s32 (&cursor) - section->vaddr;
      LuCfiEntry entry;

      is_good = start >= previous && read_entry (section, offset, &entry)
                && entry.next != entry.offset && !entry.is_cie && check_fde (&guard, &entry);
      previous = start;
    }
  g_hash_table_unref (guard.cies);
  return is_good;
}
