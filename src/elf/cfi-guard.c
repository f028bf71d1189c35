/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-guard.c - checks CFI entries before libdw may see them; see cfi-guard.h.
 *
 * Two ways in. With a search table libdw goes only where the table leads, so each FDE it names is
 * checked and nothing is changed: one that fails condemns the table. Without one, libdw reads entry
 * after entry, so do we; entries are disjoint then (so CIEs must be entries too), and one that
 * fails can be disabled in place, its CIE pointer leading out of the section, without touching
 * another. */

#include "elf/cfi-guard.h"

#include "base/cursor.h"

/* DWARF 5, 6.4.1; LSB Core, 10.6 (.eh_frame), 10.5 (DW_EH_PE_*). */
#define DW_EH_PE_UDATA4_PCREL 0x1b /* pcrel | sdata4, as the header's pointer to .eh_frame */
#define DW_EH_PE_UDATA4       0x03
#define DW_EH_PE_TABLE        0x3b /* datarel | sdata4 */
#define LENGTH_64BIT          0xffffffffu
#define NOWHERE               0xfffffff0u

/* The longest program seen in 3.3 million FDEs is far below this. */
#define MAX_PROGRAM    65536
#define MAX_EXPRESSION 256
#define MAX_REGISTER   128 /* the highest DWARF number in use: x86-64 ends at 125, aarch64 at 127 */
#define MAX_REMEMBERED 64

typedef struct
{
  gboolean is_good;
  gboolean is_sized; /* augmentation 'z': FDEs have their data's length */
  guint8 pointer_encoding;
} Cie;

typedef struct
{
  guint64 offset, next; /* of this entry and the one after it */
  guint64 id_offset;
  guint64 cie_offset; /* of an FDE */
  gboolean is_cie, is_terminator;
  LuCursor body; /* after the id */
} Entry;

typedef struct
{
  LuCfiSection *section;
  gboolean is_walk; /* only CIEs that the walk came by count */
  GHashTable *cies; /* offset -> Cie */
  guint64 last_offset;
  const Cie *last;
} Guard;

static guint64
read_uleb (LuCursor *cursor)
{
  guint64 value = 0;

  for (guint shift = 0; shift < 70; shift += 7)
    {
      guint8 byte = lu_cursor_u8 (cursor);

      if (shift < 64)
        value |= (guint64)(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0)
        return value;
    }
  cursor->failed = TRUE;
  return 0;
}

/* Expressions */

typedef enum
{
  OP_REFUSED,
  OP_PLAIN,
  OP_1,
  OP_2,
  OP_4,
  OP_8,
  OP_LEB,
  OP_LEB_LEB,
  OP_BRANCH, /* forward only, so an expression ends after at most as many steps as it has bytes */
  OP_DEREF_SIZE, /* not in a CFA expression */
} OpForm;

/* What compilers and hand-written CFI use; DW_OP_div, DW_OP_mod, DW_OP_addr and everything that
 * needs more than registers and memory is refused. */
static const guint8 op_forms[256] = {
  [0x06] = OP_PLAIN, /* deref */
  [0x08] = OP_1,
  [0x09] = OP_1, /* const1 */
  [0x0a] = OP_2,
  [0x0b] = OP_2, /* const2 */
  [0x0c] = OP_4,
  [0x0d] = OP_4, /* const4 */
  [0x0e] = OP_8,
  [0x0f] = OP_8, /* const8 */
  [0x10] = OP_LEB,
  [0x11] = OP_LEB,            /* constu, consts */
  [0x12 ... 0x14] = OP_PLAIN, /* dup, drop, over */
  [0x15] = OP_1,              /* pick */
  [0x16 ... 0x17] = OP_PLAIN,
  [0x19 ... 0x1a] = OP_PLAIN, /* swap, rot, abs, and */
  [0x1c] = OP_PLAIN,
  [0x1e ... 0x22] = OP_PLAIN, /* minus, mul ... plus */
  [0x23] = OP_LEB,            /* plus_uconst */
  [0x24 ... 0x27] = OP_PLAIN, /* shl, shr, shra, xor */
  [0x28] = OP_BRANCH,         /* bra */
  [0x29 ... 0x2e] = OP_PLAIN, /* eq ... ne */
  [0x2f] = OP_BRANCH,         /* skip */
  [0x30 ... 0x4f] = OP_PLAIN, /* lit */
  [0x70 ... 0x8f] = OP_LEB,   /* breg */
  [0x92] = OP_LEB_LEB,        /* bregx */
  [0x94] = OP_DEREF_SIZE,
  [0x96] = OP_PLAIN, /* nop */
};

static gboolean
check_operation (LuCursor *cursor, guint8 op, gboolean is_cfa)
{
  static const guint8 widths[] = { [OP_1] = 1, [OP_2] = 2, [OP_4] = 4, [OP_8] = 8 };

  switch ((OpForm)op_forms[op])
    {
    case OP_REFUSED:
      return FALSE;
    case OP_PLAIN:
      return TRUE;
    case OP_1:
    case OP_2:
    case OP_4:
    case OP_8:
      return lu_cursor_take (cursor, widths[op_forms[op]]) != NULL;
    case OP_LEB_LEB:
      read_uleb (cursor);
      /* fall through */
    case OP_LEB:
      read_uleb (cursor);
      return !cursor->failed;
    case OP_BRANCH:
      return (gint16)lu_cursor_u16 (cursor) >= 0 && !cursor->failed;
    case OP_DEREF_SIZE:
      return !is_cfa && lu_cursor_u8 (cursor) <= 8 && !cursor->failed;
    }
  return FALSE;
}

static gboolean
check_expression (LuCursor *program, gboolean is_cfa)
{
  guint64 size = read_uleb (program);
  LuCursor cursor;
  const guint8 *bytes;

  if (size == 0 || size > MAX_EXPRESSION)
    return FALSE;
  bytes = lu_cursor_take (program, size);
  if (bytes == NULL)
    return FALSE;
  lu_cursor_init (&cursor, bytes, size);
  while (lu_cursor_left (&cursor) > 0)
    if (!check_operation (&cursor, lu_cursor_u8 (&cursor), is_cfa))
      return FALSE;
  return TRUE;
}

/* Call frame instructions */

typedef enum
{
  CFA_REFUSED,
  CFA_PLAIN,
  CFA_ADVANCE_1,
  CFA_ADVANCE_2,
  CFA_ADVANCE_4,
  CFA_REG,
  CFA_REG_LEB,
  CFA_REG_REG,
  CFA_LEB,
  CFA_CFA_EXPRESSION,
  CFA_REG_EXPRESSION,
  CFA_REMEMBER,
  CFA_RESTORE_STATE,
} CfaForm;

/* DW_CFA_set_loc (0x01) and the MIPS form of advance (0x1d) are refused: nothing writes them. */
static const guint8 cfa_forms[64] = {
  [0x00] = CFA_PLAIN,
  [0x02] = CFA_ADVANCE_1,
  [0x03] = CFA_ADVANCE_2,
  [0x04] = CFA_ADVANCE_4,
  [0x05] = CFA_REG_LEB, /* offset_extended */
  [0x06 ... 0x08] = CFA_REG,
  [0x09] = CFA_REG_REG,
  [0x0a] = CFA_REMEMBER,
  [0x0b] = CFA_RESTORE_STATE,
  [0x0c] = CFA_REG_LEB, /* def_cfa */
  [0x0d] = CFA_REG,
  [0x0e] = CFA_LEB,
  [0x0f] = CFA_CFA_EXPRESSION,
  [0x10] = CFA_REG_EXPRESSION,
  [0x11] = CFA_REG_LEB,
  [0x12] = CFA_REG_LEB,
  [0x13] = CFA_LEB,
  [0x14 ... 0x15] = CFA_REG_LEB, /* val_offset */
  [0x16] = CFA_REG_EXPRESSION,
  [0x2d] = CFA_PLAIN, /* aarch64: return address signed */
  [0x2e] = CFA_LEB,   /* GNU_args_size */
  [0x2f] = CFA_REG_LEB,
};

static gboolean
check_register (LuCursor *cursor)
{
  return read_uleb (cursor) <= MAX_REGISTER && !cursor->failed;
}

static gboolean
check_instruction (LuCursor *cursor, CfaForm form, guint *n_remembered)
{
  switch (form)
    {
    case CFA_REFUSED:
      return FALSE;
    case CFA_PLAIN:
      return TRUE;
    case CFA_ADVANCE_1:
      return lu_cursor_take (cursor, 1) != NULL;
    case CFA_ADVANCE_2:
      return lu_cursor_take (cursor, 2) != NULL;
    case CFA_ADVANCE_4:
      return lu_cursor_take (cursor, 4) != NULL;
    case CFA_REG:
      return check_register (cursor);
    case CFA_REG_REG:
      return check_register (cursor) && check_register (cursor);
    case CFA_REG_LEB:
      if (!check_register (cursor))
        return FALSE;
      /* fall through */
    case CFA_LEB:
      read_uleb (cursor);
      return !cursor->failed;
    case CFA_CFA_EXPRESSION:
      return check_expression (cursor, TRUE);
    case CFA_REG_EXPRESSION:
      return check_register (cursor) && check_expression (cursor, FALSE);
    case CFA_REMEMBER:
      return ++*n_remembered <= MAX_REMEMBERED;
    case CFA_RESTORE_STATE:
      return (*n_remembered)-- > 0;
    }
  return FALSE;
}

static gboolean
check_program (LuCursor *cursor)
{
  guint n_remembered = 0;

  if (cursor->failed || lu_cursor_left (cursor) > MAX_PROGRAM)
    return FALSE;
  while (lu_cursor_left (cursor) > 0)
    {
      guint8 opcode = lu_cursor_u8 (cursor);

      switch (opcode >> 6)
        {
        case 1: /* advance_loc */
        case 3: /* restore */
          break;
        case 2: /* offset */
          read_uleb (cursor);
          break;
        default:
          if (!check_instruction (cursor, (CfaForm)cfa_forms[opcode], &n_remembered))
            return FALSE;
        }
    }
  return !cursor->failed;
}

/* Entries */

static gboolean
read_entry (const LuCfiSection *section, guint64 offset, Entry *entry)
{
  LuCursor cursor;
  guint64 length, id, offset_size = 4;
  const guint8 *body;

  if (offset >= section->size)
    return FALSE;
  lu_cursor_init (&cursor, section->bytes + offset, section->size - offset);
  length = lu_cursor_u32 (&cursor);
  if (length == LENGTH_64BIT)
    {
      length = lu_cursor_u64 (&cursor);
      offset_size = 8;
    }
  *entry = (Entry){ .offset = offset, .is_terminator = length == 0 };
  if (cursor.failed || entry->is_terminator)
    return !cursor.failed;
  body = lu_cursor_take (&cursor, length);
  if (body == NULL || length <= offset_size)
    return FALSE;
  entry->id_offset = (guint64)(body - section->bytes);
  entry->next = entry->id_offset + length;
  lu_cursor_init (&entry->body, body, length);
  id = offset_size == 8 ? lu_cursor_u64 (&entry->body) : lu_cursor_u32 (&entry->body);
  if (section->is_eh_frame)
    entry->is_cie = id == 0;
  else
    entry->is_cie = id == (offset_size == 8 ? G_MAXUINT64 : G_MAXUINT32);
  if (entry->is_cie)
    return TRUE;
  entry->cie_offset = section->is_eh_frame ? entry->id_offset - id : id;
  return TRUE;
}

/* Size of a pointer of that encoding, 0 if it is not one that we let through. */
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

/* The personality's value is not needed, only its size. */
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
      case 'B': /* aarch64: which key signs return addresses */
        break;
      default:
        return FALSE;
      }
  /* Absolute, or relative to the place itself or to .eh_frame_hdr; never indirect nor aligned. */
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
  read_uleb (cursor); /* code alignment */
  read_uleb (cursor); /* data alignment; signed, the same length */
  if ((version == 1 ? lu_cursor_u8 (cursor) : read_uleb (cursor)) > MAX_REGISTER)
    return FALSE;
  if (augmentation[0] == 'z')
    {
      guint64 size = read_uleb (cursor);
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
  return check_program (cursor);
}

static const Cie *
add_cie (Guard *guard, guint64 offset)
{
  static const Cie bad;
  Entry entry;
  Cie *cie;

  if (g_hash_table_size (guard->cies) >= LU_CFI_MAX_WALKED)
    return &bad;
  cie = g_new0 (Cie, 1);
  if (read_entry (guard->section, offset, &entry) && entry.is_cie)
    cie->is_good = check_cie (cie, guard->section, &entry.body);
  g_hash_table_insert (guard->cies, g_memdup2 (&offset, sizeof offset), cie);
  return cie;
}

/* A CIE by its offset, checked at its first use; NULL if it must not be used. */
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
check_fde (Guard *guard, Entry *entry)
{
  const LuCfiSection *section = guard->section;
  const Cie *cie;
  guint size;

  if (entry->cie_offset >= section->size)
    return FALSE;
  cie = find_cie (guard, entry->cie_offset);
  if (cie == NULL)
    return FALSE;
  size = pointer_size (cie->pointer_encoding, section->address_size);
  lu_cursor_take (&entry->body, 2 * (gsize)size);
  if (cie->is_sized)
    lu_cursor_take (&entry->body, read_uleb (&entry->body));
  return check_program (&entry->body);
}

static void
guard_init (Guard *guard, LuCfiSection *section)
{
  *guard = (Guard){
    .section = section,
    .cies = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free),
  };
}

static void
disable_fde (LuCfiSection *section, const Entry *entry)
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
  Entry entry;

  guard_init (&guard, section);
  guard.is_walk = TRUE;
  *n_refused = 0;
  while (n_entries++ < LU_CFI_MAX_WALKED && read_entry (section, offset, &entry)
         && !entry.is_terminator)
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
  return (gint32)lu_cursor_u32 (cursor);
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
  *vaddr = table_vaddr + sizeof form + (guint64)read_s32 (&cursor);
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
      guint64 offset = table_vaddr + (guint64)read_s32 (&cursor) - section->vaddr;
      Entry entry;

      is_good = start >= previous && read_entry (section, offset, &entry) && !entry.is_terminator
                && !entry.is_cie && check_fde (&guard, &entry);
      previous = start;
    }
  g_hash_table_unref (guard.cies);
  return is_good;
}
