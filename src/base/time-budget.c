/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* time-budget.c - see time-budget.h. */

#include "base/time-budget.h"

#include "base/clock.h"
#include "base/fd.h"

#include <stdio.h>
#include <sys/stat.h>

/* An account holds what it gets in so many ns on a machine that is not slow. */
#define FULL_AFTER_NS G_GUINT64_CONSTANT (2000000000)
/* With this many accounts, drop those that are full. */
#define MANY_ACCOUNTS 1024
/* How often the kernel is asked how long this thread had to wait for a CPU. */
#define ASK_NS G_GUINT64_CONSTANT (10000000)
/* How long the user of a process is believed to stay the same: asking costs as much as many a
 * sample. */
#define USER_NS G_GUINT64_CONSTANT (100000000)

typedef struct
{
  guint share;
  guint32 user;      /* of a process; G_MAXUINT32: it had ended */
  gint64 full, left; /* ns: at most; now */
  guint64 at;        /* as now(): left was that much */
  guint64 asked;     /* as now(): for the user; 0: not yet */
} Account;

const LuTimeShares lu_time_shares_for_files = { .process = 8, .user = 4, .total = 2 };

struct _LuTimeBudget
{
  LuTimeShares shares;
  Account total;
  GHashTable *users, *processes; /* id -> Account */
  guint64 full_after;            /* ns of time, in which an account fills up */
  guint64 asked, waited, latest; /* ns: monotonic; waited for a CPU until then; the latest now() */
};

/* Returns how long this thread has waited for a CPU, in ns; 0 if the kernel does not tell. */
static guint64
read_waited (void)
{
  g_autofree char *text = lu_fd_read_file ("/proc/thread-self/schedstat", 128, NULL);
  unsigned long long ran, waited = 0;

  return text != NULL && sscanf (text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

/* Returns the time that this thread could have used, in ns: on a busy machine it gets a part of a
 * CPU, and shares of a whole CPU would be more than that. */
static guint64
now (LuTimeBudget *self)
{
  guint64 time = lu_monotonic_ns ();

  if (time - self->asked >= ASK_NS)
    {
      self->waited = read_waited ();
      self->asked = time;
    }
  return self->latest = MAX (self->latest, time - self->waited);
}

static void
fill (Account *self, guint64 time)
{
  gint64 more = (gint64) (MIN (time - self->at, 100 * FULL_AFTER_NS) / self->share);

  self->left = MIN (self->left + more, self->full);
  self->at = time;
}

static gboolean
is_full (gpointer key, gpointer value, gpointer time)
{
  Account *self = value;

  fill (self, *(const guint64 *) time);
  return self->left == self->full;
}

static Account
full_account (const LuTimeBudget *self, guint share, guint64 time)
{
  gint64 full = (gint64) (self->full_after / share);

  return (Account){ .share = share, .full = full, .left = full, .at = time };
}

/* Returns the account, filled up. */
static Account *
find (const LuTimeBudget *self, GHashTable *accounts, guint id, guint share, guint64 time)
{
  Account *account = g_hash_table_lookup (accounts, GUINT_TO_POINTER (id));

  if (account == NULL)
    {
      if (g_hash_table_size (accounts) >= MANY_ACCOUNTS)
        g_hash_table_foreach_remove (accounts, is_full, &time);
      account = g_new (Account, 1);
      *account = full_account (self, share, time);
      g_hash_table_insert (accounts, GUINT_TO_POINTER (id), account);
    }
  fill (account, time);
  return account;
}

static Account *
find_process (LuTimeBudget *self, gint32 pid, guint64 time)
{
  return find (self, self->processes, (guint) pid, self->shares.process, time);
}

/* Returns the account of the user of a process. All processes that have ended share one. */
static Account *
find_user (LuTimeBudget *self, Account *process, gint32 pid, guint64 time)
{
  struct stat info;
  char path[32];

  if (process->asked == 0 || time - process->asked >= USER_NS)
    {
      g_snprintf (path, sizeof path, "/proc/%d", pid);
      process->user = stat (path, &info) == 0 ? info.st_uid : G_MAXUINT32;
      process->asked = time;
    }
  return find (self, self->users, process->user, self->shares.user, time);
}

LuTimeBudget *
lu_time_budget_new (const LuTimeShares *shares, guint slowness)
{
  LuTimeBudget *self = g_new0 (LuTimeBudget, 1);

  self->shares = *shares;
  self->full_after = slowness * FULL_AFTER_NS;
  self->total = full_account (self, self->shares.total, now (self));
  self->users = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->processes = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

void
lu_time_budget_free (LuTimeBudget *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->users);
  g_hash_table_unref (self->processes);
  g_free (self);
}

gboolean
lu_time_budget_has (LuTimeBudget *self, gint32 pid)
{
  guint64 time = now (self);
  Account *process;

  if (pid <= 0)
    return TRUE;
  fill (&self->total, time);
  process = find_process (self, pid, time);
  return self->total.left > 0 && process->left > 0
         && find_user (self, process, pid, time)->left > 0;
}

void
lu_time_budget_charge (LuTimeBudget *self, gint32 pid, guint64 ns)
{
  guint64 time = now (self);
  Account *process;

  if (pid <= 0)
    return;
  self->total.left -= (gint64) ns;
  process = find_process (self, pid, time);
  process->left -= (gint64) ns;
  find_user (self, process, pid, time)->left -= (gint64) ns;
}
