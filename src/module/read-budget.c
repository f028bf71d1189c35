/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* read-budget.c - see read-budget.h. */

#include "module/read-budget.h"

#include "base/clock.h"

#include <sys/stat.h>

/* An account gets one ns in this many. */
#define PROCESS_SHARE 8
#define USER_SHARE    4
#define TOTAL_SHARE   2
#define FULL_AFTER_NS G_GUINT64_CONSTANT (2000000000)
/* With this many accounts, drop those that are full. */
#define MANY_ACCOUNTS 1024

typedef struct
{
  guint share;
  gint64 left; /* ns */
  guint64 at;  /* monotonic ns: left was that much */
} Account;

struct _LuReadBudget
{
  Account total;
  GHashTable *users, *processes; /* id -> Account */
};

static void
fill (Account *self, guint64 now)
{
  gint64 full = (gint64) (FULL_AFTER_NS / self->share);
  gint64 more = (gint64) (MIN (now - self->at, 100 * FULL_AFTER_NS) / self->share);

  self->left = MIN (self->left + more, full);
  self->at = now;
}

static gboolean
is_full (gpointer key, gpointer value, gpointer now)
{
  Account *self = value;

  fill (self, *(const guint64 *) now);
  return self->left == (gint64) (FULL_AFTER_NS / self->share);
}

/* Returns the account, filled up. */
static Account *
find (GHashTable *accounts, guint id, guint share)
{
  Account *self = g_hash_table_lookup (accounts, GUINT_TO_POINTER (id));
  guint64 now = lu_monotonic_ns ();

  if (self == NULL)
    {
      if (g_hash_table_size (accounts) >= MANY_ACCOUNTS)
        g_hash_table_foreach_remove (accounts, is_full, &now);
      self = g_new (Account, 1);
      *self = (Account){ .share = share, .left = (gint64) (FULL_AFTER_NS / share), .at = now };
      g_hash_table_insert (accounts, GUINT_TO_POINTER (id), self);
    }
  fill (self, now);
  return self;
}

/* All processes that have ended share an account. */
static Account *
find_user (LuReadBudget *self, gint32 pid)
{
  struct stat info = { .st_uid = G_MAXUINT32 };
  char path[32];

  g_snprintf (path, sizeof path, "/proc/%d", pid);
  return find (self->users, stat (path, &info) == 0 ? info.st_uid : G_MAXUINT32, USER_SHARE);
}

LuReadBudget *
lu_read_budget_new (void)
{
  LuReadBudget *self = g_new0 (LuReadBudget, 1);

  self->total = (Account){ .share = TOTAL_SHARE };
  fill (&self->total, lu_monotonic_ns ());
  self->users = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->processes = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

void
lu_read_budget_free (LuReadBudget *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->users);
  g_hash_table_unref (self->processes);
  g_free (self);
}

gboolean
lu_read_budget_has (LuReadBudget *self, gint32 pid)
{
  if (pid <= 0)
    return TRUE;
  fill (&self->total, lu_monotonic_ns ());
  return self->total.left > 0 && find (self->processes, (guint) pid, PROCESS_SHARE)->left > 0
         && find_user (self, pid)->left > 0;
}

void
lu_read_budget_charge (LuReadBudget *self, gint32 pid, guint64 ns)
{
  if (pid <= 0)
    return;
  self->total.left -= (gint64) ns;
  find (self->processes, (guint) pid, PROCESS_SHARE)->left -= (gint64) ns;
  find_user (self, pid)->left -= (gint64) ns;
}
