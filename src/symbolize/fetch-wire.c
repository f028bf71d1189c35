/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch-wire.c - sends and receives replies with a file descriptor; see fetch.h. */

#include "symbolize/fetch.h"

#include <string.h>
#include <sys/socket.h>

typedef union
{
  struct cmsghdr header;
  char bytes[CMSG_SPACE (sizeof (int))];
} Control;

gboolean
lu_fetch_send_reply (int socket_fd, const LuFetchReply *reply, int fd)
{
  Control control = { { 0 } };
  struct iovec part = { (gpointer) reply, sizeof *reply };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

  if (fd >= 0)
    {
      message.msg_control = &control;
      message.msg_controllen = sizeof control;
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (sizeof fd);
      memcpy (CMSG_DATA (&control.header), &fd, sizeof fd);
    }
  return sendmsg (socket_fd, &message, MSG_NOSIGNAL) >= 0;
}

gboolean
lu_fetch_receive_reply (int socket_fd, LuFetchReply *reply, int *fd)
{
  Control control;
  struct iovec part = { reply, sizeof *reply };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  gssize n = recvmsg (socket_fd, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR (&message) : NULL;

  *fd = -1;
  if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
      && header->cmsg_len == CMSG_LEN (sizeof *fd))
    memcpy (fd, CMSG_DATA (header), sizeof *fd);
  return n == sizeof *reply;
}
