/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* caller.c - see caller.h. */

#include "base/caller.h"

#include <unistd.h>

static uid_t caller_uid;
static gboolean is_noted; /* FALSE in tests */

void
lu_caller_note (void)
{
  caller_uid = geteuid ();
  is_noted = TRUE;
}

uid_t
lu_caller_uid (void)
{
  return is_noted ? caller_uid : geteuid ();
}

static gboolean
read_id (const char *name, guint64 *id)
{
  const char *text = g_getenv (name);

  /* (uid_t) -1 means "leave it" to chown() */
  return text != NULL && g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32 - 1, id, NULL);
}

gboolean
lu_caller_of_sudo (uid_t *uid, gid_t *gid)
{
  guint64 user, group;

  if (lu_caller_uid () != 0 || !read_id ("SUDO_UID", &user) || !read_id ("SUDO_GID", &group))
    return FALSE;
  *uid = (uid_t) user;
  *gid = (gid_t) group;
  return TRUE;
}

gboolean
lu_caller_owns (uid_t owner)
{
  uid_t uid;
  gid_t gid;

  return owner == lu_caller_uid () || (lu_caller_of_sudo (&uid, &gid) && owner == uid);
}
