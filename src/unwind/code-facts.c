/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-facts.c - reads code from files and remembers what it says; see code-facts.h. */

#include "unwind/code-facts.h"

#include "module/function-frame.h"
#include "module/leaf-end.h"
#include "table/cfi.h"

/* Returns where in the file an address in the mapping is. */
static guint64
file_offset_of (const LuDwflMapping *mapping, guint64 pc)
{
  return mapping->file_offset + (pc - mapping->start);
}

/* Returns what is kept under the key. */
static LuCallKind
known_kind (const LuDwflMapping *mapping, guint64 key)
{
  const LuCallSites *sites = lu_module_call_sites (mapping->module);

  return sites != NULL ? lu_call_sites_find (sites, key) : LU_CALL_UNKNOWN;
}

/* Returns the answer if the code was not read. It is not kept: another process may have a file that
 * is unreadable here. */
static LuCallKind
kind_without_code (LuCodeResult result)
{
  return result == LU_CODE_OVER_BUDGET ? LU_CALL_UNKNOWN : LU_CALL_NONE;
}

/* Where a leaf is. */
typedef struct
{
  const LuArch *arch;
  const LuDwflMapping *mapping;
  guint64 pc;
} LeafPlace;

/* Answers about leaves are kept with those about calls, above the offsets that files have. */
#define LEAF_KEY (G_GUINT64_CONSTANT (1) << 61)
#define MORE_KEY (LEAF_KEY | LEAF_KEY >> 1)

/* Answers as kinds of calls, which is what is kept; the last two under MORE_KEY. */
#define KEPT_BARE      LU_CALL_DIRECT
#define KEPT_FRAMED    LU_CALL_INDIRECT
#define KEPT_UNDECIDED LU_CALL_NONE
#define KEPT_PUSHED    LU_CALL_NONE
#define KEPT_ROOT      LU_CALL_DIRECT

/* Answers about functions that end with a call. */
#define LAST_KEY      (LEAF_KEY | G_GUINT64_CONSTANT (1) << 57)
#define KEPT_LAST     LU_CALL_DIRECT
#define KEPT_NOT_LAST LU_CALL_NONE

/* A leaf that pushes a register, or pops words, is kept as a number of seven digits of three
 * values. One that is not there any more makes the answer unknown. */
#define N_DIGITS         7
#define DIGIT_KEY(digit) (MORE_KEY | (1 + (guint64) (digit)) << 57)
#define N_REGISTERS      16

/* The first number of a leaf that pops words, and how often the depth and the distance between the
 * two words that matter count. Compilers save the frame pointer among the first registers. */
#define FIRST_POPPED (4 * N_REGISTERS)
#define MAX_DISTANCE 8
#define N_POPPED     (128 * MAX_DISTANCE)

/* The kinds that the others have. */
static const guint8 digit_kinds[] = { LU_LEAF_UNDECIDED, LU_LEAF_BARE, LU_LEAF_FRAMED,
                                      LU_LEAF_PUSHED };

static LuLeaf
popped_of (guint number)
{
  guint depth = number / MAX_DISTANCE, distance = number % MAX_DISTANCE;

  if (depth < distance)
    return LU_LEAF_UNDECIDED;
  return LU_LEAF_POPPED | depth << LU_LEAF_DEPTH_SHIFT
         | (distance > 0 ? depth - distance + 1 : 0) << LU_LEAF_FP_SHIFT;
}

/* Returns the number of such a leaf; G_MAXUINT if it has none. */
static guint
number_of_popped (LuLeaf leaf)
{
  guint depth = LU_LEAF_DEPTH_OF (leaf), saved = LU_LEAF_FP_OF (leaf);
  guint distance = saved > 0 ? depth + 1 - saved : 0;

  return depth < N_POPPED / MAX_DISTANCE && distance < MAX_DISTANCE
             ? FIRST_POPPED + depth * MAX_DISTANCE + distance
             : G_MAXUINT;
}

static LuLeaf
known_number_leaf (const LuDwflMapping *mapping, guint64 offset)
{
  guint number = 0;

  for (guint i = N_DIGITS; i > 0; i--)
    {
      LuCallKind digit = known_kind (mapping, DIGIT_KEY (i - 1) | offset);

      if (digit == LU_CALL_UNKNOWN)
        return LU_LEAF_UNKNOWN;
      number = number * 3 + digit - LU_CALL_NONE;
    }
  if (number >= FIRST_POPPED)
    return popped_of (number - FIRST_POPPED);
  return digit_kinds[number / N_REGISTERS % G_N_ELEMENTS (digit_kinds)]
         | (1 + number % N_REGISTERS) << LU_LEAF_REGISTER_SHIFT;
}

static guint
number_of_register_leaf (LuLeaf leaf)
{
  guint number = LU_LEAF_REGISTER_OF (leaf) - 1;

  for (guint i = 0; i < G_N_ELEMENTS (digit_kinds); i++)
    if (digit_kinds[i] == LU_LEAF_KIND (leaf))
      number += i * N_REGISTERS;
  return number;
}

static void
keep_number (LuCallSites *sites, guint64 offset, guint number)
{
  for (guint i = 0; i < N_DIGITS; i++, number /= 3)
    lu_call_sites_add (sites, DIGIT_KEY (i) | offset, LU_CALL_NONE + number % 3);
}

static LuLeaf
known_leaf (const LuDwflMapping *mapping, guint64 offset)
{
  LuCallKind kept = known_kind (mapping, LEAF_KEY | offset);

  if (kept == KEPT_BARE)
    return LU_LEAF_BARE;
  if (kept == KEPT_FRAMED)
    return LU_LEAF_FRAMED;
  switch (known_kind (mapping, MORE_KEY | offset))
    {
    case KEPT_PUSHED:
      return LU_LEAF_PUSHED;
    case KEPT_ROOT:
      return LU_LEAF_ROOT;
    default:
      return kept == KEPT_UNDECIDED ? LU_LEAF_UNDECIDED : known_number_leaf (mapping, offset);
    }
}

/* Each answer is kept under one key, so that none is mistaken for another when it is replaced. */
static void
keep_leaf (const LuDwflMapping *mapping, guint64 offset, LuLeaf kind)
{
  LuCallSites *sites = lu_module_make_call_sites (mapping->module);

  if (LU_LEAF_REGISTER_OF (kind) != 0)
    keep_number (sites, offset, number_of_register_leaf (kind));
  else if (LU_LEAF_KIND (kind) == LU_LEAF_POPPED)
    keep_number (sites, offset, number_of_popped (kind));
  else if (kind == LU_LEAF_PUSHED || kind == LU_LEAF_ROOT)
    lu_call_sites_add (sites, MORE_KEY | offset, kind == LU_LEAF_ROOT ? KEPT_ROOT : KEPT_PUSHED);
  else
    lu_call_sites_add (sites, LEAF_KEY | offset,
                       kind == LU_LEAF_BARE     ? KEPT_BARE
                       : kind == LU_LEAF_FRAMED ? KEPT_FRAMED
                                                : KEPT_UNDECIDED);
}

/* Returns whether the code of a mapping may still be written: into a file that is no ELF file, a
 * program writes code that it generates. */
static gboolean
is_generated (const LuDwflMapping *mapping)
{
  return lu_module_image (mapping->module) == NULL;
}

/* Reads what the next few instructions show. */
static LuCodeResult
read_leaf (LuCodeReader *reader, const LuMappedModule *file, const LeafPlace *place, LuLeaf *kind)
{
  const LuDwflMapping *mapping = place->mapping;
  guint64 offset = file_offset_of (mapping, place->pc);
  gsize size = place->arch->files.leaf_bytes;
  guint8 bytes[LU_ARCH_MAX_LEAF_BYTES];
  LuCodeResult result;

  *kind = LU_LEAF_UNDECIDED;
  if (mapping->end - place->pc < size)
    return LU_CODE_READ;
  result = is_generated (mapping) ? lu_code_reader_read_anew (reader, file, offset, bytes, size)
                                  : lu_code_reader_read (reader, file, offset, bytes, size);
  if (result == LU_CODE_READ)
    *kind = place->arch->leaf_of (bytes);
  if (LU_LEAF_KIND (*kind) == LU_LEAF_POPPED && number_of_popped (*kind) == G_MAXUINT)
    *kind = LU_LEAF_UNDECIDED;
  return result;
}

/* Follows all paths if those say nothing. */
static LuCodeResult
follow_leaf (LuCodeReader *reader, const LuMappedModule *file, const LeafPlace *place, LuLeaf *kind)
{
  const LuDwflMapping *mapping = place->mapping;
  guint64 offset = file_offset_of (mapping, place->pc);
  const LuLeafCode code = { .file_offset = offset,
                            .before = MIN (place->pc - mapping->start, offset),
                            .after = mapping->end - place->pc };
  LuCodeResult result;
  gboolean is_bare;

  if (*kind != LU_LEAF_UNDECIDED || place->arch->word_size != 8 || place->arch->has_link_register)
    return LU_CODE_READ;
  result = lu_leaf_end (reader, file, &code, &is_bare);
  if (is_bare)
    *kind = LU_LEAF_BARE;
  return result;
}

LuLeaf
lu_code_leaf (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuDwflMapping *mapping,
              guint64 pc)
{
  const LeafPlace place = { .arch = arch, .mapping = mapping, .pc = pc };
  guint64 offset = file_offset_of (mapping, pc);
  LuLeaf kind = known_leaf (mapping, offset);
  LuMappedModule file;
  LuCodeResult result;

  if (arch->leaf_of == NULL)
    return LU_LEAF_UNDECIDED;
  if (kind != LU_LEAF_UNKNOWN || reader == NULL)
    return kind;
  file = lu_code_file_of (mapping, pid);
  result = read_leaf (reader, &file, &place, &kind);
  if (result != LU_CODE_READ)
    return result == LU_CODE_OVER_BUDGET ? LU_LEAF_UNKNOWN : LU_LEAF_UNDECIDED;
  result = follow_leaf (reader, &file, &place, &kind);
  if (result == LU_CODE_READ && !is_generated (mapping))
    keep_leaf (mapping, offset, kind);
  return kind;
}

LuProviderResult
lu_code_is_root (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuDwflMapping *mapping,
                 guint64 pc)
{
  switch (lu_code_leaf (reader, pid, arch, mapping, pc))
    {
    case LU_LEAF_UNKNOWN:
      return LU_PROVIDER_UNKNOWN;
    case LU_LEAF_ROOT:
      return LU_PROVIDER_FOUND;
    default:
      return LU_PROVIDER_NONE;
    }
}

/* Returns whether the FDE of the code before an ELF address ends there. */
static gboolean
is_end_of_fde (LuImage *image, guint64 address)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_look_ups (image);
  guint64 from, to;
  LuFde fde;

  return cfi != NULL && lu_cfi_find (cfi, address - 1, &fde, &from, &to) && fde.end == address;
}

gboolean
lu_code_was_last_call (const LuDwflMapping *mapping, guint64 pc)
{
  return known_kind (mapping, LAST_KEY | file_offset_of (mapping, pc)) == KEPT_LAST;
}

gboolean
lu_code_is_last_call (const LuDwflMapping *mapping, guint64 pc)
{
  guint64 key = LAST_KEY | file_offset_of (mapping, pc);
  LuImage *image = lu_module_image (mapping->module);
  LuCallKind kept = known_kind (mapping, key);

  if (kept == LU_CALL_UNKNOWN)
    {
      kept = image != NULL && is_end_of_fde (image, pc - mapping->bias) ? KEPT_LAST : KEPT_NOT_LAST;
      lu_call_sites_add (lu_module_make_call_sites (mapping->module), key, kept);
    }
  return kept == KEPT_LAST;
}

/* Returns FALSE if the file is an ELF file without code at the address. */
static gboolean
has_code_at (const LuDwflMapping *mapping, guint64 address)
{
  LuImage *image = lu_module_image (mapping->module);
  guint64 elf_address = address - mapping->bias;
  const LuSegment *segments;
  guint n;

  if (image == NULL)
    return TRUE;
  segments = lu_image_segments (image, &n);
  for (guint i = 0; i < n; i++)
    if (segments[i].executable && elf_address >= segments[i].vaddr
        && elf_address - segments[i].vaddr < segments[i].memory_size)
      return TRUE;
  return FALSE;
}

LuCallKind
lu_code_call (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuDwflMapping *mapping,
              guint64 pc)
{
  guint64 offset = file_offset_of (mapping, pc);
  LuCallKind kind = known_kind (mapping, offset);
  gsize size = MIN (LU_CALL_LONGEST, offset);
  LuMappedModule file;
  guint8 bytes[LU_CALL_LONGEST];
  gint64 displacement;
  LuCodeResult result;

  if (kind != LU_CALL_UNKNOWN || reader == NULL)
    return kind;
  file = lu_code_file_of (mapping, pid);
  result = lu_code_reader_read (reader, &file, offset - size, bytes, size);
  if (result != LU_CODE_READ)
    return kind_without_code (result);
  kind = arch->decode_call (bytes, size, &displacement);
  if (kind == LU_CALL_DIRECT && !has_code_at (mapping, pc + (guint64) displacement))
    kind = LU_CALL_NONE;
  lu_call_sites_add (lu_module_make_call_sites (mapping->module), offset, kind);
  return kind;
}

/* The answers about pairs of a call and the code that it leads to are kept under a hash. */
static guint64
pair_key (guint64 offset, guint64 to)
{
  guint64 hash = (offset * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) ^ to)
                 * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  return G_GUINT64_CONSTANT (1) << 60 | hash >> 4;
}

/* Returns whether a procedure linkage table of the file may lead to the same file. Programs call
 * their own functions without it. */
static gboolean
may_call_own_exports (const LuDwflMapping *mapping)
{
  LuImage *image = lu_module_image (mapping->module);

  return image == NULL || !lu_image_is_program (image);
}

/* Returns whether the target of a call leads to the code of the question, as far as that is not
 * through a procedure linkage table. */
static gboolean
is_target (const LuFrameCall *call, guint64 target)
{
  LuTableSlot *slot = lu_module_table_slot (call->mapping->module);
  gboolean is_within = call->mapping->module == call->code->module;
  guint64 start = is_within ? call->to - call->code->bias : LU_JUMP_ANYWHERE;

  if (!call->is_exact)
    return is_within && lu_fp_is_near (target, call->to);
  return slot != NULL && lu_table_slot_leads_to (slot, target - call->mapping->bias, start);
}

/* Has rows made for the file of the call, and sets *kind to DIRECT if those show that it leads to
 * the code. OVER_BUDGET: some of them have yet to come. */
static LuCodeResult
ask_rows (LuCodeReader *reader, const LuMappedModule *file, const LuFrameCall *call, guint64 target,
          LuCallKind *kind)
{
  LuTableSlot *slot = lu_module_table_slot (call->mapping->module);
  gboolean is_final = lu_code_reader_fill_gaps (reader, file, target - call->mapping->bias);
  guint64 leads[LU_TABLE_LEADS];
  guint n = slot != NULL ? lu_table_slot_find_leads (slot, target - call->mapping->bias, leads) : 0;

  /* Other code than the target's says where the functions lead to which that jumps. */
  for (guint i = 0; i < n && is_final; i++)
    is_final = lu_code_reader_fill_gaps (reader, file, leads[i]);
  /* The rows that say where the code leads may come last, and between this look and the next. */
  is_final = is_final && (slot == NULL || !lu_table_slot_may_get_rows (slot));
  if (is_target (call, target))
    *kind = LU_CALL_DIRECT;
  return *kind == LU_CALL_DIRECT || is_final ? LU_CODE_READ : LU_CODE_OVER_BUDGET;
}

/* Sets *kind to DIRECT if an entry of a procedure linkage table is at an offset. */
static LuCodeResult
read_linkage (LuCodeReader *reader, const LuMappedModule *file, const LuArch *arch, guint64 offset,
              LuCallKind *kind)
{
  guint8 bytes[LU_ARCH_PLT_BYTES];
  LuCodeResult result = lu_code_reader_read (reader, file, offset, bytes, sizeof bytes);

  if (result == LU_CODE_READ && arch->is_plt_entry (bytes))
    *kind = LU_CALL_DIRECT;
  return result;
}

/* Sets *kind to DIRECT if the call leads to the code, perhaps through a procedure linkage table,
 * otherwise to NONE. */
static LuCodeResult
read_leads_to (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuFrameCall *call,
               LuCallKind *kind)
{
  const LuDwflMapping *mapping = call->mapping;
  LuMappedModule file = lu_code_file_of (mapping, pid);
  guint64 offset = file_offset_of (mapping, call->pc), target;
  gboolean is_within = mapping->module == call->code->module;
  guint8 bytes[LU_CALL_LONGEST];
  gsize size = MIN (LU_CALL_LONGEST, offset);
  gint64 displacement;
  LuCodeResult result = lu_code_reader_read (reader, &file, offset - size, bytes, size);

  *kind = LU_CALL_NONE;
  if (result != LU_CODE_READ || arch->decode_call (bytes, size, &displacement) != LU_CALL_DIRECT)
    return result;
  target = call->pc + (guint64) displacement;
  if (is_target (call, target))
    *kind = LU_CALL_DIRECT;
  if (*kind == LU_CALL_DIRECT || arch->is_plt_entry == NULL
      || target - mapping->start > mapping->end - mapping->start
      || mapping->end - target < LU_ARCH_PLT_BYTES)
    return LU_CODE_READ;
  if (!is_within || may_call_own_exports (mapping))
    result = read_linkage (reader, &file, arch, file_offset_of (mapping, target), kind);
  /* The target may be code without CFI that jumps there, as in musl's start of a program. */
  return result == LU_CODE_READ && *kind != LU_CALL_DIRECT && call->is_exact
             ? ask_rows (reader, &file, call, target, kind)
             : result;
}

LuProviderResult
lu_code_leads_to (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuFrameCall *call)
{
  gboolean is_within = call->mapping->module == call->code->module;
  guint64 to = is_within ? file_offset_of (call->code, call->to) : 0;
  guint64 key =
      pair_key (file_offset_of (call->mapping, call->pc), to | (guint64) call->is_exact << 63);
  LuCallKind kind = lu_code_call (reader, pid, arch, call->mapping, call->pc);

  if (kind == LU_CALL_INDIRECT || kind == LU_CALL_NONE)
    return kind == LU_CALL_INDIRECT ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
  kind = known_kind (call->mapping, key);
  if (kind == LU_CALL_UNKNOWN && reader != NULL)
    {
      LuCodeResult result = read_leads_to (reader, pid, arch, call, &kind);

      if (result != LU_CODE_READ)
        kind = kind_without_code (result);
      else
        lu_call_sites_add (lu_module_make_call_sites (call->mapping->module), key, kind);
    }
  return kind == LU_CALL_UNKNOWN ? LU_PROVIDER_UNKNOWN
         : kind == LU_CALL_NONE  ? LU_PROVIDER_NONE
                                 : LU_PROVIDER_FOUND;
}

/* The answers about frames are kept with those about pairs, whose `to` has no such bit. */
#define FRAME_KEY (G_GUINT64_CONSTANT (1) << 62)

/* Reads the displacement of a direct call. */
static LuCodeResult
read_target (LuCodeReader *reader, const LuArch *arch, const LuFrameCall *call,
             const LuMappedModule *file, guint64 *target)
{
  guint64 offset = file_offset_of (call->mapping, call->pc);
  guint8 bytes[LU_CALL_LONGEST];
  gsize size = MIN (LU_CALL_LONGEST, offset);
  gint64 displacement = 0;
  LuCodeResult result = lu_code_reader_read (reader, file, offset - size, bytes, size);

  if (result == LU_CODE_READ && arch->decode_call (bytes, size, &displacement) != LU_CALL_DIRECT)
    return LU_CODE_UNREADABLE;
  *target = call->pc + (guint64) displacement;
  return result;
}

/* Looks at the code. UNKNOWN: it cannot be read now. */
static enum lu_leaf_kind
find_frame (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuFrameCall *call)
{
  LuMappedModule file = lu_code_file_of (call->mapping, pid);
  guint64 target;

  return read_target (reader, arch, call, &file, &target) == LU_CODE_READ ? lu_function_frame_at (
             reader, &file, target - call->mapping->bias, call->to - call->code->bias)
                                                                          : LU_LEAF_UNKNOWN;
}

enum lu_leaf_kind
lu_code_frame (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuFrameCall *call)
{
  guint64 key = pair_key (file_offset_of (call->mapping, call->pc),
                          file_offset_of (call->code, call->to) | FRAME_KEY);
  LuCallKind kind = known_kind (call->mapping, key);
  enum lu_leaf_kind leaf;

  if (call->mapping->module != call->code->module
      || arch->files.decoded_bits != 8 * arch->word_size)
    return LU_LEAF_UNDECIDED;
  if (kind != LU_CALL_UNKNOWN || reader == NULL)
    return kind == KEPT_BARE        ? LU_LEAF_BARE
           : kind == KEPT_FRAMED    ? LU_LEAF_FRAMED
           : kind == KEPT_UNDECIDED ? LU_LEAF_UNDECIDED
                                    : LU_LEAF_UNKNOWN;
  leaf = find_frame (reader, pid, arch, call);
  if (leaf == LU_LEAF_UNKNOWN)
    return LU_LEAF_UNDECIDED;
  lu_call_sites_add (lu_module_make_call_sites (call->mapping->module), key,
                     leaf == LU_LEAF_BARE     ? KEPT_BARE
                     : leaf == LU_LEAF_FRAMED ? KEPT_FRAMED
                                              : KEPT_UNDECIDED);
  return leaf;
}

/* Answers about calls that lead away are kept with those about pairs, too; `to` is all bits but
 * this one if the call may lead anywhere, and all below it if a function may. */
#define AWAY_KEY  (G_GUINT64_CONSTANT (1) << 61)
#define KEPT_ANY  LU_CALL_NONE
#define KEPT_HERE LU_CALL_INDIRECT
#define KEPT_AWAY LU_CALL_DIRECT

typedef struct
{
  guint64 any; /* for all addresses */
  guint64 to;
} ReachKeys;

/* Looks at the code, and keeps what it says. */
static LuProviderResult
find_reach (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuFrameCall *call,
            const ReachKeys *keys)
{
  LuCallSites *sites = lu_module_make_call_sites (call->mapping->module);
  LuMappedModule file = lu_code_file_of (call->mapping, pid);
  LuReach reach = LU_REACH_ANYWHERE;
  guint64 target, function;
  LuCodeResult result = read_target (reader, arch, call, &file, &target);

  if (result != LU_CODE_READ)
    return result == LU_CODE_OVER_BUDGET ? LU_PROVIDER_UNKNOWN : LU_PROVIDER_NONE;
  function = pair_key (file_offset_of (call->mapping, target), AWAY_KEY - 1);
  if (known_kind (call->mapping, function) == LU_CALL_UNKNOWN)
    result = lu_function_reach (reader, &file, target - call->mapping->bias,
                                call->to - call->code->bias, &reach);
  if (result != LU_CODE_READ)
    return result == LU_CODE_OVER_BUDGET ? LU_PROVIDER_UNKNOWN : LU_PROVIDER_NONE;
  if (reach == LU_REACH_ANYWHERE)
    {
      lu_call_sites_add (sites, keys->any, KEPT_ANY);
      lu_call_sites_add (sites, function, KEPT_ANY);
    }
  else
    lu_call_sites_add (sites, keys->to, reach == LU_REACH_HERE ? KEPT_HERE : KEPT_AWAY);
  return reach == LU_REACH_ELSEWHERE ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
}

LuProviderResult
lu_code_leads_away (LuCodeReader *reader, gint32 pid, const LuArch *arch, const LuFrameCall *call)
{
  guint64 offset = file_offset_of (call->mapping, call->pc);
  const ReachKeys keys = {
    .any = pair_key (offset, ~AWAY_KEY),
    .to = pair_key (offset, file_offset_of (call->code, call->to) | AWAY_KEY),
  };
  LuCallKind kind;

  if (call->mapping->module != call->code->module
      || arch->files.decoded_bits != 8 * arch->word_size)
    return LU_PROVIDER_NONE;
  kind = known_kind (call->mapping, keys.to); /* first: it is known of most calls that are made */
  if (kind != LU_CALL_UNKNOWN)
    return kind == KEPT_AWAY ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
  kind = lu_code_call (reader, pid, arch, call->mapping, call->pc);
  if (kind == LU_CALL_UNKNOWN)
    return LU_PROVIDER_UNKNOWN;
  if (kind != LU_CALL_DIRECT || known_kind (call->mapping, keys.any) != LU_CALL_UNKNOWN)
    return LU_PROVIDER_NONE;
  return reader != NULL ? find_reach (reader, pid, arch, call, &keys) : LU_PROVIDER_UNKNOWN;
}
