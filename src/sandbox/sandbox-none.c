/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sandbox-none.c - a build without libcap and libseccomp says so instead of pretending; see
 * sandbox.h. */

#include "sandbox.h"

#include "base/error.h"

void
lu_sandbox_choose_user (void)
{
}

void
lu_sandbox_leave_root (void)
{
}

gboolean
lu_sandbox_restrict_keeper (gboolean for_others)
{
  return TRUE;
}

gboolean
lu_sandbox_drop_capabilities (LuNeeds needs, GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, "sandbox: built without libcap");
  return FALSE;
}

gboolean
lu_sandbox_restrict_calls (LuNeeds needs, GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, "sandbox: built without libseccomp");
  return FALSE;
}

gboolean
lu_sandbox_restrict_recorder (GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, "sandbox: built without libseccomp");
  return FALSE;
}

gboolean
lu_sandbox_restrict_reader (const char *const *outputs, GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, "sandbox: built without libseccomp");
  return FALSE;
}

gboolean
lu_sandbox_restrict_viewer (GError **error)
{
  return lu_sandbox_restrict_recorder (error);
}

gboolean
lu_sandbox_restrict_loader (void)
{
  return TRUE;
}

gboolean
lu_sandbox_restrict_parser (void)
{
  return TRUE;
}

gboolean
lu_sandbox_restrict_memory_reader (void)
{
  return TRUE;
}
