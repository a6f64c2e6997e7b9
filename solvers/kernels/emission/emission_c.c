// SPDX-License-Identifier: Apache-2.0
//
// Loops for processors: C17, with entries that threads call for ranges of items, and OpenCL C, with
// one work-item per work-group and item.
#include "solvers/kernels/emission/emission_gpu.h"

#include <stdio.h>

// gcc -O3 (observed with 12.2) strides through memory when it jams iterations of an outer loop or
// reorders the loads of a row of lanes. This defeats hardware prefetching and halves the speed.
static const char *const plain_order = "#if defined(__GNUC__) && !defined(__clang__)\n"
                                       "#pragma GCC optimize(\"no-loop-unroll-and-jam\", "
                                       "\"no-schedule-insns2\")\n"
                                       "#endif\n";

// gcc (observed with 12.2) merges a * b - c and a * b + c of neighbours in memory into one fused
// instruction when it vectorises loops, regardless of -ffp-contract. The case occurs with two
// adjacent stores.
const char *const bb_emission_plain_loops = "#if defined(__GNUC__) && !defined(__clang__)\n"
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

static void print_points(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    if (bb_emission_find_fast(writer)) {
        bb_emission_line_bounds(writer);
        bb_emission_line(writer, "for (bb_index x0 = lo; x0 < hi; ++x0) {");
        writer->is_fast = writer->fast;
        bb_emission_loop_steps(writer, &program->body);
        writer->is_fast = NULL;
        bb_emission_line(writer, "}");
        bb_emission_line(writer, "for (bb_index x0 = b < lo ? b : hi; x0 < e; "
                                 "x0 = x0 + 1 == lo ? hi : x0 + 1) {");
    } else {
        bb_emission_line(writer, "for (bb_index x0 = b; x0 < e; ++x0) {");
    }
    bb_emission_loop_steps(writer, &program->body);
    bb_emission_line(writer, "}");
}

// Opens the loop that defines x1: one line per item, or several, one after another.
static void print_lines(bb_emission_writer *writer, bb_index tile, int rows)
{
    char range[BB_EMISSION_NAME_BYTES];
    if (rows == 1) {
        bb_emission_line(writer, "const bb_index x1 = item / tiles;");
        bb_emission_line(writer, "const bb_index b = (item - x1 * tiles) * %td;", tile);
        return;
    }
    (void)bb_emission_name(writer, writer->program->space.ranges[1], range);
    bb_emission_line(writer, "const bb_index line = item / tiles, y = line * %d;", rows);
    bb_emission_line(writer, "const bb_index b = (item - line * tiles) * %td;", tile);
    bb_emission_line(writer, "for (bb_index x1 = y; x1 < y + %d && x1 < %s; ++x1) {", rows, range);
}

static void print_map(bb_emission_writer *writer, bb_index tile)
{
    const bb_program *program = writer->program;
    const int rows = writer->choice->rows;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(writer, program->space.ranges[0], range);
    bb_emission_line(writer, "const bb_index tiles = (%s + %td) / %td;", range, tile - 1, tile);
    bb_emission_line(writer, "for (bb_index item = begin; item < end; ++item) {");
    if (program->space.dimensions == 2) {
        print_lines(writer, tile, rows);
    } else {
        bb_emission_line(writer, "const bb_index b = item * %td;", tile);
    }
    bb_emission_line(writer, "const bb_index e = b + %td < %s ? b + %td : %s;", tile, range, tile,
                     range);
    if (bb_emission_runs_by_tile(program)) {
        bb_emission_loop_tile(writer);
    } else {
        print_points(writer);
    }
    for (int i = 0; i < 1 + (rows > 1); ++i) {
        bb_emission_line(writer, "}");
    }
}

// Prints the parts of the reduction over the space, one chunk per item; a space without chunks is a
// single chunk.
static void print_reduction(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const bb_reduction *reduction = &program->reduction;
    const int number = program->iterator_count;
    char ranges[BB_PROGRAM_DIMENSIONS][BB_EMISSION_NAME_BYTES] = {"", "1"};
    char target[2 * BB_EMISSION_NAME_BYTES];
    for (int k = 0; k < program->space.dimensions; ++k) {
        (void)bb_emission_name(writer, program->space.ranges[k], ranges[k]);
    }
    bb_emission_line(writer, "const bb_index n0 = %s > 0 ? %s : 0, n1 = %s > 0 ? %s : 0;",
                     ranges[0], ranges[0], ranges[1], ranges[1]);
    bb_emission_line(writer, "const bb_index n = n0 * n1, chunk = %td%s;",
                     reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX,
                     writer->dialect->index_suffix);
    bb_emission_line(writer, "for (bb_index item = begin; item < end; ++item) {");
    bb_emission_line(writer, "const bb_index c = item > 0 ? item * chunk : 0;");
    bb_emission_line(writer, "const bb_index z = n - c < chunk ? n : c + chunk;");
    bb_emission_line(writer, "bb_sum%d u%d;", number, number);
    bb_emission_line(writer, "bb_start%d(&u%d, 0, 1);", number, number);
    bb_emission_line(writer, "if (c == 0) bb_begin%d(&u%d, 1);", number, number);
    // In one dimension the points of a chunk are consecutive and cycle through the lanes.
    const bool line = program->space.dimensions == 1;
    (void)snprintf(target, sizeof target, "u%d.lane[0][l][0]", number);
    bb_emission_line(writer, "bb_index g = c;");
    for (int pass = line ? 0 : 1; pass < 2; ++pass) {
        if (pass == 0) {
            bb_emission_line(writer, "for (; g + %td <= z; g += %td)", reduction->order.lanes,
                             reduction->order.lanes);
            bb_emission_line(writer, "for (bb_index l = 0; l < %td; ++l) {",
                             reduction->order.lanes);
        } else {
            bb_emission_line(writer, "for (bb_index j = g; j < z; ++j) {");
        }
        if (pass == 1) {
            bb_emission_line(writer, "const bb_index l = (j - c) %% %td;", reduction->order.lanes);
        }
        bb_emission_line(writer,
                         line ? pass == 0 ? "const bb_index x0 = g + l;" : "const bb_index x0 = j;"
                              : "const bb_index x1 = j / n0, x0 = j - x1 * n0;");
        bb_emission_loop_steps(writer, &program->body);
        bb_emission_accumulate(writer, reduction, target);
        bb_emission_line(writer, "}");
    }
    bb_emission_line(writer, "bb_tree%d(&u%d, 0, 1);", number, number);
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "p%d[item] = u%d.lane[0][0][0][%d];", k, number, k);
    }
    bb_emission_line(writer, "}");
}

// Joins the parts of the chunks and runs the steps after the space.
static void print_finish(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const bb_reduction *reduction = &program->reduction;
    const int number = program->iterator_count;
    char total[BB_EMISSION_NAME_BYTES];
    bb_emission_line(writer, "(void)begin;");
    bb_emission_line(writer, "(void)end;");
    bb_emission_line(writer, "bb_sum%d u%d;", number, number);
    bb_emission_line(writer, "bb_clear%d(&u%d);", number, number);
    bb_emission_line(writer, "for (bb_index item = 0; item < parts; ++item) {");
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "u%d.lane[0][0][0][%d] = p%d[item];", number, k, k);
    }
    bb_emission_line(writer, "bb_push%d(&u%d, 0, 1);", number, number);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "bb_total%d(&u%d, 1);", number, number);
    (void)snprintf(total, sizeof total, "u%d.lane[0][0][0]", number);
    bb_emission_sum_outputs(writer, reduction, total);
    bb_emission_line(writer, "for (int once = 0; once < 1; ++once) {");
    bb_emission_loop_steps(writer, &program->final);
    bb_emission_line(writer, "}");
}

// Declares the arguments of a C entry, ahead of its text; the values that the text uses are known
// once it is printed.
static void print_arguments(bb_emission_writer *writer, const bb_emission *emission)
{
    const bb_program *program = writer->program;
    int place = 0;
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        const char *type = bb_emission_type(writer, object->type);
        bb_emission_add(writer, "    %s%s *restrict o%d = (%s%s *)arguments[%d];\n",
                        object->is_written ? "" : "const ", type, i,
                        object->is_written ? "" : "const ", type, place++);
    }
    for (int i = 0; i < emission->value_count; ++i) {
        const int value = emission->values[i];
        const char *type = bb_emission_type(writer, program->values[value].type);
        bb_emission_add(writer, "    const %s h%d = *(const %s *)arguments[%d];\n", type, value,
                        type, place++);
    }
    for (int k = 0; program->has_reduction && k < program->reduction.count; ++k) {
        const char *type = bb_emission_type(writer, program->reduction.type);
        bb_emission_add(writer, "    %s *restrict p%d = (%s *)arguments[%d];\n", type, k, type,
                        place++);
    }
    if (program->has_reduction) {
        bb_emission_add(writer, "    const bb_index parts = *(const bb_index *)arguments[%d];\n",
                        place);
    }
}

static void print_head(bb_emission_writer *writer, const bb_emission *emission, const char *entry)
{
    if (writer->target == BB_EMISSION_OPENCL) {
        bb_emission_gpu_signature_opencl(writer, emission, entry);
        bb_emission_add(writer, "    const bb_index begin = (long)get_group_id(0) +\n"
                                "        (long)get_group_id(1) * (long)get_num_groups(0);\n"
                                "    const bb_index end = begin + 1;\n");
        return;
    }
    bb_emission_add(
        writer, "\nvoid %s(const void *const *arguments, int64_t begin, int64_t end)\n{\n", entry);
    print_arguments(writer, emission);
}

static void print_sums(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const bb_index width = bb_emission_runs_by_tile(program) ? writer->choice->tile : 1;
    for (int i = 0; i < program->iterator_count; ++i) {
        bb_emission_sum(writer, &program->iterators[i].reduction, i, width);
    }
    if (program->has_reduction) {
        bb_emission_sum(writer, &program->reduction, program->iterator_count, 1);
    }
}

static void print_entries(bb_emission_writer *writer, bb_emission *emission, bb_text bodies[2])
{
    const bool reduces = writer->program->has_reduction;
    writer->depth = 1;
    writer->out = &bodies[0];
    if (reduces) {
        print_reduction(writer);
        writer->out = &bodies[1];
        print_finish(writer);
    } else {
        print_map(writer, writer->choice->tile);
    }
    bb_emission_list_values(writer, emission);
    writer->out = &emission->source;
    writer->depth = 0;
    if (writer->target == BB_EMISSION_C) {
        bb_emission_add(writer, "%s%s", plain_order,
                        stores_alternate(writer->program) ? bb_emission_plain_loops : "");
    }
    bb_emission_prologue(writer);
    print_sums(writer);
    for (int i = 0; i < 1 + reduces; ++i) {
        print_head(writer, emission, i == 0 ? BB_EMISSION_BODY : BB_EMISSION_FINISH);
        bb_emission_add(writer, "%s}\n", bb_text_string(&bodies[i]));
    }
}

bb_status bb_emission_fill_loops(bb_emission_writer *writer, bb_emission *emission)
{
    bb_text bodies[2] = {{0}, {0}};
    emission->is_parted = writer->program->has_reduction;
    emission->body_points[0] = writer->program->has_reduction ? 1 : writer->choice->tile;
    emission->body_points[1] = writer->choice->rows;
    emission->finish_points = 1;
    emission->body_items[0] = 1;
    emission->body_items[1] = 1;
    emission->finish_items[0] = 1;
    emission->finish_items[1] = 1;
    print_entries(writer, emission, bodies);
    bb_text_release(&bodies[0]);
    bb_text_release(&bodies[1]);
    return writer->status;
}
