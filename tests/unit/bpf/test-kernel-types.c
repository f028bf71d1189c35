/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-kernel-types.c - src/bpf/kernel-types.c: the members that are asked for are found wherever a
 * compiler puts them, with what they are; what is not as expected gives nothing. */

#include "bpf/kernel-types.h"

#include <linux/btf.h>
#include <string.h>

/* A description of types under construction. */
typedef struct
{
  GByteArray *types, *strings;
} Made;

static guint32
name (Made *made, const char *text)
{
  guint32 offset = made->strings->len;

  g_byte_array_append (made->strings, (const guint8 *) text, (guint) strlen (text) + 1);
  return offset;
}

static void
add (Made *made, const char *text, guint kind, guint n_members, gboolean flag, guint32 size)
{
  struct btf_type type = { .info = kind << 24 | n_members | (flag ? 1u << 31 : 0), .size = size };

  type.name_off = text[0] != 0 ? name (made, text) : 0;
  g_byte_array_append (made->types, (const guint8 *) &type, sizeof type);
}

static void
member (Made *made, const char *text, guint32 type, guint32 offset)
{
  struct btf_member added = { .type = type, .offset = offset };

  added.name_off = text[0] != 0 ? name (made, text) : 0;
  g_byte_array_append (made->types, (const guint8 *) &added, sizeof added);
}

static void
words (Made *made, const guint32 *values, guint n)
{
  g_byte_array_append (made->types, (const guint8 *) values, n * (guint) sizeof *values);
}

static void
made_init (Made *made)
{
  made->types = g_byte_array_new ();
  made->strings = g_byte_array_new ();
  name (made, "");
}

static GByteArray *
finish (Made *made)
{
  GByteArray *bytes = g_byte_array_new ();
  struct btf_header header = { .magic = BTF_MAGIC,
                               .version = BTF_VERSION,
                               .hdr_len = sizeof header,
                               .type_len = made->types->len,
                               .str_off = made->types->len,
                               .str_len = made->strings->len };

  g_byte_array_append (bytes, (const guint8 *) &header, sizeof header);
  g_byte_array_append (bytes, made->types->data, made->types->len);
  g_byte_array_append (bytes, made->strings->data, made->strings->len);
  g_byte_array_unref (made->types);
  g_byte_array_unref (made->strings);
  return bytes;
}

enum
{
  INT = 1,
  TYPEDEF,
  CONST,
  LOOP,
  POINTER,
  INNER,
  ARRAY,
  UNNAMED,
  OUTER_TOO_SMALL,
  OUTER,
  FLOAT,
};

/* Two structures "outer", of which the second one has all; one of its members is in a structure
 * without a name. */
static GByteArray *
usual (void)
{
  const guint32 bits = 64, array[] = { INNER, INT, 3 };
  Made made;

  made_init (&made);
  add (&made, "long", BTF_KIND_INT, 0, FALSE, 8);
  words (&made, &bits, 1);
  add (&made, "time", BTF_KIND_TYPEDEF, 0, FALSE, CONST);
  add (&made, "", BTF_KIND_CONST, 0, FALSE, INT);
  add (&made, "loop", BTF_KIND_TYPEDEF, 0, FALSE, LOOP);
  add (&made, "", BTF_KIND_PTR, 0, FALSE, OUTER);
  add (&made, "inner", BTF_KIND_STRUCT, 1, FALSE, 24);
  member (&made, "number", INT, 64);
  add (&made, "", BTF_KIND_ARRAY, 0, FALSE, 0);
  words (&made, array, 3);
  add (&made, "", BTF_KIND_STRUCT, 2, FALSE, 200);
  member (&made, "hidden", TYPEDEF, 128);
  member (&made, "all", ARRAY, 256);
  add (&made, "outer", BTF_KIND_STRUCT, 1, FALSE, 16);
  member (&made, "next", POINTER, 8);
  add (&made, "outer", BTF_KIND_STRUCT, 6, TRUE, 1000);
  member (&made, "bits", INT, 3 << 24 | 16);
  member (&made, "", UNNAMED, 1024);
  member (&made, "next", POINTER, 4096);
  member (&made, "one", INNER, 5120);
  member (&made, "endless", LOOP, 6400);
  member (&made, "real", FLOAT, 6464);
  add (&made, "float", 16, 0, FALSE, 8);
  return finish (&made);
}

typedef struct
{
  const char *label;
  LuKernelStruct wanted[2];
  gboolean is_there;
} Case;

static const Case cases[] = {
  { "all kinds",
    { { "outer", { "hidden", "all", "next", "one" } }, { "inner", { "number" } } },
    TRUE },
  { "a member that is missing", { { "outer", { "none" } }, { "inner", { "number" } } }, FALSE },
  { "a structure that is missing", { { "other", { "next" } }, { "inner", { "number" } } }, FALSE },
  { "a bit field", { { "outer", { "bits" } }, { "inner", { "number" } } }, FALSE },
  { "a type without an end", { { "outer", { "endless" } }, { "inner", { "number" } } }, FALSE },
  { "another kind", { { "outer", { "real" } }, { "inner", { "number" } } }, FALSE },
};

static void
test_cut (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GByteArray) bytes = usual ();
  g_autoptr (GByteArray) cut = lu_kernel_types_cut (bytes->data, bytes->len, c->wanted, 2);

  g_assert_cmpint (cut != NULL, ==, c->is_there);
}

static void
test_structure_that_is_not_wanted (void)
{
  const LuKernelStruct wanted = { "outer", { "one" } };
  g_autoptr (GByteArray) bytes = usual ();

  g_assert_null (lu_kernel_types_cut (bytes->data, bytes->len, &wanted, 1));
}

static const struct btf_type *
type_at (const GByteArray *cut, gsize offset)
{
  return (gconstpointer) (cut->data + sizeof (struct btf_header) + offset);
}

/* Pointer, index, the structures, and the types that their members needed. */
static void
test_bytes (void)
{
  static const struct
  {
    const char *name;
    guint32 type, offset;
  } want[] = {
    { "hidden", 5, 1024 + 128 }, { "all", 6, 1024 + 256 }, { "next", 1, 4096 }, { "one", 4, 5120 }
  };
  g_autoptr (GByteArray) bytes = usual ();
  g_autoptr (GByteArray) cut = lu_kernel_types_cut (bytes->data, bytes->len, cases[0].wanted, 2);
  struct btf_header header;
  const struct btf_type *outer, *array;
  const struct btf_member *members;
  const struct btf_array *elements;
  const char *strings;

  memcpy (&header, cut->data, sizeof header);
  strings = (const char *) cut->data + sizeof header + header.str_off;
  g_assert_cmpuint (cut->len, ==, sizeof header + header.type_len + header.str_len);
  outer = type_at (cut, 12 + 16);
  g_assert_cmpstr (strings + outer->name_off, ==, "outer");
  g_assert_cmpuint (outer->size, ==, 1000);
  g_assert_cmpuint (BTF_INFO_VLEN (outer->info), ==, G_N_ELEMENTS (want));
  g_assert_cmpuint (BTF_INFO_KFLAG (outer->info), ==, 0);
  members = (gconstpointer) (outer + 1);
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    {
      g_assert_cmpstr (strings + members[i].name_off, ==, want[i].name);
      g_assert_cmpuint (members[i].type, ==, want[i].type);
      g_assert_cmpuint (members[i].offset, ==, want[i].offset);
    }
  array = type_at (cut, 12 + 16 + 12 + 4 * 12 + 12 + 12 + 16);
  g_assert_cmpuint (BTF_INFO_KIND (array->info), ==, BTF_KIND_ARRAY);
  elements = (gconstpointer) (array + 1);
  g_assert_cmpuint (elements->type, ==, 4);
  g_assert_cmpuint (elements->nelems, ==, 3);
}

/* Each length in memory of its own, so that a sanitizer sees a read behind it. */
static void
test_cut_off (void)
{
  g_autoptr (GByteArray) bytes = usual ();

  for (gsize size = 0; size < bytes->len; size++)
    {
      g_autofree guint8 *copy = g_memdup2 (bytes->data, size);

      g_assert_null (lu_kernel_types_cut (copy, size, cases[0].wanted, 2));
    }
}

static void
test_cut_again (void)
{
  g_autoptr (GByteArray) bytes = usual ();
  g_autoptr (GByteArray) once = lu_kernel_types_cut (bytes->data, bytes->len, cases[0].wanted, 2);
  g_autoptr (GByteArray) twice = lu_kernel_types_cut (once->data, once->len, cases[0].wanted, 2);

  g_assert_cmpmem (once->data, once->len, twice->data, twice->len);
}

/* Types without number that contain each other. */
static void
test_nested (void)
{
  const LuKernelStruct wanted = { "outer", { "none" } };
  g_autoptr (GByteArray) bytes = NULL;
  Made made;

  made_init (&made);
  add (&made, "", BTF_KIND_STRUCT, 100, FALSE, 8);
  for (guint i = 0; i < 100; i++)
    member (&made, "", 1, 0);
  add (&made, "outer", BTF_KIND_STRUCT, 1, FALSE, 8);
  member (&made, "", 1, 0);
  bytes = finish (&made);
  g_assert_null (lu_kernel_types_cut (bytes->data, bytes->len, &wanted, 1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/kernel-types/%s", cases[i].label);

      g_test_add_data_func (path, &cases[i], test_cut);
    }
  g_test_add_func ("/kernel-types/a structure that is not wanted",
                   test_structure_that_is_not_wanted);
  g_test_add_func ("/kernel-types/what is cut out", test_bytes);
  g_test_add_func ("/kernel-types/cut off anywhere", test_cut_off);
  g_test_add_func ("/kernel-types/cut out of what was cut out", test_cut_again);
  g_test_add_func ("/kernel-types/structures without names in each other", test_nested);
  return g_test_run ();
}
