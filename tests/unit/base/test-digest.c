/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-digest.c - the digest is SHA-256: sizes around its blocks, with values of another
 * implementation for the same bytes; and every byte counts. */

#include "base/digest.h"

#include <string.h>

#define SIZE_MAX_TRIED 100000

typedef struct
{
  gsize size;
  const char *hex;
} Known;

/* Digests of the bytes 0, 1 … 250, 0, 1 …, computed by Python's hashlib. */
static const Known known[] = {
  { 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
  { 1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
  { 55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59" },
  { 56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562" },
  { 63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488" },
  { 64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108" },
  { 65, "4bfd2c8b6f1eec7a2afeb48b934ee4b2694182027e6d0fc075074f2fabb31781" },
  { 1023, "1c5e88a585b61754df6137d66632a7348557a88358afc401b0a0a4fc427104a9" },
  { 1024, "2bce1ba628720664be4b9fdd77aae0678e5f0f3f02fc6ff641ec879094f6a404" },
  { 1025, "bc0b6b10b89b9487a12fda2a8cc13194e7091c217aabf8b92846274026f4bcd0" },
  { 4096, "d67c656e01756650d77717b0839985a056ec28ffe174601d690fc407a2ceffca" },
  { 100000, "cd2df694e424bc7968cc37f47751019e5ca0cd1bdf2e479ea537c3a1c32ee1aa" },
};

static void
test_known (void)
{
  g_autofree guint8 *bytes = g_malloc (SIZE_MAX_TRIED);

  for (gsize i = 0; i < SIZE_MAX_TRIED; i++)
    bytes[i] = (guint8) (i % 251);
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      guint8 digest[LU_DIGEST_SIZE];
      g_autoptr (GString) hex = g_string_new (NULL);

      lu_digest (bytes, known[i].size, digest);
      for (guint k = 0; k < sizeof digest; k++)
        g_string_append_printf (hex, "%02x", digest[k]);
      g_assert_cmpstr (hex->str, ==, known[i].hex);
    }
}

/* The buffer has exactly this size, so a sanitizer sees reads behind its end. */
static void
test_every_byte (void)
{
  static const gsize sizes[] = { 1, 64, 100, 1024, 1025, 8192, 10000 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree guint8 *bytes = g_malloc0 (sizes[i]);
      guint8 whole[LU_DIGEST_SIZE], changed[LU_DIGEST_SIZE];

      lu_digest (bytes, sizes[i], whole);
      for (gsize at = 0; at < sizes[i]; at += 1 + sizes[i] / 64)
        {
          bytes[at] ^= 0x10;
          lu_digest (bytes, sizes[i], changed);
          bytes[at] ^= 0x10;
          g_assert_true (memcmp (whole, changed, sizeof whole) != 0);
        }
      lu_digest (bytes, sizes[i] - 1, changed);
      g_assert_true (memcmp (whole, changed, sizeof whole) != 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/digest/known", test_known);
  g_test_add_func ("/digest/every-byte", test_every_byte);
  return g_test_run ();
}
