// SPDX-License-Identifier: Apache-2.0
//
// Quality and doubt of each point, from the edges of a run.
#include "solvers/unwrap/unwrap_quality.h"
#include "tests/solvers/unwrap/unwrap_context.h"

// Unwraps a map's true phase; `quality` [rows][columns] and `doubt` of that run.
static void judge(phase_map *map, const bb_unwrap_config *config, double *quality,
                  bb_unwrap_doubt *doubt)
{
    bb_unwrap_report report;
    autoptr(bb_unwrap) unwrapper = unwrap_map(map, config, &report);
    check_ok(bb_unwrap_quality_map(unwrapper, quality));
    check_ok(bb_unwrap_quality_reliability(unwrapper, doubt));
}

static phase_map ramp(bb_index columns, bb_index rows, double slope)
{
    phase_map map = phase_map_create(columns, rows);
    fill_array(map.truth, columns * rows, p, slope * (double)(p % columns));
    return map;
}

TEST(steep_slopes_are_counted)
{
    static const struct {
        double slope, noise, least, most;
    } cases[] = {{1.0, 0.0, 0.0, 0.0},        {1.0, 0.3, 0.0, 0.001},     {2.4, 0.0, 0.0, 0.0},
                 {2.6, 0.0, 0.5002, 0.5003}, // 63 x 60 of 63 x 60 + 64 x 59 edges
                 {-2.9, 0.0, 0.5002, 0.5003}, {3.7, 0.0, 0.5002, 0.5003}, // aliased: folds to -2.58
                 {2.9, 0.1, 0.4, 0.5}};
    static double quality[64 * 60];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap_doubt doubt;
        autorelease(phase_map) map = ramp(64, 60, cases[i].slope);
        phase_map_add_noise(&map, cases[i].noise, 3);
        judge(&map, &config, quality, &doubt);
        print_message("slope %g, noise %g: %g steep, %g hanging\n", cases[i].slope, cases[i].noise,
                      doubt.steep_share, doubt.hanging_share);
        assert_true(doubt.steep_share >= cases[i].least && doubt.steep_share <= cases[i].most);
    }
}

// A raised block of `columns` x 4 points.
static void check_block(bb_index columns, double hanging)
{
    static double quality[64 * 60];
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
    bb_unwrap_doubt doubt;
    autorelease(phase_map) map = ramp(64, 60, 0.0);
    for (bb_index p = 0; p < columns * 4; ++p) {
        map.truth[(30 + p / columns) * 64 + 20 + p % columns] = 3.0;
    }
    judge(&map, &config, quality, &doubt);
    check_close(doubt.hanging_share, hanging, 1e-12, 1.0);
}

TEST(small_regions_are_noise)
{
    check_block(4, 16.0 / (64.0 * 60.0));
    check_block(3, 0.0);
}

// A step of 2.9 rad from a column on; from row `end` on it decays.
static void check_step(bb_index end, bb_index reweight, double hanging)
{
    static double quality[64 * 60];
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
    bb_unwrap_doubt doubt;
    autorelease(phase_map) map = ramp(64, 60, 0.0);
    config.method.reweight = reweight;
    for (bb_index p = 0; p < 64 * 60; ++p) {
        const double height = p / 64 < end ? 2.9 : 2.9 * (double)(59 - p / 64) / (double)(60 - end);
        map.truth[p] += p % 64 >= 40 ? height : 0.0;
    }
    judge(&map, &config, quality, &doubt);
    check_close(doubt.hanging_share, hanging, 1e-12, 1.0);
    assert_true(doubt.steep_share == 0.0); // all edges were rejected
}

TEST(points_behind_rejected_edges_hang)
{
    check_step(60, 0, 24.0 / 64.0);
    check_step(60, 12, 24.0 / 64.0);
    check_step(40, 12, 0.0); // joined below, where the step has decayed
}

// A spike of 2 rad loses its four edges; an isolated point has none.
TEST(quality_is_the_mean_weight_of_edges)
{
    enum { EDGE = 32, SPIKE = 10 * EDGE + 12, ALONE = 31 * EDGE + 31 };
    static double quality[EDGE * EDGE];
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
    bb_unwrap_doubt doubt;
    autorelease(phase_map) map = ramp(EDGE, EDGE, 0.1);
    map.truth[SPIKE] += 2.0;
    map.mask[ALONE - 1] = map.mask[ALONE - EDGE] = 0;
    config.method.reweight = 0;
    judge(&map, &config, quality, &doubt);
    check_close(quality[SPIKE], 0.001, 1e-12, 1.0);
    static const int beside[] = {SPIKE - 1, SPIKE + 1, SPIKE - EDGE, SPIKE + EDGE};
    for (int i = 0; i < 4; ++i) {
        check_close(quality[beside[i]], 0.75025, 1e-12, 1.0);
    }
    assert_true(quality[0] == 1.0 && quality[ALONE] == 0.0 && isnan(quality[ALONE - 1]));
    assert_true(doubt.hanging_share == 0.0); // an isolated point
    config.method.reweight = 12;
    judge(&map, &config, quality, &doubt);
    assert_true(quality[SPIKE] < 0.5 && quality[0] > 0.95 && quality[0] <= 1.0);
    assert_true(quality[SPIKE + 1] < quality[SPIKE + 2]);
}

TEST(single_precision_says_the_same)
{
    static double quality[2][48 * 40];
    for (int i = 0; i < 2; ++i) {
        const bb_unwrap_config config =
            bb_unwrap_config_plain(i == 0 ? BB_FORMAT_FP64 : BB_FORMAT_FP32);
        bb_unwrap_doubt doubt;
        autorelease(phase_map) map = ramp(48, 40, 0.7);
        phase_map_add_noise(&map, 0.3, 4);
        judge(&map, &config, quality[i], &doubt);
    }
    check_all_close(quality[1], quality[0], 48 * 40, 1e-3, 1.0);
}

TEST_GROUP(.enter = open_context, .leave = close_context, .threads = 2);
