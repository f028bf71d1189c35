/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* error.c - the error domain; see error.h. */

#include "base/error.h"

G_DEFINE_QUARK (lu - error - quark, lu_error)
