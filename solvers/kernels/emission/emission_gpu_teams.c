// SPDX-License-Identifier: Apache-2.0
//
// Sums whose lanes a team of work-items shares out: of an iterator of a point, of a chunk of the
// space, of parts that were summed before. A work-item keeps its lanes in registers, adds whole
// rows of lanes one after another, and the team joins them by halves.
#include "solvers/kernels/emission/emission_gpu.h"

#include <stdio.h>

/// Items of a sum.
typedef enum item_kind { ITEM_ITERATION, ITEM_POINT, ITEM_PART } item_kind;

typedef struct team_sum {
    const bb_reduction *reduction;
    int number; ///< as of bb_emission_sum
    item_kind kind;
    char position[BB_EMISSION_NAME_BYTES]; ///< name of an item's number
    const bb_step_list *steps;
    int value; ///< of the position; -1: none
} team_sum;

static bb_index lanes_of_item(const bb_emission_gpu *writer, const bb_reduction *reduction)
{
    return reduction->order.lanes / writer->team.items;
}

// Whether a team's lanes are joined through the work-group's memory.
static bool uses_memory(const bb_emission_gpu *writer)
{
    return writer->team.items > (writer->words->shuffles ? 32 : 1);
}

// Lane of a work-item's lane v: "item + 32 * v" or "item * 4 + v".
static void lane_text(const bb_emission_gpu *writer, const bb_reduction *reduction,
                      char text[BB_EMISSION_NAME_BYTES])
{
    if (writer->team.distribution == BB_DISTRIBUTION_BLOCKED) {
        (void)snprintf(text, BB_EMISSION_NAME_BYTES, "item * %td + v",
                       lanes_of_item(writer, reduction));
    } else {
        (void)snprintf(text, BB_EMISSION_NAME_BYTES, "item + %td * v", writer->team.items);
    }
}

bb_status bb_emission_gpu_team_functions(bb_emission_gpu *writer, const bb_reduction *reduction,
                                         int number)
{
    bb_status status = BB_OK;
    const char *type = bb_emission_type(writer->base, reduction->type);
    const int count = reduction->count;
    BB_TRY(bb_text_add(writer->base->out,
                       "BB_FUNCTION void bb_join_shared%d(%s%s *a, %s%s *b)\n{\n"
                       "    %s own[%d], other[%d];\n"
                       "    for (int k = 0; k < %d; ++k) { own[k] = a[k]; other[k] = b[k]; }\n"
                       "    bb_join%d(own, other);\n"
                       "    for (int k = 0; k < %d; ++k) a[k] = own[k];\n}\n",
                       number, writer->words->pointer, type, writer->words->pointer, type, type,
                       count, count, count, number, count));
done:
    return status;
}

static bb_status open_lanes(bb_emission_gpu *writer, bb_index lanes)
{
    bb_status status = BB_OK;
    char line[BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
    (void)snprintf(line, sizeof line, "for (int v = 0; v < %td; ++v) {", lanes);
    BB_TRY(bb_emission_gpu_open(writer, line));
done:
    return status;
}

// Joins lanes v + half into lanes v of each work-item, for halves from `lanes` / 2.
static bb_status join_own(bb_emission_gpu *writer, const team_sum *sum, bb_index lanes)
{
    bb_status status = BB_OK;
    for (bb_index half = lanes / 2; half > 0; half /= 2) {
        BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
        BB_TRY(bb_emission_line(
            writer->base, "for (int v = 0; v < %td; ++v) bb_join%d(acc%d[v], acc%d[v + %td]);",
            half, sum->number, sum->number, sum->number, half));
    }
done:
    return status;
}

// Joins, lane by lane, those of the work-item so many further on.
static bb_status join_warp(bb_emission_gpu *writer, const team_sum *sum, bb_index lanes)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    for (bb_index half = writer->team.items / 2; half > 0; half /= 2) {
        BB_TRY(open_lanes(writer, lanes));
        BB_TRY(bb_emission_line(base, "%s other[%d];", bb_emission_type(base, sum->reduction->type),
                                sum->reduction->count));
        BB_TRY(bb_emission_line(base,
                                "for (int k = 0; k < %d; ++k) other[k] = bb_further(acc%d[v][k], "
                                "%td, %td);",
                                sum->reduction->count, sum->number, half, writer->team.items));
        BB_TRY(bb_emission_line(base, "bb_join%d(acc%d[v], other);", sum->number, sum->number));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// Joins `count` lanes, of which every work-item has stored its own, in the work-group's memory.
static bb_status join_memory(bb_emission_gpu *writer, const team_sum *sum, bb_index lanes)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    char lane[BB_EMISSION_NAME_BYTES];
    lane_text(writer, sum->reduction, lane);
    writer->is_shared[number] = true;
    BB_TRY(open_lanes(writer, lanes));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) t%d[team][%s][k] = acc%d[v][k];",
                            sum->reduction->count, number, lane, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    BB_TRY(bb_emission_line(base, "for (int w = %td; w > 0; w /= 2) {",
                            lanes * writer->team.items / 2));
    ++base->depth;
    BB_TRY(
        bb_emission_line(base,
                         "for (int l = (int)item; l < w; l += %td) bb_join_shared%d(t%d[team][l], "
                         "t%d[team][l + w]);",
                         writer->team.items, number, number, number));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) acc%d[0][k] = t%d[team][0][k];",
                            sum->reduction->count, number, number));
    BB_TRY(bb_emission_line(base, "%s", writer->words->barrier));
done:
    return status;
}

// Leaves the total in acc<number>[0] of every work-item.
static bb_status print_tree(bb_emission_gpu *writer, const team_sum *sum)
{
    bb_status status = BB_OK;
    const bb_index lanes = lanes_of_item(writer, sum->reduction);
    const bool blocked = writer->team.distribution == BB_DISTRIBUTION_BLOCKED;
    if (!blocked) {
        BB_TRY(join_own(writer, sum, lanes));
    }
    if (uses_memory(writer)) {
        BB_TRY(join_memory(writer, sum, blocked ? lanes : 1));
        goto done;
    }
    BB_TRY(join_warp(writer, sum, blocked ? lanes : 1));
    if (blocked) {
        BB_TRY(join_own(writer, sum, lanes));
    }
    if (writer->team.items > 1) {
        BB_TRY(bb_emission_line(writer->base,
                                "for (int k = 0; k < %d; ++k) acc%d[0][k] = "
                                "bb_of_first(acc%d[0][k], %td);",
                                sum->reduction->count, sum->number, sum->number,
                                writer->team.items));
    }
done:
    return status;
}

// What an item adds to acc<number>[v].
static bb_status print_item(bb_emission_gpu *writer, const team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int count = sum->reduction->count;
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "acc%d[v]", sum->number);
    if (sum->kind == ITEM_PART) {
        BB_TRY(bb_emission_line(base, "%s part[%d];", bb_emission_type(base, sum->reduction->type),
                                count));
        for (int k = 0; k < count; ++k) {
            BB_TRY(bb_emission_line(base, "part[%d] = p%d[j * n + point];", k, k));
        }
        BB_TRY(bb_emission_line(base, "bb_join%d(%s, part);", sum->number, target));
        goto done;
    }
    if (sum->kind == ITEM_POINT && base->program->space.dimensions == 2) {
        BB_TRY(bb_emission_line(base, "const bb_index x1 = j / n0, x0 = j - x1 * n0;"));
    }
    // The team is at work on the items already.
    const bb_emission_team team = writer->team;
    writer->team.items = 0;
    status = bb_emission_gpu_steps(writer, sum->steps);
    writer->team = team;
    BB_TRY(status);
    BB_TRY(bb_emission_take(base, sum->reduction, target));
done:
    return status;
}

static bb_status print_items(bb_emission_gpu *writer, const team_sum *sum, const char *guard)
{
    bb_status status = BB_OK;
    char lane[BB_EMISSION_NAME_BYTES];
    lane_text(writer, sum->reduction, lane);
    BB_TRY(open_lanes(writer, lanes_of_item(writer, sum->reduction)));
    BB_TRY(bb_emission_line(writer->base, "const bb_index %s = g%d + (%s);", sum->position,
                            sum->number, lane));
    if (guard != NULL) {
        BB_TRY(bb_emission_line(writer->base, "if (%s >= %s) break;", sum->position, guard));
    }
    BB_TRY(print_item(writer, sum));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// Whole rows of lanes.
static bb_status print_rows(bb_emission_gpu *writer, const team_sum *sum, const char *end,
                            const bb_emission_vectors *vectors)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_index lanes = sum->reduction->order.lanes;
    char line[6 * BB_EMISSION_NAME_BYTES];
    // A known count of rows lets compilers have the loads of several in flight.
    BB_TRY(
        bb_emission_line(base, "const bb_index rows = (%s - g%d) / %td;", end, sum->number, lanes));
    BB_TRY(bb_emission_line(base, "#pragma unroll %d", sum->kind == ITEM_PART ? 16 : 4));
    (void)snprintf(line, sizeof line, "for (bb_index row = 0; row < rows; ++row, g%d += %td) {",
                   sum->number, lanes);
    BB_TRY(bb_emission_gpu_open(writer, line));
    if (vectors != NULL) {
        BB_TRY(bb_emission_vectors_load(base, vectors));
    }
    base->vectors = vectors;
    status = print_items(writer, sum, NULL);
    base->vectors = NULL;
    BB_TRY(status);
    if (vectors != NULL) {
        BB_TRY(writer->is_guarded ? bb_emission_line(base, "if (active) {")
                                  : bb_emission_line(base, "{"));
        ++base->depth;
        BB_TRY(bb_emission_vectors_store(base, vectors));
        BB_TRY(bb_emission_gpu_close(writer));
    }
    BB_TRY(bb_emission_gpu_close(writer));
done:
    return status;
}

// Whole rows of lanes, blocked ones by vectors where the first is aligned.
static bb_status print_row_loops(bb_emission_gpu *writer, const team_sum *sum, const char *end)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    char begin[2 * BB_EMISSION_NAME_BYTES];
    bb_emission_vectors vectors = {.list = sum->steps,
                                   .position = sum->value,
                                   .width = lanes_of_item(writer, sum->reduction),
                                   .base = begin,
                                   .point = "v",
                                   .space = writer->words->global};
    (void)snprintf(begin, sizeof begin, "g%d + item * %td", sum->number, vectors.width);
    if (sum->value < 0 || vectors.width == 1 ||
        writer->team.distribution != BB_DISTRIBUTION_BLOCKED) {
        BB_TRY(print_rows(writer, sum, end, NULL));
        goto done;
    }
    BB_TRY(bb_emission_vectors_find(base, true, &vectors));
    BB_TRY(bb_emission_line(base, "int aligned = 1;"));
    BB_TRY(bb_emission_vectors_test(base, &vectors));
    BB_TRY(bb_emission_gpu_open(writer, "if (aligned) {"));
    BB_TRY(print_rows(writer, sum, end, &vectors));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_gpu_open(writer, "else {"));
    BB_TRY(print_rows(writer, sum, end, NULL));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    bb_emission_vectors_release(&vectors);
    return status;
}

// Items begin ... end - 1 in a chunk's order; the total is then in acc<number>[0]. `first` says
// where lane 0 starts from ICFInit; NULL: nowhere.
static bb_status print_sum(bb_emission_gpu *writer, const team_sum *sum, const char *begin,
                           const char *end, const char *first)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    char lane[BB_EMISSION_NAME_BYTES];
    lane_text(writer, sum->reduction, lane);
    BB_TRY(bb_emission_line(base, "%s acc%d[%td][%d];",
                            bb_emission_type(base, sum->reduction->type), number,
                            lanes_of_item(writer, sum->reduction), sum->reduction->count));
    BB_TRY(open_lanes(writer, lanes_of_item(writer, sum->reduction)));
    if (first != NULL) {
        BB_TRY(bb_emission_line(base,
                                "for (int k = 0; k < %d; ++k) acc%d[v][k] = %s && %s == 0 ? "
                                "bb_first%d(k) : bb_neutral%d(k);",
                                sum->reduction->count, number, first, lane, number, number));
    } else {
        BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) acc%d[v][k] = bb_neutral%d(k);",
                                sum->reduction->count, number, number));
    }
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "bb_index g%d = %s;", number, begin));
    BB_TRY(bb_emission_gpu_open(writer, "{"));
    BB_TRY(print_row_loops(writer, sum, end));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(print_items(writer, sum, end));
    BB_TRY(print_tree(writer, sum));
done:
    return status;
}

static team_sum sum_of_iterator(const bb_program *program, int number)
{
    const bb_iterator *iterator = &program->iterators[number];
    team_sum sum = {.reduction = &iterator->reduction,
                    .number = number,
                    .kind = ITEM_ITERATION,
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
static bb_status print_part_lanes(bb_emission_gpu *writer, const team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const int count = sum->reduction->count;
    BB_TRY(bb_emission_line(base, "%s part%d[%td][%d];",
                            bb_emission_type(base, sum->reduction->type), number,
                            lanes_of_item(writer, sum->reduction), count));
    BB_TRY(open_lanes(writer, lanes_of_item(writer, sum->reduction)));
    BB_TRY(bb_emission_line(base, "for (int k = 0; k < %d; ++k) part%d[v][k] = bb_neutral%d(k);",
                            count, number, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(bb_emission_line(base, "bb_sum%d u%d;", number, number));
    BB_TRY(bb_emission_line(base, "bb_clear%d(&u%d);", number, number));
done:
    return status;
}

// Joins the lanes of parts into acc<number>[0].
static bb_status join_parts(bb_emission_gpu *writer, const team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const bb_index lanes = lanes_of_item(writer, sum->reduction);
    BB_TRY(bb_emission_line(base, "%s acc%d[%td][%d];",
                            bb_emission_type(base, sum->reduction->type), number, lanes,
                            sum->reduction->count));
    BB_TRY(open_lanes(writer, lanes));
    BB_TRY(bb_emission_line(base,
                            "for (int k = 0; k < %d; ++k) { acc%d[v][k] = part%d[v][k]; "
                            "part%d[v][k] = bb_neutral%d(k); }",
                            sum->reduction->count, number, number, number, number));
    BB_TRY(bb_emission_gpu_close(writer));
    BB_TRY(print_tree(writer, sum));
done:
    return status;
}

// Takes a chunk's result, in acc<number>[0], into its lane of parts. A chunk of chunks, which takes
// 8192 * 8192 items, goes up level by level in every work-item.
static bb_status print_part(bb_emission_gpu *writer, const team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    const bb_reduction_order order = sum->reduction->order;
    char lane[BB_EMISSION_NAME_BYTES];
    lane_text(writer, sum->reduction, lane);
    BB_TRY(bb_emission_line(base, "const bb_index part = c%d / %td;", number, order.chunk));
    BB_TRY(open_lanes(writer, lanes_of_item(writer, sum->reduction)));
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
static bb_status print_total(bb_emission_gpu *writer, const team_sum *sum, const char *range)
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
    const team_sum sum = sum_of_iterator(base->program, number);
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
    BB_TRY(print_sum(writer, &sum, names[0], names[1], first));
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
    const team_sum sum = sum_of_iterator(program, 0);
    const bb_index chunk = sum.reduction->order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(base, program->iterators[0].space.ranges[0], range);
    int place = 0;
    while (program->steps[program->body.steps[place]].kind != BB_STEP_ITERATOR) {
        ++place;
    }
    BB_TRY(bb_emission_gpu_body(writer, 0, place));
    BB_TRY(bb_emission_line(base, "const bb_index c0 = %s * %td;", writer->words->group[1], chunk));
    BB_TRY(bb_emission_line(base, "const bb_index e0 = %s - c0 < %td ? %s : c0 + %td;", range,
                            chunk, range, chunk));
    BB_TRY(print_sum(writer, &sum, "c0", "e0", "c0 == 0"));
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
    team_sum sum = {.reduction = reduction,
                    .number = program->iterator_count,
                    .kind = ITEM_POINT,
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
    BB_TRY(print_sum(writer, &sum, "c", "e", "c == 0"));
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
    team_sum sum = {.reduction = reduction, .number = number, .kind = ITEM_PART, .value = -1};
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
    BB_TRY(print_sum(writer, &sum, "c", "e", NULL));
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
    int place = 0;
    while (program->steps[program->body.steps[place]].kind != BB_STEP_ITERATOR) {
        ++place;
    }
    BB_TRY(bb_emission_gpu_body(writer, 0, place));
    BB_TRY(print_parts(writer, &program->iterators[0].reduction, 0));
    BB_TRY(bb_emission_gpu_body(writer, place + 1, program->body.count));
    BB_TRY(bb_emission_gpu_close(writer));
done:
    writer->is_guarded = false;
    return status;
}
