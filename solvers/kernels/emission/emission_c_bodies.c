// SPDX-License-Identifier: Apache-2.0
//
// Loop bodies in three forms. By points: a loop over the tile with iterators inside. By lanes: the
// same, with an iterator's lanes as an array that the compiler vectorises. By tile: steps are loops
// over the points of the tile with iterators around them, so that neighbouring points share reads.
// This form is used if all iterators have host-known ranges and no lanes.
#include "solvers/kernels/emission/emission_steps.h"

#include <stdio.h>

enum {
    FEW_LANES = 16, ///< gcc unrolls such a loop completely before it vectorises
    ITEMS_JOINED = 4,
};

// Prints the innermost body of an iterator: its steps, then the accumulators.
static void print_item(bb_emission_writer *writer, const bb_iterator *iterator, const char *target)
{
    bb_emission_loop_steps(writer, &iterator->steps);
    bb_emission_accumulate(writer, &iterator->reduction, target);
}

// True if there may be fewer items than lanes, because their number depends on data.
static bool may_be_few(const bb_iterator *iterator)
{
    return iterator->reduction.order.chunk == 0 && iterator->reduction.order.lanes <= FEW_LANES &&
           iterator->space.dimensions == 1;
}

// Prints sums of at most as many items as lanes: each lane is a separate variable. An array of
// lanes, written one by one and read as a vector, would stall on store forwarding.
static void print_few(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bb_reduction *reduction = &iterator->reduction;
    const bb_index lanes = reduction->order.lanes;
    const char *unroll = writer->target == BB_EMISSION_C ? "#pragma GCC unroll 16" : "";
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "few%d[l%d]", number, number);
    bb_emission_line(writer, "%s few%d[%td][%d];", bb_emission_type(writer, reduction->type),
                     number, lanes, reduction->count);
    bb_emission_line(writer, "%s", unroll);
    bb_emission_line(writer, "for (int l%d = 0; l%d < %td; ++l%d) {", number, number, lanes,
                     number);
    bb_emission_line(writer,
                     "for (int k = 0; k < %d; ++k) few%d[l%d][k] = l%d == 0 ? bb_first%d(k) : "
                     "bb_neutral%d(k);",
                     reduction->count, number, number, number, number, number);
    bb_emission_line(writer, "if (l%d < e%d) {", number, number);
    bb_emission_line(writer, "const bb_index k%d_0 = l%d;", number, number);
    print_item(writer, iterator, target);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "}");
    for (bb_index half = lanes / 2; half > 0; half /= 2) {
        bb_emission_line(writer, "%s", unroll);
        bb_emission_line(writer,
                         "for (int l = 0; l < %td; ++l) bb_join%d(few%d[l], few%d[l + %td]);", half,
                         number, number, number, half);
    }
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) u%d.lane[0][0][0][k] = few%d[0][k];",
                     reduction->count, number, number);
}

static void print_rows_of_lanes(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bb_reduction_order order = iterator->reduction.order;
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "u%d.lane[0][l%d][0]", number, number);
    bb_emission_line(writer, "bb_index g%d = c%d;", number, number);
    bb_emission_line(writer, "bb_start%d(&u%d, 0, 1);", number, number);
    bb_emission_line(writer, "if (c%d == 0) bb_begin%d(&u%d, 1);", number, number, number);
    for (int pass = 0; pass < 2; ++pass) {
        // Prints sums of whole rows of lanes in loops of constant length, then the rest.
        if (pass == 0) {
            bb_emission_line(writer, "for (; g%d + %td <= e%d; g%d += %td)", number, order.lanes,
                             number, number, order.lanes);
            if (writer->target == BB_EMISSION_C && order.lanes <= FEW_LANES) {
                bb_emission_line(writer, "#pragma GCC unroll 1");
            }
            bb_emission_line(writer, "for (int l%d = 0; l%d < %td; ++l%d) {", number, number,
                             order.lanes, number);
        } else {
            bb_emission_line(writer, "for (int l%d = 0; g%d + l%d < e%d; ++l%d) {", number, number,
                             number, number, number);
        }
        bb_emission_line(writer, "const bb_index k%d_0 = g%d + l%d;", number, number, number);
        print_item(writer, iterator, target);
        bb_emission_line(writer, "}");
    }
    bb_emission_line(writer, "bb_tree%d(&u%d, 0, 1);", number, number);
}

// Passes lane 0 on to the parts above, which exist only with chunks, and ends the loop over them.
static void print_chunks_end(bb_emission_writer *writer, int number, const char *points)
{
    const bool has_chunks = writer->program->iterators[number].reduction.order.chunk > 0;
    if (has_chunks) {
        bb_emission_line(writer, "bb_push%d(&u%d, 0, %s);", number, number, points);
    }
    bb_emission_line(writer, "}");
    if (has_chunks) {
        bb_emission_line(writer, "bb_total%d(&u%d, %s);", number, number, points);
    }
}

// Prints the chunk loop of an iterator at one point, summed in lanes.
static void print_lanes(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bool few = may_be_few(iterator);
    bb_emission_chunks(writer, number);
    if (few) {
        bb_emission_line(writer, "if (e%d <= %td) {", number, iterator->reduction.order.lanes);
        print_few(writer, number);
        bb_emission_line(writer, "} else {");
    }
    print_rows_of_lanes(writer, number);
    if (few) {
        bb_emission_line(writer, "}");
    }
    print_chunks_end(writer, number, "1");
}

// Opens `for c` over the chunks of iterator `number`; one chunk of all items if there are none.
static void print_chunks(bb_emission_writer *writer, int number, const char *points)
{
    bb_emission_chunks(writer, number);
    bb_emission_line(writer, "bb_start%d(&u%d, 0, %s);", number, number, points);
    bb_emission_line(writer, "if (c%d == 0) bb_begin%d(&u%d, %s);", number, number, number, points);
}

static void print_tree_and_end(bb_emission_writer *writer, int number, const char *points)
{
    bb_emission_line(writer, "bb_tree%d(&u%d, 0, %s);", number, number, points);
    print_chunks_end(writer, number, points);
}

// An iterator inside the loop over points.
static void print_iterator(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "u%d.lane[0][0][0]", number);
    bb_emission_line(writer, "bb_sum%d u%d;", number, number);
    bb_emission_line(writer, "bb_clear%d(&u%d);", number, number);
    if (iterator->reduction.order.lanes > 1) {
        print_lanes(writer, number);
    } else {
        print_chunks(writer, number, "1");
        bb_emission_open_items(writer, number, iterator->reduction.order.chunk > 0, 0);
        print_item(writer, iterator, target);
        bb_emission_close_items(writer, number);
        print_tree_and_end(writer, number, "1");
    }
    bb_emission_sum_outputs(writer, &iterator->reduction, target);
}

void bb_emission_loop_steps(bb_emission_writer *writer, const bb_step_list *list)
{
    for (int i = 0; i < list->count; ++i) {
        const bb_step *step = &writer->program->steps[list->steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            print_iterator(writer, step->iterator);
        } else {
            bb_emission_step(writer, list->steps[i]);
        }
    }
}

// Bodies by tile

// Loop over the tile's points for steps [begin, end) of the body, which may use results of earlier
// iterators.
static void print_segment(bb_emission_writer *writer, int begin, int end)
{
    const bb_program *program = writer->program;
    if (begin == end) {
        return;
    }
    bb_emission_line(writer, "for (bb_index x0 = b; x0 < e; ++x0) {");
    bb_emission_reload(writer, begin, "[x0 - b]", "u", ".lane[0][0][x0 - b]");
    for (int i = begin; i < end; ++i) {
        bb_emission_step(writer, program->body.steps[i]);
        bb_emission_save(writer, &program->steps[program->body.steps[i]], "[x0 - b]");
    }
    bb_emission_line(writer, "}");
}

// Prints the points of a tile in one iteration, or in several neighbouring iterations from
// j<number> on.
static void print_tile_points(bb_emission_writer *writer, int number, int place, int items)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "u%d.lane[0][0][x0 - b]", number);
    bb_emission_line(writer, "for (bb_index x0 = b; x0 < e; ++x0) {");
    bb_emission_reload(writer, place, "[x0 - b]", "u", ".lane[0][0][x0 - b]");
    for (int q = 0; items > 1 && q < items; ++q) {
        bb_emission_line(writer, "{");
        bb_emission_line(writer, "const bb_index k%d_0 = j%d + %d;", number, number, q);
        print_item(writer, iterator, target);
        bb_emission_line(writer, "}");
    }
    if (items == 1) {
        print_item(writer, iterator, target);
    }
    bb_emission_line(writer, "}");
}

// Iterations around the points of a tile, in one dimension several at a time: the sum of a point
// then stays in a register during these, whose elements are contiguous in memory.
static void print_tile_iterator(bb_emission_writer *writer, int number, int place)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    // A skipped iteration ends the following steps of the same loop.
    const bool joins =
        iterator->space.dimensions == 1 && !bb_emission_leaves_out_points(writer, &iterator->steps);
    bb_emission_line(writer, "bb_clear%d(&u%d);", number, number);
    print_chunks(writer, number, "e - b");
    if (joins) {
        bb_emission_line(writer, "bb_index j%d = c%d;", number, number);
        bb_emission_line(writer, "for (; j%d + %d <= e%d; j%d += %d) {", number, ITEMS_JOINED,
                         number, number, ITEMS_JOINED);
        print_tile_points(writer, number, place, ITEMS_JOINED);
        bb_emission_line(writer, "}");
        bb_emission_line(writer, "for (bb_index k%d_0 = j%d; k%d_0 < e%d; ++k%d_0) {", number,
                         number, number, number, number);
    } else {
        bb_emission_open_items(writer, number, iterator->reduction.order.chunk > 0, 0);
    }
    print_tile_points(writer, number, place, 1);
    bb_emission_close_items(writer, number);
    print_tree_and_end(writer, number, "e - b");
}

void bb_emission_loop_tile(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    char extents[BB_EMISSION_NAME_BYTES];
    int begin = 0;
    (void)snprintf(extents, sizeof extents, "[%td]", writer->choice->tile);
    bb_emission_declare_saved(writer, extents);
    for (int i = 0; i < program->iterator_count; ++i) {
        bb_emission_line(writer, "bb_sum%d u%d;", i, i);
    }
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            print_segment(writer, begin, i);
            print_tile_iterator(writer, step->iterator, i);
            begin = i + 1;
        }
    }
    print_segment(writer, begin, program->body.count);
}
