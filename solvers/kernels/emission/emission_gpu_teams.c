// SPDX-License-Identifier: Apache-2.0
//
// Bodies whose work-items are lanes: an iterator's sum of a point, a chunk of the space, and the
// joining of the parts of either.
#include "solvers/kernels/emission/emission_gpu.h"

#include <stdio.h>

static bb_emission_team_sum sum_of_iterator(const bb_program *program, int number)
{
    const bb_iterator *iterator = &program->iterators[number];
    bb_emission_team_sum sum = {.reduction = &iterator->reduction,
                                .number = number,
                                .kind = BB_EMISSION_ITERATION,
                                .steps = &iterator->steps,
                                .value = iterator->space.positions[0]};
    (void)snprintf(sum.position, sizeof sum.position, "k%d_0", number);
    return sum;
}

// Declares the accumulators of the chunks' results, again with lanes: part<number>[v].
static void print_part_lanes(bb_emission_writer *writer, const bb_emission_team_sum *sum)
{
    const int number = sum->number;
    const int count = sum->reduction->count;
    bb_emission_line(writer, "%s part%d[%td][%d];", bb_emission_type(writer, sum->reduction->type),
                     number, bb_emission_team_sum_lanes(writer, sum->reduction), count);
    bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction));
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) part%d[v][k] = bb_neutral%d(k);", count,
                     number, number);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "bb_sum%d u%d;", number, number);
    bb_emission_line(writer, "bb_clear%d(&u%d);", number, number);
}

// Joins the lanes of parts into acc<number>[0].
static void join_parts(bb_emission_writer *writer, const bb_emission_team_sum *sum)
{
    const int number = sum->number;
    const bb_index lanes = bb_emission_team_sum_lanes(writer, sum->reduction);
    bb_emission_line(writer, "%s acc%d[%td][%d];", bb_emission_type(writer, sum->reduction->type),
                     number, lanes, sum->reduction->count);
    bb_emission_team_sum_open(writer, lanes);
    bb_emission_line(writer,
                     "for (int k = 0; k < %d; ++k) { acc%d[v][k] = part%d[v][k]; "
                     "part%d[v][k] = bb_neutral%d(k); }",
                     sum->reduction->count, number, number, number, number);
    bb_emission_line(writer, "}");
    bb_emission_team_sum_join(writer, sum);
}

// Adds a chunk's result, in acc<number>[0], to its lane of parts. A chunk of chunks, after 8192 *
// 8192 items, is pushed up level by level in every work-item.
static void print_part(bb_emission_writer *writer, const bb_emission_team_sum *sum)
{
    const int number = sum->number;
    const bb_reduction_order order = sum->reduction->order;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    bb_emission_line(writer, "const bb_index part = c%d / %td;", number, order.chunk);
    bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction));
    bb_emission_line(writer, "if ((part & %td) == %s) bb_join%d(part%d[v], acc%d[0]);",
                     order.lanes - 1, lane, number, number, number);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "if (part %% %td == %td) {", order.chunk, order.chunk - 1);
    join_parts(writer, sum);
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) u%d.lane[1][0][0][k] = acc%d[0][k];",
                     sum->reduction->count, number, number);
    bb_emission_line(writer, "bb_push%d(&u%d, 1, 1);", number, number);
    bb_emission_line(writer, "}");
}

// Total of several chunks.
static void print_total(bb_emission_writer *writer, const bb_emission_team_sum *sum,
                        const char *range)
{
    const int number = sum->number;
    const int count = sum->reduction->count;
    const bb_index chunk = sum->reduction->order.chunk;
    bb_emission_line(writer, "const bb_index rest = ((%s - 1) / %td + 1) %% %td;", range, chunk,
                     chunk);
    bb_emission_line(writer, "if (rest > 0) {");
    join_parts(writer, sum);
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) total%d[k] = acc%d[0][k];", count,
                     number, number);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "if (u%d.count[2] > 0) {", number);
    bb_emission_line(writer,
                     "if (rest > 0) { for (int k = 0; k < %d; ++k) u%d.lane[1][0][0][k] = "
                     "total%d[k]; bb_push%d(&u%d, 1, 1); }",
                     count, number, number, number, number);
    bb_emission_line(writer, "bb_total%d(&u%d, 1);", number, number);
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) total%d[k] = u%d.lane[0][0][0][k];",
                     count, number, number);
    bb_emission_line(writer, "}");
}

void bb_emission_gpu_team_iterator(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bb_reduction *reduction = &iterator->reduction;
    const bb_emission_team_sum sum = sum_of_iterator(writer->program, number);
    const bool chunked = reduction->order.chunk > 0;
    char range[BB_EMISSION_NAME_BYTES];
    char names[3][BB_EMISSION_NAME_BYTES];
    char first[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(writer, iterator->space.ranges[0], range);
    (void)snprintf(names[0], sizeof names[0], "c%d", number);
    (void)snprintf(names[1], sizeof names[1], "e%d", number);
    (void)snprintf(names[2], sizeof names[2], "total%d", number);
    (void)snprintf(first, sizeof first, "c%d == 0", number);
    bb_emission_line(writer, "%s total%d[%d];", bb_emission_type(writer, reduction->type), number,
                     reduction->count);
    if (chunked) {
        print_part_lanes(writer, &sum);
    }
    bb_emission_chunks(writer, number);
    bb_emission_team_sum_print(writer, &sum, names[0], names[1], first);
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) total%d[k] = acc%d[0][k];",
                     reduction->count, number, number);
    if (chunked) {
        bb_emission_line(writer, "if (%s > %td) {", range, reduction->order.chunk);
        print_part(writer, &sum);
        bb_emission_line(writer, "}");
    }
    bb_emission_line(writer, "}");
    if (chunked) {
        bb_emission_line(writer, "if (%s > %td) {", range, reduction->order.chunk);
        print_total(writer, &sum, range);
        bb_emission_line(writer, "}");
    }
    bb_emission_sum_outputs(writer, reduction, names[2]);
}

// Bodies of entries

// Teams beyond the last point process that point again and write nothing.
static void print_point(bb_emission_writer *writer)
{
    bb_emission_line(writer, "const bb_index place = %s * %td + team;", writer->words->group[0],
                     writer->team.teams);
    bb_emission_line(writer, "const int active = place < n0;");
    writer->is_guarded = true;
    bb_emission_line(writer, "const bb_index x0 = active ? place : n0 - 1;");
}

// Prints the computation of a part of a point's sum, one chunk per work-group.
static void print_split(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const bb_emission_team_sum sum = sum_of_iterator(program, 0);
    const int place = bb_emission_iterator_place(program);
    bb_emission_gpu_body(writer, 0, place);
    bb_emission_gpu_chunk(writer);
    bb_emission_team_sum_print(writer, &sum, "c0", "e0", "c0 == 0");
    for (int k = 0; k < sum.reduction->count; ++k) {
        bb_emission_line(writer, "if (active && item == 0) p%d[%s * n0 + x0] = acc0[0][%d];", k,
                         writer->words->group[1], k);
    }
}

void bb_emission_gpu_lanes(bb_emission_writer *writer)
{
    bb_emission_gpu_ranges(writer);
    print_point(writer);
    bb_emission_line(writer, "for (int once = 0; once < 1; ++once) {");
    if (writer->choice->is_split) {
        print_split(writer);
    } else {
        bb_emission_gpu_body(writer, 0, writer->program->body.count);
    }
    bb_emission_line(writer, "}");
    writer->is_guarded = false;
}

void bb_emission_gpu_space(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const bb_reduction *reduction = &program->reduction;
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    const bool line = program->space.dimensions == 1;
    bb_emission_team_sum sum = {.reduction = reduction,
                                .number = program->iterator_count,
                                .kind = BB_EMISSION_POINT,
                                .steps = &program->body,
                                .value = line ? program->space.positions[0] : -1};
    (void)snprintf(sum.position, sizeof sum.position, "%s", line ? "x0" : "j");
    bb_emission_gpu_ranges(writer);
    bb_emission_line(writer, "const bb_index n = n0 * n1, chunk = %td%s;", chunk,
                     writer->dialect->index_suffix);
    bb_emission_line(writer, "const bb_index place = %s * %td + team;", writer->words->group[0],
                     writer->team.teams);
    bb_emission_line(writer, "const int active = place < parts;");
    bb_emission_line(writer, "const bb_index c = active && place > 0 ? place * chunk : 0;");
    bb_emission_line(writer, "const bb_index e = !active ? 0 : n - c < chunk ? n : c + chunk;");
    bb_emission_team_sum_print(writer, &sum, "c", "e", "c == 0");
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "if (active && item == 0) p%d[place] = acc%d[0][%d];", k,
                         sum.number, k);
    }
}

// Joins `parts` parts of each of `n` sums; `point` is the current sum. Results of chunks replace
// the first parts and are joined again, until one is left. If a work-group has one sum, its teams
// process chunks side by side; otherwise each team has its own sum.
static void print_parts(bb_emission_writer *writer, const bb_reduction *reduction, int number)
{
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    const char *suffix = writer->dialect->index_suffix;
    bb_emission_team_sum sum = {
        .reduction = reduction, .number = number, .kind = BB_EMISSION_PART, .value = -1};
    const bool side_by_side = !writer->is_guarded;
    (void)snprintf(sum.position, sizeof sum.position, "j");
    bb_emission_line(writer, "const bb_index chunk = %td%s;", chunk, suffix);
    bb_emission_line(writer, "for (bb_index count = parts, chunks; count > 1; count = chunks) {");
    bb_emission_line(writer, "chunks = (count - 1) / chunk + 1;");
    bb_emission_line(writer, "for (bb_index first = 0; first < chunks; first += %td) {",
                     side_by_side ? writer->team.teams : 1);
    bb_emission_line(writer, "const bb_index place = first + %s;", side_by_side ? "team" : "0");
    bb_emission_line(writer, "const bb_index c = place < chunks ? place * chunk : count;");
    bb_emission_line(writer, "const bb_index e = count - c < chunk ? count : c + chunk;");
    bb_emission_team_sum_print(writer, &sum, "c", "e", NULL);
    bb_emission_line(writer, "%s", writer->words->fence);
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "if (%s && item == 0) p%d[place * n + point] = acc%d[0][%d];",
                         side_by_side ? "place < chunks" : "active", k, number, k);
    }
    bb_emission_line(writer, "%s", writer->words->fence);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "}");
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "const %s s%d = p%d[point];",
                         bb_emission_type(writer, reduction->type), reduction->output + k, k);
    }
}

void bb_emission_gpu_space_finish(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    bb_emission_line(writer, "const bb_index n = 1, point = 0;");
    print_parts(writer, &program->reduction, program->iterator_count);
    bb_emission_line(writer, "if (item > 0 || team > 0) return;");
    bb_emission_line(writer, "for (int once = 0; once < 1; ++once) {");
    const bb_emission_team team = writer->team;
    writer->team.items = 0;
    bb_emission_gpu_steps(writer, &program->final);
    writer->team = team;
    bb_emission_line(writer, "}");
}

void bb_emission_gpu_lanes_finish(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    bb_emission_gpu_ranges(writer);
    print_point(writer);
    bb_emission_line(writer, "const bb_index n = n0, point = x0;");
    bb_emission_line(writer, "for (int once = 0; once < 1; ++once) {");
    const int place = bb_emission_iterator_place(program);
    bb_emission_gpu_body(writer, 0, place);
    print_parts(writer, &program->iterators[0].reduction, 0);
    bb_emission_gpu_body(writer, place + 1, program->body.count);
    bb_emission_line(writer, "}");
    writer->is_guarded = false;
}
