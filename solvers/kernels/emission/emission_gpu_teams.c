// SPDX-License-Identifier: Apache-2.0
//
// Bodies whose work-items are lanes: an iterator's sum of a point, a chunk of the space, and what
// joins the parts of either.
#include "solvers/kernels/emission/emission_team_sum.h"

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

static bb_status print_outputs(bb_emission_gpu *writer, const bb_reduction *reduction,
                               const char *total)
{
    bb_status status = BB_OK;
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(writer->base, "const %s s%d = %s[%d];",
                                bb_emission_type(writer->base, reduction->type),
                                reduction->output + k, total, k));
    }
done:
    return status;
}

// Declares what the chunks' results are joined in, lanes again: part<number>[v].
static bb_status print_part_lanes(bb_emission_gpu *writer, const bb_emission_team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const int count = sum->reduction->count;
    BB_TRY(bb_emission_line(base, "%s part%d[%td][%d];",
                            bb_emission_type(base, sum->reduction->type), number,
                            bb_emission_team_sum_lanes(writer, sum->reduction), count));
    BB_TRY(bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction)));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) part%d[v][k] = bb_neutral%d(k);",
                            count, number, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
done:
    return status;
}

// Joins the lanes of parts into acc<number>[0].
static bb_status join_parts(bb_emission_gpu *writer, const bb_emission_team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const bb_index lanes = bb_emission_team_sum_lanes(writer, sum->reduction);
    BB_TRY(bb_emission_line(base, "%s acc%d[%td][%d];",
                            bb_emission_type(base, sum->reduction->type), number, lanes,
                            sum->reduction->count));
    BB_TRY(bb_emission_team_sum_open(writer, lanes));
    BB_TRY(bb_emission_line(base,
                            "for (int k = 0; k < %d; ++k) { acc%d[v][k] = part%d[v][k]; "
                            "part%d[v][k] = bb_neutral%d(k); }",
                            sum->reduction->count, number, number, number, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_team_sum_join(writer, sum));
done:
    return status;
}

// Takes a chunk's result, in acc<number>[0], into its lane of parts. A chunk of chunks, which takes
// 8192 * 8192 items, goes up level by level in every work-item.
static bb_status print_part(bb_emission_gpu *writer, const bb_emission_team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const bb_reduction_order order = sum->reduction->order;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    BB_TRY(bb_emission_line(base, "const bb_index part = c%d / %td;", number, order.chunk));
    BB_TRY(bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction)));
    BB_TRY(bb_emission_line(base, "if ((part & %td) == %s) bb_join%d(part%d[v], acc%d[0]);",
                            order.lanes - 1, lane, number, number, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "if (part %% %td == %td) {", order.chunk, order.chunk - 1));
    ++base->depth;
    BB_TRY(join_parts(writer, sum));
    BB_TRY(bb_emission_line(base,
                            "for (int k = 0; k < %d; ++k) u%d.lane[1][0][0][k] = acc%d[0][k];",
                            sum->reduction->count, number, number));
    BB_TRY(bb_emission_line(base, "bb_push%d(&u%d, 1, 1);", number, number));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// The total of more than one chunk.
static bb_status print_total(bb_emission_gpu *writer, const bb_emission_team_sum *sum,
                             const char *range)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const int count = sum->reduction->count;
    const bb_index chunk = sum->reduction->order.chunk;
    BB_TRY(bb_emission_line(base, "const bb_index rest = ((%s - 1) / %td + 1) %% %td;", range,
                            chunk, chunk));
    BB_TRY(bb_emission_gpu_open(writer, "if (rest > 0) {"));
    BB_TRY(join_parts(writer, sum));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) total%d[k] = acc%d[0][k];", count,
                            number, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "if (u%d.count[2] > 0) {", number));
    ++base->depth;
    BB_TRY(bb_emission_line(base,
                            "if (rest > 0) { for (int k = 0; k < %d; ++k) u%d.lane[1][0][0][k] = "
                            "total%d[k]; bb_push%d(&u%d, 1, 1); }",
                            count, number, number, number, number));
    BB_TRY(bb_emission_line(base, "bb_total%d(&u%d, 1);", number, number));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) total%d[k] = u%d.lane[0][0][0][k];",
                            count, number, number));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

bb_status bb_emission_gpu_team_iterator(bb_emission_gpu *writer, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_iterator *iterator = &base->program->iterators[number];
    const bb_reduction *reduction = &iterator->reduction;
    const bb_emission_team_sum sum = sum_of_iterator(base->program, number);
    const bool chunked = reduction->order.chunk > 0;
    char range[BB_EMISSION_NAME_BYTES];
    char names[3][BB_EMISSION_NAME_BYTES];
    char first[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, iterator->space.ranges[0], range);
    (void)snprintf(names[0], sizeof names[0], "c%d", number);
    (void)snprintf(names[1], sizeof names[1], "e%d", number);
    (void)snprintf(names[2], sizeof names[2], "total%d", number);
    (void)snprintf(first, sizeof first, "c%d == 0", number);
    BB_TRY(bb_emission_line(base, "%s total%d[%d];", bb_emission_type(base, reduction->type),
                            number, reduction->count));
    if (chunked) {
        BB_TRY(print_part_lanes(writer, &sum));
    }
    BB_TRY(bb_emission_chunks(base, number));
    BB_TRY(bb_emission_team_sum_print(writer, &sum, names[0], names[1], first));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) total%d[k] = acc%d[0][k];",
                            reduction->count, number, number));
    if (chunked) {
        BB_TRY(bb_emission_line(base, "if (%s > %td) {", range, reduction->order.chunk));
        ++base->depth;
        BB_TRY(print_part(writer, &sum));
        BB_TRY(bb_emission_gpu_close(writer));
    }
    BB_TRY(bb_emission_gpu_close(writer));
    if (chunked) {
        BB_TRY(bb_emission_line(base, "if (%s > %td) {", range, reduction->order.chunk));
        ++base->depth;
        BB_TRY(print_total(writer, &sum, range));
        BB_TRY(bb_emission_gpu_close(writer));
    }
    BB_TRY(print_outputs(writer, reduction, names[2]));
done:
    return status;
}

// Bodies of entries

// Teams beyond the last point work on that one and write nothing.
static bb_status print_point(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    BB_TRY(bb_emission_line(base, "const bb_index place = %s * %td + team;",
                            writer->words->group[0], writer->team.teams));
    BB_TRY(bb_emission_line(base, "const int active = place < n0;"));
    writer->is_guarded = true;
    BB_TRY(bb_emission_line(base, "const bb_index x0 = active ? place : n0 - 1;"));
done:
    return status;
}

// A part of a point's sum, a chunk a work-group.
static bb_status print_split(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const bb_emission_team_sum sum = sum_of_iterator(program, 0);
    const bb_index chunk = sum.reduction->order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, program->iterators[0].space.ranges[0], range);
    const int place = bb_emission_iterator_place(program);
    BB_TRY(bb_emission_gpu_body(writer, 0, place));
    BB_TRY(bb_emission_line(base, "const bb_index c0 = %s * %td;", writer->words->group[1], chunk));
    BB_TRY(bb_emission_line(base, "const bb_index e0 = %s - c0 < %td ? %s : c0 + %td;", range,
                            chunk, range, chunk));
    BB_TRY(bb_emission_team_sum_print(writer, &sum, "c0", "e0", "c0 == 0"));
    for (int k = 0; k < sum.reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "if (active && item == 0) p%d[%s * n0 + x0] = acc0[0][%d];",
                                k, writer->words->group[1], k));
    }
done:
    return status;
}

bb_status bb_emission_gpu_lanes(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    BB_TRY(bb_emission_gpu_ranges(writer));
    BB_TRY(print_point(writer));
    BB_TRY(bb_emission_gpu_open(writer, "for (int once = 0; once < 1; ++once) {"));
    BB_TRY(writer->base->choice->is_split
               ? print_split(writer)
               : bb_emission_gpu_body(writer, 0, writer->base->program->body.count));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    writer->is_guarded = false;
    return status;
}

bb_status bb_emission_gpu_space(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    const bb_reduction *reduction = &program->reduction;
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    const bool line = program->space.dimensions == 1;
    bb_emission_team_sum sum = {.reduction = reduction,
                                .number = program->iterator_count,
                                .kind = BB_EMISSION_POINT,
                                .steps = &program->body,
                                .value = line ? program->space.positions[0] : -1};
    (void)snprintf(sum.position, sizeof sum.position, "%s", line ? "x0" : "j");
    BB_TRY(bb_emission_gpu_ranges(writer));
    BB_TRY(bb_emission_line(base, "const bb_index n = n0 * n1, chunk = %td%s;", chunk,
                            base->dialect->index_suffix));
    BB_TRY(bb_emission_line(base, "const bb_index place = %s * %td + team;",
                            writer->words->group[0], writer->team.teams));
    BB_TRY(bb_emission_line(base, "const int active = place < parts;"));
    BB_TRY(bb_emission_line(base, "const bb_index c = active && place > 0 ? place * chunk : 0;"));
    BB_TRY(
        bb_emission_line(base, "const bb_index e = !active ? 0 : n - c < chunk ? n : c + chunk;"));
    BB_TRY(bb_emission_team_sum_print(writer, &sum, "c", "e", "c == 0"));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "if (active && item == 0) p%d[place] = acc%d[0][%d];", k,
                                sum.number, k));
    }
done:
    return status;
}

// Joins `parts` parts of each of `n` sums, `point` being one of them: chunks' results take the
// place of the first parts and are parts again, until one is left. Teams of a work-group that has
// one sum take chunks side by side; others have a sum each.
static bb_status print_parts(bb_emission_gpu *writer, const bb_reduction *reduction, int number)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    const char *suffix = base->dialect->index_suffix;
    bb_emission_team_sum sum = {
        .reduction = reduction, .number = number, .kind = BB_EMISSION_PART, .value = -1};
    const bool side_by_side = !writer->is_guarded;
    (void)snprintf(sum.position, sizeof sum.position, "j");
    BB_TRY(bb_emission_line(base, "const bb_index chunk = %td%s;", chunk, suffix));
    BB_TRY(bb_emission_gpu_open(writer, "for (bb_index count = parts, chunks; count > 1; "
                                        "count = chunks) {"));
    BB_TRY(bb_emission_line(base, "chunks = (count - 1) / chunk + 1;"));
    BB_TRY(bb_emission_line(base, "for (bb_index first = 0; first < chunks; first += %td) {",
                            side_by_side ? writer->team.teams : 1));
    ++base->depth;
    BB_TRY(
        bb_emission_line(base, "const bb_index place = first + %s;", side_by_side ? "team" : "0"));
    BB_TRY(bb_emission_line(base, "const bb_index c = place < chunks ? place * chunk : count;"));
    BB_TRY(bb_emission_line(base, "const bb_index e = count - c < chunk ? count : c + chunk;"));
    BB_TRY(bb_emission_team_sum_print(writer, &sum, "c", "e", NULL));
    BB_TRY(bb_emission_line(base, "%s", writer->words->fence));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "if (%s && item == 0) p%d[place * n + point] = acc%d[0][%d];",
                                side_by_side ? "place < chunks" : "active", k, number, k));
    }
    BB_TRY(bb_emission_line(base, "%s", writer->words->fence));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_close(writer));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_emission_line(base, "const %s s%d = p%d[point];",
                                bb_emission_type(base, reduction->type), reduction->output + k, k));
    }
done:
    return status;
}

bb_status bb_emission_gpu_space_finish(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    BB_TRY(bb_emission_line(base, "const bb_index n = 1, point = 0;"));
    BB_TRY(print_parts(writer, &program->reduction, program->iterator_count));
    BB_TRY(bb_emission_line(base, "if (item > 0 || team > 0) return;"));
    BB_TRY(bb_emission_gpu_open(writer, "for (int once = 0; once < 1; ++once) {"));
    const bb_emission_team team = writer->team;
    writer->team.items = 0;
    status = bb_emission_gpu_steps(writer, &program->final);
    writer->team = team;
    BB_TRY(status);
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

bb_status bb_emission_gpu_lanes_finish(bb_emission_gpu *writer)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_program *program = base->program;
    BB_TRY(bb_emission_gpu_ranges(writer));
    BB_TRY(print_point(writer));
    BB_TRY(bb_emission_line(base, "const bb_index n = n0, point = x0;"));
    BB_TRY(bb_emission_gpu_open(writer, "for (int once = 0; once < 1; ++once) {"));
    const int place = bb_emission_iterator_place(program);
    BB_TRY(bb_emission_gpu_body(writer, 0, place));
    BB_TRY(print_parts(writer, &program->iterators[0].reduction, 0));
    BB_TRY(bb_emission_gpu_body(writer, place + 1, program->body.count));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    writer->is_guarded = false;
    return status;
}
