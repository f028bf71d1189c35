/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-waiting-files.c - in which order files that wait are opened. */

#include "record/waiting-files.h"

#define N_FILES 6
#define HOG     1

typedef struct
{
  LuModule *modules[N_FILES];
  GString *order; /* a letter for each file */
  guint n_left;   /* files that there is time for */
} Fixture;

static gboolean
open_file (gpointer data, const LuOpenMessage *message)
{
  Fixture *self = data;
  guint i = 0;

  if (self->n_left == 0)
    return FALSE;
  self->n_left--;
  while (self->modules[i] != message->module)
    i++;
  g_string_append_c (self->order, (char) ('a' + i));
  return TRUE;
}

/* Files a to d are of one process, e and f of two others; d and f were sampled. */
static LuWaitingFiles *
set_up (Fixture *self)
{
  static const gint32 pids[N_FILES] = { HOG, HOG, HOG, HOG, 2, 3 };
  LuWaitingFiles *files = lu_waiting_files_new ();

  *self = (Fixture){ .order = g_string_new (NULL) };
  g_assert_true (lu_waiting_files_is_empty (files));
  for (guint i = 0; i < N_FILES; i++)
    {
      g_autofree char *path = g_strdup_printf ("/%u", i);
      const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = path };

      self->modules[i] = lu_module_new (&key);
      lu_waiting_files_add (
          files,
          &(LuOpenMessage){ .kind = LU_MESSAGE_OPEN, .pid = pids[i], .module = self->modules[i] });
    }
  for (guint i = 0; i < 3; i++)
    lu_waiting_files_note_sample (files, self->modules[3]);
  for (guint i = 0; i < 4; i++)
    lu_waiting_files_note_sample (files, self->modules[5]);
  return files;
}

static void
tear_down (Fixture *self)
{
  for (guint i = 0; i < N_FILES; i++)
    lu_module_unref (self->modules[i]);
  g_string_free (self->order, TRUE);
}

static void
test_all (void)
{
  Fixture self;
  g_autoptr (LuWaitingFiles) files = set_up (&self);

  self.n_left = N_FILES;
  lu_waiting_files_try (files, open_file, &self);
  g_assert_cmpstr (self.order->str, ==, "fdeabc");
  g_assert_true (lu_waiting_files_is_empty (files));
  tear_down (&self);
}

static void
test_one_at_a_time (void)
{
  Fixture self;
  g_autoptr (LuWaitingFiles) files = set_up (&self);

  for (guint i = 0; i < 3; i++)
    {
      self.n_left = 1;
      lu_waiting_files_try (files, open_file, &self);
    }
  /* One that comes later is first: its process has had nothing yet. */
  lu_waiting_files_add (
      files, &(LuOpenMessage){ .kind = LU_MESSAGE_OPEN, .pid = 4, .module = self.modules[5] });
  self.n_left = 2;
  lu_waiting_files_try (files, open_file, &self);
  g_assert_cmpstr (self.order->str, ==, "fdefa");
  g_assert_false (lu_waiting_files_is_empty (files));
  tear_down (&self);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/waiting-files/all", test_all);
  g_test_add_func ("/waiting-files/one at a time", test_one_at_a_time);
  return g_test_run ();
}
