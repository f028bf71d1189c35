/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* page.h - a recording as one HTML file that any browser shows without a network. */

#pragma once

#include "profile/model.h"
#include "stream.h"

/* Writes the page for a model that has names. before: the model that it is compared with; NULL:
 * none. Names are safe inside the page whatever they contain. */
void lu_page_write (const LuModel *model, const LuModel *before, LuStream *stream);
/* Writes the same to a file; takes the descriptor. */
gboolean lu_page_save (const LuModel *model, const LuModel *before, int fd_taken, GError **error);
