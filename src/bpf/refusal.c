/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* refusal.c - see refusal.h. */

#include "bpf/refusal.h"

#include "base/error.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>

#define LOG_BEGINS "-- BEGIN PROG LOAD LOG --\n"
#define LOG_ENDS   "-- END PROG LOAD LOG --"

/* Lines after the reason, with figures. */
static const char *const figures[] = { "processed ", "verification time ", "stack depth " };

static gboolean
is_figures (const char *line)
{
  for (guint i = 0; i < G_N_ELEMENTS (figures); i++)
    if (g_str_has_prefix (line, figures[i]))
      return TRUE;
  return line[0] == '\0';
}

/* Copies the last line of the log that is not about figures. */
static void
keep_reason (LuBpfRefusal *self, const char *log)
{
  const char *ends = strstr (log, LOG_ENDS);
  const char *line, *end = ends != NULL ? ends : log + strlen (log);

  self->words[0] = '\0';
  while (end > log)
    {
      for (line = end - 1; line > log && line[-1] != '\n'; line--)
        ;
      g_strlcpy (self->words, line, MIN ((gsize) (end - line) + 1, sizeof self->words));
      g_strstrip (self->words);
      if (!is_figures (self->words))
        return;
      end = line;
    }
  self->words[0] = '\0';
}

void
lu_bpf_refusal_note (LuBpfRefusal *self, const char *warning)
{
  const char *log = strstr (warning, LOG_BEGINS);

  if (log != NULL)
    {
      self->by_verifier = TRUE;
      keep_reason (self, log + strlen (LOG_BEGINS));
      return;
    }
  if (self->by_verifier)
    return; /* "failed to load": the log has said why */
  g_strlcpy (self->words, warning, sizeof self->words);
  g_strchomp (self->words);
}

GError *
lu_bpf_refusal_to_error (const LuBpfRefusal *self, int error_number)
{
  if (self->by_verifier)
    return g_error_new (LU_ERROR, LU_ERROR_REFUSED,
                        _ ("the kernel's verifier refused the BPF program: %s (%s)"),
                        g_strerror (error_number), self->words);
  return g_error_new (LU_ERROR, error_number == EPERM ? LU_ERROR_PERMISSION : LU_ERROR_UNSUPPORTED,
                      _ ("cannot load the BPF program: %s (%s)"), g_strerror (error_number),
                      self->words);
}
