/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unxz.h - unpacks the small symbol table that some distributions embed (.gnu_debugdata, xz). */

#pragma once

#include <glib.h>

/* At most `limit` bytes come out; NULL for anything that is not a whole xz stream of that size, or
 * when there is no liblzma in this build. */
guint8 *lu_unxz (gconstpointer bytes, gsize size, gsize limit, gsize *unpacked);
