/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* facts-list.h - the distinct facts of an analysis, each with a number of 16 bits. When the list is
 * full, further ones become "nothing known", so no file can make it grow. */

#pragma once

#include "code/frame-facts.h"

typedef struct _LuFactsList LuFactsList;

/* first: the number of "nothing known"; others follow. */
LuFactsList *lu_facts_list_new (guint16 first);
void lu_facts_list_free (LuFactsList *self);
guint16 lu_facts_list_intern (LuFactsList *self, const LuFrameFacts *facts);
const LuFrameFacts *lu_facts_list_get (const LuFactsList *self, guint16 number);
