/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* print-layout.c - prints what is recognized in a file with CPython, as python-layout.c prints what
 * its headers say; then the ranges of the evaluation function, as "range 0x1000 0x2000". */

#include "interp/interp.h"

#include <fcntl.h>
#include <stdio.h>

#define PRINT(field) printf (#field " %u\n", python->field)

static void
print (const LuInterp *interp)
{
  const struct lu_python_layout *python = &interp->file.python;

  printf ("version %u\n", interp->file.version & 0xffff00);
  PRINT (interpreters_head);
  PRINT (interp_next);
  PRINT (interp_threads);
  PRINT (thread_next);
  PRINT (thread_id);
  PRINT (thread_frame);
  PRINT (cframe_frame);
  PRINT (frame_code);
  PRINT (frame_instr);
  PRINT (frame_previous);
  PRINT (frame_entry);
  PRINT (entry_owner);
  PRINT (code_filename);
  PRINT (code_name);
  PRINT (code_bytes);
  PRINT (code_lines);
  PRINT (code_firstlineno);
  PRINT (code_argcount);
  PRINT (code_flags);
  PRINT (text_length);
  PRINT (text_state);
  PRINT (text_ascii);
  PRINT (text_compact);
  PRINT (bytes_size);
  PRINT (bytes_data);
  PRINT (frame_copy);
  PRINT (code_copies);
  PRINT (object_type);
  PRINT (generator_frame);
  PRINT (generator_state);
  PRINT (frame_stack);
  PRINT (set_used);
  PRINT (set_table);
  PRINT (set_mask);
  PRINT (first_suspended);
  PRINT (n_suspended);
  for (guint i = 0; i < interp->n_ranges; i++)
    printf ("range 0x%" G_GINT64_MODIFIER "x 0x%" G_GINT64_MODIFIER "x\n", interp->ranges[i].start,
            interp->ranges[i].end);
  printf ("handlers %d\n", interp->has_handlers);
}

int
main (int argc, char **argv)
{
  int fd = argc == 2 ? open (argv[1], O_RDONLY | O_CLOEXEC) : -1;
  g_autofree LuInterp *interp = fd >= 0 ? lu_interp_recognize (argv[1], fd) : NULL;
  g_autofree char *unknown = lu_interp_unknown_versions ();

  if (interp == NULL)
    {
      printf ("none%s%s\n", unknown != NULL ? ": " : "", unknown != NULL ? unknown : "");
      return 1;
    }
  print (interp);
  return 0;
}
