// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_steps.h"

#include <stdio.h>

enum { LEVELS = 4 }; // chunks of chunks: 512^4 items

static const char *const boundary_helpers =
    "BB_FUNCTION bb_index bb_clamp(bb_index i, bb_index n)\n"
    "{ return i < 0 ? 0 : i < n ? i : n - 1; }\n"
    "BB_FUNCTION bb_index bb_periodic(bb_index i, bb_index n)\n"
    "{ if (n <= 0) return 0; i %= n; return i < 0 ? i + n : i; }\n"
    "BB_FUNCTION bb_index bb_mirror(bb_index i, bb_index n)\n"
    "{ const bb_index m = n > 1 ? 2 * (n - 1) : 1; i %= m; if (i < 0) i += m;\n"
    "  return i < n ? i : m - i; }\n";

// Template of a sum over WIDTH points at a time; parts are pushed up level by level.
static const char *const sum_text =
    "typedef struct {\n"
    "    T lane[LEVELS][LANES][WIDTH][COUNT];\n"
    "    T first[LEVELS][WIDTH][COUNT];\n"
    "    bb_index count[LEVELS];\n"
    "} N(bb_sum);\n"
    "BB_FUNCTION void N(bb_clear)(N(bb_sum) *s)\n"
    "{\n"
    "    for (int level = 0; level < LEVELS; ++level) s->count[level] = 0;\n"
    "}\n"
    "BB_FUNCTION void N(bb_start)(N(bb_sum) *s, int level, bb_index points)\n"
    "{\n"
    "    for (int l = 0; l < LANES; ++l)\n"
    "        for (bb_index p = 0; p < points; ++p)\n"
    "            for (int k = 0; k < COUNT; ++k) s->lane[level][l][p][k] = N(bb_neutral)(k);\n"
    "}\n"
    "BB_FUNCTION void N(bb_begin)(N(bb_sum) *s, bb_index points)\n"
    "{\n"
    "    for (bb_index p = 0; p < points; ++p)\n"
    "        for (int k = 0; k < COUNT; ++k) s->lane[0][0][p][k] = N(bb_first)(k);\n"
    "}\n"
    "BB_FUNCTION void N(bb_tree)(N(bb_sum) *s, int level, bb_index points)\n"
    "{\n";
// Joins lanes in a binary tree, by one loop, or with a separate loop of constant length per level,
// which compilers vectorise. In texts for teams PoCL needs minutes to compile the latter.
static const char *const halves_text =
    "    for (int w = LANES / 2; w > 0; w /= 2)\n"
    "        for (int l = 0; l < w; ++l)\n"
    "            for (bb_index p = 0; p < points; ++p)\n"
    "                N(bb_join)(s->lane[level][l][p], s->lane[level][l + w][p]);\n";
static const char *const half_text =
    "    for (int l = 0; l < %td; ++l)\n"
    "        for (bb_index p = 0; p < points; ++p)\n"
    "            N(bb_join)(s->lane[level][l][p], s->lane[level][l + %td][p]);\n";
static const char *const rest_text =
    "}\n"
    "BB_FUNCTION void N(bb_push)(N(bb_sum) *s, int level, bb_index points)\n"
    "{\n"
    "    for (; level + 1 < LEVELS; ++level) {\n"
    "        const bb_index place = s->count[level + 1]++ % CHUNK;\n"
    "        if (s->count[level + 1] == 1)\n"
    "            for (bb_index p = 0; p < points; ++p)\n"
    "                for (int k = 0; k < COUNT; ++k)\n"
    "                    s->first[level + 1][p][k] = s->lane[level][0][p][k];\n"
    "        if (place == 0) N(bb_start)(s, level + 1, points);\n"
    "        for (bb_index p = 0; p < points; ++p)\n"
    "            N(bb_join)(s->lane[level + 1][place % LANES][p], s->lane[level][0][p]);\n"
    "        if (place != CHUNK - 1) return;\n"
    "        N(bb_tree)(s, level + 1, points);\n"
    "    }\n"
    "}\n"
    "BB_FUNCTION void N(bb_total)(N(bb_sum) *s, bb_index points)\n"
    "{\n"
    "    for (int level = 1; level < LEVELS; ++level) {\n"
    "        if (s->count[level] == 1) {\n"
    "            for (bb_index p = 0; p < points; ++p)\n"
    "                for (int k = 0; k < COUNT; ++k) s->lane[0][0][p][k] = s->first[level][p][k];\n"
    "            return;\n"
    "        }\n"
    "        if (s->count[level] % CHUNK != 0) {\n"
    "            N(bb_tree)(s, level, points);\n"
    "            N(bb_push)(s, level, points);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#undef N\n#undef T\n#undef COUNT\n#undef LANES\n#undef WIDTH\n#undef CHUNK\n#undef LEVELS\n";

// T name(int k): one constant per accumulator.
static void print_constants(bb_emission_writer *writer, const bb_reduction *reduction,
                            const char *name, int number, bool start)
{
    bb_emission_add(writer, "BB_FUNCTION %s %s%d(int k)\n{\n    return ",
                    bb_emission_type(writer, reduction->type), name, number);
    for (int k = 0; k < reduction->count; ++k) {
        const bool own = start || reduction->icf == BB_ICF_OTHER;
        if (k + 1 < reduction->count) {
            bb_emission_add(writer, "k == %d ? ", k);
        }
        (void)bb_emission_try(
            writer, bb_expression_print_constant(writer->dialect,
                                                 own ? reduction->start[k] : reduction->neutral,
                                                 reduction->type, writer->out));
        bb_emission_add(writer, k + 1 < reduction->count ? " : " : ";\n}\n");
    }
}

void bb_emission_sum(bb_emission_writer *writer, const bb_reduction *reduction, int number,
                     bb_index width)
{
    char name[BB_EMISSION_NAME_BYTES];
    // Without chunks all items form one chunk.
    const bb_index chunk = reduction->order.chunk > 0 ? reduction->order.chunk : PTRDIFF_MAX;
    (void)snprintf(name, sizeof name, "bb_join%d", number);
    bb_emission_join_function(writer, reduction, name);
    print_constants(writer, reduction, "bb_neutral", number, false);
    print_constants(writer, reduction, "bb_first", number, true);
    bb_emission_add(writer,
                    "#define N(name) BB_PASTE(name, %d)\n#define T %s\n#define COUNT %d\n"
                    "#define LANES %td\n#define WIDTH %td\n#define CHUNK ((bb_index)%td%s)\n"
                    "#define LEVELS %d\n%s",
                    number, bb_emission_type(writer, reduction->type), reduction->count,
                    reduction->order.lanes, width, chunk, writer->dialect->index_suffix, LEVELS,
                    sum_text);
    bb_emission_add(writer, "%s",
                    writer->runs_loops ? "    (void)s; (void)level; (void)points;\n" : halves_text);
    for (bb_index half = reduction->order.lanes / 2; writer->runs_loops && half > 0; half /= 2) {
        bb_emission_add(writer, half_text, half, half);
    }
    bb_emission_add(writer, "%s", rest_text);
}

void bb_emission_sum_outputs(bb_emission_writer *writer, const bb_reduction *reduction,
                             const char *place)
{
    for (int k = 0; k < reduction->count; ++k) {
        bb_emission_line(writer, "const %s s%d = %s[%d];",
                         bb_emission_type(writer, reduction->type), reduction->output + k, place,
                         k);
    }
}

void bb_emission_chunks(bb_emission_writer *writer, int number)
{
    const bb_iterator *iterator = &writer->program->iterators[number];
    const bb_index chunk = iterator->reduction.order.chunk;
    char range[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(writer, iterator->space.ranges[0], range);
    if (chunk == 0) {
        bb_emission_line(writer, "{");
        bb_emission_line(writer, "const bb_index c%d = 0;", number);
        if (iterator->space.dimensions == 1) {
            bb_emission_line(writer, "const bb_index e%d = %s;", number, range);
        }
        return;
    }
    bb_emission_line(writer, "for (bb_index c%d = 0; c%d == 0 || c%d < %s; c%d += %td) {", number,
                     number, number, range, number, chunk);
    bb_emission_line(writer, "const bb_index e%d = %s - c%d < %td ? %s : c%d + %td;", number, range,
                     number, chunk, range, number, chunk);
}

void bb_emission_open_items(bb_emission_writer *writer, int number, bool of_chunk, int unroll)
{
    const bb_iteration_space *space = &writer->program->iterators[number].space;
    char range[BB_EMISSION_NAME_BYTES];
    for (int k = space->dimensions - 1; k >= 0; --k) {
        if (k == 0 && unroll > 0) {
            bb_emission_line(writer, "#pragma unroll %d", unroll);
        }
        if (of_chunk) {
            bb_emission_line(writer, "for (bb_index k%d_0 = c%d; k%d_0 < e%d; ++k%d_0) {", number,
                             number, number, number, number);
        } else {
            bb_emission_line(writer, "for (bb_index k%d_%d = 0; k%d_%d < %s; ++k%d_%d) {", number,
                             k, number, k, bb_emission_name(writer, space->ranges[k], range),
                             number, k);
        }
    }
}

void bb_emission_close_items(bb_emission_writer *writer, int number)
{
    for (int k = 0; k < writer->program->iterators[number].space.dimensions; ++k) {
        bb_emission_line(writer, "}");
    }
}

void bb_emission_prologue(bb_emission_writer *writer)
{
    (void)bb_emission_try(writer, bb_expression_print_helpers(writer->dialect, writer->out));
    bb_emission_add(writer,
                    "typedef %s bb_index;\n#define BB_FUNCTION %s\n"
                    "#define BB_PASTE_(a, b) a##b\n#define BB_PASTE(a, b) BB_PASTE_(a, b)\n%s",
                    bb_emission_type(writer, BB_ELEMENT_INDEX), writer->dialect->function,
                    boundary_helpers);
}
