/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-digest.c - the digest is BLAKE3: of sizes around blocks, chunks and levels of the tree, with
 * values that another implementation gives for the same bytes; and every byte counts. */

#include "base/digest.h"

#include <string.h>

#define SIZE_MAX_TRIED (200 * 1024)

typedef struct
{
  gsize size;
  const char *hex;
} Known;

/* Of the bytes 0, 1 … 250, 0, 1 …; computed with the BLAKE3 in LLVM 15. */
static const Known known[] = {
  { 0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262" },
  { 1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213" },
  { 63, "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b" },
  { 64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98" },
  { 65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee" },
  { 1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11" },
  { 1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7" },
  { 1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444" },
  { 2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a" },
  { 2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030" },
  { 3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3" },
  { 4096, "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969" },
  { 5000, "ee78d92070de3df1c57c37002abf0a6b1a6589acdeef4d8ffac7cf3d9e8f2836" },
  { 7168, "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a" },
  { 8192, "aae792484c8efe4f19e2ca7d371d8c467ffb10748d8a5a1ae579948f718a2a63" },
  { 8193, "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b" },
  { 9217, "d42c90aa30bee83ecb52ad31b685d566145649496764878873598cef582d4d8f" },
  { 16384, "f875d6646de28985646f34ee13be9a576fd515f76b5b0a26bb324735041ddde4" },
  { 31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47" },
  { 102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085" },
  { 199999, "00ccfa6d44e59e5a4c2efafaf7e2b88c8bb70fe1af787b09a084892553daef59" },
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

/* Also that nothing is read behind the end: the buffer has exactly the size. */
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
