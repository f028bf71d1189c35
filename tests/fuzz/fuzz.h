/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz.h - what every fuzz target defines: one run over some bytes. Called by libFuzzer, or by
 * replay.c for files. A target aborts when something is wrong with what our code made of the bytes.
 */

#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);
