/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* module.h - one mapped file: its claimed identity and, once opened, its image.
 *
 * The drain thread creates a module when a mapping first names its file. The worker opens the file
 * and publishes the outcome once (release); after that the module is immutable. Mappings of all
 * processes share it. References are atomic; any thread may drop one. */

#pragma once

#include "interp/interp.h"
#include "module/call-sites.h"
#include "module/tables.h"

typedef enum
{
  LU_MODULE_PENDING, /* not opened yet */
  LU_MODULE_WAITING, /* not opened yet, because its process has used up its time (time-budget.h) */
  LU_MODULE_READY,   /* the image is available */
  LU_MODULE_GONE,    /* no file with this identity could be opened */
  LU_MODULE_BROKEN,  /* opened, but not an ELF file that we can use */
} LuModuleState;

typedef enum
{
  LU_MODULE_FILE,
  LU_MODULE_VDSO,      /* [vdso] */
  LU_MODULE_VSYSCALL,  /* [vsyscall]: known to the kernel, no image */
  LU_MODULE_ANONYMOUS, /* //anon, [heap] or /dev/zero: generated code, no image */
  LU_MODULE_MEMORY,    /* memfd: a program that was run from it, or else generated code */
  LU_MODULE_UPROBES,   /* [uprobes]: code that the kernel's probes run, no image */
  LU_MODULE_COPIED,    /* like ANONYMOUS: code that a program has copied from its file */
} LuModuleKind;

/* The description of a file in a record or a line of /proc/PID/maps, before it is opened. */
typedef struct
{
  LuModuleKind kind;
  gboolean is_32bit; /* vDSO: the 32-bit one */
  gboolean has_inode;
  guint32 major, minor;
  guint64 inode, inode_generation; /* generation 0: unknown */
  guint8 build_id_size;            /* 0: unknown */
  guint8 build_id[LU_BUILD_ID_MAX];
  const char *path; /* in the task's mount namespace, without " (deleted)"; borrowed in look-ups */
} LuModuleKey;

/* Returns whether it is memory without a file, the same for all. */
static inline gboolean
lu_module_key_is_anonymous (const LuModuleKey *key)
{
  return key->kind == LU_MODULE_ANONYMOUS || key->kind == LU_MODULE_COPIED;
}

/* Returns whether the kernel reports a device and an inode for it that tell files apart. */
static inline gboolean
lu_module_key_is_file (const LuModuleKey *key)
{
  return key->kind == LU_MODULE_FILE || key->kind == LU_MODULE_MEMORY;
}

/* Returns whether it is a page of the kernel's own in each process, without an image and the same
 * for all. */
static inline gboolean
lu_module_key_is_kernel_page (const LuModuleKey *key)
{
  return key->kind == LU_MODULE_VSYSCALL || key->kind == LU_MODULE_UPROBES;
}

typedef struct _LuModule LuModule;

LuModule *lu_module_new (const LuModuleKey *key);
LuModule *lu_module_ref (LuModule *self);
/* Returns whether the caller's reference is the only one. */
gboolean lu_module_is_unshared (LuModule *self);
void lu_module_unref (LuModule *self);

const LuModuleKey *lu_module_key (const LuModule *self);
const char *lu_module_path (const LuModule *self);
/* Returns a number that is unique in this run, from 1. */
guint32 lu_module_id (const LuModule *self);

/* Loads with acquire: after READY the image may be used. */
LuModuleState lu_module_state (const LuModule *self);
LuImage *lu_module_image (const LuModule *self); /* borrowed; NULL unless READY */
/* Returns the bytes of private memory of the image; 0 unless READY. */
gsize lu_module_image_bytes (const LuModule *self);
/* Returns whether the worker has yet to open it; always FALSE for modules without a file. */
gboolean lu_module_is_pending (const LuModule *self);
/* Drain: returns TRUE the first time, if the worker has to open it. */
gboolean lu_module_announce_once (LuModule *self);
/* Worker: notes that a process with our own root maps the file, so its path is valid for us too. */
void lu_module_set_ours (LuModule *self);
gboolean lu_module_is_ours (const LuModule *self);
/* Worker, before publication: sets the slot for the whole table of the image. Takes the slot. */
void lu_module_take_slot (LuModule *self, LuTableSlot *slot);
/* Worker, before publication: sets the interpreter in the file. Takes it; NULL: none. */
void lu_module_take_interpreter (LuModule *self, LuInterp *interpreter);
/* Returns the interpreter in the file of a READY module; NULL: none. Borrowed; any thread. */
const LuInterp *lu_module_interpreter (const LuModule *self);
/* Returns it as the BPF program needs it. */
const struct lu_interp_file *lu_module_interp (const LuModule *self);
/* Finds the rule for an ELF address of a ready module in the whole table of its file. Returns FALSE
 * if there is no table (yet) or it cannot say; then use lu_compile_at() and call
 * lu_module_note_miss(). Any thread; neither waits nor allocates. */
gboolean lu_module_find_rule (const LuModule *self, guint64 address, struct lu_rule *rule);
void lu_module_note_miss (const LuModule *self);
/* Returns the slot for its table; NULL if it has none or is not READY. Borrowed; any thread. */
LuTableSlot *lu_module_table_slot (const LuModule *self);
/* Returns the CFI for single look-ups in a ready module; the caller must hold the image's CFI.
 * NULL: no tables for its architecture, or the CFI was never in memory. Belongs to the thread that
 * walks in the rings, which must not allocate. Borrowed. */
LuCfi *lu_module_cfi (const LuModule *self);
/* Returns whether there are tables for its architecture. */
gboolean lu_module_has_tables (const LuModule *self);
/* Worker: prepares lu_module_cfi() after the CFI was read. */
void lu_module_prepare_cfi (LuModule *self);
/* Worker: notes that a pending module has to wait. */
void lu_module_set_waiting (LuModule *self);
/* Worker: publishes the outcome; takes the image (NULL unless READY). Only the first call counts.
 */
void lu_module_publish (LuModule *self, LuModuleState state, LuImage *image);
/* Returns how many modules were published in this run. Any thread. */
guint lu_modules_published (void);

/* Returns what is known about return addresses in the file; NULL until the first question.
 * Borrowed; any thread. */
const LuCallSites *lu_module_call_sites (const LuModule *self);
/* Worker thread only: creates it if necessary. */
LuCallSites *lu_module_make_call_sites (LuModule *self);

/* Returns the build-id of the opened file, otherwise the one the kernel reported, or NULL. */
const guint8 *lu_module_build_id (const LuModule *self, gsize *size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuModule, lu_module_unref)
