/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-switch.c - see go-switch.h.
 *
 * Bytes that look like a call but are a part of another instruction do no harm, because no return
 * address leads there. */

#include "elf/go-switch.h"

#include <string.h>

/* The instructions that are searched for lie so near to the start, and behind a call. */
#define NEAR 128
#define SOON 24

/* All but the first two keep the frame pointer. runtime.cgocallback comes from C's stack to that of
 * a goroutine. */
static const char *const names[] = {
  "runtime.systemstack", "runtime.asmcgocall", "runtime.cgocallback", "time.now",
  "runtime.nanotime1",   "runtime.walltime",   "runtime.walltime1", /* until Go 1.16 */
};

/* These align the stack pointer for C code, stay on their stack and keep the frame pointer. */
static const char *const aligning[] = {
  "runtime.callCgoMmap",
  "runtime.callCgoMunmap",
  "runtime.callCgoSigaction",
};

static const struct lu_rule by_frame_pointer = { .cfa_kind = LU_CFA_FP,
                                                 .cfa_off = 16,
                                                 .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4,
                                                 .fp_off = -2,
                                                 .ra_kind = LU_RA_AT_CFA,
                                                 .ra_off = -1,
                                                 .flags = LU_RULE_SWITCH };

static gboolean
is_listed (const char *name, const char *const *list, guint n)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (name, list[i]) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
is_aligning (const char *name)
{
  return is_listed (name, aligning, G_N_ELEMENTS (aligning));
}

gboolean
lu_go_may_switch (const char *name)
{
  return is_listed (name, names, G_N_ELEMENTS (names)) || is_aligning (name);
}

/* Returns the bytes behind the first occurrence of a pattern that begins between two places, or
 * NULL. There is room for a 4-byte number behind it. */
static const guint8 *
find (const LuGoCode *code, gsize from, gsize to, const char *pattern, gsize n)
{
  for (gsize at = from; at < to && at + n + 4 <= code->size; at++)
    if (memcmp (code->code + at, pattern, n) == 0)
      return code->code + at + n;
  return NULL;
}

#define FIND(code, from, to, pattern) find (code, from, to, pattern, sizeof (pattern) - 1)

static gint32
read_s32 (const guint8 *bytes)
{
  gint32 value;

  memcpy (&value, bytes, sizeof value);
  return value;
}

/* Returns whether the function makes its frame pointer first: push %rbp; mov %rsp,%rbp, or before
 * Go 1.21, behind sub $n,%rsp, mov %rbp,n-8(%rsp); lea n-8(%rsp),%rbp. */
static gboolean
has_frame_pointer (const LuGoCode *code)
{
  const guint8 *bytes = code->code;

  if (code->size < 16)
    return FALSE;
  return memcmp (bytes, "\x55\x48\x89\xe5", 4) == 0
         || (memcmp (bytes, "\x48\x83\xec", 3) == 0
             && memcmp (bytes + 4, "\x48\x89\x6c\x24", 4) == 0
             && memcmp (bytes + 9, "\x48\x8d\x6c\x24", 4) == 0 && bytes[8] == bytes[13]
             && bytes[8] == bytes[3] - 8);
}

/* Sets where the caller's frame pointer is, and how far the CFA is from the stack pointer that the
 * function had: since Go 1.21 it has pushed the frame pointer. */
static void
set_frame (struct lu_rule *rule, gboolean has_frame)
{
  rule->cfa_off = has_frame ? 16 : 8;
  rule->fp_off = -2;
  rule->saves = (has_frame ? LU_SAVE_AT_CFA : LU_SAVE_UNKNOWN) | LU_SAVE_UNKNOWN << 4;
}

/* runtime.systemstack: the goroutine's stack pointer is in g.sched, g being that of m.curg, and m
 * that of the thread's own g. The frame pointer may lead to where the goroutine's stack was before
 * it was moved. */
static gboolean
find_by_sched (const LuGoCode *code, gsize at, struct lu_rule *rule)
{
  const guint8 *tls = FIND (code, 0, NEAR, "\x64\x48\x8b\x04\x25"); /* mov %fs:n,%rax */
  const guint8 *m = FIND (code, 0, NEAR, "\x48\x8b\x58");           /* mov n(%rax),%rbx */
  const guint8 *g = FIND (code, 0, NEAR, "\x48\x3b\x83");           /* cmp n(%rbx),%rax */
  const guint8 *sp = FIND (code, 0, NEAR, "\x48\x8b\x5a");          /* mov n(%rdx),%rbx */
  gint32 tls_offset, g_offset;

  if (tls == NULL) /* mov $n,%rcx; mov %fs:(%rcx),%rax */
    tls = FIND (code, 0, NEAR, "\x48\xc7\xc1");
  if (sp == NULL) /* mov n(%rdx),%rsp */
    sp = FIND (code, 0, NEAR, "\x48\x8b\x62");
  if (tls == NULL || m == NULL || g == NULL || sp == NULL || sp > code->code + at
      || memcmp (code->code + at - 2, "\xff\xd7", 2) != 0) /* call *%rdi */
    return FALSE;
  tls_offset = read_s32 (tls);
  g_offset = read_s32 (g);
  if (tls_offset < G_MININT16 || tls_offset >= 0 || g_offset < 0 || g_offset > G_MAXINT16
      || *m % 8 != 0 || g_offset % 8 != 0 || *sp % 8 != 0)
    return FALSE;
  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_GO_SCHED,
                            .aux = (gint16) tls_offset,
                            .bx_off = (gint16) (g_offset / 8),
                            .ra_off = (gint16) (*m / 8 | *sp / 8 << 8) };
  return TRUE;
}

/* Decodes an instruction with a place in the frame: the operation and register, then a byte
 * n(%rsp), or none for (%rsp). Returns the bytes behind it, or NULL. */
static const guint8 *
take_slot (const guint8 *bytes, guint8 operation, guint8 reg, gint16 *slot)
{
  if (bytes == NULL || bytes[0] != 0x48 || bytes[1] != operation || bytes[3] != 0x24
      || (bytes[2] & 0xbf) != (reg << 3 | 4))
    return NULL;
  *slot = (bytes[2] & 0x40) != 0 ? bytes[4] : 0;
  return bytes + ((bytes[2] & 0x40) != 0 ? 5 : 4);
}

/* runtime.asmcgocall: the frame has g and how far its stack pointer was below the end of its stack,
 * or only the stack pointer if it came from this stack. */
static gboolean
find_by_slots (const LuGoCode *code, gsize at, struct lu_rule *rule)
{
  enum
  {
    MOV = 0x8b,
    SUB = 0x2b,
    RSI = 6,
    RDI = 7,
  };
  const guint8 *next = code->code + at, *g, *sp;
  gint16 g_slot, slot;

  if (at + SOON > code->size)
    return FALSE;
  if (memcmp (next, "\x48\xc7\xc1", 3) == 0) /* mov $n,%rcx */
    next += 7;
  g = take_slot (next, MOV, RDI, &g_slot);
  if (g != NULL && memcmp (g, "\x48\x8b\x77\x08", 4) == 0 /* mov 8(%rdi),%rsi */
      && take_slot (g + 4, SUB, RSI, &slot) != NULL)
    {
      *rule = (struct lu_rule){ .cfa_kind = LU_CFA_GO_SLOTS,
                                .bx_off = (gint16) (g_slot / 8),
                                .ra_off = (gint16) (slot / 8) };
      return TRUE;
    }
  sp = take_slot (next, MOV, RSI, &slot);
  if (sp == NULL || memcmp (sp, "\x48\x89\xf4", 3) != 0) /* mov %rsi,%rsp */
    return FALSE;
  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_DEREF_SP, .aux = slot, .ra_off = -1 };
  return TRUE;
}

/* Returns whether an instruction that ends there may be a call. */
static gboolean
is_call (const LuGoCode *code, gsize at)
{
  const guint8 *end = code->code + at;

  return (at >= 2 && end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0) || (at >= 5 && end[-5] == 0xe8);
}

/* Finds the rule of a call by a function of this name. */
static gboolean
find_rule (const LuGoCode *code, gsize at, struct lu_rule *rule)
{
  gboolean is_found = FALSE;

  if (strcmp (code->name, "runtime.systemstack") == 0)
    is_found = find_by_sched (code, at, rule);
  else if (strcmp (code->name, "runtime.asmcgocall") == 0)
    is_found = find_by_slots (code, at, rule);
  else if (has_frame_pointer (code))
    {
      *rule = by_frame_pointer;
      if (is_aligning (code->name))
        rule->flags = 0;
      return TRUE;
    }
  if (is_found)
    set_frame (rule, has_frame_pointer (code));
  return is_found;
}

gboolean
lu_go_find_switch (const LuGoCode *code, gsize *at, struct lu_rule *rule)
{
  for (; *at < code->size; ++*at)
    if (is_call (code, *at) && find_rule (code, *at, rule))
      return TRUE;
  return FALSE;
}
