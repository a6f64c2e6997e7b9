// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_gpu.h"

#include <stdio.h>

enum {
    WARP_ITEMS = 32,
    LOADS_UNROLLED = 16, ///< rows of lanes whose loads overlap, per work-item
    PARTS_UNROLLED = 32,
    LEAST_UNROLLED = 4,
};

bb_index bb_emission_team_sum_lanes(const bb_emission_writer *writer, const bb_reduction *reduction)
{
    return reduction->order.lanes / writer->team.items;
}

void bb_emission_team_sum_lane(const bb_emission_writer *writer, const bb_reduction *reduction,
                               char text[BB_EMISSION_NAME_BYTES])
{
    if (writer->team.distribution == BB_DISTRIBUTION_BLOCKED) {
        (void)snprintf(text, BB_EMISSION_NAME_BYTES, "item * %td + v",
                       bb_emission_team_sum_lanes(writer, reduction));
    } else {
        (void)snprintf(text, BB_EMISSION_NAME_BYTES, "item + %td * v", writer->team.items);
    }
}

/// Shuffle between work-items of a warp: the value of another work-item, by a function with these
/// arguments.
typedef struct shuffle {
    const char *name, *parameters, *arguments;
} shuffle;

// Prints a shuffle word by word, for languages without templates.
static void print_shuffle(bb_emission_writer *writer, bb_element_type element, int number,
                          const shuffle *asked)
{
    const char *type = bb_emission_type(writer, element);
    const int words = (int)bb_element_type_row(element)->bytes / 4;
    bb_emission_add(writer, "BB_FUNCTION %s bb_%s%d(%s x, %s)\n{\n", type, asked->name, number,
                    type, asked->parameters);
    if (writer->words->shuffles) {
        bb_emission_add(writer, "    return bb_%s(x, %s);\n}\n", asked->name, asked->arguments);
    } else if (words == 0) {
        bb_emission_add(writer, "    return (%s)bb_word_%s((int)x, %s);\n}\n", type, asked->name,
                        asked->arguments);
    } else {
        bb_emission_add(
            writer,
            "    union { %s value; int words[%d]; } u;\n    u.value = x;\n"
            "    for (int k = 0; k < %d; ++k) u.words[k] = bb_word_%s(u.words[k], %s);\n"
            "    return u.value;\n}\n",
            type, words, words, asked->name, asked->arguments);
    }
}

void bb_emission_gpu_team_functions(bb_emission_writer *writer, const bb_reduction *reduction,
                                    int number)
{
    static const shuffle shuffles[] = {{"further", "int distance, int items", "distance, items"},
                                       {"of_first", "int items", "items"}};
    const bool everywhere = writer->words->shuffles;
    const char *type = bb_emission_type(writer, reduction->type);
    const int count = reduction->count;
    bb_emission_add(writer,
                    "BB_FUNCTION void bb_join_shared%d(%s%s *a, %s%s *b)\n{\n"
                    "    %s own[%d], other[%d];\n"
                    "    for (int k = 0; k < %d; ++k) { own[k] = a[k]; other[k] = b[k]; }\n"
                    "    bb_join%d(own, other);\n"
                    "    for (int k = 0; k < %d; ++k) a[k] = own[k];\n}\n",
                    number, writer->words->pointer, type, writer->words->pointer, type, type, count,
                    count, count, number, count);
    bb_emission_add(writer, "%s", everywhere ? "" : "#ifdef BB_SHUFFLES\n");
    for (int i = 0; i < 2; ++i) {
        print_shuffle(writer, reduction->type, number, &shuffles[i]);
    }
    bb_emission_add(writer, "%s", everywhere ? "" : "#endif\n");
}

void bb_emission_team_sum_open(bb_emission_writer *writer, bb_index lanes)
{
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int v = 0; v < %td; ++v) {", lanes);
}

// Joins lanes v + half into lanes v of each work-item, for halves from `lanes` / 2.
static void join_own(bb_emission_writer *writer, const bb_emission_team_sum *sum, bb_index lanes)
{
    for (bb_index half = lanes / 2; half > 0; half /= 2) {
        bb_emission_line(writer, "#pragma unroll");
        bb_emission_line(writer,
                         "for (int v = 0; v < %td; ++v) bb_join%d(acc%d[v], acc%d[v + %td]);", half,
                         sum->number, sum->number, sum->number, half);
    }
}

// Joins, lane by lane, the lanes of the work-item at the given distance.
static void join_warp(bb_emission_writer *writer, const bb_emission_team_sum *sum, bb_index lanes)
{
    for (bb_index half = writer->team.items / 2; half > 0; half /= 2) {
        bb_emission_team_sum_open(writer, lanes);
        bb_emission_line(writer, "%s other[%d];", bb_emission_type(writer, sum->reduction->type),
                         sum->reduction->count);
        bb_emission_line(writer,
                         "for (int k = 0; k < %d; ++k) other[k] = bb_further%d(acc%d[v][k], "
                         "%td, %td);",
                         sum->reduction->count, sum->number, sum->number, half, writer->team.items);
        bb_emission_line(writer, "bb_join%d(acc%d[v], other);", sum->number, sum->number);
        bb_emission_line(writer, "}");
    }
}

// Emits the tree reduction of a team's partial sums in local memory.
static void join_memory(bb_emission_writer *writer, const bb_emission_team_sum *sum, bb_index lanes)
{
    const int number = sum->number;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    writer->is_shared[number] = true;
    bb_emission_team_sum_open(writer, lanes);
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) t%d[team][%s][k] = acc%d[v][k];",
                     sum->reduction->count, number, lane, number);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "%s", writer->words->barrier);
    bb_emission_line(writer, "for (int w = %td; w > 0; w /= 2) {", lanes * writer->team.items / 2);
    bb_emission_line(writer,
                     "for (int l = (int)item; l < w; l += %td) bb_join_shared%d(t%d[team][l], "
                     "t%d[team][l + w]);",
                     writer->team.items, number, number, number);
    bb_emission_line(writer, "%s", writer->words->barrier);
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "for (int k = 0; k < %d; ++k) acc%d[0][k] = t%d[team][0][k];",
                     sum->reduction->count, number, number);
    bb_emission_line(writer, "%s", writer->words->barrier);
}

// Joins a team's lanes within a warp; every work-item then has the sum.
static void join_by_shuffles(bb_emission_writer *writer, const bb_emission_team_sum *sum)
{
    const bb_index lanes = bb_emission_team_sum_lanes(writer, sum->reduction);
    const bool blocked = writer->team.distribution == BB_DISTRIBUTION_BLOCKED;
    join_warp(writer, sum, blocked ? lanes : 1);
    if (blocked) {
        join_own(writer, sum, lanes);
    }
    bb_emission_line(writer,
                     "for (int k = 0; k < %d; ++k) acc%d[0][k] = "
                     "bb_of_first%d(acc%d[0][k], %td);",
                     sum->reduction->count, sum->number, sum->number, sum->number,
                     writer->team.items);
}

void bb_emission_team_sum_join(bb_emission_writer *writer, const bb_emission_team_sum *sum)
{
    const bb_index lanes = bb_emission_team_sum_lanes(writer, sum->reduction);
    const bb_index items = writer->team.items;
    const bool blocked = writer->team.distribution == BB_DISTRIBUTION_BLOCKED;
    const bool everywhere = writer->words->shuffles;
    const bool in_warp = items > 1 && items <= WARP_ITEMS;
    if (!blocked || items == 1) {
        join_own(writer, sum, lanes);
    }
    if (in_warp && !everywhere) {
        bb_emission_add(writer, "#ifdef BB_SHUFFLES\n");
    }
    if (in_warp) {
        join_by_shuffles(writer, sum);
    }
    if (in_warp && !everywhere) {
        bb_emission_add(writer, "#else\n");
    }
    if (items > 1 && !(in_warp && everywhere)) {
        join_memory(writer, sum, blocked ? lanes : 1);
    }
    if (in_warp && !everywhere) {
        bb_emission_add(writer, "#endif\n");
    }
}

// Contribution of an item to acc<number>[v].
static void print_item(bb_emission_writer *writer, const bb_emission_team_sum *sum)
{
    const int count = sum->reduction->count;
    char target[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(target, sizeof target, "acc%d[v]", sum->number);
    if (sum->kind == BB_EMISSION_PART) {
        bb_emission_line(writer, "%s part[%d];", bb_emission_type(writer, sum->reduction->type),
                         count);
        for (int k = 0; k < count; ++k) {
            bb_emission_line(writer, "part[%d] = p%d[j * n + point];", k, k);
        }
        bb_emission_line(writer, "bb_join%d(%s, part);", sum->number, target);
        return;
    }
    if (sum->kind == BB_EMISSION_POINT && writer->program->space.dimensions == 2) {
        bb_emission_line(writer, "const bb_index x1 = j / n0, x0 = j - x1 * n0;");
    }
    // The work-items of the team process the items in parallel.
    const bb_emission_team team = writer->team;
    writer->team.items = 0;
    bb_emission_gpu_steps(writer, sum->steps);
    writer->team = team;
    bb_emission_accumulate(writer, sum->reduction, target);
}

static void print_items(bb_emission_writer *writer, const bb_emission_team_sum *sum,
                        const char *guard)
{
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction));
    bb_emission_line(writer, "const bb_index %s = g%d + (%s);", sum->position, sum->number, lane);
    if (guard != NULL) {
        bb_emission_line(writer, "if (%s >= %s) break;", sum->position, guard);
    }
    print_item(writer, sum);
    bb_emission_line(writer, "}");
}

// Prints the addition of whole rows of lanes.
static void print_rows(bb_emission_writer *writer, const bb_emission_team_sum *sum, const char *end,
                       const bb_emission_vectors *vectors)
{
    const bb_index lanes = sum->reduction->order.lanes;
    // With a constant count of rows compilers overlap several loads.
    bb_emission_line(writer, "const bb_index rows = (%s - g%d) / %td;", end, sum->number, lanes);
    const int loads = LOADS_UNROLLED / (int)bb_emission_team_sum_lanes(writer, sum->reduction);
    bb_emission_line(writer, "#pragma unroll %d",
                     sum->kind == BB_EMISSION_PART ? PARTS_UNROLLED
                     : loads > LEAST_UNROLLED      ? loads
                                                   : LEAST_UNROLLED);
    bb_emission_line(writer, "for (bb_index row = 0; row < rows; ++row, g%d += %td) {", sum->number,
                     lanes);
    if (vectors != NULL) {
        bb_emission_vectors_declare(writer, vectors, "");
        bb_emission_vectors_load(writer, vectors);
    }
    writer->vectors = vectors;
    print_items(writer, sum, NULL);
    writer->vectors = NULL;
    if (vectors != NULL) {
        bb_emission_line(writer, writer->is_guarded ? "if (active) {" : "{");
        bb_emission_vectors_store(writer, vectors);
        bb_emission_line(writer, "}");
    }
    bb_emission_line(writer, "}");
}

// Prints the addition of whole rows of lanes; blocked ones use vectors if the first is aligned.
static void print_row_loops(bb_emission_writer *writer, const bb_emission_team_sum *sum,
                            const char *end)
{
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
        print_rows(writer, sum, end, NULL);
    } else if (bb_emission_try(writer, bb_emission_vectors_find(writer, true, &vectors))) {
        bb_emission_line(writer, "int aligned = 1;");
        bb_emission_vectors_test(writer, &vectors);
        bb_emission_line(writer, "if (aligned) {");
        print_rows(writer, sum, end, &vectors);
        bb_emission_line(writer, "}");
        bb_emission_line(writer, "else {");
        print_rows(writer, sum, end, NULL);
        bb_emission_line(writer, "}");
    }
    bb_emission_vectors_release(&vectors);
}

void bb_emission_team_sum_print(bb_emission_writer *writer, const bb_emission_team_sum *sum,
                                const char *begin, const char *end, const char *first)
{
    const int number = sum->number;
    char lane[BB_EMISSION_NAME_BYTES];
    bb_emission_team_sum_lane(writer, sum->reduction, lane);
    bb_emission_line(writer, "%s acc%d[%td][%d];", bb_emission_type(writer, sum->reduction->type),
                     number, bb_emission_team_sum_lanes(writer, sum->reduction),
                     sum->reduction->count);
    bb_emission_team_sum_open(writer, bb_emission_team_sum_lanes(writer, sum->reduction));
    if (first != NULL) {
        bb_emission_line(writer,
                         "for (int k = 0; k < %d; ++k) acc%d[v][k] = %s && %s == 0 ? "
                         "bb_first%d(k) : bb_neutral%d(k);",
                         sum->reduction->count, number, first, lane, number, number);
    } else {
        bb_emission_line(writer, "for (int k = 0; k < %d; ++k) acc%d[v][k] = bb_neutral%d(k);",
                         sum->reduction->count, number, number);
    }
    bb_emission_line(writer, "}");
    bb_emission_line(writer, "bb_index g%d = %s;", number, begin);
    bb_emission_line(writer, "{");
    print_row_loops(writer, sum, end);
    bb_emission_line(writer, "}");
    print_items(writer, sum, end);
    bb_emission_team_sum_join(writer, sum);
}
