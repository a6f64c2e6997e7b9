// SPDX-License-Identifier: Apache-2.0
//
// Loops for processors: C17, whose entries threads call for ranges of items, and OpenCL C, whose
// work-groups are an item of one work-item.
#include "solvers/kernels/emission/emission_c.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_gpu.h"

#include <stdio.h>

// gcc's -O3 (seen in 12.2) goes through memory in jumps where it joins neighbouring iterations of
// an outer loop or sorts the loads of a row of lanes: processors that fetch ahead lose a half.
static const char *const plain_order = "#if defined(__GNUC__) && !defined(__clang__)\n"
                                       "#pragma GCC optimize(\"no-loop-unroll-and-jam\", "
                                       "\"no-schedule-insns2\")\n"
                                       "#endif\n";

// gcc (seen in 12.2) joins a * b - c and a * b + c of neighbours in memory into one fused
// instruction when it vectorises loops, whatever -ffp-contract says. That takes two stores side by
// side.
const char *const bb_emission_c_plain_loops = "#if defined(__GNUC__) && !defined(__clang__)\n"
                                              "#pragma GCC optimize(\"no-tree-loop-vectorize\")\n"
                                              "#endif\n";

static bool stores_alternate(const bb_program *program)
{
    int writes = 0;
    bool alternate = program->has_reduction && program->reduction.count > 1;
    for (int i = 0; i < program->value_count; ++i) {
        const bb_element_type type = program->values[i].type;
        alternate = alternate || bb_element_type_row(type)->parts == 2;
    }
    for (int i = 0; i < program->iterator_count; ++i) {
        alternate = alternate || program->iterators[i].reduction.count > 1;
    }
    for (int i = 0; i < program->step_count; ++i) {
        writes += program->steps[i].kind == BB_STEP_WRITE;
    }
    return alternate || writes > 1;
}

static bb_status print_points(bb_emission_c *writer)
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
        BB_TRY(bb_emission_c_steps(writer, &program->body));
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
    BB_TRY(bb_emission_c_steps(writer, &program->body));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    base->is_fast = NULL;
    BB_RELEASE(&is_fast);
    return status;
}

// Opens what has x1: a line an item, or several, one after another.
static bb_status print_lines(bb_emission_c *writer, bb_index tile, int rows)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    char range[BB_EMISSION_NAME_BYTES];
    if (rows == 1) {
        BB_TRY(bb_emission_line(base, "const bb_index x1 = item / tiles;"));
        BB_TRY(bb_emission_line(base, "const bb_index b = (item - x1 * tiles) * %td;", tile));
        goto done;
    }
    (void)bb_emission_name(base, base->program->space.ranges[1], range);
    BB_TRY(bb_emission_line(base, "const bb_index line = item / tiles, y = line * %d;", rows));
    BB_TRY(bb_emission_line(base, "const bb_index b = (item - line * tiles) * %td;", tile));
    BB_TRY(bb_emission_line(base, "for (bb_index x1 = y; x1 < y + %d && x1 < %s; ++x1) {", rows,
                            range));
    ++base->depth;
done:
    return status;
}

static bb_status print_map(bb_emission_c *writer, bb_index tile)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bb_program *program = base->program;
    const int rows = base->choice->rows;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, program->space.ranges[0], range);
    BB_TRY(
        bb_emission_line(base, "const bb_index tiles = (%s + %td) / %td;", range, tile - 1, tile));
    BB_TRY(bb_emission_line(base, "for (bb_index item = begin; item < end; ++item) {"));
    ++base->depth;
    if (program->space.dimensions == 2) {
        BB_TRY(print_lines(writer, tile, rows));
    } else {
        BB_TRY(bb_emission_line(base, "const bb_index b = item * %td;", tile));
    }
    BB_TRY(bb_emission_line(base, "const bb_index e = b + %td < %s ? b + %td : %s;", tile, range,
                            tile, range));
    BB_TRY(writer->by_tile ? bb_emission_c_tile(writer) : print_points(writer));
    for (int i = 0; i < 1 + (rows > 1); ++i) {
        --base->depth;
        BB_TRY(bb_emission_line(base, "}"));
    }
done:
    return status;
}

// Parts of the space's ICF, a chunk an item; a space without chunks is one.
static bb_status print_reduction(bb_emission_c *writer)
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
    BB_TRY(bb_emission_line(base, "const bb_index n = n0 * n1, chunk = %td%s;",
                            reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX,
                            base->dialect->index_suffix));
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
        BB_TRY(bb_emission_c_steps(writer, &program->body));
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
static bb_status print_finish(bb_emission_c *writer)
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
    BB_TRY(bb_emission_c_steps(writer, &program->final));
    --base->depth;
    BB_TRY(bb_emission_line(base, "}"));
done:
    return status;
}

// Names of the arguments, in front of a C entry's text, which has shown which values it uses.
static bb_status print_arguments(const bb_emission_c *writer, const bb_emission *emission,
                                 bb_text *out)
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

static bb_status print_head(bb_emission_c *writer, const bb_emission *emission, const char *entry)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    if (writer->target == BB_EMISSION_OPENCL) {
        BB_TRY(bb_emission_gpu_signature_opencl(base, emission, entry));
        BB_TRY(bb_text_add(base->out, "    const bb_index begin = (long)get_group_id(0) +\n"
                                      "        (long)get_group_id(1) * (long)get_num_groups(0);\n"
                                      "    const bb_index end = begin + 1;\n"));
        goto done;
    }
    BB_TRY(bb_text_add(base->out,
                       "\nvoid %s(const void *const *arguments, int64_t begin, int64_t end)\n{\n",
                       entry));
    BB_TRY(print_arguments(writer, emission, base->out));
done:
    return status;
}

static bb_status print_sums(bb_emission_c *writer)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->base.program;
    const bb_index width = writer->by_tile ? writer->base.choice->tile : 1;
    for (int i = 0; i < program->iterator_count; ++i) {
        BB_TRY(bb_emission_sum(&writer->base, &program->iterators[i].reduction, i, width));
    }
    if (program->has_reduction) {
        BB_TRY(bb_emission_sum(&writer->base, &program->reduction, program->iterator_count, 1));
    }
done:
    return status;
}

static bb_status print_entries(bb_emission_c *writer, bb_emission *emission, bb_text bodies[2])
{
    bb_status status = BB_OK;
    bb_emission_writer *base = &writer->base;
    const bool reduces = base->program->has_reduction;
    base->depth = 1;
    base->out = &bodies[0];
    BB_TRY(reduces ? print_reduction(writer) : print_map(writer, writer->base.choice->tile));
    base->out = &bodies[1];
    if (reduces) {
        BB_TRY(print_finish(writer));
    }
    BB_TRY(bb_emission_list_values(base, emission));
    base->out = &emission->source;
    base->depth = 0;
    if (writer->target == BB_EMISSION_C) {
        BB_TRY(bb_text_add(base->out, "%s%s", plain_order,
                           stores_alternate(base->program) ? bb_emission_c_plain_loops : ""));
    }
    BB_TRY(bb_emission_prologue(base));
    BB_TRY(print_sums(writer));
    for (int i = 0; i < 1 + reduces; ++i) {
        BB_TRY(print_head(writer, emission, i == 0 ? BB_EMISSION_BODY : BB_EMISSION_FINISH));
        BB_TRY(bb_text_add(base->out, "%s}\n", bb_text_string(&bodies[i])));
    }
done:
    return status;
}

bb_status bb_emission_fill_loops(bb_emission_writer *base, bb_emission_target target,
                                 bb_emission *emission)
{
    bb_status status = BB_OK;
    bb_text bodies[2] = {{0}, {0}};
    bb_emission_c writer = {
        .base = *base, .target = target, .by_tile = bb_emission_runs_by_tile(base->program)};
    emission->is_parted = base->program->has_reduction;
    emission->body_points[0] = base->program->has_reduction ? 1 : base->choice->tile;
    emission->body_points[1] = base->choice->rows;
    emission->finish_points = 1;
    emission->body_items[0] = 1;
    emission->body_items[1] = 1;
    emission->finish_items[0] = 1;
    emission->finish_items[1] = 1;
    BB_TRY(BB_ZEROED(base->program->value_count, &writer.is_saved));
    BB_TRY(bb_emission_find_saved(base->program, writer.is_saved));
    BB_TRY(print_entries(&writer, emission, bodies));
done:
    bb_text_release(&bodies[0]);
    bb_text_release(&bodies[1]);
    BB_RELEASE(&writer.is_saved);
    return status;
}
