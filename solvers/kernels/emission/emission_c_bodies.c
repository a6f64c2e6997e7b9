// SPDX-License-Identifier: Apache-2.0
//
// By points: a loop over the tile, iterators inside. By lanes: likewise, an iterator's lanes as an
// array over which the compiler vectorises. By tile: steps are loops over the points of the tile,
// iterators around them, so that neighbouring points share what they read; it is taken where all
// iterators have ranges of the host and no lanes.
#include "core/memory.h"
#include "solvers/kernels/emission/emission_c.h"

#include <stdio.h>

enum {
    FEW_LANES = 16, ///< gcc makes such a loop single steps before it looks for vectors
    ITEMS_JOINED = 4,
};

// The innermost body of an iterator: its steps, then the accumulators.
static bb_status print_item(bb_emission_c *writer, const bb_iterator *iterator, const char *target)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_c_steps(writer, &iterator->steps));
    BB_TRY(bb_emission_take(&writer->base, &iterator->reduction, target));
done:
    return status;
}

// Whether items may be fewer than lanes: their number comes from data.
static bool may_be_few(const bb_iterator *iterator)
{
    return iterator->reduction.order.chunk == 0 && iterator->reduction.order.lanes <= FEW_LANES &&
           iterator->space.dimensions == 1;
}

// No more items than lanes: each lane is a variable of its own, where an array of lanes, written
// one by one and read as a vector, would wait for the memory's pipeline.
static bb_status print_few(bb_emission_c *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_reduction *reduction = &iterator->reduction;
    const bb_index lanes = reduction->order.lanes;
    const char *unroll = writer->target == BB_EMISSION_C ? "#pragma GCC unroll 16" : "";
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "few%d[l%d]", number, number);
    BB_TRY(bb_emission_line(base, "%s few%d[%td][%d];", bb_emission_type(base, reduction->type),
                            number, lanes, reduction->count));
    BB_TRY(bb_emission_line(base, "%s", unroll));
    BB_TRY(bb_emission_line(base, "for (int l%d = 0; l%d < %td; ++l%d) {", number, number, lanes,
                            number));
    ++base->depth;
    BB_TRY(
        bb_emission_line(base,
                         "for (int k = 0; k < %d; ++k) few%d[l%d][k] = l%d == 0 ? bb_first%d(k) : "
                         "bb_neutral%d(k);",
                         reduction->count, number, number, number, number, number));
    BB_TRY(bb_emission_line(base, "if (l%d < e%d) {", number, number));
    ++base->depth;
    BB_TRY(bb_emission_line(base, "const bb_index k%d_0 = l%d;", number, number));
    BB_TRY(print_item(writer, iterator, target));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
    for (bb_index half = lanes / 2; half > 0; half /= 2) {
        BB_TRY(bb_emission_line(base, "%s", unroll));
        BB_TRY(bb_emission_line(
            base, "for (int l = 0; l < %td; ++l) bb_join%d(few%d[l], few%d[l + %td]);", half,
            number, number, number, half));
    }
    BB_TRY(bb_emission_line(base,
                            "for (int k = 0; k < %d; ++k) u%d.lane[0][0][0][k] = few%d[0][k];",
                            reduction->count, number, number));
done:
    return status;
}

static bb_status print_rows_of_lanes(bb_emission_c *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_reduction_order order = iterator->reduction.order;
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "u%d.lane[0][l%d][0]", number, number);
    BB_TRY(bb_emission_line(base, "bb_index g%d = c%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_start%d(&u%d, 0, 1);", number, number));
    BB_TRY(bb_emission_line(base, "if (c%d == 0) bb_begin%d(&u%d, 1);", number, number, number));
    for (int pass = 0; pass < 2; ++pass) {
        // Whole rows of lanes in loops of a known length, then the rest.
        BB_TRY(pass == 0 ? bb_emission_line(base, "for (; g%d + %td <= e%d; g%d += %td)", number,
                                            order.lanes, number, number, order.lanes)
                         : BB_OK);
        if (pass == 0 && writer->target == BB_EMISSION_C && order.lanes <= FEW_LANES) {
            BB_TRY(bb_emission_line(base, "#pragma GCC unroll 1"));
        }
        BB_TRY(pass == 0 ? bb_emission_line(base, "for (int l%d = 0; l%d < %td; ++l%d) {", number,
                                            number, order.lanes, number)
                         : bb_emission_line(base, "for (int l%d = 0; g%d + l%d < e%d; ++l%d) {",
                                            number, number, number, number, number));
        ++base->depth;
        BB_TRY(bb_emission_line(base, "const bb_index k%d_0 = g%d + l%d;", number, number, number));
        BB_TRY(print_item(writer, iterator, target));
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
    }
    BB_TRY(bb_emission_line(base, "bb_tree%d(&u%d, 0, 1);", number, number));
done:
    return status;
}

// Hands what lane 0 has to the parts above, which only chunks have, and ends the loop over them.
static bb_status print_chunks_end(bb_emission_c *writer, int number, const char *points)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bool has_chunks = base->program->iterators[number].reduction.order.chunk > 0;
    if (has_chunks) {
        BB_TRY(bb_emission_line(base, "bb_push%d(&u%d, 0, %s);", number, number, points));
    }
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
    if (has_chunks) {
        BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, %s);", number, number, points));
    }
done:
    return status;
}

// Chunks of an iterator of one point, by lanes.
static bb_status print_lanes(bb_emission_c *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bool few = may_be_few(iterator);
    BB_TRY(bb_emission_chunks(base, number));
    if (few) {
        BB_TRY(
            bb_emission_line(base, "if (e%d <= %td) {", number, iterator->reduction.order.lanes));
        ++base->depth;
        BB_TRY(print_few(writer, number));
        --base->depth;
        BB_TRY(bb_emission_line(base, "} else {"));
        ++base->depth;
    }
    BB_TRY(print_rows_of_lanes(writer, number));
    if (few) {
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
    }
    BB_TRY(print_chunks_end(writer, number, "1"));
done:
    return status;
}

// Items one after another, `for` loops of one or two dimensions; in chunks where there are some.
static bb_status print_loops(bb_emission_c *writer, int number, bool *chunked)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    char range[BB_EMISSION_NAME_BYTES];
    *chunked = iterator->reduction.order.chunk > 0;
    if (*chunked) {
        (void)bb_emission_name(base, iterator->space.ranges[0], range);
        BB_TRY(bb_emission_line(base, "for (bb_index k%d_0 = c%d; k%d_0 < e%d; ++k%d_0) {", number,
                                number, number, number, number));
        ++base->depth;
        goto done;
    }
    for (int k = iterator->space.dimensions - 1; k >= 0; --k) {
        (void)bb_emission_name(base, iterator->space.ranges[k], range);
        BB_TRY(bb_emission_line(base, "for (bb_index k%d_%d = 0; k%d_%d < %s; ++k%d_%d) {", number,
                                k, number, k, range, number, k));
        ++base->depth;
    }
done:
    return status;
}

static bb_status print_loops_end(bb_emission_c *writer, int loops)
{
    bb_status status = BB_OK;
    for (int k = 0; k < loops; ++k) {
        --writer->base.depth;
        BB_TRY(bb_emission_line(&writer->base, "}"));
    }
done:
    return status;
}

// Opens `for c` over the chunks of iterator `number`, one of all items where there are none.
static bb_status print_chunks(bb_emission_c *writer, int number, const char *points)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    BB_TRY(bb_emission_chunks(base, number));
    BB_TRY(bb_emission_line(base, "bb_start%d(&u%d, 0, %s);", number, number, points));
    BB_TRY(bb_emission_line(base, "if (c%d == 0) bb_begin%d(&u%d, %s);", number, number, number,
                            points));
done:
    return status;
}

static bb_status print_tree_and_end(bb_emission_c *writer, int number, const char *points)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_line(&writer->base, "bb_tree%d(&u%d, 0, %s);", number, number, points));
    BB_TRY(print_chunks_end(writer, number, points));
done:
    return status;
}

// An iterator inside the loop over points.
static bb_status print_iterator(bb_emission_c *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    char target[2 * BB_EMISSION_NAME_BYTES];
    bool chunked = false;
    BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
    if (iterator->reduction.order.lanes > 1) {
        BB_TRY(print_lanes(writer, number));
    } else {
        BB_TRY(print_chunks(writer, number, "1"));
        BB_TRY(print_loops(writer, number, &chunked));
        (void)snprintf(target, sizeof target, "u%d.lane[0][0][0]", number);
        BB_TRY(print_item(writer, iterator, target));
        BB_TRY(print_loops_end(writer, chunked ? 1 : iterator->space.dimensions));
        BB_TRY(print_tree_and_end(writer, number, "1"));
    }
    BB_TRY(bb_emission_sum_outputs(&writer->base, &iterator->reduction, number, "0"));
done:
    return status;
}

bb_status bb_emission_c_steps(bb_emission_c *writer, const bb_step_list *list)
{
    bb_status status = BB_OK;
    for (int i = 0; i < list->count; ++i) {
        const bb_step *step = &writer->base.program->steps[list->steps[i]];
        BB_TRY(step->kind == BB_STEP_ITERATOR ? print_iterator(writer, step->iterator)
                                              : bb_emission_step(&writer->base, list->steps[i]));
    }
done:
    return status;
}

// Bodies by tile

static bb_status print_reload(bb_emission_c *writer, const bool *is_done)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    char name[BB_EMISSION_NAME_BYTES];
    for (int value = 0; value < base->program->value_count; ++value) {
        if (writer->is_saved[value] && is_done[value]) {
            BB_TRY(bb_emission_line(base, "const %s %s = v%d[x0 - b];",
                                    bb_emission_type(base, base->program->values[value].type),
                                    bb_emission_name(base, value, name), value));
        }
    }
done:
    return status;
}

// One loop over the tile's points for steps [begin, end) of the body; behind iterators, whose
// results it takes up.
static bb_status print_segment(bb_emission_c *writer, int begin, int end, bool *is_done)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    char name[BB_EMISSION_NAME_BYTES];
    if (begin == end) {
        goto done;
    }
    BB_TRY(bb_emission_line(base, "for (bb_index x0 = b; x0 < e; ++x0) {"));
    ++base->depth;
    BB_TRY(print_reload(writer, is_done));
    for (int i = 0; i < begin; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            BB_TRY(bb_emission_sum_outputs(&writer->base,
                                           &program->iterators[step->iterator].reduction,
                                           step->iterator, "x0 - b"));
        }
    }
    for (int i = begin; i < end; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        const int outputs = step->kind == BB_STEP_READ       ? 1
                            : step->kind == BB_STEP_FUNCTION ? step->expression.output_count
                                                             : 0;
        BB_TRY(bb_emission_step(base, program->body.steps[i]));
        for (int k = 0; k < outputs; ++k) {
            if (writer->is_saved[step->output + k]) {
                BB_TRY(bb_emission_line(base, "v%d[x0 - b] = %s;", step->output + k,
                                        bb_emission_name(base, step->output + k, name)));
                is_done[step->output + k] = true;
            }
        }
    }
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Whether an iteration may be left out, which ends what stands behind it in the same loop.
static bool leaves_out_items(const bb_emission_c *writer, const bb_iterator *iterator)
{
    bool any = false;
    for (int i = 0; i < iterator->steps.count; ++i) {
        const int number = iterator->steps.steps[i];
        const bb_step *step = &writer->base.program->steps[number];
        any = any || (step->kind == BB_STEP_READ && step->boundary == BB_BOUNDARY_SKIP &&
                      bb_emission_has_boundary(&writer->base, number));
    }
    return any;
}

// The points of a tile in one iteration, or in so many neighbouring ones: from j<number> on.
static bb_status print_tile_points(bb_emission_c *writer, int number, int place,
                                   const bool *is_done, int items)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    const bb_iterator *iterator = &program->iterators[number];
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "u%d.lane[0][0][x0 - b]", number);
    BB_TRY(bb_emission_line(base, "for (bb_index x0 = b; x0 < e; ++x0) {"));
    ++base->depth;
    BB_TRY(print_reload(writer, is_done));
    for (int i = 0; i < place; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            BB_TRY(bb_emission_sum_outputs(base, &program->iterators[step->iterator].reduction,
                                           step->iterator, "x0 - b"));
        }
    }
    for (int q = 0; items > 1 && q < items; ++q) {
        BB_TRY(bb_emission_line(base, "{"));
        ++base->depth;
        BB_TRY(bb_emission_line(base, "const bb_index k%d_0 = j%d + %d;", number, number, q));
        BB_TRY(print_item(writer, iterator, target));
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
    }
    if (items == 1) {
        BB_TRY(print_item(writer, iterator, target));
    }
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Iterations around the points of a tile, of one dimension several at a time: the sums of a point
// then stay in a register for as many, whose elements come from memory side by side.
static bb_status print_tile_iterator(bb_emission_c *writer, int number, int place,
                                     const bool *is_done)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bool joins = iterator->space.dimensions == 1 && !leaves_out_items(writer, iterator);
    bool chunked = false;
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
    BB_TRY(print_chunks(writer, number, "e - b"));
    if (joins) {
        BB_TRY(bb_emission_line(base, "bb_index j%d = c%d;", number, number));
        BB_TRY(bb_emission_line(base, "for (; j%d + %d <= e%d; j%d += %d) {", number, ITEMS_JOINED,
                                number, number, ITEMS_JOINED));
        ++base->depth;
        BB_TRY(print_tile_points(writer, number, place, is_done, ITEMS_JOINED));
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
        BB_TRY(bb_emission_line(base, "for (bb_index k%d_0 = j%d; k%d_0 < e%d; ++k%d_0) {", number,
                                number, number, number, number));
        ++base->depth;
    } else {
        BB_TRY(print_loops(writer, number, &chunked));
    }
    BB_TRY(print_tile_points(writer, number, place, is_done, 1));
    BB_TRY(print_loops_end(writer, joins || chunked ? 1 : iterator->space.dimensions));
    BB_TRY(print_tree_and_end(writer, number, "e - b"));
done:
    return status;
}

bb_status bb_emission_c_tile(bb_emission_c *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    bool *is_done = NULL;
    int begin = 0;
    BB_TRY(BB_ZEROED(program->value_count, &is_done));
    for (int value = 0; value < program->value_count; ++value) {
        if (writer->is_saved[value]) {
            BB_TRY(bb_emission_line(base, "%s v%d[%td];",
                                    bb_emission_type(base, program->values[value].type), value,
                                    base->choice->tile));
        }
    }
    for (int i = 0; i < program->iterator_count; ++i) {
        BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", i, i));
    }
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            BB_TRY(print_segment(writer, begin, i, is_done));
            BB_TRY(print_tile_iterator(writer, step->iterator, i, is_done));
            begin = i + 1;
        }
    }
    BB_TRY(print_segment(writer, begin, program->body.count, is_done));
done:
    BB_RELEASE(&is_done);
    return status;
}
