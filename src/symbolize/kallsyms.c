/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms.c - finds kernel functions by address; see kallsyms.h.
 *
 * A line is "ADDRESS TYPE NAME[\t[MODULE]]". The functions of the kernel itself are sorted; those
 * of modules and BPF programs follow unsorted. If an address has several names, the first is kept.
 */

#include "symbolize/kallsyms.h"

#include "symbolize/kallsyms-copy.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/utsname.h>

#define MAX_FILE_SIZE (128u * 1024 * 1024)
/* Bytes of the file that are parsed at a time. */
#define PIECE_SIZE (64u << 10)
/* Bytes of the file that show whether addresses are hidden. */
#define START_SIZE   (16u << 10)
#define NO_ADDRESSES "kernel symbols have no addresses (see kernel.kptr_restrict)"
/* Assumed size of the last function. */
#define LAST_SIZE 4096

typedef struct
{
  guint64 address;
  guint32 text; /* offset in strings of NAME NUL MODULE NUL */
  guint32 type;
} Entry;

struct _LuKallsyms
{
  GArray *entries; /* of Entry, sorted by address, no two equal */
  GByteArray *strings;
};

/* `strings` has room for all text that is parsed, and lines are longer than what is kept of them.
 */
static void
append_string (GByteArray *strings, const char *text, gsize size)
{
  memcpy (strings->data + strings->len, text, size);
  strings->data[strings->len + size] = 0;
  strings->len += (guint) size + 1;
}

static gboolean
is_function (guint32 type)
{
  return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static gsize
word_length (const char *at, const char *end)
{
  gsize n = 0;

  while (at + n < end && (guchar) at[n] > ' ')
    n++;
  return n;
}

static void
parse_line (LuKallsyms *self, const char *at, const char *end)
{
  Entry entry = { .text = self->strings->len };
  const char *name;
  gsize n = lu_hex_read_number (at, end, &entry.address);
  gsize name_length;

  at += n;
  if (n == 0 || entry.address == 0 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
    return;
  entry.type = (guint8) at[1];
  if (!is_function (entry.type))
    return;
  name = at + 3;
  name_length = word_length (name, end);
  if (name_length == 0 || self->strings->len > G_MAXINT32)
    return;

  at = name + name_length;
  while (at < end && (*at == '\t' || *at == ' '))
    at++;
  append_string (self->strings, name, name_length);
  append_string (self->strings, at, word_length (at, end));
  g_array_append_val (self->entries, entry);
}

/* Compares addresses; entries with equal ones keep the order of the file. */
static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return x->text < y->text ? -1 : x->text > y->text;
}

/* Only modules and BPF programs put entries out of order, and sorting all takes as long as parsing
 * them. */
static gboolean
is_sorted (const GArray *entries)
{
  for (guint i = 1; i < entries->len; i++)
    if (compare_entries (&g_array_index (entries, Entry, i - 1), &g_array_index (entries, Entry, i))
        > 0)
      return FALSE;
  return TRUE;
}

static void
sort_and_thin (GArray *entries)
{
  guint n = 0;

  if (!is_sorted (entries))
    g_array_sort (entries, compare_entries);
  for (guint i = 0; i < entries->len; i++)
    {
      const Entry *entry = &g_array_index (entries, Entry, i);

      if (n == 0 || g_array_index (entries, Entry, n - 1).address != entry->address)
        g_array_index (entries, Entry, n++) = *entry;
    }
  g_array_set_size (entries, n);
}

static LuKallsyms *
kallsyms_new (void)
{
  LuKallsyms *self = g_new0 (LuKallsyms, 1);

  self->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  self->strings = g_byte_array_new ();
  return self;
}

/* Parses the lines that end; with `is_all`, the last one, too. Returns how many bytes they have. */
static gsize
parse_lines (LuKallsyms *self, const char *text, gsize size, gboolean is_all)
{
  const char *at = text, *end = text + size;
  guint length = self->strings->len;

  g_byte_array_set_size (self->strings, length + (guint) MIN (size, G_MAXUINT - length));
  self->strings->len = length;
  while (at < end)
    {
      const char *newline = memchr (at, '\n', (gsize) (end - at));

      if (newline == NULL && !is_all)
        break;
      parse_line (self, at, newline != NULL ? newline : end);
      at = newline != NULL ? newline + 1 : end;
    }
  return (gsize) (at - text);
}

/* Takes the symbols, all of which are parsed. */
static LuKallsyms *
finish (LuKallsyms *taken, GError **error)
{
  g_autoptr (LuKallsyms) self = taken;

  if (self->entries->len == 0)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_PERMISSION, NO_ADDRESSES);
      return NULL;
    }
  sort_and_thin (self->entries);
  return g_steal_pointer (&self);
}

LuKallsyms *
lu_kallsyms_parse (const char *text, gsize size, GError **error)
{
  LuKallsyms *self = kallsyms_new ();

  parse_lines (self, text, size, TRUE);
  return finish (self, error);
}

/* Tells whether a line has an address other than 0. */
static gboolean
shows_addresses (const char *text, gsize size)
{
  const char *end = text + size;

  for (const char *at = text; at != NULL && at < end;)
    {
      guint64 address;

      if (lu_hex_read_number (at, end, &address) > 0 && address != 0)
        return TRUE;
      at = memchr (at, '\n', (gsize) (end - at));
      at = at != NULL ? at + 1 : NULL;
    }
  return FALSE;
}

int
lu_kallsyms_open (const char *path, GError **error)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  g_autofree char *start = fd >= 0 ? g_malloc (START_SIZE) : NULL;
  gssize n = fd >= 0 ? lu_fd_pread_all (fd, start, START_SIZE, 0) : -1;

  if (n < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
      return -1;
    }
  if (!shows_addresses (start, (gsize) n))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_PERMISSION, NO_ADDRESSES);
      return -1;
    }
  return lu_fd_steal (&fd);
}

/* Reads and parses the file in pieces, because touching memory for all of it takes as long as
 * parsing. No line of the kernel's is longer than a piece; one that is would be skipped up to its
 * last piece. */
static gssize
parse_file (LuKallsyms *self, int fd)
{
  g_autofree char *text = g_malloc (PIECE_SIZE);
  gsize size = 0, n_done = 0, n;
  gssize n_read;

  while (n_done < MAX_FILE_SIZE && (n_read = read (fd, text + size, PIECE_SIZE - size)) != 0)
    {
      if (n_read < 0 && errno == EINTR)
        continue;
      if (n_read < 0)
        return -1;
      n_done += (gsize) n_read;
      size += (gsize) n_read;
      n = parse_lines (self, text, size, FALSE);
      if (n == 0 && size == PIECE_SIZE)
        n = size;
      size -= n;
      memmove (text, text + n, size);
    }
  parse_lines (self, text, size, TRUE);
  return (gssize) n_done;
}

/* Names whose functions are looked for. */
typedef struct
{
  const char *const *names;
  guint n, n_found;
  LuKernelRange *ranges;
  gint open; /* index of the function whose end is still unknown; -1: none */
} Search;

/* The function before ends where the next one begins. */
static void
end_range (Search *self, guint64 address)
{
  LuKernelRange *range = &self->ranges[self->open];

  if (address == range->start) /* another name of it */
    return;
  if (address > range->start)
    range->end = address;
  self->n_found += address > range->start;
  self->open = -1;
}

static void
search_line (Search *self, const char *at, const char *end)
{
  guint64 address;
  gsize n = lu_hex_read_number (at, end, &address), length;

  at += n;
  if (n == 0 || address == 0 || end - at < 4 || !is_function ((guint8) at[1]))
    return;
  at += 3;
  if (self->open >= 0)
    end_range (self, address);
  length = word_length (at, end);
  if (at + length < end) /* of a module */
    return;
  for (guint i = 0; i < self->n && self->open < 0; i++)
    if (self->ranges[i].start == 0 && strncmp (self->names[i], at, length) == 0
        && self->names[i][length] == 0)
      {
        self->ranges[i].start = self->ranges[i].end = address;
        self->open = (gint) i;
      }
}

/* Searches the lines that end. Returns how many bytes they have. */
static gsize
search_lines (Search *self, const char *text, gsize size)
{
  const char *at = text, *newline;

  while (self->n_found < self->n
         && (newline = memchr (at, '\n', (gsize) (text + size - at))) != NULL)
    {
      search_line (self, at, newline);
      at = newline + 1;
    }
  return (gsize) (at - text);
}

guint
lu_kallsyms_find_ranges (int fd, const char *const *names, guint n, LuKernelRange *ranges)
{
  g_autofree char *text = g_malloc (PIECE_SIZE);
  Search search = { .names = names, .n = n, .ranges = ranges, .open = -1 };
  gsize size = 0, n_done = 0, n_used;
  gssize n_read;

  memset (ranges, 0, n * sizeof *ranges);
  while (search.n_found < n && n_done < MAX_FILE_SIZE
         && (n_read = pread (fd, text + size, PIECE_SIZE - size, (off_t) n_done)) > 0)
    {
      n_done += (gsize) n_read;
      size += (gsize) n_read;
      n_used = search_lines (&search, text, size);
      if (n_used == 0 && size == PIECE_SIZE)
        n_used = size;
      size -= n_used;
      memmove (text, text + n_used, size);
    }
  return search.n_found;
}

LuKallsyms *
lu_kallsyms_load (int fd_taken, GError **error)
{
  lu_autofd fd = fd_taken;
  g_autoptr (LuKallsyms) self = kallsyms_new ();

  if (parse_file (self, fd) < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("kernel symbols: %s"), g_strerror (errno));
      return NULL;
    }
  return finish (g_steal_pointer (&self), error);
}

void
lu_kallsyms_free (LuKallsyms *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->entries);
  g_byte_array_unref (self->strings);
  g_free (self);
}

guint
lu_kallsyms_size (const LuKallsyms *self)
{
  return self->entries->len;
}

static guint64
entry_end (const LuKallsyms *self, guint index)
{
  guint64 address = g_array_index (self->entries, Entry, index).address;

  if (index + 1 < self->entries->len)
    return g_array_index (self->entries, Entry, index + 1).address;
  return address > G_MAXUINT64 - LAST_SIZE ? G_MAXUINT64 : address + LAST_SIZE;
}

gboolean
lu_kallsyms_find (const LuKallsyms *self, guint64 address, LuKernelSymbol *symbol)
{
  guint low = 0, high = self != NULL ? self->entries->len : 0;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->entries, Entry, middle).address <= address)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == 0 || address >= entry_end (self, low - 1))
    return FALSE;
  lu_kallsyms_get (self, low - 1, symbol);
  return TRUE;
}

void
lu_kallsyms_get (const LuKallsyms *self, guint index, LuKernelSymbol *symbol)
{
  const Entry *entry = &g_array_index (self->entries, Entry, index);
  const char *name = (const char *) self->strings->data + entry->text;
  const char *module = name + strlen (name) + 1;

  *symbol = (LuKernelSymbol){ .address = entry->address,
                              .end = entry_end (self, index),
                              .type = (char) entry->type,
                              .name = name,
                              .module = module[0] != 0 ? module : NULL };
}

void
lu_kallsyms_append_line (GString *text, const LuKernelSymbol *symbol)
{
  /* printf() would allocate memory. */
  char head[] = "................ . ";
  guint64 big_endian = GUINT64_TO_BE (symbol->address);

  *lu_hex_write (head, (const guint8 *) &big_endian, sizeof big_endian) = ' ';
  head[17] = symbol->type;
  g_string_append_len (text, head, sizeof head - 1);
  g_string_append (text, symbol->name);
  if (symbol->module != NULL)
    {
      g_string_append_c (text, '\t');
      g_string_append (text, symbol->module);
    }
  g_string_append_c (text, '\n');
}

struct _LuKallsymsFile
{
  gatomicrefcount references;
  int fd;               /* of the file until it is read; otherwise -1 */
  LuKallsyms *symbols;  /* owned; NULL before the file is read, or if it cannot be read */
  LuKallsymsCopy *copy; /* owned; NULL: none */
  LuKallsymsSave save;  /* NULL: no copy is wanted */
  gpointer save_data;
  char identity[LU_KALLSYMS_IDENTITY_SIZE]; /* of the copy that is wanted */
};

LuKallsymsFile *
lu_kallsyms_file_new (int fd, LuKallsyms *symbols)
{
  LuKallsymsFile *self = g_new0 (LuKallsymsFile, 1);

  g_atomic_ref_count_init (&self->references);
  self->fd = fd;
  self->symbols = symbols;
  return self;
}

LuKallsymsFile *
lu_kallsyms_file_open (void)
{
  int fd = lu_kallsyms_open ("/proc/kallsyms", NULL);

  return fd >= 0 ? lu_kallsyms_file_new (fd, NULL) : NULL;
}

LuKallsymsFile *
lu_kallsyms_file_ref (LuKallsymsFile *self)
{
  g_atomic_ref_count_inc (&self->references);
  return self;
}

void
lu_kallsyms_file_unref (LuKallsymsFile *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->references))
    return;
  lu_fd_clear (&self->fd);
  lu_kallsyms_free (self->symbols);
  lu_kallsyms_copy_free (self->copy);
  g_free (self);
}

void
lu_kallsyms_file_set_copy (LuKallsymsFile *self, int copy_fd_taken, LuKallsymsSave save,
                           gpointer user_data)
{
  lu_autofd copy_fd = copy_fd_taken;

  if (self->fd < 0 || !lu_kallsyms_identity (self->fd, self->identity))
    return;
  self->copy = lu_kallsyms_copy_new (lu_fd_steal (&copy_fd), self->identity);
  self->save = self->copy == NULL ? save : NULL;
  self->save_data = user_data;
}

static void
save_copy (const LuKallsymsFile *self)
{
  g_autoptr (GString) text = lu_kallsyms_copy_text (self->symbols, self->identity);

  self->save (text->str, text->len, self->save_data);
}

const LuKallsyms *
lu_kallsyms_file_load (LuKallsymsFile *self)
{
  g_autoptr (GError) error = NULL;

  if (self->fd < 0)
    return self->symbols;
  self->symbols = lu_kallsyms_load (lu_fd_steal (&self->fd), &error);
  if (self->symbols == NULL)
    g_debug ("%s", error->message);
  else if (self->save != NULL)
    save_copy (self);
  return self->symbols;
}

gboolean
lu_kallsyms_file_find (LuKallsymsFile *self, guint64 address, LuKernelSymbol *symbol)
{
  return self != NULL
         && (lu_kallsyms_copy_find (self->copy, address, symbol)
             || lu_kallsyms_find (lu_kallsyms_file_load (self), address, symbol));
}

gboolean
lu_kallsyms_file_is_of (LuKallsymsFile *self, const char *release, const char *name,
                        guint64 address)
{
  const LuKallsyms *symbols;
  LuKernelSymbol symbol, first;
  struct utsname running;

  if (release == NULL || name == NULL || uname (&running) != 0
      || !g_str_equal (running.release, release))
    return FALSE;
  symbols = lu_kallsyms_file_load (self);
  if (!lu_kallsyms_find (symbols, address, &symbol) || symbol.address != address)
    return FALSE;
  lu_kallsyms_get (symbols, 0, &first);
  return symbol.address == first.address || g_str_equal (symbol.name, name);
}
