/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* digest.c - BLAKE3 as its paper defines it (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: "BLAKE3,
 * one function, fast everywhere", sections 2.1 to 2.4), in the plain hash mode; see digest.h.
 *
 * The tree is made level by level: chaining values of all chunks, of pairs of them, of pairs of
 * these. An odd one at the end goes up as it is, which gives the same tree as the paper's rule that
 * a left subtree holds the largest power of two of chunks. On each level eight nodes are hashed at
 * once, each in one lane of vectors of the compiler's; what is left over takes unused lanes. */

#include "base/digest.h"

#include <string.h>

#if defined __x86_64__ && __has_include(<sys/platform/x86.h>) /* glibc 2.33 */
#include <sys/platform/x86.h>
#define GLIBC_KNOWS_CPU 1
#else
#define GLIBC_KNOWS_CPU 0
#endif

#define LANES       8
#define CHUNK_SIZE  1024
#define BLOCK_SIZE  64
#define BLOCK_WORDS 16
#define ROUNDS      7

enum
{
  CHUNK_START = 1 << 0,
  CHUNK_END = 1 << 1,
  PARENT = 1 << 2,
  ROOT = 1 << 3,
};

#if defined __clang__ || __GNUC__ >= 12
#define HAS_SHUFFLEVECTOR 1
#else
#define HAS_SHUFFLEVECTOR 0
#endif
/* Two groups of lanes at once, in registers twice as wide. */
#if defined __x86_64__ && HAS_SHUFFLEVECTOR
#define HAS_TWO 1
#else
#define HAS_TWO 0
#endif

typedef guint32 Vector __attribute__ ((vector_size (4 * LANES)));
typedef guint32 Wide __attribute__ ((vector_size (8 * LANES)));

/* The first words of the fractional parts of square roots, as in SHA-256. */
static const guint32 iv[8] = {
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* Where each round takes its words from: the permutation of the paper's table 2, repeated. */
static const guint8 schedule[ROUNDS][BLOCK_WORDS] = {
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
  { 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8 },
  { 3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1 },
  { 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6 },
  { 12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4 },
  { 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7 },
  { 11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13 },
};

/* Up to LANES nodes of one level: chunks of `size` bytes each, or pairs of chaining values. */
typedef struct
{
  const guint8 *bytes;
  gsize stride, size; /* from node to node; of each */
  guint n;
  guint64 first; /* number of the first chunk; 0 for pairs */
  guint32 flags; /* of all blocks */
  guint32 first_flags, last_flags;
} Nodes;

/* A vector is never passed by value: how depends on the CPU a function is for. */
#define FILL(type, value) ((type){ 0 } + (value))
#define ROTATE(v, n)      ((v) >> (n) | (v) << (32 - (n)))

#define MIX(a, b, c, d, x, y)                                                                      \
  do                                                                                               \
    {                                                                                              \
      v[a] += v[b] + (x);                                                                          \
      v[d] = ROTATE (v[d] ^ v[a], 16);                                                             \
      v[c] += v[d];                                                                                \
      v[b] = ROTATE (v[b] ^ v[c], 12);                                                             \
      v[a] += v[b] + (y);                                                                          \
      v[d] = ROTATE (v[d] ^ v[a], 8);                                                              \
      v[c] += v[d];                                                                                \
      v[b] = ROTATE (v[b] ^ v[c], 7);                                                              \
    }                                                                                              \
  while (0)

#define ROUND(s)                                                                                   \
  do                                                                                               \
    {                                                                                              \
      MIX (0, 4, 8, 12, m[s[0]], m[s[1]]);                                                         \
      MIX (1, 5, 9, 13, m[s[2]], m[s[3]]);                                                         \
      MIX (2, 6, 10, 14, m[s[4]], m[s[5]]);                                                        \
      MIX (3, 7, 11, 15, m[s[6]], m[s[7]]);                                                        \
      MIX (0, 5, 10, 15, m[s[8]], m[s[9]]);                                                        \
      MIX (1, 6, 11, 12, m[s[10]], m[s[11]]);                                                      \
      MIX (2, 7, 8, 13, m[s[12]], m[s[13]]);                                                       \
      MIX (3, 4, 9, 14, m[s[14]], m[s[15]]);                                                       \
    }                                                                                              \
  while (0)

/* Written out, so that words of the block are found while compiling. */
#define ALL_ROUNDS                                                                                 \
  do                                                                                               \
    {                                                                                              \
      ROUND (schedule[0]);                                                                         \
      ROUND (schedule[1]);                                                                         \
      ROUND (schedule[2]);                                                                         \
      ROUND (schedule[3]);                                                                         \
      ROUND (schedule[4]);                                                                         \
      ROUND (schedule[5]);                                                                         \
      ROUND (schedule[6]);                                                                         \
    }                                                                                              \
  while (0)

/* A thousand instructions on registers and nothing else: sanitizers find nothing here, and take
 * minutes to compile their checks. What reads the caller's bytes is outside. */
#if defined __clang__
#define UNCHECKED __attribute__ ((no_sanitize ("address", "thread", "undefined", "coverage")))
#else
#define UNCHECKED __attribute__ ((no_sanitize ("address", "thread", "undefined")))
#endif

/* One block of each lane. */
typedef struct
{
  Vector chain[8], words[BLOCK_WORDS], low, high;
  guint32 length, flags;
} Block;

UNCHECKED __attribute__ ((always_inline)) static inline void
compress_inline (Block *block)
{
  Vector *chain = block->chain, *m = block->words;
  Vector v[16];

  memcpy (v, chain, 8 * sizeof *v);
  for (guint i = 0; i < 4; i++)
    v[8 + i] = FILL (Vector, iv[i]);
  v[12] = block->low;
  v[13] = block->high;
  v[14] = FILL (Vector, block->length);
  v[15] = FILL (Vector, block->flags);
  ALL_ROUNDS;
  for (guint i = 0; i < 8; i++)
    chain[i] = v[i] ^ v[8 + i];
}

UNCHECKED static void
compress_plain (Block *block)
{
  compress_inline (block);
}

#if defined __x86_64__
UNCHECKED __attribute__ ((target ("avx2"))) static void
compress_avx2 (Block *block)
{
  compress_inline (block);
}

#endif

#if HAS_TWO
#define JOIN(a, b)                                                                                 \
  __builtin_shufflevector (a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define LOW_HALF(a)  __builtin_shufflevector (a, a, 0, 1, 2, 3, 4, 5, 6, 7)
#define HIGH_HALF(a) __builtin_shufflevector (a, a, 8, 9, 10, 11, 12, 13, 14, 15)

/* Two blocks at once, of equal length and flags, side by side. */
UNCHECKED __attribute__ ((target ("avx2,avx512f,avx512vl"))) static void
compress_two (Block blocks[2])
{
  Wide m[BLOCK_WORDS], v[16];

  for (guint i = 0; i < BLOCK_WORDS; i++)
    m[i] = JOIN (blocks[0].words[i], blocks[1].words[i]);
  for (guint i = 0; i < 8; i++)
    v[i] = JOIN (blocks[0].chain[i], blocks[1].chain[i]);
  for (guint i = 0; i < 4; i++)
    v[8 + i] = FILL (Wide, iv[i]);
  v[12] = JOIN (blocks[0].low, blocks[1].low);
  v[13] = JOIN (blocks[0].high, blocks[1].high);
  v[14] = FILL (Wide, blocks[0].length);
  v[15] = FILL (Wide, blocks[0].flags);
  ALL_ROUNDS;
  for (guint i = 0; i < 8; i++)
    {
      Wide word = v[i] ^ v[8 + i];

      blocks[0].chain[i] = LOW_HALF (word);
      blocks[1].chain[i] = HIGH_HALF (word);
    }
}
#endif

/* GCC has had the one that makes wider and narrower vectors, too, since version 12. */
#if HAS_SHUFFLEVECTOR
#define SHUFFLE(a, b, ...) __builtin_shufflevector (a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle (a, b, (Vector){ __VA_ARGS__ })
#endif

/* Lanes to words: an 8 × 8 matrix is transposed by swapping halves of 1, 2 and 4 elements. */
#define ZIP_LOW(a, b)    SHUFFLE (a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define ZIP_HIGH(a, b)   SHUFFLE (a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define PAIRS_LOW(a, b)  SHUFFLE (a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define PAIRS_HIGH(a, b) SHUFFLE (a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define FOURS_LOW(a, b)  SHUFFLE (a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define FOURS_HIGH(a, b) SHUFFLE (a, b, 4, 5, 6, 7, 12, 13, 14, 15)

__attribute__ ((always_inline)) static inline void
transpose (Vector m[LANES])
{
  Vector a[LANES], b[LANES];

  for (guint i = 0; i < LANES; i += 2)
    {
      a[i] = ZIP_LOW (m[i], m[i + 1]);
      a[i + 1] = ZIP_HIGH (m[i], m[i + 1]);
    }
  for (guint i = 0; i < LANES; i += 4)
    {
      b[i] = PAIRS_LOW (a[i], a[i + 2]);
      b[i + 1] = PAIRS_HIGH (a[i], a[i + 2]);
      b[i + 2] = PAIRS_LOW (a[i + 1], a[i + 3]);
      b[i + 3] = PAIRS_HIGH (a[i + 1], a[i + 3]);
    }
  for (guint i = 0; i < LANES / 2; i++)
    {
      m[i] = FOURS_LOW (b[i], b[i + 4]);
      m[i + 4] = FOURS_HIGH (b[i], b[i + 4]);
    }
}

/* Word i of each lane's block of `length` bytes, padded with zeros. */
__attribute__ ((always_inline)) static inline void
load (const Nodes *nodes, gsize at, gsize length, Vector m[BLOCK_WORDS])
{
  for (guint lane = 0; lane < LANES; lane++)
    {
      guint8 block[BLOCK_SIZE] = { 0 };

      memcpy (block, nodes->bytes + MIN (lane, nodes->n - 1) * nodes->stride + at, length);
      memcpy (&m[lane], block, sizeof *m);
      memcpy (&m[LANES + lane], block + sizeof *m, sizeof *m);
    }
  transpose (m);
  transpose (m + LANES);
}

/* Of one group of lanes */

__attribute__ ((always_inline)) static inline void
begin (Block *block, const Nodes *nodes)
{
  *block = (Block){ .low = { 0 } };
  for (guint i = 0; i < 8; i++)
    block->chain[i] = FILL (Vector, iv[i]);
  for (guint lane = 0; lane < LANES && nodes->flags == 0; lane++)
    {
      block->low[lane] = (guint32) (nodes->first + lane);
      block->high[lane] = (guint32) ((nodes->first + lane) >> 32);
    }
}

/* The block of each lane at `at`; returns its length. */
__attribute__ ((always_inline)) static inline gsize
load_block (Block *block, const Nodes *nodes, gsize at)
{
  gsize length = MIN (BLOCK_SIZE, nodes->size - at);

  block->length = (guint32) length;
  block->flags = nodes->flags | (at == 0 ? nodes->first_flags : 0)
                 | (at + length == nodes->size ? nodes->last_flags : 0);
  if (G_LIKELY (length == BLOCK_SIZE))
    load (nodes, at, BLOCK_SIZE, block->words);
  else
    load (nodes, at, length, block->words);
  return length;
}

static void
finish (const Block *block, const Nodes *nodes, guint8 *chaining_values)
{
  for (guint lane = 0; lane < nodes->n; lane++)
    for (guint i = 0; i < 8; i++)
      {
        guint32 word = block->chain[i][lane];

        memcpy (chaining_values + LU_DIGEST_SIZE * lane + 4 * i, &word, sizeof word);
      }
}

__attribute__ ((always_inline)) static inline void
hash_inline (const Nodes *nodes, guint8 *chaining_values, void (*compress) (Block *))
{
  Block block;
  gsize at = 0;

  begin (&block, nodes);
  do
    {
      at += load_block (&block, nodes, at);
      compress (&block);
    }
  while (at < nodes->size);
  finish (&block, nodes, chaining_values);
}

static void
hash_plain (const Nodes *nodes, guint8 *chaining_values)
{
  hash_inline (nodes, chaining_values, compress_plain);
}

#if defined __x86_64__
__attribute__ ((target ("avx2"))) static void
hash_avx2 (const Nodes *nodes, guint8 *chaining_values)
{
  hash_inline (nodes, chaining_values, compress_avx2);
}

#endif

#if HAS_TWO
/* Two groups, of LANES nodes each. */
__attribute__ ((target ("avx2,avx512f,avx512vl"))) static void
hash_two (const Nodes nodes[2], guint8 *chaining_values)
{
  Block blocks[2];
  gsize at = 0;

  begin (&blocks[0], &nodes[0]);
  begin (&blocks[1], &nodes[1]);
  do
    {
      load_block (&blocks[0], &nodes[0], at);
      at += load_block (&blocks[1], &nodes[1], at);
      compress_two (blocks);
    }
  while (at < nodes[0].size);
  finish (&blocks[0], &nodes[0], chaining_values);
  finish (&blocks[1], &nodes[1], chaining_values + LANES * LU_DIGEST_SIZE);
}
#endif

/* The compiler's way has its library ask the CPU at each start, and in a virtual machine each of
 * ten questions takes 3 µs. */
#if GLIBC_KNOWS_CPU
static gboolean
has_feature (guint bit)
{
  const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf (CPUID_INDEX_7);

  return (leaf->active_array[cpuid_register_index_ebx] >> bit % 32 & 1) != 0;
}

#define has_avx2()     has_feature (x86_cpu_AVX2)
#define has_avx512vl() has_feature (x86_cpu_AVX512VL)
#else
#define has_avx2()     __builtin_cpu_supports ("avx2")
#define has_avx512vl() __builtin_cpu_supports ("avx512vl")
#endif

static void
hash (const Nodes *nodes, guint8 *chaining_values)
{
#if defined __x86_64__
  if (has_avx2 ())
    hash_avx2 (nodes, chaining_values);
  else
#endif
    hash_plain (nodes, chaining_values);
}

/* The next groups of lanes: the first `n` nodes. */
static void
advance (Nodes *nodes, gsize n)
{
  nodes->bytes += n * nodes->stride;
  nodes->first += n;
}

/* All nodes of a level, of equal size. Chaining values may overwrite the nodes they are from. */
static void
hash_all (Nodes nodes, gsize n, guint8 *chaining_values)
{
  gsize i = 0;

  nodes.n = LANES;
#if HAS_TWO
  for (; has_avx512vl () && i + LANES < n; i += 2 * LANES)
    {
      Nodes two[2] = { nodes, nodes };

      advance (&two[1], LANES);
      two[1].n = (guint) MIN (LANES, n - i - LANES);
      hash_two (two, chaining_values + i * LU_DIGEST_SIZE);
      advance (&nodes, 2 * LANES);
    }
#endif
  for (; i < n; i += LANES)
    {
      nodes.n = (guint) MIN (LANES, n - i);
      hash (&nodes, chaining_values + i * LU_DIGEST_SIZE);
      advance (&nodes, LANES);
    }
}

/* Chaining values of all chunks; the last one may be short (and is empty only for no bytes). */
static void
hash_chunks (const guint8 *bytes, gsize size, guint32 root, guint8 *chaining_values)
{
  gsize n_full = size > 0 ? (size - 1) / CHUNK_SIZE : 0; /* the last one apart */
  Nodes nodes = {
    .bytes = bytes,
    .stride = CHUNK_SIZE,
    .size = CHUNK_SIZE,
    .first_flags = CHUNK_START,
    .last_flags = CHUNK_END,
  };

  hash_all (nodes, n_full, chaining_values);
  nodes.bytes += n_full * CHUNK_SIZE;
  nodes.first = n_full;
  nodes.size = size - n_full * CHUNK_SIZE;
  nodes.last_flags |= root;
  hash_all (nodes, 1, chaining_values + n_full * LU_DIGEST_SIZE);
}

void
lu_digest (gconstpointer bytes, gsize size, guint8 digest[LU_DIGEST_SIZE])
{
  static const guint8 nothing;
  gsize n = size > 0 ? (size - 1) / CHUNK_SIZE + 1 : 1;
  g_autofree guint8 *level = g_malloc (n * LU_DIGEST_SIZE);

  hash_chunks (size > 0 ? bytes : &nothing, size, n == 1 ? ROOT : 0, level);
  while (n > 1)
    {
      Nodes pairs = {
        .bytes = level,
        .stride = 2 * LU_DIGEST_SIZE,
        .size = 2 * LU_DIGEST_SIZE,
        .flags = PARENT | (n == 2 ? ROOT : 0),
      };

      hash_all (pairs, n / 2, level);
      if (n % 2 == 1)
        memmove (level + n / 2 * LU_DIGEST_SIZE, level + (n - 1) * LU_DIGEST_SIZE, LU_DIGEST_SIZE);
      n = (n + 1) / 2;
    }
  memcpy (digest, level, LU_DIGEST_SIZE);
}
