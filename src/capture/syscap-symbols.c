/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-symbols.c - writes and searches __symbols__; see syscap-symbols.h. */

#include "syscap-symbols.h"

#include <string.h>

typedef struct __attribute__ ((packed))
{
  guint64 begin, end;
  guint32 pid, name, tag, function;
} Record;
_Static_assert(sizeof (Record) == 32, "a record of __symbols__");

#define IS_PLACE (1u << 31)

static int
compare_symbols (gconstpointer a, gconstpointer b)
{
  const LuSyscapSymbol *x = a, *y = b;

  if (x->pid != y->pid)
    return (guint32) x->pid < (guint32) y->pid ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end;
}

/* While overlaps are removed: */
typedef struct
{
  GArray *open;   /* of LuSyscapSymbol: those that contain `at`, the one that began last is last */
  GArray *pieces; /* of LuSyscapSymbol: the result */
  guint64 at;
} Sweep;

/* Adds what the last open symbol covers up to `end`. */
static void
add_piece (Sweep *self, guint64 end)
{
  LuSyscapSymbol piece = g_array_index (self->open, LuSyscapSymbol, self->open->len - 1);

  piece.begin = self->at;
  piece.end = MIN (piece.end, end);
  if (piece.begin >= piece.end)
    return;
  g_array_append_val (self->pieces, piece);
  self->at = piece.end;
}

/* Goes on to an address of a process. */
static void
sweep_to (Sweep *self, gint32 pid, guint64 address)
{
  while (self->open->len > 0)
    {
      LuSyscapSymbol last = g_array_index (self->open, LuSyscapSymbol, self->open->len - 1);

      add_piece (self, last.pid == pid ? address : G_MAXUINT64);
      if (last.pid == pid && last.end > address)
        break;
      g_array_set_size (self->open, self->open->len - 1);
    }
  self->at = address;
}

/* Removes overlaps: where several symbols contain an address, the one that begins last stays there,
 * or else the shortest one. */
static void
separate (GArray *symbols)
{
  Sweep sweep = { .open = g_array_new (FALSE, FALSE, sizeof (LuSyscapSymbol)),
                  .pieces = g_array_new (FALSE, FALSE, sizeof (LuSyscapSymbol)) };

  g_array_sort (symbols, compare_symbols);
  for (guint i = 0; i < symbols->len; i++)
    {
      const LuSyscapSymbol *symbol = &g_array_index (symbols, LuSyscapSymbol, i);

      if (symbol->begin >= symbol->end || symbol->name == NULL)
        continue;
      sweep_to (&sweep, symbol->pid, symbol->begin);
      g_array_append_vals (sweep.open, symbol, 1);
    }
  sweep_to (&sweep, 0, G_MAXUINT64);
  g_array_set_size (symbols, 0);
  g_array_append_vals (symbols, sweep.pieces->data, sweep.pieces->len);
  g_array_unref (sweep.open);
  g_array_unref (sweep.pieces);
}

/* Returns how many records fit, including their texts. */
static guint
fitting (const GArray *symbols, gsize limit)
{
  g_autoptr (GHashTable) texts = g_hash_table_new (NULL, NULL);
  gsize size = sizeof (Record) + 1;

  for (guint i = 0; i < symbols->len; i++)
    {
      const LuSyscapSymbol *symbol = &g_array_index (symbols, LuSyscapSymbol, i);

      size += sizeof (Record);
      if (g_hash_table_add (texts, (gpointer) symbol->name))
        size += strlen (symbol->name) + 1;
      if (size > limit)
        return i;
    }
  return symbols->len;
}

GByteArray *
lu_syscap_symbols_encode (GArray *symbols, gsize limit, guint *n_left_out)
{
  g_autoptr (GHashTable) offsets = g_hash_table_new (NULL, NULL);
  GByteArray *file = g_byte_array_new ();
  guint n;

  separate (symbols);
  n = fitting (symbols, MIN (limit, G_MAXINT32));
  *n_left_out = symbols->len - n;
  g_byte_array_set_size (file, (guint) ((n + 1) * sizeof (Record)));
  memset (file->data, 0, file->len);
  g_byte_array_append (file, (const guint8 *) "", 1);
  for (guint i = 0; i < n; i++)
    {
      const LuSyscapSymbol *symbol = &g_array_index (symbols, LuSyscapSymbol, i);
      guint name = GPOINTER_TO_UINT (g_hash_table_lookup (offsets, symbol->name));
      Record record = { .begin = symbol->begin,
                        .end = symbol->end,
                        .pid = (guint32) symbol->pid,
                        .function =
                            (symbol->function & ~IS_PLACE) | (symbol->is_place ? IS_PLACE : 0) };

      if (name == 0)
        {
          name = file->len;
          g_byte_array_append (file, (const guint8 *) symbol->name,
                               (guint) strlen (symbol->name) + 1);
          g_hash_table_insert (offsets, (gpointer) symbol->name, GUINT_TO_POINTER (name));
        }
      record.name = name;
      memcpy (file->data + i * sizeof record, &record, sizeof record);
    }
  return file;
}

static Record
record_at (const GByteArray *file, guint i)
{
  Record record;

  memcpy (&record, file->data + i * sizeof record, sizeof record);
  return record;
}

/* Returns whether the record begins after the address. */
static gboolean
is_behind (const Record *record, gint32 pid, guint64 address)
{
  return record->pid != (guint32) pid ? record->pid > (guint32) pid : record->begin > address;
}

static const char *
text_at (const GByteArray *file, guint offset)
{
  if (offset == 0 || offset >= file->len
      || memchr (file->data + offset, 0, file->len - offset) == NULL)
    return NULL;
  return (const char *) file->data + offset;
}

guint
lu_syscap_symbols_count (const GByteArray *file)
{
  static const Record end;
  guint n = 0;

  while ((n + 1) * sizeof end <= file->len
         && memcmp (file->data + n * sizeof end, &end, sizeof end) != 0)
    n++;
  return n;
}

gboolean
lu_syscap_symbols_get (const GByteArray *file, guint index, LuSyscapSymbol *symbol)
{
  Record record = record_at (file, index);

  *symbol = (LuSyscapSymbol){ .begin = record.begin,
                              .end = record.end,
                              .pid = (gint32) record.pid,
                              .name = text_at (file, record.name),
                              .function = record.function & ~IS_PLACE,
                              .is_place = (record.function & IS_PLACE) != 0 };
  return symbol->name != NULL;
}

gboolean
lu_syscap_symbols_find (const GByteArray *file, guint n_records, gint32 pid, guint64 address,
                        LuSyscapSymbol *symbol)
{
  guint low = 0, high = n_records;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      Record record = record_at (file, middle);

      if (is_behind (&record, pid, address))
        high = middle;
      else
        low = middle + 1;
    }
  return low > 0 && lu_syscap_symbols_get (file, low - 1, symbol) && symbol->pid == pid
         && address >= symbol->begin && address < symbol->end;
}
