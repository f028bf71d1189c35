/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.c - the functions of a model that grows; see names.h. */

#include "names.h"

#include "symbolize/kallsyms.h"
#include "symbolize/short-name.h"

#include <glib/gi18n.h>

/* Microseconds of reading files: at first, per second, and saved up at most. */
#define FIRST_TIME      1000000
#define TIME_PER_SECOND 5000
#define MAX_SAVED       200000
/* The first pause after which names of generated code are looked for again; it doubles. */
#define FIRST_PAUSE G_USEC_PER_SEC

typedef struct
{
  guint64 start, end;
  guint32 function;
} Range;

/* Where addresses wait for names: a file, or the generated code of a process. */
typedef struct
{
  guint32 module; /* number in the model; G_MAXUINT32: generated code */
  guint32 function;
  GArray *ranges;  /* of Range, sorted */
  GArray *waiting; /* of guint32: frames */
  gint64 next_us, pause_us;
} Place;

struct _LuTopNames
{
  gboolean full_names;
  LuNamerProgress progress;
  gpointer user_data;
  const LuModel *model;
  guint generation;
  GArray *of_frame;      /* of guint32 */
  GArray *functions;     /* of LuTopFunction; 0 is none */
  GHashTable *numbers;   /* "module\nidentity\nname" -> number */
  GPtrArray *places;     /* of Place, owned */
  GHashTable *place_of;  /* "f" module, or "p" pid -> number + 1 */
  LuKallsyms *kallsyms;  /* NULL: none yet */
  gsize kallsyms_size;   /* of the text that it was made from */
  guint32 kernel;        /* the function of code of the kernel without a name */
  gint64 left_us, at_us; /* what reading may cost, and when that was said */
};

static void
function_clear (gpointer pointer)
{
  g_free (((LuTopFunction *) pointer)->name);
}

static void
place_free (gpointer pointer)
{
  Place *self = pointer;

  g_array_unref (self->ranges);
  g_array_unref (self->waiting);
  g_free (self);
}

static void
clear (LuTopNames *self)
{
  g_clear_pointer (&self->of_frame, g_array_unref);
  g_clear_pointer (&self->functions, g_array_unref);
  g_clear_pointer (&self->numbers, g_hash_table_unref);
  g_clear_pointer (&self->places, g_ptr_array_unref);
  g_clear_pointer (&self->place_of, g_hash_table_unref);
  g_clear_pointer (&self->kallsyms, lu_kallsyms_free);
}

static void
begin (LuTopNames *self)
{
  LuTopFunction none = { .module = "" };

  self->of_frame = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->functions = g_array_new (FALSE, FALSE, sizeof (LuTopFunction));
  g_array_set_clear_func (self->functions, function_clear);
  g_array_append_val (self->functions, none);
  self->numbers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->places = g_ptr_array_new_with_free_func (place_free);
  self->place_of = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->kallsyms_size = 0;
  self->kernel = 0;
  self->left_us = FIRST_TIME;
  self->at_us = g_get_monotonic_time ();
}

LuTopNames *
lu_top_names_new (gboolean full_names, LuNamerProgress progress, gpointer user_data)
{
  LuTopNames *self = g_new0 (LuTopNames, 1);

  self->full_names = full_names;
  self->progress = progress;
  self->user_data = user_data;
  begin (self);
  return self;
}

void
lu_top_names_free (LuTopNames *self)
{
  if (self == NULL)
    return;
  clear (self);
  g_free (self);
}

static const LuModelModule *
module_of (const LuTopNames *self, guint32 number)
{
  return number != G_MAXUINT32 ? g_ptr_array_index (self->model->modules, number) : NULL;
}

static guint32
add_function (LuTopNames *self, char *name_taken, const char *module)
{
  LuTopFunction function = { .name = name_taken, .module = module };

  g_array_append_val (self->functions, function);
  return self->functions->len - 1;
}

/* Returns the function with that name and identity in a file. Names are shortened, except in the
 * kernel and in generated code. */
static guint32
get_function (LuTopNames *self, const char *name, const LuModelModule *module,
              const char *module_name, guint64 identity)
{
  const LuFileId *id = module != NULL ? module->id : NULL;
  g_autofree char *key =
      g_strdup_printf ("%s\n%s\n%s\n%" G_GINT64_MODIFIER "x\n%s", module_name,
                       id != NULL && id->build_id != NULL ? id->build_id : "",
                       id != NULL && id->digest != NULL ? id->digest : "", identity, name);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->numbers, key));

  if (number > 0)
    return number;
  number = add_function (
      self, module != NULL && !self->full_names ? lu_short_name (name) : g_strdup (name),
      g_intern_string (module_name));
  g_hash_table_insert (self->numbers, g_steal_pointer (&key), GUINT_TO_POINTER (number));
  return number;
}

/* The kernel */

static guint32
kernel_function (LuTopNames *self, guint64 address)
{
  LuKernelSymbol symbol;

  if (lu_kallsyms_find (self->kallsyms, address, &symbol))
    return get_function (self, symbol.name, NULL, symbol.module != NULL ? symbol.module : "kernel",
                         symbol.address);
  if (self->kernel == 0)
    self->kernel = add_function (self, g_strdup ("(kernel)"), "");
  return self->kernel;
}

/* Names of the kernel come with the stream, after the samples that need them. */
static void
read_kallsyms (LuTopNames *self)
{
  const GString *text = self->model->kallsyms;

  if (text->len == self->kallsyms_size)
    return;
  g_clear_pointer (&self->kallsyms, lu_kallsyms_free);
  self->kallsyms = lu_kallsyms_parse (text->str, text->len, NULL);
  self->kallsyms_size = text->len;
  for (guint i = 0; i < self->of_frame->len; i++)
    if (self->kernel > 0 && g_array_index (self->of_frame, guint32, i) == self->kernel)
      g_array_index (self->of_frame, guint32, i) =
          kernel_function (self, lu_model_frame (self->model, i)->address);
}

/* Files and generated code */

static char *
waiting_text (const LuTopNames *self, const LuModelFrame *frame)
{
  const LuModelModule *module = module_of (self, frame->module);

  if (frame->kind == LU_CODE_USER)
    return g_strdup_printf (_ ("(no names yet in %s)"), module->base_name);
  return g_strdup_printf (_ ("(generated code of process %d)"), frame->pid);
}

static Place *
get_place (LuTopNames *self, const LuModelFrame *frame)
{
  gboolean is_file = frame->kind == LU_CODE_USER;
  gint64 key = is_file ? (gint64) frame->module : (gint64) frame->pid | G_GINT64_CONSTANT (1) << 40;
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->place_of, &key));
  Place *place;

  if (number > 0)
    return g_ptr_array_index (self->places, number - 1);
  place = g_new0 (Place, 1);
  place->module = is_file ? frame->module : G_MAXUINT32;
  place->ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  place->waiting = g_array_new (FALSE, FALSE, sizeof (guint32));
  place->pause_us = FIRST_PAUSE;
  place->function = add_function (self, waiting_text (self, frame), "");
  g_ptr_array_add (self->places, place);
  g_hash_table_insert (self->place_of, g_memdup2 (&key, sizeof key),
                       GUINT_TO_POINTER (self->places->len));
  return place;
}

/* Returns the function whose range has the offset; 0: none is known. */
static guint32
find_range (const Place *place, guint64 offset)
{
  guint low = 0, high = place->ranges->len;
  const Range *range;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (place->ranges, Range, middle).start <= offset)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == 0)
    return 0;
  range = &g_array_index (place->ranges, Range, low - 1);
  return offset < range->end ? range->function : 0;
}

static guint64
offset_of (const LuModelFrame *frame)
{
  return frame->kind == LU_CODE_USER ? frame->file_offset : frame->address;
}

/* Names of interpreters' functions come before the first sample that has them. */
static guint32
interpreted_function (LuTopNames *self, guint64 address)
{
  LuModelInterpreted found = lu_model_interpreted (self->model, address);

  return get_function (self, found.name != NULL ? found.name : "[unknown]", NULL, "[interpreted]",
                       lu_model_interpreted_identity (&found));
}

static guint32
function_of (LuTopNames *self, guint32 number)
{
  const LuModelFrame *frame = lu_model_frame (self->model, number);
  Place *place;
  guint32 function;

  if (frame->kind == LU_CODE_STATE)
    return 0;
  if (frame->kind == LU_CODE_KERNEL)
    return kernel_function (self, frame->address);
  if (frame->kind == LU_CODE_FUNCTION)
    return interpreted_function (self, frame->address);
  place = get_place (self, frame);
  function = find_range (place, offset_of (frame));
  if (function > 0)
    return function;
  g_array_append_val (place->waiting, number);
  return place->function;
}

void
lu_top_names_update (LuTopNames *self, const LuModel *model, guint generation)
{
  self->model = model;
  if (generation != self->generation)
    {
      clear (self);
      begin (self);
      self->generation = generation;
    }
  read_kallsyms (self);
  for (guint32 i = self->of_frame->len; i < model->frames->len; i++)
    {
      guint32 function = function_of (self, i);

      g_array_append_val (self->of_frame, function);
    }
}

static int
compare_ranges (gconstpointer a, gconstpointer b)
{
  const Range *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

/* last: the answer before it, or NULL. */
static void
take_answer (LuTopNames *self, Place *place, const LuNameQuery *answer, const LuNameQuery *last)
{
  const LuModelModule *module = module_of (self, place->module);
  const char *module_name = module != NULL ? module->base_name : "[generated]";
  guint64 identity = module == NULL ? 0 : answer->has_symbol ? answer->beginning : answer->start;
  Range range = { .start = answer->start, .end = answer->end };

  if (answer->name == NULL)
    {
      g_array_append_val (place->waiting, answer->number);
      return;
    }
  range.function =
      get_function (self, answer->name, answer->has_symbol ? module : NULL, module_name, identity);
  g_array_index (self->of_frame, guint32, answer->number) = range.function;
  if (last == NULL || last->start != answer->start)
    g_array_append_val (place->ranges, range);
}

/* Looks for the names of everything that waits there. */
static void
read_names (LuTopNames *self, Place *place)
{
  g_autoptr (LuNamer) namer = lu_namer_new (self->model->jitdumps);
  const LuModelModule *module = module_of (self, place->module);
  const LuNamerOptions options = { .progress = self->progress, .progress_data = self->user_data };
  const LuNameQuery *answers;
  guint n_answers;

  if (module != NULL)
    lu_namer_add_file (namer, &module->mapped);
  for (guint i = 0; i < place->waiting->len; i++)
    {
      guint32 number = g_array_index (place->waiting, guint32, i);
      const LuModelFrame *frame = lu_model_frame (self->model, number);
      const LuGeneratedQuery query = { frame->pid, frame->address, (guint64) frame->time };

      if (module != NULL)
        lu_namer_add (namer, 0, frame->file_offset, number);
      else
        lu_namer_add_generated (namer, &query, number);
    }
  g_array_set_size (place->waiting, 0);
  lu_namer_run (namer, &options);
  answers = lu_namer_answers (namer, &n_answers);
  for (guint i = 0; i < n_answers; i++)
    take_answer (self, place, &answers[i], i > 0 ? &answers[i - 1] : NULL);
  g_array_sort (place->ranges, compare_ranges);
  place->pause_us = MIN (place->pause_us * 2, 60 * FIRST_PAUSE);
  place->next_us = place->waiting->len > 0 ? g_get_monotonic_time () + place->pause_us : 0;
}

/* Returns the place with the most samples that wait; NULL: nothing waits. */
static Place *
find_busiest (const LuTopNames *self, const guint64 *totals, gint64 now)
{
  Place *best = NULL;

  for (guint i = 0; i < self->places->len; i++)
    {
      Place *place = g_ptr_array_index (self->places, i);

      if (place->waiting->len > 0 && place->next_us <= now && totals[place->function] > 0
          && (best == NULL || totals[place->function] > totals[best->function]))
        best = place;
    }
  return best;
}

guint64
lu_top_names_run (LuTopNames *self, const guint64 *totals)
{
  gint64 now = g_get_monotonic_time ();
  guint64 n_samples = 0;
  Place *place;

  if (self->left_us < MAX_SAVED)
    self->left_us =
        MIN (self->left_us + (now - self->at_us) * TIME_PER_SECOND / G_USEC_PER_SEC, MAX_SAVED);
  self->at_us = now;
  while (self->left_us > 0 && (place = find_busiest (self, totals, now)) != NULL)
    {
      gint64 before = g_get_monotonic_time ();

      n_samples += totals[place->function];
      read_names (self, place);
      self->left_us -= g_get_monotonic_time () - before;
    }
  return n_samples;
}

guint
lu_top_names_n_functions (const LuTopNames *self)
{
  return self->functions->len - 1;
}

const LuTopFunction *
lu_top_names_function (const LuTopNames *self, guint32 function)
{
  return &g_array_index (self->functions, LuTopFunction, function);
}

guint32
lu_top_names_of_frame (const LuTopNames *self, guint32 frame)
{
  return g_array_index (self->of_frame, guint32, frame);
}
