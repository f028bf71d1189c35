/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.c DIRECTORY [published] - runs the walker of the BPF program over all recorded samples
 * (tests/captures): each stack that it finishes equals the stored one, and it finishes enough of
 * them. Tables and mappings are laid out the simple way (image.h), or published as while recording.
 * Output is TAP. */

#include "../captures/samples.h"
#include "image.h"
#include "published.h"
#include "unwind/code-facts.h"
#include "user-walk.h"

#include <stdio.h>
#include <string.h>

#define MAX_PRINTED 5
/* percent of the stacks that the table engine completes */
#define MIN_PERCENT 90
/* the same for exceptions, whose last frames are left to the engines (landing-pad.h) */
#define MIN_PERCENT_THROWN 55

static guint n_tests, n_failed;
static const char *const reasons[] = {
#define X(NAME, key, title) key,
  LU_BPF_REASON_LIST (X)
#undef X
};

/* Returns the lines that are not comments. */
static GPtrArray *
read_lines (const char *path, GError **error)
{
  GPtrArray *kept = NULL;
  g_auto (GStrv) lines = NULL;
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, error))
    return NULL;
  kept = g_ptr_array_new_with_free_func (g_free);
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '#' && lines[i][0] != '\0')
      g_ptr_array_add (kept, g_strdup (lines[i]));
  return kept;
}

static void
report (const char *name, guint n_different, guint n_finished, guint n_complete,
        const guint *counts)
{
  guint least = g_str_equal (name, "cxx") ? MIN_PERCENT_THROWN : MIN_PERCENT;
  gboolean is_ok = n_different == 0 && n_finished * 100 >= n_complete * least;

  n_failed += !is_ok;
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    if (counts[i] > 0)
      printf ("# %s: %u\n", reasons[i], counts[i]);
  printf ("%s %u - %s: %u differ; %u of %u complete stacks finished\n", is_ok ? "ok" : "not ok",
          ++n_tests, name, n_different, n_finished, n_complete);
}

/* Uses the recorded calls: captures do not contain code. */
static int
call_before (void *space, uint64_t pc)
{
  const LuMapping *mapping = lu_address_space_find (space, pc - 1);
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);
  LuDwflMapping described;

  if (mapping == NULL)
    return LU_CALL_UNKNOWN;
  described = lu_dwfl_mapping_describe (mapping, arch);
  return (int) lu_code_call (NULL, 0, arch, &described, pc);
}

/* One of the two is set. */
typedef struct
{
  BpfImage *image;
  Published *published;
} Layout;

static gboolean
replay (Layout *layout, const char *directory, const char *name, GError **error)
{
  g_autofree char *samples = g_strdup_printf ("%s/%s.samples.gz", directory, name);
  g_autofree char *stacks = g_strdup_printf ("%s/%s.stacks", directory, name);
  g_autoptr (Recorded) recorded = recorded_read (samples, error);
  g_autoptr (GPtrArray) lines = recorded != NULL ? read_lines (stacks, error) : NULL;
  g_autofree struct lu_bpf_process *processes = NULL;
  g_autofree LuStack *stack = g_new (LuStack, 1);
  guint counts[LU_BPF_N_REASONS] = { 0 };
  guint n_complete = 0, n_different = 0;

  if (lines == NULL)
    return FALSE;
  processes = g_new0 (struct lu_bpf_process, recorded->spaces->len);
  for (guint i = 0; i < recorded->spaces->len; i++)
    if (layout->image != NULL)
      bpf_image_add_space (layout->image, recorded->spaces->pdata[i], 1, &processes[i]);
    else if (!published_add_space (layout->published, recorded->spaces->pdata[i], &processes[i]))
      printf ("# %s: space %u is not published\n", name, i);
  for (guint i = 0; i < recorded->samples->len && i < lines->len; i++)
    {
      const RecordedSample *sample = &g_array_index (recorded->samples, RecordedSample, i);
      const char *stored = lines->pdata[i];
      g_autofree char *line = NULL;

      user_set_calls (call_before, recorded->spaces->pdata[sample->space]);
      n_complete += g_str_has_prefix (stored, "complete ");
      counts[user_walk (&processes[sample->space], &sample->sample, stack)]++;
      if (stack->status != LU_STATUS_COMPLETE)
        continue;
      line = recorded_stack_to_text (recorded, sample->space, stack);
      if (strcmp (line, stored) != 0 && n_different++ < MAX_PRINTED)
        printf ("# %s %u\n#   stored %s\n#   now    %s\n", name, i, stored, line);
    }
  report (name, n_different, counts[LU_BPF_REASON_UNWOUND], n_complete, counts);
  return TRUE;
}

static gboolean
replay_directory (const char *directory, gboolean is_published, GError **error)
{
  struct lu_bpf_config config = { .max_frames = LU_BPF_MAX_FRAMES };
  BpfImage image = { .add_entry = user_add_entry,
                     .dictionary = user_dictionary (),
                     .modules = user_modules () };
  Layout layout = { .image = is_published ? NULL : &image };
  g_autoptr (GDir) dir = g_dir_open (directory, 0, error);
  gboolean is_ok = dir != NULL;
  const char *file;

  user_set_config (&config);
  if (is_published)
    layout.published =
        published_new (user_add_entry, NULL, user_dictionary (), user_modules (), NULL);
  else
    bpf_image_init (&image);
  while (is_ok && (file = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (file, ".samples.gz"))
      {
        g_autofree char *name = g_strndup (file, strlen (file) - strlen (".samples.gz"));

        is_ok = replay (&layout, directory, name, error);
      }
  if (is_published)
    published_free (layout.published);
  else
    bpf_image_clear (&image);
  return is_ok;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  gboolean is_published = argc == 3 && strcmp (argv[2], "published") == 0;

  if ((argc != 2 && !is_published) || !replay_directory (argv[1], is_published, &error))
    {
      printf ("Bail out! %s\n",
              error != NULL ? error->message : "usage: replay DIRECTORY [published]");
      return 1;
    }
  printf ("1..%u\n", n_tests);
  return n_failed == 0 && n_tests > 0 ? 0 : 1;
}
