/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-image.c - images of real files (this program, libc) and of damaged copies.
 *
 * The damaged copies are made in memory: our own executable with changed or missing bytes. */

#include "elf/image.h"

#include "base/error.h"
#include "base/fd.h"

#include "../../cases.h"
#include "../../tries.h"

#include <dlfcn.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  guint8 *bytes;
  gsize size;
} File;

static File self_file;

static LuImage *
open_path (const char *path, GError **error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  LuImage *image;

  g_assert_cmpint (fd, >=, 0);
  image = lu_image_open (fd, error);
  close (fd);
  return image;
}

static Elf64_Ehdr *
header_of (File *file)
{
  return (Elf64_Ehdr *) file->bytes;
}

static File
copy_of_self (void)
{
  return (File){ .bytes = g_memdup2 (self_file.bytes, self_file.size), .size = self_file.size };
}

static gboolean
has_row_at (LuImage *image, guint64 pc)
{
  Elf *elf = lu_image_elf (image, 0);
  Dwarf_CFI *cfi = dwarf_getcfi_elf (elf);
  Dwarf_Frame *frame = NULL;
  gboolean found = cfi != NULL && dwarf_cfi_addrframe (cfi, pc, &frame) == 0;

  free (frame);
  if (cfi != NULL)
    dwarf_cfi_end (cfi);
  return found;
}

/* ELF address of a function of this program. */
static guint64
elf_address_of_main (void)
{
  extern int main (int, char **);
  Dl_info info;
  struct link_map *map = NULL;

  g_assert_true (dladdr1 ((void *) main, &info, (void **) &map, RTLD_DL_LINKMAP) != 0);
  return (guint64) (guintptr) main - map->l_addr;
}

static void
test_own_executable (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LuImage) image = open_path ("/proc/self/exe", &error);
  guint n;
  gsize size;

  g_assert_no_error (error);
  g_assert_cmpint (lu_image_machine (image), ==, header_of (&self_file)->e_machine);
  g_assert_true (lu_image_is_64bit (image));
  g_assert_cmpuint (lu_image_entry (image), ==, header_of (&self_file)->e_entry);
  g_assert_nonnull (lu_image_segments (image, &n));
  g_assert_cmpuint (n, >=, 2);
  g_assert_nonnull (lu_image_build_id (image, &size));
  g_assert_cmpuint (size, ==, 20);
  g_assert_nonnull (lu_image_digest (image, &size));
  g_assert_cmpuint (lu_image_n_refused_fdes (image), ==, 0);
  g_assert_true (has_row_at (image, elf_address_of_main ()));
  g_assert_cmpuint (lu_image_resident_bytes (image), <, 1 << 20);
}

static void
test_memory_equals_file (void)
{
  g_autoptr (LuImage) a = open_path ("/proc/self/exe", NULL);
  g_autoptr (LuImage) b = lu_image_new_from_memory (self_file.bytes, self_file.size, NULL);
  gsize size;

  g_assert_cmpmem (lu_image_digest (a, &size), 32, lu_image_digest (b, &size), 32);
}

static void
test_vdso (void)
{
  const guint8 *vdso = (const guint8 *) getauxval (AT_SYSINFO_EHDR);
  g_autoptr (LuImage) image = NULL;
  g_autoptr (GError) error = NULL;
  guint64 bias = 1;
  gsize size;

  if (vdso == NULL)
    {
      g_test_skip ("no vDSO");
      return;
    }
  image = lu_image_new_from_memory (vdso, 8192, &error);
  g_assert_no_error (error);
  g_assert_nonnull (lu_image_build_id (image, &size));
  g_assert_true (lu_image_bias (image, 0x7fff0000, 0, &bias));
  g_assert_cmphex (bias, ==, 0x7fff0000);
  g_assert_nonnull (lu_image_elf (image, 0));
}

static void
test_views (void)
{
  g_autoptr (LuImage) image = open_path ("/proc/self/exe", NULL);
  Elf *first = lu_image_elf (image, 0x1000);
  Elf *again;

  g_assert_nonnull (first);
  g_assert_true (lu_image_elf (image, 0x1000) == first);
  for (guint i = 2; i <= 8; i++)
    g_assert_nonnull (lu_image_elf (image, i * 0x1000));
  g_assert_null (lu_image_elf (image, 0x9000));
  /* Another reference outlives the borrowed one. */
  again = elf_begin (-1, ELF_C_READ, first);
  g_assert_true (again == first);
  g_assert_cmpint (elf_end (again), ==, 1);
  g_assert_nonnull (elf_getident (first, NULL));
}

static void
test_cut_everywhere (void)
{
  const Elf64_Ehdr *header = header_of (&self_file);
  gsize program_headers_end = header->e_phoff + header->e_phnum * sizeof (Elf64_Phdr);

  const gsize step = TEST_TRIES (997, 9973); /* a sanitizer sets up a shadow for each copy */

  for (gsize size = 0; size < self_file.size; size += size < program_headers_end + 64 ? 1 : step)
    {
      g_autoptr (GError) error = NULL;
      g_autofree guint8 *cut = g_memdup2 (self_file.bytes, MAX (size, 1)); /* no byte behind */
      g_autoptr (LuImage) image = lu_image_new_from_memory (cut, size, &error);

      if (size < program_headers_end)
        {
          g_assert_null (image);
          g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
        }
      else
        g_assert_no_error (error);
    }
}

static void
drop_sections (File *file)
{
  header_of (file)->e_shoff = 0;
  header_of (file)->e_shnum = 0;
  header_of (file)->e_shstrndx = 0;
}

static void
test_stripped_section_headers (void)
{
  File file = copy_of_self ();
  g_autoptr (LuImage) image = NULL;
  gsize size;

  drop_sections (&file);
  image = lu_image_new_from_memory (file.bytes, file.size, NULL);
  g_assert_nonnull (image);
  g_assert_nonnull (lu_image_build_id (image, &size));
  g_assert_true (has_row_at (image, elf_address_of_main ()));
  g_assert_cmpuint (lu_image_n_unsorted_fdes (image), ==, 0);
  g_free (file.bytes);
}

/* Headers that lie */

static Elf64_Phdr *
program_headers (File *file)
{
  return (Elf64_Phdr *) (file->bytes + header_of (file)->e_phoff);
}

static Elf64_Phdr *
find_program_header (File *file, guint32 type)
{
  Elf64_Phdr *headers = program_headers (file);

  for (guint i = 0; i < header_of (file)->e_phnum; i++)
    if (headers[i].p_type == type)
      return &headers[i];
  g_assert_not_reached ();
}

/* Returns where .text begins. */
static guint64
address_of_text (File *file)
{
  const Elf64_Shdr *sections = (Elf64_Shdr *) (file->bytes + header_of (file)->e_shoff);
  const Elf64_Shdr *names = &sections[header_of (file)->e_shstrndx];

  for (guint i = 0; i < header_of (file)->e_shnum; i++)
    if (strcmp ((char *) file->bytes + names->sh_offset + sections[i].sh_name, ".text") == 0)
      return sections[i].sh_addr;
  g_assert_not_reached ();
}

static void
expect_entry (File *file, guint64 expected)
{
  g_autoptr (LuImage) image = lu_image_new_from_memory (file->bytes, file->size, NULL);

  g_assert_nonnull (image);
  g_assert_cmphex (lu_image_entry (image), ==, expected);
}

/* In a shared library, an entry at the start of the code is only what the linker fills in. */
static void
test_made_up_entry (void)
{
  File file = copy_of_self ();
  guint64 text = address_of_text (&file);
  const Elf64_Phdr *dynamic = find_program_header (&file, PT_DYNAMIC);
  Elf64_Dyn *flags = (Elf64_Dyn *) (file.bytes + dynamic->p_offset);

  header_of (&file)->e_entry = text;
  expect_entry (&file, text);
  find_program_header (&file, PT_INTERP)->p_type = PT_NULL;
  while (flags->d_tag != DT_FLAGS_1)
    g_assert_cmpint ((flags++)->d_tag, !=, DT_NULL);
  g_assert_cmpuint (flags->d_un.d_val & DF_1_PIE, !=, 0);
  expect_entry (&file, text);
  flags->d_un.d_val &= ~(guint64) DF_1_PIE;
  expect_entry (&file, 0);
  header_of (&file)->e_entry = text + 16;
  expect_entry (&file, text + 16);
  g_free (file.bytes);
}

static void
lie_magic (File *file)
{
  file->bytes[1] = 'X';
}

static void
lie_class (File *file)
{
  file->bytes[EI_CLASS] = 7;
}

static void
lie_big_endian (File *file)
{
  file->bytes[EI_DATA] = ELFDATA2MSB;
}

static void
lie_core_file (File *file)
{
  header_of (file)->e_type = ET_CORE;
}

static void
lie_entry_size (File *file)
{
  header_of (file)->e_phentsize = 8;
}

static void
lie_many_segments (File *file)
{
  header_of (file)->e_phnum = 0xffff;
}

static void
lie_no_segments (File *file)
{
  header_of (file)->e_phnum = 0;
}

static void
lie_far_program_headers (File *file)
{
  header_of (file)->e_phoff = G_MAXUINT64 - 8;
}

static void
lie_no_load (File *file)
{
  for (guint i = 0; i < header_of (file)->e_phnum; i++)
    if (program_headers (file)[i].p_type == PT_LOAD)
      program_headers (file)[i].p_type = PT_NULL;
}

static void
lie_wrapping_load (File *file)
{
  for (guint i = 0; i < header_of (file)->e_phnum; i++)
    if (program_headers (file)[i].p_type == PT_LOAD)
      program_headers (file)[i].p_vaddr = G_MAXUINT64 - 1;
}

static const struct
{
  const char *name;
  void (*lie) (File *);
} lies[] = {
  { "wrong magic", lie_magic },
  { "unknown class", lie_class },
  { "big-endian", lie_big_endian },
  { "core file", lie_core_file },
  { "wrong entry size", lie_entry_size },
  { "more program headers than bytes", lie_many_segments },
  { "no program headers", lie_no_segments },
  { "program headers beyond the address space", lie_far_program_headers },
  { "no segment", lie_no_load },
  { "segment that wraps", lie_wrapping_load },
};

static void
test_refused (gconstpointer data)
{
  void (*lie) (File *) = ((const typeof (lies[0]) *) data)->lie;
  g_autoptr (GError) error = NULL;
  File file = copy_of_self ();

  lie (&file);
  g_assert_null (lu_image_new_from_memory (file.bytes, file.size, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
  g_free (file.bytes);
}

/* Section headers are optional: wrong ones cost nothing that program headers tell too. */
static void
test_lying_sections (void)
{
  File file = copy_of_self ();
  Elf64_Ehdr *header = header_of (&file);
  Elf64_Shdr *sections = (Elf64_Shdr *) (file.bytes + header->e_shoff);

  for (guint field = 0; field < 4; field++)
    for (guint i = 0; i < header->e_shnum; i++)
      {
        Elf64_Shdr saved = sections[i];
        g_autoptr (LuImage) image = NULL;

        switch (field)
          {
          case 0:
            sections[i].sh_offset = G_MAXUINT64 - 100;
            break;
          case 1:
            sections[i].sh_size = G_MAXUINT64;
            break;
          case 2:
            sections[i].sh_name = G_MAXUINT32;
            break;
          default:
            sections[i].sh_addr ^= 0x10;
          }
        image = lu_image_new_from_memory (file.bytes, file.size, NULL);
        g_assert_nonnull (image);
        g_assert_true (has_row_at (image, elf_address_of_main ()));
        sections[i] = saved;
      }
  g_free (file.bytes);
}

static void
test_bias (void)
{
  /* A text segment at file offset 0x1400, address 0x201400; its page starts at 0x1000. */
  File file = copy_of_self ();
  Elf64_Phdr *headers = program_headers (&file);
  g_autoptr (LuImage) image = NULL;
  guint64 bias;
  guint n_loads = 0;

  for (guint i = 0; i < header_of (&file)->e_phnum; i++)
    {
      if (headers[i].p_type != PT_LOAD)
        continue;
      if (n_loads++ > 1)
        {
          headers[i].p_type = PT_NULL;
          continue;
        }
      headers[i].p_flags = n_loads == 1 ? PF_R : PF_R | PF_X;
      headers[i].p_offset = n_loads == 1 ? 0 : 0x1400;
      headers[i].p_vaddr = n_loads == 1 ? 0x200000 : 0x202400;
      headers[i].p_filesz = headers[i].p_memsz = n_loads == 1 ? 0x1400 : 0x1000;
    }
  image = lu_image_new_from_memory (file.bytes, file.size, NULL);
  g_assert_nonnull (image);
  /* The mapping of the text begins with the page that both segments share; the executable one is
   * used. */
  g_assert_true (lu_image_bias (image, 0x555555002000, 0x1000, &bias));
  g_assert_cmphex (bias, ==, 0x555555002000 - 0x202000);
  /* Only the first segment contains this byte. */
  g_assert_true (lu_image_bias (image, 0x555555000000, 0, &bias));
  g_assert_cmphex (bias, ==, 0x555555000000 - 0x200000);
  g_assert_false (lu_image_bias (image, 0x555555000000, 0x100000, &bias));
  g_free (file.bytes);
}

static void
test_not_a_file (void)
{
  g_autoptr (GError) error = NULL;
  int fds[2];

  g_assert_cmpint (pipe (fds), ==, 0);
  g_assert_null (lu_image_open (fds[0], &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
  close (fds[0]);
  close (fds[1]);
}

/* CFI that comes and goes */

static LuImage *
open_lean (int fd, gboolean is_kept)
{
  const LuImageOpening opening = { .may_drop_cfi = TRUE, .keep_up_to = is_kept ? G_MAXSIZE : 0 };
  LuImage *image = lu_image_open_as (fd, &opening, NULL);

  g_assert_nonnull (image);
  return image;
}

static void
check_cfi_is_there (LuImage *image, LuImage *whole)
{
  g_assert_true (lu_image_hold_cfi (image));
  for (guint i = LU_IMAGE_EH_FRAME_HDR; i <= LU_IMAGE_DEBUG_FRAME; i++)
    {
      gsize size, want_size;
      guint64 vaddr, want_vaddr;
      const guint8 *bytes = lu_image_cfi (image, i, &size, &vaddr);
      const guint8 *want = lu_image_cfi (whole, i, &want_size, &want_vaddr);

      g_assert_cmphex (vaddr, ==, want_vaddr);
      g_assert_cmpmem (bytes, size, want, want_size);
    }
  lu_image_release_cfi (image);
}

static void
test_dropped_cfi (void)
{
  lu_autofd fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  gsize size, before = lu_images_cfi_bytes ();

  for (guint is_kept = 0; is_kept < 2; is_kept++)
    {
      g_autoptr (LuImage) whole = lu_image_open (fd, NULL);
      g_autoptr (LuImage) image = open_lean (fd, is_kept != 0);

      g_assert_cmpmem (lu_image_digest (image, &size), 32, lu_image_digest (whole, &size), 32);
      g_assert_cmpuint (lu_image_cfi_size (image), ==, lu_image_cfi_size (whole));
      g_assert_cmpint (lu_image_drop_cfi (image), ==, is_kept);
      g_assert_cmpuint (lu_images_cfi_bytes (), ==, before);
      g_assert_false (lu_image_hold_cfi (image));
      g_assert_null (lu_image_elf (image, 0));
      g_assert_cmpuint (lu_image_resident_bytes (image), <, 8192);
      g_assert_true (lu_image_refill_cfi (image, fd));
      g_assert_true (lu_image_refill_cfi (image, fd));
      g_assert_cmpuint (lu_images_cfi_bytes (), >, before + lu_image_cfi_size (image));
      check_cfi_is_there (image, whole);
      g_assert_true (lu_image_hold_cfi (image));
      g_assert_false (lu_image_drop_cfi (image));
      lu_image_release_cfi (image);
      g_assert_true (has_row_at (image, elf_address_of_main ()));
      g_assert_true (lu_image_drop_cfi (image));
      /* libdw's pointers into the CFI are valid again. */
      g_assert_true (lu_image_refill_cfi (image, fd));
      g_assert_true (has_row_at (image, elf_address_of_main ()));
    }
  g_assert_cmpuint (lu_images_cfi_bytes (), ==, before);
}

static guint64
file_offset_of_eh_frame (const LuImage *image)
{
  guint n;
  const LuSegment *segments = lu_image_segments (image, &n);
  guint64 vaddr;
  gsize size;

  lu_image_cfi (image, LU_IMAGE_EH_FRAME, &size, &vaddr);
  for (guint i = 0; i < n; i++)
    if (vaddr - segments[i].vaddr < segments[i].file_size)
      return segments[i].file_offset + vaddr - segments[i].vaddr;
  g_assert_not_reached ();
}

/* Either the original bytes or none. */
static void
test_dropped_cfi_changed (void)
{
  lu_autofd own = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  lu_autofd fd = memfd_create ("changed", MFD_CLOEXEC);
  g_autoptr (LuImage) image = open_lean (own, FALSE);
  guint64 offset;

  g_assert_cmpint (write (fd, self_file.bytes, self_file.size), ==, self_file.size);
  g_assert_true (lu_image_refill_cfi (image, fd)); /* an equal file is as good */
  g_assert_true (lu_image_drop_cfi (image));
  offset = file_offset_of_eh_frame (image);
  self_file.bytes[offset + 4] ^= 1;
  g_assert_cmpint (pwrite (fd, self_file.bytes + offset, 8, (off_t) offset), ==, 8);
  self_file.bytes[offset + 4] ^= 1;
  g_assert_false (lu_image_refill_cfi (image, fd));
  g_assert_false (lu_image_hold_cfi (image));
  g_assert_cmpint (ftruncate (fd, (off_t) offset), ==, 0);
  g_assert_false (lu_image_refill_cfi (image, fd));
  g_assert_true (lu_image_refill_cfi (image, own));
}

/* An image that ignored its CFI never gets it, because there is no digest to compare. */
static void
test_ignored_cfi (void)
{
  lu_autofd fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const LuImageOpening opening = { .may_drop_cfi = TRUE, .ignores_cfi = TRUE };
  g_autoptr (LuImage) whole = lu_image_open (fd, NULL);
  g_autoptr (LuImage) image = lu_image_open_as (fd, &opening, NULL);
  gsize size, want_size;
  const guint8 *build_id = lu_image_build_id (image, &size);
  const guint8 *want = lu_image_build_id (whole, &want_size);

  g_assert_cmpmem (build_id, size, want, want_size);
  g_assert_false (lu_image_hold_cfi (image));
  g_assert_false (lu_image_refill_cfi (image, fd));
  g_assert_false (lu_image_hold_cfi (image));
}

/* Returns a file whose .debug_frame is longer than what libdw may get: a CIE, and FDEs of a
 * thousand instructions that do nothing. */
static File
file_with_much_cfi (void)
{
  static const char names[] = "\0.debug_frame\0.shstrtab";
  static const guint8 cie[16] = { 12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0, 0, 0 };
  const guint32 fde[2] = { 1020, 0 };
  const gsize n_fdes = 13 << 10, cfi_at = 1024, cfi_size = sizeof cie + n_fdes * 1024;
  File file = { g_malloc0 (cfi_at + cfi_size), cfi_at + cfi_size };
  Elf64_Ehdr header = *header_of (&self_file);
  Elf64_Phdr code = {
    .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 4096, .p_memsz = 4096, .p_align = 4096
  };
  Elf64_Shdr sections[] = {
    { 0 },
    { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = cfi_at, .sh_size = cfi_size },
    { .sh_name = 14, .sh_type = SHT_STRTAB, .sh_offset = 512, .sh_size = sizeof names },
  };

  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  header.e_shoff = 256;
  header.e_shnum = G_N_ELEMENTS (sections);
  header.e_shstrndx = 2;
  memcpy (file.bytes, &header, sizeof header);
  memcpy (file.bytes + sizeof header, &code, sizeof code);
  memcpy (file.bytes + 256, sections, sizeof sections);
  memcpy (file.bytes + 512, names, sizeof names);
  memcpy (file.bytes + cfi_at, cie, sizeof cie);
  for (gsize i = 0; i < n_fdes; i++)
    memcpy (file.bytes + cfi_at + sizeof cie + i * 1024, fde, sizeof fde);
  return file;
}

/* The limit of all such copies is a matter of the moment: who comes later gets CFI when others have
 * gone. */
static void
test_copies_for_libdw (void)
{
  File file = file_with_much_cfi ();
  LuImage *first = lu_image_new_from_memory (file.bytes, file.size, NULL);
  g_autoptr (LuImage) second = lu_image_new_from_memory (file.bytes, file.size, NULL);

  g_assert_nonnull (first);
  g_assert_nonnull (second);
  g_assert_nonnull (lu_image_elf (first, 0));
  g_assert_null (lu_image_elf (second, 0));
  lu_image_unref (first);
  g_assert_nonnull (lu_image_elf (second, 0));
  g_free (file.bytes);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (
      g_file_get_contents ("/proc/self/exe", (char **) &self_file.bytes, &self_file.size, NULL));
  g_test_add_func ("/image/own-executable", test_own_executable);
  g_test_add_func ("/image/memory-equals-file", test_memory_equals_file);
  g_test_add_func ("/image/vdso", test_vdso);
  g_test_add_func ("/image/views", test_views);
  g_test_add_func ("/image/cut-everywhere", test_cut_everywhere);
  g_test_add_func ("/image/stripped-section-headers", test_stripped_section_headers);
  TEST_ADD_CASES ("/image/refused", lies, test_refused);
  g_test_add_func ("/image/made-up-entry", test_made_up_entry);
  g_test_add_func ("/image/lying-sections", test_lying_sections);
  g_test_add_func ("/image/bias", test_bias);
  g_test_add_func ("/image/not-a-file", test_not_a_file);
  g_test_add_func ("/image/dropped-cfi", test_dropped_cfi);
  g_test_add_func ("/image/dropped-cfi-changed", test_dropped_cfi_changed);
  g_test_add_func ("/image/ignored-cfi", test_ignored_cfi);
  g_test_add_func ("/image/copies-for-libdw", test_copies_for_libdw);
  return g_test_run ();
}
