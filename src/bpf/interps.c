/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interps.c - see interps.h. */

#include "bpf/interps.h"

G_STATIC_ASSERT (LU_INTERP_MAX_FILES == 64);

/* Returns how much of a structure has to be read for fields at these offsets. */
static guint32
bytes_of (const guint16 *offsets, guint n)
{
  guint32 bytes = 0;

  for (guint i = 0; i < n; i++)
    bytes = MAX (bytes, offsets[i] + (guint32) sizeof (guint64));
  return bytes;
}

static struct lu_bpf_interp
measure_python (const struct lu_interp_file *file)
{
  const struct lu_python_layout *l = &file->python;
  const guint16 thread[] = { l->thread_next, l->thread_id, l->thread_frame };
  const guint16 frame[] = { l->frame_code,  l->frame_previous, l->frame_instr,
                            l->frame_entry, l->frame_copy,     l->frame_stack };
  const guint16 code[] = { l->code_filename, l->code_name,  l->code_firstlineno,
                           l->code_argcount, l->code_flags, l->code_lines };

  return (struct lu_bpf_interp){ .file = *file,
                                 .thread_bytes = bytes_of (thread, G_N_ELEMENTS (thread)),
                                 .frame_bytes = bytes_of (frame, G_N_ELEMENTS (frame)),
                                 .code_bytes = bytes_of (code, G_N_ELEMENTS (code)) };
}

/* Asks this of what only tasks that wait need. */
static gboolean
are_sound_tasks (const struct lu_interp_file *file)
{
  const struct lu_python_layout *l = &file->python;
  const guint16 set[] = { l->set_used, l->set_table, l->set_mask };
  const guint16 generator[] = { l->object_type, l->generator_state };

  return file->tasks.bytes < LU_BPF_STRUCT_BYTES && l->generator_frame < LU_BPF_STRUCT_BYTES
         && bytes_of (set, G_N_ELEMENTS (set)) <= LU_BPF_STRUCT_BYTES / 2
         && bytes_of (generator, G_N_ELEMENTS (generator)) <= LU_BPF_STRUCT_BYTES;
}

static gboolean
is_sound_python (const struct lu_bpf_interp *interp)
{
  const struct lu_python_layout *layout = &interp->file.python;
  const guint16 text[] = { layout->text_length, layout->text_state };

  return MAX (MAX (interp->thread_bytes, interp->frame_bytes), interp->code_bytes)
             < LU_BPF_STRUCT_BYTES
         && MAX (layout->text_ascii, layout->text_compact) <= LU_BPF_TEXT_HEADER
         && bytes_of (text, G_N_ELEMENTS (text)) <= LU_BPF_TEXT_HEADER;
}

/* FALSE: the program cannot read such structures. */
static gboolean
measure (const struct lu_interp_file *file, struct lu_bpf_interp *interp)
{
  switch (file->language)
    {
    case LU_INTERP_PYTHON:
      *interp = measure_python (file);
      if (!are_sound_tasks (file))
        interp->file.python.generator_frame = 0;
      return is_sound_python (interp);
    case LU_INTERP_RUBY:
      *interp = (struct lu_bpf_interp){ .file = *file, .frame_bytes = file->ruby.frame_size };
      return interp->frame_bytes < LU_BPF_STRUCT_BYTES;
    case LU_INTERP_TASKS:
      *interp = (struct lu_bpf_interp){ .file = *file };
      return file->tasks.bytes < LU_BPF_STRUCT_BYTES;
    default:
      return FALSE;
    }
}

guint
lu_bpf_interps_add (LuBpfInterps *self, const struct lu_interp_file *file)
{
  struct lu_bpf_interp interp;

  if (!measure (file, &interp))
    return 0;
  for (guint i = 0; i < LU_INTERP_MAX_FILES; i++)
    {
      guint index = (self->last + i) % LU_INTERP_MAX_FILES;

      if ((self->used >> index & 1) != 0)
        continue;
      self->used |= G_GUINT64_CONSTANT (1) << index;
      self->last = index + 1;
      self->backing->shared->interps[index] = interp;
      return self->last | (file->language == LU_INTERP_TASKS ? LU_BPF_INTERP_TASKS : 0);
    }
  return 0;
}

void
lu_bpf_interps_remove (LuBpfInterps *self, guint number)
{
  if (number != 0)
    self->used &= ~(G_GUINT64_CONSTANT (1) << ((number & ~LU_BPF_INTERP_TASKS) - 1));
}
