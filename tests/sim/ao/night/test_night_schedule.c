// SPDX-License-Identifier: Apache-2.0
//
// Schedules of reconstructors and their profiles, against values by hand.
#include "sim/ao/night/night_schedule.h"
#include "tests/check.h"

enum { SAMPLES = 5, FIRST = 2 };

static const int all_policies[] = {BB_NIGHT_SNAPSHOT, BB_NIGHT_MEAN, BB_NIGHT_SHRINK};
static double two_ages[] = {10.0, 20.0};

// Samples at 0, 10, 20, 30, 40 min, of which the last three are scored, and a new reconstructor
// every 20 min.
static bb_night_config night_of(bb_night_mean mean, bb_index ages)
{
    return (bb_night_config){.source = BB_NIGHT_FILE,
                             .walk_minutes = 30.0,
                             .hours = 40.0 / 60.0,
                             .sample_minutes = 10.0,
                             .scored_hours = 20.0 / 60.0,
                             .cadence_minutes = 20.0,
                             .policies = {(void *)(uintptr_t)all_policies, 3},
                             .mean = mean,
                             .shrink_minutes = NAN,
                             .ages_minutes = {two_ages, ages}};
}

// Use whose Strehl ratio is stored at `place`.
static const bb_night_use *use_of(const bb_night_use *uses, bb_index count, const double *place)
{
    for (bb_index i = 0; i < count; ++i) {
        if (uses[i].strehl == place) {
            return &uses[i];
        }
    }
    fail();
    return NULL;
}

static void check_recipe(const bb_night_use *use, double data_s, double trust)
{
    print_message("sample %td: data of %.1f s, trust %.6f\n", use->sample,
                  1e-6 * (double)use->recipe.data_us, use->recipe.trust);
    assert_true(use->recipe.data_us == (int64_t)llround(1e6 * data_s));
    check_close(use->recipe.trust, trust, 1e-14, 1.0);
}

TEST(times_and_counts)
{
    bb_night_config night = night_of(BB_NIGHT_MEAN_PAST, 2);
    assert_int_equal(bb_night_config_samples(&night), SAMPLES);
    assert_int_equal(bb_night_config_first_scored(&night), FIRST);
    assert_true(bb_night_config_cadence_s(&night) == 1200.0);
    // Two pipelines, three samples: the moment, and three policies once and at two ages.
    assert_true(bb_night_schedule_uses(&night, 2) == 2.0 * 3.0 * (1.0 + 3.0 * 3.0));
    night.scored_hours = night.cadence_minutes = NAN;
    assert_int_equal(bb_night_config_first_scored(&night), 0);
    assert_true(bb_night_config_cadence_s(&night) == 600.0);
    night.hours = 4.0;
    night.sample_minutes = 0.1; // 0.1 has no exact binary form, but there must be 2400 steps
    assert_int_equal(bb_night_config_samples(&night), 2401);
}

// Latencies of 0 and of 90 s.
TEST(recipes_are_those_of_the_definitions)
{
    const bb_night_config night = night_of(BB_NIGHT_MEAN_PAST, 2);
    const double latency_s[] = {0.0, 90.0};
    autorelease(bb_night_scores) scores = {0};
    autofree bb_night_use *uses = NULL;
    bb_index count = 0;
    check_ok(bb_night_scores_create(&night, 2, &scores));
    check_ok(bb_night_schedule_create(&night, latency_s, &scores, &uses, &count));
    assert_true((double)count == bb_night_schedule_uses(&night, 2));
    const bb_index samples = scores.samples;
    for (int k = 0; k < 3; ++k) { // at 20, 30 and 40 min
        const double time_s = 1200.0 + 600.0 * k;
        // Data of 20, 20 and 40 min without latency; of 0 at 20 min, then 20 and 20, with latency.
        const double now_s = k < 2 ? 1200.0 : 2400.0;
        const double late_s = k == 0 ? 0.0 : 1200.0;
        for (int p = 0; p < 2; ++p) {
            const double data_s = p == 0 ? now_s : late_s;
            const double age_s = latency_s[p] + 300.0; // half the cadence beyond the samples
            const double *strehl = scores.strehl + p * 3 * samples + k;
            check_recipe(use_of(uses, count, scores.moment + p * samples + k), time_s, 1.0);
            check_recipe(use_of(uses, count, strehl), data_s, 1.0);
            check_recipe(use_of(uses, count, strehl + samples), data_s, 0.0);
            check_recipe(use_of(uses, count, strehl + 2 * samples), data_s, exp(-age_s / 1800.0));
            const double *aged = scores.aged + p * 6 * samples + k;
            for (int a = 0; a < 2; ++a) {
                const double old_s = latency_s[p] + 600.0 * (a + 1);
                const double then_s = fmax(0.0, time_s - old_s);
                check_recipe(use_of(uses, count, aged + a * samples), then_s, 1.0);
                // A mean changes only at samples.
                check_recipe(use_of(uses, count, aged + (2 + a) * samples),
                             600.0 * floor(then_s / 600.0), 0.0);
                check_recipe(use_of(uses, count, aged + (4 + a) * samples), then_s,
                             exp(-old_s / 1800.0));
            }
        }
    }
    for (bb_index i = 1; i < count; ++i) { // recipes grouped, samples in order
        assert_true(!bb_night_schedule_same(&uses[i - 1], &uses[i]) ||
                    uses[i - 1].sample <= uses[i].sample);
    }
}

// One layer of strength 1 at the start and 5 at 40 min: 1 + t / 10 min.
TEST(profiles_are_mixed_by_trust)
{
    const bb_profile_row rows[] = {{0.0, 0.0, 1.0, NAN, 25.0}, {2400.0, 0.0, 5.0, NAN, 25.0}};
    autorelease(bb_profile_series) series = new_struct(bb_profile_series, rows, 2);
    for (int mean = 0; mean < 2; ++mean) {
        const bb_night_config night = night_of((bb_night_mean)mean, 2);
        autorelease(bb_night_profiles) profiles = {0};
        check_ok(bb_night_profiles_create(&night, &series, 1, &profiles));
        const bb_night_recipe recipes[] = {{1500000000, 1.0, true},  // 25 min: 3.5
                                           {1500000000, 0.0, true},  // samples 1, 2, 3; or 3, 4, 5
                                           {1500000000, 0.25, true}, // of both
                                           {99000000000, 0.0, true}};
        const double expected[2][4] = {{3.5, 2.0, 2.375, 3.0}, {3.5, 4.0, 3.875, 4.0}};
        for (int k = 0; k < 4; ++k) {
            double strength;
            check_ok(bb_night_profiles_mix(&profiles, &recipes[k], &strength));
            check_relative(strength, expected[mean][k], 1e-14);
        }
    }
}

// Known profiles have no error; learned ones have that of their time, also within a mean.
TEST(learned_profiles_have_errors)
{
    const bb_profile_row row = {0.0, 0.0, 1.0, NAN, 25.0};
    bb_night_config night = night_of(BB_NIGHT_MEAN_PAST, 0);
    night.learning_frames = 480;
    autorelease(bb_night_profiles) profiles = {0};
    double known, first, second, mean;
    autorelease(bb_profile_series) series = new_struct(bb_profile_series, &row, 1);
    check_ok(bb_night_profiles_create(&night, &series, 3, &profiles));
    const bb_night_recipe recipes[] = {
        {600000000, 1.0, true}, {0, 1.0, false}, {600000000, 1.0, false}, {600000000, 0.0, false}};
    check_ok(bb_night_profiles_mix(&profiles, &recipes[0], &known));
    check_ok(bb_night_profiles_mix(&profiles, &recipes[1], &first));
    check_ok(bb_night_profiles_mix(&profiles, &recipes[2], &second));
    check_ok(bb_night_profiles_mix(&profiles, &recipes[3], &mean));
    print_message("learned %.4f and %.4f\n", first, second);
    assert_true(known == 1.0 && first != 1.0 && second != 1.0 && first != second);
    assert_true(fabs(log(first)) < 0.2 && fabs(log(second)) < 0.2);
    check_relative(mean, 0.5 * (first + second), 1e-15);
}
