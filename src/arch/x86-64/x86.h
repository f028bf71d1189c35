/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* x86.h - what x86-64 and i386 share. */

#pragma once

#include "arch/arch.h"

/* See LuArch.decode_call. */
enum lu_call_kind lu_x86_decode_call (const guint8 *bytes, gsize n, gint64 *displacement);
/* See LuArch.is_plt_entry. */
gboolean lu_x86_is_plt_entry (const guint8 *code);
