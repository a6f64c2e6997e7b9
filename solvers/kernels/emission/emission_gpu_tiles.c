// SPDX-License-Identifier: Apache-2.0
//
// Bodies whose work-items process tiles of points. A tile inside the space, with all accesses
// inside their objects, runs without tests; other tiles run point by point.
#include "solvers/kernels/emission/emission_gpu.h"
#include "solvers/kernels/emission/emission_locals.h"

enum { FINISH_PARTS = 32 }; ///< parts of a point that are loaded at the same time

static void print_body(bb_emission_writer *writer, const void *context)
{
    (void)context;
    bb_emission_gpu_body(writer, 0, writer->program->body.count);
}

static void print_slow_row(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    bb_emission_tile_open_points(writer, tile, false);
    bb_emission_line(writer, "if (x0 >= n0) break;");
    print_body(writer, NULL);
    bb_emission_line(writer, "}");
}

// Prints the path of a tile without tests, or point by point.
static void print_rows(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    (void)bb_emission_find_fast(writer);
    const bool any = bb_emission_find_moving(writer);
    if (any || tile->points * tile->rows > 1) {
        writer->is_fast = any ? writer->fast : NULL;
        bb_emission_tile_tests(writer, tile);
        bb_emission_line(writer, "if (inside && aligned) {");
        bb_emission_tile_rows(writer, tile, &writer->program->body, print_body, NULL);
        writer->is_fast = NULL;
        bb_emission_line(writer, "return;");
        bb_emission_line(writer, "}");
    }
    bb_emission_tile_open_rows(writer, tile, false);
    if (tile->has_rows) {
        bb_emission_line(writer, "if (x1 >= n1) break;");
    }
    print_slow_row(writer, tile);
    bb_emission_line(writer, "}");
}

// Prints the path of a tile at the edge of the space, point by point.
static void print_edge(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    bb_emission_tile point = *tile;
    point.points = 1;
    point.rows = 1;
    bb_emission_line(writer, "for (int i = 0; i < %d; ++i)", tile->points * tile->rows);
    bb_emission_line(writer, "{");
    bb_emission_line(writer, "const bb_index column = b + i %% %d * %td;", tile->points,
                     tile->steps[0]);
    bb_emission_line(writer, "if (column >= n0) continue;");
    if (tile->has_rows) {
        bb_emission_line(writer, "const bb_index row = y + i / %d * %td;", tile->points,
                         tile->steps[1]);
        bb_emission_line(writer, "if (row >= n1) continue;");
    }
    bb_emission_line(writer, "{");
    bb_emission_line(writer, "const bb_index b = column;");
    if (tile->has_rows) {
        bb_emission_line(writer, "const bb_index y = row;");
    }
    bb_emission_tile_sums(writer, &point);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "}");
}

static void print_sums(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    bb_emission_tile_tests(writer, tile);
    bb_emission_line(writer, "if (inside && aligned) {");
    bb_emission_tile_sums(writer, tile);
    bb_emission_line(writer, "}");
    if (tile->points * tile->rows > 1) {
        bb_emission_line(writer, "else {");
        print_edge(writer, tile);
        bb_emission_line(writer, "}");
    }
}

// Prints the same tests for all points of a work-group, so that all its work-items use the path
// through local memory.
static void print_group_tests(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    const bb_choice *choice = writer->choice;
    const bb_index points[BB_PROGRAM_DIMENSIONS] = {choice->group[0] * choice->points,
                                                    choice->group[1] * choice->rows};
    bb_emission_line(writer, "const bb_index X = %s * %td, Y = %s * %td;", writer->words->group[0],
                     points[0], writer->words->group[1], points[1]);
    bb_emission_line(writer, "const int item = (int)(%s + %s * %td);", writer->words->item[0],
                     writer->words->item[1], choice->group[0]);
    bb_emission_line(writer, "int inside = X + %td <= n0, aligned = 1;", points[0]);
    if (tile->has_rows) {
        bb_emission_line(writer, "inside = inside && Y + %td <= n1;", points[1]);
    }
    // All tiles of a group are aligned alike.
    bb_emission_tile_accesses(writer, tile, "X", "Y", points[0], points[1]);
}

// Prints the path of whole groups through local memory, if it exists.
static void print_local(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    const bb_program *program = writer->program;
    const bool iterates = program->iterator_count > 0;
    bb_emission_locals locals = {.list = iterates ? &program->iterators[0].steps : &program->body,
                                 .position =
                                     iterates ? program->iterators[0].space.positions[0] : -1};
    if (!iterates) {
        (void)bb_emission_find_fast(writer);
    }
    const bool any = bb_emission_find_moving(writer);
    writer->is_fast = any ? writer->fast : NULL;
    if (!bb_emission_try(writer, bb_emission_locals_find(program, writer, &locals)) ||
        !locals.any) {
        goto done;
    }
    bb_emission_locals_declare(writer, &locals);
    writer->locals = &locals;
    bb_emission_line(writer, "{");
    print_group_tests(writer, tile);
    bb_emission_line(writer, "if (inside && aligned) {");
    if (iterates) {
        bb_emission_tile_sums(writer, tile);
    } else {
        bb_emission_locals_begin(writer, &locals);
        bb_emission_locals_fetch(writer, &locals, "");
        bb_emission_locals_store(writer, &locals);
        bb_emission_line(writer, "%s", writer->words->barrier);
        bb_emission_tile_rows(writer, tile, &program->body, print_body, NULL);
    }
    bb_emission_line(writer, "return;");
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "}");
done:
    writer->locals = NULL;
    writer->is_fast = NULL;
    bb_emission_locals_release(&locals);
}

void bb_emission_gpu_tiles(bb_emission_writer *writer)
{
    const bb_emission_tile tile = bb_emission_tile_of(writer);
    bb_emission_gpu_ranges(writer);
    bb_emission_tile_first(writer, &tile);
    if (writer->choice->is_local) {
        print_local(writer, &tile);
    }
    if (bb_emission_runs_by_tile(writer->program)) {
        print_sums(writer, &tile);
    } else {
        print_rows(writer, &tile);
    }
}

// Processes several parts at a time, so that their loads overlap.
static void print_finish_batch(bb_emission_writer *writer, const bb_reduction *reduction)
{
    bb_emission_line(writer, "for (bb_index j = c; j < e; j += %d) {", FINISH_PARTS);
    bb_emission_line(writer, "%s part[%d][%d];", bb_emission_type(writer, reduction->type),
                     FINISH_PARTS, reduction->count);
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int q = 0; q < %d; ++q)", FINISH_PARTS);
    bb_emission_line(writer, "if (j + q < e) {");
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "part[q][%d] = p%d[(j + q) * n0 + x0];", k, k);
    }
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int q = 0; q < %d; ++q)", FINISH_PARTS);
    bb_emission_line(writer, "    if (j + q < e) bb_join0(acc, part[q]);");
    bb_emission_line(writer, "}");
}

// Joins the parts of a point one after another, in chunks whose results replace the first parts,
// until one is left.
static void print_finish(bb_emission_writer *writer, const bb_reduction *reduction)
{
    const char *type = bb_emission_type(writer, reduction->type);
    bb_emission_line(writer, "for (bb_index count = parts, chunks; count > 1; count = chunks) {");
    bb_emission_line(writer, "chunks = (count - 1) / %td + 1;", reduction->order.chunk);
    bb_emission_line(writer, "for (bb_index place = 0; place < chunks; ++place) {");
    bb_emission_line(writer, "const bb_index c = place * %td;", reduction->order.chunk);
    bb_emission_line(writer, "const bb_index e = count - c < %td ? count : c + %td;",
                     reduction->order.chunk, reduction->order.chunk);
    bb_emission_line(writer, "%s acc[%d];", type, reduction->count);
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) acc[k] = bb_neutral0(k);",
                     reduction->count);
    print_finish_batch(writer, reduction);
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "p%d[place * n0 + x0] = acc[%d];", k, k);
    }
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "}");
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "const %s s%d = p%d[x0];", type, reduction->output + k, k);
    }
}

void bb_emission_gpu_tiles_finish(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const bb_reduction *reduction = &program->iterators[0].reduction;
    bb_emission_gpu_ranges(writer);
    bb_emission_line(writer, "const bb_index x0 = %s * %d + %s;", writer->words->group[0],
                     BB_EMISSION_FINISH_ITEMS, writer->words->item[0]);
    bb_emission_line(writer, "if (x0 >= n0) return;");
    const int place = bb_emission_iterator_place(program);
    bb_emission_gpu_body(writer, 0, place);
    print_finish(writer, reduction);
    bb_emission_gpu_body(writer, place + 1, program->body.count);
}
