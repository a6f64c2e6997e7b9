// SPDX-License-Identifier: Apache-2.0
//
// Plans of `bitbudget check` for ao studies besides the sizes: learning, and device memory, also in
// builds without CUDA.
#include "sim/ao/ao_extent.h"
#include "sim/ao/ao_plan.h"
#include "tests/sim/driver.h"

#define CONFIG_LEARN BB_SOURCE_DIR "/configs/ao/learn.yaml"

// Golden section from 10 to 100 m takes ln(ln 10 / 1e-5) / 0.4812 = 25.7 steps; two to start, one
// to judge by, three to conclude.
TEST(learning_is_listed)
{
    const driver_case learning = {CONFIG_LEARN, {NULL}};
    autorelease(bb_plan) plan = {0};
    check_ok(driver_plan(&learning, 1, &plan));
    assert_non_null(strstr(bb_text_string(&plan.lines), "3 layers at 32 outer scales"));
    bb_plan_release(&plan);
    check_ok(driver_plan(CASE(CONFIG_LEARN, {"learn.source=off", NULL}), 1, &plan));
    assert_null(strstr(bb_text_string(&plan.lines), "learning"));
}

// Seeing grows by sec(z)^(3/5): 1.090 at 30 degrees.
TEST(seeing_is_that_of_the_line_of_sight)
{
    const driver_case slant = {
        CONFIG_AO_SMALL, {"telescope.zenith_angle_deg=30", "atmosphere.seeing_arcsec=1.0", NULL}};
    const driver_case upright = {
        CONFIG_AO_SMALL, {"telescope.zenith_angle_deg=0", "atmosphere.seeing_arcsec=1.0", NULL}};
    autorelease(bb_plan) plan = {0};
    check_ok(driver_plan(&slant, 1, &plan));
    const char *line = strstr(bb_text_string(&plan.lines), "1.090 arcsec, r0 ");
    assert_non_null(line);
    assert_non_null(strstr(line, "at 500 nm, along the line of sight, 30 deg from zenith\n"));
    bb_plan_release(&plan);
    check_ok(driver_plan(&upright, 1, &plan));
    line = strstr(bb_text_string(&plan.lines), "1.000 arcsec, r0 ");
    assert_non_null(line);
    assert_null(strstr(line, "line of sight"));
}

// If reconstructors stay on a GPU, those of two targets remain there while the third is scored;
// with ltao all targets share one.
TEST(reconstructors_of_all_targets_are_planned)
{
    static const char *const corrections[] = {"correction=moao", "correction=ltao"};
    for (int c = 0; c < 2; ++c) {
        autoptr(bb_config) config = driver_config(
            CASE(CONFIG_AO_SMALL,
                 {"device=cuda", corrections[c], "score=stationary",
                  "targets=[{x_arcsec: 0.0, y_arcsec: 0.0}, {x_arcsec: 1.0, y_arcsec: 0.0}, "
                  "{x_arcsec: 0.0, y_arcsec: 2.0}]"}));
        const bb_ao_study *study = bb_config_study(config);
        bb_ao_extent span;
        check_ok(bb_ao_extent_measure(study, 1.0, &span));
        const double apart = bb_ao_plan_score_need(study, &span, 1.0).device_bytes;
        span.resident = true;
        const double waiting = c == 0 ? 2.0 * 8.0 * (double)span.n * span.m / 3.0 : 0.0;
        check_relative(bb_ao_plan_score_need(study, &span, 1.0).device_bytes, apart + waiting,
                       1e-12);
        assert_true(apart > 0.0);
    }
}

TEST(a_missing_covariance_is_found)
{
    autorelease(bb_plan) plan = {0};
    const driver_case study = {CONFIG_LEARN,
                               {"learn.source=covariance_file", "learn.covariance.file=none.h5",
                                "learn.covariance.dataset=/operators/Cmm"}};
    check_fails(driver_plan(&study, 1, &plan), BB_IO, "'none.h5': No such file");
}

// Sixteen covariances of 440 slopes are in memory; a fit to the analytic one needs little. 1200
// frames on one core took 38 s, the fit alone 1.6 s.
TEST(learning_takes_memory_and_time)
{
    const driver_case cases[] = {
        {CONFIG_LEARN, {"learn.source=off"}},
        {CONFIG_LEARN, {"learn.source=profile"}},
        {CONFIG_LEARN, {"learn.source=frames"}},
        {CONFIG_LEARN, {"learn.source=frames", "learn.frames=2400"}},
        {CONFIG_LEARN, {"learn.source=frames", "learn.apply=false"}},
    };
    bb_plan plan[5];
    for (int i = 0; i < 5; ++i) {
        check_ok(driver_plan(&cases[i], 1, &plan[i]));
        print_message("%s %s: %.1f MB, %.2f s\n", cases[i].overrides[0],
                      cases[i].overrides[1] != NULL ? cases[i].overrides[1] : "",
                      1e-6 * plan[i].host_bytes, plan[i].estimated_seconds);
    }
    const double covariances = 16.0 * 8.0 * 440.0 * 440.0;
    const double off = plan[0].estimated_seconds;
    assert_true(plan[2].host_bytes > BB_PLAN_PROGRAM_BYTES + covariances);
    assert_true(plan[1].host_bytes < plan[2].host_bytes);
    check_relative(plan[1].estimated_seconds - off, 1.6, 0.5);
    check_relative(plan[2].estimated_seconds - off, 40.0, 0.5);
    check_relative(plan[3].estimated_seconds - off, 2.0 * (plan[2].estimated_seconds - off), 0.1);
    assert_true(plan[4].estimated_seconds < plan[2].estimated_seconds);
    for (int i = 0; i < 5; ++i) {
        bb_plan_release(&plan[i]);
    }
}

// A sky needs its amplitudes once per thread, and time is proportional to frames: the preset's 360,
// and in open loop with a gain of 1 the 120 scored ones.
TEST(skies_take_memory_and_time)
{
    const char *path = BB_SOURCE_DIR "/configs/ao/time-domain.yaml";
    const driver_case cases[] = {
        {path, {"time_domain.frames=0"}},
        {path, {"time_domain.loop=closed"}},
        {path, {"time_domain.realisations=120"}},
        {path, {"time_domain.loop=open"}},
        {path, {"monte_carlo.pixels_per_subaperture=48"}},
    };
    bb_plan plan[5];
    for (int i = 0; i < 5; ++i) {
        check_ok(driver_plan(&cases[i], 1, &plan[i]));
        print_message("%s: %.1f MB, %.2f s\n", cases[i].overrides[0], 1e-6 * plan[i].host_bytes,
                      plan[i].estimated_seconds);
    }
    const double off = plan[0].estimated_seconds;
    check_relative(plan[2].estimated_seconds - off, 2.0 * (plan[1].estimated_seconds - off), 0.1);
    assert_true(plan[3].estimated_seconds < plan[1].estimated_seconds);
    assert_true(plan[4].estimated_seconds > 2.0 * plan[1].estimated_seconds);
    // 5 layers of at least 1e5 waves at 24 points per subaperture, four times that at 48.
    assert_true(plan[1].host_bytes > plan[0].host_bytes + 5.0 * 1e5 * 16.0);
    assert_true(plan[4].host_bytes > plan[1].host_bytes + 3.0 * 5.0 * 1e5 * 16.0);
    assert_non_null(strstr(bb_text_string(&plan[1].lines),
                           "60 skies of 6 frames at 500 Hz, delay 4 ms, closed"));
    assert_null(strstr(bb_text_string(&plan[0].lines), "skies"));
    for (int i = 0; i < 5; ++i) {
        bb_plan_release(&plan[i]);
    }
}

// Planes of L, right-hand sides and results, in builds with and without CUDA.
TEST(device_memory_is_planned_in_every_build)
{
    const driver_case cases[] = {
        {BB_SOURCE_DIR "/configs/ao/elt-49664.yaml", {NULL}},
        {BB_SOURCE_DIR "/configs/ao/mosaic-100368.yaml", {NULL}},
    };
    const double expected_gb[] = {16.6435, 62.0294};
    for (int i = 0; i < 2; ++i) {
        autorelease(bb_plan) plan = {0};
        check_ok(driver_plan(&cases[i], 2, &plan));
        check_relative(1e-9 * plan.device_bytes, expected_gb[i], 1e-4);
    }
    autorelease(bb_plan) plan = {0};
    check_ok(
        driver_plan(CASE(BB_SOURCE_DIR "/configs/ao/elt-49664.yaml", {"device=cpu"}), 2, &plan));
    assert_true(plan.device_bytes == 0.0);
}
// Reconstructors scored on a device need no host memory; that of the rounded pipeline does.
TEST(reconstructors_that_stay_on_a_device_are_not_planned_for)
{
    static const char *const pipelines[] = {
        "pipelines=[{name: reference, arithmetic: dp}, {name: x3, arithmetic: x3}]",
        "pipelines=[{name: reference, arithmetic: dp}, {name: x3, arithmetic: x3, storage: fp16}]"};
    static const char *const devices[] = {"device=cpu", "device=cuda"};
    double bytes[2][2];
    for (int d = 0; d < 2; ++d) {
        for (int p = 0; p < 2; ++p) {
            autorelease(bb_plan) plan = {0};
            check_ok(driver_plan(
                CASE(BB_SOURCE_DIR "/configs/ao/elt-49664.yaml", {devices[d], pipelines[p], NULL}),
                1, &plan));
            bytes[d][p] = plan.host_bytes;
        }
    }
    const double r = 8.0 * 6208.0 * 49664.0;
    assert_true(bytes[1][1] > r); // rounded on the host
    assert_true(bytes[1][0] < 0.7 * r);
    assert_true(bytes[0][0] > 2.0 * r); // both are scored together
}
