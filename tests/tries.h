/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tries.h - how many tries of the same kind a test makes.
 *
 * With sanitizers and counted lines each takes about thirty times as long, and the last thousand
 * reads the same code as the first. The build without them makes all tries. */

#pragma once

#include "sanitized.h"

/* For numbers of tries, and for the steps between them. */
#define TEST_TRIES(all, sanitized) (TEST_IS_SANITIZED ? (sanitized) : (all))
