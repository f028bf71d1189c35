/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors
 */
/* plt.h - the 256 functions that plt.c exports and plt-library.c calls through lazily bound PLT entries. */
#pragma once

#define FOUR(F, n) F (n##0) F (n##1) F (n##2) F (n##3)
#define SIXTEEN(F, n) FOUR (F, n##0) FOUR (F, n##1) FOUR (F, n##2) FOUR (F, n##3)
#define EACH_TARGET(F) \
  SIXTEEN (F, target_0) SIXTEEN (F, target_1) SIXTEEN (F, target_2) SIXTEEN (F, target_3) \
  SIXTEEN (F, target_4) SIXTEEN (F, target_5) SIXTEEN (F, target_6) SIXTEEN (F, target_7) \
  SIXTEEN (F, target_8) SIXTEEN (F, target_9) SIXTEEN (F, target_a) SIXTEEN (F, target_b) \
  SIXTEEN (F, target_c) SIXTEEN (F, target_d) SIXTEEN (F, target_e) SIXTEEN (F, target_f)

#define DECLARE_TARGET(name) void name (void);
EACH_TARGET (DECLARE_TARGET)
