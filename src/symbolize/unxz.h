/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unxz.h - unpacks the small symbol table that some distributions embed (.gnu_debugdata, xz). */

#pragma once

#include <glib.h>

/* Returns *unpacked bytes, owned by the caller. NULL if the input is not one whole xz stream, if
 * more than `limit` bytes would come out, or in a build without liblzma. */
guint8 *lu_unxz (gconstpointer bytes, gsize size, gsize limit, gsize *unpacked);
