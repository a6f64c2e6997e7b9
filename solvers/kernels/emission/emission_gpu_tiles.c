// SPDX-License-Identifier: Apache-2.0
//
// Bodies whose work-items take tiles of points. A tile that lies inside the space, and whose
// accesses stay inside their objects, runs without tests, neighbours by vectors; where iterators
// run alike for all points they run around the tile, whose sums are registers. Other tiles run
// point by point.
#include "core/memory.h"
#include "solvers/kernels/emission/emission_gpu.h"
#include "solvers/kernels/emission/emission_locals.h"
#include "solvers/kernels/program/selector_form.h"

#include <stdio.h>

typedef struct point_tile {
    int points, rows;
    bool blocked;
    bool has_rows;                         ///< the space has a second dimension
    bb_index steps[BB_PROGRAM_DIMENSIONS]; ///< from a point of a work-item to its next
} point_tile;

static point_tile tile_of(const bb_emission_gpu *writer)
{
    const bb_choice *choice = writer->base->choice;
    const bool blocked = choice->distribution == BB_DISTRIBUTION_BLOCKED;
    return (point_tile){.points = choice->points,
                        .rows = choice->rows,
                        .blocked = blocked,
                        .has_rows = writer->base->program->space.dimensions == 2,
                        .steps = {blocked ? 1 : choice->group[0], blocked ? 1 : choice->group[1]}};
}

// Declares b and y, the first point.
static bb_status print_first(bb_emission_gpu *writer, const point_tile *tile)
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

static bb_status open_rows(bb_emission_gpu *writer, const point_tile *tile, bool unrolled)
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

static bb_status open_points(bb_emission_gpu *writer, const point_tile *tile, bool unrolled)
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

static bb_emission_vectors vectors_of(const bb_emission_gpu *writer, const point_tile *tile,
                                      const bb_step_list *list)
{
    return (bb_emission_vectors){.list = list,
                                 .position = writer->base->program->space.positions[0],
                                 .width = tile->points,
                                 .base = "b",
                                 .point = "p",
                                 .space = writer->words->global};
}

// Steps of a row of points that need no test, `list` by vectors where the tile is blocked.
static bb_status print_row(bb_emission_gpu *writer, const point_tile *tile,
                           const bb_step_list *list,
                           bb_status (*print)(bb_emission_gpu *writer, const void *context),
                           const void *context)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    bb_emission_vectors vectors = vectors_of(writer, tile, list);
    const bool by_vectors = tile->blocked && tile->points > 1;
    if (by_vectors) {
        BB_TRY(bb_emission_vectors_find(base, false, &vectors));
        BB_TRY(bb_emission_vectors_load(base, &vectors));
    }
    BB_TRY(open_points(writer, tile, true));
    base->vectors = by_vectors ? &vectors : NULL;
    status = print(writer, context);
    base->vectors = NULL;
    BB_TRY(status);
    BB_TRY(bb_emission_gpu_close(writer));
    if (by_vectors) {
        BB_TRY(bb_emission_vectors_store(base, &vectors));
    }
done:
    bb_emission_vectors_release(&vectors);
    return status;
}

static bb_status print_body(bb_emission_gpu *writer, const void *context)
{
    (void)context;
    return bb_emission_gpu_body(writer, 0, writer->base->program->body.count);
}

static bb_status print_slow_row(bb_emission_gpu *writer, const point_tile *tile)
{
    bb_status status = BB_OK;
    BB_TRY(open_points(writer, tile, false));
    BB_TRY(bb_emission_line(writer->base, "if (x0 >= n0) break;"));
    BB_TRY(print_body(writer, NULL));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// Clears `aligned` where the vectors of a list of steps are not.
static bb_status print_aligned(bb_emission_gpu *writer, const point_tile *tile,
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

// Declares `whole` and `aligned`: all points lie in the space, their accesses in their objects; and
// vectors begin where they may.
static bb_status print_whole(bb_emission_gpu *writer, const point_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    BB_TRY(bb_emission_line(base, "const bb_index e = b + %td;",
                            (tile->points - 1) * tile->steps[0] + 1));
    BB_TRY(bb_emission_line(base, "int whole = e <= n0, aligned = 1;"));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "whole = whole && y + %td < n1;",
                                (tile->rows - 1) * tile->steps[1]));
    }
    BB_TRY(print_aligned(writer, tile, &program->body));
    for (int i = 0; i < program->iterator_count; ++i) {
        BB_TRY(print_aligned(writer, tile, &program->iterators[i].steps));
    }
    if (base->is_fast != NULL) {
        BB_TRY(open_rows(writer, tile, true));
        BB_TRY(bb_emission_line_bounds(base, base->is_fast));
        BB_TRY(bb_emission_line(base, "whole = whole && lo == b && hi == e;"));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// A tile without tests, or point by point.
static bb_status print_rows(bb_emission_gpu *writer, const point_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    bool *is_fast = NULL;
    BB_TRY(BB_ZEROED(base->program->step_count, &is_fast));
    const bool any = bb_emission_find_fast(base->program, base->is_inside, is_fast);
    if (any || tile->points * tile->rows > 1) {
        base->is_fast = any ? is_fast : NULL;
        BB_TRY(print_whole(writer, tile));
        BB_TRY(bb_emission_gpu_open(writer, "if (whole && aligned) {"));
        BB_TRY(open_rows(writer, tile, true));
        BB_TRY(print_row(writer, tile, &base->program->body, print_body, NULL));
        BB_TRY(bb_emission_gpu_close(writer));
        base->is_fast = NULL;
        BB_TRY(bb_emission_line(base, "return;"));
        BB_TRY(bb_emission_gpu_close(writer));
    }
    BB_TRY(open_rows(writer, tile, false));
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

// Tiles around which iterators run

/// Part of the body between iterators, which later parts take values of.
typedef struct body_part {
    const point_tile *tile;
    const bool *is_saved; ///< [value_count]
    bool *is_done;        ///< [value_count] of these, made by earlier parts
    int begin, end;       ///< steps of the body; of an iterator: begin == end, its place
    int iterator;         ///< -1: none
} body_part;

static bb_status print_reload(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    char name[BB_EMISSION_NAME_BYTES];
    for (int value = 0; value < program->value_count; ++value) {
        if (part->is_saved[value] && part->is_done[value]) {
            BB_TRY(bb_emission_line(base, "const %s %s = v%d[r][p];",
                                    bb_emission_type(base, program->values[value].type),
                                    bb_emission_name(base, value, name), value));
        }
    }
    for (int i = 0; i < part->begin; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind != BB_STEP_ITERATOR) {
            continue;
        }
        const bb_reduction *reduction = &program->iterators[step->iterator].reduction;
        for (int k = 0; k < reduction->count; ++k) {
            BB_TRY(bb_emission_line(base, "const %s s%d = acc%d[r][p][%d];",
                                    bb_emission_type(base, reduction->type), reduction->output + k,
                                    step->iterator, k));
        }
    }
done:
    return status;
}

static bb_status print_part(bb_emission_gpu *writer, const void *context)
{
    bb_status status = BB_OK;
    const body_part *part = context;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    char name[2 * BB_EMISSION_NAME_BYTES];
    BB_TRY(print_reload(writer, part));
    if (part->iterator >= 0) {
        const bb_iterator *iterator = &program->iterators[part->iterator];
        (void)snprintf(name, sizeof name, "acc%d[r][p]", part->iterator);
        BB_TRY(bb_emission_gpu_steps(writer, &iterator->steps));
        BB_TRY(bb_emission_take(base, &iterator->reduction, name));
        goto done;
    }
    for (int i = part->begin; i < part->end; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        const int outputs = step->kind == BB_STEP_READ       ? 1
                            : step->kind == BB_STEP_FUNCTION ? step->expression.output_count
                                                             : 0;
        BB_TRY(bb_emission_gpu_body(writer, i, i + 1));
        for (int k = 0; k < outputs; ++k) {
            if (part->is_saved[step->output + k]) {
                BB_TRY(bb_emission_line(base, "v%d[r][p] = %s;", step->output + k,
                                        bb_emission_name(base, step->output + k, name)));
            }
        }
    }
done:
    return status;
}

// Marks what a part has made for later ones.
static void finish_part(const bb_program *program, const body_part *part)
{
    for (int i = part->begin; i < part->end; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        const int outputs = step->kind == BB_STEP_READ       ? 1
                            : step->kind == BB_STEP_FUNCTION ? step->expression.output_count
                                                             : 0;
        for (int k = 0; k < outputs; ++k) {
            part->is_done[step->output + k] = true;
        }
    }
}

static bb_status print_part_rows(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->base->program;
    const bb_step_list steps = {.steps = program->body.steps + part->begin,
                                .count = part->end - part->begin};
    if (part->iterator < 0 && part->begin == part->end) {
        goto done;
    }
    BB_TRY(open_rows(writer, part->tile, true));
    BB_TRY(print_row(writer, part->tile,
                     part->iterator >= 0 ? &program->iterators[part->iterator].steps : &steps,
                     print_part, part));
    BB_TRY(bb_emission_gpu_close(writer));
    finish_part(program, part);
done:
    return status;
}

static bb_status print_start(bb_emission_gpu *writer, const point_tile *tile, int number,
                             const char *first)
{
    bb_status status = BB_OK;
    const bb_reduction *reduction = &writer->base->program->iterators[number].reduction;
    BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
    BB_TRY(bb_emission_line(writer->base, "for (int r = 0; r < %d; ++r)", tile->rows));
    BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
    BB_TRY(bb_emission_line(writer->base, "for (int p = 0; p < %d; ++p)", tile->points));
    BB_TRY(bb_emission_line(
        writer->base,
        "    for (int k = 0; k < %d; ++k) acc%d[r][p][k] = %s ? bb_first%d(k) : bb_neutral%d(k);",
        reduction->count, number, first, number, number));
done:
    return status;
}

static bb_status open_iterations(bb_emission_gpu *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    char range[BB_EMISSION_NAME_BYTES];
    char line[4 * BB_EMISSION_NAME_BYTES];
    for (int k = iterator->space.dimensions - 1; k >= 0; --k) {
        (void)bb_emission_name(base, iterator->space.ranges[k], range);
        if (iterator->space.dimensions == 1) {
            (void)snprintf(line, sizeof line, "for (bb_index k%d_0 = c%d; k%d_0 < e%d; ++k%d_0) {",
                           number, number, number, number, number);
        } else {
            (void)snprintf(line, sizeof line, "for (bb_index k%d_%d = 0; k%d_%d < %s; ++k%d_%d) {",
                           number, k, number, k, range, number, k);
        }
        if (k == 0) {
            BB_TRY(bb_emission_line(base, "#pragma unroll 4"));
        }
        BB_TRY(bb_emission_gpu_open(writer, line));
    }
done:
    return status;
}

static bb_status close_iterations(bb_emission_gpu *writer, int number)
{
    bb_status status = BB_OK;
    for (int k = 0; k < writer->base->program->iterators[number].space.dimensions; ++k) {
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// Takes the points' parts to or from the sums of chunks.
static bb_status print_parts(bb_emission_gpu *writer, const point_tile *tile, int number, bool back)
{
    bb_status status = BB_OK;
    const int count = writer->base->program->iterators[number].reduction.count;
    BB_TRY(bb_emission_line(writer->base, "for (int p = 0; p < %d; ++p)", tile->points));
    BB_TRY(back ? bb_emission_line(writer->base,
                                   "    for (int k = 0; k < %d; ++k) acc%d[0][p][k] = "
                                   "u%d.lane[0][0][p][k];",
                                   count, number, number)
                : bb_emission_line(writer->base,
                                   "    for (int k = 0; k < %d; ++k) u%d.lane[0][0][p][k] = "
                                   "acc%d[0][p][k];",
                                   count, number, number));
done:
    return status;
}

static bb_status print_iterations(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    BB_TRY(open_iterations(writer, part->iterator));
    BB_TRY(print_part_rows(writer, part));
    BB_TRY(close_iterations(writer, part->iterator));
done:
    return status;
}

// So many iterations at a time from local memory, then the rest.
static bb_status print_local_iterations(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_emission_locals *locals = base->locals;
    const int number = part->iterator;
    char line[4 * BB_EMISSION_NAME_BYTES];
    char next[BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_line(base, "bb_index g = c%d;", number));
    BB_TRY(bb_emission_locals_begin(base, locals));
    (void)snprintf(line, sizeof line, "if (g + %d <= e%d) {", BB_EMISSION_LOCAL_STEPS, number);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_locals_fetch(base, locals, "g"));
    BB_TRY(bb_emission_gpu_close(writer));
    (void)snprintf(line, sizeof line, "for (; g + %d <= e%d; g += %d) {", BB_EMISSION_LOCAL_STEPS,
                   number, BB_EMISSION_LOCAL_STEPS);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    BB_TRY(bb_emission_locals_store(base, locals));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    // The next boxes are on their way while these are at work.
    (void)snprintf(line, sizeof line, "if (g + %d <= e%d) {", 2 * BB_EMISSION_LOCAL_STEPS, number);
    (void)snprintf(next, sizeof next, "g + %d", BB_EMISSION_LOCAL_STEPS);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_locals_fetch(base, locals, next));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "#pragma unroll"));
    (void)snprintf(line, sizeof line, "for (int q = 0; q < %d; ++q) {", BB_EMISSION_LOCAL_STEPS);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_line(base, "const bb_index k%d_0 = g + q;", number));
    BB_TRY(print_part_rows(writer, part));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_close(writer));
    base->locals = NULL;
    (void)snprintf(line, sizeof line, "for (bb_index k%d_0 = g; k%d_0 < e%d; ++k%d_0) {", number,
                   number, number, number);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(print_part_rows(writer, part));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    base->locals = locals;
    return status;
}

// An iterator around the tile, in chunks where its sum has some.
static bb_status print_iterator(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = part->iterator;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_index chunk = iterator->reduction.order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    char first[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, iterator->space.ranges[0], range);
    (void)snprintf(first, sizeof first, "c%d == 0", number);
    if (chunk > 0) {
        BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
        BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
    }
    BB_TRY(bb_emission_chunks(base, number));
    BB_TRY(print_start(writer, part->tile, number, first));
    BB_TRY(base->locals != NULL ? print_local_iterations(writer, part)
                                : print_iterations(writer, part));
    if (chunk > 0) {
        BB_TRY(bb_emission_line(base, "if (%s > %td) {", range, chunk));
        ++base->depth;
        BB_TRY(print_parts(writer, part->tile, number, false));
        BB_TRY(
            bb_emission_line(base, "bb_push%d(&u%d, 0, %d);", number, number, part->tile->points));
        BB_TRY(bb_emission_gpu_close(writer));
    }
    BB_TRY(bb_emission_gpu_close(writer));
    if (chunk > 0) {
        BB_TRY(bb_emission_line(base, "if (%s > %td) {", range, chunk));
        ++base->depth;
        BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, %d);", number, number, part->tile->points));
        BB_TRY(print_parts(writer, part->tile, number, true));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// A chunk of the points' only sum, handed to the entry that finishes it.
static bb_status print_split(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_iterator *iterator = &base->program->iterators[0];
    const bb_index chunk = iterator->reduction.order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, iterator->space.ranges[0], range);
    BB_TRY(bb_emission_line(base, "const bb_index c0 = %s * %td;", writer->words->group[1], chunk));
    BB_TRY(bb_emission_line(base, "const bb_index e0 = %s - c0 < %td ? %s : c0 + %td;", range,
                            chunk, range, chunk));
    BB_TRY(print_start(writer, part->tile, 0, "c0 == 0"));
    BB_TRY(open_iterations(writer, 0));
    BB_TRY(print_part_rows(writer, part));
    BB_TRY(close_iterations(writer, 0));
    BB_TRY(bb_emission_line(base, "#pragma unroll"));
    BB_TRY(bb_emission_line(base, "for (int p = 0; p < %d; ++p) {", part->tile->points));
    for (int k = 0; k < iterator->reduction.count; ++k) {
        BB_TRY(bb_emission_line(base, "    p%d[%s * n0 + b + p * %td] = acc0[0][p][%d];", k,
                                writer->words->group[1], part->tile->steps[0], k));
    }
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

static bb_status print_parts_of_body(bb_emission_gpu *writer, const point_tile *tile,
                                     const bool *is_saved, bool *is_done)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    body_part part = {.tile = tile, .is_saved = is_saved, .is_done = is_done, .iterator = -1};
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind != BB_STEP_ITERATOR) {
            continue;
        }
        part.end = i;
        BB_TRY(print_part_rows(writer, &part));
        part.begin = i;
        part.iterator = step->iterator;
        if (base->choice->is_split) {
            BB_TRY(print_split(writer, &part));
            goto done;
        }
        BB_TRY(print_iterator(writer, &part));
        part.begin = i + 1;
        part.iterator = -1;
    }
    part.end = program->body.count;
    BB_TRY(print_part_rows(writer, &part));
done:
    return status;
}

static bb_status print_around(bb_emission_gpu *writer, const point_tile *tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    bool *is_saved = NULL;
    bool *is_done = NULL;
    BB_TRY(BB_ZEROED(program->value_count, &is_saved));
    BB_TRY(BB_ZEROED(program->value_count, &is_done));
    BB_TRY(bb_emission_find_saved(program, is_saved));
    for (int value = 0; value < program->value_count; ++value) {
        if (is_saved[value]) {
            BB_TRY(bb_emission_line(base, "%s v%d[%d][%d];",
                                    bb_emission_type(base, program->values[value].type), value,
                                    tile->rows, tile->points));
        }
    }
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_reduction *reduction = &program->iterators[i].reduction;
        BB_TRY(bb_emission_line(base, "%s acc%d[%d][%d][%d];",
                                bb_emission_type(base, reduction->type), i, tile->rows,
                                tile->points, reduction->count));
    }
    BB_TRY(print_parts_of_body(writer, tile, is_saved, is_done));
done:
    BB_RELEASE(&is_saved);
    BB_RELEASE(&is_done);
    return status;
}

// A tile at the edge of the space, point by point.
static bb_status print_edge(bb_emission_gpu *writer, const point_tile *whole)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    point_tile point = *whole;
    point.points = 1;
    point.rows = 1;
    BB_TRY(bb_emission_line(base, "for (int i = 0; i < %d; ++i)", whole->points * whole->rows));
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(bb_emission_line(base, "const bb_index column = b + i %% %d * %td;", whole->points,
                            whole->steps[0]));
    BB_TRY(bb_emission_line(base, "if (column >= n0) continue;"));
    if (whole->has_rows) {
        BB_TRY(bb_emission_line(base, "const bb_index row = y + i / %d * %td;", whole->points,
                                whole->steps[1]));
        BB_TRY(bb_emission_line(base, "if (row >= n1) continue;"));
    }
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(bb_emission_line(base, "const bb_index b = column;"));
    if (whole->has_rows) {
        BB_TRY(bb_emission_line(base, "const bb_index y = row;"));
    }
    BB_TRY(print_around(writer, &point));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

static bb_status print_sums(bb_emission_gpu *writer, const point_tile *tile)
{
    bb_status status = BB_OK;
    BB_TRY(print_whole(writer, tile));
    BB_TRY(bb_emission_gpu_open(writer, "if (whole && aligned) {"));
    BB_TRY(print_around(writer, tile));
    BB_TRY(bb_emission_gpu_close(writer));
    if (tile->points * tile->rows > 1) {
        BB_TRY(bb_emission_gpu_open(writer, "else {"));
        BB_TRY(print_edge(writer, tile));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// Declares `kept`: the whole work-group lies in the space and its accesses in their objects, so
// that all its work-items take the way through local memory.
static bb_status print_kept(bb_emission_gpu *writer, const point_tile *tile)
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
    BB_TRY(bb_emission_line(base, "int kept = X + %td <= n0, aligned = 1;", points[0]));
    if (tile->has_rows) {
        BB_TRY(bb_emission_line(base, "kept = kept && Y + %td <= n1;", points[1]));
    }
    // All tiles of a group begin alike.
    BB_TRY(print_aligned(writer, tile, &base->program->body));
    for (int i = 0; i < base->program->iterator_count; ++i) {
        BB_TRY(print_aligned(writer, tile, &base->program->iterators[i].steps));
    }
    if (base->is_fast != NULL) {
        // Rows move with the point: what holds for the first and the last holds between.
        BB_TRY(bb_emission_gpu_open(writer, "for (int r = 0; r < 2; ++r) {"));
        BB_TRY(bb_emission_line(base, "const bb_index b = X, e = X + %td;", points[0]));
        if (tile->has_rows) {
            BB_TRY(
                bb_emission_line(base, "const bb_index x1 = r == 0 ? Y : Y + %td;", points[1] - 1));
        }
        BB_TRY(bb_emission_line_bounds(base, base->is_fast));
        BB_TRY(bb_emission_line(base, "kept = kept && lo == b && hi == e;"));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// Whether rows of accesses without tests move with the point.
static bool moves_with_rows(const bb_program *program, const bool *is_fast)
{
    bool moves = true;
    for (int i = 0; i < program->step_count && program->space.dimensions == 2; ++i) {
        for (int k = 0; is_fast[i] && k < program->steps[i].expression.output_count; ++k) {
            const bb_selector_form form = bb_selector_form_of(&program->steps[i], k);
            int64_t slope = 0;
            moves = moves && bb_selector_form_slope(&form, program->space.positions[1], &slope);
        }
    }
    return moves;
}

// The way of whole groups through local memory, where there is one.
static bb_status print_local(bb_emission_gpu *writer, const point_tile *tile)
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
    const bool any = !iterates && bb_emission_find_fast(program, base->is_inside, is_fast);
    base->is_fast = any ? is_fast : NULL;
    BB_TRY(bb_emission_locals_find(program, base, &locals));
    if (!locals.any || (any && !moves_with_rows(program, is_fast))) {
        goto done;
    }
    BB_TRY(bb_emission_locals_declare(base, &locals, writer->words->local, writer->local));
    base->locals = &locals;
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(print_kept(writer, tile));
    BB_TRY(bb_emission_gpu_open(writer, "if (kept && aligned) {"));
    if (iterates) {
        BB_TRY(print_around(writer, tile));
    } else {
        BB_TRY(bb_emission_locals_begin(base, &locals));
        BB_TRY(bb_emission_locals_fetch(base, &locals, ""));
        BB_TRY(bb_emission_locals_store(base, &locals));
        BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
        BB_TRY(open_rows(writer, tile, true));
        BB_TRY(print_row(writer, tile, &program->body, print_body, NULL));
        BB_TRY(bb_emission_gpu_close(writer));
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
    const point_tile tile = tile_of(writer);
    BB_TRY(bb_emission_gpu_ranges(writer));
    BB_TRY(print_first(writer, &tile));
    if (writer->base->choice->is_local) {
        BB_TRY(print_local(writer, &tile));
    }
    BB_TRY(bb_emission_runs_by_tile(writer->base->program) ? print_sums(writer, &tile)
                                                           : print_rows(writer, &tile));
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
    int place = 0;
    while (program->steps[program->body.steps[place]].kind != BB_STEP_ITERATOR) {
        ++place;
    }
    BB_TRY(bb_emission_gpu_body(writer, 0, place));
    BB_TRY(bb_emission_line(base, "bb_sum0 u0;"));
    BB_TRY(bb_emission_line(base, "bb_clear0(&u0);"));
    BB_TRY(bb_emission_gpu_open(writer, "for (bb_index j = 0; j < parts; ++j) {"));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "u0.lane[0][0][0][%d] = p%d[j * n0 + x0];", k, k));
    }
    BB_TRY(bb_emission_line(base, "bb_push0(&u0, 0, 1);"));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "bb_total0(&u0, 1);"));
    BB_TRY(bb_emission_sum_outputs(base, reduction, 0, "0"));
    BB_TRY(bb_emission_gpu_body(writer, place + 1, program->body.count));
done:
    return status;
}
