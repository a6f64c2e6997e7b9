// SPDX-License-Identifier: Apache-2.0
//
// Nights with random walks, against an independent computation in fp64 (numpy, on dumped matrices)
// of the same experiment with other random numbers.
#include "tests/sim/ao/night/of_night.h"

// Errors of 5 % in strengths cost 4e-5 to 5e-5 (mean over 60 samples of two draws in an independent
// computation). More frames reduce this in proportion.
TEST_FULL(learned_strengths_cost_what_they_did)
{
    double loss[2];
    for (int k = 0; k < 2; ++k) {
        const driver_case study = {
            CONFIG_NX456,
            {"device=cpu", ALONE, "atmosphere.profile=eris-10", "night.source=walk",
             "night.sample_minutes=12.0", "night.hours=8.0", "night.policies=[snapshot]",
             "night.latency_s=[0.0]",
             k == 0 ? "night.learning_frames=480" : "night.learning_frames=4800"}};
        autoptr(bb_results) results = driver_results(&study);
        loss[k] = of_night(results, "staleness_loss")->numbers[0];
        print_message("%s: mean %.2e, worst %.2e\n", study.overrides[8], loss[k],
                      of_night(results, "worst_staleness_loss")->numbers[0]);
    }
    assert_true(loss[0] > 3e-5 && loss[0] < 6e-5);
    check_relative(loss[0] / loss[1], 10.0, 0.3); // the same errors with a smaller deviation
}

// Losses of random walks are within the range of two independent draws, here over 13 samples
// instead of 60. Old snapshots lose more than the mean, shrunk ones less.
TEST_FULL(a_walk_costs_what_it_did)
{
    double snapshot[2] = {0.0};
    double mean = 0.0;
    double shrunk = 0.0;
    for (int seed = 1; seed <= 4; ++seed) {
        char text[24];
        (void)snprintf(text, sizeof text, "seed=%d", seed);
        autoptr(bb_results) results = driver_results(
            CASE(CONFIG_NX456,
                 {"device=cpu", ALONE, text, "atmosphere.profile=eris-10", "night.source=walk",
                  "night.sample_minutes=10.0", "night.scored_hours=2.0", "night.mean=scored",
                  "night.ages_minutes=[30.0, 120.0]", "night.latency_s=[0.0]"}));
        const double *aged = of_night(results, "aged_loss")->numbers; // [policies][ages]
        print_message("seed %d: snapshot %.2e, %.2e, mean %.2e, shrink %.2e, %.2e\n", seed, aged[0],
                      aged[1], aged[2], aged[4], aged[5]);
        assert_true(aged[2] == aged[3]); // never updated
        snapshot[0] += 0.25 * aged[0];
        snapshot[1] += 0.25 * aged[1];
        mean += 0.25 * aged[2];
        shrunk += 0.25 * aged[5];
    }
    assert_true(snapshot[0] > 3e-3 &&
                snapshot[0] < 9e-3); // 4.2e-3, 4.4e-3 in the independent draws
    assert_true(snapshot[1] > 5e-3 && snapshot[1] < 2e-2); // 5e-3, 14e-3
    assert_true(mean > 2e-3 && mean < 8e-3);               // 2.7e-3, 7.5e-3
    assert_true(mean < snapshot[1] && shrunk < snapshot[1]);
}
