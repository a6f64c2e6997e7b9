// SPDX-License-Identifier: Apache-2.0
//
// Mirrors at several heights through the whole driver, against Strehl ratios of an independent
// computation in fp64, and the limit of one mirror.
#include "tests/sim/driver.h"

#define CONFIG BB_SOURCE_DIR "/tests/configs/small/mcao.yaml"
#define ALONE  "pipelines=[{name: reference, arithmetic: dp}]"
#define GROUND "mirrors=[{height_m: 0.0}]"
// Only the first direction is corrected.
#define AXIS                                                                                       \
    "targets=[{x_arcsec: 0.0, y_arcsec: 0.0}, {ring: {count: 4, radius_arcsec: 20.0}, weight: "    \
    "0.0}]"
#define CENTRAL                                                                                    \
    "targets=[{x_arcsec: 0.0, y_arcsec: 0.0, weight: 6.0}, {ring: {count: 4, radius_arcsec: "      \
    "20.0}}]"
#define THREE                                                                                      \
    "mirrors=[{height_m: 0.0}, {height_m: 4500.0, pitch_m: 0.8}, {height_m: 11000.0, pitch_m: "    \
    "0.8}]"
#define ROOT30 "mirrors_condition=5.477225575051661"

enum { DIRECTIONS = 5 };

typedef struct row {
    const char *name;
    const char *overrides[5];
    double strehl[DIRECTIONS];
    double actuators, dropped; // NAN: one mirror per target
} row;

static const row rows[] = {
    {"moao",
     {ALONE, "correction=moao", "mirrors=[]", "mirrors_condition=100.0"},
     {0.859750, 0.875559, 0.882198, 0.875175, 0.883800},
     NAN,
     NAN},
    {"one mirror, axis",
     {ALONE, GROUND, AXIS, ROOT30},
     {0.859750, 0.236198, 0.233400, 0.233613, 0.236701},
     100.0,
     5.0},
    {"one mirror, five",
     {ALONE, GROUND, ROOT30},
     {0.685562, 0.324630, 0.324081, 0.322927, 0.326330},
     100.0,
     5.0},
    {"two mirrors", {ALONE}, {0.806333, 0.797999, 0.800585, 0.796478, 0.802473}, 249.0, 3.0},
    {"two mirrors, central",
     {ALONE, CENTRAL, "mirrors_condition=17.0"},
     {0.852579, 0.699353, 0.699409, 0.697371, 0.702128},
     249.0,
     20.0},
    {"three mirrors",
     {ALONE, THREE, "mirrors_condition=50.0"},
     {0.831962, 0.841727, 0.847474, 0.840759, 0.849266},
     370.0,
     25.0},
};

static bb_results *run_row(const row *asked)
{
    driver_case study = {CONFIG, {NULL}};
    for (int i = 0; i < 5 && asked->overrides[i] != NULL; ++i) {
        study.overrides[i] = asked->overrides[i];
    }
    return driver_results(&study);
}

TEST_FULL(the_six_rows_are_those_of_an_independent_computation)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        autoptr(bb_results) results = run_row(&rows[k]);
        const bb_dataset *strehl = driver_dataset(results, "strehl_by");
        double worst = 0.0;
        for (int q = 0; q < DIRECTIONS; ++q) {
            worst = fmax(worst, fabs(strehl->numbers[q] - rows[k].strehl[q]));
        }
        print_message("%-22s %.7f %.7f %.7f %.7f %.7f, off by %.1e\n", rows[k].name,
                      strehl->numbers[0], strehl->numbers[1], strehl->numbers[2],
                      strehl->numbers[3], strehl->numbers[4], worst);
        assert_true(worst < 2e-6);
        if (!isnan(rows[k].actuators)) {
            assert_true(driver_dataset(results, "mirrors_actuators")->numbers[0] ==
                        rows[k].actuators);
            assert_true(driver_dataset(results, "mirrors_dropped_modes")->numbers[0] ==
                        rows[k].dropped);
        } else {
            assert_null(bb_results_find(results, "results/mirrors_actuators"));
        }
    }
}

// One mirror at 0 m with the condition of a target's own mirror equals ltao for one target and glao
// for five, also with the fitting error and by pairs.
TEST_FULL(one_mirror_is_ltao_and_glao)
{
    static const char *const corrections[2] = {"correction=ltao", "correction=glao"};
    static const char *const targets[2] = {AXIS, "mirrors_condition=5.477225575051661"};
    for (int k = 0; k < 2; ++k) {
        const driver_case together = {
            CONFIG, {ALONE, GROUND, ROOT30, targets[k], "score=pairs", "error_terms.fitting=true"}};
        autoptr(bb_results) one = driver_results(&together);
        autoptr(bb_results) two = driver_results(
            CASE(CONFIG, {ALONE, "mirrors=[]", "mirrors_condition=100.0", corrections[k],
                          "score=pairs", "error_terms.fitting=true"}));
        const double *got = driver_dataset(one, "strehl_by")->numbers;
        const double *expected = driver_dataset(two, "strehl_by")->numbers;
        for (int q = 0; q < DIRECTIONS; ++q) {
            print_message("%s, %d: %.12f, %.12f\n", corrections[k], q, got[q], expected[q]);
            check_close(got[q], expected[q], 1e-6, 1.0);
        }
    }
}

// Narrow sums are those of M, which moves all mirrors. One mirror at 0 m and one target lose as
// much as stored commands of ltao, within sampling noise.
TEST_FULL(sums_of_shared_commands_are_narrow)
{
    static const char *const wide = "{name: reference, arithmetic: dp}";
    static const char *const narrow =
        "storage: fp16, accumulate: fp16, multiply: fp16, slopes: {bits: 12}}";
    char together[256];
    char commands[256];
    double loss[2];
    (void)snprintf(together, sizeof together, "pipelines=[%s, {name: narrow, arithmetic: dp, %s]",
                   wide, narrow);
    (void)snprintf(commands, sizeof commands,
                   "pipelines=[%s, {name: narrow, arithmetic: dp, operator: commands, %s]", wide,
                   narrow);
    const driver_case studies[2] = {
        {CONFIG, {together, GROUND, ROOT30, AXIS}},
        {CONFIG, {commands, "mirrors=[]", "mirrors_condition=100.0", "correction=ltao"}}};
    for (int k = 0; k < 2; ++k) {
        autoptr(bb_results) results = driver_results(&studies[k]);
        loss[k] = driver_dataset(results, "strehl_loss")->numbers[1];
    }
    print_message("loses %.6g of several mirrors, %.6g of one\n", loss[0], loss[1]);
    assert_true(loss[1] > 1e-4);
    check_relative(loss[0], loss[1], 0.03);
}

// The default condition costs nothing; max(sqrt(30), n / 2), that of one mirror, costs 0.28 off
// axis.
TEST_FULL(the_usual_condition_costs_nothing)
{
    static const char *const mirrors[2] = {
        "mirrors=[{height_m: 0.0}, {height_m: 11000.0, pitch_m: 0.8}]", THREE};
    for (int k = 0; k < 2; ++k) {
        double least[2];
        const char *const conditions[2] = {"mirrors_condition=100.0", ROOT30};
        for (int c = 0; c < 2; ++c) {
            const driver_case study = {CONFIG, {ALONE, mirrors[k], conditions[c]}};
            autoptr(bb_results) results = driver_results(&study);
            const double *strehl = driver_dataset(results, "strehl_by")->numbers;
            least[c] = 1.0;
            for (int q = 0; q < DIRECTIONS; ++q) {
                least[c] = fmin(least[c], strehl[q]);
            }
        }
        print_message("%d mirrors: worst direction %.4f, with sqrt(30) %.4f\n", k + 2, least[0],
                      least[1]);
        assert_true(least[0] > (k == 0 ? 0.7964 : 0.8319));
        assert_true(least[1] < least[0] - 0.2);
    }
}

// Arithmetics, draws and a search solve for the commands; their losses are small and of second
// order.
TEST_FULL(every_pipeline_solves_the_commands)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG,
             {"solver.tile=152",
              "pipelines=[{name: reference, arithmetic: dp}, {name: sp, arithmetic: sp, draws: 2}, "
              "{name: hp1, arithmetic: hp1, policy: {kind: band, width: 1, inside: sp}}, "
              "{name: hp2, arithmetic: hp2, policy: {kind: band, width: 2, inside: sp}}, "
              "{name: kept, arithmetic: hp1, max_loss: 1e-3, search: {inside: sp, over: all}}]"}));
    const char *const names[] = {"sp", "hp1", "hp2", "kept"};
    const double limits[] = {1e-6, 5e-4, 5e-4, 1e-3};
    for (int p = 0; p < 4; ++p) {
        const double *strehl = driver_row(results, "strehl_by", names[p]);
        const double *reference = driver_row(results, "strehl_by", "reference");
        assert_string_equal(driver_text(results, "status", names[p]), "ok");
        for (int q = 0; q < DIRECTIONS; ++q) {
            print_message("%s, %d: loss %.2g\n", names[p], q, reference[q] - strehl[q]);
            assert_true(fabs(reference[q] - strehl[q]) < limits[p]);
        }
    }
}

// With a learned profile the commands are those of that profile; with the true heights nothing is
// lost.
TEST_FULL(commands_follow_a_learned_profile)
{
    autoptr(bb_results) a = driver_results(CASE(CONFIG, {ALONE}));
    autoptr(bb_results) b = driver_results(CASE(CONFIG, {ALONE, "learn.source=profile"}));
    autoptr(bb_results) c = driver_results(
        CASE(CONFIG, {ALONE, "learn.source=profile", "learn.heights_m=[0.0, 2000.0]"}));
    const double *known = driver_dataset(a, "strehl_by")->numbers;
    const double *learned = driver_dataset(b, "strehl_by")->numbers;
    const double *wrong = driver_dataset(c, "strehl_by")->numbers;
    const bb_dataset *loss = dataset_at(c, "learn/strehl_loss");
    for (int q = 0; q < DIRECTIONS; ++q) {
        check_close(learned[q], known[q], 1e-8, 1.0);
        assert_true(wrong[q] < known[q] - 0.01);
        check_close(loss->numbers[q], known[q] - wrong[q], 1e-12, 1.0);
    }
}

// Frames and covariances give the same residual.
TEST_FULL(frames_agree_with_covariances)
{
    autoptr(bb_results) results =
        driver_results(CASE(CONFIG, {ALONE, "score=pairs", "monte_carlo.frames=16",
                                     "monte_carlo.pixels_per_subaperture=16"}));
    const bb_dataset *sigmas = driver_dataset(results, "strehl_monte_carlo_sigmas");
    const bb_dataset *frame = driver_dataset(results, "strehl_monte_carlo");
    for (bb_index i = 0; i < sigmas->count; ++i) {
        print_message("%.4f, %.1f sigma\n", frame->numbers[i], sigmas->numbers[i]);
        assert_true(fabs(sigmas->numbers[i]) < 3.5);
    }
}

TEST_FULL(results_do_not_depend_on_threads)
{
    const driver_case study = {CONFIG, {NULL}};
    driver_check_threads(&study);
    autoptr(bb_results) results = driver_results(&study);
    driver_check_output_plan(&study, results);
    const bb_dataset *weights = driver_dataset(results, "target_weight");
    for (int q = 0; q < DIRECTIONS; ++q) {
        check_relative(weights->numbers[q], 0.2, 1e-15);
    }
    const bb_dataset *heights = driver_dataset(results, "mirror_height_m");
    assert_int_equal(heights->count, 2);
    assert_true(heights->numbers[1] == 11000.0);
    assert_true(driver_dataset(results, "mirror_actuators")->numbers[1] == 149.0);
}

// The plan's bytes bound those of a run.
TEST_FULL(the_plan_counts_the_mirrors)
{
    const driver_case cases[] = {{CONFIG, {NULL}},
                                 {CONFIG, {ALONE, "learn.source=profile"}},
                                 {CONFIG, {ALONE, THREE, AXIS}}};
    for (int k = 0; k < 3; ++k) {
        (void)driver_check_memory_plan(&cases[k], " actuators");
    }
}
