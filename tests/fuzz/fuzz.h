/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz.h - the function that every fuzz target defines: one run over some bytes. libFuzzer calls
 * it, or replay.c for files. A target aborts when our code made something wrong of the bytes. */

#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);
