// SPDX-License-Identifier: Apache-2.0
//
// Iterators around a tile: they run alike for all its points, whose sums are registers.
#include "core/memory.h"
#include "solvers/kernels/emission/emission_locals.h"
#include "solvers/kernels/emission/emission_tile.h"

#include <stdio.h>

enum {
    LEAST_UNROLL = 4,    ///< iterations around a tile that run as one
    LOADS_UNROLLED = 32, ///< of its points, which are on their way at once
};

/// Part of the body between iterators, which later parts take values of.
typedef struct body_part {
    const bb_emission_tile *tile;
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
    BB_TRY(bb_emission_tile_open_rows(writer, part->tile, true));
    BB_TRY(bb_emission_tile_row(writer, part->tile,
                                part->iterator >= 0 ? &program->iterators[part->iterator].steps
                                                    : &steps,
                                print_part, part));
    BB_TRY(bb_emission_gpu_close(writer));
    finish_part(program, part);
done:
    return status;
}

static bb_status print_start(bb_emission_gpu *writer, const bb_emission_tile *tile, int number,
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

static bb_status open_iterations(bb_emission_gpu *writer, const bb_emission_tile *tile, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    char range[BB_EMISSION_NAME_BYTES];
    char line[4 * BB_EMISSION_NAME_BYTES];
    const int points = tile->points * tile->rows;
    const int unroll =
        points < LOADS_UNROLLED / LEAST_UNROLL ? LOADS_UNROLLED / points : LEAST_UNROLL;
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
            BB_TRY(bb_emission_line(base, "#pragma unroll %d", unroll));
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
static bb_status print_parts(bb_emission_gpu *writer, const bb_emission_tile *tile, int number,
                             bool back)
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
    BB_TRY(open_iterations(writer, part->tile, part->iterator));
    BB_TRY(print_part_rows(writer, part));
    BB_TRY(close_iterations(writer, part->iterator));
done:
    return status;
}

// A box of iterations: stored in local memory, then worked on. Where there is a next one it is
// fetched between the two, so that it is on its way meanwhile.
static bb_status print_box(bb_emission_gpu *writer, const body_part *part, const char *next)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    char line[BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    BB_TRY(bb_emission_locals_store(base, base->locals));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    if (next != NULL) {
        BB_TRY(bb_emission_locals_fetch(base, base->locals, next));
    }
    BB_TRY(bb_emission_line(base, "#pragma unroll"));
    (void)snprintf(line, sizeof line, "for (int q = 0; q < %d; ++q) {", BB_EMISSION_LOCAL_STEPS);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_line(base, "const bb_index k%d_0 = g + q;", part->iterator));
    BB_TRY(print_part_rows(writer, part));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// So many iterations at a time from local memory, then the rest. The last box stands behind the
// loop: a fetch under a condition is compiled to one behind the work that should hide it.
static bb_status print_local_iterations(bb_emission_gpu *writer, const body_part *part)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_emission_locals *locals = base->locals;
    const int number = part->iterator;
    const int steps = BB_EMISSION_LOCAL_STEPS;
    char line[4 * BB_EMISSION_NAME_BYTES];
    char next[BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_line(base, "bb_index g = c%d;", number));
    (void)snprintf(line, sizeof line, "if (g + %d <= e%d) {", steps, number);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(bb_emission_locals_begin(base, locals));
    BB_TRY(bb_emission_locals_fetch(base, locals, "g"));
    (void)snprintf(line, sizeof line, "for (; g + %d <= e%d; g += %d) {", 2 * steps, number, steps);
    (void)snprintf(next, sizeof next, "g + %d", steps);
    BB_TRY(bb_emission_gpu_open(writer, line));
    BB_TRY(print_box(writer, part, next));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(print_box(writer, part, NULL));
    BB_TRY(bb_emission_line(base, "g += %d;", steps));
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
    BB_TRY(open_iterations(writer, part->tile, 0));
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

static bb_status print_parts_of_body(bb_emission_gpu *writer, const bb_emission_tile *tile,
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

bb_status bb_emission_tile_sums(bb_emission_gpu *writer, const bb_emission_tile *tile)
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
