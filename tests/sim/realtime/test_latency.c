// SPDX-License-Identifier: Apache-2.0
//
// Statistics of latencies computed manually: quantiles, bounds on rates, worst steps, histogram,
// series.
#include "sim/realtime/realtime_report.h"
#include "tests/check.h"

#include <gsl/gsl_cdf.h>

enum { STEPS = 1000 };
enum { LIGHT, HEAT, DARK };
enum { STATE, INPUT, OUTPUTS = 3 };

// Latencies of 1 to 1000 us in a scrambled order: 7 and 1000 are coprime. Every fourth step is dark
// and has no outputs.
static void fill(bb_step_record records[STEPS])
{
    for (int i = 0; i < STEPS; ++i) {
        const double latency = 1e-6 * (1 + 7 * i % STEPS);
        records[i] = (bb_step_record){.release = 1e-3 * i,
                                      .latency = latency,
                                      .stage = {0.5 * latency, NAN, NAN, 2e-6, NAN},
                                      .step = i,
                                      .kind = i % 4 == 3 ? DARK : LIGHT};
        if (records[i].kind == (int)DARK) {
            records[i].stage[OUTPUTS] = NAN;
        }
    }
}

TEST(quantiles_are_nearest_ranks)
{
    static bb_step_record records[STEPS];
    bb_latency s;
    fill(records);
    check_ok(bb_latency_summarise(STEPS, records, BB_STEP_ALL, 997.5e-6, &s));
    assert_int_equal(s.count, STEPS);
    check_relative(s.mean, 500.5e-6, 1e-12);
    check_relative(s.p50, 500e-6, 1e-12);
    check_relative(s.p99, 990e-6, 1e-12);
    check_relative(s.p999, 999e-6, 1e-12);
    check_relative(s.p9999, 1000e-6, 1e-12);
    check_relative(s.max, 1000e-6, 1e-12);
    check_relative(s.max_over_median, 2.0, 1e-12);
    assert_int_equal(s.misses, 3);
    check_relative(s.miss_rate, 3e-3, 1e-12);
    check_relative(s.stage_median[STATE], 250e-6, 1e-12);
    check_relative(s.stage_median[OUTPUTS], 2e-6, 1e-12);
    assert_true(isnan(s.stage_median[INPUT]));
}

TEST(kinds_are_told_apart)
{
    static bb_step_record records[STEPS];
    bb_latency light, dark, heat;
    fill(records);
    check_ok(bb_latency_summarise(STEPS, records, LIGHT, 1.0, &light));
    check_ok(bb_latency_summarise(STEPS, records, DARK, 1.0, &dark));
    check_ok(bb_latency_summarise(STEPS, records, HEAT, 1.0, &heat));
    assert_int_equal(light.count, 750);
    assert_int_equal(dark.count, 250);
    check_relative(0.75 * light.mean + 0.25 * dark.mean, 500.5e-6, 1e-12);
    assert_true(isnan(dark.stage_median[OUTPUTS]));
    assert_int_equal(heat.count, 0);
    assert_true(isnan(heat.mean) && isnan(heat.max) && isnan(heat.miss_bound));
}

// The bound p at which so few misses have a probability of 5 %: sum_k<=m C(n, k) p^k (1 - p)^(n-k).
TEST(bounds_on_rates)
{
    check_relative(bb_latency_miss_bound(0, 1000000), 3e-6, 1e-12);
    check_relative(bb_latency_miss_bound(0, 2), 1.0, 1e-12);
    assert_true(bb_latency_miss_bound(5, 5) == 1.0);
    assert_true(isnan(bb_latency_miss_bound(0, 0)));
    static const struct {
        bb_index misses, count;
    } cases[] = {{1, 10}, {3, 1000}, {1, 1000000}, {40, 1000000}, {5000, 10000}, {9999, 10000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double p = bb_latency_miss_bound(cases[i].misses, cases[i].count);
        check_close(gsl_cdf_binomial_P((unsigned)cases[i].misses, p, (unsigned)cases[i].count),
                    0.05, 1e-8, 1.0);
    }
    // One of ten: 1 - 0.6058 by tables of the binomial distribution.
    check_close(bb_latency_miss_bound(1, 10), 0.3942, 1e-4, 1.0);
    // Three over the count is just above the exact bound without a miss, 1 - 0.05^(1 / n).
    assert_true(3.0 / 1000.0 > 1.0 - pow(0.05, 1e-3));
}

TEST(the_worst_come_in_order)
{
    static const double latencies[] = {3.0, 9.0, 1.0, 9.0, 7.0, 2.0};
    bb_step_record records[6];
    bb_index worst[8];
    for (int i = 0; i < 6; ++i) {
        records[i] = (bb_step_record){.latency = latencies[i]};
    }
    assert_int_equal(bb_latency_worst(6, records, 4, worst), 4);
    assert_int_equal(worst[0], 1);
    assert_int_equal(worst[1], 3);
    assert_int_equal(worst[2], 4);
    assert_int_equal(worst[3], 0);
    assert_int_equal(bb_latency_worst(6, records, 8, worst), 6);
    assert_int_equal(worst[5], 2);
    assert_int_equal(bb_latency_worst(0, records, 8, worst), 0);
}

TEST(a_histogram_loses_no_step)
{
    static double counts[BB_LATENCY_BINS];
    static const double latencies[] = {0.2e-6, 1.5e-6, 1.7e-6, 1999.5e-6, 2.5e-3, 4.0};
    bb_step_record records[6];
    for (int i = 0; i < 6; ++i) {
        records[i] = (bb_step_record){.latency = latencies[i], .kind = i % 2};
    }
    bb_latency_histogram(6, records, BB_STEP_ALL, counts);
    assert_true(counts[0] == 1.0 && counts[1] == 2.0 && counts[1999] == 1.0 && counts[2000] == 2.0);
    bb_latency_histogram(6, records, 1, counts);
    assert_true(counts[0] == 0.0 && counts[1] == 1.0 && counts[1999] == 1.0 && counts[2000] == 1.0);
}

TEST(a_series_covers_all_steps)
{
    static bb_step_record records[STEPS];
    double begin[7], median[7], maximum[7];
    double overall = 0.0;
    fill(records);
    check_ok(bb_latency_blocks(STEPS, records, 7, begin, median, maximum));
    for (int block = 0; block < 7; ++block) {
        assert_true(begin[block] == records[block * STEPS / 7].release);
        assert_true(median[block] <= maximum[block]);
        overall = fmax(overall, maximum[block]);
    }
    check_relative(overall, 1000e-6, 1e-12);
    check_ok(bb_latency_blocks(3, records, 3, begin, median, maximum));
    assert_true(median[1] == records[1].latency && maximum[1] == records[1].latency);
}
