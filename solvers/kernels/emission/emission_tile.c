// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_gpu.h"

#include <stdio.h>

bb_emission_tile bb_emission_tile_of(const bb_emission_writer *writer)
{
    const bb_choice *choice = writer->choice;
    const bool blocked = choice->distribution == BB_DISTRIBUTION_BLOCKED;
    return (bb_emission_tile){
        .points = choice->points,
        .rows = choice->rows,
        .blocked = blocked,
        .has_rows = writer->program->space.dimensions == 2,
        .steps = {blocked ? 1 : choice->group[0], blocked ? 1 : choice->group[1]}};
}

void bb_emission_tile_first(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    const bb_choice *choice = writer->choice;
    const int counts[BB_PROGRAM_DIMENSIONS] = {tile->points, tile->rows};
    static const char *const names[BB_PROGRAM_DIMENSIONS] = {"b", "y"};
    for (int k = 0; k < 1 + tile->has_rows; ++k) {
        if (tile->blocked) {
            bb_emission_line(writer, "const bb_index %s = (%s * %td + %s) * %d;", names[k],
                             writer->words->group[k], choice->group[k], writer->words->item[k],
                             counts[k]);
        } else {
            bb_emission_line(writer, "const bb_index %s = %s * %td + %s;", names[k],
                             writer->words->group[k], choice->group[k] * counts[k],
                             writer->words->item[k]);
        }
    }
}

void bb_emission_tile_open_rows(bb_emission_writer *writer, const bb_emission_tile *tile,
                                bool unrolled)
{
    if (unrolled) {
        bb_emission_line(writer, "#pragma unroll");
    }
    bb_emission_line(writer, "for (int r = 0; r < %d; ++r) {", tile->rows);
    if (tile->has_rows) {
        bb_emission_line(writer, "const bb_index x1 = y + r * %td;", tile->steps[1]);
    }
    if (writer->locals != NULL) {
        bb_emission_line(writer, "const int i1 = (int)%s * %d + r * %td;", writer->words->item[1],
                         tile->blocked ? tile->rows : 1, tile->steps[1]);
    }
}

void bb_emission_tile_open_points(bb_emission_writer *writer, const bb_emission_tile *tile,
                                  bool unrolled)
{
    if (unrolled) {
        bb_emission_line(writer, "#pragma unroll");
    }
    bb_emission_line(writer, "for (int p = 0; p < %d; ++p) {", tile->points);
    bb_emission_line(writer, "const bb_index x0 = b + p * %td;", tile->steps[0]);
    if (writer->locals != NULL) {
        bb_emission_line(writer, "const int i0 = (int)%s * %d + p * %td;", writer->words->item[0],
                         tile->blocked ? tile->points : 1, tile->steps[0]);
    }
}

static bb_emission_vectors vectors_of(const bb_emission_writer *writer,
                                      const bb_emission_tile *tile, const bb_step_list *list)
{
    return (bb_emission_vectors){.list = list,
                                 .position = writer->program->space.positions[0],
                                 .width = tile->points,
                                 .base = "b",
                                 .point = "p",
                                 .row = "",
                                 .space = writer->words->global};
}

// The points of a row, and the stores of their windows.
static void print_points(bb_emission_writer *writer, const bb_emission_tile *tile,
                         const bb_emission_vectors *vectors, bb_emission_print_point *print,
                         const void *context)
{
    bb_emission_tile_open_points(writer, tile, true);
    writer->vectors = vectors;
    print(writer, context);
    writer->vectors = NULL;
    bb_emission_line(writer, "}");
    if (vectors != NULL) {
        bb_emission_vectors_store(writer, vectors);
    }
}

void bb_emission_tile_row(bb_emission_writer *writer, const bb_emission_tile *tile,
                          const bb_step_list *list, bb_emission_print_point *print,
                          const void *context)
{
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    if (!tile->blocked || tile->points == 1) {
        print_points(writer, tile, NULL, print, context);
    } else if (bb_emission_try(writer, bb_emission_vectors_find(writer, false, &vectors))) {
        bb_emission_vectors_declare(writer, &vectors, "");
        bb_emission_vectors_load(writer, &vectors);
        print_points(writer, tile, &vectors, print, context);
    }
    bb_emission_vectors_release(&vectors);
}

void bb_emission_tile_rows(bb_emission_writer *writer, const bb_emission_tile *tile,
                           const bb_step_list *list, bb_emission_print_point *print,
                           const void *context)
{
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    char rows[BB_EMISSION_NAME_BYTES];
    if (!tile->blocked || tile->points == 1 || tile->rows == 1) {
        bb_emission_tile_open_rows(writer, tile, true);
        bb_emission_tile_row(writer, tile, list, print, context);
        bb_emission_line(writer, "}");
        return;
    }
    (void)snprintf(rows, sizeof rows, "[%d]", tile->rows);
    vectors.row = "[r]";
    if (bb_emission_try(writer, bb_emission_vectors_find(writer, false, &vectors))) {
        bb_emission_vectors_declare(writer, &vectors, rows);
        bb_emission_tile_open_rows(writer, tile, true);
        bb_emission_vectors_load(writer, &vectors);
        bb_emission_line(writer, "}");
        bb_emission_tile_open_rows(writer, tile, true);
        print_points(writer, tile, &vectors, print, context);
        bb_emission_line(writer, "}");
    }
    bb_emission_vectors_release(&vectors);
}

static void print_aligned(bb_emission_writer *writer, const bb_emission_tile *tile,
                          const bb_step_list *list)
{
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    if (tile->blocked && tile->points > 1 &&
        bb_emission_try(writer, bb_emission_vectors_find(writer, false, &vectors))) {
        bb_emission_vectors_test(writer, &vectors);
    }
    bb_emission_vectors_release(&vectors);
}

void bb_emission_tile_accesses(bb_emission_writer *writer, const bb_emission_tile *tile,
                               const char *column, const char *row, bb_index points, bb_index rows)
{
    const bb_program *program = writer->program;
    print_aligned(writer, tile, &program->body);
    for (int i = 0; i < program->iterator_count; ++i) {
        print_aligned(writer, tile, &program->iterators[i].steps);
    }
    if (writer->is_fast == NULL) {
        return;
    }
    bb_emission_line(writer, "{");
    bb_emission_line(writer, "const bb_index x0 = %s;", column);
    if (tile->has_rows) {
        bb_emission_line(writer, "const bb_index x1 = %s;", row);
    }
    bb_emission_tile_bounds(writer, points, rows);
    bb_emission_line(writer, "}");
}

// Declares `inside` (all points are in the space and their accesses inside the objects) and
// `aligned` (all vectors are aligned).
void bb_emission_tile_tests(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    bb_emission_line(writer, "int inside = b + %td < n0, aligned = 1;",
                     (tile->points - 1) * tile->steps[0]);
    if (tile->has_rows) {
        bb_emission_line(writer, "inside = inside && y + %td < n1;",
                         (tile->rows - 1) * tile->steps[1]);
    }
    bb_emission_tile_accesses(writer, tile, "b", "y", (tile->points - 1) * tile->steps[0] + 1,
                              (tile->rows - 1) * tile->steps[1] + 1);
}
