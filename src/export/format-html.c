/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-html.c - the page as a format; see page.h. */

#include "format.h"
#include "page.h"

static void
write_html (const LuModel *model, LuStream *stream)
{
  lu_page_write (model, NULL, stream);
}

const LuFormat lu_format_html = {
  .name = "html",
  .suffixes = { ".html", ".htm" },
  .has_lines_of_functions = TRUE,
  .needs = LU_MODEL_SOME_TIMES,
  .write = write_html,
};
