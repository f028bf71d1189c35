/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaks.h - builds with a sanitizer that reports memory which nothing leads to at the end. */

#pragma once

#include <glib.h>

#ifndef __has_feature /* clang's; gcc has a macro instead */
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define LU_FINDS_LEAKS TRUE
#else
#define LU_FINDS_LEAKS FALSE
#endif

/* Says that memory is left behind on purpose, so that no leak of this process is reported. Any
 * thread. */
void lu_leaks_allow (void);
