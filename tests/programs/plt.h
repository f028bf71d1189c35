/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt.h - the 256 functions, target_0000 to target_3333, that plt.c exports and plt-library.c calls
 * through lazily bound PLT entries. */
#pragma once

#define FOUR(F, n)       F (n##0) F (n##1) F (n##2) F (n##3)
#define SIXTEEN(F, n)    FOUR (F, n##0) FOUR (F, n##1) FOUR (F, n##2) FOUR (F, n##3)
#define SIXTY_FOUR(F, n) SIXTEEN (F, n##0) SIXTEEN (F, n##1) SIXTEEN (F, n##2) SIXTEEN (F, n##3)

#define EACH_TARGET(F)                                                                             \
  SIXTY_FOUR (F, target_0)                                                                         \
  SIXTY_FOUR (F, target_1)                                                                         \
  SIXTY_FOUR (F, target_2)                                                                         \
  SIXTY_FOUR (F, target_3)

#define DECLARE_TARGET(name) void name (void);
EACH_TARGET (DECLARE_TARGET)
