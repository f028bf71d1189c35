/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cases.h - registers the cases of a table as tests of their own.
 *
 * A table is an array of structs with a member `name`, which completes the path of the test. */

#pragma once

#include <glib.h>

static inline void
test_add_case (const char *directory, const char *name, gconstpointer data, GTestDataFunc test)
{
  g_autofree char *path = g_strconcat (directory, "/", name, NULL);

  g_test_add_data_func (path, data, test);
}

/* The test gets the address of its case. */
#define TEST_ADD_CASES(directory, cases, test)                                                     \
  for (guint i_ = 0; i_ < G_N_ELEMENTS (cases); i_++)                                              \
  test_add_case (directory, (cases)[i_].name, &(cases)[i_], test)

/* The test gets the index of its case, by GUINT_TO_POINTER(). */
#define TEST_ADD_INDEXED_CASES(directory, cases, test)                                             \
  for (guint i_ = 0; i_ < G_N_ELEMENTS (cases); i_++)                                              \
  test_add_case (directory, (cases)[i_].name, GUINT_TO_POINTER (i_), test)
