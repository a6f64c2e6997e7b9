// SPDX-License-Identifier: Apache-2.0
//
// Iterators around a tile: they run alike for all its points, whose sums are in registers.
#include "solvers/kernels/emission/emission_gpu.h"
#include "solvers/kernels/emission/emission_locals.h"

#include <stdio.h>

enum {
    LEAST_UNROLL = 4,    ///< iterations around a tile per unrolled loop
    LOADS_UNROLLED = 32, ///< loads of points that overlap
};

/// Part of the body between iterators; later parts use its values.
typedef struct body_part {
    const bb_emission_tile *tile;
    int begin, end; ///< steps of the body; for an iterator begin == end is its position
    int iterator;   ///< -1: no iterator
} body_part;

static void print_part(bb_emission_writer *writer, const void *context)
{
    const body_part *part = context;
    const bb_program *program = writer->program;
    char target[2 * BB_EMISSION_NAME_BYTES];
    bb_emission_reload(writer, part->begin, "[r][p]", "acc", "[r][p]");
    if (part->iterator >= 0) {
        const bb_iterator *iterator = &program->iterators[part->iterator];
        (void)snprintf(target, sizeof target, "acc%d[r][p]", part->iterator);
        bb_emission_gpu_steps(writer, &iterator->steps);
        bb_emission_accumulate(writer, &iterator->reduction, target);
        return;
    }
    for (int i = part->begin; i < part->end; ++i) {
        bb_emission_gpu_body(writer, i, i + 1);
        bb_emission_save(writer, &program->steps[program->body.steps[i]], "[r][p]");
    }
}

static void print_part_rows(bb_emission_writer *writer, const body_part *part)
{
    const bb_program *program = writer->program;
    const bb_step_list steps = {.steps = program->body.steps + part->begin,
                                .count = part->end - part->begin};
    if (part->iterator < 0 && part->begin == part->end) {
        return;
    }
    bb_emission_tile_open_rows(writer, part->tile, true);
    bb_emission_tile_row(writer, part->tile,
                         part->iterator >= 0 ? &program->iterators[part->iterator].steps : &steps,
                         print_part, part);
    bb_emission_line(writer, "}");
}

static void print_start(bb_emission_writer *writer, const bb_emission_tile *tile, int number,
                        const char *first)
{
    const bb_reduction *reduction = &writer->program->iterators[number].reduction;
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int r = 0; r < %d; ++r)", tile->rows);
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int p = 0; p < %d; ++p)", tile->points);
    bb_emission_line(
        writer,
        "    for (int k = 0; k < %d; ++k) acc%d[r][p][k] = %s ? bb_first%d(k) : bb_neutral%d(k);",
        reduction->count, number, first, number, number);
}

// Copies the points' accumulators to or from the sums of chunks.
static void print_parts(bb_emission_writer *writer, const bb_emission_tile *tile, int number,
                        bool back)
{
    const int count = writer->program->iterators[number].reduction.count;
    bb_emission_line(writer, "for (int p = 0; p < %d; ++p)", tile->points);
    bb_emission_line(writer,
                     back ? "    for (int k = 0; k < %d; ++k) acc%d[0][p][k] = "
                            "u%d.lane[0][0][p][k];"
                          : "    for (int k = 0; k < %d; ++k) u%d.lane[0][0][p][k] = "
                            "acc%d[0][p][k];",
                     count, number, number);
}

static void print_iterations(bb_emission_writer *writer, const body_part *part)
{
    const int points = part->tile->points * part->tile->rows;
    bb_emission_open_items(
        writer, part->iterator, writer->program->iterators[part->iterator].space.dimensions == 1,
        points < LOADS_UNROLLED / LEAST_UNROLL ? LOADS_UNROLLED / points : LEAST_UNROLL);
    print_part_rows(writer, part);
    bb_emission_close_items(writer, part->iterator);
}

// A box of iterations: stored in local memory, then used. If there is a next box its loads are
// issued in between, so that they overlap.
static void print_box(bb_emission_writer *writer, const body_part *part, const char *next)
{
    bb_emission_line(writer, "%s", writer->words->barrier);
    bb_emission_locals_store(writer, writer->locals);
    bb_emission_line(writer, "%s", writer->words->barrier);
    if (next != NULL) {
        bb_emission_locals_fetch(writer, writer->locals, next);
    }
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int q = 0; q < %d; ++q) {", BB_EMISSION_LOCAL_STEPS);
    bb_emission_line(writer, "const bb_index k%d_0 = g + q;", part->iterator);
    print_part_rows(writer, part);
    bb_emission_line(writer, "}");
}

// Several iterations at a time from local memory, then the rest. The last box is after the loop,
// because compilers move a conditional load behind the computation that should hide it.
static void print_local_iterations(bb_emission_writer *writer, const body_part *part)
{
    const bb_emission_locals *locals = writer->locals;
    const int number = part->iterator;
    const int steps = BB_EMISSION_LOCAL_STEPS;
    char next[BB_EMISSION_NAME_BYTES];
    bb_emission_line(writer, "bb_index g = c%d;", number);
    bb_emission_line(writer, "if (g + %d <= e%d) {", steps, number);
    bb_emission_locals_begin(writer, locals);
    bb_emission_locals_fetch(writer, locals, "g");
    (void)snprintf(next, sizeof next, "g + %d", steps);
    bb_emission_line(writer, "for (; g + %d <= e%d; g += %d) {", 2 * steps, number, steps);
    print_box(writer, part, next);
    bb_emission_line(writer, "}");
    print_box(writer, part, NULL);
    bb_emission_line(writer, "g += %d;", steps);
    bb_emission_line(writer, "}");
    writer->locals = NULL;
    bb_emission_line(writer, "for (bb_index k%d_0 = g; k%d_0 < e%d; ++k%d_0) {", number, number,
                     number, number);
    print_part_rows(writer, part);
    bb_emission_line(writer, "}");
    writer->locals = locals;
}

// Prints an iterator around the tile, in chunks if its sum has chunks.
static void print_iterator(bb_emission_writer *writer, const body_part *part)
{
    const int number = part->iterator;
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bb_index chunk = iterator->reduction.order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    char first[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(writer, iterator->space.ranges[0], range);
    (void)snprintf(first, sizeof first, "c%d == 0", number);
    if (chunk > 0) {
        bb_emission_line(writer, "bb_sum%d u%d;", number, number);
        bb_emission_line(writer, "bb_clear%d(&u%d);", number, number);
    }
    bb_emission_chunks(writer, number);
    print_start(writer, part->tile, number, first);
    if (writer->locals != NULL) {
        print_local_iterations(writer, part);
    } else {
        print_iterations(writer, part);
    }
    if (chunk > 0) {
        bb_emission_line(writer, "if (%s > %td) {", range, chunk);
        print_parts(writer, part->tile, number, false);
        bb_emission_line(writer, "bb_push%d(&u%d, 0, %d);", number, number, part->tile->points);
        bb_emission_line(writer, "}");
    }
    bb_emission_line(writer, "}");
    if (chunk > 0) {
        bb_emission_line(writer, "if (%s > %td) {", range, chunk);
        bb_emission_line(writer, "bb_total%d(&u%d, %d);", number, number, part->tile->points);
        print_parts(writer, part->tile, number, true);
        bb_emission_line(writer, "}");
    }
}

// Writes a chunk of the points' only sum for the entry that finishes it.
static void print_split(bb_emission_writer *writer, const body_part *part)
{
    const bb_iterator *iterator = &writer->program->iterators[0];
    bb_emission_gpu_chunk(writer);
    print_start(writer, part->tile, 0, "c0 == 0");
    print_iterations(writer, part);
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int p = 0; p < %d; ++p) {", part->tile->points);
    for (int k = 0; k < iterator->reduction.count; ++k) {
        bb_emission_line(writer, "p%d[%s * n0 + b + p * %td] = acc0[0][p][%d];", k,
                         writer->words->group[1], part->tile->steps[0], k);
    }
    bb_emission_line(writer, "}");
}

static void print_parts_of_body(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    const bb_program *program = writer->program;
    body_part part = {.tile = tile, .iterator = -1};
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind != BB_STEP_ITERATOR) {
            continue;
        }
        part.end = i;
        print_part_rows(writer, &part);
        part.begin = i;
        part.iterator = step->iterator;
        if (writer->choice->is_split) {
            print_split(writer, &part);
            return;
        }
        print_iterator(writer, &part);
        part.begin = i + 1;
        part.iterator = -1;
    }
    part.end = program->body.count;
    print_part_rows(writer, &part);
}

void bb_emission_tile_sums(bb_emission_writer *writer, const bb_emission_tile *tile)
{
    const bb_program *program = writer->program;
    char extents[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(extents, sizeof extents, "[%d][%d]", tile->rows, tile->points);
    bb_emission_declare_saved(writer, extents);
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_reduction *reduction = &program->iterators[i].reduction;
        bb_emission_line(writer, "%s acc%d%s[%d];", bb_emission_type(writer, reduction->type), i,
                         extents, reduction->count);
    }
    print_parts_of_body(writer, tile);
}
