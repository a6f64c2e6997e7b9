// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_team_sum.h"

#include <stdio.h>

enum {
    WARP_ITEMS = 32,
    LOADS_UNROLLED = 16, ///< of a work-item, which are on their way at once
    PARTS_UNROLLED = 32,
    LEAST_UNROLLED = 4,
};

bb_index bb_emission_team_sum_lanes(const bb_emission_gpu *writer, const bb_reduction *reduction)
{
    return reduction->order.lanes / writer->team.items;
}

void bb_emission_team_sum_lane(const bb_emission_gpu *writer, const bb_reduction *reduction,
                               char text[BB_EMISSION_NAME_BYTES])
{
    if (writer->team.distribution == BB_DISTRIBUTION_BLOCKED) {
        (void)snprintf(text, BB_EMISSION_NAME_BYTES, "item * %td + v",
                       bb_emission_team_sum_lanes(writer, reduction));
    } else {
        (void)snprintf(text, BB_EMISSION_NAME_BYTES, "item + %td * v", writer->team.items);
    }
}

/// What work-items of a warp ask each other for: another's value, by a function of these arguments.
typedef struct shuffle {
    const char *name, *parameters, *arguments;
} shuffle;

// Word by word where there are no templates.
static bb_status print_shuffle(bb_emission_gpu *writer, bb_element_type element, int number,
                               const shuffle *asked)
{
    bb_status status = BB_OK;
    bb_text *out = writer->base->out;
    const char *type = bb_emission_type(writer->base, element);
    const int words = (int)bb_element_type_row(element)->bytes / 4;
    BB_TRY(bb_text_add(out, "BB_FUNCTION %s bb_%s%d(%s x, %s)\n{\n", type, asked->name, number,
                       type, asked->parameters));
    if (writer->words->shuffles) {
        BB_TRY(bb_text_add(out, "    return bb_%s(x, %s);\n}\n", asked->name, asked->arguments));
    } else if (words == 0) {
        BB_TRY(bb_text_add(out, "    return (%s)bb_word_%s((int)x, %s);\n}\n", type, asked->name,
                           asked->arguments));
    } else {
        BB_TRY(bb_text_add(
            out,
            "    union { %s value; int words[%d]; } u;\n    u.value = x;\n"
            "    for (int k = 0; k < %d; ++k) u.words[k] = bb_word_%s(u.words[k], %s);\n"
            "    return u.value;\n}\n",
            type, words, words, asked->name, asked->arguments));
    }
done:
    return status;
}

bb_status bb_emission_gpu_team_functions(bb_emission_gpu *writer, const bb_reduction *reduction,
                                         int number)
{
    bb_status status = BB_OK;
    static const shuffle shuffles[] = {{"further", "int distance, int items", "distance, items"},
                                       {"of_first", "int items", "items"}};
    const bool everywhere = writer->words->shuffles;
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
    BB_TRY(bb_text_add(writer->base->out, "%s", everywhere ? "" : "#ifdef BB_SHUFFLES\n"));
    for (int i = 0; i < 2; ++i) {
        BB_TRY(print_shuffle(writer, reduction->type, number, &shuffles[i]));
    }
    BB_TRY(bb_text_add(writer->base->out, "%s", everywhere ? "" : "#endif\n"));
done:
    return status;
}

bb_status bb_emission_team_sum_open(bb_emission_gpu *writer, bb_index lanes)
{
    bb_status status = BB_OK;
    char line[2 * BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_line(writer->base, "#pragma unroll"));
    (void)snprintf(line, sizeof line, "for (int v = 0; v < %td; ++v) {", lanes);
    BB_TRY(bb_emission_gpu_open(writer, line));
done:
    return status;
}

// Joins lanes v + half into lanes v of each work-item, for halves from `lanes` / 2.
static bb_status join_own(bb_emission_gpu *writer, const bb_emission_team_sum *sum, bb_index lanes)
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
static bb_status join_warp(bb_emission_gpu *writer, const bb_emission_team_sum *sum, bb_index lanes)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    for (bb_index half = writer->team.items / 2; half > 0; half /= 2) {
        BB_TRY(bb_emission_team_sum_open(writer, lanes));
        BB_TRY(bb_emission_line(base, "%s other[%d];", bb_emission_type(base, sum->reduction->type),
                                sum->reduction->count));
        BB_TRY(bb_emission_line(base,
                                "for (int k = 0; k < %d; ++k) other[k] = bb_further%d(acc%d[v][k], "
                                "%td, %td);",
                                sum->reduction->count, sum->number, sum->number, half,
                                writer->team.items));
        BB_TRY(bb_emission_line(base, "bb_join%d(acc%d[v], other);", sum->number, sum->number));
        BB_TRY(bb_emission_gpu_close(writer));
    }
done:
    return status;
}

// Joins `count` lanes, of which every work-item has stored its own, in the work-group's memory.
static bb_status join_memory(bb_emission_gpu *writer, const bb_emission_team_sum *sum,
                             bb_index lanes)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    writer->is_shared[number] = true;
    BB_TRY(bb_emission_team_sum_open(writer, lanes));
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

// Joins a team's lanes within a warp, where every work-item then has the sum.
static bb_status join_by_shuffles(bb_emission_gpu *writer, const bb_emission_team_sum *sum)
{
    bb_status status = BB_OK;
    const bb_index lanes = bb_emission_team_sum_lanes(writer, sum->reduction);
    const bool blocked = writer->team.distribution == BB_DISTRIBUTION_BLOCKED;
    BB_TRY(join_warp(writer, sum, blocked ? lanes : 1));
    if (blocked) {
        BB_TRY(join_own(writer, sum, lanes));
    }
    BB_TRY(bb_emission_line(writer->base,
                            "for (int k = 0; k < %d; ++k) acc%d[0][k] = "
                            "bb_of_first%d(acc%d[0][k], %td);",
                            sum->reduction->count, sum->number, sum->number, sum->number,
                            writer->team.items));
done:
    return status;
}

bb_status bb_emission_team_sum_join(bb_emission_gpu *writer, const bb_emission_team_sum *sum)
{
    bb_status status = BB_OK;
    const bb_index lanes = bb_emission_team_sum_lanes(writer, sum->reduction);
    const bb_index items = writer->team.items;
    const bool blocked = writer->team.distribution == BB_DISTRIBUTION_BLOCKED;
    const bool everywhere = writer->words->shuffles;
    const bool in_warp = items > 1 && items <= WARP_ITEMS;
    if (!blocked || items == 1) {
        BB_TRY(join_own(writer, sum, lanes));
    }
    if (in_warp && !everywhere) {
        BB_TRY(bb_text_add(writer->base->out, "#ifdef BB_SHUFFLES\n"));
    }
    if (in_warp) {
        BB_TRY(join_by_shuffles(writer, sum));
    }
    if (in_warp && !everywhere) {
        BB_TRY(bb_text_add(writer->base->out, "#else\n"));
    }
    if (items > 1 && !(in_warp && everywhere)) {
        BB_TRY(join_memory(writer, sum, blocked ? lanes : 1));
    }
    if (in_warp && !everywhere) {
        BB_TRY(bb_text_add(writer->base->out, "#endif\n"));
    }
done:
    return status;
}

// What an item adds to acc<number>[v].
static bb_status print_item(bb_emission_gpu *writer, const bb_emission_team_sum *sum)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int count = sum->reduction->count;
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "acc%d[v]", sum->number);
    if (sum->kind == BB_EMISSION_PART) {
        BB_TRY(bb_emission_line(base, "%s part[%d];", bb_emission_type(base, sum->reduction->type),
                                count));
        for (int k = 0; k < count; ++k) {
            BB_TRY(bb_emission_line(base, "part[%d] = p%d[j * n + point];", k, k));
        }
        BB_TRY(bb_emission_line(base, "bb_join%d(%s, part);", sum->number, target));
        goto done;
    }
    if (sum->kind == BB_EMISSION_POINT && base->program->space.dimensions == 2) {
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

static bb_status print_items(bb_emission_gpu *writer, const bb_emission_team_sum *sum,
                             const char *guard)
{
    bb_status status = BB_OK;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    BB_TRY(bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction)));
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
static bb_status print_rows(bb_emission_gpu *writer, const bb_emission_team_sum *sum,
                            const char *end, const bb_emission_vectors *vectors)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const bb_index lanes = sum->reduction->order.lanes;
    char line[6 * BB_EMISSION_NAME_BYTES];
    // A known count of rows lets compilers have the loads of several in flight.
    BB_TRY(
        bb_emission_line(base, "const bb_index rows = (%s - g%d) / %td;", end, sum->number, lanes));
    const int loads = LOADS_UNROLLED / (int)bb_emission_team_sum_lanes(writer, sum->reduction);
    BB_TRY(bb_emission_line(base, "#pragma unroll %d",
                            sum->kind == BB_EMISSION_PART ? PARTS_UNROLLED
                            : loads > LEAST_UNROLLED      ? loads
                                                          : LEAST_UNROLLED));
    (void)snprintf(line, sizeof line, "for (bb_index row = 0; row < rows; ++row, g%d += %td) {",
                   sum->number, lanes);
    BB_TRY(bb_emission_gpu_open(writer, line));
    if (vectors != NULL) {
        BB_TRY(bb_emission_vectors_declare(base, vectors, ""));
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
static bb_status print_row_loops(bb_emission_gpu *writer, const bb_emission_team_sum *sum,
                                 const char *end)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    char begin[2 * BB_EMISSION_NAME_BYTES];
    bb_emission_vectors vectors = {.list = sum->steps,
                                   .position = sum->value,
                                   .width = bb_emission_team_sum_lanes(writer, sum->reduction),
                                   .base = begin,
                                   .point = "v",
                                   .row = "",
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

bb_status bb_emission_team_sum_print(bb_emission_gpu *writer, const bb_emission_team_sum *sum,
                                     const char *begin, const char *end, const char *first)
{
    bb_status status = BB_OK;
    bb_emission_writer *base = writer->base;
    const int number = sum->number;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    BB_TRY(bb_emission_line(
        base, "%s acc%d[%td][%d];", bb_emission_type(base, sum->reduction->type), number,
        bb_emission_team_sum_lanes(writer, sum->reduction), sum->reduction->count));
    BB_TRY(bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction)));
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
    BB_TRY(bb_emission_team_sum_join(writer, sum));
done:
    return status;
}
