/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.bpf.c - the name of one kernel address, as the kernel itself prints it.
 *
 * Run by src/bpf/names.c, which sets `address` and reads `text`. Linux 5.14 has all that it needs:
 * programs that are run by a call (79a7f8bdb159) and bpf_snprintf (7b15523a989b). */

#include <linux/bpf.h>

#define SEC(name) __attribute__ ((section (name), used))

static long (*bpf_snprintf) (char *text, __u32 size, const char *format, __u64 *data,
                             __u32 data_size) = (void *) BPF_FUNC_snprintf;

__u64 address;
char text[768]; /* NAME (512), offset and size, [MODULE] (56) */

static const char format[] = "%pS";

SEC ("syscall")
int
print_name (void *unused)
{
  return (int) bpf_snprintf (text, sizeof text, format, &address, sizeof address);
}

const char names_license[] SEC ("license") = "GPL";
