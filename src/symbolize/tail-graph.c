/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-graph.c - functions and their jumps; see tail-graph.h. */

#include "symbolize/tail-graph.h"

#include "arch/arch.h"
#include "symbolize/jumps.h"

#define MAX_OPEN  256u
#define MAX_NODES (64u << 10)
#define MAX_CODE  (16u << 20)
#define MAX_EDGES (256u << 10)
/* Most functions have hundreds of bytes. */
#define MAX_FUNCTION (256u << 10)

/* Files */

static void
file_free (gpointer pointer)
{
  LuTailFile *self = pointer;

  lu_linkage_free (self->linkage);
  lu_code_functions_free (self->functions);
  g_array_unref (self->wanted);
  g_hash_table_unref (self->known);
  g_free (self);
}

static void
node_clear (gpointer pointer)
{
  g_clear_pointer (&((LuTailNode *) pointer)->edges, g_array_unref);
}

void
lu_tail_graph_init (LuTailGraph *self, LuBudget *budget)
{
  *self = (LuTailGraph){ .files = g_ptr_array_new_with_free_func (file_free),
                         .nodes = g_array_new (FALSE, FALSE, sizeof (LuTailNode)),
                         .ids = lu_id_table_new (2),
                         .unread = g_array_new (FALSE, FALSE, sizeof (guint32)),
                         .budget = budget,
                         .code_left = MAX_CODE,
                         .edges_left = MAX_EDGES };
  g_array_set_clear_func (self->nodes, node_clear);
}

void
lu_tail_graph_clear (LuTailGraph *self)
{
  g_ptr_array_unref (self->files);
  g_array_unref (self->nodes);
  lu_id_table_free (self->ids);
  g_array_unref (self->unread);
}

void
lu_tail_graph_add_file (LuTailGraph *self, const LuNameFile *name)
{
  LuTailFile *file = g_new0 (LuTailFile, 1);

  file->name = *name;
  file->name.budget = self->budget;
  file->wanted = g_array_new (FALSE, FALSE, sizeof (guint64));
  file->known = g_hash_table_new (NULL, NULL);
  g_ptr_array_add (self->files, file);
}

static gboolean
is_go (const LuElfFile *file)
{
  return lu_elf_headers_find_section (&file->headers, ".gopclntab") != NULL
         || lu_elf_headers_find_section (&file->headers, ".data.rel.ro.gopclntab") != NULL;
}

static gboolean
is_loader (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);

  return g_str_has_prefix (name, "ld-linux") || g_str_has_prefix (name, "ld.so")
         || g_str_has_prefix (name, "ld-2.");
}

static void
open_file (LuTailGraph *self, LuTailFile *file)
{
  gboolean is_no_elf;
  const LuArch *arch;
  LuElfFile opened;

  file->was_tried = TRUE;
  if (file->name.id->path[0] != '/' || self->n_open >= MAX_OPEN
      || !lu_budget_next_file (self->budget)
      || !lu_elf_file_open_mapped (&opened, &file->name, &is_no_elf))
    return;
  arch = lu_arch_with_tables (opened.headers.machine);
  if (arch == NULL || arch->files.decoded_bits != 64 || !opened.headers.is_64bit)
    {
      lu_elf_file_clear (&opened);
      return;
    }
  self->n_open++;
  file->is_go = is_go (&opened);
  file->is_loader = is_loader (file->name.id->path);
  file->functions = lu_code_functions_new (&opened, &file->name);
}

LuTailFile *
lu_tail_graph_file (LuTailGraph *self, guint32 number)
{
  LuTailFile *file = g_ptr_array_index (self->files, number);

  if (!file->was_tried)
    open_file (self, file);
  return file->functions != NULL ? file : NULL;
}

LuLinkage *
lu_tail_file_linkage (LuTailFile *self)
{
  if (self->linkage == NULL)
    self->linkage = lu_linkage_new (lu_code_functions_file (self->functions), self->name.budget);
  return self->linkage;
}

/* Questions */

guint32
lu_tail_graph_at (LuTailGraph *self, guint32 number, guint64 address)
{
  LuTailFile *file = lu_tail_graph_file (self, number);
  gpointer found;

  if (file == NULL)
    return LU_TAIL_NONE;
  if (g_hash_table_lookup_extended (file->known, (gpointer) (guintptr) address, NULL, &found))
    return GPOINTER_TO_UINT (found) - 1; /* LU_TAIL_NONE for 0 */
  g_array_append_val (file->wanted, address);
  g_hash_table_insert (file->known, (gpointer) (guintptr) address,
                       GUINT_TO_POINTER (LU_TAIL_UNKNOWN + 1));
  return LU_TAIL_UNKNOWN;
}

gboolean
lu_tail_graph_place (LuTailGraph *self, guint32 number, guint32 other_number, const char *name,
                     LuTailPlace *place)
{
  const guint32 numbers[] = { number, other_number };
  guint n = 0;

  for (guint i = 0; i < (number != other_number ? 2 : 1); i++)
    {
      LuTailFile *file = lu_tail_graph_file (self, numbers[i]);
      guint64 address = 0;
      LuLinkageKind kind = file != NULL
                               ? lu_linkage_find (lu_tail_file_linkage (file), name, &address)
                               : LU_LINKAGE_NONE;

      if (kind == LU_LINKAGE_NONE)
        continue;
      *place = (LuTailPlace){ numbers[i], address };
      /* If both have it, the order of loading decides. */
      if (kind == LU_LINKAGE_OTHER || n++ > 0)
        return FALSE;
    }
  return n == 1;
}

const LuTailNode *
lu_tail_graph_node (LuTailGraph *self, guint32 number)
{
  LuTailNode *node = &g_array_index (self->nodes, LuTailNode, number);

  if (!node->is_asked)
    g_array_append_val (self->unread, number);
  node->is_asked = TRUE;
  return node;
}

/* Growing */

static guint32
add_node (LuTailGraph *self, guint32 file, const LuCodeFunction *function)
{
  guint32 id;
  LuTailNode node = { .file = file,
                      .start = function->start,
                      .end = function->end,
                      .is_part = function->kind == LU_CODE_PART };

  if (function->kind == LU_CODE_NONE || function->end <= function->start)
    return LU_TAIL_NONE;
  if (self->nodes->len >= MAX_NODES)
    return lu_id_table_find (self->ids, file, function->start); /* LU_TAIL_NONE if it is new */
  id = lu_id_table_add (self->ids, file, function->start);
  if (id == self->nodes->len)
    g_array_append_val (self->nodes, node);
  return id;
}

/* Finds the functions that were asked for in a file. */
static void
find_functions (LuTailGraph *self, guint32 number)
{
  LuTailFile *file = g_ptr_array_index (self->files, number);
  g_autoptr (GArray) found = NULL;

  if (file->wanted->len == 0 || !lu_budget_next_file (self->budget))
    return;
  found = lu_code_functions_find (file->functions, file->wanted);
  for (guint i = 0; i < found->len; i++)
    {
      guint32 node = add_node (self, number, &g_array_index (found, LuCodeFunction, i));

      g_hash_table_insert (file->known,
                           (gpointer) (guintptr) g_array_index (file->wanted, guint64, i),
                           GUINT_TO_POINTER (node + 1));
    }
  g_array_set_size (file->wanted, 0);
}

/* Reads the code of a function; the caller owns the bytes, NULL if they cannot be read. */
static guint8 *
read_code (LuTailGraph *self, const LuTailNode *node, gsize *size)
{
  const LuTailFile *file = g_ptr_array_index (self->files, node->file);
  const LuElfFile *elf = lu_code_functions_file (file->functions);
  const LuElfProgramHeader *code = lu_elf_file_code_at_address (elf, node->start);
  g_autofree guint8 *bytes = NULL;

  *size = (gsize) (node->end - node->start);
  if (code == NULL || *size > MAX_FUNCTION || *size > self->code_left
      || *size > code->file_size - (node->start - code->vaddr)
      || !lu_budget_read (self->budget, *size))
    return NULL;
  self->code_left -= *size;
  bytes = g_malloc (*size);
  return lu_elf_input_read (&elf->input, node->start - code->vaddr + code->file_offset, bytes,
                            *size)
             ? g_steal_pointer (&bytes)
             : NULL;
}

/* A function whose jumps are being read. */
typedef struct
{
  LuTailGraph *graph;
  LuTailNode *node;
  LuTailFile *file;
} Reading;

static gboolean
add_edge (const LuJump *jump, gpointer user_data)
{
  const Reading *self = user_data;
  LuTailEdge edge = { .from = jump->from };

  switch (jump->kind)
    {
    case LU_JUMP_DIRECT:
      edge.name = lu_linkage_of_entry (lu_tail_file_linkage (self->file), jump->target);
      edge.address = jump->target;
      break;
    case LU_JUMP_SLOT:
      edge.name = lu_linkage_of_slot (lu_tail_file_linkage (self->file), jump->target);
      if (edge.name != NULL)
        break;
      self->node->has_indirect = TRUE;
      return TRUE;
    case LU_JUMP_INDIRECT:
      self->node->has_indirect = TRUE;
      return TRUE;
    case LU_JUMP_TABLE:
    case LU_JUMP_UNKNOWN:
      self->node->may_have_more = TRUE;
      return TRUE;
    }
  if (self->graph->edges_left == 0)
    {
      self->node->may_have_more = TRUE;
      return FALSE;
    }
  self->graph->edges_left--;
  g_array_append_val (self->node->edges, edge);
  return TRUE;
}

static void
read_function (LuTailGraph *self, LuTailNode *node)
{
  Reading reading = { self, node, g_ptr_array_index (self->files, node->file) };
  LuCodePiece piece = { .address = node->start };
  g_autofree guint8 *bytes = read_code (self, node, &piece.size);

  node->is_read = TRUE;
  node->edges = g_array_new (FALSE, FALSE, sizeof (LuTailEdge));
  node->may_have_more = bytes == NULL;
  piece.bytes = bytes;
  if (bytes != NULL)
    lu_jumps_each (&piece, add_edge, &reading);
}

gboolean
lu_tail_graph_grow (LuTailGraph *self)
{
  gboolean has_work = self->unread->len > 0;

  for (guint32 i = 0; i < self->files->len; i++)
    {
      const LuTailFile *file = g_ptr_array_index (self->files, i);

      has_work |= file->wanted->len > 0;
      find_functions (self, i);
    }
  for (guint i = 0; i < self->unread->len && lu_budget_next_file (self->budget); i++)
    read_function (
        self, &g_array_index (self->nodes, LuTailNode, g_array_index (self->unread, guint32, i)));
  g_array_set_size (self->unread, 0);
  return has_work && lu_budget_next_file (self->budget);
}
