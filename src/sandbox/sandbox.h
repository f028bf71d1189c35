/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sandbox.h - gives up rights that are no longer needed: a recording's capabilities once it is set
 * up, nearly all system calls of a helper, and what commands that read recordings never need.
 * docs/sandbox.md tells what is kept and why. */

#pragma once

#include <glib.h>

/* Abilities that the rest of the recording needs. */
typedef enum
{
  LU_NEEDS_FILES = 1 << 0,     /* read files that mappings name */
  LU_NEEDS_PROCESSES = 1 << 1, /* read other processes in /proc */
  LU_NEEDS_EVENTS = 1 << 2,    /* open further perf events and map their rings */
  LU_NEEDS_COMMAND = 1 << 3,   /* pass signals on to COMMAND or to a recorder */
  LU_NEEDS_MAPS = 1 << 4,      /* create and fill maps of a loaded BPF program */
  LU_NEEDS_OUTPUTS = 1 << 5,   /* create files in another user's directory, for its owner */
} LuNeeds;

/* Drops all capabilities but the needed ones for good: empties the bounding set and sets
 * no_new_privs. It affects the calling thread, and threads created later inherit the result, so
 * call it before there are any. Without privilege it does what it can and succeeds. */
gboolean lu_sandbox_drop_capabilities (LuNeeds needs, GError **error);

/* Chooses the user that this process, if root started it, and those that it forks later become with
 * lu_sandbox_leave_root(): one whom nobody else is, and who owns nothing. Root stays where a file
 * system admits nobody else. */
void lu_sandbox_choose_user (void);
/* Becomes that user, if one was chosen and exists in the user namespace, but keeps all
 * capabilities; call lu_sandbox_drop_capabilities() next. It affects the calling thread, and
 * threads and processes created later inherit the result. Allocates nothing. */
void lu_sandbox_leave_root (void);

/* Makes the kernel refuse, in all threads and mostly with EPERM, every system call but those that
 * draining, unwinding and writing to open descriptors need, and with LU_NEEDS_MAPS those of bpf()
 * for maps. In particular, nothing can execute a program, create a process or socket, trace or
 * write to a process, open a file for writing, or make memory executable. Threads can still be
 * created. Sets no_new_privs. */
gboolean lu_sandbox_restrict_calls (LuNeeds needs, GError **error);

/* Makes the kernel refuse, in this thread and those that it starts, what a recorder that samples by
 * itself does not need: executing programs, creating sockets and namespaces, tracing and writing to
 * processes, opening files for writing and changing their names, making memory executable, and
 * bpf() except for maps. It may open files for reading and events, fork, and signal. A thread that
 * loads the BPF program starts earlier and is not affected. */
gboolean lu_sandbox_restrict_recorder (GError **error);

/* Restricts a command that reads recordings, before it reads the first one. It keeps
 * LU_NEEDS_FILES, and LU_NEEDS_OUTPUTS if there are `outputs`. Where the kernel has Landlock, files
 * are written only at `outputs`: paths of files and directories, NULL-terminated. Beyond what a
 * helper may call, it may fork, create and remove files, and handle signals; it cannot execute
 * programs, use sockets, trace processes or make memory executable. The calling thread must be the
 * only one.
 */
gboolean lu_sandbox_restrict_reader (const char *const *outputs, GError **error);

/* Restricts a process that shows a recording while it goes on: like a reader, but it also keeps
 * LU_NEEDS_PROCESSES and LU_NEEDS_COMMAND (the recorder is another user), and without Landlock,
 * which would hide the files of other processes. The calling thread must be the only one. */
gboolean lu_sandbox_restrict_viewer (GError **error);

/* Restricts this process to calls that read and write open descriptors and use memory. It suits a
 * process of one thread that parses hostile bytes with a library. Returns FALSE with errno set on
 * failure. */
gboolean lu_sandbox_restrict_parser (void);

/* Restricts this process to reading the memory of other processes on request: CAP_SYS_PTRACE, if it
 * has that, and calls that read and write open descriptors and read memory. Allocates nothing, so
 * that it may follow a fork() of a process with threads. Returns FALSE with errno set on failure.
 */
gboolean lu_sandbox_restrict_memory_reader (void);

/* Restricts the process of keeper.h to creating, renaming and removing files. It stays root's, with
 * CAP_DAC_OVERRIDE and CAP_CHOWN if `for_others`. Returns FALSE on failure. */
gboolean lu_sandbox_restrict_keeper (gboolean for_others);

/* Restricts this process to loading BPF programs and filling maps, with CAP_BPF and CAP_PERFMON if
 * it has them; it may open files for reading. Returns FALSE on failure. */
gboolean lu_sandbox_restrict_loader (void);
