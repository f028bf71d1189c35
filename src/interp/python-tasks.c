/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python-tasks.c - recognizes where CPython's asyncio has its tasks; see python-tasks.h. */

#include "interp/python-tasks.h"

#include "interp/file-symbols.h"

#include <string.h>

#define SECTION ".AsyncioDebug"

/* Its words: offsets in TaskObj, in the state of an interpreter, and in that of a thread. */
enum
{
  TASK_SIZE,
  TASK_NAME,
  TASK_AWAITED_BY,
  TASK_IS_TASK,
  TASK_IS_SET,
  TASK_COROUTINE,
  TASK_NODE,
  INTERP_SIZE,
  INTERP_TASKS,
  THREAD_SIZE,
  THREAD_LOOP,
  THREAD_TASK,
  THREAD_TASKS,
  N_WORDS
};

gboolean
lu_python_tasks_read (const LuInterpInput *file, struct lu_python_tasks *tasks)
{
  gsize size;
  g_autofree char *bytes = lu_file_section_read (file, SECTION, &size);
  guint64 words[N_WORDS];

  if (bytes == NULL || size != sizeof words)
    return FALSE;
  memcpy (words, bytes, sizeof words);
  for (guint i = TASK_AWAITED_BY; i <= TASK_COROUTINE; i++)
    if (words[i] > words[TASK_SIZE])
      return FALSE;
  if (words[TASK_SIZE] > G_MAXINT16 || words[THREAD_TASK] > G_MAXINT16)
    return FALSE;
  *tasks = (struct lu_python_tasks){ .thread_task = (guint16) words[THREAD_TASK],
                                     .awaited_by = (guint16) words[TASK_AWAITED_BY],
                                     .is_task = (guint16) words[TASK_IS_TASK],
                                     .is_set = (guint16) words[TASK_IS_SET],
                                     .coroutine = (guint16) words[TASK_COROUTINE] };
  tasks->bytes =
      MAX (MAX (tasks->awaited_by, tasks->coroutine), MAX (tasks->is_task, tasks->is_set))
      + sizeof (guint64);
  return TRUE;
}

static LuInterpOutcome
recognize (const LuInterpInput *file, LuInterp *interp)
{
  if (!lu_python_tasks_read (file, &interp->file.tasks))
    return LU_INTERP_ABSENT;
  interp->file.language = LU_INTERP_TASKS;
  return LU_INTERP_FOUND;
}

const LuLanguage lu_language_tasks = {
  .name = "asyncio", .section = SECTION, .part = "_asyncio.", .recognize = recognize
};
