/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-types.c - a few of the kernel's structures, cut out of its BTF; see kernel-types.h.
 *
 * Types have numbers but no table of places, so they are gone through from the first one on, only
 * as far as needed, and the place of each 64th is kept. What is asked for stands near the front. */

#include "bpf/kernel-types.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TYPES_PER_MARK 64
#define MAX_WANTED     16
/* Of typedefs, const and the like before a type. */
#define MAX_CHAIN 32
/* Of structures without a name, and of arrays, in each other. */
#define MAX_DEPTH 8
/* Members that are looked at in all. */
#define MAX_MEMBERS (1u << 20)
/* The kernel's description has 5 to 10 MiB. */
#define MAX_BYTES (64u << 20)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* Linux 6.3 */
#endif

typedef struct
{
  const guint8 *types;
  gsize types_size;
  const char *strings; /* end with a NUL */
  gsize strings_size;
  GArray *marks; /* gsize: the places of types 1, 65, 129... */
  guint32 n_seen;
  gsize at; /* behind the last one seen */
  guint n_members;
} Types;

/* Types that are made: first a pointer, an index and the wanted structures, in their order. */
enum
{
  ID_POINTER = 1,
  ID_INDEX,
  ID_FIRST_STRUCT
};

typedef struct
{
  Types from;
  const LuKernelStruct *wanted;
  guint n_wanted;
  gsize places[MAX_WANTED]; /* of the structures, + 1 */
  GByteArray *structs, *others, *strings;
  guint32 n_ids;
} Cut;

/* Reading */

/* What follows a type of each kind: bytes, and bytes for each of its members. */
static const struct
{
  guint8 bytes, per_member;
} extras[] = {
  [BTF_KIND_INT] = { sizeof (guint32), 0 },
  [BTF_KIND_ARRAY] = { sizeof (struct btf_array), 0 },
  [BTF_KIND_STRUCT] = { 0, sizeof (struct btf_member) },
  [BTF_KIND_UNION] = { 0, sizeof (struct btf_member) },
  [BTF_KIND_ENUM] = { 0, sizeof (struct btf_enum) },
  [BTF_KIND_FUNC_PROTO] = { 0, sizeof (struct btf_param) },
  [BTF_KIND_VAR] = { sizeof (struct btf_var), 0 },
  [BTF_KIND_DATASEC] = { 0, sizeof (struct btf_var_secinfo) },
  [BTF_KIND_DECL_TAG] = { sizeof (struct btf_decl_tag), 0 },
  [19] = { 0, 12 }, /* BTF_KIND_ENUM64, Linux 6.0 */
};

static gboolean
types_init (Types *self, const guint8 *bytes, gsize size)
{
  struct btf_header header;

  if (size < sizeof header)
    return FALSE;
  memcpy (&header, bytes, sizeof header);
  if (header.magic != BTF_MAGIC || header.version != BTF_VERSION || header.hdr_len < sizeof header
      || header.hdr_len > size)
    return FALSE;
  bytes += header.hdr_len;
  size -= header.hdr_len;
  if (header.type_off > size || header.type_len > size - header.type_off || header.str_off > size
      || header.str_len > size - header.str_off || header.str_len == 0
      || bytes[header.str_off + header.str_len - 1] != 0)
    return FALSE;
  *self = (Types){ .types = bytes + header.type_off,
                   .types_size = header.type_len,
                   .strings = (const char *) bytes + header.str_off,
                   .strings_size = header.str_len };
  return TRUE;
}

static const char *
name_at (const Types *self, guint32 offset)
{
  return offset < self->strings_size ? self->strings + offset : "";
}

/* Moves `at` from the type there to the next one. FALSE: there is none, or of an unknown kind. */
static gboolean
read_type (const Types *self, gsize *at, struct btf_type *type)
{
  gsize left = self->types_size - *at, size = sizeof *type;
  guint kind;

  if (left < size)
    return FALSE;
  memcpy (type, self->types + *at, sizeof *type);
  kind = BTF_INFO_KIND (type->info);
  if (kind == BTF_KIND_UNKN || kind >= G_N_ELEMENTS (extras))
    return FALSE;
  size += extras[kind].bytes + (gsize) extras[kind].per_member * BTF_INFO_VLEN (type->info);
  if (left < size)
    return FALSE;
  *at += size;
  return TRUE;
}

/* Adds the next type to those whose places are known. */
static gboolean
see_next (Types *self, struct btf_type *type)
{
  gsize at = self->at;

  if (!read_type (self, &self->at, type))
    return FALSE;
  if (self->n_seen++ % TYPES_PER_MARK == 0)
    g_array_append_val (self->marks, at);
  return TRUE;
}

static gboolean
find_type (Types *self, guint32 id, struct btf_type *type, gsize *place)
{
  gsize at;

  while (self->n_seen < id)
    if (!see_next (self, type))
      return FALSE;
  if (id == 0)
    return FALSE;
  at = g_array_index (self->marks, gsize, (id - 1) / TYPES_PER_MARK);
  for (guint i = 0; i <= (id - 1) % TYPES_PER_MARK; i++)
    {
      *place = at;
      if (!read_type (self, &at, type))
        return FALSE;
    }
  return TRUE;
}

/* Behind typedefs, const and the like. */
static gboolean
resolve_type (Types *self, guint32 id, struct btf_type *type, gsize *place)
{
  for (guint i = 0; i < MAX_CHAIN; i++)
    {
      if (!find_type (self, id, type, place))
        return FALSE;
      switch (BTF_INFO_KIND (type->info))
        {
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_CONST:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_RESTRICT:
        case BTF_KIND_TYPE_TAG:
          id = type->type;
          break;
        default:
          return TRUE;
        }
    }
  return FALSE;
}

static gboolean
is_composite (const struct btf_type *type)
{
  return BTF_INFO_KIND (type->info) == BTF_KIND_STRUCT
         || BTF_INFO_KIND (type->info) == BTF_KIND_UNION;
}

static void
read_member (const Types *self, gsize place, guint i, struct btf_member *member)
{
  memcpy (member, self->types + place + sizeof (struct btf_type) + i * sizeof *member,
          sizeof *member);
}

/* A member of the structure, or of those without a name in it. Its offset is in bits, as a plain
 * member has it; FALSE for a bit field. */
static gboolean
find_member (Types *self, gsize place, const char *name, guint depth, struct btf_member *found)
{
  struct btf_type type, inner;
  struct btf_member member;
  gsize at = place, inner_place;

  if (depth == 0 || !read_type (self, &at, &type))
    return FALSE;
  for (guint i = 0; i < BTF_INFO_VLEN (type.info) && self->n_members++ < MAX_MEMBERS; i++)
    {
      gboolean has_bits = BTF_INFO_KFLAG (type.info) != 0;
      guint32 offset;

      read_member (self, place, i, &member);
      offset = has_bits ? BTF_MEMBER_BIT_OFFSET (member.offset) : member.offset;
      if (strcmp (name_at (self, member.name_off), name) == 0)
        {
          *found = (struct btf_member){ .type = member.type, .offset = offset };
          return !has_bits || BTF_MEMBER_BITFIELD_SIZE (member.offset) == 0;
        }
      if (name_at (self, member.name_off)[0] == 0
          && resolve_type (self, member.type, &inner, &inner_place) && is_composite (&inner)
          && find_member (self, inner_place, name, depth - 1, found))
        {
          found->offset += offset;
          return TRUE;
        }
    }
  return FALSE;
}

/* Making */

static guint32
add_name (Cut *self, const char *name)
{
  guint32 offset = self->strings->len;

  g_byte_array_append (self->strings, (const guint8 *) name, (guint) strlen (name) + 1);
  return offset;
}

static guint32
add_other (Cut *self, const struct btf_type *type, gconstpointer extra, guint size)
{
  g_byte_array_append (self->others, (const guint8 *) type, sizeof *type);
  g_byte_array_append (self->others, extra, size);
  return ++self->n_ids;
}

static gint
find_wanted (const Cut *self, const char *name)
{
  for (guint i = 0; i < self->n_wanted; i++)
    if (strcmp (self->wanted[i].name, name) == 0)
      return (gint) i;
  return -1;
}

/* The new number of the type; 0: of a kind that is not known here. */
static guint32
copy_type (Cut *self, guint32 id, guint depth)
{
  const struct btf_type array = { .info = BTF_KIND_ARRAY << 24 };
  Types *from = &self->from;
  struct btf_array elements;
  struct btf_type type;
  const guint8 *extra;
  gsize place;
  gint wanted;

  if (depth == 0 || !resolve_type (from, id, &type, &place))
    return 0;
  extra = from->types + place + sizeof type;
  switch (BTF_INFO_KIND (type.info))
    {
    case BTF_KIND_PTR:
      return ID_POINTER;
    case BTF_KIND_INT:
      type.name_off = add_name (self, name_at (from, type.name_off));
      return add_other (self, &type, extra, sizeof (guint32));
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      wanted = find_wanted (self, name_at (from, type.name_off));
      return wanted >= 0 ? ID_FIRST_STRUCT + (guint32) wanted : 0;
    case BTF_KIND_ARRAY:
      memcpy (&elements, extra, sizeof elements);
      elements.type = copy_type (self, elements.type, depth - 1);
      elements.index_type = ID_INDEX;
      return elements.type != 0 ? add_other (self, &array, &elements, sizeof elements) : 0;
    default:
      return 0;
    }
}

static guint
count_members (const LuKernelStruct *wanted)
{
  guint n = 0;

  while (n < LU_KERNEL_STRUCT_MEMBERS && wanted->members[n] != NULL)
    n++;
  return n;
}

static gboolean
has_members (Cut *self, gsize place, const LuKernelStruct *wanted)
{
  struct btf_member member;

  for (guint i = 0; i < count_members (wanted); i++)
    if (!find_member (&self->from, place, wanted->members[i], MAX_DEPTH, &member))
      return FALSE;
  return TRUE;
}

static gboolean
find_structs (Cut *self)
{
  guint n_left = self->n_wanted;
  struct btf_type type;
  gsize at = 0;

  while (n_left > 0)
    {
      gsize place = at;
      gint i;

      if (!read_type (&self->from, &at, &type))
        return FALSE;
      if (BTF_INFO_KIND (type.info) != BTF_KIND_STRUCT)
        continue;
      i = find_wanted (self, name_at (&self->from, type.name_off));
      if (i < 0 || self->places[i] != 0 || !has_members (self, place, &self->wanted[i]))
        continue;
      self->places[i] = place + 1;
      n_left--;
    }
  return TRUE;
}

static gboolean
copy_struct (Cut *self, const LuKernelStruct *wanted, gsize place)
{
  guint n = count_members (wanted);
  struct btf_type type;
  gsize at = place;

  if (!read_type (&self->from, &at, &type))
    return FALSE;
  type.name_off = add_name (self, wanted->name);
  type.info = BTF_KIND_STRUCT << 24 | n;
  g_byte_array_append (self->structs, (const guint8 *) &type, sizeof type);
  for (guint i = 0; i < n; i++)
    {
      struct btf_member member;

      if (!find_member (&self->from, place, wanted->members[i], MAX_DEPTH, &member))
        return FALSE;
      member.name_off = add_name (self, wanted->members[i]);
      member.type = copy_type (self, member.type, MAX_DEPTH);
      if (member.type == 0)
        return FALSE;
      g_byte_array_append (self->structs, (const guint8 *) &member, sizeof member);
    }
  return TRUE;
}

/* The types before the structures: all pointers, and what arrays are indexed by. */
static void
add_basics (Cut *self)
{
  const guint32 bits = 32;
  const struct btf_type pointer = { .info = BTF_KIND_PTR << 24 };
  const struct btf_type index = { .name_off = add_name (self, "unsigned int"),
                                  .info = BTF_KIND_INT << 24,
                                  .size = sizeof (guint32) };

  g_byte_array_append (self->structs, (const guint8 *) &pointer, sizeof pointer);
  g_byte_array_append (self->structs, (const guint8 *) &index, sizeof index);
  g_byte_array_append (self->structs, (const guint8 *) &bits, sizeof bits);
}

static gboolean
make (Cut *self)
{
  if (!find_structs (self))
    return FALSE;
  add_name (self, "");
  add_basics (self);
  for (guint i = 0; i < self->n_wanted; i++)
    if (!copy_struct (self, &self->wanted[i], self->places[i] - 1))
      return FALSE;
  return TRUE;
}

static GByteArray *
join (const Cut *self)
{
  GByteArray *joined = g_byte_array_new ();
  struct btf_header header = { .magic = BTF_MAGIC,
                               .version = BTF_VERSION,
                               .hdr_len = sizeof header,
                               .type_len = self->structs->len + self->others->len,
                               .str_off = self->structs->len + self->others->len,
                               .str_len = self->strings->len };

  g_byte_array_append (joined, (const guint8 *) &header, sizeof header);
  g_byte_array_append (joined, self->structs->data, self->structs->len);
  if (self->others->len > 0)
    g_byte_array_append (joined, self->others->data, self->others->len);
  g_byte_array_append (joined, self->strings->data, self->strings->len);
  return joined;
}

GByteArray *
lu_kernel_types_cut (gconstpointer bytes, gsize size, const LuKernelStruct *wanted, guint n_wanted)
{
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (gsize));
  g_autoptr (GByteArray) structs = g_byte_array_new ();
  g_autoptr (GByteArray) others = g_byte_array_new ();
  g_autoptr (GByteArray) strings = g_byte_array_new ();
  Cut self = { .wanted = wanted,
               .n_wanted = n_wanted,
               .structs = structs,
               .others = others,
               .strings = strings,
               .n_ids = ID_FIRST_STRUCT + n_wanted - 1 };

  g_assert (n_wanted <= MAX_WANTED);
  if (!types_init (&self.from, bytes, size))
    return NULL;
  self.from.marks = marks;
  return make (&self) ? join (&self) : NULL;
}

/* The kernel's */

/* Linux 6.16 lets it be mapped; before, it is read in pieces of a page. */
static GByteArray *
cut_file (int fd, const LuKernelStruct *wanted, guint n_wanted)
{
  g_autofree guint8 *read = NULL;
  GByteArray *cut = NULL;
  struct stat info;
  gpointer mapped;
  gsize size;

  if (fstat (fd, &info) != 0 || info.st_size <= 0 || info.st_size > MAX_BYTES)
    return NULL;
  size = (gsize) info.st_size;
  mapped = mmap (NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped != MAP_FAILED)
    {
      cut = lu_kernel_types_cut (mapped, size, wanted, n_wanted);
      munmap (mapped, size);
      return cut;
    }
  read = g_malloc (size);
  return lu_fd_pread_all (fd, read, size, 0) == (gssize) size
             ? lu_kernel_types_cut (read, size, wanted, n_wanted)
             : NULL;
}

/* Where memory must not be executable without being asked for, that has to be said; older kernels
 * do not know how. */
static int
open_memory (void)
{
  int fd = memfd_create ("kernel-types", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

  return fd >= 0 || errno != EINVAL ? fd : memfd_create ("kernel-types", MFD_CLOEXEC);
}

int
lu_kernel_types_open (const LuKernelStruct *wanted, guint n_wanted)
{
  lu_autofd fd = open ("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
  lu_autofd memory = -1;
  g_autoptr (GByteArray) cut = fd >= 0 ? cut_file (fd, wanted, n_wanted) : NULL;

  if (cut == NULL)
    return -1;
  memory = open_memory ();
  return memory >= 0 && lu_fd_write_all (memory, cut->data, cut->len) ? lu_fd_steal (&memory) : -1;
}
