/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch.h - the process that fetches files from debuginfod servers, and its protocol.
 *
 * It is a process of its own, because a library that speaks HTTP and TLS has no place in a process
 * with privileges, and because it can be killed at any time. It parses nothing of what it fetches.
 * The protocol uses one socket of packets (SOCK_SEQPACKET): each request is answered by any number
 * of progress replies and one last reply, with the file if there is one. The process
 * gives up when the other side closes the socket. */

#pragma once

#include <glib.h>

/* The largest number of hexadecimal digits of a build-id (64 bytes). */
#define LU_FETCH_MAX_ID 128

typedef enum
{
  LU_FETCH_DEBUG_FILE, /* the separate one, with symbols and DWARF */
  LU_FETCH_PROGRAM,    /* the program or library itself */
} LuFetchKind;

typedef struct
{
  guint32 kind;                       /* LuFetchKind */
  guint32 time_ms;                    /* milliseconds until it gives up */
  guint64 max_size;                   /* bytes */
  char build_id[LU_FETCH_MAX_ID + 1]; /* hexadecimal, ends in NUL */
} LuFetchRequest;

#define LU_FETCH_GOES_ON  (-1)
#define LU_FETCH_NO_CACHE (-2) /* there is no cache directory */

typedef struct
{
  gint32 code;         /* LU_FETCH_*, 0: the file comes with the reply, otherwise an errno */
  guint64 done, total; /* bytes; total 0: no server has begun to send it */
} LuFetchReply;

/* Sends a reply with the file (borrowed) unless fd is -1. FALSE with errno set if the other side is
 * gone. */
gboolean lu_fetch_send_reply (int socket_fd, const LuFetchReply *reply, int fd);
/* Receives a reply. *fd is owned by the caller, or -1. FALSE if the other side is gone, or if the
 * packet has the wrong size. */
gboolean lu_fetch_receive_reply (int socket_fd, LuFetchReply *reply, int *fd);

/* Tells whether this build can fetch files. */
gboolean lu_fetch_is_built_in (void);
/* Loads libdebuginfod; FALSE if this system does not have it. */
gboolean lu_fetch_has_library (void);
/* Answers requests from the socket (borrowed) until it is closed. The servers (DEBUGINFOD_URLS) and
 * the cache come from the environment. */
void lu_fetch_serve (int fd);
