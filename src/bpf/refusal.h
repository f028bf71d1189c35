/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* refusal.h - why the kernel has not loaded a program, by the warnings of libbpf.
 *
 * The number of an error does not tell whether the kernel's verifier has looked at the program,
 * which depends on how the program was built, or whether rights or memory are missing. Its log
 * does. */

#pragma once

#include <glib.h>

typedef struct
{
  gboolean by_verifier; /* the verifier has refused the program */
  char words[256];      /* its reason, or else the last warning; one line */
} LuBpfRefusal;

/* Notes a warning of libbpf, which may contain the verifier's log. */
void lu_bpf_refusal_note (LuBpfRefusal *self, const char *warning);
/* Makes the error of a program that could not be loaded for this errno: REFUSED if the verifier did
 * not allow it, PERMISSION if rights are missing, otherwise UNSUPPORTED. Owned. */
GError *lu_bpf_refusal_to_error (const LuBpfRefusal *self, int error_number);
