/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-file-id.c - equal files have one identity, other files have another one. */

#include "base/file-id.h"

static const struct
{
  const char *sentence;
  LuFileId a, b;
  gboolean is_same;
} cases[] = {
  { "equal paths are equal files", { "/a" }, { "/a" }, TRUE },
  { "other paths are other files", { "/a" }, { "/b" }, FALSE },
  { "other build-ids are other files", { "/a", "00" }, { "/a", "01" }, FALSE },
  { "a build-id differs from none", { "/a", "00" }, { "/a" }, FALSE },
  { "a build-id may be forged", { "/a", "00", 1, 2, 3 }, { "/a", "00", 4, 5, 3 }, FALSE },
  { "a build-id may be forged on a device", { "/a", "00", 1, 2 }, { "/a", "00", 1, 4 }, FALSE },
  { "a build-id does not outweigh the path", { "/a", "00" }, { "/b", "00" }, FALSE },
  { "other devices are other files", { "/a", NULL, 1, 2, 3 }, { "/a", NULL, 4, 2, 3 }, FALSE },
  { "other inodes are other files", { "/a", NULL, 1, 2, 3 }, { "/a", NULL, 1, 4, 3 }, FALSE },
  { "an inode may be used again", { "/a", NULL, 1, 2, 3 }, { "/a", NULL, 1, 2, 4 }, FALSE },
  { "a generation may be unknown", { "/a", NULL, 1, 2, 3 }, { "/a", NULL, 1, 2, 0 }, TRUE },
  { "all three agree", { "/a", NULL, 1, 2, 3 }, { "/a", NULL, 1, 2, 3 }, TRUE },
  { "a path may be written again",
    { "/a", "00", 1, 2, 3, "aa" },
    { "/a", "00", 1, 2, 3, "ab" },
    FALSE },
  { "all four agree", { "/a", "00", 1, 2, 3, "aa" }, { "/a", "00", 1, 2, 3, "aa" }, TRUE },
  { "a digest may be unknown", { "/a", "00", 1, 2, 3, "aa" }, { "/a", "00", 1, 2, 3 }, TRUE },
};

static void
test_equality (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LuFileIds) ids = lu_file_ids_new ();
      LuFileId *a = lu_file_ids_intern (ids, &cases[i].a);
      LuFileId *b = lu_file_ids_intern (ids, &cases[i].b);

      g_test_message ("%s", cases[i].sentence);
      g_assert_cmpint (a == b, ==, cases[i].is_same);
      g_assert_cmpstr (a->path, ==, cases[i].a.path);
      g_assert_cmpstr (a->build_id, ==, cases[i].a.build_id);
      g_assert_cmpuint (a->inode, ==, cases[i].a.inode);
      g_assert_cmpstr (a->digest, ==, cases[i].a.digest);
      lu_file_id_unref (a);
      lu_file_id_unref (b);
    }
}

static void
test_references (void)
{
  g_autoptr (LuFileIds) ids = lu_file_ids_new ();
  char path[] = "/a";
  LuFileId *first = lu_file_ids_intern (ids, &(LuFileId){ .path = path, .inode = 1 });
  LuFileId *second = lu_file_id_ref (first);

  path[1] = 'b'; /* the path is a copy */
  g_assert_cmpstr (first->path, ==, "/a");
  lu_file_id_unref (first);
  first = lu_file_ids_intern (ids, &(LuFileId){ .path = "/a", .inode = 1 });
  g_assert_true (first == second);
  lu_file_id_unref (first);
  lu_file_id_unref (second);
  lu_file_id_unref (NULL);
}

static void
test_not_interned (void)
{
  LuFileId id = { .path = "/a" };

  lu_file_id_unref (lu_file_id_ref (&id));
  g_assert_cmpuint (id.n_references, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/file-id/equality", test_equality);
  g_test_add_func ("/base/file-id/references", test_references);
  g_test_add_func ("/base/file-id/not-interned", test_not_interned);
  return g_test_run ();
}
