// SPDX-License-Identifier: Apache-2.0
//
// C17 for the cpu: entries that threads call for ranges of items.
//
// Three forms of a body. By points: a loop over the tile, iterators inside. By lanes: likewise, an
// iterator's lanes as an array over which the compiler vectorises. By tile: steps are loops over
// the points of the tile, iterators around them, so that neighbouring points share what they read;
// it is taken where all iterators have ranges of the host and no lanes.
#include "solvers/kernels/emission_steps.h"

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

static const char *const boundary_helpers =
    "static inline int64_t bb_clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }\n"
    "static inline int64_t bb_periodic(int64_t i, int64_t n)\n"
    "{ if (n <= 0) return 0; i %= n; return i < 0 ? i + n : i; }\n"
    "static inline int64_t bb_mirror(int64_t i, int64_t n)\n"
    "{ const int64_t m = n > 1 ? 2 * (n - 1) : 1; i %= m; if (i < 0) i += m;\n"
    "  return i < n ? i : m - i; }\n";

// Sums in their declared order, for WIDTH neighbouring points at once: parts go up level by level.
static const char *const sum_template =
    "typedef T N(bb_part)[COUNT];\n"
    "typedef struct {\n"
    "    N(bb_part) lane[LEVELS][LANES][WIDTH], first[LEVELS][WIDTH];\n"
    "    int64_t count[LEVELS];\n"
    "} N(bb_sum);\n"
    "static void N(bb_start)(N(bb_sum) *s, int level, int64_t points)\n"
    "{\n"
    "    for (int l = 0; l < LANES; ++l)\n"
    "        for (int64_t p = 0; p < points; ++p)\n"
    "            for (int k = 0; k < COUNT; ++k) s->lane[level][l][p][k] = N(bb_neutral)[k];\n"
    "}\n"
    "static void N(bb_tree)(N(bb_sum) *s, int level, int64_t points)\n"
    "{\n"
    "    for (int w = LANES / 2; w > 0; w /= 2)\n"
    "        for (int l = 0; l < w; ++l)\n"
    "            for (int64_t p = 0; p < points; ++p)\n"
    "                N(bb_join)(s->lane[level][l][p], s->lane[level][l + w][p]);\n"
    "}\n"
    "static void N(bb_push)(N(bb_sum) *s, int level, int64_t points);\n"
    "/* The joined lanes of a level are a part of the next. */\n"
    "static void N(bb_push)(N(bb_sum) *s, int level, int64_t points)\n"
    "{\n"
    "    N(bb_part) *part = s->lane[level][0];\n"
    "    const int64_t place = s->count[level + 1]++ % CHUNK;\n"
    "    if (s->count[level + 1] == 1) memcpy(s->first[level + 1], part, points * sizeof *part);\n"
    "    if (place == 0) N(bb_start)(s, level + 1, points);\n"
    "    for (int64_t p = 0; p < points; ++p)\n"
    "        N(bb_join)(s->lane[level + 1][place % LANES][p], part[p]);\n"
    "    if (place == CHUNK - 1) {\n"
    "        N(bb_tree)(s, level + 1, points);\n"
    "        N(bb_push)(s, level + 1, points);\n"
    "    }\n"
    "}\n"
    "/* The total, in lane 0 of level 0; parts stand from level 1 on. */\n"
    "static void N(bb_total)(N(bb_sum) *s, int64_t points)\n"
    "{\n"
    "    for (int level = 1; level < LEVELS; ++level) {\n"
    "        if (s->count[level] == 1) {\n"
    "            memcpy(s->lane[0][0], s->first[level], points * sizeof *s->lane[0][0]);\n"
    "            return;\n"
    "        }\n"
    "        if (s->count[level] % CHUNK != 0) {\n"
    "            N(bb_tree)(s, level, points);\n"
    "            N(bb_push)(s, level, points);\n"
    "        }\n"
    "    }\n"
    "}\n";

static bb_status print_constants(bb_emission_writer *writer, const bb_reduction *reduction,
                                 const char *name, int number, bool start)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(writer->out, "static const %s %s%d[%d] = {",
                       bb_emission_type(writer, reduction->type), name, number, reduction->count));
    for (int k = 0; k < reduction->count; ++k) {
        BB_TRY(bb_text_add(writer->out, "%s", k > 0 ? ", " : ""));
        BB_TRY(bb_emission_constant(writer,
                                    start || reduction->icf == BB_ICF_OTHER ? reduction->start[k]
                                                                            : reduction->neutral,
                                    reduction->type, writer->out));
    }
    BB_TRY(bb_text_add(writer->out, "};\n"));
done:
    return status;
}

// Types and functions of reduction `number`, which works on `width` points at once. A reduction
// without chunks has no levels above its items.
static bb_status print_sum(bb_emission_writer *writer, const bb_reduction *reduction, int number,
                           bb_index width)
{
    bb_status status = BB_OK;
    char name[BB_EMISSION_NAME_BYTES];
    const bb_index chunk = reduction->order.chunk;
    (void)snprintf(name, sizeof name, "bb_join%d", number);
    BB_TRY(bb_emission_join_function(writer, reduction, name));
    BB_TRY(print_constants(writer, reduction, "bb_neutral", number, false));
    BB_TRY(print_constants(writer, reduction, "bb_first", number, true));
    BB_TRY(bb_text_add(writer->out,
                       "#define N(name) BB_PASTE(name, %d)\n#define T %s\n#define COUNT %d\n"
                       "#define LANES %td\n#define WIDTH %td\n#define CHUNK INT64_C(%td)\n"
                       "#define LEVELS %d\n",
                       number, bb_emission_type(writer, reduction->type), reduction->count,
                       reduction->order.lanes, width, chunk > 0 ? chunk : INT64_MAX, LEVELS));
    BB_TRY(bb_text_add(writer->out, "%s", sum_template));
    BB_TRY(bb_text_add(writer->out, "#undef N\n#undef T\n#undef COUNT\n#undef LANES\n#undef WIDTH\n"
                                    "#undef CHUNK\n#undef LEVELS\n"));
done:
    return status;
}
