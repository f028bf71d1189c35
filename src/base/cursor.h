/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cursor.h - reads untrusted bytes with a sticky failure: read everything, then test once.
 *
 * A read past the end returns zeros and sets `failed`; nothing after that succeeds. Numbers are
 * little-endian, like the files and records we read and the hosts we run on. */

#pragma once

#include <glib.h>
#include <string.h>

typedef struct
{
  const guint8 *at;
  const guint8 *end;
  gboolean failed;
} LuCursor;

static inline void
lu_cursor_init (LuCursor *self, gconstpointer bytes, gsize size)
{
  self->at = bytes;
  self->end = size > 0 ? self->at + size : self->at; /* bytes may be NULL then */
  self->failed = FALSE;
}

static inline gsize
lu_cursor_left (const LuCursor *self)
{
  return self->failed ? 0 : (gsize) (self->end - self->at);
}

/* Borrows `size` bytes and moves past them. Returns NULL, and fails, if there are fewer. */
static inline const guint8 *
lu_cursor_take (LuCursor *self, gsize size)
{
  const guint8 *at = self->at;

  if (self->failed || size > (gsize) (self->end - at))
    {
      self->failed = TRUE;
      return NULL;
    }
  self->at = at + size;
  return at;
}

#define LU_CURSOR_DEFINE_READ(name, type)                                                          \
  static inline type lu_cursor_##name (LuCursor *self)                                             \
  {                                                                                                \
    const guint8 *at = lu_cursor_take (self, sizeof (type));                                       \
    type value = 0;                                                                                \
                                                                                                   \
    if (at != NULL)                                                                                \
      memcpy (&value, at, sizeof value);                                                           \
    return value;                                                                                  \
  }
LU_CURSOR_DEFINE_READ (u8, guint8)
LU_CURSOR_DEFINE_READ (u16, guint16)
LU_CURSOR_DEFINE_READ (u32, guint32)
LU_CURSOR_DEFINE_READ (u64, guint64)
#undef LU_CURSOR_DEFINE_READ

/* Borrows a NUL-terminated string. Returns "", and fails, if it does not end inside the bytes. */
static inline const char *
lu_cursor_string (LuCursor *self)
{
  gsize left = lu_cursor_left (self);
  /* GCC 14 would warn of an overread at `at` (-Wstringop-overread), so count from the end. */
  const guint8 *nul = left > 0 ? memchr (self->end - left, 0, left) : NULL;

  if (nul == NULL)
    {
      self->failed = TRUE;
      return "";
    }
  return (const char *) lu_cursor_take (self, (gsize) (nul - self->at) + 1);
}
