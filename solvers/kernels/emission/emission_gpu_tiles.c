// SPDX-License-Identifier: Apache-2.0
//
// Bodies whose work-items take tiles of points. A tile that lies inside the space, and whose
// accesses stay inside their objects, runs without tests; others run point by point.
#include "core/memory.h"
#include "solvers/kernels/emission/emission_locals.h"
#include "solvers/kernels/emission/emission_tile.h"

#include <stdio.h>

enum { FINISH_PARTS = 32 }; ///< of a point that are loaded at once

static bb_status print_body(bb_emission_gpu *writer, const void *context)
{
    (void)context;
    return bb_emission_gpu_body(writer, 0, writer->base->program->body.count);
}

static bb_status print_slow_row(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_tile_open_points(writer, tile, false));
    BB_TRY(bb_emission_line(writer->base, "if (x0 >= n0) break;"));
    BB_TRY(print_body(writer, NULL));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// A tile without tests, or point by point.
static bb_status print_rows(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    bool *is_fast = NULL;
    BB_TRY(BB_ZEROED(base->program->step_count, &is_fast));
    (void)bb_emission_find_fast(base->program, base->is_inside, is_fast);
    const bool any = bb_emission_find_moving(base->program, is_fast);
    if (any || tile->points * tile->rows > 1) {
        base->is_fast = any ? is_fast : NULL;
        BB_TRY(bb_emission_tile_tests(writer, tile));
        BB_TRY(bb_emission_gpu_open(writer, "if (inside && aligned) {"));
        BB_TRY(bb_emission_tile_rows(writer, tile, &base->program->body, print_body, NULL));
        base->is_fast = NULL;
        BB_TRY(bb_emission_line(base, "return;"));
        BB_TRY(bb_emission_gpu_close(writer));
    }
    BB_TRY(bb_emission_tile_open_rows(writer, tile, false));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "if (x1 >= n1) break;"));
    }
    BB_TRY(print_slow_row(writer, tile));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    base->is_fast = NULL;
    BB_RELEASE(&is_fast);
    return status;
}

// A tile at the edge of the space, point by point.
static bb_status print_edge(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    bb_emission_tile point = *tile;
    point.points = 1;
    point.rows = 1;
    BB_TRY(bb_emission_line(base, "for (int i = 0; i < %d; ++i)", tile->points * tile->rows));
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(bb_emission_line(base, "const bb_index column = b + i %% %d * %td;", tile->points,
                            tile->steps[0]));
    BB_TRY(bb_emission_line(base, "if (column >= n0) continue;"));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "const bb_index row = y + i / %d * %td;", tile->points,
                                tile->steps[1]));
        BB_TRY(bb_emission_line(base, "if (row >= n1) continue;"));
    }
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(bb_emission_line(base, "const bb_index b = column;"));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "const bb_index y = row;"));
    }
    BB_TRY(bb_emission_tile_sums(writer, &point));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

static bb_status print_sums(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_tile_tests(writer, tile));
    BB_TRY(bb_emission_gpu_open(writer, "if (inside && aligned) {"));
    BB_TRY(bb_emission_tile_sums(writer, tile));
    BB_TRY(bb_emission_gpu_close(writer));
    if (tile->points * tile->rows > 1) {
        BB_TRY(bb_emission_gpu_open(writer, "else {"));
        BB_TRY(print_edge(writer, tile));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// The same of all points of a work-group, so that all its work-items take the way through local
// memory.
static bb_status print_group_tests(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_choice *choice = base->choice;
    const bb_index points[BB_PROGRAM_DIMENSIONS] = {choice->group[0] * choice->points,
                                                    choice->group[1] * choice->rows};
    BB_TRY(bb_emission_line(base, "const bb_index X = %s * %td, Y = %s * %td;",
                            writer->words->group[0], points[0], writer->words->group[1],
                            points[1]));
    BB_TRY(bb_emission_line(base, "const int item = (int)(%s + %s * %td);", writer->words->item[0],
                            writer->words->item[1], choice->group[0]));
    BB_TRY(bb_emission_line(base, "int inside = X + %td <= n0, aligned = 1;", points[0]));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "inside = inside && Y + %td <= n1;", points[1]));
    }
    // All tiles of a group begin alike.
    BB_TRY(bb_emission_tile_aligned(writer, tile, &base->program->body));
    for (int i = 0; i < base->program->iterator_count; ++i) {
        BB_TRY(bb_emission_tile_aligned(writer, tile, &base->program->iterators[i].steps));
    }
    if (base->is_fast != NULL) {
        BB_TRY(bb_emission_tile_inside(writer, tile, "X", "Y", points[0], points[1]));
    }
done:
    return status;
}

// The way of whole groups through local memory, where there is one.
static bb_status print_local(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const bool iterates = program->iterator_count > 0;
    bool *is_fast = NULL;
    bb_emission_locals locals = {.list = iterates ? &program->iterators[0].steps : &program->body,
                                 .position =
                                     iterates ? program->iterators[0].space.positions[0] : -1};
    BB_TRY(BB_ZEROED(program->step_count, &is_fast));
    if (!iterates) {
        (void)bb_emission_find_fast(program, base->is_inside, is_fast);
    }
    const bool any = bb_emission_find_moving(program, is_fast);
    base->is_fast = any ? is_fast : NULL;
    BB_TRY(bb_emission_locals_find(program, base, &locals));
    if (!locals.any) {
        goto done;
    }
    BB_TRY(bb_emission_locals_declare(base, &locals, writer->words->local, writer->local));
    base->locals = &locals;
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(print_group_tests(writer, tile));
    BB_TRY(bb_emission_gpu_open(writer, "if (inside && aligned) {"));
    if (iterates) {
        BB_TRY(bb_emission_tile_sums(writer, tile));
    } else {
        BB_TRY(bb_emission_locals_begin(base, &locals));
        BB_TRY(bb_emission_locals_fetch(base, &locals, ""));
        BB_TRY(bb_emission_locals_store(base, &locals));
        BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
        BB_TRY(bb_emission_tile_rows(writer, tile, &program->body, print_body, NULL));
    }
    BB_TRY(bb_emission_line(base, "return;"));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    base->locals = NULL;
    base->is_fast = NULL;
    bb_emission_locals_release(&locals);
    BB_RELEASE(&is_fast);
    return status;
}

bb_status bb_emission_gpu_tiles(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    const bb_emission_tile tile = bb_emission_tile_of(writer);
    BB_TRY(bb_emission_gpu_ranges(writer));
    BB_TRY(bb_emission_tile_first(writer, &tile));
    if (writer->base->choice->is_local) {
        BB_TRY(print_local(writer, &tile));
    }
    BB_TRY(bb_emission_runs_by_tile(writer->base->program) ? print_sums(writer, &tile)
                                                           : print_rows(writer, &tile));
done:
    return status;
}

// So many parts at a time: their loads are on their way together.
static bb_status print_finish_batch(bb_emission_gpu *writer, const bb_reduction *reduction)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    char line[64];
    (void)snprintf(line, sizeof line, "for (bb_index j = c; j < e; j += %d) {", FINISH_PARTS);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_line(base, "%s part[%d][%d];", bb_emission_type(base, reduction->type),
                            FINISH_PARTS, reduction->count));
    BB_TRY(bb_emission_line(base, "#pragma unroll"));
    BB_TRY(bb_emission_line(base, "for (int q = 0; q < %d; ++q)", FINISH_PARTS));
    BB_TRY(bb_emission_gpu_open(writer, "if (j + q < e) {"));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "part[q][%d] = p%d[(j + q) * n0 + x0];", k, k));
    }
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "#pragma unroll"));
    BB_TRY(bb_emission_line(base, "for (int q = 0; q < %d; ++q)", FINISH_PARTS));
    BB_TRY(bb_emission_line(base, "    if (j + q < e) bb_join0(acc, part[q]);"));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// Joins the parts of a point one after another, in chunks whose results take the place of the first
// parts, until one is left.
static bb_status print_finish(bb_emission_gpu *writer, const bb_reduction *reduction)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const char *type = bb_emission_type(base, reduction->type);
    BB_TRY(bb_emission_gpu_open(writer, "for (bb_index count = parts, chunks; count > 1; "
                                        "count = chunks) {"));
    BB_TRY(bb_emission_line(base, "chunks = (count - 1) / %td + 1;", reduction->order.chunk));
    BB_TRY(bb_emission_gpu_open(writer, "for (bb_index place = 0; place < chunks; ++place) {"));
    BB_TRY(bb_emission_line(base, "const bb_index c = place * %td;", reduction->order.chunk));
    BB_TRY(bb_emission_line(base, "const bb_index e = count - c < %td ? count : c + %td;",
                            reduction->order.chunk, reduction->order.chunk));
    BB_TRY(bb_emission_line(base, "%s acc[%d];", type, reduction->count));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) acc[k] = bb_neutral0(k);",
                            reduction->count));
    BB_TRY(print_finish_batch(writer, reduction));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "p%d[place * n0 + x0] = acc[%d];", k, k));
    }
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_close(writer));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "const %s s%d = p%d[x0];", type, reduction->output + k, k));
    }
done:
    return status;
}

bb_status bb_emission_gpu_tiles_finish(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const bb_reduction *reduction = &program->iterators[0].reduction;
    BB_TRY(bb_emission_gpu_ranges(writer));
    BB_TRY(bb_emission_line(base, "const bb_index x0 = %s * %d + %s;", writer->words->group[0],
                            BB_EMISSION_FINISH_ITEMS, writer->words->item[0]));
    BB_TRY(bb_emission_line(base, "if (x0 >= n0) return;"));
    const int place = bb_emission_iterator_place(program);
    BB_TRY(bb_emission_gpu_body(writer, 0, place));
    BB_TRY(print_finish(writer, reduction));
    BB_TRY(bb_emission_gpu_body(writer, place + 1, program->body.count));
done:
    return status;
}
