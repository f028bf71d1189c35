/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* returns.h - whether functions ever return, as far as a short look at their code tells.
 *
 * Code is analysed in parts, and this is what a part knows of the functions of others that it
 * calls: compilers put other code behind a call that never returns. Functions that never return are
 * short, because they only report an error. Whatever is not certain counts as returning. One
 * thread. */

#pragma once

#include "code/flow.h"

typedef struct _LuCodeReturns LuCodeReturns;

/* ranges: of LuCodeBytes, ascending; a reference is taken. file: borrowed; who asks what. */
LuCodeReturns *lu_code_returns_new (GArray *ranges, const LuFlowFile *file);
void lu_code_returns_free (LuCodeReturns *self); /* NULL is allowed */
/* Returns FALSE if the function at an ELF address never returns. All answers together are linear in
 * the size of the code. */
gboolean lu_code_returns_from (LuCodeReturns *self, guint64 address);
