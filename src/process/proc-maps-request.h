/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps-request.h - the number of the request that proc-maps-query.c makes; apart, because it
 * is also among the system calls that a helper keeps, and these are listed without GLib. */

#pragma once

/* PROCMAP_QUERY of linux/fs.h, for who allows it: _IOWR ('f', 17, 104 bytes). */
#define LU_PROC_MAPS_QUERY 0xc0686611u
