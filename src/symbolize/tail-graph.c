/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-graph.c - functions and their jumps; see tail-graph.h. */

#include "symbolize/tail-graph.h"

#include "arch/arch.h"
#include "elf/go-table.h"
#include "symbolize/jumps.h"

#define MAX_OPEN 256u
/* Bytes of tables that are kept in memory. Each file has three, with at most 64 MiB. */
#define MAX_KEPT  (768u << 20)
#define MAX_TABLE (64u << 20)
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
                         .budget = budget,
                         .kept_left = MAX_KEPT,
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
}

void
lu_tail_graph_add_file (LuTailGraph *self, const LuNameFile *name)
{
  LuTailFile *file = g_new0 (LuTailFile, 1);

  file->name = *name;
  file->name.budget = self->budget;
  file->wanted = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_ptr_array_add (self->files, file);
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
  guint64 kept;

  file->was_tried = TRUE;
  if (file->name.id->path[0] != '/' || self->n_open >= MAX_OPEN
      || !lu_budget_next_file (self->budget)
      || !lu_elf_file_open_mapped (&opened, &file->name, &is_no_elf))
    return;
  arch = lu_arch_with_tables (opened.headers.machine);
  kept = 3 * MIN (opened.input.size, MAX_TABLE);
  if (arch == NULL || arch->files.decoded_bits != 64 || !opened.headers.is_64bit
      || kept > self->kept_left)
    {
      lu_elf_file_clear (&opened);
      return;
    }
  self->n_open++;
  self->kept_left -= kept;
  file->is_go = lu_go_table_has_section (&opened.headers);
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
  LuTailNode node = { .file = number };
  guint32 id;

  if (file == NULL || !lu_code_functions_find (file->functions, address, &node.start, &node.end))
    return LU_TAIL_NONE;
  if (self->nodes->len >= MAX_NODES)
    return lu_id_table_find (self->ids, number, node.start); /* LU_TAIL_NONE if it is new */
  id = lu_id_table_add (self->ids, number, node.start);
  if (id == self->nodes->len)
    g_array_append_val (self->nodes, node);
  return id;
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

LuTailNode *
lu_tail_graph_node (const LuTailGraph *self, guint32 number)
{
  return &g_array_index (self->nodes, LuTailNode, number);
}

/* Jumps */

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

/* Returns whether a table of addresses is one of functions: its first entry leads elsewhere. */
static gboolean
is_of_functions (const Reading *self, guint64 table)
{
  const LuElfFile *elf = lu_code_functions_file (self->file->functions);
  guint64 first;

  return table != 0 && lu_linkage_find_pointer (elf, table, self->graph->budget, &first)
         && lu_elf_file_code_at_address (elf, first) != NULL
         && (first < self->node->start || first >= self->node->end);
}

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
      if (edge.name != NULL || !lu_code_functions_is_linkage (self->file->functions, edge.address))
        break;
      /* An entry without a name leads to a function that is chosen at run time. */
      self->node->has_indirect = TRUE;
      return TRUE;
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
      if (is_of_functions (self, jump->target))
        self->node->has_indirect = TRUE;
      else
        self->node->may_have_more = TRUE;
      return TRUE;
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

const LuTailNode *
lu_tail_graph_read (LuTailGraph *self, guint32 number)
{
  LuTailNode *node = lu_tail_graph_node (self, number);
  Reading reading = { self, node, g_ptr_array_index (self->files, node->file) };
  LuCodePiece piece = { .address = node->start };
  g_autofree guint8 *bytes = NULL;

  if (node->edges != NULL)
    return node;
  piece.bytes = bytes = read_code (self, node, &piece.size);
  node->edges = g_array_new (FALSE, FALSE, sizeof (LuTailEdge));
  node->may_have_more = bytes == NULL;
  if (bytes != NULL)
    lu_jumps_each (&piece, add_edge, &reading);
  return node;
}

/* Kinds */

gboolean
lu_tail_graph_want_kind (LuTailGraph *self, guint32 number)
{
  LuTailNode *node = lu_tail_graph_node (self, number);
  LuTailFile *file = g_ptr_array_index (self->files, node->file);

  if (node->kind == LU_CODE_UNKNOWN && !node->is_wanted)
    g_array_append_val (file->wanted, number);
  node->is_wanted = TRUE;
  return node->kind == LU_CODE_UNKNOWN;
}

void
lu_tail_graph_judge (LuTailGraph *self)
{
  for (guint32 i = 0; i < self->files->len; i++)
    {
      LuTailFile *file = g_ptr_array_index (self->files, i);
      g_autoptr (GArray) starts = g_array_new (FALSE, FALSE, sizeof (guint64));
      g_autofree LuCodeFunctionKind *kinds = NULL;

      for (guint k = 0; k < file->wanted->len; k++)
        g_array_append_val (
            starts, lu_tail_graph_node (self, g_array_index (file->wanted, guint32, k))->start);
      if (starts->len == 0 || !lu_budget_next_file (self->budget))
        continue;
      kinds = lu_code_functions_judge (file->functions, starts);
      /* Kinds that were judged by a part of the file only are not known. */
      for (guint k = 0; k < file->wanted->len && lu_budget_read (self->budget, 0); k++)
        lu_tail_graph_node (self, g_array_index (file->wanted, guint32, k))->kind = kinds[k];
      g_array_set_size (file->wanted, 0);
    }
}
