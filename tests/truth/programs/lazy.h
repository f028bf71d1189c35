/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lazy.h - lazy.c and its library. */

#pragma once

long library_sum (long a, long b, long c, long d, long e, long f, long g, long h);
double library_scale (double a, double b, double c);
long library_call (long value);
long callback (long value);
