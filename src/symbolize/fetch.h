/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch.h - the process that fetches files from debuginfod servers, and what is said to it.
 *
 * A process of its own, because a library that speaks HTTP and TLS has no place in one with
 * privileges, and because it can be ended whatever it waits for. It parses nothing of what it
 * fetches. One socket of packets (SOCK_SEQPACKET): a request is answered by any number of replies
 * that say how far it is, and a last one, with the file if there is one. When the other side of
 * the socket is closed it gives up. */

#pragma once

#include <glib.h>

/* Hexadecimal digits of a build-id, at most: 64 bytes. */
#define LU_FETCH_MAX_ID 128

typedef enum
{
  LU_FETCH_DEBUG_FILE, /* the separate one, with symbols and DWARF */
  LU_FETCH_PROGRAM,    /* the program or library itself */
} LuFetchKind;

typedef struct
{
  guint32 kind;    /* LuFetchKind */
  guint32 time_ms; /* to give up after */
  guint64 max_size;
  char build_id[LU_FETCH_MAX_ID + 1]; /* hexadecimal, ends in NUL */
} LuFetchRequest;

#define LU_FETCH_GOES_ON  (-1)
#define LU_FETCH_NO_CACHE (-2) /* there is no folder to put files into */

typedef struct
{
  gint32 code;         /* LU_FETCH_*, 0: the file comes with this, else an errno */
  guint64 done, total; /* bytes; total 0: no server has begun to send it */
} LuFetchReply;

/* With the file (borrowed), if fd is not -1. FALSE with errno set: nobody waits for it. */
gboolean lu_fetch_send_reply (int socket_fd, const LuFetchReply *reply, int fd);
/* FALSE: the other side is gone, or talks nonsense. *fd: -1, or owned. */
gboolean lu_fetch_receive_reply (int socket_fd, LuFetchReply *reply, int *fd);

/* Whether this build can. */
gboolean lu_fetch_is_built_in (void);
/* Whether it finds its library on this system; loads it. */
gboolean lu_fetch_has_library (void);
/* Answers requests from the socket (borrowed) until it is closed. DEBUGINFOD_URLS and the cache are
 * those of the environment. */
void lu_fetch_serve (int fd);
