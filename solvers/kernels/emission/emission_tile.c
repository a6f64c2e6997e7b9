// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_tile.h"

#include <stdio.h>

bb_emission_tile bb_emission_tile_of(const bb_emission_gpu *writer)
{
    const bb_choice *choice = writer->base->choice;
    const bool blocked = choice->distribution == BB_DISTRIBUTION_BLOCKED;
    return (bb_emission_tile){
        .points = choice->points,
        .rows = choice->rows,
        .blocked = blocked,
        .has_rows = writer->base->program->space.dimensions == 2,
        .steps = {blocked ? 1 : choice->group[0], blocked ? 1 : choice->group[1]}};
}

bb_status bb_emission_tile_first(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    const bb_choice *choice = writer->base->choice;
    const int counts[BB_PROGRAM_DIMENSIONS] = {tile->points, tile->rows};
    static const char *const names[BB_PROGRAM_DIMENSIONS] = {"b", "y"};
    for (int k = 0; k < 1 + tile->has_rows; ++k) {
        BB_TRY(tile->blocked
                   ? bb_emission_line(writer->base, "const bb_index %s = (%s * %td + %s) * %d;",
                                      names[k], writer->words->group[k], choice->group[k],
                                      writer->words->item[k], counts[k])
                   : bb_emission_line(writer->base, "const bb_index %s = %s * %td + %s;", names[k],
                                      writer->words->group[k], choice->group[k] * counts[k],
                                      writer->words->item[k]));
    }
done:
    return status;
}

bb_status bb_emission_tile_open_rows(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                     bool unrolled)
{
    bb_status status = BB_OK;
    char line[BB_EMISSION_NAME_BYTES];
    if (unrolled) {
        BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
    }
    (void)snprintf(line, sizeof line, "for (int r = 0; r < %d; ++r) {", tile->rows);
    BB_TRY(bb_emission_gpu_open(writer, line));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(writer->base, "const bb_index x1 = y + r * %td;", tile->steps[1]));
    }
    if (writer->base->locals != NULL) {
        BB_TRY(bb_emission_line(writer->base, "const int i1 = (int)%s * %d + r * %td;",
                                writer->words->item[1], tile->blocked ? tile->rows : 1,
                                tile->steps[1]));
    }
done:
    return status;
}

bb_status bb_emission_tile_open_points(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                       bool unrolled)
{
    bb_status status = BB_OK;
    char line[BB_EMISSION_NAME_BYTES];
    if (unrolled) {
        BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
    }
    (void)snprintf(line, sizeof line, "for (int p = 0; p < %d; ++p) {", tile->points);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_line(writer->base, "const bb_index x0 = b + p * %td;", tile->steps[0]));
    if (writer->base->locals != NULL) {
        BB_TRY(bb_emission_line(writer->base, "const int i0 = (int)%s * %d + p * %td;",
                                writer->words->item[0], tile->blocked ? tile->points : 1,
                                tile->steps[0]));
    }
done:
    return status;
}

static bb_emission_vectors vectors_of(const bb_emission_gpu *writer, const bb_emission_tile *tile,
                                      const bb_step_list *list)
{
    return (bb_emission_vectors){.list = list,
                                 .position = writer->base->program->space.positions[0],
                                 .width = tile->points,
                                 .base = "b",
                                 .point = "p",
                                 .row = "",
                                 .space = writer->words->global};
}

// The points of a row, and the stores of their windows.
static bb_status print_points(bb_emission_gpu *writer, const bb_emission_tile *tile,
                              const bb_emission_vectors *vectors, bb_emission_print_point *print,
                              const void *context)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_tile_open_points(writer, tile, true));
    writer->base->vectors = vectors;
    status = print(writer, context);
    writer->base->vectors = NULL;
    BB_TRY(status);
    BB_TRY(bb_emission_gpu_close(writer));
    if (vectors != NULL) {
        BB_TRY(bb_emission_vectors_store(writer->base, vectors));
    }
done:
    return status;
}

bb_status bb_emission_tile_row(bb_emission_gpu *writer, const bb_emission_tile *tile,
                               const bb_step_list *list, bb_emission_print_point *print,
                               const void *context)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    const bool by_vectors = tile->blocked && tile->points > 1;
    if (by_vectors) {
        BB_TRY(bb_emission_vectors_find(base, false, &vectors));
        BB_TRY(bb_emission_vectors_declare(base, &vectors, ""));
        BB_TRY(bb_emission_vectors_load(base, &vectors));
    }
    BB_TRY(print_points(writer, tile, by_vectors ? &vectors : NULL, print, context));
done:
    bb_emission_vectors_release(&vectors);
    return status;
}

bb_status bb_emission_tile_rows(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                const bb_step_list *list, bb_emission_print_point *print,
                                const void *context)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    char rows[BB_EMISSION_NAME_BYTES];
    if (!tile->blocked || tile->points == 1 || tile->rows == 1) {
        BB_TRY(bb_emission_tile_open_rows(writer, tile, true));
        BB_TRY(bb_emission_tile_row(writer, tile, list, print, context));
        BB_TRY(bb_emission_gpu_close(writer));
        goto done;
    }
    (void)snprintf(rows, sizeof rows, "[%d]", tile->rows);
    vectors.row = "[r]";
    BB_TRY(bb_emission_vectors_find(base, false, &vectors));
    BB_TRY(bb_emission_vectors_declare(base, &vectors, rows));
    BB_TRY(bb_emission_tile_open_rows(writer, tile, true));
    BB_TRY(bb_emission_vectors_load(base, &vectors));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_tile_open_rows(writer, tile, true));
    BB_TRY(print_points(writer, tile, &vectors, print, context));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    bb_emission_vectors_release(&vectors);
    return status;
}

bb_status bb_emission_tile_aligned(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                   const bb_step_list *list)
{
    bb_status status = BB_OK;
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    if (tile->blocked && tile->points > 1) {
        BB_TRY(bb_emission_vectors_find(writer->base, false, &vectors));
        BB_TRY(bb_emission_vectors_test(writer->base, &vectors));
    }
done:
    bb_emission_vectors_release(&vectors);
    return status;
}

bb_status bb_emission_tile_inside(bb_emission_gpu *writer, const bb_emission_tile *tile,
                                  const char *column, const char *row, bb_index points,
                                  bb_index rows)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(bb_emission_line(writer->base, "const bb_index x0 = %s;", column));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(writer->base, "const bb_index x1 = %s;", row));
    }
    BB_TRY(bb_emission_tile_bounds(writer->base, writer->base->is_fast, points, rows));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// Declares `inside` and `aligned`: all points lie in the space, their accesses in their objects;
// and vectors begin where they may.
bb_status bb_emission_tile_tests(bb_emission_gpu *writer, const bb_emission_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    BB_TRY(bb_emission_line(base, "int inside = b + %td < n0, aligned = 1;",
                            (tile->points - 1) * tile->steps[0]));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "inside = inside && y + %td < n1;",
                                (tile->rows - 1) * tile->steps[1]));
    }
    BB_TRY(bb_emission_tile_aligned(writer, tile, &program->body));
    for (int i = 0; i < program->iterator_count; ++i) {
        BB_TRY(bb_emission_tile_aligned(writer, tile, &program->iterators[i].steps));
    }
    if (base->is_fast != NULL) {
        BB_TRY(bb_emission_tile_inside(writer, tile, "b", "y",
                                       (tile->points - 1) * tile->steps[0] + 1,
                                       (tile->rows - 1) * tile->steps[1] + 1));
    }
done:
    return status;
}
