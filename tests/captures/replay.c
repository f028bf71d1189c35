/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.c [--allowed FILE] DIRECTORY - unwinds all recorded samples with every engine and compares
 * them line by line with the stored stacks: dwfl, table, check (which must report nothing), and the
 * contract headers alone (alone.h), which must be right where they reach the end.
 *
 * `replay --write DIRECTORY` rewrites the .stacks files, using dwfl; the reviewer of the change
 * judges the differences. Output is TAP. */

#include "alone.h"
#include "samples.h"

#include "table/table.h"
#include "unwind/check.h"
#include "unwind/dwfl-address-space.h"

#include <stdio.h>
#include <string.h>

#define MAX_PRINTED 5

/* The share of the samples completed by dwfl that alone.c must finish; it has no second engine. */
#define MIN_ALONE_PERCENT 90

typedef struct
{
  const char *name;
  Recorded *recorded;
  char **stacks;       /* the stored lines, one for each sample; borrowed */
  GHashTable *allowed; /* set of "NAME NUMBER ENGINE" */
  guint n_allowed;
} Capture;

static guint n_tests, n_failed;

static void
report (gboolean is_ok, const Capture *capture, const char *engine, const char *text)
{
  n_failed += !is_ok;
  printf ("%s %u - %s by %s: %s\n", is_ok ? "ok" : "not ok", ++n_tests, capture->name, engine,
          text);
}

static gboolean
is_allowed (Capture *self, guint sample, const char *engine)
{
  g_autofree char *key = g_strdup_printf ("%s %u %s", self->name, sample, engine);
  gboolean is_listed = g_hash_table_contains (self->allowed, key);

  self->n_allowed += is_listed;
  return is_listed;
}

static const RecordedSample *
sample_at (const Capture *self, guint i)
{
  return &g_array_index (self->recorded->samples, RecordedSample, i);
}

/* The engines of the program */

static guint
count_different (Capture *self, LuUnwinder *unwinder, const char *engine)
{
  g_autofree LuStack *stack = g_new (LuStack, 1);
  guint n = 0;

  for (guint i = 0; i < self->recorded->samples->len; i++)
    {
      const RecordedSample *recorded = sample_at (self, i);
      g_autofree char *line = NULL;

      lu_stack_reset (stack);
      unwinder->ops->unwind (
          unwinder,
          &(LuUnwindRequest){ .sample = &recorded->sample,
                              .space = self->recorded->spaces->pdata[recorded->space] },
          stack);
      line = recorded_stack_to_text (self->recorded, recorded->space, stack);
      if (strcmp (line, self->stacks[i]) == 0 || is_allowed (self, i, engine))
        continue;
      if (n++ < MAX_PRINTED)
        printf ("# %s %u %s\n#   stored %s\n#   now    %s\n", self->name, i, engine,
                self->stacks[i], line);
    }
  return n;
}

static void
test_engine (Capture *self, const LuUnwinderOps *ops)
{
  g_autoptr (LuUnwinder) unwinder = ops->new (NULL);
  guint n = count_different (self, unwinder, ops->name);
  g_autofree char *text =
      g_strdup_printf ("%u of %u samples differ", n, self->recorded->samples->len);

  report (n == 0, self, ops->name, text);
}

static void
print_difference (const LuDifference *difference, gpointer user_data)
{
  g_auto (GStrv) lines = g_strsplit (difference->report, "\n", -1);

  for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
    printf ("# %s\n", lines[i]);
}

static void
test_check (Capture *self)
{
  g_autoptr (LuUnwinder) unwinder = lu_check_new (
      lu_unwinder_dwfl.new(NULL), lu_unwinder_table.new(NULL), print_difference, NULL);
  g_autofree char *text = NULL;
  guint64 n_differ;
  guint n_allowed = self->n_allowed;
  guint n = count_different (self, unwinder, "check");

  n_allowed = self->n_allowed - n_allowed;
  n_differ = lu_counters_get (&unwinder->counters, LU_COUNTER_FRAMES_DIFFER)
             + lu_counters_get (&unwinder->counters, LU_COUNTER_STATES_DIFFER);
  text = g_strdup_printf ("%u differ from what is stored, %" G_GUINT64_FORMAT
                          " of the engines from each other, %u are allowed",
                          n, n_differ, n_allowed);
  report (n == 0 && n_differ == n_allowed, self, "check", text);
}

/* The contract headers alone */

typedef struct
{
  GHashTable *tables; /* LuModule -> LuTable */
  GArray *mappings;   /* of struct alone_mapping: those of one space */
} Alone;

static void
free_table (gpointer table)
{
  lu_table_unref (table);
}

static const LuTable *
table_of (Alone *self, LuModule *module)
{
  LuTable *table = g_hash_table_lookup (self->tables, module);
  LuImage *image = lu_module_image (module);
  g_autoptr (LuCfi) cfi = NULL;

  if (table != NULL || image == NULL)
    return table;
  cfi = lu_cfi_new_for_image (image);
  table = cfi != NULL ? lu_table_new (cfi) : NULL;
  if (table != NULL)
    g_hash_table_insert (self->tables, module, table);
  return table;
}

static void
set_space (Alone *self, LuAddressSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  g_array_set_size (self->mappings, 0);
  for (guint i = 0; i < n; i++)
    {
      struct alone_mapping mapping = { .start = mappings[i].start, .end = mappings[i].end };
      const LuTable *table = table_of (self, mappings[i].module);

      mapping.bias = lu_dwfl_mapping_describe (&mappings[i], lu_arch_of_abi (LU_ABI_64)).bias;
      if (table != NULL)
        {
          guint64 entry = lu_image_entry (lu_module_image (mappings[i].module));

          mapping.rows = table->rows;
          mapping.rules = table->rules;
          if (entry != 0 && lu_table_find (table, entry)->cfa_kind == LU_CFA_NONE
              && lu_module_key (mappings[i].module)->kind != LU_MODULE_VDSO)
            mapping.entry = entry + mapping.bias;
        }
      g_array_append_val (self->mappings, mapping);
    }
}

static void
walk_alone (Alone *self, const LuSample *from, LuStack *stack)
{
  g_autofree struct alone_stack *found = g_new (struct alone_stack, 1);
  struct alone_sample sample = { .stack = from->stack, .stack_size = from->stack_size };
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);

  lu_arch_read (&from->regs, arch->perf_pc, &sample.pc);
  lu_arch_read (&from->regs, arch->perf_sp, &sample.sp);
  for (int i = 0; i < 17; i++)
    lu_arch_read_dwarf (arch, &from->regs, i, &sample.registers[i]);
  sample.mappings = (const struct alone_mapping *) self->mappings->data;
  sample.n_mappings = self->mappings->len;
  lu_stack_reset (stack);
  if (!alone_walk (&sample, found))
    stack->status = LU_STATUS_UNSUPPORTED_RULE;
  for (guint i = 0; i < found->n; i++)
    lu_stack_push (stack, found->pcs[i], found->is_exact[i] ? 0 : LU_FRAME_RETURN_ADDRESS);
}

static void
test_alone (Capture *self)
{
  Alone alone = {
    .tables = g_hash_table_new_full (NULL, NULL, NULL, free_table),
    .mappings = g_array_new (FALSE, FALSE, sizeof (struct alone_mapping)),
  };
  g_autofree LuStack *stack = g_new (LuStack, 1);
  guint n_complete = 0, n_finished = 0, n_different = 0;
  g_autofree char *text = NULL;

  for (guint i = 0; i < self->recorded->samples->len; i++)
    {
      const RecordedSample *recorded = sample_at (self, i);
      g_autofree char *line = NULL;

      n_complete += g_str_has_prefix (self->stacks[i], "complete ")
                    && strchr (self->stacks[i], '~') == NULL; /* it takes no frame-pointer steps */
      set_space (&alone, self->recorded->spaces->pdata[recorded->space]);
      walk_alone (&alone, &recorded->sample, stack);
      if (stack->status != LU_STATUS_COMPLETE)
        continue;
      n_finished++;
      line = recorded_stack_to_text (self->recorded, recorded->space, stack);
      if (strcmp (line, self->stacks[i]) == 0 || is_allowed (self, i, "alone"))
        continue;
      n_different++;
      printf ("# %s %u alone\n#   stored %s\n#   now    %s\n", self->name, i, self->stacks[i],
              line);
    }
  text = g_strdup_printf ("%u differ; %u of %u complete stacks finished", n_different, n_finished,
                          n_complete);
  report (n_different == 0 && n_finished * 100 >= n_complete * MIN_ALONE_PERCENT, self,
          "the headers alone", text);
  g_hash_table_unref (alone.tables);
  g_array_unref (alone.mappings);
}

/* Files */

/* The lines that are not comments. */
static char **
read_lines (const char *path, GError **error)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) lines = NULL;
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, error))
    return NULL;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '#' && lines[i][0] != '\0')
      g_ptr_array_add (kept, g_strdup (lines[i]));
  g_ptr_array_add (kept, NULL);
  return (char **) g_ptr_array_steal (kept, NULL);
}

static gboolean
test_capture (const char *directory, const char *name, GHashTable *allowed, guint *n_allowed,
              GError **error)
{
  g_autofree char *samples = g_strdup_printf ("%s/%s.samples.gz", directory, name);
  g_autofree char *stacks = g_strdup_printf ("%s/%s.stacks", directory, name);
  g_autoptr (Recorded) recorded = recorded_read (samples, error);
  g_auto (GStrv) lines = recorded != NULL ? read_lines (stacks, error) : NULL;
  Capture capture = { .name = name, .recorded = recorded, .stacks = lines, .allowed = allowed };

  if (lines == NULL)
    return FALSE;
  if (g_strv_length (lines) != recorded->samples->len)
    {
      report (FALSE, &capture, "its files", "the numbers of samples and stacks differ");
      return TRUE;
    }
  test_engine (&capture, &lu_unwinder_dwfl);
  test_engine (&capture, &lu_unwinder_table);
  test_check (&capture);
  test_alone (&capture);
  *n_allowed += capture.n_allowed;
  return TRUE;
}

static gboolean
write_capture (const char *directory, const char *name, GError **error)
{
  g_autofree char *samples = g_strdup_printf ("%s/%s.samples.gz", directory, name);
  g_autofree char *stacks = g_strdup_printf ("%s/%s.stacks", directory, name);
  g_autoptr (Recorded) recorded = recorded_read (samples, error);
  g_autoptr (GString) text = recorded != NULL ? recorded_expectations (recorded) : NULL;

  return text != NULL && g_file_set_contents (stacks, text->str, (gssize) text->len, error);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The names of the captures, sorted. */
static GPtrArray *
list_captures (const char *directory)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".samples.gz"))
      g_ptr_array_add (names, g_strndup (name, strlen (name) - strlen (".samples.gz")));
  g_ptr_array_sort (names, compare_names);
  return names;
}

/* "NAME NUMBER,NUMBER ENGINE,ENGINE: reason" */
static void
allow_line (GHashTable *allowed, const char *line)
{
  g_auto (GStrv) parts = g_strsplit (line, ": ", 2);
  g_auto (GStrv) words = g_strsplit (parts[0], " ", 3);
  g_auto (GStrv) numbers = g_strsplit (g_strv_length (words) == 3 ? words[1] : "", ",", -1);
  g_auto (GStrv) engines = g_strsplit (g_strv_length (words) == 3 ? words[2] : "", ",", -1);

  for (guint i = 0; numbers[i] != NULL; i++)
    for (guint k = 0; engines[k] != NULL; k++)
      g_hash_table_add (allowed, g_strdup_printf ("%s %s %s", words[0], numbers[i], engines[k]));
}

static GHashTable *
read_allowed (const char *path)
{
  GHashTable *allowed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_auto (GStrv) lines = path != NULL ? read_lines (path, NULL) : NULL;

  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    allow_line (allowed, lines[i]);
  return allowed;
}

int
main (int argc, char **argv)
{
  gboolean write = argc > 1 && strcmp (argv[1], "--write") == 0;
  const char *allowed_path = argc > 3 && strcmp (argv[1], "--allowed") == 0 ? argv[2] : NULL;
  g_autoptr (GHashTable) allowed = read_allowed (allowed_path);
  g_autoptr (GPtrArray) names = argc > 1 ? list_captures (argv[argc - 1]) : NULL;
  g_autoptr (GError) error = NULL;
  guint n_allowed = 0;

  for (guint i = 0; names != NULL && i < names->len; i++)
    if (write ? !write_capture (argv[argc - 1], names->pdata[i], &error)
              : !test_capture (argv[argc - 1], names->pdata[i], allowed, &n_allowed, &error))
      {
        printf ("Bail out! %s\n", error->message);
        return 1;
      }
  if (write)
    return 0;
  printf ("# %u allowed differences seen\n", n_allowed);
  printf ("%sok %u - there are captures, and each allowed difference is one\n",
          n_tests > 0 && n_allowed == g_hash_table_size (allowed) ? "" : "not ", n_tests + 1);
  printf ("1..%u\n", n_tests + 1);
  return n_failed == 0 && n_tests > 0 && n_allowed == g_hash_table_size (allowed) ? 0 : 1;
}
