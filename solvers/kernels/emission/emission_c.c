// SPDX-License-Identifier: Apache-2.0
//
// C17 for the cpu: entries that threads call for ranges of items.
//
// Three forms of a body. By points: a loop over the tile, iterators inside. By lanes: likewise, an
// iterator's lanes as an array over which the compiler vectorises. By tile: steps are loops over
// the points of the tile, iterators around them, so that neighbouring points share what they read;
// it is taken where all iterators have ranges of the host and no lanes.
#include "core/memory.h"
#include "solvers/kernels/emission/emission_points.h"
#include "solvers/kernels/emission/emission_sums.h"

#include <stdio.h>
#include <string.h>

enum {
    POINT_TILE = 4096, ///< of bodies without iterators
    LANE_TILE = 16,    ///< of those whose points sum long lines
    SUM_TILE = 512,    ///< of those whose iterators run around the points
    LEVELS = 4,        ///< of chunks of chunks: 512^4 items
};

typedef struct c_writer {
    bb_emission_writer base;
    bool by_tile;
    bool *is_saved; ///< [value_count] values that later loops over the tile take up
} c_writer;

// Bodies

static bb_status print_steps(c_writer *writer, const bb_step_list *list);

// The innermost body of an iterator: its steps, then the accumulators.
static bb_status print_item(c_writer *writer, const bb_iterator *iterator, const char *target)
{
    bb_status status = BB_OK;
    BB_TRY(print_steps(writer, &iterator->steps));
    BB_TRY(bb_emission_take(&writer->base, &iterator->reduction, target));
done:
    return status;
}

// Chunks of an iterator of one point, by lanes.
static bb_status print_lanes(c_writer *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_reduction_order order = iterator->reduction.order;
    char range[BB_EMISSION_NAME_BYTES];
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, iterator->space.ranges[0], range);
    (void)snprintf(target, sizeof target, "u%d.lane[0][l%d][0]", number, number);
    BB_TRY(bb_emission_line(base, "for (bb_index c%d = 0; c%d == 0 || c%d < %s; c%d += %td) {",
                            number, number, number, range, number, order.chunk));
    ++base->depth;
    BB_TRY(bb_emission_line(base, "const bb_index e%d = %s - c%d < %td ? %s : c%d + %td;", number,
                            range, number, order.chunk, range, number, order.chunk));
    BB_TRY(bb_emission_line(base, "bb_index g%d = c%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_start%d(&u%d, 0, 1);", number, number));
    BB_TRY(bb_emission_line(base, "if (c%d == 0) bb_begin%d(&u%d, 1);", number, number, number));
    for (int pass = 0; pass < 2; ++pass) {
        // Whole rows of lanes in loops of a known length, then the rest.
        BB_TRY(pass == 0 ? bb_emission_line(base, "for (; g%d + %td <= e%d; g%d += %td)", number,
                                            order.lanes, number, number, order.lanes)
                         : BB_OK);
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
    BB_TRY(bb_emission_line(base, "bb_push%d(&u%d, 0, 1);", number, number));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Items one after another, `for` loops of one or two dimensions; in chunks where there are some.
static bb_status print_loops(c_writer *writer, int number, bool *chunked)
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

static bb_status print_loops_end(c_writer *writer, int loops)
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
static bb_status print_chunks(c_writer *writer, int number, const char *points)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_index chunk = iterator->reduction.order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, iterator->space.ranges[0], range);
    if (chunk > 0) {
        BB_TRY(bb_emission_line(base, "for (bb_index c%d = 0; c%d == 0 || c%d < %s; c%d += %td) {",
                                number, number, number, range, number, chunk));
        ++base->depth;
        BB_TRY(bb_emission_line(base, "const bb_index e%d = %s - c%d < %td ? %s : c%d + %td;",
                                number, range, number, chunk, range, number, chunk));
    } else {
        BB_TRY(bb_emission_line(base, "{ const bb_index c%d = 0;", number));
        ++base->depth;
    }
    BB_TRY(bb_emission_line(base, "bb_start%d(&u%d, 0, %s);", number, number, points));
    BB_TRY(bb_emission_line(base, "if (c%d == 0) bb_begin%d(&u%d, %s);", number, number, number,
                            points));
done:
    return status;
}

static bb_status print_chunks_end(c_writer *writer, int number, const char *points)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_line(&writer->base, "bb_tree%d(&u%d, 0, %s);", number, number, points));
    BB_TRY(bb_emission_line(&writer->base, "bb_push%d(&u%d, 0, %s);", number, number, points));
    --writer->base.depth;
    BB_TRY(bb_emission_line(&writer->base, "}"));
done:
    return status;
}

// An iterator inside the loop over points.
static bb_status print_iterator(c_writer *writer, int number)
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
        BB_TRY(print_chunks_end(writer, number, "1"));
    }
    BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, 1);", number, number));
    BB_TRY(bb_emission_sum_outputs(&writer->base, &iterator->reduction, number, "0"));
done:
    return status;
}

static bb_status print_steps(c_writer *writer, const bb_step_list *list)
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

static bb_status print_reload(c_writer *writer, const bool *is_done)
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
static bb_status print_segment(c_writer *writer, int begin, int end, bool *is_done)
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

static bb_status print_tile_iterator(c_writer *writer, int number, int place, const bool *is_done)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    const bb_iterator *iterator = &program->iterators[number];
    char target[2 * BB_EMISSION_NAME_BYTES];
    bool chunked = false;
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
    BB_TRY(print_chunks(writer, number, "e - b"));
    BB_TRY(print_loops(writer, number, &chunked));
    BB_TRY(bb_emission_line(base, "for (bb_index x0 = b; x0 < e; ++x0) {"));
    ++base->depth;
    BB_TRY(print_reload(writer, is_done));
    for (int i = 0; i < place; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            BB_TRY(bb_emission_sum_outputs(&writer->base,
                                           &program->iterators[step->iterator].reduction,
                                           step->iterator, "x0 - b"));
        }
    }
    (void)snprintf(target, sizeof target, "u%d.lane[0][0][x0 - b]", number);
    BB_TRY(print_item(writer, iterator, target));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
    BB_TRY(print_loops_end(writer, chunked ? 1 : iterator->space.dimensions));
    BB_TRY(print_chunks_end(writer, number, "e - b"));
    BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, e - b);", number, number));
done:
    return status;
}

static bb_status print_tile(c_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    bool *is_done = NULL;
    int begin = 0;
    BB_TRY(BB_ZEROED(program->value_count, &is_done));
    for (int value = 0; value < program->value_count; ++value) {
        if (writer->is_saved[value]) {
            BB_TRY(bb_emission_line(base, "%s v%d[%d];",
                                    bb_emission_type(base, program->values[value].type), value,
                                    SUM_TILE));
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

// Neighbouring points share what their iterators read where these run alike for all of them.
static bool runs_by_tile(const bb_program *program)
{
    bool by_tile = program->iterator_count > 0 && !program->has_reduction;
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_iterator *iterator = &program->iterators[i];
        for (int k = 0; k < iterator->space.dimensions; ++k) {
            by_tile = by_tile && program->values[iterator->space.ranges[k]].scope == BB_SCOPE_HOST;
        }
        by_tile = by_tile && iterator->reduction.order.lanes == 1;
    }
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        by_tile = by_tile && (step->kind != BB_STEP_READ || step->boundary != BB_BOUNDARY_SKIP);
    }
    return by_tile;
}

// Entries

static bb_status print_signature(c_writer *writer, const char *entry)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(writer->base.out,
                       "\nvoid %s(const void *const *arguments, int64_t begin, int64_t end)\n{\n",
                       entry));
done:
    return status;
}

static bb_status print_points(c_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    bool *is_fast = NULL;
    BB_TRY(BB_ZEROED(program->step_count, &is_fast));
    const bool fast = bb_emission_find_fast(program, base->is_inside, is_fast);
    if (fast) {
        BB_TRY(bb_emission_line_bounds(base, is_fast));
        BB_TRY(bb_emission_line(base, "for (bb_index x0 = lo; x0 < hi; ++x0) {"));
        ++base->depth;
        base->is_fast = is_fast;
        BB_TRY(print_steps(writer, &program->body));
        base->is_fast = NULL;
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
        BB_TRY(bb_emission_line(base, "for (bb_index x0 = b < lo ? b : hi; x0 < e; "
                                      "x0 = x0 + 1 == lo ? hi : x0 + 1) {"));
        ++base->depth;
    } else {
        BB_TRY(bb_emission_line(base, "for (bb_index x0 = b; x0 < e; ++x0) {"));
        ++base->depth;
    }
    BB_TRY(print_steps(writer, &program->body));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    base->is_fast = NULL;
    BB_RELEASE(&is_fast);
    return status;
}

static bb_status print_map(c_writer *writer, bb_index tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, program->space.ranges[0], range);
    BB_TRY(
        bb_emission_line(base, "const bb_index tiles = (%s + %td) / %td;", range, tile - 1, tile));
    BB_TRY(bb_emission_line(base, "for (bb_index item = begin; item < end; ++item) {"));
    ++base->depth;
    if (program->space.dimensions == 2) {
        BB_TRY(bb_emission_line(base, "const bb_index x1 = item / tiles;"));
        BB_TRY(bb_emission_line(base, "const bb_index b = (item - x1 * tiles) * %td;", tile));
    } else {
        BB_TRY(bb_emission_line(base, "const bb_index b = item * %td;", tile));
    }
    BB_TRY(bb_emission_line(base, "const bb_index e = b + %td < %s ? b + %td : %s;", tile, range,
                            tile, range));
    BB_TRY(writer->by_tile ? print_tile(writer) : print_points(writer));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Parts of the space's ICF, a chunk an item; a space without chunks is one.
static bb_status print_reduction(c_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    const bb_reduction *reduction = &program->reduction;
    const int number = program->iterator_count;
    char ranges[BB_PROGRAM_DIMENSIONS][BB_EMISSION_NAME_BYTES] = {"", "1"};
    char target[2 * BB_EMISSION_NAME_BYTES];
    for (int k = 0; k < program->space.dimensions; ++k) {
        (void)bb_emission_name(base, program->space.ranges[k], ranges[k]);
    }
    BB_TRY(bb_emission_line(base, "const bb_index n0 = %s > 0 ? %s : 0, n1 = %s > 0 ? %s : 0;",
                            ranges[0], ranges[0], ranges[1], ranges[1]));
    BB_TRY(bb_emission_line(base, "const bb_index n = n0 * n1, chunk = %tdLL;",
                            reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX));
    BB_TRY(bb_emission_line(base, "for (bb_index item = begin; item < end; ++item) {"));
    ++base->depth;
    BB_TRY(bb_emission_line(base, "const bb_index c = item > 0 ? item * chunk : 0;"));
    BB_TRY(bb_emission_line(base, "const bb_index z = n - c < chunk ? n : c + chunk;"));
    BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_start%d(&u%d, 0, 1);", number, number));
    BB_TRY(bb_emission_line(base, "if (c == 0) bb_begin%d(&u%d, 1);", number, number));
    // Of one dimension the points of a chunk follow each other, lane by lane.
    const bool line = program->space.dimensions == 1;
    (void)snprintf(target, sizeof target, "u%d.lane[0][l][0]", number);
    BB_TRY(bb_emission_line(base, "bb_index g = c;"));
    for (int pass = line ? 0 : 1; pass < 2; ++pass) {
        if (pass == 0) {
            BB_TRY(bb_emission_line(base, "for (; g + %td <= z; g += %td)", reduction->order.lanes,
                                    reduction->order.lanes));
            BB_TRY(bb_emission_line(base, "for (bb_index l = 0; l < %td; ++l) {",
                                    reduction->order.lanes));
        } else {
            BB_TRY(bb_emission_line(base, "for (bb_index j = g; j < z; ++j) {"));
        }
        ++base->depth;
        if (pass == 1) {
            BB_TRY(bb_emission_line(base, "const bb_index l = (j - c) %% %td;",
                                    reduction->order.lanes));
        }
        BB_TRY(bb_emission_line(base, line ? pass == 0 ? "const bb_index x0 = g + l;"
                                                       : "const bb_index x0 = j;"
                                           : "const bb_index x1 = j / n0, x0 = j - x1 * n0;"));
        BB_TRY(print_steps(writer, &program->body));
        BB_TRY(bb_emission_take(base, reduction, target));
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
    }
    BB_TRY(bb_emission_line(base, "bb_tree%d(&u%d, 0, 1);", number, number));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "p%d[item] = u%d.lane[0][0][0][%d];", k, number, k));
    }
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Joins the chunks' parts and runs what comes after the space.
static bb_status print_finish(c_writer *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    const bb_reduction *reduction = &program->reduction;
    const int number = program->iterator_count;
    BB_TRY(bb_emission_line(base, "(void)begin;"));
    BB_TRY(bb_emission_line(base, "(void)end;"));
    BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
    BB_TRY(bb_emission_line(base, "for (bb_index item = 0; item < parts; ++item) {"));
    ++base->depth;
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "u%d.lane[0][0][0][%d] = p%d[item];", number, k, k));
    }
    BB_TRY(bb_emission_line(base, "bb_push%d(&u%d, 0, 1);", number, number));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
    BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, 1);", number, number));
    BB_TRY(bb_emission_sum_outputs(&writer->base, reduction, number, "0"));
    BB_TRY(bb_emission_line(base, "for (int once = 0; once < 1; ++once) {"));
    ++base->depth;
    BB_TRY(print_steps(writer, &program->final));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Names of the arguments, in front of an entry's text, which has shown which values it uses.
static bb_status print_arguments(const c_writer *writer, const bb_emission *emission, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->base.program;
    int place = 0;
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        const char *type = bb_emission_type(&writer->base, object->type);
        BB_TRY(bb_text_add(out, "    %s%s *restrict o%d = (%s%s *)arguments[%d];\n",
                           object->is_written ? "" : "const ", type, i,
                           object->is_written ? "" : "const ", type, place++));
    }
    for (int i = 0; i < emission->value_count; ++i) {
        const int value = emission->values[i];
        const char *type = bb_emission_type(&writer->base, program->values[value].type);
        BB_TRY(bb_text_add(out, "    const %s h%d = *(const %s *)arguments[%d];\n", type, value,
                           type, place++));
    }
    for (int k = 0; program->has_reduction && k < program->reduction.count; ++k) {
        const char *type = bb_emission_type(&writer->base, program->reduction.type);
        BB_TRY(bb_text_add(out, "    %s *restrict p%d = (%s *)arguments[%d];\n", type, k, type,
                           place++));
    }
    if (program->has_reduction) {
        BB_TRY(bb_text_add(out, "    const bb_index parts = *(const bb_index *)arguments[%d];\n",
                           place));
    }
done:
    return status;
}

static bb_status print_sums(c_writer *writer)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->base.program;
    const bb_index width = writer->by_tile ? SUM_TILE : 1;
    for (int i = 0; i < program->iterator_count; ++i) {
        BB_TRY(bb_emission_sum(&writer->base, &program->iterators[i].reduction, i, width));
    }
    if (program->has_reduction) {
        BB_TRY(bb_emission_sum(&writer->base, &program->reduction, program->iterator_count, 1));
    }
done:
    return status;
}

static bb_index tile_of(const c_writer *writer)
{
    const bb_program *program = writer->base.program;
    if (program->has_reduction) {
        return 0;
    }
    return writer->by_tile ? SUM_TILE : program->iterator_count > 0 ? LANE_TILE : POINT_TILE;
}

static bb_status print_entries(c_writer *writer, bb_emission *emission, bb_text bodies[2])
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bool reduces = base->program->has_reduction;
    base->depth = 1;
    base->out = &bodies[0];
    BB_TRY(reduces ? print_reduction(writer) : print_map(writer, emission->tile));
    base->out = &bodies[1];
    if (reduces) {
        BB_TRY(print_finish(writer));
    }
    BB_TRY(bb_emission_list_values(base, emission));
    base->out = &emission->source;
    base->depth = 0;
    BB_TRY(bb_emission_prologue(base));
    BB_TRY(print_sums(writer));
    for (int i = 0; i < 1 + reduces; ++i) {
        BB_TRY(print_signature(writer, i == 0 ? BB_EMISSION_BODY : BB_EMISSION_FINISH));
        BB_TRY(print_arguments(writer, emission, base->out));
        BB_TRY(bb_text_add(base->out, "%s}\n", bb_text_string(&bodies[i])));
    }
done:
    return status;
}

bb_status bb_emission_fill_c(bb_emission_writer *base, bb_emission *emission)
{
    bb_status status = BB_OK;
    bb_text bodies[2] = {{0}, {0}};
    c_writer writer = {.base = *base, .by_tile = runs_by_tile(base->program)};
    emission->tile = tile_of(&writer);
    emission->body_items[0] = 1;
    emission->body_items[1] = 1;
    emission->finish_items = 1;
    BB_TRY(BB_ZEROED(base->program->value_count, &writer.is_saved));
    BB_TRY(bb_emission_find_saved(base->program, writer.is_saved));
    BB_TRY(print_entries(&writer, emission, bodies));
done:
    bb_text_release(&bodies[0]);
    bb_text_release(&bodies[1]);
    BB_RELEASE(&writer.is_saved);
    return status;
}
