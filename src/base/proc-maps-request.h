/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps-request.h - the ioctl of process/proc-maps-query.c. It has a header of its own because
 * sandbox/make-call-filter.c, which has no GLib, allows it. */

#pragma once

/* PROCMAP_QUERY of linux/fs.h: _IOWR ('f', 17, 104 bytes). */
#define LU_PROC_MAPS_QUERY 0xc0686611u
