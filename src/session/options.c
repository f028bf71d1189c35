/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* options.c - the choices of one recording; see options.h. */

#include "options.h"

void
lu_options_clear (LuOptions *self)
{
  g_strfreev (self->command);
  g_strfreev (self->names);
  if (self->pids != NULL)
    g_array_unref (self->pids);
  if (self->tids != NULL)
    g_array_unref (self->tids);
  if (self->helper.events != NULL)
    g_array_unref (self->helper.events);
  g_free (self->input);
  g_strfreev (self->outputs);
  g_free (self->command_line);
}
