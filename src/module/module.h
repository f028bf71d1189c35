/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* module.h - one mapped file: who it claims to be, and, once opened, its image.
 *
 * The drain thread makes a module when a mapping first names its file and passes it on; the worker
 * opens the file and publishes the outcome once (release); from then on a module is immutable.
 * Mappings of all processes share it. References are atomic and may be dropped by any thread. */

#pragma once

#include "elf/image.h"
#include "lu/event.h"
#include "module/call-sites.h"
#include "module/tables.h"
#include "table/cfi.h"

#include <glib.h>

typedef enum
{
  LU_MODULE_PENDING, /* the worker has not looked yet */
  LU_MODULE_READY,   /* image is there */
  LU_MODULE_GONE,    /* no file of this identity could be opened */
  LU_MODULE_BROKEN,  /* opened, but it is not an ELF file we can use */
} LuModuleState;

typedef enum
{
  LU_MODULE_FILE,
  LU_MODULE_VDSO,      /* [vdso] */
  LU_MODULE_VSYSCALL,  /* [vsyscall]: known to the kernel, no image */
  LU_MODULE_ANONYMOUS, /* //anon, [heap], memfd or /dev/zero: generated code, no image */
} LuModuleKind;

/* What is known of a file from a record or a line of /proc/PID/maps, before it is opened. */
typedef struct
{
  LuModuleKind kind;
  gboolean is_32bit; /* of the vDSO: which of the two */
  gboolean has_inode;
  guint32 major, minor;
  guint64 inode, inode_generation; /* generation 0: unknown */
  guint8 build_id_size;            /* 0: unknown */
  guint8 build_id[LU_BUILD_ID_MAX];
  const char
      *path; /* in the task's mount namespace, " (deleted)" taken off; borrowed in look-ups */
} LuModuleKey;

typedef struct _LuModule LuModule;

LuModule *lu_module_new (const LuModuleKey *key);
LuModule *lu_module_ref (LuModule *self);
/* The caller's reference is the only one. */
gboolean lu_module_is_unshared (LuModule *self);
void lu_module_unref (LuModule *self);

const LuModuleKey *lu_module_key (const LuModule *self);
const char *lu_module_path (const LuModule *self);
/* A number that is never used again in this run, from 1. */
guint32 lu_module_id (const LuModule *self);

/* Acquire: after READY the image may be used. */
LuModuleState lu_module_state (const LuModule *self);
LuImage *lu_module_image (const LuModule *self); /* borrowed; NULL unless READY */
/* Private memory of the image now; 0 unless READY. */
gsize lu_module_image_bytes (const LuModule *self);
/* Whether the worker will still look at it; never of what has no file. */
gboolean lu_module_is_pending (const LuModule *self);
/* Drain: TRUE the first time, if the worker has to look at it: it is told then. */
gboolean lu_module_announce_once (LuModule *self);
/* Worker: a process with our own root maps the file, so it has its path for us as well. */
void lu_module_set_ours (LuModule *self);
gboolean lu_module_is_ours (const LuModule *self);
/* Worker, before publication: where whole tables of the image come from. Takes the slot. */
void lu_module_take_slot (LuModule *self, LuTableSlot *slot);
/* The rule for an ELF address of a module that is ready, from the whole table of its file. FALSE if
 * there is none (yet), or it cannot say: lu_compile_at() then, and tell by lu_module_note_miss().
 * Any thread; neither waits nor allocates. */
gboolean lu_module_find_rule (const LuModule *self, guint64 address, struct lu_rule *rule);
void lu_module_note_miss (const LuModule *self);
/* Where its table is, if it has a place for one; NULL unless READY. Borrowed; any thread. */
LuTableSlot *lu_module_table_slot (const LuModule *self);
/* For single look-ups while it is ready, by who holds the image's CFI; NULL: no tables for its
 * architecture, or the CFI was never there. Belongs to the thread that walks in the rings, which
 * must not allocate. Borrowed. */
LuCfi *lu_module_cfi (const LuModule *self);
/* Whether there are tables for its architecture. */
gboolean lu_module_has_tables (const LuModule *self);
/* Worker: the CFI has come; makes that if there is none. */
void lu_module_prepare_cfi (LuModule *self);
/* Worker: publishes the outcome; takes the image (NULL unless READY). Only the first call counts.
 */
void lu_module_publish (LuModule *self, LuModuleState state, LuImage *image);
/* How many modules were published in this run: tells whether any was since. Any thread. */
guint lu_modules_published (void);

/* What is known of return addresses in the file; NULL until somebody asked. Borrowed; any thread.
 */
const LuCallSites *lu_module_call_sites (const LuModule *self);
/* Worker thread only: makes it if there is none. */
LuCallSites *lu_module_make_call_sites (LuModule *self);

/* The build-id from the opened file, else the one the kernel reported; NULL if neither. */
const guint8 *lu_module_build_id (const LuModule *self, gsize *size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuModule, lu_module_unref)
